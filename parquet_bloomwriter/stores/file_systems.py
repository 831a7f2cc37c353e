"""Stores that are file systems of fsspec or pyarrow: files get new names, and none is replaced.

    WebHDFS, SMB, FTP,   a rename that fails if there is a file, or, on FTP, replaces it in unknown
    HDFS by libhdfs      ways. pyarrow deletes the old file on HDFS first
    memory, zip, HTTP,   no rename at all, or none that is one step: files are written directly, and
    all else             where a store shows files before they are complete, readers see a part

Subclasses of `NewNameStore` whose rename replaces a file at one instant replace files, too:
`sftp.SftpStore` and `hdfs.HdfsStore`. They have no conditions: size and time of the old file are
looked at just before, and what another program writes between that look and the rename is lost.

A file that is renamed is written beside its place first, as `.NAME.bloomify-ID.tmp`, and read back.
If the answer to the rename is lost, the temporary name decides: we remove it, and as soon as it is
gone the rename has happened or never will. Which of both, the bytes under the final name say.
"""

from __future__ import annotations

import errno
import os
import posixpath
import secrets
import time
from abc import abstractmethod
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.errors import (
    BloomwriterError,
    FileProblem,
    OutcomeUnknown,
    StoreProblem,
    VerificationFailed,
    redacting,
)
from parquet_bloomwriter.source.filesystems import without_secrets
from parquet_bloomwriter.source.listing import Location
from parquet_bloomwriter.source.remote import TAGS, TIMES, stat_arrow, stat_fsspec
from parquet_bloomwriter.stores.base import FileState, Listed, WholeStore
from parquet_bloomwriter.stores.conditional import place_of_https
from parquet_bloomwriter.text import words_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator
    from contextlib import AbstractContextManager

    from parquet_bloomwriter.source.base import Source
    from parquet_bloomwriter.source.filesystems import ResolvedPath
    from parquet_bloomwriter.stores.base import LocalFile

_COMPARED_BYTES = 64 * 1024
"""Bytes at the end of a new file that are read back; they mostly contain its footer."""

_PAUSES_S = (0.0, 0.5, 2.0)
_MS_PER_S = 1000
_NS_PER_MS = 1_000_000
_MAX_NAME_BYTES = 255


