"""System calls of one thread, in order, as strace logged them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

OUTSIDE = frozenset(
    {
        "brk",
        "clone",
        "clone3",
        "exit",
        "exit_group",
        "futex",
        "getpid",
        "gettid",
        "madvise",
        "mmap",
        "mprotect",
        "mremap",
        "munmap",
        "restart_syscall",
        "rseq",
        "rt_sigaction",
        "rt_sigprocmask",
        "rt_sigreturn",
        "sched_getaffinity",
        "sched_yield",
        "set_robust_list",
        "tgkill",
        "wait4",
    }
)
"""Calls about memory, threads and signals: their number varies, and no file depends on them."""

GROWING = frozenset(
    {
        "copy_file_range",
        "fallocate",
        "fdatasync",
        "fsetxattr",
        "fsync",
        "ftruncate",
        "link",
        "linkat",
        "mkdir",
        "pwrite64",
        "pwritev2",
        "rename",
        "renameat",
        "renameat2",
        "setxattr",
        "sync_file_range",
        "write",
        "writev",
    }
)
"""Calls that need space, or may be told only then that there was none."""

CHANGING = GROWING | frozenset(
    {
        "fchmod",
        "fchown",
        "fremovexattr",
        "removexattr",
        "unlink",
        "unlinkat",
        "utimensat",
    }
)
"""Calls that change a file system, but for opening, which may only read."""

_LINE = re.compile(
    r"(?:\d+ +)?(?P<name>\w+)\((?P<text>.*?)(?:\)\s+= (?P<result>.*)| <unfinished \.\.\.>)$"
)
_PATH = re.compile(r'[<"](/[^>"]*)[>"]')
_VARIES = re.compile("(?<=bloomify-)[0-9a-f]{16}")
_WORKING_FOLDER = re.compile(r"(?<=AT_FDCWD)<[^>]*>")
_INJECTED = " (INJECTED)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call."""

    name: str
    number: int
    """1-based, among the calls of this name: what strace's `when` counts."""

    text: str
    """Its arguments; descriptors come with their paths."""

    result: str
    """What it returned, in strace's words; "?" if the thread did not live to see it."""

    @property
    def is_injected(self) -> bool:
        """Whether strace failed it."""
        return self.result.endswith(_INJECTED)

    @property
    def failed(self) -> bool:
        """Whether it returned an error, or nothing."""
        return self.result.startswith(("-1", "?"))

    @property
    def place(self) -> str:
        """How to find it again."""
        return f"{self.name}#{self.number}"

    @property
    def paths(self) -> tuple[str, ...]:
        """Absolute paths in the arguments, in order, those of descriptors too."""
        return tuple(_PATH.findall(_WORKING_FOLDER.sub("", self.text)))

    def is_like(self, other: Call) -> bool:
        """Whether this is the same call in another run."""
        paths = ([_VARIES.sub("*", path) for path in call.paths] for call in (self, other))
        return self.place == other.place and next(paths) == next(paths)


def parse(log: Iterable[str]) -> tuple[Call, ...]:
    """Read the log of one thread."""
    counts: Counter[str] = Counter()
    calls = []
    for line in log:
        found = _LINE.match(line)
        if found:
            counts[found["name"]] += 1
            number = counts[found["name"]]
            result = found["result"] or "?"
            calls.append(Call(name=found["name"], number=number, text=found["text"], result=result))
    return tuple(calls)


def places(calls: Sequence[Call], *, since: str, mentioning: Sequence[str] = ()) -> list[Call]:
    """The calls that a fault is tried at.

    Args:
        calls: All that a run makes.
        since: Text in the arguments of the first one.
        mentioning: Texts of which one must be in the arguments; none for all calls.
    """
    begun = False
    found = []
    for call in calls:
        begun = begun or since in call.text
        about = _WORKING_FOLDER.sub("", call.text)
        is_meant = not mentioning or any(text in about for text in mentioning)
        if begun and is_meant and call.name not in OUTSIDE:
            found.append(call)
    return found


def counted_before(calls: Sequence[Call], place: Call) -> Counter[str]:
    """How many calls of each name come before this one."""
    return Counter(call.name for call in calls[: calls.index(place)])
