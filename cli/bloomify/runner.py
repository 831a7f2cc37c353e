"""The frame of verbs on files: apply a verb to each file, print its report, print the totals.

    rewrite_files   for verbs that write: local files, each with a destination for its new version
    read_files      for verbs that only read: files wherever they are

A file that fails does not stop the others. Its error becomes one line on standard error, an entry
of `failed` in the JSON, and part of the exit code.
"""

from __future__ import annotations

import errno
import os
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, Unpack

import click

from bloomify.console.console import LINES, MOST_ENTRIES, OBJECT
from bloomify.console.interruption import counted, interruptible
from bloomify.console.messages import BUG_HINT, DEBUG, describe
from bloomify.exits import ExitCode, exit_code_of, exit_code_of_inputs, exit_code_of_run
from bloomify.options import as_of
from bloomify.views.base import Document, document_of, failure_document, line_of, print_json
from parquet_bloomwriter.errors import BloomwriterError, FileProblem
from parquet_bloomwriter.text import count, safe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from bloomify.console.console import Console
    from bloomify.options import DestinationOptions, Options
    from bloomify.views.base import View
    from parquet_bloomwriter import FileOutcome
    from parquet_bloomwriter.progress import FileProgress
    from parquet_bloomwriter.source import Location
    from parquet_bloomwriter.source.folders import PassedOver
    from parquet_bloomwriter.table_files.files import Table
    from parquet_bloomwriter.table_files.find import AsOf, FoundFiles
    from parquet_bloomwriter.verbs.for_each_file import FileTask

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
T = TypeVar("T")

_NAMED = 3
"""Most files that are named of those that failed in the same way."""

_COUNTED = 10
"""Number of files without anything to show from which they are counted, not listed."""


class Unforeseen(BloomwriterError):
    """A bug, or an error of another library that this project does not expect."""

    outcome = FileProblem.outcome


class RewritingVerb(Protocol[R_co]):
    """A verb that writes, with all arguments set but the file and its destination."""

    def __call__(
        self,
        path: str,
        progress: FileProgress,
        jobs: int,
        /,
        **destination: Unpack[DestinationOptions],
    ) -> R_co:
        """Rewrite a file."""
        ...


def rewrite_files(
    inputs: tuple[str, ...],
    verb: RewritingVerb[R],
    view: View[R],
    options: Options,
    console: Console,
) -> ExitCode:
    """Apply a verb to all files, print the results, and return the exit code."""
    from parquet_bloomwriter.source.folders import Leftovers
    from parquet_bloomwriter.verbs.for_each_file import find_tasks, for_each_task, missing

    _check_options(inputs, options)
    run = _Run(
        view=view,
        console=console,
        form=options["as_json"],
        is_single=_is_single_path(inputs),
        has_details=options["plan"],
        is_dry=options["dry_run"],
    )
    absent = missing(inputs)
    if absent:
        return run.refuse(absent, num_inputs=len(inputs))
    left = Leftovers()
    places = find_tasks(
        inputs, output=options["output"], backup_dir=options["backup_dir"], leftovers=left
    )
    _check_outputs(places)
    run.passed_over = left.groups()
    run.is_many = len(places) >= _COUNTED
    run.is_single = run.is_single and [place.path for place in places] == list(inputs)
    sizes = {place.path: place.size for place in places}

    def attempt(path: str, output: str | None, jobs: int, /, *, backup_dir: str | None = None) -> R:
        destination: DestinationOptions = {
            "output": output,
            "overwrite": options["overwrite"],
            "backup_suffix": options["backup"],
            "backup_dir": backup_dir,
            "force": options["force"],
            "regenerate_crc": options["regenerate_crc"],
            "keep_time": options["keep_time"],
            "dry_run": options["dry_run"],
        }
        with console.bar.file(sizes[path]) as progress:
            return guarded(lambda: verb(path, progress, jobs, **destination), path=path)

    with interruptible(console.bar), counted(len(places), lambda: run.num_done):
        console.bar.begin(num_files=len(places), num_bytes=sum(sizes.values()))
        code = run.take_all(
            for_each_task(places, attempt, jobs=options["jobs"], dry_run=options["dry_run"])
        )
    if run.has_written and options["output"] is None:
        for folder in inputs:
            note_indexes(folder, console)
    return code


