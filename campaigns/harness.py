"""One harness for all parts of the torture.

    Campaign.cases     the names of what is to be tried
    Campaign.attempt   tries one of them, and judges what came of it: a `Result`, or several
    run                lets workers do that: in this process, or in processes that a try may crash
    Tally              counts results, by lines of the table
    Campaign.section   the part's section of docs/reliability.md, from its tallies
    again              tries again what a problem's line names, and shows all there is to see

What is special to a part, how a fault is made and how a result is judged, stands in its folder.
"""

from __future__ import annotations

import contextlib
import importlib
import shlex
import time
import traceback
from abc import ABC, abstractmethod
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tests.support.workers import Crash, work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

PARTS = {
    "syscalls": "campaigns.syscalls.campaign:Syscalls",
    "power": "campaigns.power.campaign:Power",
    "races": "campaigns.races.campaign:Races",
    "footers": "campaigns.hostile.footers_campaign:Footers",
    "filters": "campaigns.hostile.filters_campaign:Filters",
    "fuzzing": "campaigns.fuzzing.campaign:Fuzzing",
    "sizes": "campaigns.sizes.campaign:Sizes",
    "types": "campaigns.types.campaign:Types",
    "security": "campaigns.security.campaign:Security",
    "corpus": "campaigns.corpus:Corpus",
    "answers": "campaigns.answers:Answers",
    "queries": "campaigns.queries:Queries",
    "stores": "campaigns.stores.campaign:Stores",
    "tables": "campaigns.tables.campaign:Tables",
    "iceberg": "campaigns.tables.iceberg:Iceberg",
    "iceberg-store": "campaigns.tables.iceberg:IcebergOnStore",
    "iceberg-java": "campaigns.iceberg_java.campaign:IcebergJava",
}
"""Each is tried by a campaign, in this order."""

_PER_PROCESS = 10_000
_TOLD_EVERY_SECONDS = 10
_END = 250
"""Characters shown of each end of what a process wrote when it crashed."""


def ignore(_: str) -> None:
    """Show nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much to try, and where."""

    scratch: Path
    """An empty folder, removed afterwards."""

    share: float = 1.0
    """1.0 is the whole of it; the figures in the documentation come from 1.0."""

    seed: int = 0
    """Where random choices begin; the same seed and share try the same."""

    def some(self, whole: int) -> int:
        """Return the share of a number, at least 1."""
        return max(1, round(whole * self.share))


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What one try came to; or several of a kind, if `tried` says so."""

    name: str
    """Which one: `python -m campaigns --again PART/NAME` tries it again."""

    line: str = ""
    """Line of the table in which it is counted; by default that of the campaign for this name."""

    tried: int = 1
    seen: dict[str, int] = field(default_factory=dict)
    """What happened, in a few words each, and how often."""

    problems: tuple[str, ...] = ()
    """What should not be."""

    wrong: int | None = None
    """Tries that went wrong; by default 1 if there are problems."""

    extra: Any = None
    """What the section needs besides, as JSON has it."""


@dataclass(slots=True, kw_only=True)
class Tally:
    """The sum of the results of one line."""

    line: str
    tried: int = 0
    wrong: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    """One line each, which ends with the command that tries it again."""

    extras: list[Any] = field(default_factory=list)

    @property
    def survived(self) -> int:
        """Tries that ended as they should."""
        return self.tried - self.wrong

    @property
    def failed(self) -> str:
        """Tries that went wrong, as a cell of a table: empty if there are none."""
        return f"{self.wrong:,}" if self.wrong else ""

    @property
    def remark(self) -> str:
        """What happened, and how often."""
        return ", ".join(f"{number:,} {word}" for word, number in sorted(self.seen.items()))

    def add(self, result: Result, part: str) -> list[str]:
        """Count a result; return the lines of its problems."""
        wrong = int(bool(result.problems)) if result.wrong is None else result.wrong
        again = f"python -m campaigns --again {shlex.quote(f'{part}/{result.name}')}"
        problems = [f"{' '.join(problem.split())}; again: {again}" for problem in result.problems]
        self.tried += result.tried
        self.wrong += wrong
        self.seen.update(result.seen)
        self.problems += problems
        self.extras += [] if result.extra is None else [result.extra]
        return problems


Tallies = dict[str, Tally]
"""By line, in the order of their first results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading, an explanation, a table, and what went wrong."""

    title: str
    text: str
    """Markdown: what a try is, and what it must come to."""

    header: tuple[str, ...]
    """Names of the table's columns."""

    rows: tuple[tuple[str, ...], ...]
    tried: int
    survived: int
    problems: tuple[str, ...]


