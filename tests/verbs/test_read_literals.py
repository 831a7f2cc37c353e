"""A literal means the same for row groups and for rows: answers do not depend on row-group sizes.

The reference compares every stored value with the literal in Python, exactly.
"""

# ruff: noqa: ANN401, DTZ001, FBT003  literals and filters of any form
from __future__ import annotations

import io
import math
import operator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parquet_bloomwriter.predicate.literals.python_values import plain_value
from parquet_bloomwriter.predicate.to_sql import spell_value
from parquet_bloomwriter.verbs.probe import probe
from parquet_bloomwriter.verbs.read import dataset, iter_batches, read_table
from tests.support.cells import bloomed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COMPARE = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
OPERATORS = [*COMPARE, "in", "not in"]
NOTATIONS = ["list", "expression", "sql"]
SIZES = [1, 2, 3, 100]
UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
"""Nanoseconds."""

NOON = pd.Timestamp("2024-01-31 12:00:00.123456789")


def _read_table(data: bytes, filters: Any) -> list[int]:
    rows: list[int] = read_table(data, filters=filters)["row"].to_pylist()
    return rows


def _iter_batches(data: bytes, filters: Any) -> list[int]:
    batches = iter_batches(data, filters=filters, batch_size=2)
    return [row for batch in batches for row in batch.column("row").to_pylist()]


def _dataset(data: bytes, filters: Any) -> list[int]:
    rows: list[int] = dataset(data, filters=filters).to_table()["row"].to_pylist()
    return rows


READERS: list[Callable[[bytes, Any], list[int]]] = [_read_table, _iter_batches, _dataset]


def filters_of(notation: str, operator_: str, literal: Any) -> Any:
    """The condition on column `x`, written in one of the three ways."""
    is_list = operator_ in {"in", "not in"}
    if notation == "list":
        return [("x", operator_, [literal] if is_list else literal)]
    if notation == "sql":
        spelled = spell_value(plain_value(literal))
        return f"x {operator_} {f'({spelled})' if is_list else spelled}"
    scalar = literal if isinstance(literal, pa.Scalar) else pa.scalar(literal)
    if is_list:
        found = pc.field("x").isin(pa.repeat(scalar, 1))
        return found if operator_ == "in" else ~found
    return COMPARE[operator_](pc.field("x"), scalar)


@dataclass(frozen=True)
class Case:
    """A column, and what to ask it for."""

    array: pa.Array
    keys: list[Any]
    """What each row compares as; None for null."""

    key_of: Callable[[Any], Any]
    """What a literal compares as."""

    literals: list[Any]
    notations: tuple[str, ...] = ("list", "expression", "sql")

    @property
    def is_floating(self) -> bool:
        """Whether IN differs between SQL and pyarrow."""
        return bool(pa.types.is_floating(self.array.type))

    def rows(self, notation: str, operator_: str, literal: Any) -> list[int]:
        """The rows that a condition is true for."""
        return [
            row
            for row, key in enumerate(self.keys)
            if self._holds(key, notation, operator_, self.key_of(literal), literal)
        ]

    def _holds(self, key: Any, notation: str, operator_: str, wanted: Any, literal: Any) -> bool:
        if key is None:
            return operator_ == "not in" and notation != "sql"
        if operator_ in COMPARE:
            return bool(COMPARE[operator_](key, wanted))
        if self.is_floating and notation != "sql":
            stored = self.array.type.to_pandas_dtype()
            value = float(literal.as_py() if isinstance(literal, pa.Scalar) else literal)
            is_beyond = math.isfinite(value) and abs(value) > float(np.finfo(stored).max)
            found = not is_beyond and repr(float(stored(value))) == repr(key)
        else:
            found = key == wanted
        return found is (operator_ == "in")


@cache
def file_of(name: str, size: int) -> bytes:
    """A file of a case, with filters that are next to never wrong."""
    array = CASES[name].array
    table = pa.table({"x": array, "row": range(len(array))})
    columns = [] if array.type == pa.bool_() else ["x"]
    return bloomed(table, *columns, row_group_size=size, use_dictionary=size == 2)


