"""File objects: good ones from several threads, bad ones without a wrong answer."""

from __future__ import annotations

import gzip
import io
import os
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter.errors import FileChanged, InvalidArgument
from parquet_bloomwriter.source import open_for_reading, read_footer
from parquet_bloomwriter.source.base import as_arrow_file
from parquet_bloomwriter.source.stream import StreamSource
from parquet_bloomwriter.values import LeafReader
from tests.source.stores import CountedStream, Misbehaving
from tests.verbs.files import footer_of, read, written

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from parquet_bloomwriter.metadata import Leaf

DATA = written()


def check_readable(stream: Any) -> None:  # noqa: ANN401  any file object
    with open_for_reading(stream) as source:
        assert source.size == len(DATA)
        assert read_footer(source).data == footer_of(DATA).data
        assert source.read_ranges([(900, 905), (0, 9)]) == [DATA[900:905], DATA[:9]]
        assert pq.ParquetFile(source.for_arrow()).read().equals(read(DATA))
        assert source.identity is None
    assert not stream.closed


def test_bytes_in_memory() -> None:
    check_readable(io.BytesIO(DATA))


def test_files_that_are_open(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    path.write_bytes(DATA)
    with path.open("rb") as buffered, path.open("rb", buffering=0) as raw, path.open("r+b") as both:
        check_readable(buffered)
        check_readable(raw)
        check_readable(both)
        with open_for_reading(buffered) as source:
            assert source.name == str(path)


def test_compressed_ones(tmp_path: Path) -> None:
    with gzip.open(io.BytesIO(gzip.compress(DATA))) as unzipped:
        check_readable(unzipped)
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        archive.writestr("f.parquet", DATA)
        with archive.open("f.parquet") as member:
            check_readable(member)


def test_each_read_is_one_request_of_that_size() -> None:
    log: list[tuple[int, int]] = []
    with open_for_reading(CountedStream(DATA, log)) as source:
        log.clear()
        footer = read_footer(source, check_head=False)
        assert log == [(len(DATA) - 8, 8), (footer.start, len(footer.data))]
        assert source.traffic.requests == 2


def test_many_threads() -> None:
    class Yielding(io.BytesIO):
        """Lets other threads go first between `seek` and `read`."""

        def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
            position = super().seek(offset, whence)
            time.sleep(0.0001)
            return position

    with open_for_reading(Yielding(DATA)) as source, ThreadPoolExecutor(8) as pool:
        starts = [i * 7 % (len(DATA) - 50) for i in range(400)]
        found = list(pool.map(lambda start: source.read_at(start, start + 50), starts))
        assert found == [DATA[start : start + 50] for start in starts]


def test_columns_in_many_threads() -> None:
    with open_for_reading(io.BytesIO(DATA)) as source, ThreadPoolExecutor(4) as pool:
        footer = read_footer(source)

        def values(leaf: Leaf) -> list[Any]:
            reader = LeafReader(source, footer, leaf)
            return [array.to_pylist() for array in reader.batches(0)]

        together = list(pool.map(values, footer.leaves * 4))
        assert together == [values(leaf) for leaf in footer.leaves] * 4


# ---------------------------------------------------------------- streams that misbehave


def test_short_reads_are_completed() -> None:
    halves = Misbehaving(DATA, lambda data, _: data[: (len(data) + 1) // 2])
    check_readable(halves)


def test_other_types_of_bytes() -> None:
    check_readable(Misbehaving(DATA, lambda data, _: bytearray(data)))
    check_readable(Misbehaving(DATA, lambda data, _: memoryview(data)))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda data, _: data + b"x", OSError),
        (lambda _, __: b"", FileChanged),
        (lambda _, __: None, BlockingIOError),
    ],
)
def test_wrong_answers(change: Callable[[bytes, int], Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        StreamSource(Misbehaving(DATA, change)).read_at(0, 100)


def test_a_stream_that_becomes_shorter() -> None:
    stream = io.BytesIO(DATA)
    with open_for_reading(stream) as source:
        stream.truncate(100)
        assert source.read_at(50, 100) == DATA[50:100]
        with pytest.raises(FileChanged, match="shorter"):
            source.read_at(50, 101)


def test_what_cannot_be_read_at_positions(tmp_path: Path) -> None:
    closed = io.BytesIO(DATA)
    closed.close()
    path = tmp_path / "f"
    path.write_bytes(DATA)
    reading, writing = os.pipe()
    with (
        path.open(encoding="latin-1") as text,
        path.open("ab") as write_only,
        open(reading, "rb") as pipe,  # noqa: PTH123  a descriptor, not a path
        open(writing, "wb"),  # noqa: PTH123  same
    ):
        for stream, problem in (
            (closed, "closed"),
            (text, "opened as text"),
            (write_only, "cannot be read at any position"),
            (pipe, "cannot be read at any position"),
        ):
            with pytest.raises(InvalidArgument, match=problem), open_for_reading(stream):
                pass


def test_as_a_file_of_pyarrows() -> None:
    source = StreamSource(io.BytesIO(DATA))
    file: Any = as_arrow_file(source)
    assert isinstance(file, pa.NativeFile)
    assert file.size() == len(DATA)
    assert file.read_at(20, len(DATA) - 10) == DATA[-10:]
    assert (file.seek(-5, os.SEEK_END), file.read()) == (len(DATA) - 5, DATA[-5:])
    file.seek(len(DATA) + 5)
    assert file.read(3) == b""
    file.seek(2)
    assert file.read_buffer(6).to_pybytes() == DATA[2:8]
    assert bytes(memoryview(file.read(0))) == b""
