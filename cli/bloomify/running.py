"""The frame of all verbs that rewrite files: work on each, print each, sum up."""

from __future__ import annotations

import errno
import glob
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypedDict, TypeVar

from bloomify.document import Document, failure_document, run_document
from bloomify.exits import ExitCode, exit_code_of, exit_code_of_run
from bloomify.interruption import interruptible
from bloomify.messages import BUG_HINT, DEBUG, describe
from bloomify.text import count
from parquet_bloomwriter.errors import BloomwriterError, FileProblem

if TYPE_CHECKING:
    from collections.abc import Callable

    from bloomify.console import Console
    from parquet_bloomwriter import FileOutcome

R = TypeVar("R")
R_contra = TypeVar("R_contra", contravariant=True)


class FileOptions(TypedDict):
    """The options that all verbs have."""

    output: str | None
    overwrite: bool
    backup: str | None
    force: bool
    regenerate_crc: bool
    jobs: int | None
    dry_run: bool
    as_json: bool
    quiet: bool


class DestinationOptions(TypedDict):
    """Those of them that every verb of the library takes by the same names."""

    overwrite: bool
    backup_suffix: str | None
    force: bool
    regenerate_crc: bool
    dry_run: bool


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

    @property
    def passed(self) -> bool:
        """Whether what was done to the files collected satisfies."""
        ...


class Unforeseen(BloomwriterError):
    """A bug, or a library that fails in a way nobody expected."""

    outcome = FileProblem.outcome


def destination(options: FileOptions) -> DestinationOptions:
    """Translate options to the library's arguments."""
    return {
        "overwrite": options["overwrite"],
        "backup_suffix": options["backup"],
        "force": options["force"],
        "regenerate_crc": options["regenerate_crc"],
        "dry_run": options["dry_run"],
    }


def run(
    inputs: tuple[str, ...],
    verb: Callable[[str, str | None, int], R],
    view: View[R],
    options: FileOptions,
    console: Console,
) -> ExitCode:
    """Apply a verb to all files, print what became of them, and say how it went."""
    from parquet_bloomwriter import for_each_file

    outcomes = for_each_file(
        inputs,
        _guarded(verb),
        output=options["output"],
        jobs=options["jobs"],
        dry_run=options["dry_run"],
    )
    run_ = _Run(view=view, options=options, console=console, is_single=_is_single(inputs))
    with interruptible(console.bar):
        for outcome in outcomes:
            run_.take(outcome)
    return run_.finish()


@dataclass(kw_only=True)
class _Run(Generic[R]):
    """A run as far as it has come."""

    view: View[R]
    options: FileOptions
    console: Console
    is_single: bool
    """Whether one file was named, and not found in a folder."""

    num_done: int = 0
    failures: list[ExitCode] = field(default_factory=list)
    files: list[Document] = field(default_factory=list)
    failed: list[Document] = field(default_factory=list)

    def take(self, outcome: FileOutcome[R]) -> None:
        """Print what became of one file."""
        if outcome.error is not None:
            self._take_failure(outcome.path, outcome.output, outcome.error)
        if outcome.report is None:
            return
        self.num_done += 1
        self.view.collect(outcome.report)
        if self.options["as_json"]:
            self.files.append(self.view.document(outcome.report))
        elif not self.options["quiet"]:
            self.console.result(self.view.headline(outcome.report))
            if self.is_single or self.view.is_brief or self.options["dry_run"]:
                details = self.view.details(outcome.report, columns=self.console.columns)
                self._print_below(details, gap=not self.view.is_brief)

    def finish(self) -> ExitCode:
        """Print the summary."""
        num_files = self.num_done + len(self.failures)
        if self.options["as_json"]:
            text = run_document(self.view.command, files=self.files, failed=self.failed)
            self.console.result(text)
        elif not (self.options["quiet"] or self.is_single):
            self._sum_up(num_files)
        return exit_code_of_run(self.failures, num_files=num_files, passed=self.view.passed)

    def _take_failure(self, path: str, output: str | None, error: Exception) -> None:
        code = exit_code_of(error)
        message = describe(error, path=path)
        self.console.error(message)
        self.failures.append(code)
        self.failed.append(failure_document(path, output, error, message=message, exit_code=code))

    def _sum_up(self, num_files: int) -> None:
        failures = f"{len(self.failures)} of {count(num_files, 'file')} failed"
        if self.num_done:
            self._print_below(self.view.summary(columns=self.console.columns))
            done = f"{count(num_files, 'file')} done"
            ending = f"{failures}, see above" if self.failures else done
            self.console.result(f"\n{self.view.tally()}; {ending}.")
        else:
            self.console.error(f"{failures}.")

    def _print_below(self, text: str, *, gap: bool = True) -> None:
        if text:
            self.console.result("\n" * gap + text)


def _guarded(verb: Callable[[str, str | None, int], R]) -> Callable[[str, str | None, int], R]:
    """Let no file stop the others, whatever it brings about."""

    def attempt(path: str, output: str | None, jobs: int) -> R:
        try:
            return verb(path, output, jobs)
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

    return attempt


def _is_single(inputs: tuple[str, ...]) -> bool:
    one, *more = inputs
    found = Path(one)
    return not more and not found.is_dir() and (found.exists() or not glob.has_magic(one))
