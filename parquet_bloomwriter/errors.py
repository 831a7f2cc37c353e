"""The errors of this package: who is at fault, where, and what to do next.

    BloomwriterError
    ├── InvalidArgument        the caller asked for something that cannot be
    │   ├── ColumnNotFound     a column name matches no leaf, or more than one
    │   └── NoFileMatches      no file matches a pattern; also a FileNotFoundError
    ├── FileProblem            one file cannot be worked on; it was left unchanged, but for the last
    │   ├── NotParquet         the file is not a Parquet file, or is cut short
    │   ├── MalformedFile      the file breaks the Parquet specification
    │   ├── UnsupportedFile    the file is valid, but must not be rewritten
    │   ├── UnsafeTarget       replacing the file would break something that refers to it
    │   ├── FileChanged        another program changed the file while it was being worked on
    │   ├── VerificationFailed the new file did not read back as planned; it was thrown away
    │   ├── StoreProblem       an object store did not do what was asked, and said why
    │   ├── OutcomeUnknown     a store did not answer, and may have put the new version in place
    │   └── Unfinished         the new version is in place, but what follows on that failed
    ├── MalformedFilter        bytes that should be a Bloom filter are not one
    ├── IndexProblem           an index cannot be used: its log or its files are broken
    │   ├── IndexNotFound      the table has no index of that name
    │   └── IndexBusy          a process is changing the index, or has died while it did
    └── TableProblem           a Delta or Iceberg table: its log or metadata contradicts itself
        ├── UnsupportedTable   the table has a feature that is not understood
        └── TableChanged       another program changed the table in a way that stops this one

Facts are attributes; the message is composed from them, and is one line that is safe to show,
whatever a file's author put into names. Libraries put URLs with passwords and signatures into
their errors. These are taken out when an error of this package is made, of its own text and of the
errors that it comes from, which tracebacks show, too; `redacting` does the same for errors that are
passed on. A remedy may hold proposals, each with its kind: a program
with other words for them, such as a command with options, composes the message anew. An `OSError`
of the operating system is passed on as it is.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import contextmanager, suppress
from enum import StrEnum, auto
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from parquet_bloomwriter.text import redacted, safe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


class Way(StrEnum):
    """A proposal of a remedy, for programs with words of their own for it."""

    OVERWRITE = auto()
    """Replace the file that has the name of the output."""

    FORCE = auto()
    """Rewrite a file although something outside refers to it."""

    FORCE_HARD_LINKS = auto()
    """Rewrite a file although it has several names."""

    REGENERATE_CRC = auto()
    """Renew the Hadoop checksum file."""

    OTHER_PATH = auto()
    """Write the new version to another path."""

    BACKUP_FOLDER = auto()
    """Keep backups in another folder."""

    WHOLE_FOLDER = auto()
    """Apply the verb to all files of a folder."""

    EXPECTED_ITEMS = auto()
    """Say how many distinct values an index should expect."""

    FPP = auto()
    """Allow a higher false positive probability."""

    INDEX_SIZE = auto()
    """Allow a larger index."""

    INDEX_NAME = auto()
    """Give the index another name."""

    CREATE_INDEX = auto()
    """Create the index first."""

    CANCEL = auto()
    """Cancel the action of a process that has died."""

    COMMAND = auto()
    """Ask an engine by a command of the shell."""

    ONE_WRITER = auto()
    """Promise that no other process changes an index."""


class Proposal(NamedTuple):
    """A part of a remedy: its proposal, and the words of this library for it."""

    way: Way
    text: str


Remedy: TypeAlias = "str | Iterable[str | Proposal]"
"""A remedy: one sentence or "", whole or in parts."""


class BloomwriterError(Exception):
    """Base of every error that this package raises on purpose.

    Attributes:
        problem: What is wrong, one clause without a final stop.
        path: The file, if one is concerned.
        row_group: Row group ordinal, 0-based.
        column: Dotted path of the leaf column.
        byte: Absolute byte offset in the file.
        parts: The parts of the remedy: text, and proposals.
    """

    outcome = ""
    """What happened to the file, one sentence; "" where no file was at stake."""

    def __init__(  # noqa: PLR0913  facts, all by keyword
        self,
        problem: str,
        *,
        path: str | os.PathLike[str] | None = None,
        row_group: int | None = None,
        column: str | None = None,
        byte: int | None = None,
        remedy: Remedy = "",
    ) -> None:
        redact(sys.exception())
        problem = redacted(problem)
        super().__init__(problem)
        self.problem = problem
        self.path = None if path is None else os.fspath(path)
        self.row_group = row_group
        self.column = column
        self.byte = byte
        self.remedy = remedy

    @property
    def remedy(self) -> str:
        """What the reader of the message can do next, one sentence or ""."""
        return self.remedy_in({})

    @remedy.setter
    def remedy(self, remedy: Remedy) -> None:
        self.parts = (remedy,) if isinstance(remedy, str) else tuple(remedy)

    @property
    def ways(self) -> frozenset[Way]:
        """The proposals in the remedy."""
        return frozenset(part.way for part in self.parts if isinstance(part, Proposal))

    def remedy_in(self, words: Mapping[Way, str]) -> str:
        """Return the remedy with other words for its proposals.

        Args:
            words: Templates, in which `{}` stands for the words of this library. Proposals without
                a template stay.
        """
        return redacted(
            "".join(
                words.get(part.way, "{}").replace("{}", part.text)
                if isinstance(part, Proposal)
                else part
                for part in self.parts
            )
        )

    def __str__(self) -> str:
        return self.message()

    def message(self, *, outcome: str | None = None, remedy: str | None = None) -> str:
        """Compose the message.

        Args:
            outcome: What became of the file, instead of the error's own sentence.
            remedy: What can be done next, instead of the error's own sentence.
        """
        outcome = self.outcome if outcome is None else outcome
        remedy = self.remedy if remedy is None else remedy
        where = [
            self.path,
            None if self.row_group is None else f"row group {self.row_group}",
            None if self.column is None else f"column {self.column}",
            None if self.byte is None else f"byte {self.byte}",
        ]
        sentences = [f"{self.problem}.", outcome, remedy]
        parts = [part for part in where if part] + [" ".join(filter(None, sentences))]
        return safe(": ".join(parts))


def raise_if_final(error: BaseException) -> None:
    """Raise an error again if it is meant to end the run: Ctrl-C, and `sys.exit`.

    For places where one bad file must not stop the others. They catch `BaseException`, because
    libraries in Rust raise `PanicException`, which is no `Exception`.
    """
    if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
        raise error


def redact(error: BaseException | None) -> None:
    """Remove secrets from an error of any library, and from the errors that caused it.

    The texts are changed in the errors themselves, so that tracebacks do not show secrets, either.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        error.args = tuple(redacted(one) if isinstance(one, str) else one for one in error.args)
        for name in ("strerror", "filename", "filename2", "msg"):
            text = getattr(error, name, None)
            if isinstance(text, str):
                with suppress(AttributeError, TypeError):
                    setattr(error, name, redacted(text))
        with suppress(Exception):
            for show in (str, repr):
                _say(error, show, redacted(show(error)))
        error = error.__cause__ or error.__context__


