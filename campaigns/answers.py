"""Random predicates on random tables of several writers: what every reading verb returns.

A case is a seed, which makes a table: types, nulls, NaN, times outside a day, names that are
patterns; writer, options, filters; one file, or hive folders whose files lack columns; a minimum
above the maximum. Its predicates come as SQL, lists and pyarrow expressions. The oracle evaluates
them in plain Python, row by row, on the values that pyarrow reads without any filter. DuckDB reads
the same SQL, where it means the same: no file is left out that it finds rows in.

Literals with a type (`CAST(0.1 AS FLOAT)`, `TIMESTAMP '...+02:00'`) come in SQL only, and DuckDB is
their oracle. By an error of the library, verbs may refuse these, thousands of alternatives, texts
that are not UTF-8, and files that were rewritten meanwhile; they may not return other rows.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
import shutil
import struct
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from operator import eq, ge, gt, le, lt, ne, or_
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import fastparquet
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from campaigns.harness import Campaign, Result
from parquet_bloomwriter import bloomify, dataset, iter_batches, probe, read_table, scan_polars
from parquet_bloomwriter.errors import BloomwriterError, FileChanged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from parquet_bloomwriter.predicate import Filters

SEEDS = 4_000
PREDICATES = 12
"""Of a table; each is asked of two verbs, in two notations."""

ROWS = 40
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": eq,
    "!=": ne,
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
}
_FLOATS = [0.0, -0.0, math.nan, math.inf, -math.inf, 1.5, -2.25, 0.1, 1e10, 2.0**53]
_FLOATS += [float(np.float32(0.1)), float(np.float32(0.7))]
_PRICES = [Decimal(one) for one in ("0.00", "0.70", "-0.70", "2.50", "99.99", "1.00")]
_TIMES = [time(0), time(1), time(12, 30), time(23, 59, 59)]
_MOMENTS = [datetime(1969, 12, 31, 23), datetime(1970, 1, 1), datetime(2024, 2, 29, 12, 0, 1)]  # noqa: DTZ001
_TEXTS = ["", "a", "b", "ab", "é", "Z", "1", "01", "null", "__filename", "it's"]

_FAR = [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59)]  # noqa: DTZ001
_NOT_UTF8 = "\udcff"
_MANY = (102, 12_000)
"""Alternatives of one condition."""

_DISPUTED = (
    "9007199254740993",
    "01+02:00'",
    "0000009",
    "00.0000005'",
    "00.000000499'",
    "01.000000001'",
)
"""Parts of literals that engines round, cut or ignore: no row group is left out in which DuckDB
finds rows, but those of `read_table` may be others."""

_NUMBERS = ["0", "1", "-1", "0.1", "0.7", "-2.25", "2.50", "9007199254740993", "1e10", "7e-1"]
_NUMBERS += [
    "9007199254740993.00",
    "0.1000000000000000055",
    "0.70000000000000001",
    "99.990000000000001",
]
_TYPED: dict[str, list[str]] = {
    "numbers": [
        *_NUMBERS,
        *(f"CAST({one} AS {type_})" for one in _NUMBERS for type_ in ("FLOAT", "DOUBLE")),
        *(
            f"CAST({one} AS DECIMAL({digits}))"
            for one in _NUMBERS[:8]
            for digits in ("18,3", "38,2")
        ),
        *(f"CAST({one} AS {type_})" for one in _NUMBERS[:3] for type_ in ("BIGINT", "SMALLINT")),
    ],
    "times": [f"TIME '12:30{rest}'" for rest in ("", ":00.000000499", ":00.0000005", ":00.999")],
    "dates": [
        *(f"TIMESTAMP '2024-02-29{rest}'" for rest in ("", " 00:00:00", " 00:00:00.000001")),
        *("'2024-02-29'", "CAST('1970-01-01' AS DATE)", "DATE '9999-12-31'", "DATE '0001-01-01'"),
    ],
    "timestamps": [
        *(
            f"TIMESTAMP '2024-02-29 12:00:01{rest}'"
            for rest in (".000000001", ".0000009", "+02:00")
        ),
        *(
            f"TIMESTAMPTZ '2024-02-29 14:00:01{rest}'"
            for rest in ("+02:00", "+02", ".0000009+02:00")
        ),
        *("DATE '1970-01-01'", "'1970-01-01 00:00:00'", "CAST('1970-01-01' AS TIMESTAMP)"),
        *("TIMESTAMP '9999-12-31 23:59:59'", "TIMESTAMP '0001-01-01 00:00:00'"),
    ],
    "texts": ["CAST(1 AS VARCHAR)", "CAST('a' AS VARCHAR)", "CAST('' AS TEXT)"],
}
"""Literals that only SQL has, by the kind of the column."""

POOLS: dict[pa.DataType, list[Any]] = {
    pa.int8(): [-128, 0, 1, 127],
    pa.int32(): [-(2**31), -1, 0, 1, 2**31 - 1],
    pa.int64(): [-(2**63), 0, 1, 2**53, 2**53 + 1, 2**63 - 1],
    pa.uint8(): [0, 1, 200, 255],
    pa.uint64(): [0, 1, 2**63, 2**64 - 1],
    pa.bool_(): [True, False],
    **dict.fromkeys((pa.float32(), pa.float64()), _FLOATS),
    **dict.fromkeys(
        (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())), _TEXTS
    ),
    pa.binary(): [b"", b"\x00", b"a", b"\xff\xff", b"ab"],
    pa.binary(3): [b"abc", b"\x00\x00\x00", b"\xff\xff\xff"],
    **dict.fromkeys((pa.decimal32(7, 2), pa.decimal64(15, 2), pa.decimal128(30, 2)), _PRICES),
    pa.date32(): [date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29)],
    **dict.fromkeys((pa.time32("ms"), pa.time64("us")), _TIMES),
    **dict.fromkeys((pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns")), _MOMENTS),
    pa.timestamp("us", "UTC"): [one.replace(tzinfo=UTC) for one in _MOMENTS],
}
_NAMES = ("a", "b", "c d", "^id$", "k2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table on disk, and its rows."""

    path: Path
    columns: dict[str, pa.DataType]
    rows: list[dict[str, Any]]
    """Values in Python; times as integers, because they may lie outside a day."""

    files: dict[str, list[range]]
    """By path: the rows of each row group, by their numbers."""

    stored: pa.Table
    """The rows, without any pruning."""

    writer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A condition on a column, or several, joined."""

    operator: str
    """Of SQL; or AND, OR, NOT."""

    column: str = ""
    values: tuple[Any, ...] = ()
    parts: tuple[Condition, ...] = ()
    cast: str = ""
    """Type that SQL casts the column to."""

    @property
    def leaves(self) -> Iterator[Condition]:
        """The conditions on columns."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves

    @property
    def is_typed(self) -> bool:
        """Whether only SQL has it."""
        return any(one.cast or any(isinstance(v, Typed) for v in one.values) for one in self.leaves)

    @property
    def may_be_refused(self) -> bool:
        """Whether an error is an answer, too."""
        leaves = list(self.leaves)
        is_odd = any(_NOT_UTF8 in one.values for one in leaves)
        return self.is_typed or is_odd or len(leaves) > max(_MANY) // 10


