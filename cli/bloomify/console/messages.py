"""Errors as one line: where, what, what became of the file, and what to do next.

The library's errors propose arguments of its functions; the command proposes its options instead.
Only the remedy of an error is reworded: its other parts may hold names of files and columns.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import BloomwriterError, FileProblem
from parquet_bloomwriter.text import safe

if TYPE_CHECKING:
    from collections.abc import Sequence

STANDARD_OUTPUT = "standard output"
"""The file name in errors of writing to standard output."""

DEBUG = "BLOOMIFY_DEBUG"
"""Environment variable that asks for the traceback of an unforeseen error."""

BUG_HINT = f"This is a bug; {DEBUG}=1 shows where."

_OPTIONS = (
    ("permit overwriting", "permit overwriting with --overwrite"),
    ("Permit it, and", "Permit it with --force, and"),
    ("or force it", "or insist with --force"),
    ("Have the checksum file regenerated", "Renew the checksum file with --regenerate-crc"),
    ("write to another path", "write to another path with -o"),
    ("write elsewhere", "write elsewhere with -o"),
    ("as backup_dir", "with --backup-dir"),
    (
        "for_each_file applies a verb to every file of a folder",
        "or give the folder as an INPUT",
    ),
)
"""Words in the library's remedies, and the words of the command for the same."""

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
"""Parts of remedies that do not help where nothing is written."""

_ABSENT = (errno.ENOENT, errno.ENOTDIR)


def describe(error: BaseException, *, path: str | None = None, reads_only: bool = False) -> str:
    """Compose the line for an error that a verb raised on `path`.

    Args:
        error: What was raised.
        path: The file that was worked on, if any.
        reads_only: Whether the verb changes no file, so that the message need not say that the file
            was left unchanged.
    """
    if isinstance(error, OSError):
        return _describe_os_error(error, path, reads_only=reads_only)
    if not isinstance(error, BloomwriterError):
        return _where(path) + f"{type(error).__name__}: {error}"
    head, remedy = split_remedy(error)
    if reads_only:
        head = head.removesuffix(error.outcome).rstrip()
    text = " ".join(filter(None, [head, with_options(remedy, _OPTIONS)]))
    return text if error.path is not None else _where(path) + text


def split_remedy(error: BloomwriterError) -> tuple[str, str]:
    """Return the message of an error without its remedy, and the remedy, both safe to print."""
    remedy = safe(error.remedy)
    return str(error).removesuffix(remedy).rstrip(), remedy


def with_options(remedy: str, options: Sequence[tuple[str, str]]) -> str:
    """Replace words of the library in a remedy by words of the command."""
    for proposal, option in options:
        remedy = remedy.replace(proposal, option)
    return remedy


def _describe_os_error(error: OSError, path: str | None, *, reads_only: bool) -> str:
    concerned = _name(error.filename)
    is_input = path is not None and (concerned is None or _is_same(concerned, path))
    reason = (error.strerror or str(error) or type(error).__name__).rstrip(".")
    parts = [f"{reason[:1].lower()}{reason[1:]}."]
    if error.errno in _ABSENT and is_input:
        parts = ["there is no such file."]
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
