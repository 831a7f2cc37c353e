"""The report of `check_engine`: which engines used the filters of a file."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from parquet_bloomwriter.text import listed, safe


class Use(Enum):
    """Whether an engine uses Bloom filters."""

    USED = "uses the filters"
    """It answered by the filters alone: without them it needed data pages."""

    NOT_USED = "does not use the filters"
    """It read data pages although the filters exclude the value."""

    UNDECIDED = "undecided"
    """It answered without the filters, too, or it could not be asked at all."""

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineCheck:
    """What became of one engine."""

    engine: str
    """Its name, or the command by which it was asked."""

    version: str
    """"" if it did not say."""

    use: Use
    reason: str
    """Why it is not known, or how it was seen that filters are not used; "" if they are."""

    error: str = ""
    """The last line of what the engine printed when it failed on destroyed pages; else ""."""

    @property
    def verdict(self) -> str:
        """What is said of the engine, after its name."""
        if self.use is Use.UNDECIDED:
            return f": {self.use}, {self.reason}"
        return f" {self.use}" + (f": {self.reason}" if self.reason else "")

    def __str__(self) -> str:
        """Return one line."""
        return safe(f"{self.engine} {self.version}".rstrip() + self.verdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineReport:
    """Which engines used the filters of one column to find that a value is absent."""

    path: str
    column: str
    value: int | str
    """It is in no row, but between minimum and maximum of row groups."""

    num_row_groups: int
    """Row groups that only filters exclude."""

    checks: tuple[EngineCheck, ...]

    @property
    def all_use(self) -> bool:
        """Whether every engine used the filters."""
        return all(check.use is Use.USED for check in self.checks)

    def __str__(self) -> str:
        """Return a line, and one for each engine."""
        head = f"{safe(self.path)}: {safe(self.column)} = {self.value!r} is in no row"
        return listed(head, map(str, self.checks))
