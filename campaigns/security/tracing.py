"""What strace saw of files that were made: with which mode, who was let in when, what was written.

    python -m campaigns.security.tracing          prints every file that is not as it should be

strace shows each system call with the path of each descriptor (`-y`), so the life of a file can be
followed from its creation to its final name.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from campaigns.security.scenarios import BEGIN
from campaigns.syscalls.traced import find_strace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).resolve().parents[2]
TEMPORARY = re.compile(r"\.bloomify-([0-9a-f]{16})\.tmp$")

_CALLS = (
    "openat,open,creat,fchmod,chmod,fchmodat,fchown,fchownat,chown,lchown,fsetxattr,setxattr,"
    "rename,renameat,renameat2,link,linkat,mkdir,mkdirat,mknodat,symlink,symlinkat,"
    "write,pwrite64,writev,pwritev,copy_file_range,sendfile,ftruncate"
)
_OPEN = re.compile(r'(?:openat\([^,]+, |open\()"([^"]*)", ([A-Z_|]+)(?:, (\d+))?\)')
_BY_FD = re.compile(r"(\w+)\(\d+<([^>]*)>(?:, (\d+))?")
_COPY = re.compile(r"copy_file_range\([^,]*, [^,]*, \d+<([^>]*)>")
_BY_NAME = re.compile(r"\b(chmod|fchmodat|chown|lchown|fchownat|setxattr|symlink\w*|mknodat)\(")
_WRITES = frozenset({"write", "pwrite64", "writev", "pwritev", "copy_file_range", "sendfile"})


@dataclass(slots=True, kw_only=True)
class Made:
    """One file that was created."""

    path: str
    flags: frozenset[str]
    modes: list[int]
    """At its creation, and after each change."""

    owned: bool = False
    """Whether its owner was changed."""

    faults: list[str] = field(default_factory=list)

    @property
    def is_temporary(self) -> bool:
        """Whether its name is one of ours for temporary files."""
        return TEMPORARY.search(self.path) is not None

    def wrong(self) -> list[str]:
        """What should not be, one line each."""
        found = list(self.faults)
        if "O_EXCL" not in self.flags:
            found.append(f"was opened without O_EXCL: {sorted(self.flags)}")
        if self.is_temporary and "O_NOFOLLOW" not in self.flags:
            found.append("was opened without O_NOFOLLOW")
        wider = [mode for mode in self.modes if mode & ~(self.modes[-1] | 0o600)]
        if wider:
            found.append(f"was open to more than in the end: {[f'{m:o}' for m in self.modes]}")
        return [f"{self.path} {fault}" for fault in found]


def trace(folder: Path) -> list[str]:
    """Run the scenarios in an empty folder, and return the system calls that succeeded."""
    log = folder / "trace"
    work = folder / "work"
    work.mkdir()
    strace = [find_strace(), "-f", "-y", "-z", "-s", "0", "-o", str(log), "-e", f"trace={_CALLS}"]
    subprocess.run(
        [*strace, sys.executable, "-m", "campaigns.security.scenarios", str(work)],
        check=True,
        cwd=ROOT,
    )
    lines = log.read_text(errors="replace").splitlines()
    begin = next(number for number, line in enumerate(lines) if BEGIN in line)
    return [line for line in lines[begin + 1 :] if str(work) in line]


def files_of(lines: Iterable[str]) -> list[Made]:
    """The files that were created, in order."""
    by_path: dict[str, Made] = {}
    every: list[Made] = []
    for line in lines:
        opened = _OPEN.search(line)
        if opened is not None:
            if "O_CREAT" in opened[2]:
                flags = frozenset(opened[2].split("|"))
                made = Made(path=opened[1], flags=flags, modes=[int(opened[3] or "0", 8)])
                by_path[opened[1]] = made
                every.append(made)
        else:
            _follow(line, by_path)
    return every


def calls_by_name(lines: Iterable[str]) -> Iterator[str]:
    """Calls that change a file by its name, which may lead to another one by then."""
    return (line for line in lines if _BY_NAME.search(line))


def _follow(line: str, by_path: dict[str, Made]) -> None:
    copied, found = _COPY.search(line), _BY_FD.search(line)
    path = copied[1] if copied else found[2] if found else ""
    made = by_path.get(path)
    if made is None or found is None:
        return
    call, mode = found[1], made.modes[-1]
    if call in _WRITES and made.is_temporary and mode & ~0o600:
        made.faults.append(f"was written to with mode {mode:o}")
    elif call == "fchmod":
        made.modes.append(int(found[3], 8))
    elif call == "fchown":
        made.owned = True
        if mode & ~0o600:
            made.faults.append(f"was given away with mode {mode:o}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        for one in files_of(trace(Path(scratch))):
            sys.stdout.write("".join(f"{fault}\n" for fault in one.wrong()))
