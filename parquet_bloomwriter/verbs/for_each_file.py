"""One verb over many files: each atomic on its own, and one bad file does not stop the others."""

# ruff: noqa: PTH112, PTH113, PTH114, PTH116, PTH118, PTH119, PTH120  paths stay as they are spelled
from __future__ import annotations

import errno
import os
from collections import Counter, deque
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from glob import has_magic
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar, overload

from parquet_bloomwriter.arguments import check_jobs, paths_of
from parquet_bloomwriter.errors import (
    BloomwriterError,
    InvalidArgument,
    OutcomeUnknown,
    Unfinished,
    VerificationFailed,
    raise_if_final,
)
from parquet_bloomwriter.parallel import WorkerPool, default_jobs
from parquet_bloomwriter.replace.target import check_backup_folder, check_folders_above, lies_in
from parquet_bloomwriter.source.filesystems import check_local, is_far, is_url
from parquet_bloomwriter.source.folders import Leftovers, Why, is_backup
from parquet_bloomwriter.source.listing import find_local, is_pattern
from parquet_bloomwriter.text import redacted, safe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeAlias

    StrPath: TypeAlias = str | os.PathLike[str]

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOutcome(Generic[R]):
    """The outcome of a verb for one file."""

    path: str
    """Path or URL of the file; like `output` without secrets."""

    output: str | None
    """Path of the new version; None for a verb in place."""

    report: R | None
    """Report of the verb; None if it failed."""

    error: BaseException | None
    """Error of the verb if it failed: of this library, an `OSError`, or any other."""

    def __str__(self) -> str:
        """Return the text of the report or of the error."""
        if self.error is None:
            return str(self.report)
        is_foreseen = isinstance(self.error, BloomwriterError | OSError)
        kind = "" if is_foreseen else f"{type(self.error).__name__}: "
        text = safe(f"{kind}{self.error}")
        is_named = isinstance(self.error, BloomwriterError) and self.error.path is not None
        return text if is_named else f"{safe(self.path)}: {text}"

    def __post_init__(self) -> None:
        for name in ("path", "output"):
            given = getattr(self, name)
            if given is not None and is_url(given):
                object.__setattr__(self, name, redacted(given))


class BackingUp(Protocol[R_co]):
    """A verb that can keep the file that it replaces."""

    def __call__(self, path: str, output: str | None, jobs: int, /, *, backup_dir: str) -> R_co:
        """Apply the verb to a file, and keep the old version in the folder `backup_dir`."""
        ...


@overload
def for_each_file(
    inputs: StrPath | Iterable[StrPath],
    verb: Callable[[str], R],
    *,
    output: None = None,
    backup_dir: None = None,
    jobs: int | None = None,
    dry_run: bool = False,
) -> Iterator[FileOutcome[R]]: ...


@overload
def for_each_file(
    inputs: StrPath | Iterable[StrPath],
    verb: Callable[[str, str | None, int], R],
    *,
    output: StrPath | None = None,
    backup_dir: None = None,
    jobs: int | None = None,
    dry_run: bool = False,
) -> Iterator[FileOutcome[R]]: ...


@overload
def for_each_file(
    inputs: StrPath | Iterable[StrPath],
    verb: BackingUp[R],
    *,
    output: StrPath | None = None,
    backup_dir: StrPath,
    jobs: int | None = None,
    dry_run: bool = False,
) -> Iterator[FileOutcome[R]]: ...