@dataclass(frozen=True, slots=True)
class Typed:
    """A literal that only SQL has."""

    sql: str


class Answers(Campaign):
    """Tables with predicates, by the writer of the table."""

    part = "answers"
    title = "What the reading verbs return"
    text = """
A try asks one of the reading verbs for the rows of a random predicate in random files with filters.
The rows must be those that plain Python selects; `probe` must keep their row groups, and those in
which DuckDB finds rows.
"""

    def cases(self) -> Iterable[str]:
        """Return seeds."""
        return map(str, range(self.plan.seed, self.plan.seed + self.plan.some(SEEDS)))

    def attempt(self, name: str, show: Callable[[str], None]) -> Iterator[Result]:
        """Make a table, and ask for its rows."""
        chance = random.Random(int(name))  # noqa: S311  reproducible, and not secret
        folder = self.plan.scratch / name
        try:
            table = _table(chance, folder)
            show(f"{table.writer}: {table.columns}")
            problems, tried = [], 0
            for _ in range(PREDICATES):
                tree = _condition(chance, table)
                for notation in chance.sample((_sql, _lists, _expression), 2):
                    filters = notation(tree, table)
                    if filters is None:
                        continue
                    if tree.is_typed:
                        rows = _rows_of_duckdb(table, filters)
                    else:
                        rows = [
                            row["row"] for row in table.rows if _holds(tree, row, table, notation)
                        ]
                    if rows is None:
                        continue
                    shown = str(filters)[:300]
                    show(f"{shown}: {rows}")
                    is_disputed = tree.is_typed and any(one in str(filters) for one in _DISPUTED)
                    for verb in (probes,) if is_disputed else chance.sample(VERBS, 2):
                        tried += 1
                        problems += [
                            f"{verb.__name__} by {table.writer}: {shown}: {one}"
                            for one in _answers(verb, table, filters, tree, rows, chance)
                        ]
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        yield Result(
            name=name, line=table.writer, tried=tried, wrong=len(problems), problems=tuple(problems)
        )


