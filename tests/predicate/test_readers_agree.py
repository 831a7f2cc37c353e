"""Whatever row DuckDB, DataFusion or pyarrow finds, the bound predicate admits.

Each of them compares every stored value of a column with every literal, in SQL or as an expression.
What one of them refuses counts as no rows.
"""

from __future__ import annotations

import datetime as dt
import struct
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeAlias

import datafusion
import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter.metadata import PhysicalType
from parquet_bloomwriter.predicate.bind import Domains, bind
from parquet_bloomwriter.predicate.bound import Order
from parquet_bloomwriter.predicate.expression import Comparison, IsIn, Not
from parquet_bloomwriter.predicate.literals.domain import order_of
from parquet_bloomwriter.predicate.to_sql import to_text
from tests.support.binding import admits, leaves_in
from tests.support.plain import leaf_arrays, plain_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.predicate.expression import Expression

Ask: TypeAlias = "Callable[[Path, list[Expression]], list[list[bool]]]"
"""Whether each of the questions is true of each of a file's rows."""

D = Decimal
NOON = dt.datetime(2024, 1, 31, 12)  # noqa: DTZ001  naive on purpose
MIDNIGHT = dt.datetime(2024, 1, 31)  # noqa: DTZ001  same
INTEGERS = [-129, -1, 0, 1, 42, 127, 128, 255, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64]
FRACTIONS = [0.5, 41.5, 42.0, 2.0**53, D("42.0"), D("41.9"), D("9007199254740993.0"), D(2**53 + 1)]
NUMERALS = ["42", "042", "-1", "+42", " 42", "42.0", "1e1", "x", ""]
NUMBERS = [*INTEGERS, *FRACTIONS, *NUMERALS, True]
REALS = [0, -0.0, 0.1, D("0.1"), D("-0.0"), 1e40, -1e40, 1e-50, 16777217, 2**24, D("16777217.0")]
REALS += [0.3, D("0.3"), D("52.520008"), D("0.123456789"), D("123456.789"), 65520, D("1E+2"), 2**53]
DECIMALS = [0, 1, -5, 5.0, 0.3, D("1.23"), D("1.234"), D("1.235"), D("-1.23"), "1.23", "1.234", "1"]
DECIMALS += [
    D("12345678901234567.89"),
    D("1.23000000000000001"),
    D("99999999.99"),
    10**7,
    "x",
    1.23,
]
MOMENTS: list[Any] = [NOON, MIDNIGHT, NOON + dt.timedelta(microseconds=1), dt.date(2024, 1, 31)]
MOMENTS += ["2024-01-31", "2024-01-31 12:00:00", "2024-01-31T12:00:00.000001", "2024-1-31", "x"]
MOMENTS += ["2024-01-31 12:00:00.000000999", "2024-01-31 12:00:00Z", "2024-01-31 07:00:00-05:00"]
MOMENTS += ["1969-12-31 23:59:59.9995", "1969-12-31 23:00:00", "2024-01-31 12:00", "9999-12-31"]
CLOCKS = [
    dt.time(12),
    dt.time(12, 0, 0, 1),
    "12:00:00",
    "12:00:00.0000001",
    "12:00:00.0009",
    "07:00",
]
TEXTS = ["", "a", "ab", "ü", "\\x41", "0x41", "A", b"A", b"a", 5, "5", "a "]
UUIDS = ["00112233-4455-6677-8899-aabbccddeeff", "00112233445566778899AABBCCDDEEFF", "x" * 16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Values of a column, and literals to compare them with."""

    array: pa.Array
    literals: list[Any]
    options: tuple[tuple[str, Any], ...] = ()


def numbers(kind: pa.DataType) -> pa.Array:
    """What fits of the integers."""
    bits, signed = kind.bit_width, not str(kind).startswith("u")
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    values = {*INTEGERS, 41, 43, 2**53, 2**53 - 1, -(2**63), 100, low, high}
    return pa.array(sorted(value for value in values if low <= value <= high), kind)


def moments(kind: pa.DataType) -> pa.Array:
    """Points in time next to the literals, which are those that fall on whole units."""
    unit = pa.timestamp(kind.unit)
    base = pa.array([NOON, MIDNIGHT, dt.datetime(1970, 1, 1)], unit).cast(pa.int64())  # noqa: DTZ001  naive on purpose
    around = pa.concat_arrays([pc.add(base, step) for step in (-1, 0, 1)])
    hours = {"ms": 3_600_000, "us": 3_600_000_000, "ns": 3_600_000_000_000}[kind.unit]
    return pa.concat_arrays([around, pc.add(base, 5 * hours), pc.add(base, 12 * hours)]).cast(kind)


FLOATS = [-0.0, 0.0, 0.1, 0.3, 2.0**24, 2.0**24 + 2, 100.0, float("inf"), float("-inf"), 1e-45]
FLOATS += [52.520008, 0.123456789, 123456.789, float("nan"), 65504.0]
CENTS = [D("0.00"), D("1.22"), D("1.23"), D("1.24"), D("-5.00"), D("0.30"), D("-1.23"), D("1.00")]
NARROW = [*CENTS, D("9999999.99"), D("-9999999.99")]
WIDE = [*CENTS, D("12345678901234567.89"), D("12345678901234568.00")]
FINE_DECIMALS = [D("1.5"), D("1.500000000000000001"), D("0.1"), D("0.3"), D("123456789.123")]
TIMES = [
    dt.time(12),
    dt.time(11, 59, 59, 999_000),
    dt.time(12, 0, 0, 1000),
    dt.time(17),
    dt.time(7),
]
CASES = [
    *(
        Case(array=numbers(kind), literals=NUMBERS)
        for kind in (pa.int8(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32(), pa.uint64())
    ),
    *(Case(array=pa.array(FLOATS, kind), literals=REALS) for kind in (pa.float32(), pa.float64())),
    Case(array=pa.array(FLOATS).cast(pa.float16(), safe=False), literals=REALS),
    Case(array=pa.array(NARROW, pa.decimal128(9, 2)), literals=DECIMALS),
    Case(
        array=pa.array(NARROW, pa.decimal128(9, 2)),
        literals=DECIMALS,
        options=(("store_decimal_as_integer", True),),
    ),
    Case(array=pa.array(NARROW, pa.decimal128(15, 2)), literals=DECIMALS),
    Case(array=pa.array(WIDE, pa.decimal128(38, 2)), literals=DECIMALS),
    Case(
        array=pa.array(
            [*CENTS, D("1.230000000000000"), D("1.234"), D("0.3")], pa.decimal128(38, 15)
        ),
        literals=DECIMALS,
    ),
    Case(
        array=pa.array(
            [*FINE_DECIMALS, D("123456789.123000001"), D("123456789.122999998")],
            pa.decimal128(38, 18),
        ),
        literals=[*FINE_DECIMALS, "1.5", 1, D("123456789.5")],
    ),
    Case(
        array=pa.array([dt.date(2024, 1, 30), dt.date(2024, 1, 31), dt.date(1969, 12, 31)]),
        literals=MOMENTS,
    ),
    *(
        Case(array=moments(pa.timestamp(unit, zone)), literals=MOMENTS)
        for unit in ("ms", "us", "ns")
        for zone in (None, "UTC")
    ),
    Case(
        array=moments(pa.timestamp("ns")),
        literals=MOMENTS,
        options=(("use_deprecated_int96_timestamps", True),),
    ),
    *(
        Case(
            array=pa.array(TIMES, kind),
            literals=CLOCKS,
            options=(("write_time_adjusted_to_utc", utc),),
        )
        for kind in (pa.time32("ms"), pa.time64("us"), pa.time64("ns"))
        for utc in (False, True)
    ),
    Case(array=pa.array(["", "a", "A", "ab", "ü", "\\x41", "5", "05"]), literals=TEXTS),
    Case(array=pa.array([b"", b"a", b"A", b"ab", b"\\x41", b"0x41", b"\xff"]), literals=TEXTS),
    Case(array=pa.array([b"a", b"A", b"\xff"], pa.binary(1)), literals=TEXTS),
    Case(
        array=pa.ExtensionArray.from_storage(
            pa.uuid(),
            pa.array([bytes.fromhex(UUIDS[1]), b"x" * 16], pa.binary(16)),
        ),
        literals=[*UUIDS, bytes.fromhex(UUIDS[1]), b"x" * 16],
    ),
    Case(array=pa.array([True, False]), literals=[True, False, 0, 1, "true", "x"]),
]
OPERATORS = ("=", "!=", "<", "<=", ">", ">=")


def questions(literals: list[Any]) -> list[list[Expression]]:
    """All that is asked about each literal, and about each pair of neighbours."""
    asked: list[list[Expression]] = []
    for literal, following in zip(literals, [*literals[1:], literals[0]], strict=True):
        comparisons = [Comparison("x", operator, literal) for operator in OPERATORS]  # type: ignore[arg-type]
        listed = IsIn("x", (literal, following))
        asked.append([*comparisons, Not(comparisons[0]), Not(comparisons[2]), listed, Not(listed)])
    return asked


def _flags(column: list[Any]) -> list[bool]:
    return [flag is True for flag in column]


def _all_or_each(
    run: Callable[[list[Expression]], list[list[bool]]], asked: list[Expression]
) -> list[list[bool]]:
    """Answers to all questions at once, or to those that are not refused."""
    try:
        return run(asked)
    except Exception:  # noqa: BLE001  every reader has its own errors
        return [_all_or_each(run, [one])[0] for one in asked] if len(asked) > 1 else [[]]


def _sql(path: Path, asked: list[Expression]) -> str:
    columns = ", ".join(f"({to_text(one)}) AS c{i}" for i, one in enumerate(asked))
    return f"SELECT {columns} FROM '{path}'"  # noqa: S608  constants


def ask_duckdb(connection: duckdb.DuckDBPyConnection) -> Ask:
    def ask(path: Path, asked: list[Expression]) -> list[list[bool]]:
        rows = connection.execute(_sql(path, asked)).fetchall()
        return [_flags(list(column)) for column in zip(*rows, strict=True)]

    return ask


@lru_cache(maxsize=1)
def _opened(path: Path) -> datafusion.SessionContext:
    context = datafusion.SessionContext()
    context.register_parquet("t", str(path))
    return context


def ask_datafusion(path: Path, asked: list[Expression]) -> list[list[bool]]:
    table = _opened(path).sql(_sql(path, asked).replace(f"'{path}'", "t")).to_arrow_table()
    return [_flags(column.to_pylist()) for column in table.columns]


def ask_pyarrow(path: Path, asked: list[Expression]) -> list[list[bool]]:
    columns = {f"c{i}": _as_arrow(one) for i, one in enumerate(asked)}
    table = ds.dataset(path).to_table(columns=columns)
    return [_flags(column.to_pylist()) for column in table.columns]


def _as_arrow(expression: Expression) -> pc.Expression:
    field = pc.field("x")
    match expression:
        case Not(operand):
            return ~_as_arrow(operand)
        case IsIn(_, values):
            return field.isin(pa.array(values))
        case Comparison(_, operator, value):
            return {
                "=": field == value,
                "!=": field != value,
                "<": field < value,
                "<=": field <= value,
                ">": field > value,
                ">=": field >= value,
            }[operator]
    raise AssertionError(expression)


@pytest.fixture(scope="module")
def readers() -> Iterator[dict[str, Ask]]:
    """Give what asks each reader, by its name."""
    with duckdb.connect() as utc, duckdb.connect() as new_york:
        for connection, zone in ((utc, "UTC"), (new_york, "America/New_York")):
            connection.execute("SET threads = 1")
            connection.execute(f"SET TimeZone = '{zone}'")
        yield {
            "duckdb": ask_duckdb(utc),
            IN_NEW_YORK: ask_duckdb(new_york),
            "datafusion": ask_datafusion,
            "pyarrow": ask_pyarrow,
        }


IN_NEW_YORK = "duckdb in New York"
"""Asked about points in time only: its answers about other types are those of UTC."""

SILENT = [("pyarrow", pa.uuid())]
"""Who compares nothing of what is here."""


def key_of(plain: bytes, leaf: Leaf) -> Any:  # noqa: ANN401  a key of any order
    """The key of a stored value."""
    match order_of(leaf):
        case Order.SIGNED:
            return int.from_bytes(plain, "little", signed=True)
        case Order.UNSIGNED:
            return int.from_bytes(plain, "little")
        case Order.BIG_ENDIAN:
            return int.from_bytes(plain, "big", signed=True)
        case Order.FLOATING:
            return struct.unpack({2: "<e", 4: "<f", 8: "<d"}[len(plain)], plain)[0]
    return plain


def keys_in(path: Path, leaf: Leaf) -> list[Any]:
    (array,) = leaf_arrays(pq.read_table(path).column(0).combine_chunks())
    if leaf.physical_type == PhysicalType.BOOLEAN:
        return [int(value) for value in array.to_pylist()]
    plains = plain_values(array, pq.ParquetFile(path).schema.column(0))
    assert plains is not None
    return [key_of(plain, leaf) for plain in plains]


def names(one: Case) -> str:
    return f"{one.array.type} {dict(one.options) or ''}"


@pytest.mark.parametrize("case", CASES, ids=names)
def test_no_row_that_a_reader_finds_is_lost(
    readers: dict[str, Ask], case: Case, tmp_path: Path
) -> None:
    path = tmp_path / "one.parquet"
    pq.write_table(pa.table({"x": case.array}), path, **dict(case.options))
    (leaf,) = leaves_in(path.read_bytes())
    keys = keys_in(path, leaf)
    if not pa.types.is_temporal(case.array.type):
        readers = {name: ask for name, ask in readers.items() if name != IN_NEW_YORK}
    found = dict.fromkeys(readers, 0)
    for asked in questions(case.literals):
        bound = [bind(expression, Domains.of([leaf])) for expression in asked]
        admitted: dict[tuple[int, int], bool] = {}
        for name, ask in readers.items():
            answers = _all_or_each(partial(ask, path), asked)
            for number, flags in enumerate(answers):
                for row, flag in enumerate(flags):
                    if not flag:
                        continue
                    place = (number, row)
                    if place not in admitted:
                        admitted[place] = admits(bound[number], {"x": keys[row]})
                    assert admitted[place], (name, case.array[row], to_text(asked[number]))
                    found[name] += 1
    silent = {name for name, count in found.items() if not count}
    assert silent == {name for name, type_ in SILENT if type_ == case.array.type}
