"""`bloomify strip` and `bloomify repair`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter import StripReport
from parquet_bloomwriter.rewrite.old_layout import layout_of
from parquet_bloomwriter.source import BufferSource, read_footer
from parquet_bloomwriter.text import growth

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Invoke


def test_strip_restores_the_file(events: Path, invoke: Invoke) -> None:
    original = events.read_bytes()
    invoke("events.parquet", "--all-columns")
    grown = events.stat().st_size
    result = invoke("strip", "events.parquet")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        f"events.parquet: 3 filters taken out, {growth(grown, len(original))}\n\n"
        "columns   id, email\n"
    )
    assert events.read_bytes() == original


def test_strip_takes_only_the_columns_named(events: Path, invoke: Invoke) -> None:
    invoke("events.parquet", "--columns", "id")
    with_id = events.read_bytes()
    invoke("events.parquet", "--columns", "email")
    result = invoke("strip", "events.parquet", "--columns", "email", "--json")
    (report,) = json.loads(result.stdout)["files"]
    assert report == {
        "path": "events.parquet",
        "output": "events.parquet",
        "written": True,
        "dry_run": False,
        "size_before": report["size_before"],
        "size_after": len(with_id),
        "num_filters": 1,
        "left_bytes": 0,
        "columns": ["email"],
        "notes": [],
    }
    assert events.read_bytes() == with_id


def test_filters_of_the_writer(folder: Path, invoke: Invoke) -> None:
    shutil.copyfile(
        Path(__file__).parents[2] / "fixtures/duckdb/bloom.parquet", folder / "d.parquet"
    )
    note = (
        "note      DuckDB wrote the file, and writes filters by itself: some of these may be its "
        "own; name columns with --columns to take out only those that you added\n"
    )
    (folder / "many").mkdir()
    for name in ("a", "b"):
        shutil.copyfile(folder / "d.parquet", folder / f"many/{name}.parquet")
    assert invoke("strip", "many").stdout.count(note) == 1
    assert note not in invoke("strip", "d.parquet", "--columns", "id", "--dry-run").stdout
    assert note in invoke("strip", "d.parquet").stdout
    assert note not in invoke("strip", "d.parquet").stdout
    assert "also those of the writer" in invoke("strip", "--help").stdout
    help_page = " ".join(invoke("--help-all").stdout.split())
    assert "'strip' does not bring the old ones back" in help_page


def test_strip_of_nothing(events: Path, invoke: Invoke) -> None:
    before = events.read_bytes()
    result = invoke("strip", "events.parquet")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "events.parquet: there is no filter to take out\n"
    assert events.read_bytes() == before


@pytest.mark.usefixtures("events")
def test_strip_shows_its_plan(invoke: Invoke, listing: Callable[[], dict[str, bytes]]) -> None:
    invoke("events.parquet", "--columns", "id")
    before = listing()
    result = invoke("strip", "events.parquet", "--dry-run", "--plan")
    assert listing() == before
    assert "events.parquet: 2 filters would be taken out, " in result.stdout
    rows = [line.split() for line in result.stdout.partition("\ndo ")[2].splitlines()[1:]]
    actions = ["copy", "skip", "copy", "skip", "copy", "metadata"]
    assert [row[0] for row in rows] == actions
    assert rows[1][-2:] == ["left", "out"]


def test_strip_says_which_bytes_stay(
    events: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = StripReport(
        path=str(events),
        output=str(events),
        written=True,
        dry_run=False,
        size_before=9,
        size_after=9,
        num_filters=1,
        left_bytes=1056,
        columns=("id",),
    )
    monkeypatch.setattr("parquet_bloomwriter.strip", lambda *_, **__: report)
    assert invoke("strip", str(events)).stdout.splitlines()[-1] == (
        "note      1,056 bytes stay in the file: "
        "nothing may move, or it is not certain that they belong to a filter alone"
    )


def without_lengths(data: bytes) -> bytes:
    """Take `bloom_filter_length` out of the footer, as parquet-mr before 1.14 wrote it."""
    source = BufferSource(data)
    layout = layout_of(read_footer(source), source.read_at)
    footer = layout.footer.data
    for old in layout.existing:
        assert old.length is not None
        length, size_statistics = b"\x15" + zigzag(old.length), b"\x1c"  # fields 15 and 16
        assert length + size_statistics in footer
        footer = footer.replace(length + size_statistics, b"\x2c", 1)
    return data[: layout.footer.start] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def zigzag(number: int) -> bytes:
    number *= 2
    encoded = b""
    while number > 0x7F:
        encoded += bytes([number & 0x7F | 0x80])
        number >>= 7
    return encoded + bytes([number])


def test_repair_fills_in_lengths(events: Path, invoke: Invoke) -> None:
    invoke("events.parquet", "--columns", "id")
    whole = events.read_bytes()
    events.write_bytes(without_lengths(whole))
    before = events.stat().st_size
    assert before < len(whole)
    result = invoke("repair", "events.parquet")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        f"events.parquet: 2 lengths of filters filled in, {growth(before, len(whole))}\n"
    )
    assert events.read_bytes() == whole


def test_repair_names_filters_that_cannot_be_trusted(
    fixtures_dir: Path, folder: Path, invoke: Invoke
) -> None:
    shutil.copy(fixtures_dir / "spark/bloom_dictionary.parquet", folder / "a.parquet")
    before = (folder / "a.parquet").read_bytes()
    result = invoke("repair", "a.parquet")
    assert result.exit_code == 1
    assert result.stdout == (
        "a.parquet: no length of a filter is missing\n"
        "doubtful  row group 0, column flag: writers leave filters of BOOLEAN columns empty\n"
    )
    assert (folder / "a.parquet").read_bytes() == before
    (report,) = json.loads(invoke("repair", "a.parquet", "--json").stdout)["files"]
    assert (report["num_repaired"], len(report["unrepaired"]), report["written"]) == (0, 1, False)
    many = invoke("repair", "a.parquet", ".")
    assert many.stdout.endswith("\n0 lengths filled in, 1 filter cannot be trusted; 1 file done.\n")
