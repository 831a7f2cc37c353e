"""The frame of all verbs: take the files one by one, print each, sum up.

The verbs that rewrite files: on each file, with a destination for its new version.

The verbs that only read: on each file, wherever it is.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Protocol, TypedDict, TypeVar

import click

from bloomify.console.interruption import interruptible
from bloomify.console.messages import BUG_HINT, DEBUG, Failures, describe
from bloomify.console.text import count
from bloomify.exits import ExitCode, exit_code_of, exit_code_of_run
from bloomify.views.documents import Document, failure_document, run_document
from parquet_bloomwriter.errors import BloomwriterError, FileProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from bloomify.console.console import Console
    from bloomify.views.base import View
    from parquet_bloomwriter import FileOutcome
    from parquet_bloomwriter.progress import FileProgress
    from parquet_bloomwriter.source import Location

R = TypeVar("R")
T = TypeVar("T")


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


R_co = TypeVar("R_co", covariant=True)


class FileOptions(TypedDict):
    """The options that all these verbs have."""

    output: str | None
    overwrite: bool
    backup: str | None
    backup_dir: str | None
    force: bool
    regenerate_crc: bool
    jobs: int | None
    dry_run: bool
    plan: bool
    as_json: bool
    quiet: bool


class DestinationOptions(TypedDict):
    """Those of them that every verb of the library takes by the same names."""

    overwrite: bool
    backup_suffix: str | None
    backup_dir: str | None
    force: bool
    regenerate_crc: bool
    dry_run: bool


def destination(options: FileOptions, backup_dir: str | None) -> DestinationOptions:
    """Translate options to the library's arguments.

    Args:
        options: Those of the command line.
        backup_dir: The folder for the old version of one file.
    """
    return {
        "overwrite": options["overwrite"],
        "backup_suffix": options["backup"],
        "backup_dir": backup_dir,
        "force": options["force"],
        "regenerate_crc": options["regenerate_crc"],
        "dry_run": options["dry_run"],
    }


class RewritingVerb(Protocol[R_co]):
    """A verb of the library, with everything but the file settled."""

    def __call__(
        self,
        path: str,
        output: str | None,
        jobs: int,
        /,
        *,
        progress: FileProgress,
        backup_dir: str | None,
    ) -> R_co:
        """Rewrite a file."""
        ...


def rewrite_files(
    inputs: tuple[str, ...],
    verb: RewritingVerb[R],
    view: View[R],
    options: FileOptions,
    console: Console,
) -> ExitCode:
    """Apply a verb to all files, print what became of them, and say how it went."""
    from parquet_bloomwriter.verbs.for_each_file import find_tasks, for_each_task, missing

    _check_options(inputs, options)
    run_ = Run(
        view=view,
        console=console,
        as_json=options["as_json"],
        is_single=_is_single(inputs),
        has_details=options["plan"],
    )
    absent = missing(inputs)
    if absent:
        return run_.refuse(absent, num_inputs=len(inputs))

    def attempt(path: str, output: str | None, jobs: int, /, *, backup_dir: str | None = None) -> R:
        with console.bar.file(sizes[path]) as progress:
            return guarded(
                lambda: verb(path, output, jobs, progress=progress, backup_dir=backup_dir),
                path=path,
            )

    places = find_tasks(inputs, output=options["output"], backup_dir=options["backup_dir"])
    sizes = {place.path: _size_of(place.path) for place in places}
    with interruptible(console.bar):
        console.bar.begin(num_files=len(places), num_bytes=sum(sizes.values()))
        return run_.take_all(
            for_each_task(places, attempt, jobs=options["jobs"], dry_run=options["dry_run"])
        )


def writing(path: str, progress: FileProgress) -> Callable[[int], None]:
    """Begin the progress of one file; return the function that is told the bytes of each write."""
    progress.begin(num_bytes=_size_of(path), num_filters=0)
    return progress.wrote


def _size_of(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116  no object needed
    except OSError:  # opening it will say so
        return 0


def _check_options(inputs: tuple[str, ...], options: FileOptions) -> None:
    """Refuse backups among several files, whose readers would read them, too.

    Raises:
        click.UsageError: If a suffix is given for more than one file, as a shell makes them of a
            pattern, or options do not go together.
    """
    from parquet_bloomwriter.verbs.for_each_file import is_folder_or_pattern

    if options["plan"] and not options["dry_run"]:
        raise click.UsageError("--plan goes with --dry-run", click.get_current_context())
    if options["backup"] is None:
        return
    if options["backup_dir"] is not None:
        raise click.UsageError(
            "--backup and --backup-dir exclude each other", click.get_current_context()
        )
    if not _is_single(inputs):
        several = [given for given in inputs if is_folder_or_pattern(given)]
        named = f'"{several[0]}"' if several else "several files"
        raise click.UsageError(
            f"readers of {named} would read the backups, too; keep them elsewhere, with "
            "--backup-dir",
            click.get_current_context(),
        )


def _is_single(inputs: tuple[str, ...]) -> bool:
    from parquet_bloomwriter.verbs.for_each_file import is_folder_or_pattern

    return len(inputs) == 1 and not is_folder_or_pattern(inputs[0])


class ReadingOptions(TypedDict):
    """The options that all these verbs have."""

    jobs: int | None
    as_json: bool
    quiet: bool


def read_files(  # noqa: PLR0913  the frame's parts
    inputs: tuple[str, ...],
    verb: Callable[[Location, int, FileProgress], R],
    view: View[R],
    options: ReadingOptions,
    console: Console,
    *,
    has_details: bool = False,
    is_together: bool = False,
) -> ExitCode:
    """Apply a verb to all files, print what it found, and say how it went.

    Args:
        inputs: Files, folders and patterns, by paths or URLs.
        verb: Called with a file, the number of threads it may use, and what it tells of progress.
        view: Shows what it returns.
        options: Those of the command line.
        console: Where to print.
        has_details: Whether details are shown of each of many files.
        is_together: Whether only the summary is shown, of a single file, too.
    """
    from parquet_bloomwriter.parallel import default_jobs

    jobs = default_jobs() if options["jobs"] is None else options["jobs"]
    with interruptible(console.bar):
        locations = find(inputs)
        run_ = Run(
            view=view,
            console=console,
            as_json=options["as_json"],
            is_single=is_single(inputs, locations),
            has_details=has_details,
            is_together=is_together,
            reads_only=True,
        )
        return run_.take_all(_outcomes(locations, verb, jobs, console))


def find(inputs: Sequence[str]) -> list[Location]:
    """Find the files that inputs name.

    Raises:
        InvalidArgument: If one matches nothing, or cannot be opened here.
        OSError: If a folder cannot be listed.
    """
    from parquet_bloomwriter.source import find_sources

    return find_sources(inputs)


def is_single(inputs: Sequence[str], locations: Sequence[Location]) -> bool:
    """Whether one file was named, and not found in a folder or by a pattern."""
    return len(inputs) == len(locations) == 1 and str(locations[0]) == shown(inputs[0])


def shown(given: str) -> str:
    """An input as it may be printed: a URL without users, passwords and parameters."""
    from parquet_bloomwriter.source.filesystems import is_url, without_secrets

    return without_secrets(given) if is_url(given) else given


def _outcomes(
    locations: Sequence[Location],
    verb: Callable[[Location, int, FileProgress], R],
    jobs: int,
    console: Console,
) -> Iterator[FileOutcome[R]]:
    from parquet_bloomwriter.parallel import in_order
    from parquet_bloomwriter.verbs.for_each_file import FileOutcome

    at_once = max(1, min(jobs, len(locations)))
    console.bar.begin(num_files=len(locations), num_bytes=0)

    def attempt(location: Location) -> FileOutcome[R]:
        path, report, failure = str(location), None, None
        try:
            with console.bar.file(0) as progress:
                report = guarded(
                    lambda: verb(location, max(1, jobs // at_once), progress), path=path
                )
        except (BloomwriterError, OSError) as error:
            failure = error
        return FileOutcome(path=path, output=None, report=report, error=failure)

    if at_once == 1:
        yield from map(attempt, locations)
        return
    with in_order(
        locations, attempt, jobs=at_once, weight=lambda _: 1, max_weight=4 * at_once
    ) as results:
        for _, outcome in results:
            yield outcome
