"""The interfaces of stores, whatever their kind; `open` has the table of kinds.

    Store        everything: what is at a path, what is in a folder, create, remove
    TableStore   tables and indexes lie there: ranges of one version, listings with ETags
                 S3 (`s3.store`), GCS and Azure (`conditional`), HDFS (`hdfs`)
    WholeStore   files are read here, built anew, and put in place as a whole
                 conditional     GCS, Azure    a request replaces the object if it is still the one
                                               that was read
                 sftp            SFTP          a rename replaces the file; a last look just before
                 hdfs            HDFS          likewise
                 file_systems    others        a rename that fails if there is a file, or written
                                               where no file is: new names only

Whatever the kind: the new bytes are proved before they leave, and a name leads to the old file or
to the new one. If an answer is lost, the store is asked what is there before anything else is done
(`lost_answers`). A new store seldom begins at `WholeStore`: if a rename puts files in place,
`file_systems.NewNameStore` has all of this; if a request has a condition,
`lost_answers.publish_once` has it, and `conditional` shows how.
"""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from parquet_bloomwriter.errors import FileChanged, FileProblem, OutcomeUnknown
from parquet_bloomwriter.source.base import not_found
from parquet_bloomwriter.source.local import FileSource
from parquet_bloomwriter.source.stream import BufferSource
from parquet_bloomwriter.stores.reader import PIECE_BYTES
from parquet_bloomwriter.text import words_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from parquet_bloomwriter.source.base import Source

NOT_KNOWN = "it is not known whether the new version is in place"

_IN_MEMORY = 32 * 1024 * 1024
"""Bytes; a new file that is expected to be larger is assembled on disk, not in memory."""


@dataclass(slots=True)
class StoreTraffic:
    """Requests and bytes, counted by all threads together.

    Attributes:
        requests: Number of requests by operation, as boto3 spells it.
        down: Bytes of objects that were received.
        up: Bytes of objects that were sent.
    """

    requests: Counter[str] = field(default_factory=Counter)
    down: int = 0
    up: int = 0
    _lock: Any = field(default_factory=Lock, repr=False)

    @property
    def num_requests(self) -> int:
        """Number of requests of all kinds, failed requests included."""
        return sum(self.requests.values())

    def add(self, operation: str, *, down: int = 0, up: int = 0) -> None:
        """Count a request."""
        with self._lock:
            self.requests[operation] += 1
            self.down += down
            self.up += up

    def add_down(self, num_bytes: int) -> None:
        """Count bytes that came with a request counted before."""
        with self._lock:
            self.down += num_bytes


class State(Protocol):
    """The state of a file or an object when a store was asked for it."""

    @property
    def size(self) -> int:
        """Size of the file, bytes."""

    @property
    def etag(self) -> str:
        """ETag of the object, with its quotes; "" where the store has no ETags."""

    @property
    def attempt(self) -> str | None:
        """Id of the attempt that wrote the object, if this library did and the store keeps ids."""

    @property
    def changed_ns(self) -> int:
        """Time of the last change, nanoseconds since 1970 UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    """The state of a file on a `WholeStore`; see `State`."""

    size: int
    token: Hashable
    """A key that differs for every version: ETag and generation, or size and time of change."""

    etag: str = ""
    attempt: str | None = None
    changed_ns: int = field(default=0, compare=False)
    """Time of the last change, nanoseconds since 1970 UTC; 0 if it does not matter."""

    attributes: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Attributes that a new version gets, too: content type, metadata, mode and so on."""


class Listed(NamedTuple):
    """The entry of a listing for a file or an object."""

    key: str
    """Path of the file, as the store spells it."""

    size: int
    """Size of the file, bytes."""

    etag: str
    """ETag with its quotes; a weak ETag begins with `W/`. "" where the store has no ETags."""

    changed_ns: int
    """Last change, nanoseconds since 1970 UTC; 0 if the store does not say."""


def quoted(etag: str) -> str:
    """Return an ETag with its quotes, which some stores leave out; a weak ETag is not changed."""
    return etag if etag.startswith(('"', "W/")) else f'"{etag}"'


def is_forbidden(error: BaseException) -> bool:
    """Return whether an error of this package says that a store forbids a request."""
    cause = error.__cause__
    return isinstance(cause, PermissionError) or bool(getattr(cause, "is_forbidden", False))


