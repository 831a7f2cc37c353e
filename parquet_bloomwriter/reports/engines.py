"""The report of `check_engine`: the engines that used the filters of a file."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from parquet_bloomwriter.text import listed, safe


class Use(Enum):
    """Whether an engine uses Bloom filters."""

    USED = "uses the filters"
    """The engine answered by the filters alone; without filters, it needed data pages."""

    NOT_USED = "does not use the filters"
    """The engine read data pages, although the filters exclude the value."""

    UNDECIDED = "undecided"
    """The engine answered without the filters, too, or could not be tried at all."""

    def __str__(self) -> str:
        return self.value


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
    """The reason why the use is undecided, or how the engine failed; "" if it used the filters."""

    error: str = ""
    """The last line of what the engine printed when it failed on destroyed pages; otherwise ""."""

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

    path: str
    """Path of the file."""

    column: str
    """Dotted path of the column."""

    value: int | str
    """The value, which is in no row, but between minimum and maximum of row groups."""

    num_row_groups: int
    """Number of row groups that only filters exclude."""

    checks: tuple[EngineCheck, ...]
    """The result for each engine."""

    @property
    def all_use(self) -> bool:
        """Whether every engine used the filters."""
        return all(check.use is Use.USED for check in self.checks)

    def __str__(self) -> str:
        """Return a line, and one for each engine."""
        head = f"{safe(self.path)}: {safe(self.column)} = {self.value!r} is in no row"
        return listed(head, map(str, self.checks))