# Tables.


def _table(chance: random.Random, folder: Path) -> Table:
    folder.mkdir(parents=True)
    kinds = chance.sample(list(POOLS), chance.randint(1, 3))
    columns = dict(zip(chance.sample(_NAMES, len(kinds)), kinds, strict=True))
    whole = {"row": pa.array(range(ROWS), pa.int64())}
    whole |= {name: _array(chance, type_) for name, type_ in columns.items()}
    writer = chance.choice(list(WRITERS))
    keys = sorted(chance.sample(["1", "2", "01", "a", "null"], chance.choice([0, 0, 2, 3])))
    if keys and writer == "fastparquet":  # it writes integers with nulls as floats
        writer = "pyarrow"
    columns |= {"k": pa.string()} if keys else {}
    parts, size = keys or [""], ROWS // max(len(keys), 1)
    rows: list[dict[str, Any]] = []
    files: dict[str, list[range]] = {}
    tables: list[pa.Table] = []
    for place, key in enumerate(parts):
        part = pa.table(whole).slice(place * size, size)
        if place:  # the first file makes the schema of the table
            part = part.drop([name for name in whole if name != "row" and not chance.randrange(3)])
        path = folder / f"k={key}" / "x.parquet" if keys else folder / "x.parquet"
        path.parent.mkdir(exist_ok=True)
        try:
            WRITERS[writer](chance, part, path)
        except Exception:  # noqa: BLE001  a type, or a name, that the writer does not know
            WRITERS["pyarrow"](chance, part, path)
            writer = (
                f"{writer} or pyarrow" if " or " not in writer and writer != "pyarrow" else writer
            )
        _finish(chance, path, part)
        stored = _plain(pq.ParquetFile(path).read())
        absent = dict.fromkeys(columns)
        rows += [{**absent, **row, **({"k": key} if keys else {})} for row in stored]
        kept = _decoded(pq.ParquetFile(path).read())
        tables.append(kept.append_column("k", pa.array([key] * len(kept))) if keys else kept)
        files[str(path)] = list(_row_groups(path, place * size))
    if keys:
        types = {name: type_ for name, type_ in columns.items() if name != "k"}
        schema = read_table(folder).schema
        is_text = not pa.types.is_integer(schema.field("k").type) and not (
            pa.types.is_dictionary(schema.field("k").type)
            and pa.types.is_integer(schema.field("k").type.value_type)
        )
        columns = types | ({"k": pa.string()} if is_text else {})
    path = folder if keys else folder / "x.parquet"
    return Table(
        path=path,
        columns=_stored(path, columns),
        rows=rows,
        files=files,
        stored=pa.concat_tables(tables, promote_options="permissive"),
        writer=writer,
    )


def _decoded(table: pa.Table) -> pa.Table:
    """Return a table whose dictionaries are plain columns."""
    plain = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(plain))


def _stored(path: Path, columns: dict[str, pa.DataType]) -> dict[str, pa.DataType]:
    """Return the types that columns have in the file: writers change them."""
    schema = read_table(path).schema
    return {
        name: type_ if name == "k" else schema.field(name).type for name, type_ in columns.items()
    }


def _array(chance: random.Random, type_: pa.DataType) -> pa.Array:
    pool = chance.sample(POOLS[type_], chance.randint(1, len(POOLS[type_])))
    values: list[Any] = []
    while len(values) < ROWS:
        values += [chance.choice(pool)] * chance.randint(1, 9)
    nulls = chance.choice([0, 0.2, 1])
    values = [None if chance.random() < nulls else one for one in values[:ROWS]]
    if pa.types.is_dictionary(type_):
        return pa.array(values, type_.value_type).dictionary_encode()
    array = pa.array(values, type_)
    if pa.types.is_time(type_) and not chance.randrange(3):
        numbers = array.view(_integer_of(type_))
        factor = pa.scalar(-1 if chance.randrange(2) else 3, numbers.type)
        return pc.multiply(numbers, factor).view(type_)
    return array


