"""What an engine makes of a sample: before and after, with push-down and without.

What is wrong before, or without push-down, is the engine's own limit. What filters change is what
must not be: then filters are wrong, or the engine looks something else up than is stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from campaigns.types.asking import questions_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from campaigns.types.asking import Effort, Pair, Question, Questions
    from campaigns.types.samples import Sample, Version
    from tests.readers.engines import Answer

Verdict = Literal["right", "wrong", "unread", "unasked"]
Switch = Literal["on", "off"]
Way = tuple["Version", Switch]

_SWITCHES: tuple[Switch, Switch] = ("on", "off")
_VERSIONS: tuple[Version, Version] = ("before", "after")
_LIES = 3
"""Values that are asked of the file with lying filters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What one engine makes of one sample."""

    sample: str
    """The writer's name, the layout and the type."""

    stored: str
    """Physical and logical type."""

    engine: str
    verdict: Verdict
    """"wrong" if it is so without filters; "unread" if it fails, "unasked" if it has no words."""

    remark: str = ""
    """An example of what is wrong, or the error."""

    uses: bool = False
    """Whether it uses the filters: those that lie make it lose rows."""

    tried: int = 0
    """Values asked for, each time that they were."""

    changes: tuple[str, ...] = ()
    """What filters change."""

    @property
    def writer(self) -> str:
        """Who wrote it."""
        return self.sample.split("/")[0]

    @property
    def case(self) -> str:
        """The type."""
        return self.sample.split("/")[2]


def judge(sample: Sample, pair: Pair, effort: Effort, *, lies: bool = True) -> Judgement:
    """Ask one engine everything about one sample.

    Args:
        sample: What was written.
        pair: The engine.
        effort: How many values to ask for.
        lies: Whether to find out if the engine uses filters.
    """
    questions = questions_of(sample, pair, effort)
    if not questions.present:
        return Judgement(
            sample=sample.name, stored=sample.stored, engine=pair.name, verdict="unasked"
        )
    problem = _first_problem(sample, pair, questions.present[0])
    if problem:
        return _unread(sample, pair, questions.present[0], problem)
    seen = {
        way: dict(_answers(sample, pair, way, questions.some(*asked, pair.alternatives)))
        for way, asked in _ways(effort)
        if any(asked)
    }
    every = (*questions.special, *questions.present, *questions.absent)
    tried = sum(q.num_values for answers in seen.values() for q in every if q.text in answers)
    wrong = list(_wrong(every, seen))
    believed = list(_lies_believed(sample, pair, questions)) if lies else []
    return Judgement(
        sample=sample.name,
        stored=sample.stored,
        engine=pair.name,
        verdict="wrong" if wrong else "right",
        remark=wrong[0] if wrong else "",
        uses="on" in believed,
        tried=tried,
        changes=(*_changes(every, seen), *(_SWITCHLESS if "off" in believed else ())),
    )


_SWITCHLESS = ("filters are used although push-down is off: this run compares nothing",)


def _ways(effort: Effort) -> tuple[tuple[Way, tuple[int, int]], ...]:
    return (
        (("before", "off"), effort.off),
        (("after", "off"), effort.off),
        (("before", "on"), effort.before),
        (("after", "on"), effort.after),
    )


def _answers(
    sample: Sample, pair: Pair, way: Way, questions: tuple[Question, ...]
) -> Iterator[tuple[str, Answer]]:
    version, switch = way
    engine = pair.on if switch == "on" else pair.off
    answers = engine.counts(sample.paths[version], [one.condition for one in questions])
    for question, answer in zip(questions, answers, strict=True):
        yield question.text, answer


def _first_problem(sample: Sample, pair: Pair, question: Question) -> str:
    """Why the engine cannot answer at all; empty if it can."""
    (answer,) = pair.off.counts(sample.paths["before"], [question.condition])
    return f"{answer}: {pair.off.problem}" if isinstance(answer, str) else ""


def _unread(sample: Sample, pair: Pair, question: Question, problem: str) -> Judgement:
    """It must fail in the same way whatever it is given."""
    changes = []
    before = problem.split(":", maxsplit=1)[0]
    for engine, switch in ((pair.on, "on"), (pair.off, "off")):
        (answer,) = engine.counts(sample.paths["after"], [question.condition])
        if answer != before:
            changes.append(f"{question.text}: {before} became {answer}, push-down {switch}")
    return Judgement(
        sample=sample.name,
        stored=sample.stored,
        engine=pair.name,
        verdict="unread",
        remark=problem,
        tried=3,
        changes=tuple(changes),
    )


def _wrong(questions: tuple[Question, ...], seen: dict[Way, dict[str, Answer]]) -> Iterator[str]:
    """Wrong answers that no filter has to do with."""
    for (version, switch), answers in seen.items():
        if (version, switch) == ("after", "on"):
            continue
        for question in questions:
            answer = answers.get(question.text, question.expected)
            if question.expected is not None and answer != question.expected:
                yield f"{question.text}: {answer}, not {question.expected} (push-down {switch})"


def _changes(questions: tuple[Question, ...], seen: dict[Way, dict[str, Answer]]) -> Iterator[str]:
    """Answers that are others after than before; where none was given before, than is right."""
    for switch in _SWITCHES:
        before, after = (seen.get((version, switch), {}) for version in _VERSIONS)
        errors = {answer for answer in before.values() if isinstance(answer, str)}
        for question in questions:
            answer = after.get(question.text)
            known = before.get(question.text, question.expected)
            is_old_error = question.text not in before and answer in errors
            if answer is not None and answer != known and not is_old_error:
                yield f"{question.text}: {known} became {answer}, push-down {switch}"


def _lies_believed(sample: Sample, pair: Pair, questions: Questions) -> Iterator[str]:
    """With which switch filters that rule everything out change answers."""
    if sample.no_filter:
        return
    asked = [one.condition for one in questions.present[:_LIES]]
    for engine, switch in ((pair.on, "on"), (pair.off, "off")):
        truth = engine.counts(sample.paths["before"], asked)
        if engine.counts(sample.paths["lying"], asked) != truth:
            yield switch
