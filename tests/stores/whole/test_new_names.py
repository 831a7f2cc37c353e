"""File systems without conditions: new names only, and nothing left of what fails."""

from __future__ import annotations

import sys
import zipfile
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFile, MemoryFileSystem

from parquet_bloomwriter import (
    FileChanged,
    InvalidArgument,
    UnsafeTarget,
    bloomify,
    for_each_file,
    strip,
    verify,
)
from parquet_bloomwriter.errors import OutcomeUnknown, StoreProblem
from parquet_bloomwriter.rewrite.session import rewrite_session
from parquet_bloomwriter.stores import file_systems
from parquet_bloomwriter.stores.listing import find_remote
from parquet_bloomwriter.stores.open import check_url
from tests.stores.whole.outcome import error_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import CodeType, FrameType

OPERATIONS = ("info", "ls", "_open", "cat_file", "mv", "rm_file")


class Flaky(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
    """Files in memory, whose operations fail when they are told to."""

    protocol = "flaky"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    log: ClassVar[list[str]] = []
    fault: Callable[[int, str], str] = staticmethod(lambda _number, _operation: "")
    before: Callable[[str], None] = staticmethod(lambda _operation: None)

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return "/" + path.partition("://")[2].strip("/") if "://" in path else path.rstrip("/")

    def mv(self, path1: str, path2: str, **_: object) -> None:
        """Rename, unless there is a file."""
        if path2 in self.store:
            raise FileExistsError(path2)
        self.store[path2] = self.store.pop(path1)


class Renaming(Flaky):
    """The same with a rename of the server's, as FTP, SMB and WebHDFS have it."""

    protocol = "renaming"


def _failing(operation: str) -> Callable[..., object]:
    plain = getattr(Flaky, operation)

    def method(self: Flaky, *arguments: object, **options: object) -> object:
        number = len(Flaky.log)
        Flaky.log.append(operation)
        Flaky.before(operation)
        fault = Flaky.fault(number, operation)
        if fault == "fail":
            raise OSError(5, "told to fail")
        answer = plain(self, *arguments, **options)
        if fault == "lost":
            raise ConnectionError("the answer was lost")
        return answer

    return method


@pytest.fixture(params=["flaky", "renaming"])
def base(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Return the URL of a folder."""
    for one in (Flaky, Renaming):
        fsspec.register_implementation(one.protocol, one, clobber=True)
    for operation in OPERATIONS:
        monkeypatch.setattr(Flaky, operation, _failing(operation))
    monkeypatch.setattr("parquet_bloomwriter.stores.open._WITH_RENAME", frozenset({"renaming"}))
    monkeypatch.setattr(file_systems, "_PAUSES_S", (0.0, 0.0))
    yield f"{request.param}://d"
    _reset()
    Flaky.store.clear()


def _reset() -> None:
    Flaky.log.clear()
    Flaky.fault = staticmethod(lambda _number, _operation: "")
    Flaky.before = staticmethod(lambda _operation: None)


def files() -> dict[str, bytes]:
    """All files there are."""
    return {path: file.getvalue() for path, file in Flaky.store.items()}


def put(path: str, data: bytes) -> None:
    """Write a file as another program would."""
    MemoryFileSystem.pipe_file(Flaky(), path, data)


def test_in_place_is_refused_and_a_new_name_is_not(
    base: str, plain: bytes, with_filters: bytes, tmp_path: Path
) -> None:
    put("/d/a.parquet", plain)
    with pytest.raises(UnsafeTarget, match=r"cannot replace a file safely.*Write to another path"):
        bloomify(f"{base}/a.parquet", ["id"])
    assert files() == {"/d/a.parquet": plain}
    report = bloomify(f"{base}/a.parquet", ["id"], output=f"{base}/b.parquet")
    assert (report.path, report.output) == (f"{base}/a.parquet", f"{base}/b.parquet")
    assert files() == {"/d/a.parquet": plain, "/d/b.parquet": with_filters}
    for overwrite in (False, True):
        with pytest.raises(UnsafeTarget):
            strip(f"{base}/a.parquet", output=f"{base}/b.parquet", overwrite=overwrite)
    strip(f"{base}/b.parquet", output=tmp_path / "here.parquet")
    assert (tmp_path / "here.parquet").read_bytes() == plain
    assert verify(f"{base}/b.parquet").passed
    assert files() == {"/d/a.parquet": plain, "/d/b.parquet": with_filters}


def test_who_took_the_name_meanwhile_keeps_it(base: str, plain: bytes) -> None:
    put("/d/a.parquet", plain)
    last = "mv" if base.startswith("renaming") else "_open"

    def write(operation: str) -> None:
        if operation == last and len(Flaky.log) > 3:
            Flaky.before = staticmethod(lambda _operation: None)
            put("/d/b.parquet", b"theirs")

    Flaky.before = staticmethod(write)
    with pytest.raises(FileChanged):
        bloomify(f"{base}/a.parquet", ["id"], output=f"{base}/b.parquet")
    assert files() == {"/d/a.parquet": plain, "/d/b.parquet": b"theirs"}


def test_a_source_that_changed_is_noticed(base: str, plain: bytes) -> None:
    put("/d/a.parquet", plain)

    def write(operation: str) -> None:
        if operation == "cat_file":
            put("/d/a.parquet", plain)

    Flaky.before = staticmethod(write)
    with pytest.raises(FileChanged):
        bloomify(f"{base}/a.parquet", ["id"], output=f"{base}/b.parquet")
    assert files() == {"/d/a.parquet": plain}


@pytest.mark.parametrize("kind", ["fail", "lost"])
@pytest.mark.parametrize("sticky", [False, True])
def test_whatever_fails_the_new_name_has_all_or_nothing(
    base: str, plain: bytes, with_filters: bytes, kind: str, *, sticky: bool
) -> None:
    put("/d/a.parquet", plain)
    bloomify(f"{base}/a.parquet", ["id"], output=f"{base}/b.parquet")
    number = len(Flaky.log)
    for first in range(number):
        _reset()
        Flaky.store.clear()
        put("/d/a.parquet", plain)
        Flaky.log.clear()
        Flaky.fault = staticmethod(
            lambda n, _operation, first=first: kind if n == first or (sticky and n > first) else ""
        )
        run = partial(bloomify, f"{base}/a.parquet", ["id"], output=f"{base}/b.parquet")
        error = error_of(run)
        found = files()
        assert found.pop("/d/a.parquet") == plain
        if error is None:
            assert found["/d/b.parquet"] == with_filters, first
        elif isinstance(error, OutcomeUnknown):
            assert "remove" in str(error)
        else:
            assert "/d/b.parquet" not in found, (first, error)
            for path in found:
                assert path.rpartition("/")[2] in str(error), (first, error)


def test_what_could_not_be_written_to_its_end_is_taken_back(
    base: str, plain: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("/d/a.parquet", plain)
    write, limits = MemoryFile.write, [1]

    def fill(self: MemoryFile, data: bytes) -> int:
        if not limits:
            raise OSError(28, "no space left")
        limits.pop()
        return int(write(self, data))

    monkeypatch.setattr(MemoryFile, "write", fill)
    monkeypatch.setattr("parquet_bloomwriter.stores.base.PIECE_BYTES", 1000)
    with pytest.raises(StoreProblem, match="no space left"):
        bloomify(f"{base}/a.parquet", ["id"], output=f"{base}/b.parquet")
    assert not limits
    assert files() == {"/d/a.parquet": plain}


def test_a_fault_at_any_line_of_writing_leaves_no_part(
    base: str, plain: bytes, request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(partial(sys.settrace, sys.gettrace()))
    code = file_systems.FileSystemStore._publish.__code__  # noqa: SLF001
    for fault in (OSError, KeyboardInterrupt):
        for line in {line for *_, line in code.co_lines() if line is not None}:
            Flaky.store.clear()
            put("/d/a.parquet", plain)
            raised: list[BaseException] = []
            sys.settrace(partial(_raise_at, code, line, fault, raised))
            with suppress(BaseException):
                bloomify(f"{base}/a.parquet", ["id"], output=f"{base}/b.parquet")
            sys.settrace(None)
            assert set(files()) == {"/d/a.parquet", *([] if raised else ["/d/b.parquet"])}, line


def _raise_at(  # noqa: PLR0913, PLR0917  the last three are of `sys.settrace`
    code: CodeType,
    line: int,
    fault: type[BaseException],
    raised: list[BaseException],
    frame: FrameType,
    event: str,
    _: object,
) -> Callable[..., Any] | None:
    """Trace a function, and raise an error at one of its lines, once."""
    if frame.f_code is not code:
        return None
    if event == "line" and frame.f_lineno == line and not raised:
        raised.append(fault("a fault"))
        raise raised[0]
    return partial(_raise_at, code, line, fault, raised)


def test_large_files_wait_on_disk(
    base: str, plain: bytes, with_filters: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("parquet_bloomwriter.stores.base._IN_MEMORY", 100)
    monkeypatch.setattr("parquet_bloomwriter.stores.base.PIECE_BYTES", 1000)
    monkeypatch.setattr("parquet_bloomwriter.rewrite.whole_files.PIECE_BYTES", 1000)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    put("/d/a.parquet", plain)
    with rewrite_session(f"{base}/a.parquet"):
        assert len(list(tmp_path.iterdir())) == 1
    bloomify(f"{base}/a.parquet", ["id"], output=f"{base}/b.parquet")
    assert files()["/d/b.parquet"] == with_filters
    assert list(tmp_path.iterdir()) == []


def test_chains_and_archives(base: str, plain: bytes, with_filters: bytes, tmp_path: Path) -> None:
    del base
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("a.parquet", plain)
    before = (tmp_path / "all.zip").read_bytes()
    url = f"zip://a.parquet::{tmp_path}/all.zip"
    with pytest.raises(UnsafeTarget, match="zip:// cannot replace a file safely"):
        bloomify(url, ["id"])
    bloomify(url, ["id"], output=tmp_path / "here.parquet", placement="end")
    assert (tmp_path / "here.parquet").read_bytes() == with_filters
    assert (tmp_path / "all.zip").read_bytes() == before


def test_urls_that_lead_nowhere(tmp_path: Path, plain: bytes) -> None:
    (tmp_path / "a.parquet").write_bytes(plain)
    with pytest.raises(InvalidArgument, match="neither pyarrow nor fsspec can open"):
        bloomify("nothing://x/a.parquet", ["id"])
    with pytest.raises(InvalidArgument, match="Name the file by its path"):
        bloomify(f"file://{tmp_path}/a.parquet", ["id"])
    with pytest.raises(InvalidArgument, match="is a file here"):
        bloomify(f"local://{tmp_path}/a.parquet", ["id"])
    with pytest.raises(StoreProblem):
        bloomify("ftp://127.0.0.1:9/a.parquet", ["id"])
    assert [one.name for one in tmp_path.iterdir()] == ["a.parquet"]


def test_a_folder_that_is_not_there() -> None:
    with pytest.raises(InvalidArgument, match="no Parquet files in the folder"):
        find_remote("memory://nowhere/")
    (taken_for_a_file,) = find_remote("memory://nowhere")
    assert not taken_for_a_file.is_found


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ("memory://d/a?.parquet", "memory://d/ab.parquet"),
        ("memory://d/*.parquet", "memory://d/ab.parquet"),
        ("memory://d/", "memory://d/ab.parquet"),
        ("simplecache::memory://d", "simplecache::memory://d/ab.parquet"),
        ("zip://*.parquet::{zip}", "zip://ab.parquet::{zip}"),
        ("zip://::{zip}", "zip://ab.parquet::{zip}"),
        ("zip://d/*.parquet::{zip}", "zip://d/ab.parquet::{zip}"),
        ("zip://d::{zip}", "zip://d/ab.parquet::{zip}"),
        ("memory://d/a.parquet?sig=x", "memory://d/a.parquet?sig=x"),
    ],
)
def test_what_is_found_on_a_store_is_never_taken_for_a_file_here(
    named: str, found: str, plain: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "ab.parquet"
    here.write_bytes(plain)
    monkeypatch.chdir(tmp_path)
    archive = tmp_path / "x.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("d/ab.parquet" if "zip://d" in named else "ab.parquet", plain)
    memory = MemoryFileSystem()
    memory.pipe_file("/d/a.parquet?sig=x" if "sig=" in named else "/d/ab.parquet", plain)
    try:
        (one,) = find_remote(named.format(zip=archive))
        assert one.url == found.format(zip=archive)
        (outcome,) = for_each_file(
            named.format(zip=archive), lambda path, _output, _jobs: bloomify(path, ["id"])
        )
        assert outcome.error is not None
    finally:
        memory.rm("/d", recursive=True)
    assert here.read_bytes() == plain


def test_no_part_of_a_password_is_shown() -> None:
    for word in ("secret", "p@secret", "@secret@", "a:b@secret"):
        for scheme in ("ftp", "simplecache::ftp"):
            with pytest.raises(InvalidArgument, match="given with a password") as caught:
                bloomify(f"{scheme}://ada:{word}@127.0.0.1:1/x@y.parquet", ["id"])
            assert "secret" not in str(caught.value)
            assert "127.0.0.1:1/x@y.parquet" in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "sftp://ada:secret-word@host/a.parquet",
        "zip://a.parquet::sftp://ada:secret-word@host/a.zip",
        "simplecache::sftp://ada:secret-word@host/a.parquet",
        "filecache::zip://a.parquet::ftp://ada:secret::word@host/a.zip",
    ],
)
def test_a_password_in_any_link_of_a_chain_is_refused_and_not_shown(url: str, plain: bytes) -> None:
    MemoryFileSystem().pipe_file("/a.parquet", plain)

    def nothing(path: str, output: str | None, jobs: int) -> object:
        raise AssertionError((path, output, jobs))

    for run in (
        partial(bloomify, url, ["id"]),
        partial(bloomify, "memory://a.parquet", ["id"], output=url),
        lambda: list(for_each_file([url], nothing)),
    ):
        with pytest.raises(InvalidArgument, match="given with a password") as caught:
            run()
        assert "secret" not in str(caught.value)
        assert "word@" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["zip://a.parquet::memory://x/y@z.zip", "memory://h:1/a@b.parquet", "memory://u@h/a"]
)
def test_what_is_no_password_is_not_taken_for_one(url: str) -> None:
    check_url(url)
