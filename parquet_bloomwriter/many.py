"""One verb over many files: each atomic on its own, and one bad file does not stop the others."""

# ruff: noqa: PTH112, PTH113, PTH118, PTH119  paths stay spelled as they were given
from __future__ import annotations

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from parquet_bloomwriter.errors import BloomwriterError, InvalidArgument
from parquet_bloomwriter.parallel import default_jobs
from parquet_bloomwriter.source.folders import find_local, is_pattern

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOutcome(Generic[R]):
    """What became of one file."""

    path: str
    output: str | None
    """Where the new version was to go; None for in place."""

    report: R | None
    """What the verb returned; None if it failed."""

    error: BloomwriterError | OSError | None
    """Why it failed."""


def for_each_file(
    inputs: Iterable[str | os.PathLike[str]],
    verb: Callable[[str, str | None, int], R],
    *,
    output: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    dry_run: bool = False,
) -> Iterator[FileOutcome[R]]:
    """Apply `verb` to every file and yield the outcomes in the order of the files.

    Args:
        inputs: Files, folders (searched through for Parquet files; names that begin with `.` or
            `_` are left out, as readers of datasets do) and glob patterns.
        verb: Called with a path, the path of its new version (None for in place), and the number
            of threads it may use.
        output: A file, for one input file; or a folder, in which the inputs' relative paths are
            kept. What folders and patterns match goes to a folder, however many files it is.
        jobs: Threads in all; by default all cores. With one, or for one file, `verb` is called in
            the caller's thread.
        dry_run: Make no folders for the outputs.

    Raises:
        InvalidArgument: If an input matches nothing, or the outputs would overwrite each other.
        OSError: If a folder cannot be listed.
    """
    named = [os.fspath(given) for given in inputs]
    files = find_files(named)
    many = len(files) > 1 or any(map(_is_folder_or_pattern, named))
    outputs = _outputs(files, None if output is None else os.fspath(output), many=many)
    threads = default_jobs() if jobs is None else jobs
    at_once = max(1, min(threads, len(files)))

    def attempt(place: tuple[tuple[str, str], str | None]) -> FileOutcome[R]:
        (path, _), target = place
        try:
            if target is not None and not dry_run:
                Path(target).parent.mkdir(parents=True, exist_ok=True)
            report = verb(path, target, max(1, threads // at_once))
        except (BloomwriterError, OSError) as error:
            return FileOutcome(path=path, output=target, report=None, error=error)
        return FileOutcome(path=path, output=target, report=report, error=None)

    places = zip(files, outputs, strict=True)
    if at_once == 1:
        yield from map(attempt, places)
        return
    pool = ThreadPoolExecutor(at_once)
    try:
        yield from pool.map(attempt, places)
    finally:
        pool.shutdown(cancel_futures=True)


Found = tuple[str, str]
"""A file, and its path relative to the input that named it."""


def find_files(inputs: Iterable[str]) -> list[Found]:
    """Find the files that inputs of `for_each_file` name, each once.

    Raises:
        InvalidArgument: If an input matches nothing.
        OSError: If a folder cannot be listed.
    """
    files: dict[str, Found] = {}
    for given in inputs:
        for path, name in _expand(given):
            files.setdefault(os.path.realpath(path), (path, name))
    return list(files.values())


def _is_folder_or_pattern(given: str) -> bool:
    return os.path.isdir(given) or is_pattern(given)


def _expand(given: str) -> list[Found]:
    paths = find_local(given)
    if os.path.isdir(given):
        return [(path, os.path.relpath(path, given)) for path in paths]
    return [(path, os.path.basename(path)) for path in paths]


def _outputs(files: list[Found], output: str | None, *, many: bool) -> list[str | None]:
    if output is None:
        return [None] * len(files)
    is_folder = many or os.path.isdir(output) or output.endswith((os.sep, "/"))
    if not is_folder:
        return [output]
    if os.path.isfile(output):
        raise InvalidArgument(
            f'"{output}" is a file, but there are {len(files)} inputs',
            remedy="Name a folder.",
        )
    targets = [os.path.join(output, relative) for _, relative in files]
    twice = [target for target, count in Counter(targets).items() if count > 1]
    if twice:
        raise InvalidArgument(
            f'several inputs would be written to "{min(twice)}"',
            remedy="Name one folder as the input, or write to several folders.",
        )
    return list(targets)
