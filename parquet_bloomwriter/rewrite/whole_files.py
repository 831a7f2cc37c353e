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
from parquet_bloomwriter.rewrite.files import REMOTE_JOBS, DownloadPlace
from parquet_bloomwriter.rewrite.place import Place, Rewrite
from parquet_bloomwriter.rewrite.report import StoreReport
from parquet_bloomwriter.rewrite.write import tail_of
from parquet_bloomwriter.source.base import not_found
from parquet_bloomwriter.source.filesystems import is_far
from parquet_bloomwriter.source.local import FileSource, open_file
from parquet_bloomwriter.stores.base import LocalFile
from parquet_bloomwriter.stores.open import OpenedUrl, open_bucket, open_store
from parquet_bloomwriter.stores.reader import PIECE_BYTES
from parquet_bloomwriter.stores.references import find_references
from parquet_bloomwriter.stores.s3.urls import is_s3, parse_url
from parquet_bloomwriter.text import words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from parquet_bloomwriter.rewrite.place import Destination, StrPath
    from parquet_bloomwriter.rewrite.plan import Chunk, Plan
    from parquet_bloomwriter.rewrite.write import ExpectedFilter, Readable
    from parquet_bloomwriter.source import Source
    from parquet_bloomwriter.source.base import Range, Traffic
    from parquet_bloomwriter.source.local import OpenedFile
    from parquet_bloomwriter.stores.base import FileState
    from parquet_bloomwriter.stores.s3.store import S3Source

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
def open_whole(
    source: StrPath, destination: Destination, progress: Callable[[int], None] | None
) -> Iterator[Place]:
    """Open a source where its old or its new version is on another store than S3.

    Raises:
        InvalidArgument: If the URL cannot be opened here, or an option is only for disks.
        OSError, FileProblem: What opening raises.
    """
    name, output = os.fspath(source), destination.output
    target = name if output is None else os.fspath(output)
    if is_far(target):
        check_options(destination)
    with ExitStack() as stack:
        if not is_far(name):
            file = stack.enter_context(open_file(name))
            on_disk = FileSource(file.path, file.fd, file.identity.size, name=file.name)
            yield _WholePlace(on_disk, name, target, destination, progress, file=file)
            return
        old = stack.enter_context(open_far(name))
        if is_far(target):
            yield _WholePlace(old, old.name or name, target, destination, progress)
        else:
            yield _DownloadPlace(old, old.name or name, destination, progress)


def check_options(destination: Destination) -> None:
    """Refuse options for disks only, where the new version is written to a store.

    Raises:
        InvalidArgument: If there is such an option.
    """
    if destination.backup_suffix or destination.backup_dir:
        raise InvalidArgument(
            "backups are kept on disks only",
            remedy="Let the store keep old versions, or write the new version to another name.",
        )
    if destination.regenerate_crc:
        raise InvalidArgument("Hadoop checksum files are renewed on disks only")


@contextmanager
def open_far(url: str) -> Iterator[CopiedSource]:
    """Open a file on any store, S3 included.

    Raises:
        OSError, FileProblem, InvalidArgument: What opening raises.
    """
    with ExitStack() as stack:
        if is_s3(url):
            place = parse_url(url)
            if not place.key or place.key.endswith("/"):
                raise InvalidArgument(f'"{place}" is no object', remedy="Name its key, too.")
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
        yield source


class _DownloadPlace(DownloadPlace):
    """A file on a store whose new version is written to disk."""

    source: CopiedSource

    def begin(self, old: Readable) -> Rewrite:
        self.choose_target()  # before the whole file is read
        self.source.copy_here()
        return super().begin(old)

    def check_source_unchanged(self) -> None:
        self.source.check_unchanged()

    def store_report(self, plan: Plan | None) -> StoreReport:
        del plan
        traffic = self.source.traffic
        return StoreReport(
            requests={"read": traffic.requests},
            down=traffic.bytes,
            up=0,
            copied=0,
            planned=None
            if self.source.is_here
            else (_requests_for(self.source.size), self.source.size, 0),
        )


class FarPlace(Place):
    """A file whose new version is written to a store."""

    placement = "end"
    jobs = REMOTE_JOBS

    def __init__(  # noqa: PLR0913  what every place on a store needs
        self,
        source: S3Source | CopiedSource | FileSource,
        name: str,
        output: str,
        destination: Destination,
        progress: Callable[[int], None] | None,
        *,
        file: OpenedFile | None = None,
    ) -> None:
        """Use an open file.

        Args:
            source: The old version.
            name: Its path or URL, as messages show it.
            output: URL of the new version.
            destination: What is allowed.
            progress: Called with the number of bytes that are in place, or of each part.
            file: The file, if the old version is on disk.
        """
        self.source: S3Source | CopiedSource | FileSource = source
        self._name = name
        self._output = output
        self._destination = destination
        self._file = file
        self.progress = progress
        self.notes: list[str] = []

    @property
    def path(self) -> str:
        """Path or URL of the old version."""
        return self._name

    @property
    def output(self) -> str:
        """URL of the new version."""
        return self._output

    def check_source_unchanged(self) -> None:
        """Check that the old version is the one that was opened, if reading does not check it.

        Raises:
            FileChanged: If it is not.
        """
        if self._file is not None:
            self._file.check_unchanged()
        elif isinstance(self.source, CopiedSource):
            self.source.check_unchanged()


