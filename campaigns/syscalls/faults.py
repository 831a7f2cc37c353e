"""What happens at a call: the process is killed, or the call fails, once or from then on.

kill          SIGKILL as the call is entered; it is not carried out any more
ENOSPC ...    this call fails
ENOSPC+ ...   this call and all later ones of its name fail; EINTR, which is answered by calling
              again, five of them
disk full     all calls that take space fail with ENOSPC from here on
read-only     all calls that change anything fail with EROFS from here on
disk gone     all calls that a run makes fail with EIO from here on, reading too
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from campaigns.syscalls.calls import CHANGING, GROWING, OUTSIDE, Call, counted_before

if TYPE_CHECKING:
    from collections.abc import Sequence

ERRORS = ("ENOSPC", "EIO", "EDQUOT", "EACCES", "EROFS", "EPERM", "EINTR")
KILL = "kill"
_FROM_HERE_ON = {
    "disk full": ("ENOSPC", GROWING),
    "read-only": ("EROFS", CHANGING),
    "disk gone": ("EIO", None),
}
KINDS = (KILL, *ERRORS, *(f"{error}+" for error in ERRORS), *_FROM_HERE_ON)
_INTERRUPTIONS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault at one call of a run."""

    place: Call
    kind: str
    """One of `KINDS`."""

    injections: tuple[str, ...]
    """As strace has them behind `-e inject=`."""

    @property
    def is_kill(self) -> bool:
        """Whether the process dies of it."""
        return self.kind == KILL

    @property
    def names(self) -> frozenset[str]:
        """The calls that may fail."""
        return frozenset(injection.split(":")[0] for injection in self.injections)

    @property
    def hinders_imports(self) -> bool:
        """Whether Python itself could not go on reading its modules."""
        return not self.names <= CHANGING and any("+" in each for each in self.injections)

    @property
    def error(self) -> str:
        """What they fail with; "" for a kill."""
        if self.is_kill:
            return ""
        return _FROM_HERE_ON[self.kind][0] if self.kind in _FROM_HERE_ON else self.kind.strip("+")


def fault_at(
    place: Call, kind: str, calls: Sequence[Call], *, never: frozenset[str] = frozenset()
) -> Fault | None:
    """A fault at a call; None if another place stands for this one.

    Args:
        place: One of `calls`.
        kind: One of `KINDS`.
        calls: All that an undisturbed run makes.
        never: Names of calls that are left alone.
    """
    name, number = place.name, place.number
    if kind == KILL:
        return Fault(place=place, kind=kind, injections=(f"{name}:signal=SIGKILL:when={number}",))
    if kind in _FROM_HERE_ON:
        error, names = _FROM_HERE_ON[kind]
        names = (names or frozenset(call.name for call in calls) - OUTSIDE) - never
        if name not in names:
            return None
        before = counted_before(calls, place)
        injections = [f"{each}:error={error}:when={before[each] + 1}+" for each in sorted(names)]
        return Fault(place=place, kind=kind, injections=tuple(injections))
    when = str(number)
    if kind.endswith("+"):
        when = f"{number}..{number + _INTERRUPTIONS - 1}" if kind == "EINTR+" else f"{number}+"
    injection = f"{name}:error={kind.strip('+')}:when={when}"
    return Fault(place=place, kind=kind, injections=(injection,))
