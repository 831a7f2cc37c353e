"""Files on file systems of fsspec, synchronous and asynchronous."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import fsspec
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem

from parquet_bloomwriter.errors import FileChanged, InvalidArgument, NotParquet, UnsupportedFile
from parquet_bloomwriter.source import FileSource, Source, open_for_reading, read_footer
from parquet_bloomwriter.source.base import REMOTE_BYTES
from parquet_bloomwriter.source.filesystems import locate
from parquet_bloomwriter.source.remote import FsspecSource
from tests.source.stores import LONG_AGO, AsyncStore
from tests.verbs.files import footer_of, read, written

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator
    from pathlib import Path

DATA = written()


@pytest.fixture
def memory() -> Iterator[MemoryFileSystem]:
    """The in-memory file system, which all instances share, with one file."""
    filesystem = MemoryFileSystem()
    filesystem.pipe_file("/d/f.parquet", DATA)
    yield filesystem
    filesystem.store.clear()


def check_readable(source: Source) -> None:
    assert isinstance(source, FsspecSource)
    assert source.size == len(DATA)
    assert read_footer(source).data == footer_of(DATA).data
    assert source.read_ranges([(900, 905), (0, 9)]) == [DATA[900:905], DATA[:9]]
    assert pq.ParquetFile(source.for_arrow()).read().equals(read(DATA))


def test_every_way_to_it(memory: MemoryFileSystem) -> None:
    ways: list[tuple[Any, Any]] = [
        ("memory://d/f.parquet", None),
        ("/d/f.parquet", memory),
        ("d/f.parquet", memory),
        ("memory://d/f.parquet", memory),
        ("f.parquet", DirFileSystem("/d", memory)),
        ("f.parquet", "memory://d"),
        ("/d/f.parquet", pafs.PyFileSystem(pafs.FSSpecHandler(memory))),
        ("f.parquet", pafs.SubTreeFileSystem("/d", pafs.PyFileSystem(pafs.FSSpecHandler(memory)))),
        ("simplecache::memory://d/f.parquet", None),
    ]
    for given, filesystem in ways:
        with open_for_reading(given, filesystem=filesystem) as source:
            check_readable(source)
            assert source.name == given


def test_files_of_fsspec_open(memory: MemoryFileSystem, tmp_path: Path) -> None:
    with open_for_reading(fsspec.open("memory://d/f.parquet")) as source:
        check_readable(source)
    with memory.open("/d/f.parquet", "rb") as stream, open_for_reading(stream) as source:
        assert pq.ParquetFile(source.for_arrow()).read().equals(read(DATA))
    path = tmp_path / "f.parquet.gz"
    with fsspec.open(path, "wb", compression="gzip") as packed:
        packed.write(DATA)
    for compressed in (fsspec.open(path, compression="infer"), fsspec.open(path, compression=None)):
        with open_for_reading(compressed) as source:
            if compressed.compression is None:
                assert isinstance(source, FileSource)
                continue
            assert pq.ParquetFile(source.for_arrow()).read().equals(read(DATA))


def test_local_files_are_read_as_such(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    path.write_bytes(DATA)
    for given in (str(path), f"file://{path}", f"local://{path}"):
        with open_for_reading(given, filesystem=LocalFileSystem()) as source:
            assert isinstance(source, FileSource)
            assert source.read_at(0, len(DATA)) == DATA


def test_what_is_not_opened(memory: MemoryFileSystem) -> None:
    with pytest.raises(FileNotFoundError) as missing, open_for_reading("memory://d/nothing"):
        pass
    assert missing.value.filename == "memory://d/nothing"
    with pytest.raises(UnsupportedFile, match="a directory") as folder:  # noqa: SIM117  one each
        with open_for_reading("d", filesystem=memory):
            pass
    assert folder.value.path == "d"
    coroutines = AsyncStore({"f": DATA})
    coroutines.asynchronous = True
    for store, error in (
        (coroutines, InvalidArgument),
        (AsyncStore({"f": DATA}, size=None), UnsupportedFile),
    ):
        with pytest.raises(error), open_for_reading("f", filesystem=store):
            pass


def test_errors_name_the_file(memory: MemoryFileSystem) -> None:
    memory.pipe_file("/d/bad", bytes(100))
    with pytest.raises(NotParquet) as caught, open_for_reading("memory://d/bad") as source:
        read_footer(source)
    assert caught.value.path == "memory://d/bad"
    assert "unchanged" not in str(caught.value)


def test_it_becomes_shorter(memory: MemoryFileSystem) -> None:
    with open_for_reading("memory://d/f.parquet") as source:
        memory.pipe_file("/d/f.parquet", DATA[:1000])
        with pytest.raises(FileChanged, match="shorter") as caught:
            source.read_ranges([(0, 10), (990, 1001)])
    assert (caught.value.path, caught.value.byte) == ("memory://d/f.parquet", 1000)


def test_it_is_removed(memory: MemoryFileSystem) -> None:
    with open_for_reading("memory://d/f.parquet") as source:
        memory.rm("/d/f.parquet")
        with pytest.raises(FileNotFoundError):
            source.read_at(0, 4)


# ---------------------------------------------------------------- requests


def test_requests_of_an_asynchronous_store() -> None:
    data = bytes(range(256)) * 8192
    store = AsyncStore({"f": data})
    far = 3 * REMOTE_BYTES
    with open_for_reading("f", filesystem=store) as source:
        assert store.log == [("info", "f")]
        store.log.clear()
        near = (32 + REMOTE_BYTES, 50 + REMOTE_BYTES)
        ranges = [(i * far, i * far + 32) for i in range(8)] + [near]
        assert source.read_ranges(ranges) == [data[start:stop] for start, stop in ranges]
        assert sorted(store.log) == [(0, near[1]), *ranges[1:8]]
        assert store.most_at_once == 8
        assert (source.traffic.requests, source.traffic.bytes) == (8, near[1] + 7 * 32)


def test_a_footer_is_one_request() -> None:
    store = AsyncStore({"f": DATA})
    with open_for_reading("f", filesystem=store) as source:
        store.log.clear()
        read_footer(source)
        assert store.log == [(0, len(DATA))]


def test_many_threads() -> None:
    store = AsyncStore({"f": DATA})
    with open_for_reading("f", filesystem=store) as source, ThreadPoolExecutor(8) as pool:
        starts = [i * 37 % (len(DATA) - 50) for i in range(80)]
        found = list(pool.map(lambda start: source.read_at(start, start + 50), starts))
        assert found == [DATA[start : start + 50] for start in starts]
    assert store.most_at_once > 1


def test_what_pyarrow_reads_is_counted(memory: MemoryFileSystem) -> None:
    with open_for_reading("/d/f.parquet", filesystem=memory) as source:
        pq.ParquetFile(source.for_arrow()).read()
        assert source.traffic.bytes >= len(DATA) // 2


def test_a_listing_that_was_kept_is_not_believed() -> None:
    class Caching(AsyncStore):
        """Keeps what it was told, until it is told to forget."""

        kept: dict[str, Any] | None = None

        async def _info(self, path: str, **options: object) -> dict[str, Any]:
            self.kept = self.kept or await super()._info(path, **options)
            return self.kept

        def invalidate_cache(self, path: str | None = None) -> None:
            assert path == "f"
            self.kept = None

    store = Caching({"f": DATA + DATA})
    store.info("f")
    store.files["f"] = DATA
    with open_for_reading("f", filesystem=store) as source:
        check_readable(source)


# ---------------------------------------------------------------- identity


def identity(path: str = "f", **tags: object) -> Hashable | None:
    store = AsyncStore({"f": DATA, "g": DATA}, **tags)
    store._fs_token_ = "one store"  # noqa: S105  by which fsspec tells stores apart
    with open_for_reading(path, filesystem=store) as source:
        return source.identity


@pytest.mark.parametrize(
    ("tags", "others"),
    [
        ({"ETag": '"1"'}, {"ETag": '"2"'}),
        ({"etag": "1"}, {"etag": "2"}),
        ({"generation": "1"}, {"generation": "2"}),
        ({"LastModified": datetime(2020, 1, 1, tzinfo=UTC)},
         {"LastModified": datetime(2020, 1, 2, tzinfo=UTC)}),
        ({"mtime": LONG_AGO + 0.25}, {"mtime": LONG_AGO + 0.5}),
        ({"ETag": '"1"', "mtime": LONG_AGO}, {"ETag": '"2"', "mtime": LONG_AGO}),
    ],
)  # fmt: skip
def test_identity(tags: dict[str, Any], others: dict[str, Any]) -> None:
    first = identity(**tags)
    assert first is not None
    assert identity(**tags) == first
    assert identity("g", **tags) != first
    assert identity(**others) not in (first, None)
    assert identity(**tags, size=len(DATA) + 1) != first


@pytest.mark.parametrize(
    "tags",
    [
        {},
        {"created": LONG_AGO},
        {"ETag": 'W/"1"'},
        {"ETag": None},
        {"mtime": time.time() + 3600},
        {"mtime": True},
        {"LastModified": "Sat, 21 Nov 2020 07:00:00 GMT"},
        {"LastModified": datetime(2020, 1, 1)},  # noqa: DTZ001  of no known zone
        {"LastModified": datetime.now(UTC) + timedelta(hours=1)},
    ],
)
def test_no_identity(tags: dict[str, Any]) -> None:
    assert identity(**tags) is None


@pytest.mark.parametrize(
    "said",
    [
        "Unable to load libjvm\ndlopen(/usr/lib/jvm/libjvm.so) failed: no such file\n" * 9,
        "Unable to load libhdfs: libhdfs.so: cannot open shared object file",
        "Prior attempt to load libhdfs failed",
    ],
)
def test_hdfs_without_java_or_hadoop_says_what_to_install(
    said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Hdfs:
        @staticmethod
        def from_uri(_url: str) -> None:
            raise OSError(said)

    monkeypatch.setattr("pyarrow.fs.FileSystem", Hdfs)
    monkeypatch.setattr("parquet_bloomwriter.source.hdfs.is_installed", lambda: False)
    for url in ("hdfs://host:9000/a.parquet", "viewfs://cluster/a.parquet"):
        with pytest.raises(InvalidArgument) as caught:
            locate(url)
        assert "dlopen" not in str(caught.value)
        assert "libhdfs, which were not both found" in str(caught.value)
        assert "pip install hdfs-native" in str(caught.value)
    said = "HDFS does not answer"
    with pytest.raises(OSError, match="does not answer"):
        locate("hdfs://host:9000/a.parquet")


@pytest.mark.parametrize("url", ["sftp://host/a", "SSH://host/a", "zip://a::sftp://host/a.zip"])
def test_sftp_names_both_packages_that_it_needs(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def without_paramiko(_url: str) -> None:
        raise ImportError('SFTPFileSystem requires "paramiko" to be installed')

    with monkeypatch.context() as without:
        without.setattr("fsspec.core.url_to_fs", without_paramiko)
        with pytest.raises(InvalidArgument, match="pip install fsspec paramiko"):
            locate(url)
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(InvalidArgument, match="pip install fsspec paramiko"):
        locate(url)
    with pytest.raises(InvalidArgument, match="Install fsspec, and its package"):
        locate("smb://host/a")