def _integer_of(type_: pa.DataType) -> pa.DataType:
    return pa.int32() if type_.bit_width == 32 else pa.int64()


def _plain(table: pa.Table) -> list[dict[str, Any]]:
    for place, field in enumerate(table.schema):
        if pa.types.is_time(field.type):
            numbers = table.column(place).combine_chunks().view(_integer_of(field.type))
            table = table.set_column(place, field.name, numbers)
    found: list[dict[str, Any]] = table.to_pylist()
    return found


def _row_groups(path: Path, first: int) -> Iterator[range]:
    metadata = pq.read_metadata(path)
    for place in range(metadata.num_row_groups):
        size = metadata.row_group(place).num_rows
        yield range(first, first + size)
        first += size


def _by_pyarrow(chance: random.Random, table: pa.Table, path: Path) -> None:
    pq.write_table(
        table,
        path,
        row_group_size=chance.choice([3, 7, 40]),
        use_dictionary=chance.random() < 0.5,
        data_page_version=chance.choice(["1.0", "2.0"]),
        write_statistics=chance.random() < 0.8,
        store_schema=chance.random() < 0.5,
        store_decimal_as_integer=chance.random() < 0.5,
    )


def _by_duckdb(chance: random.Random, table: pa.Table, path: Path) -> None:
    connection = duckdb.connect()
    connection.register("rows_to_write", table)
    size = chance.choice([3, 7, 40])
    connection.execute(f"COPY rows_to_write TO '{path}' (ROW_GROUP_SIZE {size})")


def _by_polars(chance: random.Random, table: pa.Table, path: Path) -> None:
    for field in table.schema:
        if pa.types.is_time(field.type) or pa.types.is_decimal(field.type):
            raise TypeError(field.name)
    pl.DataFrame(table).write_parquet(path, row_group_size=chance.choice([3, 7, 40]))


def _by_fastparquet(chance: random.Random, table: pa.Table, path: Path) -> None:
    for field in table.schema:
        if pa.types.is_time(field.type) or pa.types.is_decimal(field.type):
            raise TypeError(field.name)
    step = chance.choice([3, 7, 40])
    fastparquet.write(
        str(path), table.to_pandas(), row_group_offsets=list(range(0, table.num_rows, step))
    )


WRITERS: dict[str, Callable[[random.Random, pa.Table, Path], None]] = {
    "pyarrow": _by_pyarrow,
    "DuckDB": _by_duckdb,
    "Polars": _by_polars,
    "fastparquet": _by_fastparquet,
}


def _finish(chance: random.Random, path: Path, table: pa.Table) -> None:
    """Add filters to some columns; swap the minimum and the maximum of integers at times."""
    kinds = (pa.types.is_boolean,)
    chosen = [
        field.name
        for field in table.schema
        if chance.randrange(2) and not any(check(field.type) for check in kinds)
    ]
    if chosen:
        bloomify(path, chosen, fpp=chance.choice([0.3, 0.01]), jobs=1)
    if not chance.randrange(4):
        data = path.read_bytes()
        start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
        footer = data[start:]
        for name in table.column_names[1:]:
            if pa.types.is_int64(table.schema.field(name).type) and table[name].null_count < ROWS:
                footer = _swapped(footer, table[name].to_pylist())
        swapped = data[:start] + footer
        if _are_swapped(data, swapped):
            path.write_bytes(swapped)


def _are_swapped(before: bytes, after: bytes) -> bool:
    """Whether each pair of bounds that was changed has a minimum above its maximum now."""
    return all(
        new == old or new[0] > new[1]
        for old, new in zip(_integer_bounds(before), _integer_bounds(after), strict=True)
    )


def _integer_bounds(data: bytes) -> list[tuple[int, int]]:
    metadata = pq.read_metadata(pa.BufferReader(data))
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    chunks = (group.column(place) for group in groups for place in range(group.num_columns))
    known = (chunk.statistics for chunk in chunks if chunk.physical_type == "INT64")
    return [(one.min, one.max) for one in known if one and one.has_min_max]


def _swapped(footer: bytes, values: Sequence[int | None]) -> bytes:
    known = sorted({one for one in values if one is not None and abs(one) > 2**52})
    if len(known) < 2:
        return footer
    low, high = (struct.pack("<q", one) for one in (known[0], known[-1]))
    return footer.replace(low, b"swapping").replace(high, low).replace(b"swapping", high)


