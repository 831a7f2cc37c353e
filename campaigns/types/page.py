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
    from collections.abc import Iterable, Iterator

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
_MAX_REMARK = 80
_WIDTH = 100


def page_of(found: Matrix, old: str) -> str:
    """The whole page, with the section of the old one that `tests.readers.releases` writes."""
    parts = (
        HEAD,
        _versions(),
        _extent(found),
        WRITTEN,
        _table(("type", "stored as"), _shared(_written_row(case, found.written) for case in CASES)),
        _no_filters(found.written),
        LINES,
        DELTA,
        section_of(old),
        READ,
        _table(
            ("type", *(_NAMES[engine] for engine in ENGINES)),
            _shared(_read_row(case, found.judged) for case in CASES),
        ),
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


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = (header, ("---",) * len(header), *rows)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _written_row(case: str, written: list[Written]) -> tuple[str, ...]:
    """Return the form that most writers store without names, the others with theirs."""
    found = {one.writer: one for one in written if one.case == case}
    forms: dict[str, list[str]] = {}
    for writer in WRITERS:
        forms.setdefault(_written_cell(found.get(writer)), []).append(_NAMES[writer])
    ordered = sorted(forms.items(), key=lambda form: (form[0] == "-", -len(form[1])))
    others = (f"{form}: {', '.join(names)}" for form, names in ordered[1:])
    return (case, "; ".join((ordered[0][0], *others)))


def _shared(rows: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Give types of which all engines do the same one row."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for case, *cells in rows:
        alike.setdefault(tuple(cells), []).append(case)
    return ((", ".join(cases), *cells) for cells, cases in alike.items())


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
    limits: dict[str, list[str]] = {}
    for case in CASES:
        for how, what in _limits(case, [one for one in mine if one.case == case]):
            limits.setdefault(how, []).append(what)
    lines = "\n".join(f"- {how}: {'; '.join(some)}" for how, some in limits.items())
    return f"### {_NAMES[engine]}\n\n{NOTES[engine].strip()}\n\n{lines}"


def _limits(case: str, judged: list[Judgement]) -> Iterator[tuple[str, str]]:
    """Yield each way in which a type goes wrong, and the type with the files where it does."""
    for verdict in ("unread", "wrong"):
        some = [one for one in judged if one.verdict == verdict]
        if some:
            what = case if len(some) == len(judged) else f"{case} of {_files(some)}"
            remark = some[0].remark[:_MAX_REMARK].replace("|", "\\|").replace("\n", " ")
            fails = f"fails (`{remark.replace('`', '')}`)"
            yield fails if verdict == "unread" else "counts wrongly", what


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
    reasons: dict[tuple[str, str], list[str]] = {}
    for one in failed:
        reasons.setdefault((_NAMES[one.writer], one.problem[:_MAX_REMARK]), []).append(one.case)
    return "\n".join(
        f"- {writer}, {', '.join(cases)}: {problem}" for (writer, problem), cases in reasons.items()
    )
