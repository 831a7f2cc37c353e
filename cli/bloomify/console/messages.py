"""Error messages as one line: place, problem, what happened to the file, and what to do next.

The library's errors propose arguments of its functions; the command proposes its options instead.
"""

from __future__ import annotations

import errno
import os

from parquet_bloomwriter.errors import BloomwriterError, FileProblem, Way
from parquet_bloomwriter.text import redacted

STANDARD_OUTPUT = "standard output"
"""The file name in errors of writing to standard output."""

DEBUG = "BLOOMIFY_DEBUG"
"""Environment variable that turns on the traceback of an unforeseen error."""

BUG_HINT = f"This is a bug; {DEBUG}=1 shows where."

_OPTIONS = {
    Way.OVERWRITE: "permit overwriting with --overwrite",
    Way.FORCE: "insist with --force",
    Way.FORCE_HARD_LINKS: "Permit it with --force",
    Way.REGENERATE_CRC: "Renew the checksum file with --regenerate-crc",
    Way.OTHER_PATH: "{} with -o",
    Way.BACKUP_FOLDER: "with --backup-dir",
    Way.WHOLE_FOLDER: "or give the folder as an INPUT",
    Way.EXPECTED_ITEMS: "{} (--expected-items)",
    Way.FPP: "{} (--fpp)",
    Way.INDEX_SIZE: "{} (--max-index-size)",
    Way.INDEX_NAME: "{} (--name)",
    Way.COMMAND: "give --command (bloomify check-engine --help)",
    Way.ONE_WRITER: "{} (--one-writer)",
}
"""Options for the library's proposals; `{}` stands for the words of the library."""

_REMEDIES = {
    errno.ENOENT: "Check the name.",
    errno.ENOTDIR: "Check the name.",
    errno.EACCES: "Ask for the permission, or write elsewhere with -o.",
    errno.EPERM: "Ask for the permission, or write elsewhere with -o.",
    errno.EROFS: "Write elsewhere with -o.",
    errno.ENOSPC: "Free some space, or write elsewhere with -o.",
    errno.EDQUOT: "Free some space, or write elsewhere with -o.",
    errno.EFBIG: "Write elsewhere with -o.",
    errno.EIO: "Check the disk.",
    errno.ENOMEM: "Give it fewer --jobs or a smaller --max-bytes.",
}

_ELSEWHERE = (
    ", or write elsewhere with -o",
    "Write elsewhere with -o.",
    " or a smaller --max-bytes",
)
"""Parts of remedies that do not help verbs that write nothing."""

_ABSENT = (errno.ENOENT, errno.ENOTDIR)


def describe(
    error: BaseException,
    *,
    path: str | None = None,
    reads_only: bool = False,
    has_remedy: bool = True,
) -> str:
    """Return the line for an error that a verb raised on `path`.

    Args:
        error: What was raised.
        path: The file that was worked on, if any.
        reads_only: Whether the verb changes no file, so that the message need not say that the file
            was left unchanged.
        has_remedy: Whether to say what the library proposes.
    """
    if not isinstance(error, BloomwriterError):
        if isinstance(error, OSError):
            return redacted(_describe_os_error(error, path, reads_only=reads_only))
        return redacted(_where(path) + f"{type(error).__name__}: {error}")
    text = error.message(
        outcome="" if reads_only else None,
        remedy=error.remedy_in(_OPTIONS) if has_remedy else "",
    )
    return text if error.path is not None else _where(path) + text


def _describe_os_error(error: OSError, path: str | None, *, reads_only: bool) -> str:
    concerned = _name(error.filename)
    is_input = path is not None and (concerned is None or _is_same(concerned, path))
    reason = (error.strerror or str(error) or type(error).__name__).rstrip(".")
    parts = [f"{reason[:1].lower()}{reason[1:]}."]
    if error.errno in _ABSENT and is_input:
        is_folder = path is not None and path.endswith(("/", os.sep))
        parts = [f"there is no such file{' or folder' if is_folder else ''}."]
    elif concerned and path and not is_input:
        parts = [f"{reason[:1].lower()}{reason[1:]}: {concerned}."]
    if path is not None and not reads_only and not (is_input and error.errno in _ABSENT):
        parts.append(FileProblem.outcome)
    if concerned != STANDARD_OUTPUT:
        parts.append(_remedy(error, reads_only=reads_only))
    return _where(path or concerned) + " ".join(filter(None, parts))


def _remedy(error: OSError, *, reads_only: bool) -> str:
    remedy = _REMEDIES.get(error.errno or 0, "")
    for proposal in _ELSEWHERE if reads_only else ():
        remedy = remedy.replace(proposal, "")
    return remedy


def _name(filename: object) -> str | None:
    return os.fsdecode(filename) if isinstance(filename, str | bytes) else None


def _is_same(concerned: str, path: str) -> bool:
    return concerned == path or os.path.realpath(concerned) == os.path.realpath(path)


def _where(path: str | None) -> str:
    return f"{path}: " if path else ""
