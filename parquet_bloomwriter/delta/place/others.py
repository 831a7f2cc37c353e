"""Tables on stores whose files are read and written as a whole (`stores.whole`).

GCS, Azure   an entry of the log is put under the condition that there is none
HDFS, SFTP   it is written beside its place, and renamed, which fails if the name is taken;
             whether a server of SFTP keeps to that is tried with two files of random names
all else     read only: nothing there creates a file only if there is none
"""

from __future__ import annotations

from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from parquet_bloomwriter.delta.place.base import LOG, LogFile
from parquet_bloomwriter.delta.place.uris import check_new, data_path, new_uri
from parquet_bloomwriter.errors import FileChanged, InvalidArgument, UnsafeTarget
from parquet_bloomwriter.source.base import not_found
from parquet_bloomwriter.source.filesystems import store_kind
from parquet_bloomwriter.stores.open import open_store
from parquet_bloomwriter.stores.whole import FileState, LocalFile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_bloomwriter.source.base import Source
    from parquet_bloomwriter.stores.whole import WholeStore

_JSON = FileState(size=0, token=None, attributes={"Content-Type": "application/json"})
_NO_HOSTS = ("gs", "memory")
"""Stores whose URLs name buckets or folders, and no host."""


def _store_of(url: str) -> tuple[str, str]:
    """Return the kind of store that a URL is on, and the host that is asked, if the URL names it.

    A log may name other buckets and containers, as shallow clones do, but no other host: whoever
    wrote the log would decide which machine gets connections, and what users sign in with.
    """
    kind, authority = store_kind(url), url.partition("://")[2].partition("/")[0]
    host = authority.rpartition("@")[2].lower()
    if kind in _NO_HOSTS or (kind == "azure" and "@" not in authority):
        return kind, ""
    return kind, host.replace(".blob.", ".dfs.") if kind == "azure" else host


class OtherPlace:
    """See `TablePlace`."""

    def __init__(self, url: str) -> None:
        """Connect to the store of a table.

        Args:
            url: Of its folder, without a slash at its end.

        Raises:
            InvalidArgument: If nothing here can open the URL, or it holds a password.
            StoreProblem: If the store does not answer.
        """
        self.root = url
        self._store: WholeStore
        self._store, log_file = open_store(f"{url}/{LOG}/0")
        self._log = log_file.removesuffix("/0")
        self._folder = self._log.removesuffix(LOG)
        self._why_not: str | None = None
        self._lock = Lock()

    def list_log(self, start: str = "") -> list[LogFile]:
        """See `TablePlace`."""
        return [LogFile(*one) for one in self._store.files_in(self._log, start=start)]

    def log_names(self) -> Iterator[str]:
        """See `TablePlace`. These stores list the folder as a whole."""
        return (one.name for one in self.list_log())

    def read_log(self, name: str) -> bytes:
        """See `TablePlace`."""
        with self.open_log(name) as source:
            return source.read_at(0, source.size)

    @contextmanager
    def open_log(self, name: str) -> Iterator[Source]:
        """See `TablePlace`."""
        path = f"{self._log}/{name}"
        state = self._store.state(path)
        if state is None:
            raise not_found(self._store.spell(path))
        with self._store.open(path, state) as source:
            yield source

    def check_commits(self) -> None:
        """See `TablePlace`. What the store can do is tried once, with files of random names."""
        with self._lock:
            if self._why_not is None:
                self._why_not = self._store.why_not_exclusive(self._folder)
        if self._why_not:
            raise UnsafeTarget(
                f"{self._store.kind} is no place to commit to a table: {self._why_not}",
                path=self.root,
                remedy="Its files can be read.",
            )

    def create_entry(self, name: str, data: bytes, *, attempt: str) -> bool:
        """See `TablePlace`."""
        self.check_commits()
        path = f"{self._log}/{name}"
        entry = LocalFile(len(data))
        try:
            entry.append(data)
            self._store.publish(path, entry, replaces=None, like=self._attributes())
        except FileChanged:
            try:
                return attempt.encode() in self.read_log(name)
            except FileNotFoundError:
                return False
        finally:
            entry.close()
        return True

    def locate(self, uri: str) -> str:
        """See `TablePlace`."""
        scheme, path = data_path(uri)
        if not scheme:
            return f"{self.root}/{path}"
        if _store_of(f"{scheme}://{path}") == _store_of(self.root):
            return f"{scheme}://{path}"
        raise InvalidArgument(f'the log names "{uri}", which is not on the store of the table')

    def new_uri(self, old_uri: str) -> str:
        """See `TablePlace`."""
        return new_uri(old_uri)

    def remove(self, uri: str) -> None:
        """See `TablePlace`."""
        self._store.remove(self._folder + check_new(uri))

    def _attributes(self) -> FileState | None:
        """Return what an entry is to be like, on stores of objects."""
        from parquet_bloomwriter.stores.conditional import ConditionalStore

        return _JSON if isinstance(self._store, ConditionalStore) else None