def for_each_file(  # noqa: PLR0913  all by keyword
    inputs: StrPath | Iterable[StrPath],
    verb: Callable[..., R],
    *,
    output: StrPath | None = None,
    backup_dir: StrPath | None = None,
    jobs: int | None = None,
    dry_run: bool = False,
) -> Iterator[FileOutcome[R]]:
    """Apply `verb` to every file and yield the outcomes in the order of the files.

    A file whose verb raises an error does not stop the others: the error is in its outcome, of
    whatever kind it is. Only Ctrl-C (`KeyboardInterrupt`) and `SystemExit` end the loop.

    Nothing is done until you iterate: `for outcome in for_each_file(...)`, or `list(...)`. `verb`
    is called as `verb(path)`, as in `lambda path: bloomify(path, ["id"])`, or, if it takes three
    arguments, as `verb(path, output, jobs)`. With an `output`, it must take three.

    All inputs are checked before work on the first file begins: if one names nothing, nothing is
    done.

    Args:
        inputs: Files, URLs, folders (searched through for Parquet files, as Spark does: hidden
            names are left out, links are followed, and each file is worked on once) and glob
            patterns; one or several. In place, backups are left out that lie beside their files.
        verb: Called with a path, the path of its new version (None for in place), and the number
            of threads it may use; or with the path alone. With `backup_dir`, also with a keyword of
            that name: the folder for the old version of this file, as `bloomify`, `strip` and
            `repair` take it.
        output: A file, for one input file; or a folder, in which the inputs' relative paths are
            kept. What folders and patterns match goes to a folder, however many files it is.
        backup_dir: A folder for the old versions of files, outside of the inputs; their relative
            paths are kept in it.
        jobs: Threads in all; by default all cores, and 16 for files on stores. With one, or for one
            file, `verb` is called in the caller's thread.
        dry_run: Make no folders for the outputs.

    Raises:
        InvalidArgument: If an input matches nothing, the outputs or the backups would
            overwrite each other, readers of an input would read its backups, too, `backup_dir`
            is no folder, or `verb` cannot be called with these arguments.
        FileNotFoundError: If there is no file of a name.
        OSError: If a folder cannot be listed.
    """
    check_jobs(jobs)
    called = _with_all_arguments(
        verb, has_output=output is not None, keywords=() if backup_dir is None else ("backup_dir",)
    )
    tasks = find_tasks(inputs, output=output, backup_dir=backup_dir)
    yield from for_each_task(tasks, called, jobs=jobs, dry_run=dry_run)


def _with_all_arguments(
    verb: Callable[..., R], *, has_output: bool, keywords: Sequence[str]
) -> Callable[..., R]:
    """Return `verb`, or a function with three arguments for a verb that takes only a path.

    Raises:
        InvalidArgument: If it takes neither.
    """
    options = dict.fromkeys(keywords)
    if _takes(verb, "", None, 1, **options):
        return verb
    if not has_output and _takes(verb, "", **options):
        return lambda path, _output, _jobs, **given: verb(path, **given)
    and_keywords = "".join(f", and the keyword {name}" for name in keywords)
    if has_output:
        problem = "with an output, the callable must take (path, output, jobs)"
    else:
        problem = "the callable must take (path), or (path, output, jobs)"
    raise InvalidArgument(f"{problem}{and_keywords}")


def _takes(verb: Callable[..., object], *arguments: object, **options: object) -> bool:
    """Return whether a callable takes arguments; True if that is not known."""
    try:
        signature(verb).bind(*arguments, **options)
    except TypeError:
        return False
    except ValueError:  # A callable in C may have no signature.
        return True
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTask:
    """A file to which a verb is applied, and the paths of its new and old versions."""

    path: str
    size: int
    """Size of the file, bytes; 0 if it does not exist, which opening it reports."""

    output: str | None
    """Path of the new version; None for in place."""

    backup_dir: str | None
    """Folder in which the old version is kept; None if it is not kept."""


def find_tasks(
    inputs: StrPath | Iterable[StrPath],
    *,
    output: StrPath | None = None,
    backup_dir: StrPath | None = None,
    leftovers: Leftovers | None = None,
) -> list[FileTask]:
    """Find the files that inputs of `for_each_file` name, and choose the paths of their versions.

    Args:
        inputs: As for `for_each_file`.
        output: As for `for_each_file`.
        backup_dir: As for `for_each_file`.
        leftovers: Takes what is passed over in folders.

    Raises:
        InvalidArgument, OSError: As `for_each_file`.
    """
    named = paths_of(inputs)
    new, kept = (None if one is None else os.fspath(one) for one in (output, backup_dir))
    if kept is not None:
        _check_backups_are_local(kept, (*named, new))
    for path in (*named, new):
        if path is not None and not is_far(path):
            check_local(path)
    for error in missing(named):
        raise error
    files = find_files(named, leftovers)
    many = len(files) > 1 or any(one.place != one.name or one.is_found for one in files)
    outputs = _outputs(files, new, many=many)
    backups = _backups(files, kept, folders=_folders(named, new if many else None))
    tasks = [
        FileTask(path=one.path, size=one.size, output=target, backup_dir=backup)
        for one, target, backup in zip(files, outputs, backups, strict=True)
    ]
    # Elsewhere, readers of the outputs are to find as many rows as before.
    in_place = {task.path for task in tasks if _is_in_place(task.path, task.output)}
    left_out = _backups_among(files) & in_place
    if leftovers is not None:
        for path in left_out:
            leftovers.add(Why.BACKUP, path)
    return [task for task in tasks if task.path not in left_out]


