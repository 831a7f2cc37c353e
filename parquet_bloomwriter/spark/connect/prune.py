"""Finds the files of a relation that its indexes exclude, and their names in Spark."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.index.layout import path_in
from parquet_bloomwriter.index.report import Code, Reason
from parquet_bloomwriter.predicate.expression import And, Comparison, IsIn, Not, Opaque, Or
from parquet_bloomwriter.predicate.to_sql import columns_of, to_text
from parquet_bloomwriter.spark.connect.file_keys import file_key
from parquet_bloomwriter.spark.plan.catalog import are_absolute, column_of, matching_indexes
from parquet_bloomwriter.spark.plan.stored_types import shows_as_stored
from parquet_bloomwriter.spark.rules.explain import Decision

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.index.query.snapshot import Snapshot
    from parquet_bloomwriter.predicate.expression import Expression
    from parquet_bloomwriter.spark.connect.safe_predicate import Columns

MAX_EXCLUDED = 100_000
"""Maximum number of files that are excluded by name; the largest are taken first. Spark takes about
1.5 s to analyze so many names."""

_MANY_LOCATIONS = 64
_PLAIN_NAME = re.compile(r"[\w .-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """The files that indexes exclude, and the decisions about the indexes."""

    keys: tuple[str, ...] = ()
    """Keys of the files to exclude, as in `file_keys`."""

    decisions: tuple[Decision, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Excluded:
    """The files that one index excludes."""

    sizes: dict[str, int]
    """Sizes of the files to leave out in bytes, by key."""

    decision: Decision


def no_exclusion(condition: str, locations: Sequence[str], reason: Reason) -> Exclusion:
    """Return an exclusion of no files, for a reason that is about no index in particular."""
    return Exclusion(decisions=(_decision(condition, locations, None, reason),))


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A condition, and the relation that it filters."""

    tree: Expression
    """The safe part of the condition, with the DataFrame's names of leaf columns."""

    columns: Columns
    """The columns of the DataFrame."""

    locations: Sequence[str]
    """Absolute paths or URLs of the folders and files that the relation reads."""

    scheme: str = "file"
    """Scheme of the files' URIs in Spark."""


def exclude(question: Question, *, homes: Iterable[str], name: str | None) -> Exclusion:
    """Return the files that indexes exclude.

    Args:
        question: The condition and the relation.
        homes: Folders of indexes that do not lie beside their tables.
        name: The only index to use; None: all.
    """
    condition, locations = to_text(question.tree), question.locations
    sizes: dict[str, int] = {}
    decisions = []
    for index, snapshot in matching_indexes(locations, homes):
        if name not in (None, index):
            continue
        if isinstance(snapshot, Reason):
            decisions.append(_decision(condition, locations, index, snapshot))
            continue
        excluded = _excluded_by(snapshot, question)
        sizes |= excluded.sizes
        decisions.append(excluded.decision)
    if not decisions:
        wanted = "no index" if name is None else f'no index "{name}"'
        text = f"{wanted} is found beside the files, nor in the folders of indexes that are known"
        return no_exclusion(condition, locations, Reason(code=Code.NO_COMMON_FILES, text=text))
    largest = sorted(sizes, key=sizes.__getitem__, reverse=True)[:MAX_EXCLUDED]
    return Exclusion(keys=tuple(largest), decisions=tuple(decisions))


def _excluded_by(snapshot: Snapshot, question: Question) -> _Excluded:
    import numpy as np

    index, condition = snapshot.entry.name, to_text(question.tree)
    locations = question.locations
    names = {one: _name_of(snapshot, one, question) for one in columns_of(question.tree)}
    asked = _renamed(question.tree, names.get)
    if not snapshot.could_exclude(asked):
        why = snapshot.problem or _no_condition(snapshot)
        return _Excluded(sizes={}, decision=_decision(condition, locations, index, why))
    present = _present(snapshot, locations)
    excluded = np.flatnonzero(present & ~snapshot.might_match(asked))
    unchanged = _unchanged(snapshot, excluded)
    sizes = _sizes_by_key(snapshot, unchanged, question.scheme)
    why = _all_changed() if len(excluded) and not len(unchanged) else _nothing_excluded()
    reason = snapshot.problem or (None if sizes else why)
    num_bytes = int(snapshot.files.sizes[present].sum())
    decision = replace(
        _decision(condition, locations, index, reason),
        num_files=int(present.sum()),
        num_kept=int(present.sum()) - len(sizes),
        num_bytes=num_bytes,
        bytes_kept=num_bytes - sum(sizes.values()),
    )
    return _Excluded(sizes=sizes, decision=decision)


