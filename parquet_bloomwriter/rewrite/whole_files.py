"""Rewriting of files on stores other than S3, which are read and written as a whole.

    old          new          how
    store        in place     read, built here, written in one piece under the store's condition
    store        other name   likewise, to the same store or to another
    file         store        built here, written in one piece
    store        file         read, built here

What a column needs is read by ranges, so that a plan costs no more (`--dry-run`). When the new
version is begun the old one is copied here, in memory if it is small, and column chunks are read
from that copy. The new version is proved like one on disk before it leaves, and its end is read
back from the store. `stores.base` says how each store puts it in place.
"""

from __future__ import annotations

import os
from collections import Counter
from contextlib import ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import (
    FileChanged,
    FileProblem,
    InvalidArgument,
    Proposal,
    UnsafeTarget,
    VerificationFailed,
    Way,
)
from parquet_bloomwriter.replace.external_references import refuse_references
from parquet_bloomwriter.replace.target import output_exists
from parquet_bloomwriter.rewrite.report import StoreReport
from parquet_bloomwriter.rewrite.versions import REMOTE_JOBS, OldVersion, RewrittenFile
from parquet_bloomwriter.rewrite.write import tail_of
from parquet_bloomwriter.source.base import not_found
from parquet_bloomwriter.source.identity import FileIdentity
from parquet_bloomwriter.stores.base import LocalFile
from parquet_bloomwriter.stores.open import open_bucket, open_store
from parquet_bloomwriter.stores.reader import PIECE_BYTES
from parquet_bloomwriter.stores.references import find_references
from parquet_bloomwriter.stores.s3.urls import is_s3, parse_url
from parquet_bloomwriter.text import words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from parquet_bloomwriter.rewrite.plan import Chunk, Plan
    from parquet_bloomwriter.rewrite.versions import Destination
    from parquet_bloomwriter.rewrite.write import ExpectedFilter, NewFile
    from parquet_bloomwriter.source import Source
    from parquet_bloomwriter.source.base import Range, Traffic
    from parquet_bloomwriter.source.local import Same
    from parquet_bloomwriter.stores.base import FileState
    from parquet_bloomwriter.stores.open import OpenedUrl
    from parquet_bloomwriter.stores.s3.urls import ObjectPath

_SMALL = 1024 * 1024
"""Bytes; smaller files are copied to this machine when they are opened."""


_COPIED_BYTES = 8 * PIECE_BYTES
"""Bytes that are requested at once; object stores get several parallel requests for them."""


class CopiedSource:
    """A file on a store, read by ranges until it is copied to this machine."""

    def __init__(
        self, remote: Source, *, url: OpenedUrl | None = None, state: FileState | None = None
    ) -> None:
        """Read from `remote`.

        Args:
            remote: The file.
            url: Where it is, if its reads do not notice by themselves that it was changed.
            state: In which state it was opened.
        """
        self.size = remote.size
        self.name = remote.name
        self.url = url
        self.state = state
        self._remote = remote
        self._now = remote
        self._copy: LocalFile | None = None

    @property
    def identity(self) -> Hashable | None:
        """Identity of the file on the store."""
        return self._remote.identity

    @property
    def traffic(self) -> Traffic:
        """Counts of the reads from the store."""
        return self._remote.traffic

    @property
    def tail_bytes(self) -> int:
        """Bytes to read from the end at once, which probably contain the footer."""
        return self._now.tail_bytes

    @property
    def is_here(self) -> bool:
        """Return whether the file was copied to this machine."""
        return self._copy is not None

    def copy_here(self) -> None:
        """Copy the whole file to this machine once; later reads use the copy.

        Raises:
            FileChanged: If another program wrote the file meanwhile.
            OSError: If there is no room for it.
        """
        if self._copy is not None:
            return
        copy = LocalFile(self.size)
        try:
            for start in range(0, self.size, _COPIED_BYTES):
                copy.append(self.read_at(start, min(start + _COPIED_BYTES, self.size)))
            self.check_unchanged()
        except BaseException:
            copy.close()
            raise
        self._copy = copy
        self._now = copy.source(self.name)

    def check_unchanged(self) -> None:
        """Check that the file on the store is unchanged since it was opened.

        Raises:
            FileChanged: If it is not.
        """
        if self.url is not None and self.state is not None:
            store, path = self.url
            if store.reads_name_version:
                return
            found = store.state(path)
            if found is None or found.token != self.state.token:
                raise store.changed(path)

    def read_at(self, start: int, stop: int) -> bytes:
        """Return the bytes [start, stop), as `Source.read_at`."""
        with self._named():
            return self._now.read_at(start, stop)

    def read_ranges(self, ranges: Sequence[Range]) -> list[bytes]:
        """Return the bytes of many ranges, as `Source.read_ranges`."""
        with self._named():
            return self._now.read_ranges(ranges)

    def read_tail(self, num_bytes: int) -> bytes:
        """Return the last bytes, as `Source.read_tail`."""
        with self._named():
            return self._now.read_tail(num_bytes)

    def for_arrow(self) -> object:
        """Return an open file of pyarrow over the same bytes."""
        return self._now.for_arrow()

    def close(self) -> None:
        """Remove the local copy."""
        if self._copy is not None:
            self._copy.close()

    def _named(self) -> AbstractContextManager[None]:
        if self.url is None or self._copy is not None:
            return nullcontext()
        return self.url.store.named(self.url.path)


