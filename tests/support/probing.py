"""Ask a file for values that pyarrow finds in it, and for everything else that may be asked.

Runs in a process of its own, `python -m tests.support.probing`, as `support.workers` has it,
because pyarrow aborts on some files. A task has `path`, and `values`: whether pyarrow is to read
it. What the package under test says without pyarrow comes first; then `passes`, and what is held
against pyarrow's reading.
"""

from __future__ import annotations

import json
import resource
import sys
import warnings
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from parquet_bloomwriter.errors import BloomwriterError
from parquet_bloomwriter.predicate.expression import (
    Comparison,
    Holds,
    IsIn,
    IsNull,
    Not,
    Or,
    UnknownKind,
)
from parquet_bloomwriter.predicate.literals.python_values import plain_value
from parquet_bloomwriter.probing.evaluation import Code
from parquet_bloomwriter.verbs.bloom_file import BloomFile
from parquet_bloomwriter.verbs.probe import probe
from tests.support import compact
from tests.support.workers import tell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_bloomwriter.metadata.elements import Part
    from parquet_bloomwriter.predicate.expression import Expression, Operator
    from parquet_bloomwriter.probing.report import FileProbe

MAX_VALUES: Final = 6
"""Values of one chunk without a filter that are asked for, evenly spread."""

MAX_VALUES_WITH_FILTER: Final = 200
MAX_ROW_GROUPS: Final = 6
"""Row groups of one file that pyarrow reads."""

MAX_COLUMNS: Final = 12
_MAX_ROWS = 50_000
_MEMORY_BYTES = 3 << 30

_ANYTHING = (
    *(0, -1, 2**63, 0.1, float("nan"), "a", "", "2020-02-30", b"\xff", True),
    *(Decimal("1.10"), date(2020, 2, 29), datetime(9999, 12, 31, 23, 59)),  # noqa: DTZ001
)
_OPERATORS: tuple[Operator, ...] = ("=", "<", ">=")
_COMPARISONS: tuple[tuple[Operator, Any], ...] = (
    ("!=", pc.not_equal),
    ("<", pc.less),
    ("<=", pc.less_equal),
    (">", pc.greater),
    (">=", pc.greater_equal),
)


@dataclass(kw_only=True)
class Asked:
    """What one file said."""

    path: str
    refused: str = ""
    """The error, if the package cannot read it."""

    num_probes: int = 0
    num_lookups: int = 0
    """Values that pyarrow read and a probe was asked for."""

    num_parts: int = 0
    """As `num_lookups`, of elements of lists, and of keys and values of maps."""

    num_filters: int = 0
    """Column chunks with a filter whose values were asked for."""

    evidence: dict[str, int] = field(default_factory=dict)
    """By kind: row groups that were ruled out by it, values of other row groups being asked for."""

    reasons: list[str] = field(default_factory=list)
    """Why filters were not trusted."""

    problems: list[str] = field(default_factory=list)
    """What should not be."""


def ask_anything(path: Path, asked: Asked) -> None:
    """Ask for values of every kind in every column: whatever happens, it is a typed error."""
    try:
        with BloomFile(path) as file:
            names = file.columns
    except (BloomwriterError, OSError) as error:
        asked.refused = type(error).__name__
        return
    for name in list(dict.fromkeys(names))[:MAX_COLUMNS]:
        conditions: list[Expression] = [
            Comparison(name, operator, value) for value in _ANYTHING for operator in _OPERATORS
        ]
        conditions += [IsNull(name), Not(IsIn(name, (1, "a"))), IsIn(name, (1, 2.5, "x"))]
        found = _probe(path, Or(tuple(conditions)), asked)
        if found is not None and len(found.row_groups) != found.num_row_groups:
            asked.problems.append(f"{name}: {found.row_groups}")


def _probe(path: Path, expression: Expression, asked: Asked) -> FileProbe | None:
    asked.num_probes += 1
    try:
        (found,) = probe(path, expression).files
    except (BloomwriterError, OSError) as error:
        asked.problems.append(f"{expression}: {type(error).__name__} of a file that was read")
        return None
    assert found.findings is not None
    for finding in found.findings.atoms:
        for reason in finding.reasons.values():
            if reason not in asked.reasons:
                asked.reasons.append(reason)
    return found


