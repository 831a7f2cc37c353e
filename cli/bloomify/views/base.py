"""The base of all verbs' views: their methods, and the frame of the JSON.

The names in the JSON are a public contract: docs/reference/output.md.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from bloomify.console.console import OBJECT
from bloomify.exits import exit_code_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bloomify.console.console import Console

VERSION = 1
"""Version of the JSON. It rises when a name goes or changes its meaning, not when one is added."""

Document = dict[str, object]

R = TypeVar("R")


class View(ABC, Generic[R]):
    """The view of one verb's reports: each file by itself, then all files together."""

    command: ClassVar[str]
    """Name of the verb."""

    is_brief: ClassVar[bool] = False
    """Whether the details are so short that they are shown for each of many files."""

    @abstractmethod
    def headline(self, report: R) -> str:
        """Return one line on one file."""

    @abstractmethod
    def details(self, report: R, *, columns: int | None) -> str:
        """Return the text below the headline; may be empty.

        Args:
            report: The report on the file.
            columns: Width of the terminal; None where there is none.
        """

    def document(self, report: R) -> Document:
        """Return one file's entry of `files` in the JSON."""
        return document_of(report)

    def lack(self, report: R) -> str:  # noqa: ARG002  few verbs tell such files apart
        """Return why there is nothing to show of a file, such as "no filters"; or ""."""
        return ""

    def is_named(self, report: R) -> bool:  # noqa: ARG002  most verbs name the first files only
        """Return whether a file is named, however many there are: it was changed, or is faulty."""
        return False

    @abstractmethod
    def collect(self, report: R) -> None:
        """Add one file to the summary of all files."""

    def hint(self, error: Exception) -> str:  # noqa: ARG002  few verbs have any
        """Return a sentence on what to do about an error of one of many files; or ""."""
        return ""

    def complaints(self, report: R) -> Iterable[str]:  # noqa: ARG002  few verbs have any
        """Return lines for standard error on one file, which are printed in any case."""
        return ()

    def summary(self, *, columns: int | None) -> str:  # noqa: ARG002  not all have a table
        """Return the table of all files together; may be empty."""
        return ""

    @abstractmethod
    def tally(self) -> str:
        """Return a few words on what was done to all files, or found in them."""

    def overall(self) -> Document:
        """Return the facts of the JSON on all files together."""
        return {}

    @property
    def passed(self) -> bool:
        """Return whether the exit code is 0 if no file failed."""
        return True


def json_text(command: str, *, seconds: float, **facts: object) -> str:
    """Return the JSON of a whole run, one line of ASCII.

    Args:
        command: Its name, as it is typed.
        seconds: How long it took.
        **facts: The other names and values.
    """
    return json.dumps(head_of(command, seconds) | facts, allow_nan=False)


def line_of(kind: str, document: Document) -> str:
    """Return one line of `--jsonl`.

    Args:
        kind: "file", "failed" or, for the last line, "run".
        document: The entry of `files` or `failed`, or the other facts of the object of `--json`.
    """
    return json.dumps({"kind": kind} | document, allow_nan=False)


def print_json(
    command: str,
    facts: Document,
    lists: Mapping[str, Sequence[Document]],
    console: Console,
    *,
    form: str,
) -> None:
    """Print the JSON of a whole run.

    Args:
        command: Its name, as it is typed.
        facts: The names and values of the run.
        lists: The entries of `files` and `failed`; with `LINES`, those that have no line yet.
        console: Where to print.
        form: `OBJECT` or `LINES`.
    """
    if form == OBJECT:
        console.result(json_text(command, seconds=console.seconds, **facts, **lists))
        return
    for name, documents in lists.items():
        for one in documents:
            console.result(line_of("file" if name == "files" else name, one))
    console.result(line_of("run", head_of(command, console.seconds) | facts))


def head_of(command: str, seconds: float) -> Document:
    """Return the names with which the JSON of a run begins."""
    return {"version": VERSION, "command": command, "seconds": round(seconds, 3)}


def document_of(report: object) -> Document:
    """Return a report as values for the JSON, by the names that its class lists."""
    from parquet_bloomwriter.reports.summary import plain

    return plain(report)


def failure_document(
    error: BaseException, *, path: str, output: str | None = None, message: str
) -> Document:
    """Return the entry of `failed` for one file.

    Args:
        error: What was raised.
        path: The file.
        output: Where its new version should have gone.
        message: The line on standard error.
    """
    facts = ("problem", "row_group", "column", "byte", "remedy")
    return {
        "path": path,
        "output": output,
        "error": type(error).__name__,
        "message": message,
        "exit_code": exit_code_of(error),
        **{fact: getattr(error, fact, None) for fact in facts},
    }
