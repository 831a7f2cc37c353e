"""Page headers, walked in C: those of every writer's files, and what is wrong in changed ones."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow.parquet as pq
import pytest
from fastparquet import cencoding

from parquet_bloomwriter.kernels import layout
from parquet_bloomwriter.metadata.page_headers import PAGE_HEADER
from parquet_bloomwriter.values.pages import Extent, Pages, walk_headers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Kernels: TypeAlias = Any
"""The compiled module, which carries no types."""

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
    compiled: Kernels,
    data: bytes,
    *,
    limit: int | None = None,
    num_values: int = 10**9,
    pages: int = 40,
) -> tuple[tuple[int, ...], list[list[int]]]:
    """Walk a file that consists of one chunk; return the result, and the array of pages."""
    out = np.full((pages, layout.PAGE_COLUMNS), -7, np.int64)
    limit = len(data) if limit is None else limit
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        found = compiled.walk_file(file.fileno(), 0, limit, num_values, PAGE_HEADER.words, out)
    return found, out.tolist()


@pytest.mark.parametrize("name", FILES)
def test_pages_of_every_writer(compiled: Kernels, fixtures_dir: Path, name: str) -> None:
    for data, num_values in chunks(fixtures_dir / f"{name}.parquet"):
        (problem, stop, found, left, num_reads, num_bytes), pages = walked(
            compiled, data + b"behind", limit=len(data), num_values=num_values
        )
        assert (problem, stop, left) == (0, len(data), 0)
        rows = np.array(pages[:found])
        is_data = np.isin(rows[:, layout.PAGE_TYPE], [layout.DATA_PAGE, layout.DATA_PAGE_V2])
        assert rows[is_data, layout.PAGE_NUM_VALUES].sum() == num_values
        for row in rows.tolist():
            check_page(data, row)
        assert found <= num_reads <= 3 * found
        assert num_bytes <= 5 * rows[:, layout.PAGE_HEADER_BYTES].sum() + 64


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
    return max(chunks(fixtures_dir / "pyarrow/dictionary_fallback.parquet"), key=num_pages)[0]


def num_pages(chunk: tuple[bytes, int]) -> int:
    return len(walked_by_source(chunk[0], len(chunk[0])).table)


def walked_by_source(data: bytes, limit: int) -> Pages:
    """Walk a chunk as in a file on a store: the oracle, which uses no kernel but `scan`."""
    extent = Extent(start=0, stop=0, limit=limit, num_values=10**9, num_uncompressed=0, codec=0)
    return walk_headers(lambda start, stop: data[start:stop], extent)


def test_full_arrays_are_gone_on_from(compiled: Kernels, fixtures_dir: Path) -> None:
    data = some_chunk(fixtures_dir)
    found, pages = walked(compiled, data)
    assert found[2] > 2
    parts, stop = [], 0
    while stop < len(data):
        (problem, end, count, *_), rows = walked(compiled, data[stop:], pages=1)
        parts += [[rows[0][0] + stop, *rows[0][1:]]]
        stop += end
        assert (problem, count) == (layout.FULL if stop < len(data) else 0, 1)
    assert parts == pages[: found[2]]
    assert walked(compiled, data, pages=0)[0][:3] == (layout.FULL, 0, 0)


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
def test_what_is_wrong_is_numbered(compiled: Kernels, text: str, problem: int) -> None:
    data = bytes.fromhex(text)
    (found, stop, count, *_), _ = walked(compiled, data)
    assert found == problem
    assert count == (found == 0 and bool(data))
    assert stop <= len(data)


def test_a_walk_ends_when_all_values_are_found(compiled: Kernels, fixtures_dir: Path) -> None:
    data = some_chunk(fixtures_dir)
    _, pages = walked(compiled, data)
    first = pages[1][layout.PAGE_NUM_VALUES]
    found, _ = walked(compiled, data, num_values=first)
    assert found[:4] == (0, pages[2][layout.PAGE_POSITION], 2, 0)
    found, _ = walked(compiled, data, num_values=first + 1)
    assert found[2:4] == (3, first + 1 - first - pages[2][layout.PAGE_NUM_VALUES])
    found, _ = walked(compiled, data, num_values=first, pages=1)
    assert found[:4] == (layout.FULL, pages[1][layout.PAGE_POSITION], 1, first)


def test_long_headers_and_files_that_end(compiled: Kernels, tmp_path: Path) -> None:
    long = b"\x18" + b"\xb0\xea\x01" + bytes(30_000)  # 1: max, of its statistics
    header = bytes.fromhex("1500 1500 1500 2c 1502 1500 1500 1500 1c") + long + bytes(3)
    (problem, stop, found, *_, num_bytes), pages = walked(compiled, header, num_values=1)
    assert (problem, stop, found) == (0, len(header), 1)
    assert pages[0][: layout.PAGE_COMPRESSED] == [0, len(header)]
    assert num_bytes < 2 * len(header)
    assert walked(compiled, header, limit=len(header) - 1, num_values=1)[0][0] == layout.ENDS_EARLY
    assert walked(compiled, header, limit=len(header) + 9, num_values=2)[0][0] == layout.UNREADABLE
    out = np.empty((1, layout.PAGE_COLUMNS), np.int64)
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        found = compiled.walk_file(folder, 0, 100, 1, PAGE_HEADER.words, out)
    finally:
        os.close(folder)
    assert found[:3] == (layout.UNREADABLE, 0, 0)


def test_changed_bytes(compiled: Kernels, fixtures_dir: Path) -> None:
    """The kernel finds what the walk by any other source finds, whatever the bytes."""
    data = some_chunk(fixtures_dir)
    pages = walked_by_source(data, len(data)).table
    places = np.concatenate([np.arange(start, start + size) for start, size in pages[:, :2]])
    rng = np.random.default_rng(3)
    problems = set()
    for place in rng.choice(places, 1500).tolist():
        broken = bytearray(data)
        broken[place] = int(rng.integers(0, 256))
        limit = len(data) if rng.random() < 0.5 else int(rng.integers(0, len(data)))
        (problem, stop, count, left, *_), rows = walked(compiled, bytes(broken), limit=limit)
        expected = walked_by_source(bytes(broken), limit)
        assert (rows[:count], stop) == (expected.table.tolist(), expected.stop)
        is_data = np.isin(
            expected.table[:, layout.PAGE_TYPE], [layout.DATA_PAGE, layout.DATA_PAGE_V2]
        )
        assert left == 10**9 - expected.table[is_data, layout.PAGE_NUM_VALUES].sum()
        assert bool(problem) == bool(expected.problem)
        claims = "claims" in expected.problem and problem == layout.ENDS_EARLY
        assert claims or layout.PROBLEMS.get(problem, "") in expected.problem
        problems.add(problem)
    assert {0, layout.ENDS_EARLY, layout.BAD_NUMBER} <= problems