# Conditions.


def _condition(chance: random.Random, table: Table, depth: int = 2) -> Condition:
    if depth and not chance.randrange(3):
        operator = chance.choice(["AND", "OR", "NOT"])
        number = 1 if operator == "NOT" else 2
        parts = tuple(_condition(chance, table, depth - 1) for _ in range(number))
        return Condition(operator=operator, parts=parts)
    column = chance.choice(list(table.columns))
    kind = chance.random()
    if kind < 0.15:
        typed = _typed(chance, table, column)
        if typed is not None:
            return typed
    pool = _literals(table, column)
    if kind > 0.998:
        number = chance.choice(_MANY)
        others = range(number // 2) if pa.types.is_integer(table.columns[column]) else ()
        alternatives = itertools.islice(itertools.cycle([*pool, *others]), number)
        return Condition(
            operator="OR",
            parts=tuple(
                Condition(operator="=", column=column, values=(one,)) for one in alternatives
            ),
        )
    operator = chance.choice([*_COMPARE, *_COMPARE, "IN", "NOT IN", "IS NULL", "IS NOT NULL"])
    number = chance.randint(1, 4) if operator.endswith("IN") else 1
    values = tuple(chance.choices(pool, k=number))
    return Condition(operator=operator, column=column, values=values)


def _literals(table: Table, column: str) -> list[Any]:
    """Return literals of a column: its values, and others of the type."""
    type_ = table.columns[column]
    type_ = type_.value_type if pa.types.is_dictionary(type_) else type_
    stored = {str(row[column]): row[column] for row in table.rows if row[column] is not None}
    others = next((pool for one, pool in POOLS.items() if one == type_), [])
    if pa.types.is_time(type_):
        others = pa.array(_TIMES, type_).view(_integer_of(type_)).to_pylist()
    if pa.types.is_decimal(type_):
        others = [*others, 0.7, -0.7, 2.5]
    if pa.types.is_date(type_):
        others = [*others, *(one.date() for one in _FAR)]
    if pa.types.is_timestamp(type_):
        others = [*others, *(one.replace(tzinfo=UTC if type_.tz else None) for one in _FAR)]
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        others = [*others, _NOT_UTF8]
    return [*stored.values(), *others] or [None]


def _typed(chance: random.Random, table: Table, column: str) -> Condition | None:
    """Return a condition with literals that only SQL has; None where there are none."""
    type_ = table.columns[column]
    is_number = (
        pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_)
    )
    checks = {
        "numbers": is_number,
        "times": pa.types.is_time(type_),
        "dates": pa.types.is_date(type_),
        "timestamps": pa.types.is_timestamp(type_),
        "texts": pa.types.is_string(type_),
    }
    kind = next((one for one, applies in checks.items() if applies), None)
    if kind is None:
        return None
    operator = chance.choice([*_COMPARE, "=", "=", "IN"])
    values = chance.choices(_TYPED[kind], k=2 if operator == "IN" else 1)
    return Condition(
        operator=operator,
        column=column,
        values=tuple(map(Typed, values)),
        cast=chance.choice(["", "", "DOUBLE", "BIGINT"]) if kind == "numbers" else "",
    )


def _holds(node: Condition, row: dict[str, Any], table: Table, notation: Any) -> bool | None:  # noqa: ANN401, PLR0911
    """Evaluate a condition by SQL's logic; None is neither true nor false."""
    if node.operator == "NOT":
        found = _holds(node.parts[0], row, table, notation)
        return None if found is None else not found
    if node.parts:
        each = [_holds(one, row, table, notation) for one in node.parts]
        decisive = node.operator == "OR"
        if decisive in each:
            return decisive
        return None if None in each else not decisive
    value = row[node.column]
    if node.operator.startswith("IS"):
        return (value is None) is (node.operator == "IS NULL")
    if node.operator.endswith("IN"):
        if value is None:
            # pyarrow's lists and expressions: a null is in no list without None
            return None if notation is _sql else node.operator == "NOT IN"
        same = any(
            _is_member(value, one, table.columns[node.column], notation) for one in node.values
        )
        return same is (node.operator == "IN")
    if value is None:
        return None
    value, literal = _alike(value, node.values[0], table.columns[node.column], notation)
    return _COMPARE[node.operator](value, literal)


