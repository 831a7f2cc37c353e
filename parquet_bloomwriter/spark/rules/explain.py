"""The decisions of the rules, and their texts: which indexes a query uses, and why not others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.text import ELLIPSIS, count, safe, size

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from parquet_bloomwriter.index.report import Reason
    from parquet_bloomwriter.spark.rules.protocol import Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A rule's decision about an index for a relation: whether it is used, and if not, why."""

    rule: Rule
    relation: str
    """Root paths of the relation of which the rule reads less, joined by ", "."""

    index: str | None
    """Name of the index; None if the decision is about no index."""

    condition: str
    """The condition, or the equality of a join, in SQL."""

    num_files: int = 0
    """Number of files of the relation before the rule; for joins, of the indexed side."""

    num_kept: int = 0
    """Number of files that are left to read."""

    num_bytes: int = 0
    bytes_kept: int = 0
    reason: Reason | None = None
    """The reason why the index was not used; None if it was used."""

    @property
    def was_used(self) -> bool:
        """Return whether the rule changed the plan."""
        return self.reason is None


_MAX_WIDTH = 60
_BAR = "=" * 64


def explanation(decisions: Sequence[Decision], *, verbose: bool = False) -> str:
    """Return a text that names the indexes used, with files and bytes before and after.

    Args:
        decisions: All decisions about one query.
        verbose: Whether to add why other indexes are not used.
    """
    used = [decision for decision in decisions if decision.was_used]
    unused = [decision for decision in decisions if not decision.was_used]
    sections = [_section("Indexes used", _used_table(used) if used else "none")]
    if verbose and unused:
        sections.append(_section("Not used", _unused_table(unused, extended=True)))
    elif unused and not used:
        sections.append(_section("Why not", _unused_table(unused, extended=False)))
    return "\n".join(sections) + "\n"


def reasons(
    decisions: Sequence[Decision], *, name: str = "", known: Iterable[str] = (), extended: bool
) -> str:
    """Return a text that says why indexes are not used for a query.

    Args:
        decisions: All decisions about one query.
        name: The only index to explain; "" for all.
        known: Names of all known indexes.
        extended: Whether to add relations and conditions, and the indexes that are used.
    """
    about = [
        decision for decision in decisions if name in ("", decision.index) or decision.index is None
    ]
    unused = [one for one in about if not one.was_used]
    parts = [_unused_table(unused, extended=extended)] if unused else []
    used = [one for one in about if one.was_used]
    if used and (extended or name):
        parts.append("Used:\n" + _used_table(used))
    if name and not any(decision.index == name for decision in decisions):
        is_known = name in set(known)
        problem = "is not about any relation of the query" if is_known else "is not known"
        parts.append(f'The index "{name}" {problem}.')
    return "\n".join(parts or [_nothing_to_say(used)]) + "\n"


def _nothing_to_say(used: Sequence[Decision]) -> str:
    if used:
        return "Every index that could be used is used."
    return "The query reads no relation with an index, or has no condition or join that one helps."


def _section(title: str, body: str) -> str:
    return f"{_BAR}\n{title}:\n{_BAR}\n{body}"


def _used_table(decisions: Sequence[Decision]) -> str:
    head = ("index", "rule", "relation", "condition", "files", "bytes")
    rows = [
        (
            decision.index or "-",
            decision.rule,
            decision.relation,
            decision.condition,
            f"{decision.num_kept:,} of {count(decision.num_files, 'file')}"
            if decision.num_files
            else "-",
            f"{size(decision.bytes_kept)} of {size(decision.num_bytes)}"
            if decision.num_files
            else "-",
        )
        for decision in decisions
    ]
    return _table(head, rows)


def _unused_table(decisions: Sequence[Decision], *, extended: bool) -> str:
    head = ["index", "rule", "code", "why"]
    rows = [
        [
            decision.index or "-",
            decision.rule,
            str(decision.reason.code) if decision.reason else "",
            _sentence(decision),
        ]
        for decision in decisions
    ]
    if extended:
        head += ["relation", "condition"]
        rows = [
            [*row, one.relation, one.condition] for row, one in zip(rows, decisions, strict=True)
        ]
    return _table(head, rows)


def _sentence(decision: Decision) -> str:
    text = decision.reason.text if decision.reason else ""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay out a table like Spark's `show`; sentences are not cut."""
    lines = [tuple(head)]
    lines += [tuple(_shortened(*pair) for pair in zip(row, head, strict=True)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    border = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    spelled = ["|".join(f" {c:<{w}} " for c, w in zip(line, widths, strict=True)) for line in lines]
    first, *others = [f"|{line}|" for line in spelled]
    return "\n".join([border, first, border, *others, border])


def _shortened(cell: str, column: str) -> str:
    """Shorten a cell: paths lose their beginning, other texts but sentences their end."""
    text = safe(" ".join(cell.split()))
    if column == "why" or len(text) <= _MAX_WIDTH:
        return text
    if column == "relation":
        return ELLIPSIS + text[1 - _MAX_WIDTH :]
    return text[: _MAX_WIDTH - 1] + ELLIPSIS