def _decision(
    condition: str, locations: Sequence[str], index: str | None, reason: Reason | None
) -> Decision:
    return Decision(
        rule="PushDownBFIndexRule",
        relation=", ".join(locations),
        index=index,
        condition=condition,
        reason=reason,
    )


def _no_condition(snapshot: Snapshot) -> Reason:
    columns = ", ".join(column.name for column in snapshot.entry.columns)
    text = f"the condition compares none of {columns} with =, <=> or IN, as far as is certain"
    return Reason(code=Code.NO_USABLE_CONDITION, text=text)


def _nothing_excluded() -> Reason:
    text = "every file that the index knows might hold such rows"
    return Reason(code=Code.NOTHING_EXCLUDED, text=text)


def _all_changed() -> Reason:
    text = "the files that could be left out have changed since they were indexed; refresh it"
    return Reason(code=Code.SOURCE_DATA_CHANGED, text=text)


def _unchanged(snapshot: Snapshot, places: NDArray[Any]) -> NDArray[Any]:
    """Return which files have not changed; by the contract `immutable`, all of them."""
    if snapshot.entry.contract == "immutable":
        return places
    return places[snapshot.are_unchanged(places)]


def _sizes_by_key(snapshot: Snapshot, places: NDArray[Any], scheme: str) -> dict[str, int]:
    """Return the sizes of files in bytes, by their keys."""
    files = snapshot.files
    paths = files.paths.take(places).to_pylist()
    facts = zip(
        paths, files.sizes[places].tolist(), files.modified_ms[places].tolist(), strict=True
    )
    found = {}
    for path, size, modified_ms in facts:
        key = file_key(path_in(snapshot.root, path), size, modified_ms, scheme=scheme)
        if key is not None:
            found[key] = size
    return found


# Files of an index that are read.


def _present(snapshot: Snapshot, locations: Sequence[str]) -> NDArray[Any]:
    """Return which files the query may read, by their names alone.

    A name in an index may lead anywhere, and files that are excluded are looked at. So of names
    that lead out of the table's folder, only those count that are in the query's places. If the
    places are many, files within the table's folder all count.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    paths, root = snapshot.files.paths, snapshot.root.rstrip("/") + "/"
    is_absolute = are_absolute(snapshot)
    stays: NDArray[Any] = ~np.asarray(pc.match_substring_regex(paths, r"(^|/)\.\.(/|$)"))
    if len(locations) > _MANY_LOCATIONS or any(root.startswith(f"{x}/") for x in locations):
        is_absolute &= ~np.asarray(pc.is_in(paths, pa.array(locations, pa.string())))
        return stays & ~is_absolute
    present = np.zeros(len(paths), np.bool_)
    for location in locations:
        places = [location]
        if location.startswith(root):
            places.append(location.removeprefix(root))
        for place in places:
            present |= np.asarray(pc.starts_with(paths, f"{place}/"))
            present |= np.asarray(pc.equal(paths, place))
    return stays & present


# Names of columns in an index.


def _name_of(snapshot: Snapshot, column: str, question: Question) -> str | None:
    """Return the index's name of a column.

    Return None if the index does not have the column, or Spark does not show the stored values.
    """
    path = column.split(".")
    name = column_of(snapshot, path, case_sensitive=False)
    found = question.columns.find(column)
    if name is None or found is None or _is_in_paths(snapshot, path[0]):
        return None
    return name if shows_as_stored(snapshot, name, found[1]) else None


def _is_in_paths(snapshot: Snapshot, name: str) -> bool:
    """Return whether a folder may name a column, as in `id=42`: it hides the files' column."""
    import pyarrow.compute as pc

    pattern = f"(^|/){re.escape(name)}=" if _PLAIN_NAME.fullmatch(name) else "="
    if re.search(pattern, snapshot.root, re.IGNORECASE):
        return True
    found = pc.match_substring_regex(snapshot.files.paths, pattern, ignore_case=True)
    return bool(pc.any(found, min_count=0).as_py())


def _renamed(tree: Expression, name_of: Callable[[str], str | None]) -> Expression:
    match tree:
        case Not(operand):
            return Not(_renamed(operand, name_of))
        case And(operands):
            return And(tuple(_renamed(one, name_of) for one in operands))
        case Or(operands):
            return Or(tuple(_renamed(one, name_of) for one in operands))
        case Comparison(column) | IsIn(column):
            name = name_of(column)
            return Opaque(to_text(tree)) if name is None else replace(tree, column=name)
    return tree
