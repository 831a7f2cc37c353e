"""A new version of an object: made of parts, then published under a condition or given up.

    copy, write      the bytes from first to last; parts go out as soon as they are complete
    complete         the last part; an object too small for parts waits for `publish`
    publish          one request makes it visible, if the old object is still what it was
    give_up          ends the upload; the old object was never touched

Until `publish` nobody sees anything of it. If its outcome is not known, nothing is taken back: the
upload stays in the journal, and a later run ends it if it is still there.
"""

from __future__ import annotations

import contextlib
import secrets
from concurrent.futures import ThreadPoolExecutor
from threading import BoundedSemaphore, Event
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.errors import (
    BloomwriterError,
    FileProblem,
    OutcomeUnknown,
    UnsupportedFile,
)
from parquet_bloomwriter.parallel import ByteBudget, to_the_end
from parquet_bloomwriter.stores.base import NOT_KNOWN
from parquet_bloomwriter.stores.s3.bucket import ATTEMPT
from parquet_bloomwriter.stores.s3.journal import begin_upload
from parquet_bloomwriter.stores.s3.parts import Cutter, NewBytes, OldBytes, Part
from parquet_bloomwriter.text import words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from concurrent.futures import Future

    from parquet_bloomwriter.source import Source
    from parquet_bloomwriter.stores.s3.answers import ObjectState
    from parquet_bloomwriter.stores.s3.bucket import S3Bucket
    from parquet_bloomwriter.stores.s3.journal import Entry
    from parquet_bloomwriter.stores.s3.parts import Segment

_THREADS = 8
"""Number of parts sent at the same time; as many more may wait in memory."""

_under_way = ByteBudget(256 * 1024 * 1024)
"""Bytes of parts that all objects of this process hold until the store has them: as many as one
single object may have on their way and waiting."""

_LARGEST = 5 * 1024**4
"""Most bytes of an object."""


