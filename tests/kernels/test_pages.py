"""Page headers: those of every writer's files, and what is found wrong in changed ones."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow.parquet as pq
import pytest
from fastparquet import cencoding

from parquet_bloomwriter import kernels as module
from parquet_bloomwriter.errors import MalformedFile
from parquet_bloomwriter.kernels import layout, reference
from parquet_bloomwriter.metadata.page_headers import PAGE_HEADER, read_page_headers
from parquet_bloomwriter.values.pages import Extent, walk_headers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Kernels: TypeAlias = Any
"""The reference or the compiled module, which carries no types."""

FILES = (
    *("pyarrow/every_type_v2", "pyarrow/dictionary_fallback", "pyarrow/codec_zstd"),
    *("spark/v2", "spark/dictionary", "duckdb/types", "datafusion/v2", "polars/people"),
    *("fastparquet/people", "chdb/plain"),
)


def chunks(path: Path) -> Iterator[tuple[bytes, int]]:
    """Yield each column chunk and its number of values."""
    data, metadata = path.read_bytes(), pq.read_metadata(path)
    for row_group in range(metadata.num_row_groups):
        for ordinal in range(metadata.num_columns):
            chunk = metadata.row_group(row_group).column(ordinal)
            start = chunk.data_page_offset
            if chunk.dictionary_page_offset:
                start = min(start, chunk.dictionary_page_offset)
            yield data[start : start + chunk.total_compressed_size], chunk.num_values


def walked(
    kernels: Kernels, data: bytes, pages: int = 40
) -> tuple[tuple[int, ...], list[list[int]]]:
    out = np.full((pages, layout.PAGE_COLUMNS), -7, np.int64)
    return kernels.walk_pages(data, 0, PAGE_HEADER.words, out), out.tolist()


@pytest.mark.parametrize("name", FILES)
def test_pages_of_every_writer(kernels: Kernels, fixtures_dir: Path, name: str) -> None:
    for data, num_values in chunks(fixtures_dir / f"{name}.parquet"):
        (problem, stop, found), pages = walked(kernels, data)
        assert (problem, stop) == (0, len(data))
        rows = np.array(pages[:found])
        is_data = np.isin(rows[:, layout.PAGE_TYPE], [layout.DATA_PAGE, layout.DATA_PAGE_V2])
        assert rows[is_data, layout.PAGE_NUM_VALUES].sum() == num_values
        for row in rows.tolist():
            check_page(data, row)


def check_page(data: bytes, row: list[int]) -> None:
    """Compare with fastparquet's reader of page headers."""
    start = row[layout.PAGE_POSITION]
    header = cencoding.from_buffer(
        data[start : start + row[layout.PAGE_HEADER_BYTES]], "PageHeader"
    )
    assert row[layout.PAGE_TYPE] == header.type
    assert row[layout.PAGE_COMPRESSED] == header.compressed_page_size
    assert row[layout.PAGE_UNCOMPRESSED] == header.uncompressed_page_size
    parts = (header.data_page_header, None, header.dictionary_page_header)
    part: Any = header.data_page_header_v2 if header.type > 2 else parts[header.type]
    assert row[layout.PAGE_NUM_VALUES] == part.num_values
    assert row[layout.PAGE_ENCODING] == part.encoding


def some_chunk(fixtures_dir: Path) -> bytes:
    """Return a chunk of a dictionary page and several data pages."""
    found = [data for data, _ in chunks(fixtures_dir / "pyarrow/dictionary_fallback.parquet")]
    return max(found, key=lambda data: walked(reference, data)[0][2])


