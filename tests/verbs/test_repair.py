"""Filling in lengths: only the footer changes, and only where the filter is sound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter import repair
from parquet_bloomwriter.metadata.fields import ChunkField
from tests.verbs.files import (
    filter_bytes,
    footer_of,
    listing,
    read,
    with_number,
    without_length,
    written,
)

if TYPE_CHECKING:
    from pathlib import Path

WRITERS = ("spark/bloom", "spark/bloom_dictionary", "pyarrow/bloom_page_index", "datafusion/bloom")


def all_filters(data: bytes) -> list[tuple[int, int]]:
    has = footer_of(data).chunks.has(ChunkField.BLOOM_FILTER_OFFSET)
    return [(int(i), int(j)) for i, j in zip(*has.nonzero(), strict=True)]


def sound_filters(path: Path) -> tuple[bytes, list[tuple[int, int]]]:
    """A file, and its filters but those on BOOLEAN, which nobody trusts."""
    data = path.read_bytes()
    leaves = footer_of(data).leaves
    return data, [c for c in all_filters(data) if leaves[c[1]].physical_type.name != "BOOLEAN"]


@pytest.mark.parametrize("name", WRITERS)
def test_lengths_are_filled_in(fixtures_dir: Path, name: str) -> None:
    original, chunks = sound_filters(fixtures_dir / f"{name}.parquet")
    old = without_length(original, *chunks)
    footer = footer_of(old)
    assert not any(footer.chunks.has(ChunkField.BLOOM_FILTER_LENGTH)[c] for c in chunks)
    assert len(old) < len(original)
    report = repair(old)
    assert report.data == original
    assert report.num_repaired == len(chunks) > 0
    assert (report.size_before, report.size_after) == (len(old), len(original))
    assert read(report.data or b"").equals(read(original))


def test_only_the_missing_ones(fixtures_dir: Path) -> None:
    original, chunks = sound_filters(fixtures_dir / "spark/bloom.parquet")
    report = repair(without_length(original, *chunks[::2]))
    assert (report.data, report.num_repaired) == (original, len(chunks[::2]))


def test_untrusted_ones_are_named_and_left(fixtures_dir: Path) -> None:
    original, chunks = sound_filters(fixtures_dir / "spark/bloom.parquet")
    others = [c for c in all_filters(original) if c not in chunks]
    old = without_length(original, *all_filters(original))
    report = repair(old)
    assert report.num_repaired == len(chunks)
    assert len(report.unrepaired) == len(others) > 0
    assert all("BOOLEAN" in text for text in report.unrepaired)
    has = footer_of(report.data or b"").chunks.has(ChunkField.BLOOM_FILTER_LENGTH)
    assert not any(has[c] for c in others)


def test_a_broken_header_is_not_repaired() -> None:
    data = written(bloom_filter_options={"id": {"ndv": 500, "fpp": 0.01}})
    data = without_length(data, (0, 0), (1, 0))
    data = with_number(data, ChunkField.BLOOM_FILTER_OFFSET, 4)
    report = repair(data)
    assert report.num_repaired == 1
    (problem,) = report.unrepaired
    assert problem.startswith("row group 0, column id: ")
    assert len(filter_bytes(report.data or b"", (1, 0))) > 64


def test_in_place_and_dry(tmp_path: Path) -> None:
    sound = written(bloom_filter_options={"id": {"ndv": 500, "fpp": 0.01}})
    old = without_length(sound, (0, 0), (1, 0))
    path = tmp_path / "a.parquet"
    path.write_bytes(old)
    report = repair(path, dry_run=True)
    assert (report.num_repaired, report.written, report.size_after) == (2, False, len(sound))
    assert listing(tmp_path) == {"a.parquet": old}
    assert repair(path).written
    assert listing(tmp_path) == {"a.parquet": sound}
    again = repair(path)
    assert (again.written, again.num_repaired, again.output) == (False, 0, None)
    assert listing(tmp_path) == {"a.parquet": sound}
