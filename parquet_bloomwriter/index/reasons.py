"""Why an index was not used, by Hyperspace's codes where it has one.

Source: Hyperspace, FilterReasonCode.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Code(StrEnum):
    """What kept an index from being used."""

    # Hyperspace's own.
    COL_SCHEMA_MISMATCH = "COL_SCHEMA_MISMATCH"
    SOURCE_DATA_CHANGED = "SOURCE_DATA_CHANGED"
    NO_COMMON_FILES = "NO_COMMON_FILES"
    TOO_MUCH_APPENDED = "TOO_MUCH_APPENDED"
    TOO_MUCH_DELETED = "TOO_MUCH_DELETED"
    NO_FIRST_INDEXED_COL_COND = "NO_FIRST_INDEXED_COL_COND"
    MISSING_INDEXED_COL = "MISSING_INDEXED_COL"
    NOT_ELIGIBLE_JOIN = "NOT_ELIGIBLE_JOIN"
    NO_AVAIL_JOIN_INDEX_PAIR = "NO_AVAIL_JOIN_INDEX_PAIR"
    ANOTHER_INDEX_APPLIED = "ANOTHER_INDEX_APPLIED"
    # Ours.
    INDEX_NOT_ACTIVE = "INDEX_NOT_ACTIVE"
    INDEX_BROKEN = "INDEX_BROKEN"
    TABLE_FORMAT = "TABLE_FORMAT"
    DEPENDS_ON_PLACE = "DEPENDS_ON_PLACE"
    NO_USABLE_CONDITION = "NO_USABLE_CONDITION"
    NOTHING_EXCLUDED = "NOTHING_EXCLUDED"
    NO_GLOBAL_FILTER = "NO_GLOBAL_FILTER"
    KEY_TYPE_MISMATCH = "KEY_TYPE_MISMATCH"
    NOT_SELECTIVE = "NOT_SELECTIVE"
    UNSUPPORTED_RELATION = "UNSUPPORTED_RELATION"
    ADAPTOR_UNAVAILABLE = "ADAPTOR_UNAVAILABLE"
    INTERNAL_ERROR = "INTERNAL_ERROR"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One reason."""

    code: Code
    text: str
    """A sentence without its full stop: what is so, and what to do about it."""