class FileSystemStore(WholeStore):
    """A file system on which new files are written, and none is replaced."""

    why_not = "it knows neither conditions nor a rename that replaces a file at one instant"

    @abstractmethod
    def _opened(self, path: str) -> AbstractContextManager[Source]:
        """Open a file for reading, in the version that it has at that moment."""

    @abstractmethod
    def _look(self, path: str) -> tuple[str, Any]:
        """Return "file", "directory" or "nothing", and the information on what is at a path."""

    @abstractmethod
    def _state(self, info: Any) -> FileState:  # noqa: ANN401  as `_look` returns it
        """Return the state of a file from the information on it."""

    @abstractmethod
    def _listed(self, folder: str) -> Iterator[Listed]:
        """Yield the files and folders directly in a folder; the size of a folder is below 0."""

    @abstractmethod
    def _make_folder(self, folder: str) -> None:
        """Make a folder, and the folders above it that are missing."""

    @abstractmethod
    def _create(self, path: str, like: FileState | None = None) -> Any:  # noqa: ANN401  a file object
        """Create a file and open it for writing; fail if it exists, where the file system can tell.

        Args:
            path: Where.
            like: The file whose attributes it will get.
        """

    @abstractmethod
    def _remove(self, path: str) -> None:
        """Remove a file.

        Raises:
            FileNotFoundError: If there is none.
        """

    # ------------------------------------------------------------ reading

    def state(self, path: str) -> FileState | None:
        """Return the state of a file; None if there is none."""
        self.traffic.add("stat")
        with self.named(path):
            kind, info = self._look(path)
        if kind == "nothing":
            return None
        if kind == "directory":
            raise StoreProblem("this is a folder", path=self.spell(path))
        return self._state(info)

    @contextmanager
    def open(self, path: str, state: FileState) -> Iterator[Source]:
        """Open a file for reading. Another version than `state` may be read."""
        del state
        with ExitStack() as stack:
            source = stack.enter_context(self._opened(path))
            try:
                yield source
            finally:
                stack.close()  # without the error, which need not be one of reading

    def has_prefix(self, prefix: str, *, suffix: str | tuple[str, ...] = "") -> bool:
        """Return whether the file exists, or the folder, if the path ends with a slash."""
        self.traffic.add("list")
        path = prefix.rstrip("/")
        with self.named(path):
            if not prefix.endswith("/"):
                return self._look(path)[0] == "file"
            if not self._exists(path):
                return False
            return not suffix or any(entry.key.endswith(suffix) for entry in self._listed(path))

    def _exists(self, path: str) -> bool:
        return self._look(path)[0] != "nothing"

    def files_in(self, folder: str, *, start: str = "") -> Iterator[Listed]:
        """Yield the files directly in a folder, by name."""
        self.traffic.add("list")
        with self.named(folder):
            found = [entry for entry in self._listed(folder) if entry.size >= 0]
        yield from sorted(entry for entry in found if posixpath.basename(entry.key) >= start)

    def remove(self, path: str) -> None:
        """Remove a file; a file that does not exist is no error."""
        with self.named(path), suppress(FileNotFoundError):
            self._remove(path)

    # ------------------------------------------------------------ writing

    def _publish(
        self, path: str, data: LocalFile, replaces: FileState | None, like: FileState | None
    ) -> FileState:
        """Write a file under a name that no file has."""
        del like
        if replaces is not None:
            raise AssertionError(self.why_not)
        self._check_still(path, None)
        self._make_folder_of(path)
        is_ours = False
        try:
            with self.named(path), ExitStack() as stack:
                file, is_ours = stack.enter_context(self._create(path)), True
                self._send(data, file)
                stack.close()
                return self._check(path, data)
        except FileExistsError as error:
            raise self.changed(path) from error
        except BaseException as error:
            self._take_back(path, data, error, is_ours=is_ours)
            raise

    def _take_back(
        self, path: str, data: LocalFile, error: BaseException, *, is_ours: bool
    ) -> None:
        """Remove the file under `path` if its bytes are the beginning of our new file.

        Args:
            path: Where it is.
            data: Our bytes.
            error: Why it is taken back.
            is_ours: Whether the store has said that we have made it.

        Raises:
            OutcomeUnknown: If it is not known what is there, or whose it is.
        """
        try:
            if not self._exists(path):
                return
            if is_ours:
                with self._opened(path) as source:
                    begins = _begins(data, source)
                if begins:
                    self._remove(path)
                    return
        except Exception:  # noqa: BLE001, S110  nothing is known then
            pass
        raise OutcomeUnknown(
            f"the new file could not be written: {words_of(error)}",
            path=self.spell(path),
            remedy="What is under that name may be incomplete: look at it, and remove it.",
        ) from error

    def _holds(self, path: str, data: LocalFile) -> bool:
        """Return whether the file under a path has exactly the bytes of `data`."""
        if not self._exists(path):
            return False
        with self._opened(path) as source:
            return source.size == data.size and _begins(data, source)

    def _make_folder_of(self, path: str) -> None:
        """Make the folder of a new file, and those above it. Errors are left to opening the file.

        If another program makes one of the same folders at that instant, SFTP's `mkdir` fails and
        the folders below are not made: so it is tried once for each folder of the path.
        """
        folder = posixpath.dirname(path)
        for _ in filter(None, folder.split("/")):
            with suppress(Exception):
                if not self._exists(folder):
                    self._make_folder(folder)
                return

    def _send(self, data: LocalFile, file: Any) -> None:  # noqa: ANN401  a file object
        self.traffic.add("write", up=data.size)
        for piece in data.pieces():
            file.write(piece)

    def _check(self, path: str, data: LocalFile) -> FileState:
        """Check that a file has the size and last bytes that were sent; return its state.

        Raises:
            VerificationFailed: If they are not.
        """
        state = self.state(path)
        if state is None or state.size != data.size:
            has = "is not there" if state is None else f"has {state.size} bytes, not {data.size}"
            raise VerificationFailed(f"the new file {has}", path=self.spell(path))
        with self._opened(path) as source:
            expected = data.tail(_COMPARED_BYTES)
            if source.read_at(data.size - len(expected), data.size) != expected:
                raise VerificationFailed(
                    "the new file does not end as it was sent", path=self.spell(path)
                )
        return state

    def _check_still(self, path: str, replaces: FileState | None) -> None:
        found = self.state(path)
        if (None if found is None else found.token) != (replaces and replaces.token):
            raise self.changed(path)

    # ------------------------------------------------------------ errors

    @contextmanager
    def named(self, path: str) -> Iterator[None]:
        """Turn all errors of a file system into errors that name the file."""
        try:
            with redacting():
                yield
        except (BloomwriterError, FileExistsError, MemoryError):
            raise
        except FileNotFoundError as error:
            raise FileNotFoundError(
                errno.ENOENT, os.strerror(errno.ENOENT), self.spell(path)
            ) from error
        except PermissionError as error:
            raise StoreProblem(
                f"{self.kind} forbids it: {words_of(error)}",
                path=self.spell(path),
                remedy="Check the rights to the file, and to its folder.",
            ) from error
        except NotImplementedError as error:
            raise StoreProblem(f"{self.kind} cannot do it", path=self.spell(path)) from error
        except Exception as error:
            raise StoreProblem(
                f"{self.kind} does not do it: {words_of(error)}", path=self.spell(path)
            ) from error