def note_indexes(given: str, console: Console) -> None:
    """Print how the indexes of a folder on disk can learn the new versions of its files."""
    from parquet_bloomwriter.index.layout import HOME

    folder = given if Path(given).is_dir() else str(Path(given).parent)
    home = Path(folder, HOME)
    if console.is_quiet or not home.is_dir():
        return
    for one in sorted(home.iterdir()):
        if one.is_dir():
            words = shlex.join(["bloomify", "index", "refresh", folder, "--name", one.name])
            console.note(
                f"the index {safe(one.name)} knows the files as they were. Type: {safe(words)}"
            )


def read_files(  # noqa: PLR0913  the frame's parts
    inputs: tuple[str, ...],
    verb: Callable[[Location, int, FileProgress], R],
    view: View[R],
    options: Options,
    console: Console,
    *,
    has_details: bool = False,
    is_together: bool = False,
) -> ExitCode:
    """Apply a verb to all files, print the reports, and return the exit code.

    Args:
        inputs: Files, folders and patterns, by paths or URLs.
        verb: Called with a file, the number of threads it may use, and the progress of the file.
        view: Shows the verb's reports.
        options: Those of the command line.
        console: Where to print.
        has_details: Whether details are shown of each of many files.
        is_together: Whether only the summary is shown, of a single file, too.
    """
    from parquet_bloomwriter.parallel import default_jobs

    jobs = default_jobs() if options["jobs"] is None else options["jobs"]
    with interruptible(console.bar):
        found = find(inputs, as_of(options))
        locations = found.files
        run = _Run(
            view=view,
            console=console,
            form=options["as_json"],
            is_single=is_single(inputs, locations),
            has_details=has_details,
            is_together=is_together,
            reads_only=True,
            is_many=len(locations) >= _COUNTED,
            tables=found.tables,
            passed_over=found.passed_over,
        )
        with counted(len(locations), lambda: run.num_done):
            code = run.take_all(_outcomes(locations, verb, jobs, console))
        return exit_code_of_inputs(code, inputs)


def find(inputs: Sequence[str], state: AsOf) -> FoundFiles:
    """Find the files that inputs name; of tables, those of the given state.

    Raises:
        InvalidArgument: If an input matches nothing, or cannot be opened here.
        TableProblem: If a table cannot be understood.
        OSError: If a folder cannot be listed.
    """
    from parquet_bloomwriter.table_files.find import find_inputs

    return find_inputs(inputs, as_of=state)


def table_headline(table: Table) -> str:
    """Return one line on the state of a table that is read."""
    files = count(len(table.files), "file")
    return f"{safe(table.path)}: {safe(table.label)}, {files}"


def table_documents(tables: Sequence[Table]) -> Document:
    """Return the entry of the JSON for tables; empty without any."""
    facts: list[Document] = [
        {"path": one.path, **one.facts, "num_files": len(one.files)} for one in tables
    ]
    return {"tables": facts} if facts else {}


def note_passed_over(groups: Sequence[PassedOver], console: Console) -> None:
    """Print which names in folders were passed over, if any."""
    from parquet_bloomwriter.source.folders import passed_over_text

    if groups:
        console.note(f"{passed_over_text(groups)}.")


def passed_over_documents(groups: Sequence[PassedOver]) -> Document:
    """Return the entry of the JSON for names passed over in folders; empty without any."""
    return {"passed_over": list(map(document_of, groups))} if groups else {}