class Store(ABC):
    """A bucket, a container or a file system; safe in threads, but for SFTP.

    Every method raises, beside what it says, StoreProblem if the store refuses or does not answer.
    """

    kind: str
    """Name of the kind of store in messages, such as "SFTP"."""

    endpoint: str
    """Endpoint of the store; stores differ in `endpoint` or `name`."""

    name: str
    """Name of the bucket, or beginning of its URLs."""

    traffic: StoreTraffic
    """Requests and bytes so far. Each method counts its own; reports show them."""

    @abstractmethod
    def spell(self, path: str, /) -> str:
        """Return the URL of a file, without secrets."""

    @abstractmethod
    def state(self, path: str) -> State | None:
        """Return the state of a file; None if there is none.

        Raises:
            StoreProblem: Perhaps, if it is a folder. A `TableStore` that raises this has a `look`
                of its own.
        """

    @abstractmethod
    def opened(self, path: str) -> AbstractContextManager[Source]:
        """Open a file for reading, in the version that it has now.

        Raises:
            FileNotFoundError: If there is none.
            FileChanged: Reading does, if it is another file by now, where the store can tell.
        """

    def read_whole(self, path: str) -> bytes:
        """Return all bytes of a file.

        Raises:
            As `opened`.
        """
        with self.opened(path) as source:
            return source.read_at(0, source.size)

    @abstractmethod
    def files_in(self, folder: str, *, start: str = "") -> Iterator[Listed]:
        """Yield the files directly in a folder, by name.

        Args:
            folder: Its path, without a slash at its end.
            start: Leave out names that come before this one.

        Raises:
            FileNotFoundError: If there is no such folder.
        """

    @abstractmethod
    def has_prefix(self, prefix: str, *, suffix: str | tuple[str, ...] = "") -> bool:
        """Return whether there is a file of this path, or a folder, if it ends with a slash.

        Args:
            prefix: The path.
            suffix: How a name in the folder must end, or several such endings.
        """

    @abstractmethod
    def create(
        self,
        path: str,
        data: bytes,
        *,
        attempt: str,
        content_type: str = "",
        one_writer: bool = False,
    ) -> State:
        """Write a file where there is none.

        Args:
            path: Where.
            data: Its bytes.
            attempt: Random id of the attempt, which the store keeps with the file if it can.
            content_type: What the store is to say of it, if it says such things.
            one_writer: The caller promises that nobody else creates the file: then a store that
                ignores conditions need not honour any.

        Raises:
            FileChanged: If there is one.
            OutcomeUnknown: If it cannot be found out whether the file was written.
            StoreProblem, OSError: If it was certainly not written. After a lost answer, the store
                looks what is there first.
        """

    @abstractmethod
    def remove(self, path: str) -> None:
        """Remove a file; a file that does not exist is no error."""

    def why_not_exclusive(self, folder: str) -> str:
        """Return why `create` may replace a file that another program makes meanwhile, or "".

        A store whose `create` fails if there is a file returns "" in its own method.

        Args:
            folder: Where it may be tried with files of random names.
        """
        del folder
        return "it has no way to create a file only if there is none"

    def missing(self, path: str) -> FileNotFoundError:
        """Return the error for a file or folder that is not there."""
        return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.spell(path))

    def changed(self, path: str) -> FileChanged:
        """Return the error for a file that another program wrote."""
        return FileChanged(
            "another program wrote the file meanwhile",
            path=self.spell(path),
            remedy="Run the command again.",
        )


class TableStore(Store):
    """A store that tables and indexes lie on; it gives every object an ETag, and lists ETags.

    If the store has no ETags, a text that differs for every version serves, in quotes (`hdfs`).
    """

    @abstractmethod
    def read(
        self, path: str, start: int, stop: int, *, if_match: str | None = None
    ) -> tuple[bytes, State]:
        """Return the bytes [start, stop) of an object, and its state.

        Raises:
            FileChanged: If it has another ETag than `if_match`.
            FileNotFoundError: If there is no object.
        """

    @abstractmethod
    def objects(self, prefix: str, *, start_after: str = "") -> Iterator[Listed]:
        """Yield the objects whose keys begin with a prefix, which may end within a name.

        Keys begin with no slash, on a store of paths either: its methods take keys and paths.

        Args:
            prefix: What keys begin with.
            start_after: Pass over keys up to this one.
        """

    @abstractmethod
    def folders(self, prefix: str) -> Iterator[str]:
        """Yield the names of the folders directly in a folder, whose path ends with a slash."""

    @abstractmethod
    def create_file(self, path: str, fd: int, size: int) -> State:
        """Create an object from the bytes of an open file, under a name that is used only once.

        Raises:
            As `create`.
        """

    def look(self, path: str) -> tuple[int | None, bool]:
        """Return the size of an object in bytes, or None; and whether any lie below its path."""
        state = self.state(path)
        if state is not None:
            return state.size, False
        return None, self.has_prefix(f"{path}/")

    def remove_empty(self, folder: str) -> None:
        """Remove a folder that is empty, where the store has folders."""