def _say(error: BaseException, show: Callable[[object], str], text: str) -> None:
    """Set the text of an error whose class makes it from its parts, such as a URL."""
    kind = type(error)
    if show(error) != text:
        methods = {f"__{show.__name__}__": lambda _: text, "__module__": kind.__module__}
        error.__class__ = type(kind.__name__, (kind,), methods)


@contextmanager
def redacting() -> Iterator[None]:
    """Remove the secrets in the texts of other libraries' errors that are raised inside."""
    try:
        yield
    except Exception as error:
        redact(error)
        raise


class InvalidArgument(BloomwriterError, ValueError):
    """The caller asked for something that cannot be."""


class ColumnNotFound(InvalidArgument):
    """A column name matches no leaf column, or more than one.

    Attributes:
        name: The name; None if it is not known.
    """

    def __init__(self, problem: str, *, name: str | None = None, **facts: Any) -> None:  # noqa: ANN401  as above
        super().__init__(problem, **facts)
        self.name = name


class NoFileMatches(InvalidArgument, FileNotFoundError):
    """No file matches a pattern, or a pattern was given where one file is needed."""

    def __init__(self, problem: str, **facts: Any) -> None:  # noqa: ANN401  as above
        super().__init__(problem, **facts)
        self.errno = errno.ENOENT


class FileProblem(BloomwriterError):
    """One file cannot be worked on."""

    outcome = "The file was left unchanged."


class NotParquet(FileProblem):
    """The file is not a Parquet file, or only a part of one."""


class MalformedFile(FileProblem):
    """The file breaks the Parquet specification where it matters here."""


class UnsupportedFile(FileProblem):
    """The file is valid, but rewriting it is not possible without harm."""


class UnsafeTarget(FileProblem):
    """Replacing the file would break something that refers to it."""


class FileChanged(FileProblem):
    """Another program changed the file while it was being worked on."""

    outcome = "Our version was thrown away."


class VerificationFailed(FileProblem):
    """The new file did not read back as planned, and was thrown away."""


class StoreProblem(FileProblem):
    """An object store did not do what was asked; nothing there has changed."""


class OutcomeUnknown(FileProblem):
    """A store did not answer, and the new version may be in place or may yet come there.

    Nothing was taken back: neither version is lost.
    """

    outcome = "It is not known whether the new version is in place."


class Unfinished(FileProblem):
    """The new version is in place and complete, but what follows on that failed.

    `__cause__` is the error that was met.
    """

    outcome = "The new version is in place."


class MalformedFilter(BloomwriterError):
    """Bytes that should be a Bloom filter header and bitset are not."""


class IndexProblem(BloomwriterError):
    """An index of a table cannot be used; `path` is its folder, or a file in it."""


class IndexNotFound(IndexProblem):
    """The table has no index of that name."""


class IndexBusy(IndexProblem):
    """A process is changing the index, or died while doing so; the last stable version is used."""


class TableProblem(BloomwriterError):
    """A Delta or Iceberg table cannot be worked on; what is committed is unchanged."""


class UnsupportedTable(TableProblem):
    """The table has a feature that this program does not understand, or must not touch."""


class TableChanged(TableProblem):
    """Another program changed the table's schema or protocol meanwhile."""
