"""What can go wrong: who is at fault, where, and what to do next.

    BloomwriterError
    ├── InvalidArgument        the caller asked for something that cannot be
    │   └── ColumnNotFound     a column name matches no leaf, or more than one
    ├── FileProblem            one file cannot be worked on; it was left unchanged, but for the last
    │   ├── NotParquet         the file is not a Parquet file, or is cut short
    │   ├── MalformedFile      the file breaks the Parquet specification
    │   ├── UnsupportedFile    the file is valid, but must not be rewritten
    │   ├── UnsafeTarget       replacing the file would break something that refers to it
    │   ├── FileChanged        somebody else changed the file while it was being worked on
    │   ├── VerificationFailed the new file did not read back as planned; it was thrown away
    │   └── Unfinished         the new version is in place, but what follows on that failed
    ├── MalformedFilter        bytes that should be a Bloom filter are not one
    └── IndexProblem           an index cannot be used: its log or its files are not as they must be
        ├── IndexNotFound      the table has no index of that name
        └── IndexBusy          somebody is changing the index, or was and died

Facts are attributes; the sentence is composed from them, and is one line that is safe to show,
whatever a file's author put into names. An `OSError` of the operating system is passed on as it is.
"""

from __future__ import annotations

import os

from parquet_bloomwriter.text import safe


class BloomwriterError(Exception):
    """Base of every error that this package raises on purpose.

    Attributes:
        problem: What is wrong, one clause without a final stop.
        path: The file, if one is concerned.
        row_group: Row group ordinal, 0-based.
        column: Dotted path of the leaf column.
        byte: Absolute byte offset in the file.
        remedy: What the reader of the message can do next, one sentence or "".
    """

    outcome = ""
    """What became of the file, one sentence, or "" where no file was at stake."""

    def __init__(  # noqa: PLR0913  facts, all by keyword
        self,
        problem: str,
        *,
        path: str | os.PathLike[str] | None = None,
        row_group: int | None = None,
        column: str | None = None,
        byte: int | None = None,
        remedy: str = "",
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path = None if path is None else os.fspath(path)
        self.row_group = row_group
        self.column = column
        self.byte = byte
        self.remedy = remedy

    def __str__(self) -> str:
        where = [
            self.path,
            None if self.row_group is None else f"row group {self.row_group}",
            None if self.column is None else f"column {self.column}",
            None if self.byte is None else f"byte {self.byte}",
        ]
        sentences = [f"{self.problem}.", self.outcome, self.remedy]
        parts = [part for part in where if part] + [" ".join(filter(None, sentences))]
        return safe(": ".join(parts))


class InvalidArgument(BloomwriterError, ValueError):
    """The caller asked for something that cannot be."""


class ColumnNotFound(InvalidArgument):
    """A column name matches no leaf column, or more than one."""


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
    """Somebody else changed the file while it was being worked on."""

    outcome = "Our version was thrown away."


class VerificationFailed(FileProblem):
    """The new file did not read back as planned, and was thrown away."""


class Unfinished(FileProblem):
    """The new version is in place and complete, but what follows on that failed.

    `__cause__` is the error that was met.
    """

    outcome = "The new version is in place."


class MalformedFilter(BloomwriterError):
    """Bytes that should be a Bloom filter header and bitset are not."""


class IndexProblem(BloomwriterError):
    """An index of a table cannot be used as it is; `path` is its folder, or a file in it."""


class IndexNotFound(IndexProblem):
    """The table has no index of that name."""


class IndexBusy(IndexProblem):
    """Somebody is changing the index, or was and died; its last stable version counts."""