def _is_member(value: Any, literal: Any, type_: pa.DataType, notation: Any) -> bool:  # noqa: ANN401
    value, literal = _alike(value, literal, type_, notation, rounds=True)
    if notation is not _sql and isinstance(value, float):
        is_same = struct.pack("d", value) == struct.pack("d", literal)
        return is_same or (math.isnan(value) and math.isnan(literal))
    return bool(value == literal)


def _alike(
    value: Any,  # noqa: ANN401
    literal: Any,  # noqa: ANN401
    type_: pa.DataType,
    notation: Any,  # noqa: ANN401
    *,
    rounds: bool = False,
) -> tuple[Any, Any]:
    """Return both sides as SQL compares them: floats as DOUBLE, decimals rounded to FLOAT."""
    if isinstance(value, Decimal) and isinstance(literal, float) and notation is not _sql:
        return float(value), literal
    if isinstance(value, Decimal) and isinstance(literal, float):
        return value, Decimal(str(literal))
    is_decimal = notation is _sql and isinstance(literal, float) and "e" not in str(literal)
    rounds |= is_decimal or notation is _expression  # which has literals of the column's type
    if pa.types.is_float32(type_) and rounds and math.isfinite(literal):
        return value, float(np.float32(literal))
    return value, literal


# Notations.


def _sql(node: Condition, table: Table) -> str | None:  # noqa: PLR0911
    """Spell a condition in SQL; None where a literal cannot be spelled."""
    if len(node.parts) > min(_MANY):  # sqlglot parses thousands for seconds
        return None
    if node.parts:
        parts = [_sql(one, table) for one in node.parts]
        if None in parts:
            return None
        if node.operator == "NOT":
            return f"NOT ({parts[0]})"
        return f" {node.operator} ".join(f"({one})" for one in parts)
    name = '"' + node.column + '"'
    if node.cast:
        name = f"CAST({name} AS {node.cast})"
    if node.operator.startswith("IS"):
        return f"{name} {node.operator}"
    spelled = [_spelled(one, table.columns[node.column]) for one in node.values]
    if any(one is None for one in spelled):
        return None
    if node.operator.endswith("IN"):
        return f"{name} {node.operator} ({', '.join(map(str, spelled))})"
    return f"{name} {node.operator} {spelled[0]}"


def _spelled(value: Any, type_: pa.DataType) -> str | None:  # noqa: ANN401, PLR0911
    if isinstance(value, Typed):
        return value.sql
    if value is None or value == _NOT_UTF8:
        return None
    if pa.types.is_time(type_):
        unit = 1_000 if pa.types.is_time32(type_) else 1_000_000
        if not 0 <= value < 86_400 * unit:
            return None
        seconds, rest = divmod(value, unit)
        fraction = f".{rest:0{len(str(unit)) - 1}}"
        return f"TIME '{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{fraction}'"
    if isinstance(value, bool | int | Decimal):
        return str(value)
    if isinstance(value, float):
        return str(value) if math.isfinite(value) else None
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, datetime):
        return f"{'TIMESTAMP' if value.tzinfo is None else 'TIMESTAMPTZ'} '{value}'"
    return f"DATE '{value}'"


def _lists(node: Condition, table: Table) -> list[Any] | None:
    """Write a condition as pyarrow's lists, which have no NOT and no test for null."""
    if node.operator == "OR" and all(not one.parts for one in node.parts):
        parts = [_lists(one, table) for one in node.parts]
        return None if None in parts else parts
    if node.operator == "AND" and all(not one.parts for one in node.parts):
        parts = [_lists(one, table) for one in node.parts]
        return None if None in parts else [one for part in parts for one in part or ()]
    if node.parts or node.operator.startswith("IS") or None in node.values or node.is_typed:
        return None
    if _NOT_UTF8 in node.values and node.operator.startswith(("<", ">")):
        return None
    values = [_scalar(one, table.columns[node.column]) for one in node.values]
    if node.operator.endswith("IN"):
        return [(node.column, node.operator.lower(), values)]
    return [(node.column, node.operator, values[0])]


def _scalar(value: Any, type_: pa.DataType) -> Any:  # noqa: ANN401
    if pa.types.is_time(type_):
        return pa.scalar(value, _integer_of(type_)).cast(type_)
    return value