@contextmanager
def open_on_store(url: str) -> Iterator[OldOnStore]:
    """Open a file on any store, S3 included; a small file is copied to this machine at once.

    Raises:
        OSError, FileProblem, InvalidArgument: What opening raises.
    """
    with ExitStack() as stack:
        if is_s3(url):
            place = object_path(url)
            remote: Source = stack.enter_context(open_bucket(place.bucket).opened(place.key))
            source = CopiedSource(remote)
        else:
            opened = open_store(url)
            state = opened.store.state(opened.path)
            if state is None:
                raise not_found(opened.store.spell(opened.path))
            with opened.store.named(opened.path):
                remote = stack.enter_context(opened.store.open(opened.path, state))
            source = CopiedSource(remote, url=opened, state=state)
        stack.callback(source.close)
        if source.size < _SMALL:
            source.copy_here()
        yield OldOnStore(source, source.name or url)


def object_path(url: str) -> ObjectPath:
    """Return bucket and key of an object on S3.

    Raises:
        InvalidArgument: If the URL names no object.
    """
    path = parse_url(url)
    if not path.key or path.key.endswith("/"):
        raise InvalidArgument(
            f'"{url}" is no object', remedy="for_each_file applies a verb to all below a prefix."
        )
    return path


class OldOnStore(OldVersion):
    """A file on a store, read by ranges until it is copied to this machine."""

    source: CopiedSource
    jobs = REMOTE_JOBS

    def fetch(self) -> None:
        """Copy the file to this machine."""
        self.source.copy_here()

    def check_unchanged(self, same: Same = FileIdentity.__eq__) -> None:
        """Check that the file on the store is unchanged since it was opened.

        Raises:
            FileChanged: If it is not.
        """
        del same
        self.source.check_unchanged()

    def store_report(self) -> StoreReport:
        """Return the requests and bytes that reading has needed, and copying would need."""
        size, traffic = self.source.size, self.source.traffic
        return StoreReport(
            requests={"read": traffic.requests},
            down=traffic.bytes,
            up=0,
            copied=0,
            planned=None if self.source.is_here else (_requests_for(size), size, 0),
        )


class NewOnAnyStore(RewrittenFile):
    """The new version of a file, on a store of any kind."""

    output: str
    placement = "end"
    jobs = REMOTE_JOBS
    why_no_backup: str
    """The advice to who asks for a backup."""

    def __init__(
        self, old: OldVersion, destination: Destination, progress: Callable[[int], None] | None
    ) -> None:
        """Prepare a new version, as `RewrittenFile`."""
        super().__init__(old, destination, progress)
        self.output = os.fspath(destination.output or old.path or "")
        self._notes: list[str] = []

    @classmethod
    def check_options(cls, destination: Destination) -> None:
        """Refuse options that are for disks only.

        Raises:
            InvalidArgument: If there is such an option.
        """
        if destination.backup_suffix or destination.backup_dir:
            raise InvalidArgument("backups are kept on disks only", remedy=cls.why_no_backup)
        if destination.regenerate_crc:
            raise InvalidArgument("Hadoop checksum files are renewed on disks only")


