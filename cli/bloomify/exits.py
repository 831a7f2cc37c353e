"""Exit codes: a public contract, documented in docs/reference/output.md."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from parquet_bloomwriter.source.folders import PassedOver


class ExitCode(IntEnum):
    """How a run of the command ended."""

    OK = 0
    """The run succeeded."""

    CHECK_FAILED = 1
    """The run ended, but a check failed, nothing can match, no row passes, some data cannot be
    read, or no column could have a filter."""

    USAGE = 2
    """The command line asks for something impossible, or names what does not exist: a file, also
    among others, a folder, a pattern that matches nothing, a column, an index."""

    SOME_FAILED = 3
    """Some files failed, the others are done."""

    NOT_PARQUET = 4
    """A file is no Parquet file, or is malformed."""

    REFUSED = 5
    """A file was refused: unsupported, unsafe to replace, changed meanwhile, or not verified. Or an
    index was: another process is changing it, or it is broken."""

    IO_ERROR = 6
    """The operating system or a store refused to read or write, or a store did not answer."""

    ENGINE_WRONG = 7
    """An engine loses rows by filters that are right (`check-engine`, `measure`)."""

    BUG = 70
    """An unforeseen error (EX_SOFTWARE of sysexits.h)."""

    INTERRUPTED = 130
    """Ctrl-C, as shells report it: 128 + SIGINT."""

    TERMINATED = 143
    """128 + SIGTERM."""


def exit_code_of(error: BaseException) -> ExitCode:
    """Return the exit code of a run whose only error is this one."""
    from parquet_bloomwriter import errors

    is_missing = isinstance(error, FileNotFoundError | NotADirectoryError | errors.IndexNotFound)
    if is_missing or isinstance(error, errors.InvalidArgument):
        return ExitCode.USAGE
    if isinstance(error, errors.NotParquet | errors.MalformedFile | errors.MalformedFilter):
        return ExitCode.NOT_PARQUET
    if isinstance(error, OSError | errors.Unfinished | errors.StoreProblem | errors.OutcomeUnknown):
        return ExitCode.IO_ERROR
    if isinstance(error, errors.FileProblem | errors.IndexProblem | errors.TableProblem):
        return ExitCode.REFUSED
    return ExitCode.BUG


def exit_code_of_search(code: ExitCode, passed_over: Iterable[PassedOver]) -> ExitCode:
    """Return the exit code of a search for files that might match.

    Args:
        code: The code as far as the files that were found say.
        passed_over: What was passed over in folders. If that may have matching rows, for all that
            is known, the code does not say that nothing can match.
    """
    from parquet_bloomwriter.source.folders import has_unknown

    if code is ExitCode.CHECK_FAILED and has_unknown(passed_over):
        return ExitCode.SOME_FAILED
    return code


def exit_code_of_inputs(code: ExitCode, inputs: Iterable[str]) -> ExitCode:
    """Return the exit code of a run that reads files, of which some may be missing.

    A missing file that is named has the code of a pattern that matches nothing, also among others.

    Args:
        code: The code as far as the files say.
        inputs: Files, folders and patterns, as they were named.
    """
    from parquet_bloomwriter.verbs.for_each_file import missing

    has_failed = code not in {ExitCode.OK, ExitCode.CHECK_FAILED}
    return ExitCode.USAGE if has_failed and missing(inputs) else code


def exit_code_of_run(failures: list[ExitCode], *, num_files: int, passed: bool) -> ExitCode:
    """Return the exit code of a run over files.

    Args:
        failures: The codes of the files that failed, in order.
        num_files: Number of all files.
        passed: Whether the other files satisfy the verb, as their view says.
    """
    if failures:
        return failures[0] if len(failures) == num_files else ExitCode.SOME_FAILED
    return ExitCode.OK if passed else ExitCode.CHECK_FAILED
