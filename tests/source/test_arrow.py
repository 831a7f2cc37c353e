"""Files of pyarrow's: on its file systems, and open already."""

from __future__ import annotations

import gzip
import pickle
import time
from threading import Barrier
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter.errors import FileChanged, InvalidArgument, UnsupportedFile
from parquet_bloomwriter.source import (
    FileSource,
    Location,
    Source,
    find_sources,
    open_for_reading,
    read_footer,
    remote,
)
from parquet_bloomwriter.source.base import REMOTE_BYTES
from parquet_bloomwriter.source.remote import ArrowSource
from tests.source.stores import LONG_AGO, CountingHandler
from tests.support.workers import PATIENCE_SECONDS
from tests.verbs.files import footer_of, read, written

if TYPE_CHECKING:
    from collections.abc import Hashable
    from pathlib import Path

DATA = written()
GAP = REMOTE_BYTES


def check_readable(source: Source) -> None:
    assert source.size == len(DATA)
    assert read_footer(source).data == footer_of(DATA).data
    assert source.read_ranges([(900, 905), (0, 9)]) == [DATA[900:905], DATA[:9]]
    for _ in range(2):  # what pyarrow has read to the end is still open
        assert pq.ParquetFile(source.for_arrow()).read().equals(read(DATA))


def test_a_store_of_its_own() -> None:
    handler = CountingHandler({"b/f.parquet": DATA})
    with open_for_reading("b/f.parquet", filesystem=pafs.PyFileSystem(handler)) as source:
        assert handler.log == [("info", "b/f.parquet"), ("open", "b/f.parquet")]
        assert source.name == "b/f.parquet"
        check_readable(source)


def test_ranges_of_a_remote_file() -> None:
    data = bytes(range(256)) * 4096
    handler = CountingHandler({"f": data})
    near, far = (0, 32), (GAP + 32, GAP + 64)
    farther = (2 * GAP + 65, 2 * GAP + 97)
    with open_for_reading("f", filesystem=pafs.PyFileSystem(handler)) as source:
        handler.log.clear()
        asked = [farther, near, far, near]
        assert source.read_ranges(asked) == [data[start:stop] for start, stop in asked]
        assert sorted(handler.log) == [(0, GAP + 64), (farther[0], 32)]
        assert (source.traffic.requests, source.traffic.bytes) == (2, GAP + 96)


