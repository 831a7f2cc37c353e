"""The session in which one file is rewritten: opened, read, written anew, verified, put in place.

A verb reads `source` and `layout`, makes a plan, and calls in this order:

    session.begin      open the new version, beside the place where it will be
      rewrite.write    carry out the plan
      rewrite.verify   read the new version back
      rewrite.commit   put it in its place

or `session.keep`, if nothing has to be written. What is not committed is thrown away at the end of
the session, and nothing has changed. `replace.commit` explains why the user's file is safe.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from parquet_bloomwriter.errors import (
    BloomwriterError,
    FileProblem,
    InvalidArgument,
    Unfinished,
    VerificationFailed,
)
from parquet_bloomwriter.replace.commit import new_version
from parquet_bloomwriter.replace.external_references import check_surroundings, crc_path
from parquet_bloomwriter.replace.hadoop_checksum import (
    has_stale_crc,
    new_checksums,
    regenerate_crc,
)
from parquet_bloomwriter.replace.target import choose_target
from parquet_bloomwriter.replace.temporary import remove_stale
from parquet_bloomwriter.rewrite.layout import layout_of
from parquet_bloomwriter.rewrite.write import Assembler, Readable, verify
from parquet_bloomwriter.source.base import not_found
from parquet_bloomwriter.source.filesystems import check_local
from parquet_bloomwriter.source.identity import FileIdentity
from parquet_bloomwriter.source.listing import is_pattern
from parquet_bloomwriter.source.local import FileSource, open_file
from parquet_bloomwriter.source.open import read_footer
from parquet_bloomwriter.source.stream import BufferSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from parquet_bloomwriter.replace.commit import NewVersion
    from parquet_bloomwriter.replace.hadoop_checksum import NewChecksums
    from parquet_bloomwriter.replace.target import Target
    from parquet_bloomwriter.rewrite.layout import Layout
    from parquet_bloomwriter.rewrite.plan import Chunk, Plan
    from parquet_bloomwriter.rewrite.write import ExpectedFilter, NewFile
    from parquet_bloomwriter.source import Source
    from parquet_bloomwriter.source.local import OpenedFile

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


@contextmanager
def rewrite_session(
    source: Input,
    destination: Destination | None = None,
    *,
    progress: Callable[[int], None] | None = None,
) -> Iterator[RewriteSession]:
    """Open a file or wrap a buffer, and view its footer; errors get the path.

    Args:
        source: A path, or the file's bytes.
        destination: Where the new version goes; by default in place.
        progress: Called with the number of bytes as they are written; not for buffers.

    Raises:
        FileProblem: If the file cannot be worked on.
        InvalidArgument: If an output is named for a buffer, or a URL is given.
    """
    destination = destination or Destination()
    for path in (source, destination.output, destination.backup_dir):
        if isinstance(path, str | os.PathLike):
            check_local(path)
    if isinstance(source, bytes | bytearray | memoryview):
        if destination.output is not None:
            raise InvalidArgument(
                "the new version of a buffer is a buffer, not a file",
                remedy="Take `data` from the report.",
            )
        buffer = BufferSource(source)
        layout = layout_of(read_footer(buffer), buffer.read_at)
        yield RewriteSession(
            source=buffer,
            layout=layout,
            file=None,
            destination=destination,
            resources=ExitStack(),
            progress=None,
        )
        return
    if not isinstance(source, str | os.PathLike):
        raise InvalidArgument(
            f"a file is named by its path, or given as bytes, not as {type(source).__name__}",
            remedy="for_each_file applies a verb to several files.",
        )
    if is_pattern(os.fspath(source)):
        raise not_found(os.fspath(source))
    with open_file(source) as file, ExitStack() as stack:
        try:
            on_disk = FileSource(file.path, file.fd, file.identity.size)
            layout = layout_of(read_footer(on_disk), on_disk.read_at)
            yield RewriteSession(
                source=on_disk,
                layout=layout,
                file=file,
                destination=destination,
                resources=stack,
                progress=progress,
            )
        except FileProblem as error:
            error.path = error.path or file.name
            raise


class RewriteSession:
    """One file or buffer that is being rewritten, as it was opened."""

    def __init__(  # noqa: PLR0913  made by `rewrite_session` only
        self,
        *,
        source: Source,
        layout: Layout,
        file: OpenedFile | None,
        destination: Destination,
        resources: ExitStack,
        progress: Callable[[int], None] | None,
    ) -> None:
        """Take over what is open.

        Args:
            source: The bytes of the old version.
            layout: What lies where in them.
            file: The file that has them; None for a buffer.
            destination: Where the new version goes.
            resources: What throws the new version away at the end.
            progress: Called after each write with the number of bytes.
        """
        self.source = source
        self.layout = layout
        self._file = file
        self._destination = destination
        self._resources = resources
        self._progress = progress
        self._target: Target | None = None

    @property
    def path(self) -> str | None:
        """The path as the caller gave it; None for a buffer."""
        return self._file.name if self._file else None

    @property
    def output(self) -> str | None:
        """The path that will be written; None for a buffer."""
        if self._destination.output is not None:
            return os.fspath(self._destination.output)
        return self.path

    def choose_target(self) -> None:
        """Decide where the new version goes. Nothing is written.

        `begin` does it otherwise; a verb that works for long before it begins to write calls this
        first.

        Raises:
            UnsafeTarget: If writing there would break or overwrite something.
        """
        if self._file is not None:
            self._target = _target_of(self._file, self._destination)

    def begin(self) -> Rewrite:
        """Open the new version.

        Raises:
            UnsafeTarget: If writing there would break or overwrite something.
            FileChanged: If the file that will be replaced has changed.
            OSError: If the new version cannot be opened.
        """
        old = Readable(self.source, self.layout.footer)
        if self._file is None:
            return _BufferRewrite(old)
        target = self._target or _target_of(self._file, self._destination)
        new = self._resources.enter_context(
            new_version(self._file, target, progress=self._progress)
        )
        return _FileRewrite(old, new, target, regenerates_crc=self._destination.regenerate_crc)

    def rewrite(self, plan: Plan) -> bytes | None:
        """Write a new version without new filters, read it back, and put it in its place.

        Returns, raises:
            As `begin` and the methods of `Rewrite`.
        """
        new = self.begin()
        new.write(plan)
        new.verify(plan, {})
        return new.commit()

    def check_source_unchanged(self) -> None:
        """Check that the file has the same content as when it was opened.

        Raises:
            FileChanged: If it has not.
        """
        if self._file is not None:
            self._file.check_unchanged(FileIdentity.same_content)

    def keep(self) -> None:
        """Leave the file as it is, and remove what a killed run left beside it.

        If asked for, checksums are renewed that such a run left stale.
        """
        self._resources.close()  # throws away a new version that was begun
        if self._file is None or self._destination.output is not None:
            return
        path = self._file.path
        with suppress(OSError):  # it is a courtesy
            remove_stale(path)
        if self._destination.regenerate_crc and _checksum_file(path) and has_stale_crc(path):
            regenerate_crc(path)


class Rewrite(ABC):
    """A new version that was begun. Call `write`, `verify`, `commit`, in this order."""

    def __init__(self, old: Readable, new: NewFile) -> None:
        self._old = old
        self.assembler = Assembler(new)
        """What writes single pieces before the plan is known."""

    def write(self, plan: Plan) -> None:
        """Write the pieces of a plan that are not written yet.

        Raises:
            FileChanged: If the old version became shorter.
            OSError: If writing fails.
        """
        self.assembler.complete(plan)

    @abstractmethod
    def verify(self, plan: Plan, filters: Mapping[Chunk, ExpectedFilter]) -> None:
        """Bring the new version to the disk, and read it back.

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