class FsspecStore(FileSystemStore):
    """A file system of fsspec."""

    def __init__(self, place: ResolvedPath) -> None:
        """Use a file system of a library.

        Args:
            place: A URL that was resolved to it.
        """
        super().__init__()
        self._fs: Any = place.filesystem
        scheme = place.name.partition("://")[0].rpartition("::")[2]
        self.kind = f"{scheme}://"
        shown, path = place.name, place.path
        self._base = shown.removesuffix(path) if shown.endswith(path) else f"{scheme}://"
        self.endpoint = self.kind
        self.name = self._base

    def spell(self, path: str) -> str:
        """Return the URL of a file, without users, passwords and parameters."""
        return without_secrets(self._base + path)

    def place(self, path: str) -> Hashable:
        """Return a key of a file's location; an HTTPS URL may be a location on GCS or Azure."""
        return place_of_https(self.spell(path)) or super().place(path)

    def _look(self, path: str) -> tuple[str, Any]:
        return stat_fsspec(self._fs, path)

    def _state(self, info: Any) -> FileState:  # noqa: ANN401  as the file system says it
        size = int(info.get("size") or 0)
        tag = next((str(info[key]) for key in TAGS if info.get(key)), None)
        changed = next((str(info[key]) for key in (*TIMES, "created") if info.get(key)), None)
        return FileState(size=size, token=(size, tag or changed))

    def _opened(self, path: str) -> AbstractContextManager[Source]:
        return Location(path=path, filesystem=self._fs, name=self.spell(path)).open()

    def _listed(self, folder: str) -> Iterator[Listed]:
        self._fs.invalidate_cache(folder)
        for entry in self._fs.ls(folder, detail=True):
            size = int(entry.get("size") or 0) if entry["type"] == "file" else -1
            yield Listed(str(entry["name"]).rstrip("/"), size, "", _changed_ms(entry) * _NS_PER_MS)

    def _make_folder(self, folder: str) -> None:
        self._fs.makedirs(folder, exist_ok=True)

    def _create(self, path: str, like: FileState | None = None) -> Any:  # noqa: ANN401  a file object
        del like
        try:
            return self._fs.open(path, "xb")
        except (NotImplementedError, ValueError):
            return self._fs.open(path, "wb")

    def _remove(self, path: str) -> None:
        self._fs.rm_file(path)