def _backups_among(files: Iterable[InputFile]) -> set[str]:
    """Return the paths of backups that lie beside the files of which they are old versions.

    Files that are named themselves, or on a store, are never taken for backups.
    """
    real_path = _RealPaths()
    real = {one.path: real_path(one.path) for one in files if not is_far(one.path)}
    originals = set(real.values())
    found = (one.path for one in files if one.is_found and one.path in real)
    return {path for path in found if is_backup(real[path], originals)}


def _is_in_place(path: str, output: str | None) -> bool:
    return output is None or (
        not is_far(output) and os.path.realpath(output) == os.path.realpath(path)
    )


def for_each_task(
    tasks: Sequence[FileTask], verb: Callable[..., R], *, jobs: int | None, dry_run: bool
) -> Iterator[FileOutcome[R]]:
    """Apply `verb` to files as `for_each_file` does."""
    far = any(is_far(path) for task in tasks for path in (task.path, task.output) if path)
    threads = jobs or (_REMOTE_JOBS if far else default_jobs())
    at_once = max(1, min(threads, len(tasks)))

    attempt = partial(_attempt, verb, max(1, threads // at_once), dry_run)
    if at_once == 1:
        yield from map(attempt, tasks)
        return
    pool = WorkerPool(at_once)
    outcomes = deque[Future[FileOutcome[R]]]()
    try:
        for task in tasks:
            outcomes.append(pool.submit(attempt, task))
        while outcomes:
            outcome = outcomes[0].result()
            outcomes.popleft()
            yield outcome
    except KeyboardInterrupt as interruption:
        pool.shutdown(cancel_futures=True)
        for late in outcomes:
            for note in _notes_on(late, interruption):
                interruption.add_note(note)
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _attempt(
    verb: Callable[..., R],
    jobs: int,
    dry_run: bool,  # noqa: FBT001  given by position
    task: FileTask,
) -> FileOutcome[R]:
    """Return the outcome of a verb for a file; raise only what is meant to end the run."""
    path, target = task.path, task.output
    options = {} if task.backup_dir is None else {"backup_dir": task.backup_dir}
    try:
        if target is not None and not dry_run and not is_far(target):
            Path(target).parent.mkdir(parents=True, exist_ok=True)
        report = verb(path, target, jobs, **options)
    except BaseException as error:  # noqa: BLE001  see `raise_if_final`
        raise_if_final(error)
        return FileOutcome(path=path, output=target, report=None, error=error)
    return FileOutcome(path=path, output=target, report=report, error=None)


def _notes_on(late: Future[FileOutcome[R]], interruption: KeyboardInterrupt) -> list[str]:
    """Return notes on a file that a verb was working on when the run was interrupted."""
    if late.cancelled():
        return []
    error = late.exception()
    if error is interruption:
        return []
    if error is not None:
        return list(getattr(error, "__notes__", ()))
    outcome = late.result()
    if outcome.error is None:
        return [f"{outcome.path}: done"]
    is_untouched = not isinstance(outcome.error, OutcomeUnknown | Unfinished | VerificationFailed)
    return [] if is_untouched else [str(outcome)]


_REMOTE_JOBS = 16
"""Default number of threads for files on stores, which wait for most of their time."""


class InputFile(NamedTuple):
    """A file that an input names, or that was found by an input."""

    path: str
    size: int
    """Size of the file, bytes; 0 if it does not exist."""

    is_found: bool
    """Whether the file was found in a folder or by a pattern, and not named itself."""

    name: str
    """Path relative to the folder; for a pattern, the plain file name."""

    place: str
    """Path relative to the folder, or to the folder before the pattern."""


def missing(inputs: Iterable[str]) -> list[FileNotFoundError]:
    """Return errors for the inputs that are plain names of files that do not exist.

    A folder or a pattern that matches nothing is reported by `find_files`.
    """
    return [
        FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), given)
        for given in inputs
        if not is_far(given) and not is_pattern(given) and _is_missing(given)
    ]


def find_files(inputs: Iterable[str], leftovers: Leftovers | None = None) -> list[InputFile]:
    """Find the files that inputs of `for_each_file` name; each once, however many links lead to it.

    Args:
        inputs: As for `for_each_file`.
        leftovers: Takes what is passed over in folders.

    Raises:
        InvalidArgument: If an input matches nothing.
        OSError: If a folder cannot be listed.
    """
    left, real = Leftovers() if leftovers is None else leftovers, _RealPaths()
    files: dict[str, InputFile] = {}
    for given in inputs:
        for found in _expand(given, left):
            files.setdefault(real(found.path), found)
    return list(files.values())