def is_single(inputs: Sequence[str], locations: Sequence[Location]) -> bool:
    """Return whether a single file was named, and not found in a folder or by a pattern."""
    return len(inputs) == len(locations) == 1 and str(locations[0]) == shown(inputs[0])


def shown(given: str) -> str:
    """Return an input that is safe to print: a URL without users, passwords and parameters."""
    from parquet_bloomwriter.source.filesystems import is_url, without_secrets

    return without_secrets(given) if is_url(given) else given


def guarded(verb: Callable[[], T], *, path: str) -> T:
    """Call a verb, and turn every exception into an error of one file.

    Raises:
        BloomwriterError, OSError: If the verb fails, for whatever reason.
    """
    try:
        return verb()
    except (BloomwriterError, OSError):
        raise
    except MemoryError:
        raise OSError(errno.ENOMEM, "Not enough memory") from None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        if os.environ.get(DEBUG):
            raise
        raise Unforeseen(
            f"{type(error).__name__}: {error}",
            path=path,
            remedy=BUG_HINT,
        ) from error


def begin_writing(path: str, progress: FileProgress) -> Callable[[int], None]:
    """Begin the progress of one file; return the function to call with the bytes of each write."""
    progress.begin(num_bytes=_size_of(path), num_filters=0)
    return progress.wrote


@dataclass(kw_only=True)
class FailureLog:
    """The files that failed; of those that failed in the same way, only the first gets a line."""

    console: Console
    reads_only: bool
    """Whether the verb changes no file, so that no message needs to say that none was changed."""

    codes: list[ExitCode] = field(default_factory=list)
    """The exit code of each file's error, in order."""

    documents: list[Document] = field(default_factory=list)
    """The entries of `failed` in the JSON."""

    _paths: dict[tuple[object, ...], list[str]] = field(default_factory=dict)
    """Paths of the failed files, by the kind of failure."""

    def add(
        self,
        error: Exception,
        *,
        path: str,
        output: str | None = None,
        consequence: str = "",
        is_alone: bool = False,
    ) -> None:
        """Record a failure, and print its message if it is the first of its kind.

        Args:
            error: What was raised.
            path: The file.
            output: Where its new version should have gone.
            consequence: A sentence to be printed behind the message.
            is_alone: Whether the message is printed in any case.
        """
        message = describe(error, path=path, reads_only=self.reads_only)
        alike = self._paths.setdefault((path,) if is_alone else _kind_of(error), [])
        alike.append(path)
        if len(alike) == 1:
            self.console.error(f"{message} {consequence}" if consequence else message)
        self.codes.append(exit_code_of(error))
        self.documents.append(failure_document(error, path=path, output=output, message=message))

    def print_others(self) -> None:
        """Print for each kind of failure how many further files failed, and name some."""
        for first, *more in self._paths.values():
            if more:
                named = len(more) if self.console.is_verbose else _NAMED
                left = len(more) - named
                some = ", ".join(more[:named])
                rest = f" and {left:,} more; --verbose names them" if left > 0 else ""
                others = count(len(more), "other file")
                self.console.error(f"{others} failed in the same way as {first}: {some}{rest}.")