class WholeStore(Store):
    """A store that replaces a file as a whole by its new version."""

    why_not: str = ""
    """Why files cannot be replaced on this store, as a clause; "" if they can."""

    reads_name_version: bool = False
    """Whether every read fails if the file is not the version that was opened."""

    def __init__(self) -> None:
        self.traffic = StoreTraffic()

    @abstractmethod
    def state(self, path: str) -> FileState | None:
        """Return the state of a file; None if there is none."""

    @abstractmethod
    def open(self, path: str, state: FileState) -> AbstractContextManager[Source]:
        """Open a file for reading, in the given state.

        Raises:
            FileChanged: Reading does, if it is another file by now, where the store can tell.
        """

    @contextmanager
    def opened(self, path: str) -> Iterator[Source]:
        """Open a file for reading, in the version that it has now."""
        state = self.state(path)
        if state is None:
            raise not_found(self.spell(path))
        with self.open(path, state) as source:
            yield source

    def create(
        self,
        path: str,
        data: bytes,
        *,
        attempt: str,
        content_type: str = "",
        one_writer: bool = False,
    ) -> FileState:
        """Write a file where there is none; a store that keeps ids of attempts has its own way."""
        del attempt, content_type, one_writer
        file = LocalFile(len(data))
        try:
            file.append(data)
            return self.publish(path, file, replaces=None, like=None)
        finally:
            file.close()

    def publish(
        self,
        path: str,
        data: LocalFile,
        *,
        replaces: FileState | None,
        like: FileState | None,
    ) -> FileState:
        """Write a new file, or replace an old one by it.

        Args:
            path: Where.
            data: Its bytes.
            replaces: What is there; None if there must be nothing.
            like: The file whose attributes it gets.

        Raises:
            FileChanged: If another program wrote there meanwhile; its version stays.
            OutcomeUnknown: If it cannot be found out whether the new file is in place.
            KeyboardInterrupt: With a note, if the old file need not be there any more.
        """
        with self._ending(path):
            return self._publish(path, data, replaces, like)

    @contextmanager
    def _ending(self, path: str) -> Iterator[None]:
        """Turn the error of a request that creates a file into one of the errors of `publish`."""
        try:
            yield
        except FileProblem as error:
            interruption = error.__cause__
            if interruption is None or isinstance(interruption, Exception):
                raise
            if isinstance(error, OutcomeUnknown):
                note = f"{error.path}: {NOT_KNOWN}. {error.remedy}"
                interruption.add_note(note.rstrip(". "))
            raise interruption from None  # Ctrl-C ends the run, and not only this file.
        except OSError:
            raise
        except Exception as error:  # of a library, or no memory
            raise OutcomeUnknown(
                f"the answer of the store could not be read: {words_of(error)}",
                path=path,
                remedy="Run the command again: it sees which version is there.",
            ) from error

    @abstractmethod
    def _publish(
        self, path: str, data: LocalFile, replaces: FileState | None, like: FileState | None
    ) -> FileState:
        """Write or replace a file, and make the folders that are missing, as `publish` says.

        `publish` lets an OSError pass, so it must mean that nothing was written. If Ctrl-C comes
        while it is not certain which file is in place, OutcomeUnknown is raised from it.
        """

    def place(self, path: str) -> Hashable:
        """Return a key of the file's location: equal keys mean the same file."""
        return self.endpoint, self.name, path

    def named(self, path: str) -> AbstractContextManager[None]:
        """Turn errors of reading into errors that name the file, where the source does not."""
        del path
        return nullcontext()

    def notes(self) -> tuple[str, ...]:
        """Return the attributes of old files that new ones could not get, a clause each."""
        return ()


class LocalFile:
    """A new file before it is sent to a store: in memory if it is small, else on disk."""

    def __init__(self, expected: int) -> None:
        """Begin an empty file.

        Args:
            expected: About how many bytes it will have.

        Raises:
            OSError: If there is no place for temporary files.
        """
        self.size = 0
        self._data: bytearray | None = bytearray() if expected <= _IN_MEMORY else None
        self._file: Any = None
        if self._data is None:
            self._file = tempfile.NamedTemporaryFile(prefix="bloomify-", buffering=0)  # noqa: SIM115  closed by close

    def append(self, data: bytes | mmap.mmap) -> None:
        """Write `data` at the end.

        Raises:
            OSError: If the disk is full.
        """
        if self._data is not None:
            self._data += data
        else:
            rest = memoryview(data)
            while rest:
                rest = rest[self._file.write(rest) :]
        self.size += len(data)

    def source(self, name: str | None = None) -> Source:
        """Return the bytes as a source."""
        if self._data is not None:
            return BufferSource(self._data, name=name)
        return FileSource(self._file.name, self._file.fileno(), self.size, name=name)

    def buffer(self) -> bytearray | mmap.mmap:
        """Return the file's bytes as one buffer; a file on disk is mapped into memory."""
        if self._data is not None:
            return self._data
        return mmap.mmap(self._file.fileno(), 0, prot=mmap.PROT_READ)

    def pieces(self) -> Iterator[bytes]:
        """Yield the file's bytes from the first to the last, in pieces of some megabytes."""
        source = self.source()
        for start in range(0, self.size, PIECE_BYTES):
            yield source.read_at(start, min(start + PIECE_BYTES, self.size))

    def tail(self, num_bytes: int) -> bytes:
        """Return the last `num_bytes` bytes; all bytes, if the file has fewer."""
        return self.source().read_at(max(0, self.size - num_bytes), self.size)

    def close(self) -> None:
        """Remove the temporary file."""
        if self._file is not None:
            self._file.close()
            self._file = None
