"""Random tables, the many ways to write them, and random predicates on them, for Hypothesis.

Values come from small pools of each type, edges among them, and literals mostly from the same
pools: so predicates find rows often, and miss row groups often. Every table has a column `row`,
which counts from 0.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from operator import and_, eq, ge, gt, le, lt, ne, or_
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from hypothesis import strategies as st

from parquet_bloomwriter import bloomify

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hypothesis.strategies import DrawFn, SearchStrategy

_INTEGERS = {
    pa.int8(): (-(2**7), 2**7 - 1),
    pa.int16(): (-(2**15), 2**15 - 1),
    pa.int32(): (-(2**31), 2**31 - 1),
    pa.int64(): (-(2**63), 2**63 - 1),
    pa.uint8(): (0, 2**8 - 1),
    pa.uint16(): (0, 2**16 - 1),
    pa.uint32(): (0, 2**32 - 1),
    pa.uint64(): (0, 2**64 - 1),
}
_FLOATS = [0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1.5, -2.25, 1e10, 0.1]
_TEXTS = ["", "a", "b", "ab", "a\x00", "é", "ÿ", "z" * 70, "Z", "1", "1.5"]
_DECIMALS = {
    pa.decimal128(4, 2): ["0.00", "1.50", "-1.50", "99.99", "-99.99"],
    pa.decimal128(15, 4): ["0.0000", "1.5000", "-7.1250", "99999999999.9999"],
    pa.decimal128(30, 3): ["0.000", "1.500", "-123456789012345678901234567.125"],
}
_START = datetime(1970, 1, 1)  # noqa: DTZ001  Arrow adds the zone
_MOMENTS = [
    _START + timedelta(days=days, seconds=seconds, microseconds=microseconds)
    for days in (-1, 0, 19_000)
    for seconds, microseconds in ((0, 0), (1, 0), (1, 500_000), (86_399, 999_999))
]


def _pools() -> dict[pa.DataType, list[Any]]:
    """Values of each type, as Arrow takes them."""
    pools: dict[pa.DataType, list[Any]] = {
        type_: sorted({low, low + 1, 0, 1, 2, 42, high - 1, high})
        for type_, (low, high) in _INTEGERS.items()
    }
    pools |= dict.fromkeys((pa.float32(), pa.float64()), _FLOATS)
    pools |= {pa.float16(): _FLOATS[:7]}
    pools |= dict.fromkeys((pa.string(), pa.large_string()), _TEXTS)
    pools |= {pa.dictionary(pa.int32(), pa.string()): _TEXTS}
    pools |= {pa.binary(): [text.encode("latin-1") for text in _TEXTS]}
    pools |= {pa.binary(3): [b"abc", b"\x00\x00\x00", b"\xff\xff\xff", b"abd"]}
    pools |= {type_: list(map(Decimal, texts)) for type_, texts in _DECIMALS.items()}
    pools |= {pa.bool_(): [True, False]}
    pools |= {pa.date32(): [date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29)]}
    pools |= {pa.time32("ms"): [time(0), time(12, 30), time(23, 59, 59, 999_000)]}
    pools |= {pa.time64("us"): [time(0), time(12, 30), time(23, 59, 59, 999_999)]}
    for unit in ("s", "ms", "us", "ns"):
        coarse = [one for one in _MOMENTS if not one.microsecond] if unit == "s" else _MOMENTS
        coarse = [one.replace(microsecond=one.microsecond // 1000 * 1000) for one in coarse]
        moments = coarse if unit in {"s", "ms"} else _MOMENTS
        for zone in (None, "UTC", "Europe/Berlin"):
            pools[pa.timestamp(unit, zone)] = moments
    return pools


POOLS = _pools()
"""Values of each type."""

ROW = "row"
STRUCT = "st"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column that predicates may be about."""

    path: tuple[str, ...]
    type: pa.DataType

    @property
    def name(self) -> str:
        """Dotted path."""
        return ".".join(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomFile:
    """A table, and a file of it."""

    table: pa.Table
    data: bytes
    row_group_size: int
    """Rows of every row group but the last."""

    def row_groups_of(self, rows: Sequence[int]) -> set[int]:
        """The row groups in which rows lie."""
        return {row // self.row_group_size for row in rows}


def types() -> SearchStrategy[pa.DataType]:
    """Types of columns, those with random values."""
    return st.sampled_from(list(POOLS))


@st.composite
def schemas(draw: DrawFn, *, max_columns: int = 3) -> list[Column]:
    """Columns `a`, `b`, ..., the last one or two of them in a struct at times."""
    count = draw(st.integers(1, max_columns))
    nested = draw(st.integers(0, min(2, count)))
    names = "abcdefgh"[:count]
    return [
        Column(
            path=(name,) if place < count - nested else (STRUCT, name),
            type=draw(types()),
        )
        for place, name in enumerate(names)
    ]


@st.composite
def tables(draw: DrawFn, columns: Sequence[Column], *, max_rows: int = 60) -> pa.Table:
    """Tables of given columns, with nulls in them, structs too, and the column `row`."""
    count = draw(st.integers(0, max_rows))
    seed = random.Random(draw(st.integers(0, 2**32)))  # noqa: S311  reproducible, and not secret
    arrays: dict[str, Any] = {ROW: pa.array(range(count), pa.int64())}
    inner: dict[str, pa.Array] = {}
    for column in columns:
        array = _array(seed, column.type, count, draw(st.sampled_from([0.0, 0.2, 1.0])))
        (arrays if len(column.path) == 1 else inner)[column.path[-1]] = array
    if inner:
        mask = pa.array([seed.random() < 0.1 for _ in range(count)], pa.bool_())
        arrays[STRUCT] = pa.StructArray.from_arrays(inner.values(), list(inner), mask=mask)
    return pa.table(arrays)


def _array(seed: random.Random, type_: pa.DataType, count: int, nulls: float) -> pa.Array:
    """Few values, in runs, so that row groups differ in which of them they have."""
    pool = seed.sample(POOLS[type_], seed.randint(1, len(POOLS[type_])))
    values: list[Any] = []
    while len(values) < count:
        few = seed.choices(pool, k=2)
        values += (seed.choice(few) for _ in range(seed.randint(1, 12)))
    kept = [None if seed.random() < nulls else value for value in values[:count]]
    if pa.types.is_dictionary(type_):
        return pa.array(kept, type_.value_type).dictionary_encode()
    return pa.array(kept, type_)


@st.composite
def files(draw: DrawFn, columns: Sequence[Column]) -> RandomFile:
    """Files of random tables: random layout, filters by pyarrow and by `bloomify`."""
    table = draw(tables(columns))
    size = draw(st.integers(1, 25))
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=size, **draw(_layouts(columns)))
    data = sink.getvalue().to_pybytes()
    chosen = [one.name for one in columns if one.type != pa.bool_() and draw(st.booleans())]
    if chosen:
        data = bloomify(data, chosen, fpp=draw(st.sampled_from([0.3, 0.01])), jobs=1).data or data
    return RandomFile(table=table, data=data, row_group_size=size)


@st.composite
def _layouts(draw: DrawFn, columns: Sequence[Column]) -> Mapping[str, Any]:
    filtered = [one.name for one in columns if one.type != pa.bool_() and draw(st.booleans())]
    return {
        "use_dictionary": draw(st.booleans()),
        "data_page_version": draw(st.sampled_from(["1.0", "2.0"])),
        "data_page_size": draw(st.sampled_from([16, 200, 1 << 20])),
        "write_statistics": draw(st.booleans()),
        "write_page_index": draw(st.booleans()),
        "compression": draw(st.sampled_from(["none", "snappy"])),
        "store_schema": draw(st.booleans()),
        "bloom_filter_options": {name: {"ndv": 20, "fpp": 0.1} for name in filtered} or None,
    }


def literals(type_: pa.DataType) -> SearchStrategy[pa.Scalar]:
    """Literals of the type, mostly of values that tables have."""
    plain = type_.value_type if pa.types.is_dictionary(type_) else type_
    return st.sampled_from(POOLS[type_]).map(lambda value: pa.scalar(value, plain))


_OPERATORS = ["=", "==", "!=", "<", "<=", ">", ">="]
_COMPARE: list[Callable[[Any, Any], Any]] = [eq, ne, lt, le, gt, ge]


@st.composite
def conjunctions(draw: DrawFn, columns: Sequence[Column]) -> list[list[tuple[Any, str, Any]]]:
    """Filters of pyarrow's, in their longer form."""
    anyof = draw(st.integers(1, 3))
    return [
        [draw(_conditions(columns)) for _ in range(draw(st.integers(1, 3)))] for _ in range(anyof)
    ]


@st.composite
def _conditions(draw: DrawFn, columns: Sequence[Column]) -> tuple[Any, str, Any]:
    column = draw(st.sampled_from(columns))
    path = column.path if len(column.path) > 1 else column.path[0]
    if draw(st.booleans()):
        return path, draw(st.sampled_from(_OPERATORS)), draw(literals(column.type))
    values = draw(st.lists(literals(column.type), min_size=1, max_size=4))
    return path, draw(st.sampled_from(["in", "not in"])), pa.array(values, values[0].type)


def expressions(columns: Sequence[Column]) -> SearchStrategy[pc.Expression]:
    """Expressions of pyarrow's: comparisons, membership, null tests, joined and negated."""
    return st.recursive(
        _leaves(columns),
        lambda inner: st.one_of(
            st.builds(and_, inner, inner),
            st.builds(or_, inner, inner),
            inner.map(lambda one: ~one),
        ),
        max_leaves=6,
    )


@st.composite
def _leaves(draw: DrawFn, columns: Sequence[Column]) -> pc.Expression:
    column = draw(st.sampled_from(columns))
    field = pc.field(*column.path)
    match draw(st.sampled_from(["compare", "compare", "mirror", "in", "null", "valid"])):
        case "compare":
            return draw(st.sampled_from(_COMPARE))(field, draw(literals(column.type)))
        case "mirror":
            literal = pc.scalar(draw(literals(column.type)))
            return draw(st.sampled_from(_COMPARE))(literal, field)
        case "null":
            return field.is_null()
        case "valid":
            return field.is_valid()
    values = draw(st.lists(literals(column.type), max_size=4))
    plain = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    nulls = [None] if draw(st.booleans()) else []
    return field.isin(pa.array([one.as_py() for one in values] + nulls, plain))