class NewNameStore(FileSystemStore):
    """A file system that renames files, but cannot replace a file at one instant."""

    why_not = "its rename does not replace a file at one instant"
    is_replacing = False

    def _publish(
        self, path: str, data: LocalFile, replaces: FileState | None, like: FileState | None
    ) -> FileState:
        """Write a temporary file in the same folder, compare its end, and rename it.

        Raises:
            VerificationFailed: If it was not kept as it was sent.
        """
        if replaces is not None and not self.is_replacing:
            raise AssertionError(self.why_not)
        if replaces is None:
            self._make_folder_of(path)
        temporary = temporary_beside(path)
        try:
            with self.named(temporary):
                with self._create(temporary, like) as file:
                    if like is not None:
                        self._hide(temporary, like)
                    self._send(data, file)
                self._check(temporary, data)
                if like is not None:
                    self._carry_over(temporary, like)
            self._check_still(path, replaces)
        except BaseException as error:
            self._clean_up(temporary, error)
            raise
        self.traffic.add("rename")
        try:
            self._rename(temporary, path, replaces=replaces is not None)
        except BaseException as error:  # Whatever it was, the store is asked what is there.
            state = self._settle(temporary, path, data, replaces, error)
            if isinstance(error, Exception):
                return state
            error.add_note(f"{self.spell(path)}: the new version is in place")
            raise
        try:
            with suppress(StoreProblem, FileNotFoundError):
                return self.state(path) or _unseen(data)
        except KeyboardInterrupt as error:
            error.add_note(f"{self.spell(path)}: the new version is in place")
            raise
        return _unseen(data)

    def _settle(
        self,
        temporary: str,
        path: str,
        data: LocalFile,
        replaces: FileState | None,
        error: BaseException,
    ) -> FileState:
        """Find out whether a rename has happened whose answer was lost or unclear.

        Once the temporary name is gone, the rename has happened, or never will.

        Returns:
            The state of the new file, if it is in place.

        Raises:
            FileChanged: If another file is there.
            StoreProblem: If the old one is.
            OutcomeUnknown: If the store does not answer.
        """
        for pause in _PAUSES_S:
            try:
                time.sleep(pause)
                self._reconnect()
                if self._exists(temporary):
                    with suppress(FileNotFoundError):
                        self._remove(temporary)
                    if self._exists(temporary):
                        continue
                if self._holds(path, data):
                    return self.state(path) or _unseen(data)
                found = self.state(path)
            except Exception:  # noqa: BLE001, S112  asked again
                continue
            except KeyboardInterrupt as again:  # perhaps for the second time
                error = again
                break
            if (None if found is None else found.token) != (replaces and replaces.token):
                raise self.changed(path) from error
            raise StoreProblem(
                f"{self.kind} did not rename the new file: {words_of(error)}", path=self.spell(path)
            ) from error
        raise OutcomeUnknown(
            f"the store did not answer: {words_of(error)}",
            path=self.spell(path),
            remedy="Look whether the new version is there; if not, remove "
            f"{self.spell(temporary)}, and run the command again.",
        ) from error

    def _clean_up(self, temporary: str, error: BaseException) -> None:
        """Remove the temporary file; if that fails, add to `error` that it is left."""
        try:
            self._reconnect_if_lost()
            if self._exists(temporary):
                self._remove(temporary)
        except Exception:  # noqa: BLE001  the first error counts
            if isinstance(error, FileProblem):
                error.remedy = f"{error.remedy} Remove {self.spell(temporary)}.".strip()
            elif not isinstance(error, Exception):
                error.add_note(f"{self.spell(temporary)} is left: remove it")

    def _hide(self, temporary: str, like: FileState) -> None:
        """Make a temporary file unreadable for others until `_carry_over` gives it its mode."""

    def _carry_over(self, temporary: str, like: FileState) -> None:
        """Give a file the attributes of `like`."""

    @abstractmethod
    def _rename(self, temporary: str, path: str, *, replaces: bool) -> None:
        """Rename a file; unless it `replaces`, fail if the new name exists."""

    def _reconnect(self) -> None:
        """Open the connection again, after an answer was lost."""

    def _reconnect_if_lost(self) -> None:
        """Open the connection again, if it does not answer."""


