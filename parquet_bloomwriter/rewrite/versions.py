"""The old and the new version of a file that is rewritten, wherever they lie.

    old version     `OldVersion`: a file on disk or a buffer
                    `objects.OldOnS3`, `whole_files.OldOnStore`: the same of stores
    new version     `RewrittenFile` says what a verb calls, in this order:

      choose_target   choose where the new version goes; nothing is written
      begin           open it under a temporary name
      write           carry out the plan
      verify          prove that the new version is what the plan says
      commit          put it in its place
      discard         remove it, unless it was committed

    on disk         `NewOnDisk`; `replace.commit` explains its safety
    in memory       `NewBuffer`
    on S3           `objects.NewOnS3`
    on other stores `whole_files.NewOnStore`

Any old version can be combined with any new version, but for buffers.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

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
from parquet_bloomwriter.rewrite.write import Assembler, Readable, verify
from parquet_bloomwriter.source.base import not_found
from parquet_bloomwriter.source.identity import FileIdentity
from parquet_bloomwriter.source.listing import is_pattern
from parquet_bloomwriter.source.local import FileSource, open_file
from parquet_bloomwriter.source.open import read_footer
from parquet_bloomwriter.source.stream import BufferSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from parquet_bloomwriter.metadata import Footer
    from parquet_bloomwriter.replace.commit import NewVersion
    from parquet_bloomwriter.replace.target import Target
    from parquet_bloomwriter.rewrite.plan import Chunk, Placement, Plan
    from parquet_bloomwriter.rewrite.report import StoreReport
    from parquet_bloomwriter.rewrite.write import ExpectedFilter, NewFile
    from parquet_bloomwriter.source import Source
    from parquet_bloomwriter.source.local import OpenedFile, Same

StrPath: TypeAlias = "str | os.PathLike[str]"
Input: TypeAlias = "StrPath | bytes | bytearray | memoryview"

REMOTE_JOBS = 8
"""Column chunks of a file on a store that are read at the same time: waiting for the store takes
longer than decoding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """The target of a new version, and what is allowed for it."""

    output: StrPath | None = None
    """Path of the new file; None replaces the source."""

    overwrite: bool = False
    """Whether `output` is replaced if it exists."""

    force: bool = False
    """Whether a file to which something refers, or with hard links, is rewritten in place."""

    backup_suffix: str | None = None
    """Suffix under which the replaced file is kept beside the new one; None for no such backup."""

    backup_dir: StrPath | None = None
    """Folder in which the replaced file is kept, made if it is missing; None for no such backup."""

    regenerate_crc: bool = False
    """Whether the Hadoop checksum file beside the file is renewed."""

    keep_time: bool = False
    """Whether the new file gets the modification time of the old one; only from disk to disk."""


class OldVersion:
    """The old version of a file: its bytes, its name, and whether it is unchanged."""

    jobs: int | None = None
    """Default number of threads that read it; None for one for each core."""

    def __init__(self, source: Source, path: str | None, *, file: OpenedFile | None = None) -> None:
        """Use an open file.

        Args:
            source: Its bytes.
            path: Its path or URL, as messages show it; None for a buffer.
            file: The file, if it is on disk.
        """
        self.source = source
        self.path = path
        self.file = file

    def hold_if_small(self) -> None:
        """Read a small object of a store whole, before it is rewritten: it will be sent whole."""

    def fetch(self) -> None:
        """Copy the file to this machine, before all of it is read, where that saves requests."""

    def check_unchanged(self, same: Same = FileIdentity.__eq__) -> None:
        """Check that the file is the one that was opened, if reading does not check that.

        Args:
            same: What must not have changed of a file on disk; a method of `FileIdentity`.

        Raises:
            FileChanged: If it has changed.
        """
        if self.file is not None:
            self.file.check_unchanged(same)

    def store_report(self) -> StoreReport | None:
        """Return the requests and bytes of a store that reading has needed; None on disk."""
        return None


@contextmanager
def open_on_disk(name: str) -> Iterator[OldVersion]:
    """Open a file on disk that is to be rewritten.

    Raises:
        UnsupportedFile: If it is a directory, FIFO, socket or device.
        OSError: What opening raises.
    """
    if is_pattern(name):
        raise not_found(name)
    with open_file(name) as file:
        source = FileSource(file.given, file.fd, file.identity.size, name=name)
        yield OldVersion(source, name, file=file)