class NewObject:
    """The new bytes of an object, from the first to the last."""

    def __init__(  # noqa: PLR0913  all by keyword
        self,
        bucket: S3Bucket,
        key: str,
        *,
        old: Source,
        copied_from: ObjectState | None,
        replaces: str | None,
        attributes: Mapping[str, Any],
        unconditional: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Begin a new version; no request is made yet.

        Args:
            bucket: Where it will be.
            key: Where it will be.
            old: What `copy` reads.
            copied_from: The same as an object that the store can copy by itself, if it is one.
            replaces: ETag of the object that is there; None if there must be none.
            attributes: Content type, metadata and so on, as boto3 spells them.
            unconditional: The store ignores conditions, and the caller insists.
            progress: Called with the number of bytes of each part that is done.
        """
        self.attempt = secrets.token_hex(16)
        self._bucket = bucket
        self._key = key
        self._old = old
        self._copied_from = copied_from
        self._replaces = replaces
        self._attributes = attributes
        self._unconditional = unconditional
        self._progress = progress
        self._cutter = Cutter(copies=copied_from is not None)
        self._size = 0
        self._upload: str | None = None
        self._is_published = False
        self._entry: Entry | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._room = BoundedSemaphore(2 * _THREADS)
        self._parts: list[Future[str]] = []
        self._problem: BaseException | None = None
        self._whole: bytes | None = None
        self._sent = 0
        self.boundaries: list[int] = []
        """Ends of the parts in the new version, bytes from its start; the last one is its size."""

    @property
    def has_parts(self) -> bool:
        """Return whether the object is uploaded in parts, and not sent whole."""
        return self._upload is not None

    def copy(self, start: int, stop: int) -> None:
        """Append bytes [start, stop) of the old version to the new one."""
        self._size += stop - start
        self._take(self._cutter.add(OldBytes(start, stop)))

    def write(self, data: bytes) -> None:
        """Append `data` to the new version."""
        self._size += len(data)
        self._take(self._cutter.add(NewBytes(len(data), data)))

    def complete(self) -> None:
        """Send the last part, and wait until all parts have arrived. Nothing is read after this.

        Raises:
            FileChanged: If the old object is another one by now.
            StoreProblem: If the store refuses a part.
        """
        if self._size > _LARGEST:
            raise UnsupportedFile("the new version would have more than 5 TiB")
        if self._upload is None:
            self._whole = self._bytes_of(self._cutter.pending)
            return
        self._take(self._cutter.finish())
        for part in self._parts:
            part.result()

    def publish(self) -> ObjectState:
        """Replace the old version by the new one.

        Raises:
            FileChanged: If another program wrote the object meanwhile; its version stays.
            StoreProblem: If the store refuses.
            OutcomeUnknown: If it does not answer.
            KeyboardInterrupt: When the outcome is known, with a note of it; or if Ctrl-C comes a
                second time, with a note that it is not known.
        """
        path = self._bucket.spell(self._key)
        try:
            return to_the_end(self._publish)
        except (FileProblem, OSError) as error:
            if isinstance(error, OutcomeUnknown):
                self._forget()
            raise
        except Exception as error:  # of boto3, or no memory
            self._forget()
            raise OutcomeUnknown(
                f"the answer of the store could not be read: {words_of(error)}",
                path=path,
                remedy="Run the command again: it sees which version is there.",
            ) from error
        except BaseException as error:
            if self._is_published:
                error.add_note(f"{path}: the new version is in place, and was not read")
            elif not _is_refused(error.__cause__):
                error.add_note(f"{path}: {NOT_KNOWN}")
                self._forget()
            raise

    def give_up(self) -> None:
        """Abort the upload, if it was begun and not published; Ctrl-C does not stop that."""
        to_the_end(self._give_up)

    def _give_up(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None
        if self._upload is None:
            return
        with contextlib.suppress(BloomwriterError, OSError):
            self._bucket.abort_upload(self._key, self._upload)
            if self._entry is not None:
                self._entry.remove()
        self._forget()

    def _publish(self) -> ObjectState:
        if self._upload is None:
            assert self._whole is not None  # noqa: S101  set by `complete`
            state = self._bucket.put(
                self._key,
                self._whole,
                attempt=self.attempt,
                replaces=self._replaces,
                unconditional=self._unconditional,
                **self._attributes,
            )
            self._is_published = True
            if self._progress is not None:
                self._progress(state.size)
            return state
        state = self._bucket.complete_upload(
            self._key,
            self._upload,
            [part.result() for part in self._parts],
            size=self._size,
            attempt=self.attempt,
            replaces=self._replaces,
            unconditional=self._unconditional,
        )
        self._is_published = True
        if self._entry is not None:
            self._entry.remove()
        self._forget()
        return state

    def _forget(self) -> None:
        """Leave the upload to later runs, and its entry in the journal if there is one."""
        if self._entry is not None:
            self._entry.leave()
        self._upload = self._entry = None
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def _take(self, parts: Iterable[Part]) -> None:
        for part in parts:
            if self._upload is None:
                self._begin()
            assert self._pool is not None  # noqa: S101  set by _begin
            self._room.acquire()
            if self._problem is not None:
                raise self._problem
            self._submit(self._pool, part)
            self._sent += part.size
            self.boundaries.append(self._sent)

    def _submit(self, pool: ThreadPoolExecutor, part: Part) -> None:
        """Send a part when there is room for its bytes; parts copied by the store need no room.

        Whoever waits here holds parts that other threads send, so that room will come.
        """
        held = 0 if part.copied is not None else part.size
        _under_way.acquire(held)
        try:
            future = pool.submit(self._send, part)
        except BaseException:
            _under_way.release(held)
            raise
        future.add_done_callback(lambda _: _under_way.release(held))  # also if it is cancelled
        self._parts.append(future)

    def _begin(self) -> None:
        """Begin the upload in another thread, so that Ctrl-C cannot make us miss its id.

        All threads are started before that. Ctrl-C while a pool starts a thread makes the pool
        forget it, and `give_up` would not wait for what that thread has begun or sends.
        """
        self._pool = ThreadPoolExecutor(_THREADS)
        all_started = Event()
        try:
            for _ in range(_THREADS):
                self._pool.submit(all_started.wait)
        finally:
            all_started.set()
        self._pool.submit(self._begin_upload).result()

    def _begin_upload(self) -> None:
        attributes = dict(self._attributes)
        metadata = {**attributes.pop("Metadata", {}), ATTEMPT: self.attempt}
        self._entry = begin_upload(
            self._bucket, self._key, attempt=self.attempt, Metadata=metadata, **attributes
        )
        self._upload = self._entry.upload

    def _send(self, part: Part) -> str:
        """Copy or send one part, and return its ETag."""
        try:
            etag = self._sent_or_copied(part)
        except BaseException as error:
            self._problem = error
            raise
        finally:
            self._room.release()
        if self._progress is not None:
            self._progress(part.size)
        return etag

    def _sent_or_copied(self, part: Part) -> str:
        key, upload, old = self._key, self._upload or "", self._copied_from
        if part.copied is None or old is None:
            data = self._bytes_of(part.segments)
            return self._bucket.upload_part(key, upload, part.number, data)
        start, stop = part.copied.start, part.copied.stop
        return self._bucket.copy_part(key, upload, part.number, of=old, start=start, stop=stop)

    def _bytes_of(self, segments: Iterable[Segment]) -> bytes:
        return b"".join(
            self._old.read_at(one.start, one.stop) if isinstance(one, OldBytes) else one.data or b""
            for one in segments
        )


def _is_refused(error: BaseException | None) -> bool:
    """Return whether an error says that the new version is not in place, and will not be."""
    return isinstance(error, FileProblem | OSError) and not isinstance(error, OutcomeUnknown)
