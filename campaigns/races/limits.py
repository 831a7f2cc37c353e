"""Limits of the process: sizes of files, and how many may be open.

RLIMIT_FSIZE    "file too large" at the first byte beyond it
RLIMIT_NOFILE   "too many open files" wherever that happens to be
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from campaigns.races.files import COLUMNS, check_names, sample

if TYPE_CHECKING:
    from pathlib import Path

    from campaigns.races.commands import Warm
    from campaigns.races.files import Tries

ADD = ("a.parquet", "--columns", ",".join(COLUMNS), "--jobs", "1")
IO_ERROR = 6
SIZES = 20
FEWEST_FILES, MOST_FILES = 4, 16


def tries(warm: Warm) -> Tries:
    """Sizes from nothing to just too small and just enough, and a few numbers of files."""
    sizes: Tries = {
        f"limits/size/{place}": functools.partial(_size, warm, place) for place in range(SIZES)
    }
    files = {
        f"limits/files/{number}": functools.partial(_files, warm, number)
        for number in range(FEWEST_FILES, MOST_FILES)
    }
    return sizes | files


def _size(warm: Warm, place: int, folder: Path) -> str:
    new = sample().bloomed
    steps = SIZES - 2
    most = len(new) if place > steps else (len(new) - 1) * place // steps
    (folder / "a.parquet").write_bytes(sample().plain)
    ended = warm.run(*ADD, "--quiet", folder=str(folder), limits={"RLIMIT_FSIZE": most})
    check_names(folder, "a.parquet")
    found = (folder / "a.parquet").read_bytes()
    if place > steps:
        ended.expect(0)
        assert found == new
        return "done"
    assert ended.code == IO_ERROR, f"exit code {ended.code}: {ended.err}"
    assert found == sample().plain
    if most > len(ended.err):  # where nothing can be written, nothing can be said
        ended.expect(IO_ERROR, "file too large", "The file was left unchanged.")
    return "refused"


def _files(warm: Warm, number: int, folder: Path) -> str:
    (folder / "a.parquet").write_bytes(sample().plain)
    ended = warm.run(*ADD, folder=str(folder), limits={"RLIMIT_NOFILE": number})
    check_names(folder, "a.parquet")
    found = (folder / "a.parquet").read_bytes()
    if ended.code == 0:
        assert found == sample().bloomed
        return "done"
    ended.expect(IO_ERROR, "too many open files", "The file was left unchanged.")
    assert found == sample().plain
    return "refused"
