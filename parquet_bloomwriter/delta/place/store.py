"""Delta tables on stores: how each kind of store creates an entry of the log exclusively.

S3, GCS, Azure   an entry of the log is put under the condition that no object has its name
HDFS, SFTP       an entry is written to a temporary file, and renamed, which fails if the name is
                 taken; two files with random names test whether an SFTP server obeys this rule
other stores     read only: no call creates a file only if it does not exist. The same holds for
                 S3-compatible stores that ignore conditions
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from parquet_bloomwriter.delta.place.local import LOG, LogFile
from parquet_bloomwriter.delta.place.uris import check_new, data_path, new_uri
from parquet_bloomwriter.errors import InvalidArgument, UnsafeTarget
from parquet_bloomwriter.source.filesystems import store_kind
from parquet_bloomwriter.stores.log_entries import create_entry
from parquet_bloomwriter.stores.open import open_any
from parquet_bloomwriter.stores.s3.urls import is_s3, parse_url

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from parquet_bloomwriter.source import Source

_JSON = "application/json"
_NS_PER_MS = 1_000_000
_NO_HOSTS = ("s3", "gs", "memory")
"""Kinds of stores whose URLs name buckets or folders, and no host."""


def _store_of(url: str) -> tuple[str, str]:
    """Return the kind of store of a URL, and the host in the URL that would be connected to.

    A log may name other buckets and containers, as shallow clones do, but no other host: whoever
    wrote the log would decide which machine gets connections, and what users sign in with.
    """
    kind, authority = store_kind(url), url.partition("://")[2].partition("/")[0]
    host = authority.rpartition("@")[2].lower()
    if kind in _NO_HOSTS or (kind == "azure" and "@" not in authority):
        return kind, ""
    return kind, host.replace(".blob.", ".dfs.") if kind == "azure" else host


class StorePlace:
    """A table on a store. The methods are those of `LocalPlace`."""

    def __init__(self, url: str) -> None:
        """Connect to the store of a table.

        Args:
            url: URL of the table's folder, without a slash at its end.

        Raises:
            InvalidArgument: If nothing here can open the URL, or it holds a password.
            StoreProblem: If the store does not answer.
        """
        self.root = str(parse_url(url)).rstrip("/") if is_s3(url) else url
        self._store, log_file = open_any(f"{self.root}/{LOG}/0")
        self._log = log_file.removesuffix("/0")
        self._folder = self._log.removesuffix(LOG)
        self._why_not: str | None = None
        self._lock = Lock()

    def list_log(self, start: str = "") -> list[LogFile]:
        """See `LocalPlace`."""
        return [
            LogFile(one.key.rpartition("/")[2], one.size, one.changed_ns // _NS_PER_MS)
            for one in self._store.files_in(self._log, start=start)
        ]

    def log_names(self) -> Iterator[str]:
        """See `LocalPlace`. On S3, the listing is read page by page."""
        return (one.key.rpartition("/")[2] for one in self._store.files_in(self._log))

    def read_log(self, name: str) -> bytes:
        """See `LocalPlace`."""
        return self._store.read_whole(f"{self._log}/{name}")

    def open_log(self, name: str) -> AbstractContextManager[Source]:
        """See `LocalPlace`."""
        return self._store.opened(f"{self._log}/{name}")

    def check_commits(self) -> None:
        """See `LocalPlace`. What the store can do is tried once, with files of random names."""
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
        """See `LocalPlace`."""
        self.check_commits()
        path = f"{self._log}/{name}"
        return create_entry(self._store, path, data, attempt=attempt, content_type=_JSON)

    def locate(self, uri: str) -> str:
        """See `LocalPlace`."""
        scheme, path = data_path(uri)
        if not scheme:
            return f"{self.root}/{path}"
        found = f"{'s3' if store_kind(f'{scheme}://') == 's3' else scheme}://{path}"
        if _store_of(found) == _store_of(self.root):
            return found
        raise InvalidArgument(f'the log names "{uri}", which is not on the store of the table')

    def new_uri(self, old_uri: str) -> str:
        """See `LocalPlace`."""
        return new_uri(old_uri)

    def remove(self, uri: str) -> None:
        """See `LocalPlace`."""
        self._store.remove(self._folder + check_new(uri))