class RenamingStore(FsspecStore, NewNameStore):
    """A file system of fsspec whose `mv` is one request of the server's."""

    def _rename(self, temporary: str, path: str, *, replaces: bool) -> None:
        del replaces
        self._fs.mv(temporary, path)


class ArrowStore(FsspecStore):
    """A file system of pyarrow's."""

    def _look(self, path: str) -> tuple[str, Any]:
        return stat_arrow(self._fs, path)

    def _state(self, info: Any) -> FileState:  # noqa: ANN401  an `ObjectInfo`
        return FileState(size=info.size or 0, token=info)

    def _listed(self, folder: str) -> Iterator[Listed]:
        import pyarrow.fs as pafs

        for entry in self._fs.get_file_info(pafs.FileSelector(folder)):
            yield Listed(
                entry.path, (entry.size or 0) if entry.is_file else -1, "", entry.mtime_ns or 0
            )

    def _make_folder(self, folder: str) -> None:
        self._fs.create_dir(folder, recursive=True)

    def _create(self, path: str, like: FileState | None = None) -> Any:  # noqa: ANN401  a file object
        del like
        return self._fs.open_output_stream(path)

    def _remove(self, path: str) -> None:
        self._fs.delete_file(path)


class LibhdfsStore(ArrowStore, NewNameStore):
    """HDFS through pyarrow and libhdfs, where `hdfs-native` is missing; see `stores.hdfs`."""

    why_not = "pyarrow deletes the old file there before it renames the new one"

    def __init__(self, place: ResolvedPath) -> None:
        super().__init__(place)
        self.kind = "HDFS"

    def _rename(self, temporary: str, path: str, *, replaces: bool) -> None:
        del replaces
        self._fs.move(temporary, path)


def temporary_beside(path: str) -> str:
    """Return a hidden name in the same folder that no file has."""
    folder, _, name = path.rpartition("/")
    suffix = f".bloomify-{secrets.token_hex(8)}.tmp"
    while len(f".{name}{suffix}".encode()) > _MAX_NAME_BYTES:
        name = name[:-1]
    return f"{folder}/.{name}{suffix}" if "/" in path else f".{name}{suffix}"


def _begins(data: LocalFile, source: Source) -> bool:
    """Return whether the new file `data` begins with all bytes of `source`."""
    return source.size <= data.size and all(
        source.read_at(start, start + len(piece)) == piece
        for start, piece in _cut(data, source.size)
    )


def _cut(data: LocalFile, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield position and bytes of pieces of the first `size` bytes, some megabytes each."""
    start = 0
    for piece in data.pieces():
        part = piece[: max(0, size - start)]
        if part:
            yield start, part
        start += len(piece)


def _changed_ms(found: Any) -> int:  # noqa: ANN401  as the file system says it
    """Return when a file was changed, milliseconds since 1970 UTC; 0 if it is not known."""
    for key in (*TIMES, "created"):
        changed = found.get(key)
        if changed:
            seconds = changed.timestamp() if hasattr(changed, "timestamp") else changed
            with suppress(TypeError, ValueError):
                return int(float(seconds) * _MS_PER_S)
    return 0


def _unseen(data: LocalFile) -> FileState:
    return FileState(size=data.size, token=None)
