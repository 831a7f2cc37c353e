"""Whatever can be read gives the same bytes; whatever cannot gives a clear error."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.source import (
    BufferSource,
    FileSource,
    Location,
    open_for_reading,
    read_footer,
)
from parquet_bloomwriter.source.filesystems import is_url, locate, without_secrets
from tests.verbs.files import footer_of, read, written

if TYPE_CHECKING:
    from pathlib import Path

DATA = written()


class Elsewhere:
    """A source of somebody else's, which offers what is asked of one."""

    def __init__(self) -> None:
        self.inner = BufferSource(DATA)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  of any attribute
        return getattr(self.inner, name)

    def read_ranges(self, ranges: list[tuple[int, int]]) -> list[bytes]:
        """Pass it on."""
        return self.inner.read_ranges(ranges)


def inputs(path: Path) -> list[Any]:
    return [
        str(path),
        path,
        Location(path=str(path)),
        DATA,
        bytearray(DATA),
        memoryview(DATA),
        memoryview(DATA + bytes(-len(DATA) % 8)).cast("q"),
        pa.py_buffer(DATA),
        BufferSource(DATA),
        Elsewhere(),
    ]


def test_the_same_bytes(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    path.write_bytes(DATA)
    for given in inputs(path):
        with open_for_reading(given) as source:
            assert source.read_at(0, len(DATA)) == DATA
            assert source.read_tail(20)[:4] == source.read_at(source.size - 20, source.size - 16)
            if source.size == len(DATA):
                assert read_footer(source).data == footer_of(DATA).data
                assert pq.ParquetFile(source.for_arrow()).read().equals(read(DATA))
            if not isinstance(source, FileSource):
                assert (source.name, source.identity) == (None, None)


def test_a_source_is_passed_on() -> None:
    for given in (BufferSource(DATA), Elsewhere()):
        with open_for_reading(given) as source:
            assert source is given


@pytest.mark.parametrize("given", [None, 5, 1.5, object(), ["a"], {"path": "a"}])
def test_nothing_to_read_from(given: object) -> None:
    with pytest.raises(InvalidArgument, match="nothing can be read from"), open_for_reading(given):
        pass


def test_a_buffer_with_gaps() -> None:
    with pytest.raises(InvalidArgument, match="not contiguous"):  # noqa: SIM117  one each
        with open_for_reading(memoryview(DATA)[::2]):
            pass


def test_file_systems_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="no path"):  # noqa: SIM117  one each
        with open_for_reading(DATA, filesystem=MemoryFileSystem()):
            pass
    with pytest.raises(InvalidArgument, match="int is no file system"):  # noqa: SIM117
        with open_for_reading(tmp_path, filesystem=5):
            pass


# ---------------------------------------------------------------- URLs


def test_what_is_a_url() -> None:
    for url in (
        "s3://b/k",
        "file:///x",
        "memory://a",
        "abfs+x://c",
        "zip://a::s3://b",
        "c1::x2://",
    ):
        assert is_url(url), url
    for path in ("/a/b", "a", "C:/x", "C:\\x", "c://x", "a::b", "2024-01-01T10:00://", "", "a:b"):
        assert not is_url(path), path


@pytest.mark.parametrize("url", ["nosuch://user:secret@host/x?token=secret", "s3://[secret"])
def test_urls_that_nobody_knows(url: str) -> None:
    with pytest.raises(InvalidArgument, match="neither pyarrow nor fsspec") as caught:  # noqa: SIM117
        with open_for_reading(url):
            pass
    assert caught.value.remedy
    assert "user" not in str(caught.value)
    assert "token" not in str(caught.value)


def test_urls_as_spark_spells_them() -> None:
    place = locate("s3a://key:secret@b/d/k?region=eu-central-1")
    assert (place.path, place.name) == ("b/d/k", "s3a://b/d/k")
    assert getattr(place.filesystem, "type_name", None) == "s3"


def test_without_fsspec(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("fsspec", "fsspec.core"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InvalidArgument, match="pyarrow cannot open") as caught:  # noqa: SIM117
        with open_for_reading("memory://user:secret@x/y"):
            pass
    assert "Install fsspec" in caught.value.remedy
    assert "secret" not in str(caught.value)


def test_names_without_secrets() -> None:
    assert without_secrets("s3://key:secret@b/k@1?region=x") == "s3://b/k@1"
    assert without_secrets("memory://a/b@c") == "memory://a/b@c"


def test_local_files_need_neither_pyarrow_nor_fsspec(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    path.write_bytes(DATA)
    code = (
        "import sys; from parquet_bloomwriter.source import *\n"
        f"(found,) = find_sources({os.fspath(tmp_path)!r})\n"
        "with found.open() as s: read_footer(s)\n"
        "print([m for m in ('pyarrow', 'fsspec') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