class Campaign(ABC):
    """What one part of the torture tries, and how: one for each worker, who opens and closes it."""

    part: ClassVar[str]
    """Its name in `PARTS`."""

    title: ClassVar[str]
    text: ClassVar[str]
    workers: ClassVar[int] = 1
    """At the same time."""

    is_expendable: ClassVar[bool] = False
    """Whether workers are processes of their own, because a try may crash them or hang."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with self.stack:
            self.open()
            self.stack = self.stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def open(self) -> None:  # noqa: B027  most need nothing
        """Begin what tries need; what is entered into `stack` ends with the campaign."""

    @abstractmethod
    def cases(self) -> Iterable[str]:
        """Return the names of all that is tried, by the plan."""

    @abstractmethod
    def attempt(self, name: str, show: Callable[[str], None]) -> Iterable[Result]:
        """Try one case, and judge it.

        Args:
            name: One of the cases; or what a result was named.
            show: Takes what is to be seen when the case is tried again; and a sign of life.

        Raises:
            Exception: What must not be. It is counted as a problem of this case.
        """

    def line(self, name: str) -> str:
        """Return the line in which a case is counted."""
        return name.partition("/")[0]

    def crashed(self, crash: Crash) -> Result:
        """Judge a case that took its process down."""
        how = " | ".join(crash.how.split("\n"))
        how = how if len(how) < 2 * _END else f"{how[:_END]} ... {how[-_END:]}"
        return Result(name=crash.path, problems=(how,))

    def shards(self, names: list[str], workers: int) -> list[list[str]]:
        """Divide the cases among processes; several may run after each other."""
        number = max(workers, -(-len(names) // _PER_PROCESS))
        return [shard for first in range(number) if (shard := names[first::number])]

    def section(self, tallies: Tallies) -> Section:
        """Report what was found; by default a line for each tally."""
        return self.counted({one.line: (one.line, one.remark) for one in tallies.values()}, tallies)

    def counted(self, lines: Mapping[str, tuple[str, str]], tallies: Tallies) -> Section:
        """Return a section that counts the tries of some lines: how it calls them, and a remark.

        Neighbouring lines that came to the same share a row.
        """
        cells = (
            (what, f"{tallies[line].tried:,}", tallies[line].failed, remark)
            for line, (what, remark) in lines.items()
            if line in tallies
        )
        rows = (_shared(list(alike)) for _, alike in groupby(cells, key=lambda row: row[1:]))
        return self.table(("what", "tried", "failed", "remark"), rows, tallies)

    def table(
        self, header: tuple[str, ...], rows: Iterable[tuple[str, ...]], tallies: Tallies
    ) -> Section:
        """Return a section with this table, and the tallies' problems."""
        return Section(
            title=self.title,
            text=self.text,
            header=header,
            rows=tuple(rows),
            tried=sum(one.tried for one in tallies.values()),
            survived=sum(one.survived for one in tallies.values()),
            problems=tuple(problem for one in tallies.values() for problem in one.problems),
        )


def _shared(rows: list[tuple[str, str, str, str]]) -> tuple[str, ...]:
    """Return one row for several that differ only in what was tried."""
    _, tried, failed, remark = rows[0]
    if len(rows) == 1:
        return rows[0]
    names = [row[0].rpartition(": ") for row in rows]
    if len({head for head, _, _ in names}) == 1:
        head, colon, _ = names[0]
        what = head + colon + ", ".join(name for _, _, name in names)
    else:
        what = ", ".join(row[0] for row in rows)
    return what, f"{tried} each", failed and f"{failed} each", remark


def campaign_of(part: str) -> type[Campaign]:
    """Return the campaign of a part."""
    module, _, name = PARTS[part].partition(":")
    found: type[Campaign] = getattr(importlib.import_module(module), name)
    return found


