"""`read_table` on real tables of many writers: the rows that other engines read, or a refusal."""

from __future__ import annotations

import operator
import re
from collections import Counter
from datetime import date, datetime
from decimal import Decimal
from functools import cache, partial
from itertools import compress
from operator import is_, is_not
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from parquet_bloomwriter import dataset, iter_batches, read_table
from parquet_bloomwriter.errors import BloomwriterError, TableProblem, UnsupportedTable
from parquet_bloomwriter.predicate.expression import Comparison, Constant, IsIn, IsNull, Not
from tests.support import delta_real as tables
from tests.support.duckdb_tables import delta_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from parquet_bloomwriter.predicate.expression import Expression, Operator

KERNEL = "delta-io__delta-kernel-rs/kernel/tests/data/"
RUST = "delta-io__delta-rs/crates/test/tests/data/"
GOLDEN = "delta-io__delta/connectors/golden-tables/src/main/resources/golden/"
SPARK = "delta-io__delta/spark/src/test/resources/delta/"

CATALOG = (UnsupportedTable, "catalog")
VARIANT = (UnsupportedTable, "variant")
ZONE = (UnsupportedTable, "time zone that the writer had")

REFUSED: dict[str, tuple[type[BloomwriterError], str]] = {
    "delta-io__delta-kernel-rs/delta-kernel-unity-catalog/tests/data/catalog_managed_0": CATALOG,
    f"{RUST}issue_1374": (UnsupportedTable, "times of another clock"),
    f"{RUST}spark-shredded-variant-preview-delta": VARIANT,
    f"{RUST}spark-variant-checkpoint": VARIANT,
    f"{GOLDEN}kernel-timestamp-PST": ZONE,
    f"{GOLDEN}kernel-timestamp-TIMESTAMP_MICROS": ZONE,
    f"{GOLDEN}kernel-timestamp-TIMESTAMP_MILLIS": ZONE,
    "delta-io__delta/kernel/kernel-benchmarks/src/test/resources/workload_specs/"
    "basic_catalog_managed/delta": CATALOG,
    "delta-io__delta/kernel/kernel-defaults/src/test/resources/catalog-owned-preview": CATALOG,
    f"{SPARK}table-with-dv-large": (TableProblem, "deletion vector is missing"),
    f"{SPARK}variant-stats-no-checkpoint": VARIANT,
    f"{SPARK}variant-stats-with-struct-no-checkpoint": VARIANT,
}
"""Tables whose rows are refused, and why."""

BY_DUCKDB = {
    f"{KERNEL}type-widening": "deltalake does not know the feature typeWidening-preview",
    f"{GOLDEN}type-widening": "likewise",
    f"{GOLDEN}type-widening-nested": "likewise",
    f"{RUST}table_with_edge_timestamps": "deltalake reads INT96 as nanoseconds, which overflow",
}
"""Tables that deltalake cannot read, or reads wrongly."""

LARGE = f"{GOLDEN}parquet-decimal-type"
"""It has 99,998 rows, of decimals, and a test of its own."""

NO_REFEREE = f"{RUST}simple_table_features"
"""Its protocol names features for readers below version 3, which delta-rs and DuckDB refuse."""


@cache
def root_of(name: str) -> Path:
    return tables.folder() / name


def assert_same(found: pa.Table, expected: pa.Table) -> None:
    """Assert that a table has these rows, whatever their order; for types that Arrow sorts."""
    assert sorted(found.column_names) == sorted(expected.column_names)
    expected = expected.select(found.column_names).cast(found.schema)
    order = [(name, "ascending") for name in found.column_names]
    assert found.sort_by(order).equals(expected.sort_by(order))


readable = pytest.mark.parametrize(
    "name", [one for one in tables.names() if one not in {*REFUSED, NO_REFEREE, LARGE}]
)


@pytest.mark.skipif(LARGE not in tables.names(), reason="there are no real tables")
def test_a_large_table() -> None:
    """The same questions as those about the others; rows in Python would take half a minute."""
    root = root_of(LARGE)
    expected = tables.table_by_deltalake(root)
    assert expected.num_rows > 10_000
    found = read_table(root)
    assert_same(found, expected)
    assert pa.Table.from_batches(iter_batches(root, batch_size=300)).equals(found)
    for column in found.column_names:
        assert_same(read_table(root, columns=[column]), expected.select([column]))
    for column in expected.column_names[:2]:
        values = expected[column].to_pylist()
        rows = [{column: one} for one in values]
        for condition, meets, _ in conditions(rows):
            wanted = expected.filter(pa.array([meets(one) for one in values]))
            assert_same(read_table(root, filters=condition), wanted)
    for condition in (Constant(value=True), Not(IsNull(column))):
        scanned = dataset(root, filters=condition).to_table()
        assert scanned.equals(read_table(root, filters=condition))


