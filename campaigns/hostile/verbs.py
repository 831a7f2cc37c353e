"""Every verb on one mutated file: it succeeds, or says in one line what is wrong with the file."""

from __future__ import annotations

import re
import traceback
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import parquet_bloomwriter as pb
from tests.support.rewriting import PLACEMENTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from campaigns.hostile.bases import Base

OK = "ok"
_INTERNALS = re.compile(
    r"parquet_bloomwriter|numpy|np\.|object at 0x|NoneType|Traceback|__\w+__|\bint64\b|<class"
)


@dataclass(kw_only=True)
class Tried:
    """What the verbs made of one file."""

    outcomes: dict[str, str] = field(default_factory=dict)
    """By verb: "ok", or the name of the error."""

    reports: dict[str, Any] = field(default_factory=dict)
    """By verb, if it succeeded."""

    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """How one file is worked on; all of it follows from its number."""

    columns: list[str]
    """One or two leaves, by ordinal."""

    options: dict[str, Any]
    """Of `bloomify`."""

    condition: list[tuple[str, str, object]] | None
    """What is asked; None if no column has a plain value."""

    extra: str
    """The verb that is tried besides inspect, strip and bloomify."""


EXTRAS = ("probe", "verify", "repair", "advise", "probe", "verify of new", "repair")


def choice_of(number: int, base: Base) -> Choice:
    """Take turns: placements, options, columns and verbs go round at different paces."""
    turn = number // 2  # Even and odd numbers are of different kinds.
    first = turn % base.num_columns
    second = (turn // 5) % base.num_columns
    options: dict[str, Any] = {"placement": PLACEMENTS[turn % 3], "jobs": 1}
    if turn // 3 % 4 == 0:
        options["replace"] = True
    if turn // 12 % 8 == 0:
        options["sizing"] = "exact"
    if turn // 12 % 8 == 1:
        options["dialect"] = "murmur3"
    return Choice(
        columns=[f"#{ordinal}" for ordinal in dict.fromkeys((first, second))],
        options=options,
        condition=base.filters[turn % len(base.filters)] if base.filters else None,
        extra=EXTRAS[turn // 7 % len(EXTRAS)],
    )


def try_verbs(data: bytes, choice: Choice) -> Tried:
    """Run the verbs in memory."""
    tried = Tried()
    run(tried, "inspect", lambda: pb.inspect(data))
    run(tried, "strip", lambda: pb.strip(data))
    run(tried, "bloomify", lambda: pb.bloomify(data, choice.columns, **choice.options))
    extra = _EXTRA_VERBS.get(choice.extra)
    if extra is not None:
        run(tried, choice.extra, lambda: extra(data, choice))
    return tried


def is_written(tried: Tried) -> bool:
    """Whether `bloomify` made a new version."""
    report = tried.reports.get("bloomify")
    return report is not None and report.written


def is_foreign(choice: Choice) -> bool:
    """Whether the filters are of a draft, which the independent reader does not know."""
    return "dialect" in choice.options


def run(tried: Tried, verb: str, call: Callable[[], object]) -> None:
    """Call one verb and judge how it ends."""
    try:
        tried.reports[verb] = call()
    except pb.BloomwriterError as error:
        tried.outcomes[verb] = type(error).__name__
        tried.problems += [f"{verb}: {fault}" for fault in faults_of(error)]
    except Exception as error:  # noqa: BLE001  whatever it is, it is reported
        tried.outcomes[verb] = "uncaught"
        place = traceback.extract_tb(error.__traceback__)[-1]
        tried.problems.append(
            f"{verb}: {type(error).__name__}: {error} ({place.filename}:{place.lineno})"
        )
    else:
        tried.outcomes[verb] = OK


def faults_of(error: pb.BloomwriterError) -> list[str]:
    """What is wrong with an error: its message, or that a new version was not as planned."""
    message = str(error)
    faults = [f"the plan was wrong: {message}"] if isinstance(error, pb.VerificationFailed) else []
    if not message.isprintable():
        faults.append(f"the message is not one printable line: {message!r}")
    if _INTERNALS.search(message):
        faults.append(f"the message names internals: {message!r}")
    return faults


def _probe(data: bytes, choice: Choice) -> object:
    return pb.probe(data, choice.condition) if choice.condition else None


_EXTRA_VERBS: dict[str, Callable[[bytes, Choice], object]] = {
    "probe": _probe,
    "verify": lambda data, choice: pb.verify(data, choice.columns, absent=50, jobs=1),
    "repair": lambda data, _: pb.repair(data),
    "advise": lambda data, choice: pb.advise(data, choice.columns[:1], jobs=1),
}