def test_full_arrays_are_gone_on_from(kernels: Kernels, fixtures_dir: Path) -> None:
    data = some_chunk(fixtures_dir)
    (_, _, found), pages = walked(kernels, data)
    assert found > 2
    one, parts, pos, problem = np.empty((1, layout.PAGE_COLUMNS), np.int64), [], 0, layout.FULL
    while problem == layout.FULL:
        problem, pos, done = kernels.walk_pages(data, pos, PAGE_HEADER.words, one)
        parts += one[:done].tolist()
    assert (problem, pos, parts) == (0, len(data), pages[:found])
    assert kernels.walk_pages(data, 0, PAGE_HEADER.words, one[:0]) == (layout.FULL, 0, 0)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", 0),
        ("1500 1500 1500 2c 1500 1500 00 00", 0),
        ("1502 1500 1500 00", 0),  # an index page
        ("150a 1500 1500 00", 0),  # a page of a type to come
        ("1500 1500 1500 00", layout.LACKS_FIELD),  # a data page without its header
        ("1500 1500 2c 1500 1500 00 00", layout.LACKS_FIELD),
        ("1500 1500 1500 2c 1500 00 00", layout.LACKS_FIELD),
        ("1500 1500 1500 4c 1500 1500 00 00", layout.LACKS_FIELD),  # that of a dictionary
        ("1500 1501 1500 2c 1500 1500 00 00", layout.BAD_NUMBER),
        ("1500 1500 1501 2c 1500 1500 00 00", layout.BAD_NUMBER),
        ("1500 1500 1500 2c 1501 1500 00 00", layout.BAD_NUMBER),
        ("1500 1500 1500 2c 1500 1501 00 00", layout.BAD_NUMBER),
        ("1500 15 8080808010 1500 2c 1500 1500 00 00", layout.BAD_NUMBER),
        ("1500 1500 1502 2c 1500 1500 00 00", layout.ENDS_EARLY),
        ("1500 1500 1500 2c 1500 1500 00", layout.ENDS_EARLY),
        ("1500 1500 1500 2c 1500 1500 00 0c 0a 1500 00 00", 5),  # the field twice
    ],
)
def test_what_is_wrong_is_numbered(kernels: Kernels, text: str, problem: int) -> None:
    data = bytes.fromhex(text)
    (found, stop, count), _ = walked(kernels, data)
    assert found == problem
    assert count == (found == 0 and bool(data))
    assert stop <= len(data)


def test_changed_bytes(compiled: Kernels, fixtures_dir: Path) -> None:
    """Both kernels agree on each mutant, and no page reaches behind the data."""
    data = some_chunk(fixtures_dir)
    pages = np.array(walked(reference, data)[1][: walked(reference, data)[0][2]])
    places = np.concatenate([np.arange(start, start + size) for start, size in pages[:, :2]])
    rng = np.random.default_rng(3)
    problems = set()
    for place in rng.choice(places, 1500).tolist():
        broken = bytearray(data)
        broken[place] = int(rng.integers(0, 256))
        found = walked(compiled, bytes(broken))
        assert found == walked(reference, bytes(broken))
        problems.add(found[0][0])
    for length in rng.integers(0, len(data), 200).tolist():
        assert walked(compiled, data[:length]) == walked(reference, data[:length])
    assert {0, 1, layout.BAD_NUMBER} <= problems


def of_file(
    kernels: Kernels, path: Path, limit: int, num_values: int, pages: int = 40
) -> tuple[tuple[int, ...], list[list[int]]]:
    """Walk a file that consists of one chunk."""
    out = np.full((pages, layout.PAGE_COLUMNS), -7, np.int64)
    with path.open("rb") as file:
        found = kernels.walk_file(file.fileno(), 0, limit, num_values, PAGE_HEADER.words, out)
    return found, out.tolist()


needs_pread = pytest.mark.skipif(not module.HAS_PREAD, reason="there is no pread")


