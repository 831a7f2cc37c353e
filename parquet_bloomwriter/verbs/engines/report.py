"""The report of `check_engine`: the engines that used the filters, and those that lost rows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from parquet_bloomwriter.text import count, listed, safe


class Use(Enum):
    """Whether an engine uses Bloom filters, and rightly."""

    USED = "uses the filters"
    """The engine answered by the filters alone; without filters, it needed data pages."""

    NOT_USED = "does not use the filters"
    """The engine read data pages, although the filters exclude the value."""

    WRONG = "is WRONG with the filters"
    """The engine counts fewer rows with the filters than without: rows are lost in its answers."""

    UNDECIDED = "undecided"
    """The engine answered without the filters, too, or could not be tried at all."""

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class LostRows:
    """A value of which an engine finds fewer rows with the filters than without."""

    column: str
    """Dotted path of the column."""

    value: object
    """The value, which is in the file."""

    count: int
    """Rows that the engine counts with the filters."""

    expected: int
    """Rows that it counts without."""

    def __str__(self) -> str:
        """Return one line."""
        value = f"{self.column} = {self.value!r}"
        return f"{value}: {self.count:,} of {count(self.expected, 'row')} found"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineCheck:
    """The result for one engine."""

    engine: str
    """Name of the engine, or the command that ran it."""

    version: str
    """Version of the engine; "" if it is not known."""

    use: Use
    """Whether the engine uses the filters."""

    reason: str
    """The reason why the use is undecided, how the engine failed, or a value of which it lost rows;
    "" if it used the filters."""

    error: str = ""
    """The last line of what the engine printed when it failed on destroyed pages; otherwise ""."""

    num_compared: int = 0
    """Number of present values that were asked for with and without filters."""

    lost: tuple[LostRows, ...] = ()
    """The present values of which rows were lost; empty unless the engine is wrong."""

    hazards: tuple[str, ...] = ()
    """Known faults of this version of the engine with columns of such types."""

    @property
    def verdict(self) -> str:
        """The use and the reason, as text that follows the engine's name."""
        if self.use is Use.UNDECIDED:
            return f": {self.use}, {self.reason}"
        return f" {self.use}" + (f": {self.reason}" if self.reason else "")

    def __str__(self) -> str:
        """Return one line."""
        return safe(f"{self.engine} {self.version}".rstrip() + self.verdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineReport:
    """The engines that used the filters of one column to find that a value is absent."""

    JSON: ClassVar = (
        *("path", "column", "value", "row_groups=num_row_groups", "present_columns"),
        "engines=checks",
    )
    path: str
    """Path of the file."""

    column: str
    """Dotted path of the column."""

    value: int | str | bytes
    """The value, which is in no row, but between minimum and maximum of row groups."""

    num_row_groups: int
    """Number of row groups that only filters exclude."""

    present_columns: tuple[str, ...]
    """Dotted paths of the columns of which present values were asked for, too."""

    checks: tuple[EngineCheck, ...]
    """The result for each engine."""

    @property
    def all_use(self) -> bool:
        """Return whether every engine used the filters, and lost no rows."""
        return all(check.use is Use.USED for check in self.checks)

    @property
    def has_wrong(self) -> bool:
        """Return whether any engine lost rows."""
        return any(check.use is Use.WRONG for check in self.checks)

    def __str__(self) -> str:
        """Return a line, and one for each engine."""
        head = f"{safe(self.path)}: {safe(self.column)} = {self.value!r} is in no row"
        return listed(head, map(str, self.checks))