def ask_for_values(path: Path, asked: Asked) -> None:
    """Ask for values that pyarrow reads: no row group that holds one may be ruled out."""
    filters = compact.filters_of(compact.footer_of(path.read_bytes()))
    for leaf, chunks in _columns(path):
        has_filter = any((row_group, leaf.ordinal) in filters for row_group in chunks)
        asked.num_filters += sum((row_group, leaf.ordinal) in filters for row_group in chunks)
        holders = _holders(chunks, MAX_VALUES_WITH_FILTER if has_filter else MAX_VALUES)
        for value, _, row_groups in holders:
            found = _probe(path, Comparison(leaf.name, "=", value), asked)
            _must_survive(found, row_groups, f"{leaf.name} = {value!r}", asked)
            asked.num_lookups += len(row_groups)
        for value, scalar, _ in holders[:: max(1, len(holders) // 3)]:
            _compare(path, leaf.name, value, scalar, chunks, asked)
        nulls = {row_group for row_group, array in chunks.items() if array.null_count}
        found = _probe(path, IsNull(leaf.name), asked)
        _must_survive(found, nulls, f"{leaf.name} IS NULL", asked)
        values = {r for r, array in chunks.items() if array.null_count < len(array)}
        found = _probe(path, Not(IsNull(leaf.name)), asked)
        _must_survive(found, values, f"{leaf.name} IS NOT NULL", asked)


def ask_for_parts(path: Path, asked: Asked) -> None:
    """Ask for elements of lists, and for keys and values of maps, that pyarrow reads."""
    with pq.ParquetFile(path) as file:
        count = min(file.num_row_groups, MAX_ROW_GROUPS)
        for field in list(file.schema_arrow)[:MAX_COLUMNS]:
            for part in _parts_of(field.type):
                chunks = {}
                for row_group in range(count):
                    array = _read(file, row_group, field.name)
                    if array is not None:
                        chunks[row_group] = _part(array, part)
                for value, _, row_groups in _holders(chunks, MAX_VALUES):
                    found = _probe(path, Holds(field.name, part, value), asked)
                    condition = f"{field.name} holds the {part} {value!r}"
                    _must_survive(found, row_groups, condition, asked)
                    asked.num_parts += len(row_groups)


def _parts_of(type_: pa.DataType) -> list[Part]:
    if pa.types.is_map(type_):
        kinds: dict[Part, pa.DataType] = {"key": type_.key_type, "value": type_.item_type}
    elif pa.types.is_list(type_) or pa.types.is_large_list(type_):
        kinds = {"element": type_.value_type}
    else:
        return []
    return [part for part, kind in kinds.items() if not pa.types.is_nested(kind)]


def _part(array: pa.Array, part: Part) -> pa.Array:
    if part == "element":
        return array.flatten()
    return array.keys if part == "key" else array.items


def _compare(  # noqa: PLR0913, PLR0917  one value of one column
    path: Path,
    name: str,
    value: Any,  # noqa: ANN401  any literal
    scalar: pa.Scalar,
    chunks: dict[int, pa.Array],
    asked: Asked,
) -> None:
    for operator, function in _COMPARISONS:
        holders = set()
        with suppress(pa.ArrowException):
            holders = {r for r, a in chunks.items() if pc.any(function(a, scalar)).as_py()}
        found = _probe(path, Comparison(name, operator, value), asked)
        _must_survive(found, holders, f"{name} {operator} {value!r}", asked)


def _must_survive(
    found: FileProbe | None, row_groups: set[int], condition: str, asked: Asked
) -> None:
    if found is None:
        return
    lost = row_groups - set(found.surviving)
    if lost:
        checks = [found.row_groups[row_group].checks for row_group in sorted(lost)]
        asked.problems.append(f"{condition}: lost {sorted(lost)} by {checks}")
    assert found.findings is not None
    for code in found.findings.atoms[0].codes.tolist():
        if code >= Code.NOT_BY_STATISTICS:
            kind = Code(code).name
            asked.evidence[kind] = asked.evidence.get(kind, 0) + 1


@dataclass(frozen=True, slots=True)
class _Leaf:
    name: str
    ordinal: int


def _columns(path: Path) -> Iterator[tuple[_Leaf, dict[int, pa.Array]]]:
    """Columns that are in no list, and their values by row group."""
    with pq.ParquetFile(path) as file:
        schema = file.schema
        names = [schema.column(i).path for i in range(len(schema.names))]
        count = min(file.num_row_groups, MAX_ROW_GROUPS)
        for ordinal, name in enumerate(names[:MAX_COLUMNS]):
            column = schema.column(ordinal)
            if names.count(name) > 1 or column.max_repetition_level:
                continue
            chunks = {}
            for row_group in range(count):
                array = _read(file, row_group, name)
                if array is not None:
                    chunks[row_group] = array
            yield _Leaf(name, ordinal), chunks


def _read(file: pq.ParquetFile, row_group: int, name: str) -> pa.Array | None:
    """A leaf's values; None if pyarrow cannot tell them."""
    if file.metadata.row_group(row_group).num_rows > _MAX_ROWS:
        return None
    try:
        table = file.read_row_group(row_group, columns=[name], use_threads=False)
    except (pa.ArrowException, OSError, ValueError, NotImplementedError, TypeError):
        return None
    if table.num_columns != 1:
        return None
    array = table.column(0).combine_chunks()
    while isinstance(array, pa.StructArray):
        if array.type.num_fields != 1:
            return None
        (array,) = array.flatten()
    if isinstance(array, pa.DictionaryArray):
        array = array.dictionary_decode()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else None
    return array


def _holders(chunks: dict[int, pa.Array], limit: int) -> list[tuple[Any, pa.Scalar, set[int]]]:
    """Literals, as pyarrow has them too, and the row groups that hold them."""
    holders: dict[str, tuple[Any, pa.Scalar, set[int]]] = {}
    for row_group, array in chunks.items():
        values = array.drop_null()
        with suppress(pa.ArrowException):
            values = values.unique()
        step = len(values) // limit + 1
        for scalar in values.take(pa.array(range(0, len(values), step), pa.int64())):
            with suppress(UnknownKind, ValueError, OverflowError):
                value = plain_value(scalar)
                if value is not None:
                    key = f"{type(value)} {value!r}"
                    holders.setdefault(key, (value, scalar, set()))[2].add(row_group)
    return list(holders.values())


def ask(path: Path, *, values: bool = True, say: bool = False) -> Asked:
    """Ask all of a file; `values` are those that pyarrow reads."""
    asked = Asked(path=str(path))
    ask_anything(path, asked)
    if say:
        tell({"passes": str(path)})
    if values and not asked.refused:
        try:
            ask_for_values(path, asked)
            ask_for_parts(path, asked)
        except (pa.ArrowException, OSError, ValueError, EOFError, KeyError) as error:
            asked.evidence.setdefault(f"unread: {type(error).__name__}", 1)
    return asked


def main() -> None:
    """Work on one task per line of the standard input."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_BYTES, _MEMORY_BYTES))
    for line in sys.stdin:
        task = json.loads(line)
        tell({"begins": task["path"]})
        tell(asdict(ask(Path(task["path"]), values=task["values"], say=True)))


if __name__ == "__main__":
    main()