class _RealPaths(dict[str, str]):
    """Paths after all symbolic links; a URL stands for itself. Folders are looked at only once."""

    def __call__(self, path: str) -> str:
        """Return the real path of a file."""
        if is_far(path):
            return path
        if os.path.islink(path):
            return os.path.realpath(path)
        folder, name = os.path.split(path)
        return os.path.join(self[folder], name)

    def __missing__(self, folder: str) -> str:
        self[folder] = real = os.path.realpath(folder)
        return real


def is_folder_or_pattern(given: str) -> bool:
    """Return whether an input may stand for several files."""
    return os.path.isdir(given) or is_pattern(given)


def _is_missing(given: str) -> bool:
    """Return whether no such file exists; False if that cannot be seen: opening it says more."""
    try:
        os.stat(given)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _expand(given: str, leftovers: Leftovers) -> list[InputFile]:
    if is_far(given):
        from parquet_bloomwriter.stores.listing import find_remote

        return [
            InputFile(found.url, found.size, found.is_found, found.inner, found.inner)
            for found in find_remote(given, leftovers)
        ]
    paths = find_local(given, leftovers)
    if os.path.isdir(given):
        folder, is_found = given, True
    else:
        is_found = is_pattern(given)
        folder = _folder_of(given) if is_found else os.path.dirname(given)
    places = [os.path.relpath(path, folder or os.curdir) for path in paths]
    names = places if os.path.isdir(given) else [os.path.basename(path) for path in paths]
    return [
        InputFile(path, _size_of(path), is_found, name, place)
        for path, name, place in zip(paths, names, places, strict=True)
    ]


def _size_of(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _check_backups_are_local(folder: str, paths: Iterable[str | None]) -> None:
    check_local(folder)
    for path in paths:
        if path is not None and is_far(path):
            raise InvalidArgument(
                "backups are kept of local files only",
                remedy="Let the bucket keep versions: then the old version stays.",
            )


def _folders(named: Iterable[str], output: str | None) -> list[str]:
    """Return folders with many of the files: inputs, folders before patterns, and of outputs."""
    folders = [_folder_of(given) for given in named if is_folder_or_pattern(given)]
    return folders if output is None else [*folders, output]


def _folder_of(given: str) -> str:
    while has_magic(given) and not os.path.isdir(given):
        given = os.path.dirname(given)
    return given or os.curdir


def _backups(
    files: list[InputFile], backup_dir: str | None, *, folders: Iterable[str]
) -> Sequence[str | None]:
    if backup_dir is None:
        return [None] * len(files)
    check_backup_folder(backup_dir)
    paths = _below(backup_dir, [found.place for found in files], done="kept as")
    backups = [os.path.dirname(path) for path in paths]
    for folder in folders:
        for backup in dict.fromkeys((backup_dir, *backups)):
            if lies_in(backup, folder):
                raise InvalidArgument(
                    f'backups in "{backup}" would be read by readers of "{folder}", too',
                    remedy="Name a folder outside of it.",
                )
    return backups


def _outputs(files: list[InputFile], output: str | None, *, many: bool) -> Sequence[str | None]:
    if output is None:
        return [None] * len(files)
    is_folder = many or os.path.isdir(output) or output.endswith((os.sep, "/"))
    if not is_folder:
        return [output]
    if is_far(output):
        return _below(output, [found.name for found in files], done="written to")
    for found in files:
        _check_stays_below(found)
    if os.path.isfile(output):
        raise InvalidArgument(
            f'"{output}" is a file, but there are {len(files)} inputs',
            remedy="Name a folder.",
        )
    check_folders_above(output, purpose="new versions")
    return _below(output, [found.name for found in files], done="written to")


def _check_stays_below(found: InputFile) -> None:
    """Refuse an object's key that, as a path, would lead out of the folder of the outputs.

    Raises:
        InvalidArgument: If it would.
    """
    names = found.name.split("/")
    if is_far(found.path) and not {"", ".", ".."}.isdisjoint(names):
        raise InvalidArgument(
            f'the key of "{found.path}" is no path of a file in a folder',
            remedy="Leave it out, or write it to a file of its own.",
        )


def _below(folder: str, names: list[str], *, done: str) -> list[str]:
    """Return paths in a folder for the files of these names; refuse two files with one path.

    Raises:
        InvalidArgument: If several files would have the same.
    """
    targets = [
        f"{folder.rstrip('/')}/{name}" if is_far(folder) else os.path.join(folder, name)
        for name in names
    ]
    twice = [target for target, count in Counter(targets).items() if count > 1]
    if twice:
        raise InvalidArgument(
            f'several inputs would be {done} "{min(twice)}"',
            remedy="Name one folder as the input, or write to several folders.",
        )
    return targets