@needs_pread
@pytest.mark.parametrize("name", FILES)
def test_a_file_has_the_pages_of_its_bytes(
    compiled: Kernels, fixtures_dir: Path, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "chunk"
    for data, num_values in chunks(fixtures_dir / f"{name}.parquet"):
        path.write_bytes(data + b"behind")
        (problem, stop, found, left, num_reads, num_bytes), pages = of_file(
            compiled, path, len(data), num_values
        )
        (_, end, count), expected = walked(compiled, data)
        assert (problem, stop, left) == (0, end, 0)
        assert (found, pages) == (count, expected)
        headers = sum(row[layout.PAGE_HEADER_BYTES] for row in pages[:found])
        assert found <= num_reads <= 3 * found
        assert num_bytes <= 5 * headers + 64


@needs_pread
def test_a_walk_ends_when_all_values_are_found(
    compiled: Kernels, fixtures_dir: Path, tmp_path: Path
) -> None:
    path = tmp_path / "chunk"
    path.write_bytes(data := some_chunk(fixtures_dir))
    _, pages = walked(compiled, data)
    first = pages[1][layout.PAGE_NUM_VALUES]
    found, _ = of_file(compiled, path, len(data), first)
    assert found[:4] == (0, pages[2][layout.PAGE_POSITION], 2, 0)
    found, _ = of_file(compiled, path, len(data), first + 1)
    assert found[2:4] == (3, first + 1 - first - pages[2][layout.PAGE_NUM_VALUES])
    found, _ = of_file(compiled, path, len(data), first, pages=1)
    assert found[:4] == (layout.FULL, pages[1][layout.PAGE_POSITION], 1, first)


@needs_pread
def test_long_headers_and_files_that_end(compiled: Kernels, tmp_path: Path) -> None:
    path = tmp_path / "chunk"
    long = b"\x18" + b"\xb0\xea\x01" + bytes(30_000)  # 1: max, of its statistics
    header = bytes.fromhex("1500 1500 1500 2c 1502 1500 1500 1500 1c") + long + bytes(3)
    path.write_bytes(header)
    (problem, stop, found, *_, num_bytes), pages = of_file(compiled, path, len(header), 1)
    assert (problem, stop, found) == (0, len(header), 1)
    assert pages[0][: layout.PAGE_COMPRESSED] == [0, len(header)]
    assert num_bytes < 2 * len(header)
    assert of_file(compiled, path, len(header) - 1, 1)[0][0] == layout.ENDS_EARLY
    assert of_file(compiled, path, len(header) + 9, 2)[0][0] == layout.UNREADABLE
    out = np.empty((1, layout.PAGE_COLUMNS), np.int64)
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        found = compiled.walk_file(folder, 0, 100, 1, PAGE_HEADER.words, out)
    finally:
        os.close(folder)
    assert found[:3] == (layout.UNREADABLE, 0, 0)


def part_of(data: bytes, start: int, stop: int) -> bytes:
    return data[start:stop]


@needs_pread
def test_changed_files(compiled: Kernels, fixtures_dir: Path, tmp_path: Path) -> None:
    """The kernel finds what the walk by any other source finds."""
    data = some_chunk(fixtures_dir)
    path = tmp_path / "chunk"
    pages = np.array(walked(reference, data)[1][: walked(reference, data)[0][2]])
    places = np.concatenate([np.arange(start, start + size) for start, size in pages[:, :2]])
    rng = np.random.default_rng(4)
    for place in rng.choice(places, 400).tolist():
        broken = bytearray(data)
        broken[place] = int(rng.integers(0, 256))
        path.write_bytes(broken)
        limit = int(rng.integers(len(data) // 2, len(data) + 1))
        (problem, stop, count, left, *_), rows = of_file(compiled, path, limit, 10**6)
        extent = Extent(start=0, stop=0, limit=limit, num_values=10**6, num_uncompressed=0, codec=0)
        expected = walk_headers(partial(part_of, bytes(broken)), extent)
        assert (rows[:count], stop) == (expected.table.tolist(), expected.stop)
        is_data = np.isin(
            expected.table[:, layout.PAGE_TYPE], [layout.DATA_PAGE, layout.DATA_PAGE_V2]
        )
        assert left == 10**6 - expected.table[is_data, layout.PAGE_NUM_VALUES].sum()
        assert bool(problem) == bool(expected.problem)
        said = layout.PROBLEMS.get(problem, "")
        assert said in expected.problem or "claims" in expected.problem


def test_headers_are_read_with_positions_in_the_file(fixtures_dir: Path) -> None:
    data = some_chunk(fixtures_dir)
    pages = read_page_headers(data * 100, start=1000)
    few = len(pages) // 100
    assert pages[0, layout.PAGE_POSITION] == 1000
    moved = pages[few:] - pages[:-few]
    assert (moved[:, layout.PAGE_POSITION] == len(data)).all()
    assert not moved[:, 1:].any()


def test_a_malformed_header_is_an_error_with_its_place(fixtures_dir: Path) -> None:
    data = some_chunk(fixtures_dir)
    with pytest.raises(MalformedFile, match="a page header ends in the middle") as caught:
        read_page_headers(data[:-1], start=50)
    last = walked(module, data)[1][walked(module, data)[0][2] - 1]
    assert isinstance(last, list)
    assert caught.value.byte == 50 + last[0]
