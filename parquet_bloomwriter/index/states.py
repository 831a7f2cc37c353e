"""The states of an index, and which of them are stable.

    CREATING -> ACTIVE      REFRESHING, OPTIMIZING -> ACTIVE     DELETING -> DELETED
    RESTORING -> ACTIVE     VACUUMING -> DOESNOTEXIST, or ACTIVE CANCELLING -> the last stable one

An action writes an entry with a state on the left, works, and writes one with the state on the
right. Queries use the last entry in a stable state; an entry in another state says that somebody is
at work, or was and died.

Source: Hyperspace, Constants.States.
"""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """The state of an index, as its log spells it."""

    CREATING = "CREATING"
    ACTIVE = "ACTIVE"
    REFRESHING = "REFRESHING"
    OPTIMIZING = "OPTIMIZING"
    DELETING = "DELETING"
    DELETED = "DELETED"
    RESTORING = "RESTORING"
    VACUUMING = "VACUUMING"
    DOES_NOT_EXIST = "DOESNOTEXIST"
    CANCELLING = "CANCELLING"


STABLE = frozenset({State.ACTIVE, State.DELETED, State.DOES_NOT_EXIST})
"""States in which nobody is at work."""