def _expression(node: Condition, table: Table) -> Any:  # noqa: ANN401, PLR0911
    """Write a condition as an expression of pyarrow; NOT of a list of values is left out."""
    if node.parts:
        parts = [_expression(one, table) for one in node.parts]
        if any(one is None for one in parts):
            return None
        if node.operator == "NOT":
            inner = node.parts[0]
            return None if inner.parts or inner.operator.endswith("IN") else ~parts[0]
        if any(one.operator == "NOT" for one in node.parts):
            return None
        return parts[0] & parts[1] if node.operator == "AND" else functools.reduce(or_, parts)
    field, type_ = pc.field(node.column), table.columns[node.column]
    if node.operator.startswith("IS"):
        return field.is_null() if node.operator == "IS NULL" else field.is_valid()
    plain = type_.value_type if pa.types.is_dictionary(type_) else type_
    if None in node.values or _NOT_UTF8 in node.values or pa.types.is_decimal(plain):
        return None
    if node.is_typed:
        return None
    try:
        values = [pa.scalar(_scalar(one, type_), plain) for one in node.values]
    except pa.ArrowInvalid:  # out of the bounds of nanoseconds
        return None
    if node.operator.endswith("IN"):
        members = field.isin(pa.array([one.cast(plain) for one in values], plain))
        return members if node.operator == "IN" else ~members
    compare = _COMPARE[node.operator]
    return compare(field, values[0])


# Verbs.


def _answers(  # noqa: PLR0913, PLR0917  what a verb gets
    verb: Callable[..., Iterator[str]],
    table: Table,
    filters: Filters,
    tree: Condition,
    rows: list[int],
    chance: random.Random,
) -> Iterator[str]:
    """Ask a verb; say what is wrong with its answer, or its error."""
    try:
        yield from verb(table, filters, tree, rows, chance)
    except (Exception, pl.exceptions.PanicException) as error:  # noqa: BLE001  whatever it is
        overflows = any(one.cast for one in tree.leaves) and "not in range" in str(error)
        if not (overflows or (tree.may_be_refused and isinstance(error, BloomwriterError))):
            yield f"{type(error).__name__}: {error}"


def _rows_of_duckdb(table: Table, sql: str) -> list[int] | None:
    """Return the rows that DuckDB selects; None where it refuses, or NaN is another value to it."""
    if any(
        isinstance(one, float) and math.isnan(one) for row in table.rows for one in row.values()
    ):
        return None
    stored = table.stored  # noqa: F841  named in the query
    try:
        found = _duckdb().execute(f"SELECT row FROM stored WHERE {sql}").fetchall()  # noqa: S608
    except duckdb.Error:
        return None
    return [row for (row,) in found]


def _differs(found: Sequence[int], rows: Sequence[int]) -> Iterator[str]:
    if sorted(found) != sorted(rows):
        lost, invented = set(rows) - set(found), set(found) - set(rows)
        yield f"lost {sorted(lost)}, invented {sorted(invented)}, {len(found)} of {len(rows)}"


def _wanted(chance: random.Random, table: Table) -> list[str]:
    return [chance.choice(["row", *(name for name in table.columns if name != "k")])]


def read_all(
    table: Table, filters: Filters, _: Condition, rows: list[int], chance: random.Random
) -> Iterator[str]:
    yield from _differs(read_table(table.path, filters=filters)["row"].to_pylist(), rows)
    found = read_table(table.path, columns=_wanted(chance, table), filters=filters)
    if found.num_rows != len(rows):
        yield f"{found.num_rows} rows of {found.column_names}, not {len(rows)}"


def batches(
    table: Table, filters: Filters, _: Condition, rows: list[int], __: random.Random
) -> Iterator[str]:
    found = iter_batches(table.path, filters=filters, batch_size=5)
    yield from _differs([row for one in found for row in one["row"].to_pylist()], rows)


def datasets(
    table: Table, filters: Filters, _: Condition, rows: list[int], chance: random.Random
) -> Iterator[str]:
    found = dataset(table.path, filters=filters)
    yield from _differs(found.to_table()["row"].to_pylist(), rows)
    columns = _wanted(chance, table)
    if found.to_table(columns).num_rows != len(rows):
        yield f"{found.to_table(columns).num_rows} rows of {columns}, not {len(rows)}"
    if found.count_rows() != len(rows):
        yield f"count_rows() is {found.count_rows()}, not {len(rows)}"


@functools.cache
def _duckdb() -> duckdb.DuckDBPyConnection:
    """Return the one connection of this process: opening another takes as long as 50 tries."""
    return duckdb.connect(config={"threads": 1})


