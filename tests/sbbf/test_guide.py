"""docs/reference/filter.md: its tables are what the code computes, and its names exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import parquet_bloomwriter
from parquet_bloomwriter import hashing, sbbf
from parquet_bloomwriter.sbbf import (
    classic_num_bits,
    classic_num_bytes,
    expected_fpp,
    num_blocks_for,
)
from tests.sbbf.test_sizing import CLASSIC_TABLE, SPEC_TABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = (Path(__file__).resolve().parents[2] / "docs/reference/filter.md").read_text()
LARGE = 10_000_000
"""Distinct values: so many that sizes are hardly rounded."""


def rows_of(first_heading: str) -> list[list[str]]:
    """The cells of a table's rows."""
    _, _, rest = PAGE.partition(f"| {first_heading} |")
    rows, _, _ = rest.partition("\n\n")
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows.splitlines()[2:]]


def digits(text: str) -> float:
    """A number of the page."""
    return float(text.strip("* %").replace(",", ""))


def test_the_specification_s_table() -> None:
    expected = []
    for bits, fpp in SPEC_TABLE:
        classic = classic_num_bits(LARGE, fpp) / LARGE
        exact = num_blocks_for(LARGE, fpp, sizing="exact", max_bytes=1 << 30)
        rates = [_rate_of(bits), exact * 256 / LARGE, classic, _rate_of(classic)]
        expected.append([bits, 100 * fpp, *rates])
    shown = [[digits(cell) for cell in row] for row in rows_of("bits per value")]
    assert [row[:2] for row in shown] == [pytest.approx(row[:2]) for row in expected]
    for there, computed in zip(shown, expected, strict=True):
        assert there[2] == pytest.approx(100 * computed[2], rel=0.005)
        assert there[3:5] == pytest.approx(computed[3:5], abs=0.006)
        assert there[5] == pytest.approx(100 * computed[5], rel=0.005)


def test_the_specification_s_examples() -> None:
    shown = [[digits(cell) for cell in row] for row in rows_of("values in 1,024 blocks")]
    assert [row[:2] for row in shown] == [[26_214, 1.26], [52_428, 18], [13_107, 0.04]]
    for values, _, rate in shown:
        assert rate == pytest.approx(100 * expected_fpp(values, 1024), rel=0.005)


def test_the_table_of_rust() -> None:
    shown = rows_of("NDV")
    for row, (ndv, fpp, there) in zip(shown, CLASSIC_TABLE, strict=True):
        ours = num_blocks_for(ndv, fpp)
        assert classic_num_bytes(ndv, fpp) == 32 * there
        bold = "**" if ours != there else ""
        assert float(row[1]) == fpp
        assert [row[0], *row[2:]] == [
            f"{ndv:,}",
            f"{there:,}",
            f"{there // 32:,}",
            f"{expected_fpp(ndv, there):.3g}",
            f"{bold}{ours:,}{bold}",
            f"{bold}{ours // 32:,}{bold}",
            f"{expected_fpp(ndv, ours):.3g}",
        ]
        assert expected_fpp(ndv, ours) <= fpp
        assert (expected_fpp(ndv, there) > fpp) is bool(bold)


def test_the_numbers_in_sentences() -> None:
    words = " ".join(PAGE.split())
    one_percent = classic_num_bits(LARGE, 0.01) / LARGE
    assert f"formula has a rate of {100 * _rate_of(one_percent):.2f} %" in words
    half = num_blocks_for(LARGE, 0.005, sizing="exact") * 256 / LARGE
    assert f"11.54 bits give {100 * _rate_of(11.54):.2f} %, and 0.5 % takes {half:.2f}" in words
    exact, rounded = (num_blocks_for(10**6, 0.01, sizing=sizing) for sizing in ("exact", "pow2"))
    assert f"{exact:,} blocks for a million values at 1 %, instead of {rounded:,}" in words


def _rate_of(bits: float) -> float:
    return expected_fpp(LARGE, round(LARGE * bits / 256))


def names() -> Iterator[str]:
    """What the tables of names call ours."""
    for heading in ("Rust's `parquet::bloom_filter`", "the Parquet specification"):
        for row in rows_of(heading):
            yield from re.findall(r"`([A-Za-z_.]+)`", row[1])


@pytest.mark.parametrize("name", sorted(set(names())))
def test_the_names_are_there(name: str) -> None:
    first, *rest = name.split(".")
    homes = [home for home in (sbbf, hashing, parquet_bloomwriter) if first in home.__all__]
    assert homes, name
    found = getattr(homes[0], first)
    for part in rest:
        assert hasattr(found, part) or part in found.__annotations__
    assert getattr(found, "__doc__", None)


def test_the_names_of_the_table_are_all_of_them() -> None:
    """Those of the module's documentation, private ones included."""
    theirs = " ".join(row[0] for row in rows_of("Rust's `parquet::bloom_filter`"))
    assert set(re.findall(r"`([A-Za-z_:]+)`", theirs)) == {
        "BITSET_MAX_LENGTH",
        "BITSET_MIN_LENGTH",
        "Block",
        "Block::mask",
        "BloomFilterHeader",
        "SALT",
        "SBBF_HEADER_SIZE_ESTIMATE",
        "SEED",
        "Sbbf",
        "Sbbf::fold_to_target_fpp",
        "Sbbf::hash_to_block_index",
        "chunk_read_bloom_filter_header_and_offset",
        "hash_as_bytes",
        "num_of_bits_from_ndv_fpp",
        "optimal_num_of_bytes",
        "read_bloom_filter_header_and_length",
        "read_bloom_filter_header_and_length_from_bytes",
    }


def test_the_programs_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one folder, from top to bottom; what a comment says to be true or false is."""
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    programs = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    told = 0
    for program in programs:
        exec(program, scope)  # noqa: S102  the page is ours
        for line in program.splitlines():
            call, _, answer = line.partition("  # ")
            if answer.startswith(("True", "False")):
                told += 1
                assert eval(call, scope) is answer.startswith("True")  # noqa: S307  likewise
    assert told >= 3
    ids, small = scope["ids"], scope["small"]
    assert isinstance(ids, sbbf.Sbbf)
    assert (ids.num_bytes, f"{ids.fill():.0%}", f"{ids.exact_fpp():.2%}") == (16384, "46%", "0.34%")
    assert isinstance(small, sbbf.Sbbf)
    assert small.exact_fpp() <= 0.01
