"""The places of a file's versions, and the new version that a session begins there.

`files` has the places on disk and in memory, `objects` and `whole_files` those on stores.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeAlias

from parquet_bloomwriter.errors import FileProblem, VerificationFailed
from parquet_bloomwriter.rewrite.write import Assembler, Readable, verify
from parquet_bloomwriter.source.open import read_footer

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from types import TracebackType

    from parquet_bloomwriter.rewrite.plan import Chunk, Placement, Plan
    from parquet_bloomwriter.rewrite.report import StoreReport
    from parquet_bloomwriter.rewrite.write import ExpectedFilter, NewFile
    from parquet_bloomwriter.source import Source

StrPath: TypeAlias = "str | os.PathLike[str]"
Input: TypeAlias = "StrPath | bytes | bytearray | memoryview"


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


class Place(ABC):
    """The places of the old and of the new version of one file."""

    source: Source
    """Source of the bytes of the old version."""

    placement: Placement = "column-chunk"
    """Default placement of filters."""

    jobs: int | None = None
    """Default number of threads; None for one for each core."""

    @property
    @abstractmethod
    def path(self) -> str | None:
        """Path of the source as the caller gave it; None for a buffer."""

    @property
    @abstractmethod
    def output(self) -> str | None:
        """Path of the new version; None for a buffer."""

    def choose_target(self) -> None:  # noqa: B027  most need nothing
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
        """Leave the file unchanged, and remove what a killed run left beside it.

        Returns:
            The bytes of a buffer; None for a file.
        """
        return None

    def store_report(self, plan: Plan | None) -> StoreReport | None:
        """Return the store's requests and bytes, made or needed for a plan; None on disk."""
        del plan
        return None


class Rewrite(ABC):
    """A new version that was begun. Call `write`, `verify` and `commit`, in this order."""

    def __init__(self, old: Readable, new: NewFile) -> None:
        self._old = old
        self.assembler = Assembler(new)
        """Writes single pieces before the whole plan is known."""

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

    def _check(self, new: Source, plan: Plan, filters: Mapping[Chunk, ExpectedFilter]) -> None:
        try:
            footer = read_footer(new)
        except FileProblem as error:
            raise VerificationFailed(f"the new footer does not parse: {error.problem}") from error
        verify(self._old, Readable(new, footer), plan, filters)
