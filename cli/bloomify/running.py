"""The verbs that rewrite files: on each file, with a destination for its new version."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, TypeVar

from bloomify.frame import Run, guarded
from bloomify.interruption import interruptible

if TYPE_CHECKING:
    from collections.abc import Callable

    from bloomify.console import Console
    from bloomify.exits import ExitCode
    from bloomify.frame import View

R = TypeVar("R")


class FileOptions(TypedDict):
    """The options that all these verbs have."""

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

    def attempt(path: str, output: str | None, jobs: int) -> R:
        return guarded(lambda: verb(path, output, jobs), path=path)

    outcomes = for_each_file(
        inputs,
        attempt,
        output=options["output"],
        jobs=options["jobs"],
        dry_run=options["dry_run"],
    )
    run_ = Run(
        view=view,
        console=console,
        as_json=options["as_json"],
        is_single=_is_single(inputs),
        has_details=options["dry_run"],
    )
    with interruptible(console.bar):
        return run_.take_all(outcomes)


def _is_single(inputs: tuple[str, ...]) -> bool:
    one, *more = inputs
    found = Path(one)
    return not more and not found.is_dir() and (found.exists() or not glob.has_magic(one))