class _WholePlace(FarPlace):
    """A file whose new version is written to a store as a whole."""

    def __init__(  # noqa: PLR0913  made by `open_whole` only
        self,
        source: CopiedSource | FileSource,
        name: str,
        target: str,
        destination: Destination,
        progress: Callable[[int], None] | None,
        *,
        file: OpenedFile | None = None,
    ) -> None:
        """Use an open file, as `FarPlace`, and open the store of the target."""
        super().__init__(source, name, target, destination, progress, file=file)
        self._chosen: tuple[FileState | None] | None = None
        self._url = self._open(target)
        self._output = self._url.store.spell(self._url.path)
        self.is_done = False

    def choose_target(self) -> None:
        self._chosen = (self._choose(),)

    def begin(self, old: Readable) -> Rewrite:
        (replaces,) = self._chosen or (self._choose(),)
        if isinstance(self.source, CopiedSource):
            self.source.copy_here()
        return _WholeRewrite(old, self, self._url, replaces)

    @property
    def model(self) -> FileState | None:
        """State of the old version, if the new one can have its attributes; else None.

        Metadata of objects can go to any bucket of the same kind, owners only to the same server.
        """
        source, new = self.source, self._url.store
        if not isinstance(source, CopiedSource) or source.url is None:
            return None
        old = source.url.store
        fits = old.kind == new.kind and (old.reads_name_version or old.name == new.name)
        return source.state if fits else None

    def store_report(self, plan: Plan | None) -> StoreReport:
        source = self.source
        stores = [self._url.store]
        requests: Counter[str] = Counter()
        down = 0
        if isinstance(source, CopiedSource):
            if source.url is not None and source.url.store is not self._url.store:
                stores.append(source.url.store)
            if source.url is None or not source.url.store.reads_name_version:
                requests["read"] = source.traffic.requests  # which the store has not counted
                down = source.traffic.bytes
        for store in stores:
            requests.update(store.traffic.requests)
            down += store.traffic.down
        up = self._url.store.traffic.up
        planned = None
        if plan is not None and not self.is_done:
            planned = (_requests_for(self.source.size), self.source.size, plan.size)
            if not isinstance(self.source, CopiedSource) or self.source.is_here:
                planned = (2, 0, plan.size)
        notes = (*self.notes, *self._url.store.notes())
        return StoreReport(
            requests=requests, down=down, up=up, copied=0, planned=planned, notes=notes
        )

    def _open(self, target: str) -> OpenedUrl:
        source = self.source
        if self._destination.output is None and isinstance(source, CopiedSource) and source.url:
            return source.url
        return open_store(target)

    def _choose(self) -> FileState | None:
        """Return the state of the file that will be replaced, or None; check that it may be.

        Raises:
            UnsafeTarget: If there is a file that may not, or cannot, be replaced.
        """
        store, path = self._url
        source = self.source
        old = source if isinstance(source, CopiedSource) else None
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
            raise output_exists(self._output)
        if not self._destination.force:
            refuse_references(find_references(store, path), path=store.spell(path))
        return replaces


def _requests_for(size: int) -> int:
    """Return the number of requests for copying a file to this machine, and for writing it."""
    return -(-size // PIECE_BYTES) + 2


class _WholeRewrite(Rewrite):
    """The new version of a file, which is written to a store as a whole."""

    def __init__(
        self, old: Readable, place: _WholePlace, url: OpenedUrl, replaces: FileState | None
    ) -> None:
        self._new = _NewFile(old.source)
        super().__init__(old, self._new)
        self._place = place
        self._url = url
        self._replaces = replaces
        self._tail = b""

    def discard(self) -> None:
        self._new.file.close()

    def verify(self, plan: Plan, filters: Mapping[Chunk, ExpectedFilter]) -> None:
        self._check(self._new.file.source(), plan, filters)
        self._tail = tail_of(plan)

    def commit(self) -> None:
        store, path = self._url
        self._place.check_source_unchanged()
        file = self._new.file
        state = store.publish(
            path, file, replaces=self._replaces, like=self._replaces or self._place.model
        )
        try:
            self._place.is_done = True
            if self._place.progress is not None:
                self._place.progress(file.size)
            if state.token is None:
                self._place.notes.append("another program has changed or removed the file since")
            elif store.reads_name_version:
                self._compare_end(state)
        except KeyboardInterrupt as error:
            unread = ", and was not read" if store.reads_name_version else ""
            error.add_note(f"{self._place.output}: the new version is in place{unread}")
            raise

    def _compare_end(self, state: FileState) -> None:
        """Read the end of the new version back; some stores have done so before the rename."""
        store, path = self._url
        size = self._new.file.size
        try:
            with store.open(path, state) as source:
                end = source.read_at(size - len(self._tail), size)
        except FileChanged:
            self._place.notes.append("another program has written the file since")
        except FileNotFoundError:
            self._place.notes.append("another program has removed the file since")
        except Exception as error:  # noqa: BLE001  whatever it is: the new version is there
            problem = error.problem if isinstance(error, FileProblem) else words_of(error)
            self._place.notes.append(f"its end could not be read back: {problem}")
        else:
            if end != self._tail:
                failed = VerificationFailed(
                    "the store did not keep the new version as it was sent",
                    path=self._place.output,
                    remedy="Bring the old version back from a copy.",
                )
                failed.outcome = "The new version is in place."
                raise failed


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
