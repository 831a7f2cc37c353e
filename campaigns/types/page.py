"""docs/compatibility.md, from what a run found."""

from __future__ import annotations

import textwrap
from importlib.metadata import version
from typing import TYPE_CHECKING

from campaigns.types.cases import CASES
from campaigns.types.engines import ENGINES
from campaigns.types.matrix import WRITERS
from campaigns.types.page_text import DELTA, HEAD, LINES, NOTES, READ, REASONS, WRITTEN
from tests.readers.releases.page import section_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from campaigns.types.judging import Judgement
    from campaigns.types.matrix import Matrix, Written

_PACKAGES = {"spark": "pyspark"}
_NAMES = {
    "pyarrow": "pyarrow",
    "duckdb": "DuckDB",
    "datafusion": "DataFusion",
    "chdb": "chdb",
    "polars": "Polars",
    "fastparquet": "fastparquet",
    "spark": "Spark",
}
_MAX_REMARK = 150
_WIDTH = 100


def page_of(found: Matrix, old: str) -> str:
    """The whole page, with the section of the old one that `tests.readers.releases` writes."""
    parts = (
        HEAD,
        _versions(),
        _extent(found),
        WRITTEN,
        _table("type", WRITERS, (_written_row(case, found.written) for case in CASES)),
        _no_filters(found.written),
        LINES,
        DELTA,
        section_of(old),
        READ,
        _table("type", ENGINES, (_read_row(case, found.judged) for case in CASES)),
        *(_about(engine, found.judged) for engine in ENGINES),
        REASONS,
        _refusals(found.written),
    )
    return "\n".join(part.strip() + "\n" for part in parts if part)


def _versions() -> str:
    names = sorted(_NAMES)
    named = (f"{_NAMES[name]} {version(_PACKAGES.get(name, name))}" for name in names)
    text = f"Tried with {', '.join(named)}; chdb is ClickHouse {version('chdb-core')}."
    return textwrap.fill(text, _WIDTH)


def _extent(found: Matrix) -> str:
    tried = sum(one.tried for one in found.judged)
    files = len({one.sample for one in found.judged})
    return (
        f"In the run that wrote this page, {tried:,} answers about {files:,} files were compared."
    )


def _table(first: str, columns: Iterable[str], rows: Iterable[tuple[str, ...]]) -> str:
    header = (first, *(_NAMES[name] for name in columns))
    lines = (header, ("---",) * len(header), *rows)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _written_row(case: str, written: list[Written]) -> tuple[str, ...]:
    found = {one.writer: one for one in written if one.case == case}
    return (case, *(_written_cell(found.get(writer)) for writer in WRITERS))


def _written_cell(one: Written | None) -> str:
    if one is None or not one.stored:
        return "-"
    return f"{one.stored} †" if one.no_filter else one.stored


def _no_filters(written: list[Written]) -> str:
    reasons = dict.fromkeys(one.no_filter for one in written if one.no_filter)
    return "\n".join(f"† {reason}.  " for reason in reasons)


def _read_row(case: str, judged: list[Judgement]) -> tuple[str, ...]:
    return (case, *(_read_cell([o for o in judged if _is(o, e, case)]) for e in ENGINES))


def _is(one: Judgement, engine: str, case: str) -> bool:
    return (one.engine, one.case) == (engine, case)


def _read_cell(judged: list[Judgement]) -> str:
    verdicts = {one.verdict for one in judged if one.verdict != "unasked"}
    if not verdicts:
        return "-"
    if any(one.changes for one in judged):
        return "‼"
    uses = any(one.uses for one in judged)
    if verdicts == {"right"}:
        return "●" if uses else "○"
    if verdicts == {"unread"}:
        return "✗"
    return "◐ ●" if uses else "◐"


def _about(engine: str, judged: list[Judgement]) -> str:
    mine = [one for one in judged if one.engine == engine]
    limits = [line for case in CASES for line in _limits(case, [o for o in mine if o.case == case])]
    return f"### {_NAMES[engine]}\n\n{NOTES[engine].strip()}\n\n" + "\n".join(limits)


def _limits(case: str, judged: list[Judgement]) -> list[str]:
    """A line for each way in which a type goes wrong, with the files where it does."""
    lines = []
    for verdict in ("unread", "wrong"):
        some = [one for one in judged if one.verdict == verdict]
        if some:
            files = "all files" if len(some) == len(judged) else _files(some)
            remark = some[0].remark[:_MAX_REMARK].replace("|", "\\|").replace("\n", " ")
            word = "fails" if verdict == "unread" else "counts wrongly"
            lines.append(f"- {case}, {files}: {word}: `{remark.replace('`', '')}`")
    return lines


def _files(judged: list[Judgement]) -> str:
    """Who wrote them, and how, if it was not plainly."""
    layouts: dict[str, list[str]] = {}
    for one in judged:
        writer, layout, _ = one.sample.split("/")
        layouts.setdefault(_NAMES[writer], []).append(layout)
    return ", ".join(
        f"{writer} ({', '.join(some)})" if some != ["plain"] else writer
        for writer, some in layouts.items()
    )


def _refusals(written: list[Written]) -> str:
    """Writers that fail, rather than not to have a type."""
    failed = (one for one in written if one.problem and one.problem != "has no such type")
    return "\n".join(
        f"- {_NAMES[one.writer]}, {one.case}: {one.problem[:_MAX_REMARK]}" for one in failed
    )