class NewOnStore(NewOnAnyStore):
    """The new version of a file, which is written to a store as a whole."""

    why_no_backup = "Let the store keep old versions, or write the new version to another name."

    def __init__(
        self, old: OldVersion, destination: Destination, progress: Callable[[int], None] | None
    ) -> None:
        """Prepare a new version, as `RewrittenFile`, and open the store of the target."""
        super().__init__(old, destination, progress)
        is_in_place = destination.output is None
        self._source = old.source if isinstance(old, OldOnStore) else None
        url = self._source.url if is_in_place and self._source is not None else None
        self._url = url or open_store(self.output)
        self.output = self._url.store.spell(self._url.path)
        self._chosen: tuple[FileState | None] | None = None
        """The state of the file that will be replaced, once it was looked at."""
        self._new: _NewFile | None = None
        self._tail = b""
        self._is_done = False

    def choose_target(self) -> None:
        """Choose the target of the new version. Nothing is written.

        Raises:
            UnsafeTarget: If there is a file that may not, or cannot, be replaced.
        """
        self._chosen = (self._choose(),)

    def _open(self) -> NewFile:
        if self._chosen is None:
            self.choose_target()
        self.old.fetch()
        self._new = _NewFile(self.old.source)
        return self._new

    @property
    def _file(self) -> LocalFile:
        assert self._new is not None  # noqa: S101  set by `begin`
        return self._new.file

    def discard(self) -> None:
        """Remove the bytes that were assembled on this machine."""
        if self._new is not None:
            self._new.file.close()

    @property
    def _model(self) -> FileState | None:
        """State of the old version, if the new one can have its attributes; else None.

        Metadata of objects can go to any bucket of the same kind, owners only to the same server.
        """
        source, new = self._source, self._url.store
        if source is None or source.url is None:
            return None
        old = source.url.store
        fits = old.kind == new.kind and (old.reads_name_version or old.name == new.name)
        return source.state if fits else None

    def store_report(self, plan: Plan | None) -> StoreReport:
        """Return the requests and bytes that were needed, or would be needed to write."""
        source, store = self._source, self._url.store
        stores = [store]
        requests: Counter[str] = Counter()
        down = 0
        if source is not None:
            if source.url is not None and source.url.store is not store:
                stores.append(source.url.store)
            if source.url is None or not source.url.store.reads_name_version:
                requests["read"] = source.traffic.requests  # which the store has not counted
                down = source.traffic.bytes
        for one in stores:
            requests.update(one.traffic.requests)
            down += one.traffic.down
        planned = None
        if plan is not None and not self._is_done:
            size = self.old.source.size
            is_here = source is None or source.is_here
            planned = (2, 0, plan.size) if is_here else (_requests_for(size), size, plan.size)
        return StoreReport(
            requests=requests,
            down=down,
            up=store.traffic.up,
            copied=0,
            planned=planned,
            notes=(*self._notes, *store.notes()),
        )

    def _choose(self) -> FileState | None:
        """Return the state of the file that will be replaced, or None; check that it may be.

        Raises:
            UnsafeTarget: If there is a file that may not, or cannot, be replaced.
        """
        store, path = self._url
        old = self._source
        url = None if old is None else old.url
        in_place = url is not None and url.store.place(url.path) == store.place(path)
        if in_place and url is not None and url.store.kind != store.kind:
            raise UnsafeTarget(
                "this is the old version itself, under a URL of another kind",
                path=store.spell(path),
                remedy="Name the old version by this URL, too.",
            )
        replaces = old.state if old is not None and in_place else store.state(path)
        if replaces is None:
            return None
        if store.why_not:
            raise UnsafeTarget(
                f"{store.kind} cannot replace a file safely: {store.why_not}",
                path=store.spell(path),
                remedy=(
                    Proposal(Way.OTHER_PATH, "Write to another path"),
                    ", which nothing has yet.",
                ),
            )
        if not (in_place or self._destination.overwrite):
            raise output_exists(self.output)
        if not self._destination.force:
            refuse_references(find_references(store, path), path=store.spell(path))
        return replaces

    def verify(self, plan: Plan, filters: Mapping[Chunk, ExpectedFilter]) -> None:
        """Read the new version on this machine back, before it leaves."""
        self._check(self._file.source(), plan, filters)
        self._tail = tail_of(plan)

    def commit(self) -> None:
        """Send the new version, and read its end back."""
        store, path = self._url
        self.old.check_unchanged()
        file = self._file
        assert self._chosen is not None  # noqa: S101  set by `begin`
        (replaces,) = self._chosen
        state = store.publish(path, file, replaces=replaces, like=replaces or self._model)
        try:
            self._is_done = True
            if self._progress is not None:
                self._progress(file.size)
            if state.token is None:
                self._notes.append("another program has changed or removed the file since")
            elif store.reads_name_version:
                self._compare_end(state)
        except KeyboardInterrupt as error:
            unread = ", and was not read" if store.reads_name_version else ""
            error.add_note(f"{self.output}: the new version is in place{unread}")
            raise

    def _compare_end(self, state: FileState) -> None:
        """Read the end of the new version back; some stores have done so before the rename."""
        store, path = self._url
        size = self._file.size
        try:
            with store.open(path, state) as source:
                end = source.read_at(size - len(self._tail), size)
        except FileChanged:
            self._notes.append("another program has written the file since")
        except FileNotFoundError:
            self._notes.append("another program has removed the file since")
        except Exception as error:  # noqa: BLE001  whatever it is: the new version is there
            problem = error.problem if isinstance(error, FileProblem) else words_of(error)
            self._notes.append(f"its end could not be read back: {problem}")
        else:
            if end != self._tail:
                failed = VerificationFailed(
                    "the store did not keep the new version as it was sent",
                    path=self.output,
                    remedy="Bring the old version back from a copy.",
                )
                failed.outcome = "The new version is in place."
                raise failed


def _requests_for(size: int) -> int:
    """Return the number of requests for copying a file to this machine, and for writing it."""
    return -(-size // PIECE_BYTES) + 2


class _NewFile:
    """The bytes of a new version, assembled on this machine."""

    def __init__(self, old: Source) -> None:
        self._old = old
        self.file = LocalFile(old.size)

    def copy(self, start: int, stop: int) -> None:
        """Append bytes [start, stop) of the old version."""
        for at in range(start, stop, PIECE_BYTES):
            self.file.append(self._old.read_at(at, min(at + PIECE_BYTES, stop)))

    def write(self, data: bytes) -> None:
        """Append `data`."""
        self.file.append(data)
