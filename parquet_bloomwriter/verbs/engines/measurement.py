"""The report of `measure`: what an engine does for a condition, without filters and with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from parquet_bloomwriter.text import count, listed_names, safe, shorten, size

_SECOND, _MILLISECOND = 1.0, 1e-3
_MOST_COLUMNS = 200
"""Width of a condition in a sentence, columns of a terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """What one query took: the medians of some runs."""

    JSON: ClassVar = (
        *("num_rows", "row_groups_read", "num_row_groups", "bytes_read", "cpu_seconds"),
        "seconds",
    )
    num_rows: int
    """Number of rows that the engine counted."""

    row_groups_read: int | None
    """Number of row groups that the engine did not exclude; None if it does not tell."""

    num_row_groups: int | None
    """Number of all row groups; None if the engine does not tell."""

    bytes_read: int | None
    """Bytes that system calls read, from the disk or its cache; None if they are not counted: of
    Spark, of engines that map files into memory, and on other systems than Linux."""

    cpu_seconds: float
    """Processor time of all threads."""

    seconds: float
    """Time by the clock."""

    def __str__(self) -> str:
        """Return the figures that the engine told."""
        parts = [count(self.num_rows, "row")]
        if self.row_groups_read is not None:
            parts.append(
                f"{self.row_groups_read:,} of {count(self.num_row_groups or 0, 'row group')}"
            )
        if self.bytes_read is not None:
            parts.append(f"{size(self.bytes_read)} read")
        return ", ".join([*parts, f"{seconds_text(self.cpu_seconds)} of CPU"])


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineMeasurement:
    """What one engine did."""

    JSON: ClassVar = ("engine", "version", "before", "after", "problem", "sentence")
    engine: str
    """Name of the engine."""

    version: str
    """Version of the engine; "" if it is not known."""

    before: Effort | None
    """The query without filters; None if the engine failed."""

    after: Effort | None
    """The query with filters; None if the engine failed."""

    problem: str = ""
    """How the engine failed; "" if it did not."""

    sentence: str = ""
    """One sentence with the result, to be quoted; "" if the engine failed."""

    @property
    def is_wrong(self) -> bool:
        """Return whether the engine counts other rows with the filters than without."""
        if self.before is None or self.after is None:
            return False
        return self.before.num_rows != self.after.num_rows

    def __str__(self) -> str:
        """Return the sentence, or how the engine failed."""
        return self.sentence or f"{safe(self.engine)}: {safe(self.problem)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureReport:
    """What filters save a condition, and what they cost."""

    JSON: ClassVar = (
        *("path", "condition", "columns", "num_files", "num_all_files", "size_before"),
        *("size_after", "filter_bytes", "build_seconds", "copied_bytes", "repeats", "engines"),
    )
    path: str
    """Path of the file or folder."""

    condition: str
    """The condition, as it was given."""

    columns: tuple[str, ...]
    """Names of the columns with filters."""

    num_files: int
    """Number of files that were measured."""

    num_all_files: int
    """Number of files of the folder: more, if the limit of bytes was reached."""

    size_before: int
    """Bytes of the files without the filters."""

    size_after: int
    """Bytes of the files with the filters."""

    build_seconds: float
    """Seconds that it took to write copies with filters, all threads at work; 0 if all files had
    them."""

    copied_bytes: int
    """Bytes of the copies; where the file system can, they share blocks with the files."""

    repeats: int
    """Number of runs, of which medians are given."""

    engines: tuple[EngineMeasurement, ...]
    """The result for each engine."""

    @property
    def filter_bytes(self) -> int:
        """Bytes of the filters."""
        return self.size_after - self.size_before

    @property
    def has_wrong(self) -> bool:
        """Return whether any engine counts other rows with the filters than without."""
        return any(one.is_wrong for one in self.engines)

    @property
    def is_complete(self) -> bool:
        """Return whether every engine was measured."""
        return not any(one.problem for one in self.engines)

    @property
    def cost(self) -> str:
        """The cost of the filters, as a clause."""
        share = self.filter_bytes / self.size_before if self.size_before else 0
        columns = listed_names(map(safe, self.columns))
        built = f", and {seconds_text(self.build_seconds)} to add" if self.build_seconds else ""
        cost = f"{size(self.filter_bytes)} (+{share:.1%}".replace("%", " %)")
        return f"the filters of {columns} take {cost}{built}"

    def __str__(self) -> str:
        """Return the sentences of all engines."""
        return "\n".join(map(str, self.engines))


def sentence_of(  # noqa: PLR0913  all by keyword
    *, engine: str, version: str, before: Effort, after: Effort, condition: str, cost: str
) -> str:
    """Return the sentence that sums up the result of an engine."""
    name = f"{engine} {version}".rstrip()
    if before.num_rows != after.num_rows:
        found = f"{count(after.num_rows, 'row')} with filters, {before.num_rows:,} without"
        return safe(f"{name} is WRONG on {condition}: it counts {found}.")
    parts = []
    if before.row_groups_read is not None and after.row_groups_read is not None:
        now = f"{after.row_groups_read:,} of {count(after.num_row_groups or 0, 'row group')}"
        parts.append(f"{now} instead of {before.row_groups_read:,}")
    if before.bytes_read is not None and after.bytes_read is not None:
        parts.append(f"{size(after.bytes_read)} instead of {size(before.bytes_read)} read")
    cpu = f"{seconds_text(after.cpu_seconds)} of CPU instead of {seconds_text(before.cpu_seconds)}"
    shown = safe(f"{name} on {shorten(' '.join(condition.split()), _MOST_COLUMNS)}: ")
    return f"{shown}{', '.join([*parts, cpu])}; {cost}."


def seconds_text(seconds: float) -> str:
    """Return a duration, as in "1.2 s" and "3.4 ms"."""
    if seconds >= _SECOND:
        return f"{seconds:,.1f} s"
    milliseconds = seconds / _MILLISECOND
    return f"{milliseconds:.0f} ms" if milliseconds >= 10 else f"{milliseconds:.1f} ms"  # noqa: PLR2004