@dataclass(kw_only=True)
class _Run(Generic[R]):
    """The progress of one verb on its files: results so far, and options of what is shown."""

    view: View[R]
    console: Console
    form: str | None
    """The form of the JSON; None for text."""

    is_single: bool
    """Whether a single file was named, and not found in a folder."""

    has_details: bool = False
    """Whether details of each of many files are shown."""

    reads_only: bool = False
    """Whether the verb changes no file."""

    is_together: bool = False
    """Whether only the summary is shown, also for a single file."""

    is_dry: bool = False

    tables: Sequence[Table] = ()
    """Tables whose files are read."""

    passed_over: Sequence[PassedOver] = ()
    """Names in folders that were passed over."""

    num_done: int = 0
    has_written: bool = False
    """Whether a new version of a file was written."""

    documents: list[Document] = field(default_factory=list)
    is_many: bool = False
    """Whether there are so many files that those with nothing to show may be counted only."""

    num_named: int = 0
    num_unnamed: int = 0
    """Number of files that were read and not named, because there are too many."""

    lacking: dict[str, list[str]] = field(default_factory=dict)
    """Headlines of files with nothing else to show, by what they lack."""

    failures: FailureLog = field(init=False)

    def __post_init__(self) -> None:
        self.failures = FailureLog(console=self.console, reads_only=self.reads_only)

    def take_all(self, outcomes: Iterable[FileOutcome[R]]) -> ExitCode:
        """Print the result of each file, then the summary, and return the exit code."""
        if not (self.form or self.console.is_quiet):
            for table in self.tables:
                self.console.result(table_headline(table))
        for outcome in outcomes:
            error = outcome.error
            if isinstance(error, BloomwriterError | OSError):
                hint = "" if self.is_single else self.view.hint(error)
                self._fail(error, path=outcome.path, output=outcome.output, consequence=hint)
            elif error is not None:  # `guarded` passes it on for its traceback.
                raise error
            if outcome.report is not None:
                self._take(outcome.report)
        self._show_lacking()
        self.failures.print_others()
        note_passed_over(self.passed_over, self.console)
        return self._finish()

    def refuse(self, absent: Sequence[OSError], *, num_inputs: int) -> ExitCode:
        """Print the inputs that are missing, and that the others were not changed."""
        for error in absent:
            self._fail(error, path=error.filename, is_alone=True)
        if self.form:
            return self._finish()
        if num_inputs > len(absent):
            self.console.error("no file was changed, as not all of them are there.")
        return self.failures.codes[0]

    def _take(self, report: R) -> None:
        self.num_done += 1
        self.has_written |= getattr(report, "written", False)
        self.view.collect(report)
        for complaint in self.view.complaints(report):
            self.console.error(complaint)
        if self.form == LINES:
            self.console.result(line_of("file", self.view.document(report)))
        elif self.form == OBJECT:
            self.documents.append(self.view.document(report))
        elif not self.console.is_quiet:
            self._show(report)

    def _show(self, report: R) -> None:
        if self.is_together:
            return
        is_short = self.is_many and not (self.has_details or self.console.is_verbose)
        lack = self.view.lack(report) if is_short else ""
        if lack:
            self.lacking.setdefault(lack, []).append(self.view.headline(report))
            return
        if is_short and self.num_named >= MOST_ENTRIES and not self.view.is_named(report):
            self.num_unnamed += 1
            return
        self.num_named += 1
        gap = "\n" if self.has_details and self.num_done > 1 else ""
        self.console.result(gap + self.view.headline(report))
        if self.is_single or self.view.is_brief or self.has_details:
            details = self.view.details(report, columns=self.console.columns)
            self._print_below(details, gap=not self.view.is_brief)

    def _fail(self, error: Exception, *, path: str, **where: Any) -> None:  # noqa: ANN401  of `add`
        """Record a failure; with a line for each file, it has a line, too."""
        self.failures.add(error, path=path, **where)
        if self.form == LINES:
            self.console.result(line_of("failed", self.failures.documents[-1]))

    def _show_lacking(self) -> None:
        if self.num_unnamed:
            more = count(self.num_unnamed, "more file")
            self.console.result(f"... and {more}; --verbose names them")
        for lack, headlines in self.lacking.items():
            is_short = len(headlines) < _COUNTED
            counted = f"{count(len(headlines), 'file')}: {lack}; --verbose names them"
            for line in headlines if is_short else [counted]:
                self.console.result(line)

    def _finish(self) -> ExitCode:
        """Print the JSON or the summary."""
        num_files = self.num_done + len(self.failures.codes)
        if self.form:
            lists = {"files": self.documents, "failed": self.failures.documents}
            facts = {**self.view.overall(), **table_documents(self.tables)}
            facts |= passed_over_documents(self.passed_over)
            if self.form == LINES:
                facts |= {"num_done": self.num_done, "num_failed": len(self.failures.codes)}
                lists = {}
            print_json(self.view.command, facts, lists, self.console, form=self.form)
        elif not self.console.is_quiet and (self.is_together or not self.is_single):
            self._sum_up(num_files)
        return exit_code_of_run(self.failures.codes, num_files=num_files, passed=self.view.passed)

    def _sum_up(self, num_files: int) -> None:
        num_failed = len(self.failures.codes)
        failures = f"{num_failed} of {count(num_files, 'file')} failed"
        if self.num_done:
            summary = self.view.summary(columns=self.console.columns)
            self._print_below(summary, gap=not self.is_together)
            done = f"; {count(num_files, 'file')} {self._done}"
            ending = f"; {failures}, see above" if num_failed else done
            self.console.result(f"\n{self.view.tally()}{'' if self.is_single else ending}.")
        elif num_files and not self.is_single:
            self.console.error(f"{failures}.")

    @property
    def _done(self) -> str:
        if self.is_dry:
            return "looked at"
        return "read" if self.reads_only else "done"

    def _print_below(self, text: str, *, gap: bool = True) -> None:
        if text:
            self.console.result("\n" * gap + text)