def check(name: str, notation: str, operator_: str, literal: Any) -> None:
    """Compare what is read with the reference, for each size of row groups, and by each reader."""
    expected = CASES[name].rows(notation, operator_, literal)
    filters = filters_of(notation, operator_, literal)
    first = sum(map(ord, name + operator_))
    for number, size in enumerate(SIZES, first):
        read = READERS[number % len(READERS)]
        assert read(file_of(name, size), filters) == expected, (name, size, read, str(filters))


# ---------------------------------------------------------------- points in time


def nanoseconds_of(literal: Any) -> int:
    """Since 1970, of UTC or of an unnamed clock."""
    if isinstance(literal, pa.TimestampScalar):
        return int(literal.value) * UNITS[literal.type.unit]
    if isinstance(literal, np.datetime64):
        return int(literal.astype("datetime64[ns]").astype(np.int64))
    if isinstance(literal, date) and not isinstance(literal, datetime):
        literal = pd.Timestamp(literal)
    return int(pd.Timestamp(literal).as_unit("ns").value)


def moments(unit: str, zone: str | None) -> Case:
    """Moments that are next to each other, around noon, and the epoch."""
    size = UNITS[unit]
    at_noon = NOON.value // size
    micro = NOON.value // 1000 * 1000
    numbers = sorted(
        {*range(at_noon - 1, at_noon + 2), -(-micro // size), -1, 0, NOON.value // size}
    )
    array = pa.array([*numbers, None], pa.int64()).cast(pa.timestamp(unit, zone))
    coarse = [NOON.floor(one) for one in ("us", "ms", "s")]
    stamps = [NOON, *coarse, NOON + pd.Timedelta(1, "ns"), pd.Timestamp(-1), pd.Timestamp(0)]
    if zone is not None:
        literals: list[Any] = [one.tz_localize("UTC") for one in stamps]
        literals += [one.tz_convert("Asia/Kathmandu") for one in literals]
        literals += [NOON.to_pydatetime(warn=False).replace(tzinfo=UTC)]
        literals += [
            datetime(
                2024, 1, 31, 17, 12, 0, 123456, tzinfo=timezone(timedelta(hours=5, minutes=12))
            )
        ]
    else:
        literals = [*stamps, NOON.to_datetime64(), NOON.to_pydatetime(warn=False)]
        literals += [np.datetime64("2024-01-31T12:00:00"), np.datetime64("2024-01-31T12")]
        literals += [date(1970, 1, 1)]
    literals += [
        pa.scalar(NOON.value // size, pa.timestamp(one, zone)) for one, size in UNITS.items()
    ]
    keys = [*(number * size for number in numbers), None]
    return Case(array, keys, nanoseconds_of, literals)


# ---------------------------------------------------------------- everything else


def number_of(literal: Any) -> Any:
    """A number, exactly; floats that are none as they are."""
    value = literal.as_py() if isinstance(literal, pa.Scalar) else literal
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, float) and not math.isfinite(value) else Fraction(value)


def floats_of(type_: Any) -> Callable[[Any], float]:
    """Decimals and integers become the nearest number of the column; floats stay what they are."""

    def key(literal: Any) -> float:
        value = literal.as_py() if isinstance(literal, pa.Scalar) else literal
        value = value.item() if isinstance(value, np.generic) else value
        is_beyond = value > float(np.finfo(type_).max)
        is_rounded = not isinstance(value, float) and not is_beyond
        return float(type_(value) if is_rounded else value)

    return key


def integers(type_: pa.DataType, low: int, high: int) -> Case:
    """The ends of the type, and what lies about the limits of floats."""
    about = [0, 1, 5, 42, 2**24 + 1, 2**53, 2**53 + 1]
    values = sorted({low, low + 1, high - 1, high, *(one for one in about if one <= high)})
    literals = [
        *(0, 5, -1, 42, 300, 2**31, 2**53, 2**53 + 1, 2**63 - 1, 5.5, 5.0, -0.0, 2.0**53, 1e300),
        *(
            float("inf"),
            float("nan"),
            np.float32(0.1),
            np.float16(1.5),
            np.int8(5),
            np.uint64(high if low == 0 else 5),
        ),
        *(Decimal("5.00"), Decimal("5.5"), Decimal("1E+2"), Decimal("9007199254740993.0")),
        *(pa.scalar(5, pa.uint8()), pa.scalar(0.1, pa.float32()), pa.scalar(42, pa.int8())),
    ]
    return Case(
        pa.array([*values, None], type_), [*map(Fraction, values), None], number_of, literals
    )


def floats(type_: pa.DataType) -> Case:
    """Zeros, NaN, infinities, and numbers that types round."""
    narrow: Any = type_.to_pandas_dtype()
    values = [0.0, -0.0, 0.1, float("nan"), 1.5, 1024.0, float("inf"), float("-inf"), 0.1, 0.3]
    keys = [float(narrow(value)) for value in values]
    literals = [
        *(
            0,
            0.0,
            -0.0,
            0.1,
            1.5,
            1,
            float("nan"),
            float("inf"),
            1024,
            Decimal("0.1"),
            Decimal("0.0"),
            Decimal("1.5"),
        ),
        *(
            np.float32(0.1),
            np.float16(0.1),
            pa.scalar(0.1, pa.float32()),
            keys[2],
            2**40,
            -5,
            1e300,
        ),
    ]
    array = pa.array(np.array(values, narrow)) if narrow is np.float16 else pa.array(values, type_)
    array = pa.concat_arrays([array, pa.nulls(1, type_)])
    return Case(array, [*keys, None], floats_of(narrow), literals)


def decimals(type_: pa.DataType, *texts: str) -> Case:
    """Literals on, between and beyond the column's values."""
    values = [Decimal(text) for text in texts]
    literals = [
        *map(
            Decimal, ("1.00", "1.01", "1.005", "1.2", "-5", "1E+2", "0.1", "12345678901234567.895")
        ),
        *(0, 1, -5, 42, 10**20, pa.scalar(Decimal("1.010"), pa.decimal256(50, 3))),
    ]
    return Case(
        pa.array([*values, None], type_), [*map(Fraction, values), None], number_of, literals
    )


def days(type_: pa.DataType) -> Case:
    """Dates, asked for by dates and by moments of them."""
    values = [date(1969, 12, 31), date(2024, 1, 30), date(2024, 1, 31), date(2024, 2, 1)]
    literals = [
        *(
            date(2024, 1, 31),
            datetime(2024, 1, 31),
            NOON,
            NOON.to_datetime64(),
            pd.Timestamp("2024-01-31"),
        ),
        *(np.datetime64("2024-01-31"), pa.scalar(NOON.value, pa.timestamp("ns")), date(2030, 1, 1)),
    ]
    keys = [*map(nanoseconds_of, values), None]
    return Case(pa.array([*values, None], type_), keys, _of_day, literals)


def _of_day(literal: Any) -> int:
    return nanoseconds_of(literal)


def clocks(type_: pa.DataType) -> Case:
    """Times of the day."""
    values = [0, 36_000 * 10**9, 39_600 * 10**9, 86_399 * 10**9]
    if type_.bit_width == 64:
        values += [36_000 * 10**9 + 1000]
    size = UNITS[type_.unit]
    integers_ = pa.int32() if type_.bit_width == 32 else pa.int64()
    array = pa.array([*(one // size for one in values), None], integers_).cast(type_)
    literals = [
        *(time(10), time(10, 0, 0, 1), time(0), pa.scalar(36_000, pa.time32("s"))),
        *(pa.scalar(36_000 * 10**9 + one, pa.time64("ns")) for one in (0, 1, 1000)),
    ]
    return Case(array, [*values, None], _of_clock, literals)


def _of_clock(literal: Any) -> int:
    if isinstance(literal, pa.Scalar):
        return int(literal.value) * UNITS[literal.type.unit]
    seconds = (literal.hour * 60 + literal.minute) * 60 + literal.second
    return int(seconds) * 10**9 + int(literal.microsecond) * 1000


def bytes_of(literal: Any) -> bytes:
    """Text and bytes compare byte by byte."""
    value = literal.as_py() if isinstance(literal, pa.Scalar) else literal
    return value.encode() if isinstance(value, str) else bytes(value)


def texts(type_: pa.DataType) -> Case:
    """Texts, one the beginning of another."""
    values = ["", "a", "ab", "a\x00", "é", "42", "2024-01-31"]
    literals = [
        "a",
        "ab",
        "",
        "é",
        "42",
        "zz",
        np.str_("a"),
        pa.scalar("a"),
        pa.scalar("a", pa.large_string()),
    ]
    keys = [*map(bytes_of, values), None]
    plain = type_.value_type if pa.types.is_dictionary(type_) else type_
    array = pa.array([*values, None], plain)
    array = array.dictionary_encode() if pa.types.is_dictionary(type_) else array
    return Case(array, keys, bytes_of, literals)


def binaries(type_: pa.DataType, *values: bytes) -> Case:
    """Bytes, also of other lengths than the column's."""
    literals = [
        b"aa",
        b"a",
        b"a\x00",
        b"aaa",
        b"",
        b"\xff\xff",
        np.bytes_(b"aa"),
        pa.scalar(b"aa", pa.large_binary()),
    ]
    return Case(pa.array([*values, None], type_), [*values, None], bytes_of, literals)


CASES: dict[str, Case] = {
    **{
        f"{unit} {zone}": moments(unit, zone)
        for unit in UNITS
        for zone in (None, "UTC", "Europe/Berlin")
    },
    **{
        f"int{bits}": integers(getattr(pa, f"int{bits}")(), -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        for bits in (8, 16, 32, 64)
    },
    **{
        f"uint{bits}": integers(getattr(pa, f"uint{bits}")(), 0, 2**bits - 1)
        for bits in (8, 16, 32, 64)
    },
    "dictionary of int64": Case(
        pa.array([1, 2, 42, None]).dictionary_encode(),
        [1, 2, 42, None],
        number_of,
        [1, 42, 1.5, 2**40, Decimal("2.0")],
    ),
    **{str(one): floats(one) for one in (pa.float16(), pa.float32(), pa.float64())},
    "decimal 9": decimals(pa.decimal128(9, 2), "0.00", "1.00", "1.01", "1.20", "-5.00"),
    "decimal 18": decimals(
        pa.decimal128(18, 2), "0.00", "1.00", "1.01", "1.20", "9999999999999999.99"
    ),
    "decimal 38": decimals(
        pa.decimal128(38, 2), "1.00", "1.01", "12345678901234567.89", "12345678901234567.90"
    ),
    "date32": days(pa.date32()),
    "date64": days(pa.date64()),
    **{
        str(one): clocks(one)
        for one in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"))
    },
    **{
        str(one): texts(one)
        for one in (
            pa.string(),
            pa.large_string(),
            pa.dictionary(pa.int32(), pa.string()),
        )
    },
    "binary": binaries(pa.binary(), b"", b"a", b"aa", b"a\x00", b"\xff"),
    "fixed": binaries(pa.binary(2), b"aa", b"a\x00", b"\xff\xff", b"\x00\x00"),
    "boolean": Case(
        pa.array([True, False, None]),
        [True, False, None],
        operator.truth,
        [True, False, np.bool_(True)],
    ),
    "duration": Case(
        pa.array([0, 1, 1000, 1001, None], pa.duration("ns")),
        [0, 1, 1000, 1001, None],
        lambda one: one.value if isinstance(one, pa.Scalar) else pd.Timedelta(one).value,
        [
            pd.Timedelta(1, "ns"),
            pd.Timedelta(1001, "ns"),
            timedelta(microseconds=1),
            pa.scalar(1, pa.duration("ns")),
        ],
        ("list",),
    ),
}


@pytest.mark.parametrize("operator_", OPERATORS)
def test_a_timestamp_of_pandas_is_exact(operator_: str) -> None:
    for unit in UNITS:
        for zone in (None, "Europe/Berlin"):
            literal = NOON if zone is None else NOON.tz_localize(zone)
            check(f"{unit} {zone}", "list", operator_, literal)


@st.composite
def questions(draw: st.DrawFn) -> tuple[str, str, str, Any]:
    name = draw(st.sampled_from(sorted(CASES)))
    case = CASES[name]
    notation = draw(st.sampled_from(case.notations))
    return name, notation, draw(st.sampled_from(OPERATORS)), draw(st.sampled_from(case.literals))


def _is_scalar(literal: Any) -> bool:
    """Whether pyarrow makes a scalar of it; of large integers, and hours of NumPy, it does not."""
    try:
        return isinstance(literal, pa.Scalar) or pa.scalar(literal) is not None
    except (OverflowError, TypeError, pa.ArrowException):
        return False


def _is_asked(notation: str, literal: Any) -> bool:
    """Whether the literal can be written so, and keeps its value."""
    if notation == "sql":
        plain = plain_value(literal)
        is_special = isinstance(plain, float) and not math.isfinite(plain)
        return not is_special and not isinstance(plain, float)
    if notation == "expression" and not _is_scalar(literal):
        return False
    is_cut = isinstance(literal, pd.Timestamp) and notation == "expression"
    return not (is_cut and literal.nanosecond)  # pyarrow cuts it before anybody sees it


@settings(max_examples=75)
@given(questions())
@example(("float", "list", "!=", pa.scalar(0.1, pa.float32())))
@example(("double", "list", "in", float("nan")))
@example(("double", "list", "in", Decimal("0.0")))
@example(("float", "list", "=", np.float16(0.1)))
@example(("double", "expression", "in", Decimal("0.0")))
@example(("double", "expression", "not in", -0.0))
@example(("double", "sql", "!=", Decimal("0.1")))
@example(("int64", "list", ">", 5.5))
@example(("uint64", "expression", "<", 5))
@example(("int64", "list", "in", Decimal("5.5")))
@example(("decimal 9", "list", "=", 1))
@example(("date32", "list", "in", NOON))
@example(("ns UTC", "expression", "!=", pa.scalar(NOON.value // 1000, pa.timestamp("us", "UTC"))))
@example(("us None", "list", "in", NOON))
@example(("duration", "list", "=", pd.Timedelta(1, "ns")))
def test_any_literal_of_any_type(question: tuple[str, str, str, Any]) -> None:
    name, notation, operator_, literal = question
    if _is_asked(notation, literal):
        check(name, notation, operator_, literal)


def test_moments_beyond_nanoseconds_are_compared_with_nanoseconds() -> None:
    """Casts of the column, as by pyarrow, would fail."""
    far = pa.array([datetime(1000, 1, 1), datetime(2024, 1, 31), datetime(3000, 1, 1)])
    table = pa.table({"x": far, "row": range(3)})
    for literal in (NOON, pa.scalar(NOON.value, pa.timestamp("ns"))):
        for size in SIZES:
            data = bloomed(table, "x", row_group_size=size)
            assert _read_table(data, [("x", ">", literal)]) == [2]
            assert _read_table(data, [("x", "<", literal)]) == [0, 1]
            assert _read_table(data, [("x", "=", literal)]) == []


def test_row_groups_are_still_pruned_by_exact_literals() -> None:
    data = file_of("ns None", 1)

    found = probe(data, [("x", "=", NOON)])
    assert found.files[0].surviving == (2, 4)  # DuckDB cuts such literals to microseconds
    assert _read_table(data, [("x", "=", NOON)]) == [4]
    assert pq.read_table(io.BytesIO(data), filters=[("x", "=", NOON)])["row"].to_pylist() == [2]


@pytest.mark.parametrize(
    "filters", ["x > 0", "x < 5", "x = 1 OR x = 2", "NOT x > 5", "x IN (1, 2)", [("x", ">", 0.0)]]
)
def test_rows_are_counted_without_nan(tmp_path: Path, filters: Any) -> None:
    """Minimum and maximum may confirm the condition, but say nothing of NaN."""
    path = tmp_path / "one.parquet"
    pq.write_table(pa.table({"x": [1.0, 2.0, math.nan, math.nan]}), path)

    found = dataset(path, filters=filters)

    assert found.count_rows() == found.to_table().num_rows == (4 if "NOT" in filters else 2)
