"""A bucket as a store of tables, and an object as a source of bytes of the version that was opened.

Opening costs one request, for the end of the object, which also tells its size, its ETag and its
attributes. Later requests carry that ETag: if another program writes the object meanwhile, reading
ends with FileChanged, and never mixes two versions.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import FileProblem, NotParquet, StoreProblem
from parquet_bloomwriter.source.stream import BufferSource
from parquet_bloomwriter.stores.base import TableStore
from parquet_bloomwriter.stores.lost_answers import Refusal
from parquet_bloomwriter.stores.reader import ObjectReader
from parquet_bloomwriter.stores.s3.bucket import S3Bucket
from parquet_bloomwriter.stores.s3.conditions import abilities_of
from parquet_bloomwriter.stores.s3.new_object import NewObject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_bloomwriter.stores.base import Listed
    from parquet_bloomwriter.stores.s3.answers import ObjectState

_FIRST_BYTES = 8 << 20
"""Most bytes of an object that is read by one request."""

_PIECE_BYTES = 4 << 20


class S3Store(S3Bucket, TableStore):
    """A bucket of S3, or of a store that speaks its language."""

    kind = "S3"

    @contextmanager
    def opened(self, path: str) -> Iterator[S3Source]:
        """Open an object by reading its end.

        Raises:
            NotParquet: If it is empty.
            FileNotFoundError: If there is none.
            StoreProblem: If the store refuses, or does not answer.
            FileProblem: What reading it raises, with its name.
        """
        try:
            tail, state = self.read(path, None, S3Source.tail_bytes)
        except StoreProblem as error:
            if _is_empty(error):
                raise NotParquet("the object is empty", path=self.spell(path)) from None
            raise
        try:
            yield S3Source(self, state, tail)
        except FileProblem as error:  # The error says what became of the object.
            error.path = error.path or str(state.path)
            raise

    def read_whole(self, path: str) -> bytes:
        """Return all bytes of an object, by one request if it is short."""
        try:
            data, state = self.read(path, 0, _FIRST_BYTES)
        except StoreProblem as error:
            if _is_empty(error):
                return b""
            raise
        if state.size <= len(data):
            return data
        rest, _ = self.read(path, len(data), state.size, if_match=state.etag)
        return data + rest

    def files_in(self, folder: str, *, start: str = "") -> Iterator[Listed]:
        """Yield the objects directly below a prefix, page by page."""
        prefix, is_empty = f"{folder}/" if folder else "", True
        # All names that are not before `start` come after it without its last letter.
        after = f"{prefix}{start[:-1]}" if start else ""
        for one in self.objects(prefix, start_after=after, delimiter="/"):
            is_empty = False
            if one.key > prefix and one.key >= prefix + start:
                yield one
        if is_empty and not (start and self.has_prefix(prefix)):
            raise self.missing(f"{folder}/")

    def look(self, path: str) -> tuple[int | None, bool]:
        """Return the size of an object in bytes, or None, by one listing; see `TableStore`."""
        for one in self.objects(path):
            if one.key == path:
                return one.size, False
            if one.key.startswith(f"{path}/"):
                return None, True
            if one.key > f"{path}/":
                break
        return None, False

    def create(
        self,
        path: str,
        data: bytes,
        *,
        attempt: str,
        content_type: str = "",
        one_writer: bool = False,
    ) -> ObjectState:
        """Create an object on condition that none of this name exists."""
        of = {"ContentType": content_type} if content_type else {}
        insists = one_writer and bool(self.why_not_exclusive(path.rpartition("/")[0]))
        return self.put(path, data, attempt=attempt, replaces=None, unconditional=insists, **of)

    def create_file(self, path: str, fd: int, size: int) -> ObjectState:
        """Create an object from an open file, without a condition: some stores know none."""
        new = NewObject(
            self,
            path,
            old=BufferSource(b""),
            copied_from=None,
            replaces=None,
            attributes={},
            unconditional=True,
        )
        try:
            for start in range(0, size, _PIECE_BYTES):
                new.write(os.pread(fd, min(_PIECE_BYTES, size - start), start))
            new.complete()
            return new.publish()
        except BaseException:
            new.give_up()
            raise

    def why_not_exclusive(self, folder: str) -> str:
        """Test on a scratch key in a folder what the store can do; see `conditions`."""
        if abilities_of(self, f"{folder.rstrip('/')}/0" if folder else "0").conditions:
            return ""
        return "the store ignores conditions"


class S3Source(ObjectReader):
    """One version of an object on S3, as a source of bytes."""

    def __init__(self, bucket: S3Store, state: ObjectState, tail: bytes) -> None:
        """Read the object in this state; `tail` is its last bytes."""
        super().__init__(
            state.size,
            name=str(state.path),
            identity=(bucket.endpoint, state.path, state.etag),
        )
        self.bucket = bucket
        self.state = state
        self.etag = state.etag
        self._kept = (state.size - len(tail), tail)

    def hold_all(self) -> None:
        """Read all missing bytes by one request, and keep the whole object."""
        start, tail = self._kept
        if start:
            self._kept = (0, self._whole(0, start, self._fetch(0, start)) + tail)

    def _request(self, start: int, stop: int) -> bytes:
        state = self.state
        data, now = self.bucket.read(state.path.key, start, stop, if_match=state.etag)
        if now.size != state.size:
            raise StoreProblem(
                f"the store says that one version of the object has {state.size} bytes, and then "
                f"{now.size}",
                path=str(state.path),
                remedy="Reach the store without a proxy between.",
            )
        return data


def _is_empty(error: StoreProblem) -> bool:
    """Return whether a store refused to read a range because the object has no bytes."""
    refusal = error.__cause__
    return isinstance(refusal, Refusal) and refusal.code == "InvalidRange"