class _FileRewrite(Rewrite):
    """The new version of a file on disk."""

    def __init__(
        self, old: Readable, new: NewVersion, target: Target, *, regenerates_crc: bool
    ) -> None:
        super().__init__(old, new)
        self._new = new
        self._target = target
        self._regenerates_crc = regenerates_crc

    def verify(self, plan: Plan, filters: Mapping[Chunk, ExpectedFilter]) -> None:
        self._new.complete()
        with open_file(self._new.path) as file:
            self._check(FileSource(file.path, file.fd, file.identity.size), plan, filters)

    def commit(self) -> None:
        path = self._target.path
        crc = _checksum_file(path) if self._regenerates_crc else None
        if crc is None:
            self._new.commit()
            return
        with ExitStack() as stack:
            with open_file(self._new.path) as data:
                checksums = stack.enter_context(new_checksums(path, data))
            self._new.commit(contradicted=crc)
            _renew_checksums(checksums, name=self._target.name)


class _BufferRewrite(Rewrite):
    """The new version of a buffer, in memory."""

    def __init__(self, old: Readable) -> None:
        self._new = _NewBuffer(old.source)
        super().__init__(old, self._new)

    def verify(self, plan: Plan, filters: Mapping[Chunk, ExpectedFilter]) -> None:
        self._check(BufferSource(self._new.data), plan, filters)

    def commit(self) -> bytes:
        return bytes(self._new.data)


class _NewBuffer:
    """A new version in memory."""

    def __init__(self, old: Source) -> None:
        self._old = old
        self.data = bytearray()

    def copy(self, start: int, stop: int) -> None:
        self.data += self._old.read_at(start, stop)

    def write(self, data: bytes) -> None:
        self.data += data


def _target_of(file: OpenedFile, options: Destination) -> Target:
    target = choose_target(
        file,
        options.output,
        overwrite=options.overwrite,
        permit_hard_links=options.force,
        backup_suffix=options.backup_suffix,
        backup_dir=options.backup_dir,
    )
    if target.replaces is not None:
        check_surroundings(target.name, force=options.force, regenerates_crc=options.regenerate_crc)
    return target


def _checksum_file(path: str) -> str | None:
    """Find the Hadoop checksum file of a file; remove what killed runs left of it."""
    crc = crc_path(path)
    remove_stale(os.fspath(crc))
    return os.fspath(crc) if crc.exists() else None


def _renew_checksums(checksums: NewChecksums, *, name: str) -> None:
    try:
        checksums.commit()
    except (BloomwriterError, OSError) as error:
        reason = error.problem if isinstance(error, BloomwriterError) else error.strerror
        raise Unfinished(
            f"the Hadoop checksum file could not be renewed: {reason}",
            path=name,
            remedy="Hadoop and Spark read the file all the same, without checking it.",
        ) from error