def probes(
    table: Table, filters: Filters, _: Condition, rows: list[int], __: random.Random
) -> Iterator[str]:
    kept = {one.path: set(one.surviving) for one in probe(table.path, filters).might_match}
    found = set(rows)
    if isinstance(filters, str):
        try:
            source = f"read_parquet({list(table.files)}, union_by_name=true)"
            query = f"SELECT row FROM {source} WHERE {filters}"  # noqa: S608
            found |= {row for (row,) in _duckdb().execute(query).fetchall()}
        except duckdb.Error:  # a column, a type or a literal that it has not
            pass
    for path, groups in table.files.items():
        for ordinal, numbers in enumerate(groups):
            if found & set(numbers) and ordinal not in kept.get(path, ()):
                yield f"row group {ordinal} of {path} is excluded, with {found & set(numbers)}"


def polars(
    table: Table, _: Filters, tree: Condition, __: list[int], ___: random.Random
) -> Iterator[str]:
    """Ask Polars by an expression of its own; the referee is Polars on the whole table."""
    lazy = scan_polars(table.path)
    whole = lazy.collect()
    yield from _differs(whole["row"].to_list(), range(len(table.rows)))
    try:
        expression = _of_polars(tree, table)
        if expression is None:
            return
        rows = whole.filter(expression)["row"].to_list()
    except (pl.exceptions.PolarsError, OverflowError, TypeError):
        return
    yield from _differs(lazy.filter(expression).collect()["row"].to_list(), rows)
    for name in table.columns:  # what Polars shows is what pyarrow read
        if pa.types.is_decimal(table.columns[name]):
            stored = {row["row"]: row[name] for row in table.rows}
            if dict(zip(whole["row"].to_list(), whole[name].to_list(), strict=True)) != stored:
                yield f"other values of {name}"


def _of_polars(node: Condition, table: Table) -> Any:  # noqa: ANN401, PLR0911
    """Write a condition as an expression of Polars; None where it has none."""
    if len(node.parts) > min(_MANY):  # Polars takes minutes for these, or more stack than it has
        return None
    if node.parts:
        parts = [_of_polars(one, table) for one in node.parts]
        if any(one is None for one in parts):
            return None
        if node.operator == "NOT":
            return ~parts[0]
        return parts[0] & parts[1] if node.operator == "AND" else functools.reduce(or_, parts)
    if node.is_typed or _NOT_UTF8 in node.values:
        return None
    if node.column.startswith("^") or pa.types.is_time(table.columns[node.column]):
        return None
    field = pl.col(node.column)
    if node.operator.startswith("IS"):
        return field.is_null() if node.operator == "IS NULL" else field.is_not_null()
    if node.operator.endswith("IN"):
        members = field.is_in(list(node.values))
        return members if node.operator == "IN" else ~members
    return _COMPARE[node.operator](field, node.values[0])


def rewritten(
    table: Table, filters: Filters, _: Condition, rows: list[int], chance: random.Random
) -> Iterator[str]:
    """Rewrite the files of a dataset that is open: its rows, or an error."""
    copy = table.path.with_name(f"{table.path.name}-copy")
    if table.path.is_dir():
        shutil.copytree(table.path, copy)
    else:
        shutil.copy(table.path, copy)
    try:
        found = dataset(copy, filters=filters)
        for path in table.files:
            own = copy / Path(path).relative_to(table.path)
            reverse = pq.ParquetFile(own).read()
            reverse = reverse.take(list(reversed(range(len(reverse)))))
            pq.write_table(reverse, own, row_group_size=chance.choice([3, 7, 40]))
        with suppress(FileChanged):
            yield from _differs(found.to_table()["row"].to_pylist(), rows)
    finally:
        shutil.rmtree(copy) if copy.is_dir() else copy.unlink()


def impossible_paths(
    table: Table, filters: Filters, _: Condition, __: list[int], chance: random.Random
) -> Iterator[str]:
    """Ask for a file whose name no file can have."""
    verbs: list[Callable[..., object]] = [read_table, dataset, probe]
    verb = chance.choice(verbs)
    try:
        verb(f"{table.path}\0", filters=filters)
    except (BloomwriterError, FileNotFoundError):
        return
    yield f"{verb.__name__} takes a path with a NUL"


VERBS = (
    *(read_all, batches, datasets, probes, polars) * 3,
    rewritten,
    impossible_paths,
)
