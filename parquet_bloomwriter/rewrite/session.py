"""The session in which one file is rewritten: opened, read, written anew, verified, put in place.

A verb reads `source` and `layout`, makes a plan, and calls in this order:

    session.begin      open the new version, where nobody sees it yet
      rewrite.write    carry out the plan
      rewrite.verify   prove that the new version is what the plan says
      rewrite.commit   put it in its place

or `session.keep`, if nothing has to be written. What is not committed is thrown away at the end of
the session, and nothing has changed. Where versions lie is a `Place`: `files` has those of files on
disk and of buffers, whose safety `replace.commit` explains, `objects` those on stores.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeAlias

from parquet_bloomwriter.arguments import remedy_for
from parquet_bloomwriter.errors import FileProblem, InvalidArgument, VerificationFailed
from parquet_bloomwriter.filters.stored import heads_at_once
from parquet_bloomwriter.rewrite.layout import layout_of
from parquet_bloomwriter.rewrite.write import Assembler, Readable, verify
from parquet_bloomwriter.source.filesystems import check_local, is_far
from parquet_bloomwriter.source.open import is_buffer, read_footer
from parquet_bloomwriter.source.read_ahead import read_blocks
from parquet_bloomwriter.values import is_near

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from types import TracebackType

    from parquet_bloomwriter.filters.stored import ReadAt
    from parquet_bloomwriter.metadata import Footer
    from parquet_bloomwriter.rewrite.layout import Layout
    from parquet_bloomwriter.rewrite.plan import Chunk, Placement, Plan
    from parquet_bloomwriter.rewrite.report import StoreReport
    from parquet_bloomwriter.rewrite.write import ExpectedFilter, NewFile
    from parquet_bloomwriter.source import Source

StrPath: TypeAlias = "str | os.PathLike[str]"
Input: TypeAlias = "StrPath | bytes | bytearray | memoryview"


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where the new version goes, and what is allowed for it."""

    output: StrPath | None = None
    """Path of the new file; None replaces the file that is read."""

    overwrite: bool = False
    """Replace `output` if it exists."""

    force: bool = False
    """Rewrite in place although something outside refers to the file, or it has hard links."""

    backup_suffix: str | None = None
    """Keep the replaced file under its name and this suffix."""

    backup_dir: StrPath | None = None
    """Keep the replaced file under its name in this folder, which is made if it is missing."""

    regenerate_crc: bool = False
    """Renew the Hadoop checksum file beside the file."""

    keep_time: bool = False
    """Give the new file the time of modification of the old one; only from disk to disk."""


class Place(ABC):
    """Where the old version of one file is, and where the new one goes."""

    source: Source
    """The bytes of the old version."""

    placement: Placement = "column-chunk"
    """Where filters go if nobody says where."""

    jobs: int | None = None
    """Threads if nobody says how many; None for one for each core."""

    @property
    @abstractmethod
    def path(self) -> str | None:
        """The path as the caller gave it; None for a buffer."""

    @property
    @abstractmethod
    def output(self) -> str | None:
        """The path that will be written; None for a buffer."""

    def choose_target(self) -> None:  # noqa: B027  most need nothing
        """Decide where the new version goes. Nothing is written.

        `begin` does it otherwise; a verb that works for long before it begins to write calls this
        first.

        Raises:
            UnsafeTarget: If writing there would break or overwrite something.
        """

    def check_target(self) -> None:
        """Check, for a dry run, that the new version could go where it is to go.

        Raises:
            UnsafeTarget: If writing there would break or overwrite something.
        """
        with suppress(FileNotFoundError):  # a dry run does not make the output's folder
            self.choose_target()

    @abstractmethod
    def begin(self, old: Readable) -> Rewrite:
        """Open the new version.

        Raises:
            UnsafeTarget: If writing there would break or overwrite something.
            FileChanged: If the file that will be replaced has changed.
            OSError: If the new version cannot be opened.
        """

    def check_source_unchanged(self) -> None:  # noqa: B027  most need nothing
        """Check that the file has the same content as when it was opened.

        Raises:
            FileChanged: If it has not.
        """

    def keep(self) -> bytes | None:
        """Leave the file as it is, and remove what a killed run left beside it.

        Returns:
            The bytes of a buffer; None for a file.
        """
        return None

    def store_report(self, plan: Plan | None) -> StoreReport | None:
        """Return what the store had to do, or would have to do for a plan; None on disk."""
        del plan
        return None


@contextmanager
def rewrite_session(
    source: Input,
    destination: Destination | None = None,
    *,
    progress: Callable[[int], None] | None = None,
) -> Iterator[RewriteSession]:
    """Open a file, an object or a buffer, and view its footer; errors get the path.

    Args:
        source: A path, a URL (`s3://...`), or the file's bytes.
        destination: Where the new version goes; by default in place.
        progress: Called with the number of bytes as they are written; not for buffers.

    Raises:
        FileProblem: If the file cannot be worked on.
        InvalidArgument: If an output is named for a buffer, or a URL is of another kind.
    """
    destination = destination or Destination()
    with _place(source, destination, progress) as place, ExitStack() as resources:
        try:
            footer = read_footer(place.source)
            layout = layout_of(
                footer,
                _reader(place.source, footer),
                read_ranges=None if is_near(place.source) else place.source.read_ranges,
            )
            yield RewriteSession(place, layout, resources)
        except FileProblem as error:
            error.path = error.path or place.path
            raise


