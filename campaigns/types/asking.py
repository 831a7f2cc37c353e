"""What engines are asked about a sample: how many rows have a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from campaigns.types.samples import Sample
    from tests.readers.engines import Condition, Engine

_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """An engine with push-down, and the same without."""

    on: Engine
    off: Engine
    alternatives: int = 1
    """Absent values in one question, joined by OR: starting a scan of Spark takes long."""

    @property
    def name(self) -> str:
        """The engine's."""
        return self.on.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How many values are asked for: that are there, and that are not."""

    before: tuple[int, int]
    """Of the file without filters, with push-down."""

    after: tuple[int, int]
    """Of the file with filters, with push-down."""

    off: tuple[int, int]
    """Of both, without."""

    def scaled(self, share: float) -> Effort:
        """A share of it, at least a few."""
        before, after, off = (
            (_share(present, share, 3), _share(absent, share, 2))
            for present, absent in (self.before, self.after, self.off)
        )
        return Effort(before=before, after=after, off=off)


def _share(number: int, share: float, least: int) -> int:
    return min(number, max(least, round(number * share)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, and what is right."""

    text: str
    """The value, for people."""

    condition: Condition
    expected: int | None
    """Rows; None where engines may differ."""

    num_values: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """Of one sample, for one engine."""

    special: tuple[Question, ...]
    present: tuple[Question, ...]
    absent: tuple[Question, ...]

    def some(self, present: int, absent: int, alternatives: int) -> tuple[Question, ...]:
        """All special values, and so many others."""
        num_absent = -(-absent // alternatives)
        return (*self.special, *self.present[:present], *self.absent[:num_absent])


def questions_of(sample: Sample, pair: Pair, effort: Effort) -> Questions:
    """Compose what is asked; nothing if the engine has no words for it."""
    rows = sample.rows
    num_present = max(effort.before[0], effort.after[0], effort.off[0])
    num_absent = max(effort.before[1], effort.after[1], effort.off[1])
    special = rows.case.special if sample.layout == "edges" else ()
    counts = dict(zip(rows.present[:num_present], rows.counts, strict=False))
    return Questions(
        special=tuple(_each(pair, sample, special, None)),
        present=tuple(
            question
            for value, count in counts.items()
            for question in _each(pair, sample, (value,), count)
        ),
        absent=tuple(_absent(pair, sample, rows.absent[:num_absent])),
    )


def _each(
    pair: Pair, sample: Sample, values: tuple[object, ...], expected: int | None
) -> Iterator[Question]:
    case = sample.case
    for value in values:
        condition = pair.on.equal_to("c", case.kind, value, case.shape)
        if condition is not None:
            yield Question(text=str(value)[:_SHOWN], condition=condition, expected=expected)


def _absent(pair: Pair, sample: Sample, values: tuple[object, ...]) -> Iterator[Question]:
    each = list(_each(pair, sample, values, 0))
    if pair.alternatives == 1:
        yield from each
        return
    for start in range(0, len(each), pair.alternatives):
        some = each[start : start + pair.alternatives]
        yield Question(
            text=f"{some[0].text} or {len(some) - 1} others",
            condition=" OR ".join(str(one.condition) for one in some),
            expected=0,
            num_values=len(some),
        )