@pytest.mark.parametrize("name", [one for one in tables.names() if one in REFUSED])
def test_what_cannot_be_returned_is_refused_by_name(name: str) -> None:
    kind, message = REFUSED[name]
    with pytest.raises(kind, match=message):
        read_table(root_of(name))


COMPARE: dict[Operator, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
MOST_COLUMNS = 3
"""Of a wide table, that are asked about."""

LITERALS = (bool, int, float, str, bytes, Decimal, date, datetime)


def conditions(rows: list[tables.Row]) -> Iterator[tuple[Expression, Callable[[Any], bool], str]]:
    """Yield conditions on some columns, what they mean, and the column.

    Each has an equality and a test for null, the first has a list and negations too. Which other
    comparison a column has depends on lengths: the tables together have all.
    """
    others = [sign for sign in COMPARE if sign != "="]
    for place, name in enumerate(some_columns(rows)):
        found = [row[name] for row in rows if isinstance(row[name], LITERALS)]
        values = list(dict.fromkeys(one for one in found if one == one))  # noqa: PLR0124  no NaN
        yield IsNull(name), partial(is_, None), name
        if not place:
            yield Not(IsNull(name)), partial(is_not, None), name
        if not values:
            continue
        some: tuple[Any, ...] = (values[0], values[len(values) // 2], values[-1])
        signs: tuple[Operator, ...] = ("=", others[(len(rows) + len(name)) % len(others)])
        for value, sign in zip(some[1:], signs, strict=True):
            yield Comparison(name, sign, value), partial(meets, COMPARE[sign], value), name
        if not place:
            yield IsIn(name, some), partial(is_among, some), name
            yield Not(IsIn(name, some[:1])), partial(is_not_among, some[:1]), name


def some_columns(rows: list[tables.Row]) -> list[str]:
    """Return columns from first to last."""
    names = list(rows[0]) if rows else []
    return names[:: -(-len(names) // MOST_COLUMNS) or 1]


def meets(compare: Callable[[Any, Any], bool], value: object, one: object) -> bool:
    return one is not None and bool(compare(one, value))


def is_among(values: tuple[object, ...], one: object) -> bool:
    return one is not None and one in values


def is_not_among(values: tuple[object, ...], one: object) -> bool:
    return one is not None and one not in values


INEXPRESSIBLE = "dataset cannot (leave out deleted rows|have columns under other names|have files)"


def by_another_engine(name: str) -> list[tables.Row]:
    """Return the rows that another engine reads."""
    if name not in BY_DUCKDB:
        return tables.by_deltalake(root_of(name))
    found = delta_rows(root_of(name))
    assert not isinstance(found, str), found
    return found


def is_found_in_a_dataset(root: Path, condition: Expression, expected: pa.Table) -> bool:
    """Check that a dataset has the same rows; False if it is refused for a reason that holds."""
    try:
        found = dataset(root, filters=condition).to_table()
    except UnsupportedTable as error:
        assert re.search(INEXPRESSIBLE, str(error))  # noqa: PT017  either is right
        return False
    assert found.schema == expected.schema
    assert tables.bag(found.to_pylist()) == tables.bag(expected.to_pylist())
    return True


@readable
def test_the_same_rows(name: str) -> None:
    """All rows, the rows that satisfy a condition, some columns, and the rows of a dataset."""
    root, reference = root_of(name), by_another_engine(name)
    spelled = [tables.spelled_row(row) for row in reference]
    everything = read_table(root)
    rows = everything.to_pylist()
    assert tables.bag(rows) == Counter(spelled)
    pieces = [row for one in iter_batches(root, batch_size=3) for row in one.to_pylist()]
    assert pieces == rows
    is_dataset = is_found_in_a_dataset(root, Constant(value=True), everything)
    for column in some_columns(reference):
        narrow = read_table(root, columns=[column])
        assert narrow.column_names == [column]
        expected = [{column: row[column]} for row in reference]
        assert tables.bag(narrow.to_pylist()) == tables.bag(expected)
    for condition, meets, column in conditions(reference):
        found = read_table(root, filters=condition)
        wanted = compress(spelled, (meets(row[column]) for row in reference))
        assert tables.bag(found.to_pylist()) == Counter(wanted), condition
        if is_dataset and column == next(iter(reference[0])) and isinstance(condition, Not):
            is_dataset = is_found_in_a_dataset(root, condition, found)