def run(
    campaign: Campaign,
    names: Iterable[str] | None = None,
    *,
    workers: int = 1,
    say: Callable[[str], None] = ignore,
) -> Tallies:
    """Try all cases of an open campaign, or those with these names, and count.

    Args:
        campaign: The first worker.
        names: Which cases.
        workers: How many at the same time.
        say: Is told each problem, and how far it has come.
    """
    chosen = list(campaign.cases() if names is None else names)
    tallies: Tallies = {}
    told = time.monotonic()
    in_turn = _in_processes if campaign.is_expendable else _in_threads
    for done, results in enumerate(in_turn(campaign, chosen, workers), start=1):
        for result in results:
            line = result.line or campaign.line(result.name)
            tally = tallies.setdefault(line, Tally(line=line))
            for problem in tally.add(result, campaign.part):
                say(f"WRONG: {line}: {problem}")
        if time.monotonic() - told > _TOLD_EVERY_SECONDS or done == len(chosen):
            told = time.monotonic()
            wrong = sum(len(one.problems) for one in tallies.values())
            say(f"{campaign.part}: {done:,} of {len(chosen):,} cases, {wrong:,} problems")
    return tallies


def torture(
    part: str, plan: Plan, say: Callable[[str], None] = ignore, *, workers: int | None = None
) -> Section:
    """Try a part, as much of it as planned."""
    with campaign_of(part)(_of_worker(plan, 0)) as campaign:
        tallies = run(campaign, workers=workers or campaign.workers, say=say)
        return campaign.section(tallies)


def again(part: str, name: str, plan: Plan, say: Callable[[str], None]) -> bool:
    """Try one case again, in this process, and show it; return whether all is well."""
    with campaign_of(part)(_of_worker(plan, 0)) as campaign:
        results = attempt(campaign, name, say)
    for result in results:
        seen = ", ".join(f"{number:,} {word}" for word, number in result.seen.items())
        say(f"{result.name}: {result.tried:,} tried; {seen}")
        for problem in result.problems:
            say(f"WRONG: {problem}")
    if not results:
        say(f"{part} has no case {name!r}")
    return bool(results) and not any(result.problems for result in results)


def attempt(campaign: Campaign, name: str, show: Callable[[str], None] = ignore) -> list[Result]:
    """Try one case; whatever is raised is a problem of it."""
    try:
        return list(campaign.attempt(name, show))
    except Exception as error:  # noqa: BLE001  whatever it is, the others are tried, too
        where = traceback.extract_tb(error.__traceback__)[-1]
        what = " ".join(str(error).split())[:600]
        place = f"{Path(where.filename).name}:{where.lineno}"
        return [Result(name=name, problems=(f"{type(error).__name__} in {place}: {what}",))]


def spread(names: Sequence[str], number: int) -> list[str]:
    """Return so many of the names, at equal distances, the first and the last among them."""
    if number >= len(names):
        return list(names)
    last = len(names) - 1
    places = {round(place * last / max(number - 1, 1)) for place in range(number)}
    return [names[place] for place in sorted(places)]


def _of_worker(plan: Plan, number: int) -> Plan:
    """Give a worker a folder: all at one depth, on which it depends which system calls are made."""
    folder = plan.scratch / f"worker-{number}"
    folder.mkdir(parents=True, exist_ok=True)
    return replace(plan, scratch=folder)


def _in_threads(campaign: Campaign, names: list[str], workers: int) -> Iterator[list[Result]]:
    if workers == 1:
        yield from (attempt(campaign, name) for name in names)
        return
    free: SimpleQueue[Campaign] = SimpleQueue()

    def with_free(name: str) -> list[Result]:
        one = free.get()
        try:
            return attempt(one, name)
        finally:
            free.put(one)

    with contextlib.ExitStack() as stack:
        free.put(campaign)
        for number in range(1, workers):
            beside = replace(campaign.plan, scratch=campaign.plan.scratch.parent)
            free.put(stack.enter_context(type(campaign)(_of_worker(beside, number))))
        yield from stack.enter_context(ThreadPoolExecutor(workers)).map(with_free, names)


def _in_processes(campaign: Campaign, names: list[str], workers: int) -> Iterator[list[Result]]:
    plan = campaign.plan
    options = (str(plan.scratch), str(plan.share), str(plan.seed))

    def in_process(shard: list[str]) -> list[list[Result]]:
        tasks = [{"path": name} for name in shard]
        answers = work("campaigns.worker", tasks, campaign.part, *options)
        return [
            [campaign.crashed(answer)]
            if isinstance(answer, Crash)
            else [Result(**result) for result in answer["results"]]
            for answer in answers
        ]

    with ThreadPoolExecutor(workers) as pool:
        for results in pool.map(in_process, campaign.shards(names, workers)):
            yield from results
