"""The verbs that rewrite files: on each file, with a destination for its new version."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol, TypedDict, TypeVar

import click

from bloomify.console.interruption import interruptible
from bloomify.runner import Run, guarded

if TYPE_CHECKING:
    from collections.abc import Callable

    from bloomify.console.console import Console
    from bloomify.exits import ExitCode
    from bloomify.runner import View
    from parquet_bloomwriter.progress import FileProgress

R = TypeVar("R")
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


def run(
    inputs: tuple[str, ...],
    verb: RewritingVerb[R],
    view: View[R],
    options: FileOptions,
    console: Console,
) -> ExitCode:
    """Apply a verb to all files, print what became of them, and say how it went."""
    from parquet_bloomwriter.verbs.for_each_file import find_places, for_each_place, missing

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

    places = find_places(inputs, output=options["output"], backup_dir=options["backup_dir"])
    sizes = {place.path: _size_of(place.path) for place in places}
    with interruptible(console.bar):
        console.bar.begin(num_files=len(places), num_bytes=sum(sizes.values()))
        return run_.take_all(
            for_each_place(places, attempt, jobs=options["jobs"], dry_run=options["dry_run"])
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
