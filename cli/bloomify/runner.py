"""The frame of all verbs: take the files one by one, print each, sum up."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from bloomify.console.text import count
from bloomify.exits import ExitCode, exit_code_of, exit_code_of_run
from bloomify.messages import BUG_HINT, DEBUG, Failures, describe
from bloomify.views.documents import Document, failure_document, run_document
from parquet_bloomwriter.errors import BloomwriterError, FileProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bloomify.console.console import Console
    from parquet_bloomwriter import FileOutcome

R = TypeVar("R")
T = TypeVar("T")
R_contra = TypeVar("R_contra", contravariant=True)


class View(Protocol[R_contra]):
    """How the reports of one verb are shown."""

    command: str
    """Name of the verb."""

    is_brief: bool
    """Whether the details are short enough to follow the headline of each of many files."""

    def headline(self, report: R_contra) -> str:
        """One line for one file."""
        ...

    def details(self, report: R_contra, *, columns: int | None) -> str:
        """What follows it if there is only this file, or nothing is written; may be empty."""
        ...

    def collect(self, report: R_contra) -> None:
        """Add to the summary of many files."""
        ...

    def summary(self, *, columns: int | None) -> str:
        """The table of all files together; may be empty."""
        ...

    def tally(self) -> str:
        """What was done to all files together, a few words."""
        ...

    def document(self, report: R_contra) -> Document:
        """The same for programs."""
        ...

    def overall(self) -> Document:
        """What programs are told of all files together."""
        ...

    @property
    def passed(self) -> bool:
        """Whether what was done to the files collected satisfies."""
        ...


class Unforeseen(BloomwriterError):
    """A bug, or a library that fails in a way nobody expected."""

    outcome = FileProblem.outcome


@dataclass(kw_only=True)
class Run(Generic[R]):
    """A run as far as it has come."""

    view: View[R]
    console: Console
    as_json: bool
    is_single: bool
    """Whether one file was named, and not found in a folder."""

    has_details: bool = False
    """Whether details are shown of each of many files."""

    reads_only: bool = False
    """Whether the verb changes no file."""

    is_together: bool = False
    """Whether the summary is all there is, for a single file, too."""

    num_done: int = 0
    told: Failures = field(default_factory=Failures)
    failures: list[ExitCode] = field(default_factory=list)
    files: list[Document] = field(default_factory=list)
    failed: list[Document] = field(default_factory=list)

    def take_all(self, outcomes: Iterable[FileOutcome[R]]) -> ExitCode:
        """Print what became of each file, then the summary, and say how it went."""
        for outcome in outcomes:
            self.take(outcome)
        return self.finish()

    def take(self, outcome: FileOutcome[R]) -> None:
        """Print what became of one file."""
        if outcome.error is not None:
            self._take_failure(outcome.path, outcome.output, outcome.error)
        if outcome.report is None:
            return
        self.num_done += 1
        self.view.collect(outcome.report)
        if self.as_json:
            self.files.append(self.view.document(outcome.report))
        elif not self.console.is_quiet:
            self._show(outcome.report)

    def refuse(self, absent: Sequence[OSError], *, num_inputs: int) -> ExitCode:
        """Say which inputs are not there, and that nothing was done to the others."""
        for error in absent:
            self.told = Failures()  # each is named
            self._take_failure(error.filename, None, error)
        if self.as_json:
            return self.finish()
        if num_inputs > len(absent):
            self.console.error("no file was changed, as not all of them are there.")
        return self.failures[0]

    def finish(self) -> ExitCode:
        """Print how many files failed in the same way, and the summary."""
        for line in self.told.others():
            self.console.error(line)
        num_files = self.num_done + len(self.failures)
        if self.as_json:
            totals = self.view.overall()
            text = run_document(
                self.view.command, files=self.files, failed=self.failed, totals=totals
            )
            self.console.result(text)
        elif not self.console.is_quiet and (self.is_together or not self.is_single):
            self._sum_up(num_files)
        return exit_code_of_run(self.failures, num_files=num_files, passed=self.view.passed)

    def _show(self, report: R) -> None:
        if self.is_together:
            return
        gap = "\n" if self.has_details and self.num_done > 1 else ""
        self.console.result(gap + self.view.headline(report))
        if self.is_single or self.view.is_brief or self.has_details:
            details = self.view.details(report, columns=self.console.columns)
            self._print_below(details, gap=not self.view.is_brief)

    def _take_failure(self, path: str, output: str | None, error: Exception) -> None:
        code = exit_code_of(error)
        message = describe(error, path=path, reads_only=self.reads_only)
        if self.told.add(error, path):
            self.console.error(message)
        self.failures.append(code)
        self.failed.append(failure_document(path, output, error, message=message, exit_code=code))

    def _sum_up(self, num_files: int) -> None:
        failures = f"{len(self.failures)} of {count(num_files, 'file')} failed"
        if self.num_done:
            summary = self.view.summary(columns=self.console.columns)
            self._print_below(summary, gap=not self.is_together)
            done = f"; {count(num_files, 'file')} {'read' if self.reads_only else 'done'}"
            ending = f"; {failures}, see above" if self.failures else done
            self.console.result(f"\n{self.view.tally()}{'' if self.is_single else ending}.")
        elif not self.is_single:
            self.console.error(f"{failures}.")

    def _print_below(self, text: str, *, gap: bool = True) -> None:
        if text:
            self.console.result("\n" * gap + text)


def guarded(verb: Callable[[], T], *, path: str) -> T:
    """Let no file stop the others, whatever it brings about.

    Raises:
        BloomwriterError, OSError: If the verb fails, for whatever reason.
    """
    try:
        return verb()
    except (BloomwriterError, OSError):
        raise
    except MemoryError:
        raise OSError(errno.ENOMEM, "Not enough memory") from None
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        raise Unforeseen(
            f"{type(error).__name__}: {error}",
            path=path,
            remedy=BUG_HINT,
        ) from error