def _reader(source: Source, footer: Footer) -> ReadAt:
    """Return what reads small pieces of the file: of one on a store, many at once."""
    if is_near(source):
        return source.read_at
    return heads_at_once(source, footer, read_blocks(source))


def _place(
    source: Input, destination: Destination, progress: Callable[[int], None] | None
) -> AbstractContextManager[Place]:
    if destination.keep_time and _is_not_on_disk(source, destination):
        raise InvalidArgument(
            "a time of modification can only be kept where the old and the new file are on disk",
            remedy="Leave keep_time out: stores set the times of their objects, and buffers have "
            "none.",
        )
    if is_buffer(source):
        from parquet_bloomwriter.rewrite.files import buffer_place

        return nullcontext(buffer_place(source, destination))
    if not isinstance(source, str | os.PathLike):
        raise InvalidArgument(
            f"a file is named by its path, or given as bytes, not as {type(source).__name__}",
            remedy=remedy_for(source) or "Pass a path, or bytes.",
        )
    output = destination.output
    far = [path for path in (source, output) if path is not None and is_far(path)]
    if far:
        from parquet_bloomwriter.rewrite.objects import open_objects
        from parquet_bloomwriter.rewrite.whole_files import open_whole
        from parquet_bloomwriter.stores.s3.urls import is_s3

        goes_to_s3 = is_s3(os.fspath(source if output is None else output))
        all_on_s3 = all(is_s3(os.fspath(path)) for path in far)
        opener = open_objects if goes_to_s3 or all_on_s3 else open_whole
        return opener(source, destination, progress)
    for path in (source, output, destination.backup_dir):
        if path is not None:
            check_local(path)
    from parquet_bloomwriter.rewrite.files import open_place

    return open_place(source, destination, progress)


def _is_not_on_disk(source: Input, destination: Destination) -> bool:
    paths = (source, destination.output)
    return is_buffer(source) or any(
        isinstance(path, str | os.PathLike) and is_far(path) for path in paths
    )


class RewriteSession:
    """One file, object or buffer that is being rewritten, as it was opened."""

    def __init__(self, place: Place, layout: Layout, resources: ExitStack) -> None:
        """Take over what is open.

        Args:
            place: Where the versions are.
            layout: What lies where in the old one.
            resources: What throws the new version away at the end.
        """
        self.place = place
        self.layout = layout
        self._resources = resources

    @property
    def source(self) -> Source:
        """The bytes of the old version."""
        return self.place.source

    def begin(self) -> Rewrite:
        """Open the new version.

        Raises:
            As `Place.begin`.
        """
        new = self.place.begin(Readable(self.source, self.layout.footer))
        return self._resources.enter_context(new)

    def rewrite(self, plan: Plan) -> bytes | None:
        """Write a new version without new filters, read it back, and put it in its place.

        Returns, raises:
            As `begin` and the methods of `Rewrite`.
        """
        new = self.begin()
        new.write(plan)
        new.verify(plan, {})
        return new.commit()

    def keep(self) -> bytes | None:
        """Leave the file as it is, and remove what a killed run left beside it.

        If asked for, checksums are renewed that such a run left stale.

        Returns:
            The bytes of a buffer; None for a file.
        """
        self._resources.close()  # throws away a new version that was begun
        return self.place.keep()


class Rewrite(ABC):
    """A new version that was begun. Call `write`, `verify`, `commit`, in this order."""

    def __init__(self, old: Readable, new: NewFile) -> None:
        self._old = old
        self.assembler = Assembler(new)
        """What writes single pieces before the plan is known."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.discard()

    def discard(self) -> None:  # noqa: B027  a buffer needs nothing
        """Throw the new version away, unless it was committed."""

    def write(self, plan: Plan) -> None:
        """Write the pieces of a plan that are not written yet.

        Raises:
            FileChanged: If the old version became shorter.
            OSError: If writing fails.
        """
        self.assembler.complete(plan)

    @abstractmethod
    def verify(self, plan: Plan, filters: Mapping[Chunk, ExpectedFilter]) -> None:
        """Bring the new version to its disk or store, and prove that it is as planned.

        Args:
            plan: What was written.
            filters: The new filters.

        Raises:
            VerificationFailed: If the new version does not read back as planned.
            OSError: If writing or reading fails.
        """

    @abstractmethod
    def commit(self) -> bytes | None:
        """Put the new version in its place, and a new Hadoop checksum file if asked for.

        Returns:
            The new version of a buffer; None for a file.

        Raises:
            FileChanged: If another program changed a file meanwhile.
            OSError: If any step fails. In both cases nothing has changed.
            Unfinished: If the new version is in place, but its folder could not be synced, or its
                checksum file not renewed.
        """

    def _check(self, new: Source, plan: Plan, filters: Mapping[Chunk, ExpectedFilter]) -> None:
        try:
            footer = read_footer(new)
        except FileProblem as error:
            raise VerificationFailed(f"the new footer does not parse: {error.problem}") from error
        verify(self._old, Readable(new, footer), plan, filters)