def _check_options(inputs: tuple[str, ...], options: Options) -> None:
    """Check that options fit together, and that no backup lies among the files of a table.

    Raises:
        click.UsageError: If they do not, or if a suffix is given for more than one file, as a
            shell makes them of a pattern: readers would read the backups, too.
    """
    from parquet_bloomwriter.verbs.for_each_file import is_folder_or_pattern

    ctx = click.get_current_context()
    if options["plan"] and not options["dry_run"]:
        raise click.UsageError("--plan goes with --dry-run", ctx)
    if options["backup"] is None:
        return
    if options["backup_dir"] is not None:
        raise click.UsageError("--backup and --backup-dir exclude each other", ctx)
    if not _is_single_path(inputs):
        several = [given for given in inputs if is_folder_or_pattern(given)]
        named = f'"{several[0]}"' if several else "several files"
        raise click.UsageError(
            f"readers of {named} would read the backups, too; keep them elsewhere, with "
            "--backup-dir",
            ctx,
        )


def _check_outputs(places: Iterable[FileTask]) -> None:
    """Check that no new version is written to its own source, under whatever name.

    Raises:
        click.UsageError: If one is.
    """
    for place in places:
        if place.output is not None and _is_same(place.path, place.output):
            raise click.UsageError(
                "-o names the input itself. Leave out -o to replace it in place.",
                click.get_current_context(),
            )


def _is_same(path: str, output: str) -> bool:
    try:
        return path == output or os.path.samefile(path, output)  # noqa: PTH121  no object needed
    except OSError:  # Most outputs are not there.
        return False


def _is_single_path(inputs: tuple[str, ...]) -> bool:
    from parquet_bloomwriter.verbs.for_each_file import is_folder_or_pattern

    return len(inputs) == 1 and not is_folder_or_pattern(inputs[0])


def _size_of(path: str) -> int:
    """Return the size of a file, bytes; 0 if it does not exist, which opening it reports."""
    try:
        return os.stat(path).st_size  # noqa: PTH116  no object needed
    except OSError:
        return 0


def _kind_of(error: Exception) -> tuple[object, ...]:
    """Return a key that is equal for errors that are reported together."""
    if isinstance(error, BloomwriterError):
        return type(error), error.problem, error.remedy, error.column
    if isinstance(error, OSError):
        return OSError, error.errno, error.strerror
    return type(error), str(error)


def _outcomes(
    locations: Sequence[Location],
    verb: Callable[[Location, int, FileProgress], R],
    jobs: int,
    console: Console,
) -> Iterator[FileOutcome[R]]:
    """Read files, several at once, and yield their reports or errors in order."""
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