class RewrittenFile(ABC):
    """The new version of a file, from the choice of its target until it is in its place."""

    output: str | None = None
    """Path or URL of the new version; None for a buffer."""

    placement: Placement = "column-chunk"
    """Default placement of filters."""

    assembler: Assembler
    """Writes single pieces before the whole plan is known; from `begin` on."""

    def __init__(
        self,
        old: OldVersion,
        destination: Destination,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Prepare a new version; nothing is written.

        Args:
            old: The old version.
            destination: Where the new one goes, and what is allowed.
            progress: Called with the number of bytes that are written, or in place; not for
                buffers.
        """
        self.old = old
        self._destination = destination
        self._progress = progress

    @property
    def jobs(self) -> int | None:
        """Default number of threads; None for one for each core."""
        return self.old.jobs

    def choose_target(self) -> None:  # noqa: B027  a buffer needs nothing
        """Choose the target of the new version. Nothing is written.

        Otherwise `begin` does it; a verb that works for long before it begins to write calls this
        first.

        Raises:
            UnsafeTarget: If writing there would break or overwrite something.
        """

    def check_target(self) -> None:
        """Check, for a dry run, that the new version could be written to its target.

        Raises:
            UnsafeTarget: If writing there would break or overwrite something.
        """
        with suppress(FileNotFoundError):  # a dry run does not make the output's folder
            self.choose_target()

    def begin(self, footer: Footer) -> None:
        """Open the new version.

        Args:
            footer: Footer of the old version.

        Raises:
            UnsafeTarget: If writing there would break or overwrite something.
            FileChanged: If the file that will be replaced has changed.
            OSError: If the new version cannot be opened.
        """
        self._before = Readable(self.old.source, footer)
        self.assembler = Assembler(self._open())

    @abstractmethod
    def _open(self) -> NewFile:
        """Open the new version for writing; see `begin`."""

    def discard(self) -> None:  # noqa: B027  a buffer needs nothing
        """Remove the new version, unless it was committed."""

    def write(self, plan: Plan) -> None:
        """Write the pieces of a plan that are not written yet.

        Raises:
            FileChanged: If the old version became shorter.
            OSError: If writing fails.
        """
        self.assembler.complete(plan)

    @abstractmethod
    def verify(self, plan: Plan, filters: Mapping[Chunk, ExpectedFilter]) -> None:
        """Send the new version to its disk or store, and prove that it is as planned.

        Args:
            plan: What was written.
            filters: The new filters.

        Raises:
            VerificationFailed: If the new version does not read back as planned.
            OSError: If writing or reading fails.
        """

    @abstractmethod
    def commit(self) -> bytes | None:
        """Rename the new version to its target, and renew the Hadoop checksum file if asked for.

        Returns:
            The new version of a buffer; None for a file.

        Raises:
            FileChanged: If another program changed a file meanwhile.
            OSError: If any step fails. In both cases nothing has changed.
            Unfinished: If the new version is in place, but its folder could not be synced, or its
                checksum file not renewed.
        """

    def keep(self) -> bytes | None:
        """Leave the file unchanged, and remove what a killed run left beside it.

        Returns:
            The bytes of a buffer; None for a file.
        """
        return None

    def store_report(self, plan: Plan | None) -> StoreReport | None:
        """Return the store's requests and bytes, made or needed for a plan; None on disk."""
        del plan
        return self.old.store_report()

    def _check(self, new: Source, plan: Plan, filters: Mapping[Chunk, ExpectedFilter]) -> None:
        try:
            footer = read_footer(new)
        except FileProblem as error:
            raise VerificationFailed(f"the new footer does not parse: {error.problem}") from error
        verify(self._before, Readable(new, footer), plan, filters)


class NewBuffer(RewrittenFile):
    """The new version of a buffer: another buffer."""

    def __init__(self, data: Any, destination: Destination) -> None:  # noqa: ANN401  of pyarrow, too
        """Prepare a new version.

        Args:
            data: The old version: bytes, or a buffer of pyarrow's.
            destination: Names no output.

        Raises:
            InvalidArgument: If an output is named.
        """
        if destination.output is not None:
            raise InvalidArgument(
                "the new version of a buffer is a buffer, not a file",
                remedy="Take `data` from the report.",
            )
        super().__init__(OldVersion(BufferSource(data), None), destination)
        self._data = data

    def _open(self) -> NewFile:
        self._new = _BufferWriter(self.old.source)
        return self._new

    def verify(self, plan: Plan, filters: Mapping[Chunk, ExpectedFilter]) -> None:
        """Read the new version back."""
        self._check(BufferSource(self._new.data), plan, filters)

    def commit(self) -> bytes:
        """Return the new version."""
        return bytes(self._new.data)

    def keep(self) -> bytes:
        """Return the old version."""
        return bytes(self._data)


class _BufferWriter:
    def __init__(self, old: Source) -> None:
        self._old = old
        self.data = bytearray()

    def copy(self, start: int, stop: int) -> None:
        self.data += self._old.read_at(start, stop)

    def write(self, data: bytes) -> None:
        self.data += data


class NewOnDisk(RewrittenFile):
    """The new version of a file, on disk."""

    output: str

    def __init__(
        self, old: OldVersion, destination: Destination, progress: Callable[[int], None] | None
    ) -> None:
        """Prepare a new version, as `RewrittenFile`."""
        super().__init__(old, destination, progress)
        self.output = os.fspath(destination.output or old.path or "")
        self._target: Target | None = None
        self._new: NewVersion
        self._resources = ExitStack()

    def choose_target(self) -> None:
        """Choose the path of the new version. Nothing is written.

        Raises:
            UnsafeTarget: If writing there would break or overwrite something.
        """
        options = self._destination
        self._target = target = choose_target(
            self.old.file,
            options.output,
            overwrite=options.overwrite,
            permit_hard_links=options.force,
            backup_suffix=options.backup_suffix,
            backup_dir=options.backup_dir,
        )
        if target.replaces is not None:
            check_surroundings(
                target.name, force=options.force, regenerates_crc=options.regenerate_crc
            )

    def _open(self) -> NewFile:
        if self._target is None:
            self.choose_target()
        assert self._target is not None  # noqa: S101  it was chosen
        self.old.fetch()
        self._new = self._resources.enter_context(
            new_version(
                self.old.file or self.old.source,
                self._target,
                keeps_time=self._destination.keep_time,
                progress=self._progress,
            )
        )
        return self._new

    def discard(self) -> None:
        """Remove the temporary file, unless it was committed."""
        self._resources.close()

    def verify(self, plan: Plan, filters: Mapping[Chunk, ExpectedFilter]) -> None:
        """Sync the new version to disk, and read it back."""
        self._new.complete()
        with open_file(self._new.path) as file:
            self._check(FileSource(file.path, file.fd, file.identity.size), plan, filters)

    def commit(self) -> None:
        """Rename the new version to its target, and renew the Hadoop checksum file if asked for."""
        assert self._target is not None  # noqa: S101  it was chosen
        path = self._target.path
        crc = _checksum_file(path) if self._destination.regenerate_crc else None
        if crc is None:
            self._new.commit()
            return
        with ExitStack() as stack:
            with open_file(self._new.path) as data:
                checksums = stack.enter_context(new_checksums(path, data))
            self._new.commit(contradicted=crc)
            try:
                checksums.commit()
            except (BloomwriterError, OSError) as error:
                reason = error.problem if isinstance(error, BloomwriterError) else error.strerror
                raise Unfinished(
                    f"the Hadoop checksum file could not be renewed: {reason}",
                    path=self._target.name,
                    remedy="Hadoop and Spark read the file all the same, without checking it.",
                ) from error

    def keep(self) -> None:
        """Remove what a killed run left beside the file, and renew stale checksums if asked for."""
        if self._destination.output is not None or self.old.file is None:
            return
        path = self.old.file.given  # whose links have not been followed yet
        if os.path.islink(path):  # noqa: PTH114  no object needed
            path = self.old.file.path
        with suppress(OSError):  # it is a courtesy
            remove_stale(path)
        if self._destination.regenerate_crc and _checksum_file(path) and has_stale_crc(path):
            regenerate_crc(path)


def _checksum_file(path: str) -> str | None:
    """Return the path of a file's Hadoop checksum file, or None; remove leftovers of it."""
    crc = crc_path(path)
    remove_stale(os.fspath(crc))
    return os.fspath(crc) if crc.exists() else None
