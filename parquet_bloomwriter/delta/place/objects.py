"""Tables on S3, and on stores that speak its language.

An entry of the log is put with `If-None-Match: *`: of two writers the store refuses one. A store
that ignores the condition is read only. The object carries the id of the attempt, and so does its
text, which tells an answer that was lost from a conflict even where metadata are lost.
"""

from __future__ import annotations

import errno
import os
import time
from typing import TYPE_CHECKING

from parquet_bloomwriter.delta.place.base import LOG, LogFile
from parquet_bloomwriter.delta.place.uris import check_new, data_path, new_uri
from parquet_bloomwriter.errors import (
    BloomwriterError,
    FileChanged,
    InvalidArgument,
    OutcomeUnknown,
    StoreProblem,
    UnsafeTarget,
)
from parquet_bloomwriter.source.filesystems import SCHEMES
from parquet_bloomwriter.stores.s3.answers import Refusal
from parquet_bloomwriter.stores.s3.client import open_bucket
from parquet_bloomwriter.stores.s3.conditions import abilities_of
from parquet_bloomwriter.stores.s3.source import open_object
from parquet_bloomwriter.stores.s3.urls import parse_url

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from parquet_bloomwriter.stores.s3.source import S3Source

_NS_PER_MS = 1_000_000
_FIRST_BYTES = 8 << 20
"""An entry is read by one request if it has no more bytes."""

_JSON = "application/json"
_LOOKS_S = (0.0, 1.0, 4.0)
"""Seconds before each look at an entry whose `put` was not answered."""


class ObjectPlace:
    """See `TablePlace`."""

    def __init__(self, url: str) -> None:
        """Take the table below a prefix; nothing is asked of the store.

        Args:
            url: Of the prefix, without a slash at its end.

        Raises:
            InvalidArgument: If it names no bucket, or boto3 is missing.
        """
        place = parse_url(url)
        self.root = str(place).rstrip("/")
        self._bucket = open_bucket(place.bucket)
        self._prefix = f"{place.key}/" if place.key else ""
        self._log = f"{self._prefix}{LOG}/"

    def list_log(self, start: str = "") -> list[LogFile]:
        """See `TablePlace`."""
        # All names that are not before `start` come after it without its last letter.
        after = f"{self._log}{start[:-1]}" if start else ""
        found = [
            LogFile(one.key.removeprefix(self._log), one.size, one.changed_ns // _NS_PER_MS)
            for one in self._bucket.objects(self._log, start_after=after, delimiter="/")
        ]
        if not found and not (start and self._bucket.has_prefix(self._log)):
            raise _missing(self._bucket.spell(self._log))
        return [one for one in found if one.name and one.name >= start]

    def log_names(self) -> Iterator[str]:
        """See `TablePlace`. The listing is read page by page."""
        for one in self._bucket.objects(self._log, delimiter="/"):
            yield one.key.removeprefix(self._log)

    def read_log(self, name: str) -> bytes:
        """See `TablePlace`."""
        key = self._log + name
        try:
            data, state = self._bucket.read(key, 0, _FIRST_BYTES)
        except StoreProblem as error:
            if isinstance(error.__cause__, Refusal) and error.__cause__.code == "InvalidRange":
                return b""  # It is empty.
            raise
        if state.size <= len(data):
            return data
        rest, _ = self._bucket.read(key, len(data), state.size, if_match=state.etag)
        return data + rest

    def open_log(self, name: str) -> AbstractContextManager[S3Source]:
        """See `TablePlace`."""
        return open_object(self._bucket, self._log + name)

    def check_commits(self) -> None:
        """See `TablePlace`. What the store can do is tried once a month, on a scratch key."""
        if not abilities_of(self._bucket, f"{self._prefix}0").conditions:
            raise UnsafeTarget(
                "the store ignores conditions, so two programs that write to the table at the same "
                "time could destroy each other's commits",
                path=self.root,
                remedy="Keep the table on a store that honours If-None-Match.",
            )

    def create_entry(self, name: str, data: bytes, *, attempt: str) -> bool:
        """See `TablePlace`."""
        self.check_commits()
        key = self._log + name
        try:
            self._bucket.put(key, data, attempt=attempt, replaces=None, ContentType=_JSON)
        except FileChanged:
            return self._is_ours(name, attempt) or False
        except OutcomeUnknown:
            found = self._look_again(name, attempt)
            if found is None:
                raise
            return found
        return True

    def locate(self, uri: str) -> str:
        """See `TablePlace`."""
        scheme, path = data_path(uri)
        if not scheme:
            return f"{self.root}/{path}"
        if scheme in SCHEMES["s3"]:
            return f"s3://{path}"
        raise InvalidArgument(f'the log names "{uri}", which is not on S3, where the table is')

    def new_uri(self, old_uri: str) -> str:
        """See `TablePlace`."""
        return new_uri(old_uri)

    def remove(self, uri: str) -> None:
        """See `TablePlace`."""
        self._bucket.delete(self._prefix + check_new(uri))

    def _is_ours(self, name: str, attempt: str) -> bool | None:
        """Whether an entry has the id of an attempt; None if there is no entry."""
        try:
            return attempt.encode() in self.read_log(name)
        except FileNotFoundError:
            return None

    def _look_again(self, name: str, attempt: str) -> bool | None:
        """Return whether an entry is ours, after an answer was lost; None if that is not known.

        If another program's entry is there, ours never comes: its condition does not hold.
        """
        for pause in _LOOKS_S:
            time.sleep(pause)
            try:
                found = self._is_ours(name, attempt)
            except (BloomwriterError, OSError):
                continue
            if found is not None:
                return found
        return None


def _missing(url: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), url)
