"""The verbs that only read: on each file, wherever it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict, TypeVar

from bloomify.console.interruption import interruptible
from bloomify.runner import Run, guarded
from parquet_bloomwriter.errors import BloomwriterError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bloomify.console.console import Console
    from bloomify.exits import ExitCode
    from bloomify.runner import View
    from bloomify.views.documents import Document
    from parquet_bloomwriter import FileOutcome
    from parquet_bloomwriter.progress import FileProgress
    from parquet_bloomwriter.source import Location

R = TypeVar("R")


class ReadingOptions(TypedDict):
    """The options that all these verbs have."""

    jobs: int | None
    as_json: bool
    quiet: bool


class ReadingView:
    """What most views of these verbs have in common."""

    is_brief: bool = False

    def overall(self) -> Document:
        """Programs are told nothing of all files together."""
        return {}

    @property
    def passed(self) -> bool:
        """There is nothing to check."""
        return True


def run(  # noqa: PLR0913  the frame's parts
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