def test_requests_to_a_store_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request is answered only when all of them have arrived."""
    data = bytes(range(256)) * 8192
    handler = CountingHandler({"f": data})
    filesystem = pafs.PyFileSystem(handler)
    ranges = [(i * 2 * GAP, i * 2 * GAP + 32) for i in range(16)]

    all_arrived = Barrier(len(ranges), timeout=PATIENCE_SECONDS)

    def fetch_together(_: ArrowSource, start: int, stop: int) -> bytes:
        all_arrived.wait()
        return data[start:stop]

    monkeypatch.setattr(ArrowSource, "_fetch", fetch_together)
    with open_for_reading("f", filesystem=filesystem) as source:
        assert source.read_ranges(ranges) == [data[start:stop] for start, stop in ranges]
        assert source.traffic.requests == 16


def test_local_files_are_read_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    path = tmp_path / "sub" / "f.parquet"
    path.write_bytes(DATA)
    time.sleep(0.03)
    monkeypatch.chdir(tmp_path)
    local = pafs.LocalFileSystem()
    subtree = pafs.SubTreeFileSystem(str(tmp_path / "sub"), local)
    identities = []
    ways: list[tuple[str, Any]] = [
        (str(path), None),
        (str(path), local),
        ("sub/f.parquet", pafs.LocalFileSystem(use_mmap=True)),
        ("f.parquet", subtree),
        ("/f.parquet", subtree),
        ("f.parquet", pafs.SubTreeFileSystem("sub", pafs.SubTreeFileSystem(str(tmp_path), local))),
        ("sub/f.parquet", path.parent.parent.as_uri()),
        (path.as_uri(), None),
    ]
    for given, filesystem in ways:
        with open_for_reading(given, filesystem=filesystem) as source:
            assert isinstance(source, FileSource)
            check_readable(source)
            assert source.name == given
            identities.append(source.identity)
    assert None not in identities
    assert len(set(identities)) == 1


def test_what_is_not_opened() -> None:
    store = pafs.PyFileSystem(CountingHandler({"b/f": DATA}))
    with pytest.raises(FileNotFoundError) as missing, open_for_reading("b/g", filesystem=store):
        pass
    assert missing.value.filename == "b/g"
    with pytest.raises(UnsupportedFile, match="a directory") as folder:  # noqa: SIM117  one each
        with open_for_reading("b", filesystem=store):
            pass
    assert folder.value.path == "b"
    for given in ("s3://b/f", "relative"):
        with pytest.raises((InvalidArgument, FileNotFoundError)):  # noqa: SIM117  one each
            with open_for_reading(given, filesystem=pafs.LocalFileSystem()):
                pass
    with pytest.raises(InvalidArgument, match="Expected a local filesystem path"):  # noqa: SIM117
        with open_for_reading("file:///x", filesystem=pafs.LocalFileSystem()):
            pass


def test_a_store_whose_file_becomes_shorter() -> None:
    handler = CountingHandler({"f": DATA})
    with open_for_reading("f", filesystem=pafs.PyFileSystem(handler)) as source:
        source.size += 1  # type: ignore[misc]  # as if it had been longer when opened
        with pytest.raises(FileChanged) as caught:
            source.read_at(len(DATA) - 5, len(DATA) + 1)
    assert (caught.value.path, caught.value.byte) == ("f", len(DATA))


# ---------------------------------------------------------------- files that are open already


def test_open_files(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    path.write_bytes(DATA)
    with (
        pa.OSFile(str(path)) as on_disk,
        pa.memory_map(str(path)) as mapped,
        pa.BufferReader(DATA) as buffer,
        pafs.LocalFileSystem().open_input_file(str(path)) as native,
    ):
        for file in (on_disk, mapped, buffer, native):
            with open_for_reading(file) as source:
                check_readable(source)
                assert (source.name, source.identity) == (None, None)
            assert not file.closed


def test_files_without_positions(tmp_path: Path) -> None:
    closed = pa.BufferReader(DATA)
    closed.close()
    stream = pa.CompressedInputStream(pa.BufferReader(gzip.compress(DATA)), "gzip")
    output = pa.OSFile(str(tmp_path / "new"), "wb")
    for file in (closed, stream, output):
        with pytest.raises(InvalidArgument), open_for_reading(file):
            pass
    output.close()


# ---------------------------------------------------------------- identity


def identity(handler: CountingHandler, path: str = "f") -> Hashable | None:
    with open_for_reading(path, filesystem=pafs.PyFileSystem(handler)) as source:
        return source.identity


def test_identity() -> None:
    handler = CountingHandler({"f": DATA, "g": DATA})
    first = identity(handler)
    assert first is not None
    assert identity(handler) == first
    assert hash(identity(handler)) == hash(first)
    assert identity(handler, "g") != first
    assert identity(CountingHandler({"f": DATA})) != first
    handler.files["f"] += b"x"
    assert identity(handler) != first
    handler.files["f"] = DATA
    handler.mtime = LONG_AGO + 1
    assert identity(handler) not in (first, None)


def test_no_identity() -> None:
    assert identity(CountingHandler({"f": DATA}, mtime=None)) is None
    assert identity(CountingHandler({"f": DATA}, mtime=time.time())) is None
    assert identity(CountingHandler({"f": DATA}, mtime=time.time() - 10)) is not None


def test_a_listing_is_believed_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    handler = CountingHandler({"d/f.parquet": DATA})
    (location,) = find_sources("d", filesystem=pafs.PyFileSystem(handler))
    handler.log.clear()
    with location.open() as source:
        listed = source.identity
    assert handler.log == [("open", "d/f.parquet")]
    handler.mtime = LONG_AGO + 5
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 60)
    with location.open() as source:
        assert source.identity not in (listed, None)


def test_locations_can_be_pickled(tmp_path: Path) -> None:
    (tmp_path / "f.parquet").write_bytes(DATA)
    (local,) = find_sources(tmp_path)
    assert pickle.loads(pickle.dumps(local)) == local  # noqa: S301  our own
    mock = pafs._MockFileSystem()  # noqa: SLF001  the only one of pyarrow's without files
    with mock.open_output_stream("f.parquet") as out:
        out.write(DATA)
    (found,) = find_sources("f.parquet", filesystem=mock)
    assert type(pickle.loads(pickle.dumps(found.found))) is remote.ObjectInfo  # noqa: S301  our own
    other = Location(path="f.parquet", filesystem=mock, name="another name")
    assert found == other
    assert hash(found) == hash(other)
