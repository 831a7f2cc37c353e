"""The answers of one release, without filters and with them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.filters.hazards import HAZARDS, Reading, Shape
from parquet_bloomwriter.verbs.engines.queries import ENGINES, ask
from tests.readers.releases.cases import PLACEMENTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parquet_bloomwriter.filters.hazards import Hazard
    from parquet_bloomwriter.rewrite.plan import Placement
    from parquet_bloomwriter.verbs.engines.queries import Reply
    from tests.readers.releases.cases import Asked

_SECONDS = 5.0
"""For one answer, on average."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one release made of all questions."""

    engine: str
    package: str
    version: str
    """Of the engine: chdb has a version of its own."""

    num_compared: int
    """Answers about files with filters that were compared."""

    num_unread: int
    """Questions that the release cannot answer without filters."""

    known: Counter[tuple[Placement, Reading]]
    """Answers that filters change, and a hazard says so."""

    hazards: frozenset[Hazard]
    """Those that say so."""

    unknown: tuple[str, ...]
    """Answers that filters change, and no hazard says so."""


def judge(
    engine: str, package: str, asked: Sequence[Asked], *, python: str | None = None
) -> Outcome:
    """Put all questions to a release, and compare its answers.

    Args:
        engine: Name of the engine.
        package: The release.
        asked: What is asked.
        python: Path of the Python that has the release; None for the running one.
    """
    questions = [version for one in asked for version in one.versions]
    replies = ask(ENGINES[engine], questions, timeout_s=_SECONDS, python=python)
    return compare(engine, package, asked, replies)


def compare(engine: str, package: str, asked: Sequence[Asked], answers: Iterable[Reply]) -> Outcome:
    """Compare the answers of a release, in the order of the questions."""
    replies = iter(answers)
    num_compared = num_unread = 0
    known: Counter[tuple[Placement, Reading]] = Counter()
    hazards: set[Hazard] = set()
    unknown = []
    version = ""
    for one in asked:
        before, *after = (next(replies) for _ in one.versions)
        version = before.version
        if before.has_failed:
            num_unread += 1
            continue
        num_compared += len(after)
        for placement, reply in zip(PLACEMENTS, after, strict=True):
            if reply.count == before.count:
                continue
            why = [h for h in HAZARDS if _covers(h, engine, version, one, placement)]
            hazards.update(why)
            if why:
                known[placement, one.reading] += 1
            else:
                unknown.append(_line(one, placement, before, reply))
    return Outcome(
        engine=engine,
        package=package,
        version=version,
        num_compared=num_compared,
        num_unread=num_unread,
        known=known,
        hazards=frozenset(hazards),
        unknown=tuple(unknown),
    )


def _covers(hazard: Hazard, engine: str, version: str, one: Asked, placement: Placement) -> bool:
    return (
        hazard.engine.lower() == engine
        and hazard.concerns(version)
        and hazard.is_of(one.leaf)
        and hazard.reading in (Reading.OWN, one.reading)
        and (hazard.shape is Shape.ANY or placement != "column-chunk")
    )


def _line(one: Asked, placement: Placement, before: Reply, after: Reply) -> str:
    question = one.versions[0]
    values = ", ".join(map(repr, question.values))
    reading = f", read as {one.wider}" if one.wider else f", read by {one.reading.value}"
    found = after.problem if after.has_failed else after.count
    return (
        f"{one.type}, {one.layout}, {placement}{reading}: {question.form} ({values}): "
        f"{before.count} became {found}"
    )
