"""Conditions on elements of lists, and on keys and values of maps: what is read, and what is not.

DuckDB says which rows satisfy a condition. No row group with such a row may be excluded, and the
reading verbs return just these rows.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parquet_bloomwriter import (
    BloomFile,
    bloomify,
    dataset,
    iter_batches,
    probe,
    read_table,
    scan_polars,
)
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.predicate import parse
from parquet_bloomwriter.predicate.expression import Holds, Not
from parquet_bloomwriter.predicate.to_sql import spell_value

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloomwriter.predicate import Filters
    from parquet_bloomwriter.predicate.expression import Expression

    Rows = list[list[Any] | None]

GROUPS, ROWS = 10, 100


def tagged() -> pa.Table:
    """Ten row groups; each value is in one of them, and statistics tell nothing."""
    numbers = [n * 7_919 % 10_007 for n in range(GROUPS * ROWS)]
    return pa.table(
        {
            "n": range(len(numbers)),
            "tags": [[f"t{n}", None, f"t{n}"] if n % 4 else [None, []][n % 3 % 2] for n in numbers],
            "m": pa.array(
                [{f"k{n}": n, "any": None} if n % 5 else None for n in numbers],
                pa.map_(pa.string(), pa.int64()),
            ),
        }
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a file with filters of all parts of lists and maps."""
    found = str(tmp_path_factory.mktemp("elements") / "tagged.parquet")
    pq.write_table(tagged(), found, row_group_size=ROWS)
    bloomify(found, ["tags.list.element", "m.key_value.key", "m.key_value.value"])
    return found


def surviving(source: object, filters: Filters) -> tuple[int, ...]:
    (file,) = probe(source, filters).files
    return tuple(file.surviving)


def read_by_all(source: str, filters: Filters) -> list[int]:
    """Return the rows that every verb reads."""
    found: list[int] = read_table(source, filters=filters, columns=["n"])["n"].to_pylist()
    batches = iter_batches(source, filters=filters, columns=["n"])
    assert [n for one in batches for n in one["n"].to_pylist()] == found
    assert dataset(source, filters=filters).to_table(columns=["n"])["n"].to_pylist() == found
    assert dataset(source, filters=filters).count_rows() == len(found)
    return found


def test_conditions_on_elements_exclude_row_groups(path: str) -> None:
    conditions = {
        "list_contains(tags, 't3358')": 1,
        "list_has(tags, 't3358') AND n >= 0": 1,
        "array_contains(tags, 't3358')": 1,
        "'t3358' = ANY (tags)": 1,
        "'t3358' = SOME(tags)": 1,
        "list_contains(tags, 't3358') OR list_contains(tags, 't8765')": 2,
        "list_contains(tags, NULL)": 0,
        "list_contains(tags, 'zzz')": 0,
        "map_contains(m, 'k3358')": 1,
        "map_contains_key(m, 'k3358')": 1,
        "list_contains(map_keys(m), 'k3358')": 1,
        "map_contains_value(m, 3358)": 1,
        "array_contains(map_values(m), 3358.0)": 1,
        "map_contains_value(m, 3358.5)": 0,
        "map_contains(m, 'any')": GROUPS,
        "NOT list_contains(tags, 't3358')": GROUPS,
        "'t3358' <> ALL (tags)": GROUPS,
        "NOT ('t3358' = ANY (tags))": GROUPS,
        "NOT (map_contains(m, 'k3358') AND NOT list_contains(tags, 't1'))": GROUPS,
    }
    assert {one: len(surviving(path, one)) for one in conditions} == conditions


def test_rows_are_those_that_duckdb_finds(path: str) -> None:
    conditions = [
        *(
            "list_contains(tags, 't3358')",
            "list_has(tags, 't3358')",
            "array_contains(tags, 't3358')",
        ),
        *("'t3358' = ANY (tags)", "'t3358' <> ALL (tags)", "NOT list_contains(tags, 't3358')"),
        *("list_contains(tags, NULL)", "NOT list_contains(tags, NULL)"),
        *("list_contains(tags, 't3358') OR n = 3", "NOT (list_contains(tags, 't3358') OR n = 3)"),
        *("map_contains(m, 'k3358')", "NOT map_contains(m, 'k3358')", "map_contains(m, 'any')"),
        *("map_contains_value(m, 3358)", "NOT map_contains_value(m, 3358)"),
        *("list_contains(map_keys(m), 'k3358')", "list_contains(map_values(m), 3358.5)"),
    ]
    with duckdb.connect() as engine:
        for where in conditions:
            query = f"SELECT n FROM '{path}' WHERE {where} ORDER BY n"  # noqa: S608
            assert read_by_all(path, where) == [n for (n,) in engine.execute(query).fetchall()]
    with duckdb.connect() as engine:
        rows = dataset(path, filters="list_contains(tags, 't3358')")  # noqa: F841  DuckDB finds it
        assert engine.execute("SELECT count(*) FROM rows").fetchall() == [(1,)]


def test_a_file_of_the_folder_may_lack_the_list(tmp_path: Path) -> None:
    lists = [["a"], ["b"], ["b", None], [None], [], None]
    table = pa.table({"n": range(6), "tags": pa.array(lists, pa.list_(pa.string()))})
    pq.write_table(table, tmp_path / "1.parquet", row_group_size=4)
    pq.write_table(pa.table({"n": range(6, 9)}), tmp_path / "2.parquet")
    conditions = [
        *("list_contains(tags, 'a')", "NOT list_contains(tags, 'a')", "'a' = ANY (tags)"),
        *("'a' <> ALL (tags)", "NOT list_contains(tags, 'a') OR n = 7"),
        *("list_contains(tags, 'a') OR n = 7", "tags IS NULL"),
    ]
    files = f"read_parquet('{tmp_path}/*.parquet', union_by_name => true)"
    with duckdb.connect() as engine:
        for where in conditions:
            query = f"SELECT n FROM {files} WHERE {where} ORDER BY n"  # noqa: S608
            expected = [n for (n,) in engine.execute(query).fetchall()]
            assert read_by_all(str(tmp_path), where) == expected, where


def test_where_engines_differ_spark_has_array_contains_and_duckdb_the_others() -> None:
    lists = [["a"], ["b"], ["b", None], [None], [], None]
    table = pa.BufferOutputStream()
    pq.write_table(pa.table({"tags": pa.array(lists, pa.list_(pa.string()))}), table)
    expected = {
        "NOT list_contains(tags, 'a')": [["b"], ["b", None], [None], []],
        "NOT array_contains(tags, 'a')": [["b"], []],
        "'a' <> ALL (tags)": [["b"], [], None],
        "NOT list_contains(tags, 'c')": [["a"], ["b"], ["b", None], [None], []],
        "NOT array_contains(tags, NULL)": [],
    }
    data = table.getvalue()
    assert {
        where: read_table(data, filters=where)["tags"].to_pylist() for where in expected
    } == expected


def test_other_notations(path: str) -> None:
    import polars as pl

    key = pc.map_lookup(pc.field("m"), "k3358", "all").is_valid()
    assert len(surviving(path, key)) == 1
    everything = pq.read_table(path)
    for filters in (key, ~key):
        assert read_by_all(path, filters) == everything.filter(filters)["n"].to_pylist()
    first = pc.map_lookup(pc.field("m"), "any", "first").is_valid()  # null: the value is
    assert len(surviving(path, first)) == GROUPS
    assert read_by_all(path, first) == []
    tags, frame = pl.col("tags"), scan_polars(path)
    whole = pl.read_parquet(path, columns=["n", "tags"])
    for one in (
        tags.list.contains("t3358"),
        ~tags.list.contains("t3358"),
        tags.list.contains(None),
    ):
        found = frame.filter(one).select("n").collect()
        assert found["n"].to_list() == whole.filter(one)["n"].to_list()
    from parquet_bloomwriter.predicate.polars_in import from_polars

    tree = from_polars(tags.list.contains("t3358"), whole.schema)
    assert tree == parse("list_contains(tags, 't3358')")
    assert isinstance(
        from_polars(tags.list.contains(pl.col("n")), whole.schema), type(parse("f(n)"))
    )
    with BloomFile(path) as file:
        assert list(file.might_contain("tags", ["t3358", "zzz"])) == [True, False]  # type: ignore[arg-type]  # an array for a list


def test_what_is_no_list_is_refused(path: str) -> None:
    for where, problem in {
        "list_contains(n, 5)": "it is no list, but of type int64",
        "map_contains(tags, 'x')": "it is no map",
        "list_contains(m, 'x')": "it is no list",
        "list_contains(tags, 5)": "cannot be compared",
        "list_contains(tags, lower('X'))": "cannot be evaluated",
        "NULL = ANY (tags)": "cannot be evaluated",
    }.items():
        assert len(surviving(path, where)) == GROUPS
        with pytest.raises(InvalidArgument, match=problem):
            read_table(path, filters=where)
    with pytest.raises(InvalidArgument, match='no column "tagz"'):
        probe(path, "list_contains(tagz, 'x')")


def test_columns_that_the_table_has_otherwise_exclude_nothing() -> None:
    """The file stores no element 0.1 of 32 bits; read with the table's schema, it has one."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"x": [[0.1], [0.5]]}), sink)
    schema = pa.schema({"x": pa.list_(pa.float32())})
    where = "list_contains(x, 0.10000000149011612e0)"
    assert surviving(sink.getvalue(), where) == ()
    assert read_table(sink.getvalue(), schema=schema, filters=where).num_rows == 1


VALUES = {
    "string": (pa.string(), st.sampled_from(["a", "b", "", "ab"])),
    "int": (pa.int32(), st.integers(-2, 2)),
    "long": (pa.int64(), st.sampled_from([-1, 0, 1, 2**53 + 1])),
    "float": (pa.float32(), st.sampled_from([0.0, -0.0, 0.5, 0.1, float("nan")])),
    "decimal": (pa.decimal128(5, 2), st.sampled_from([Decimal("1.50"), Decimal("-2.25")])),
    "date": (pa.date32(), st.sampled_from([date(2020, 1, 1), date(1969, 12, 31)])),
    "bytes": (pa.binary(), st.sampled_from([b"", b"\xff", b"a"])),
}
LITERALS: dict[str, list[Any]] = {
    "string": ["a", "c"],
    "int": [1, 2.0, Decimal("1.0"), Decimal("0.5"), 2**40, "1"],
    "long": [0, 2**53 + 1, 2**53],
    "float": [0.0, 0.5, 0.1, 1],
    "decimal": [Decimal("1.5"), 1.5, 2, Decimal("1.501")],
    "date": [date(2020, 1, 1), "2020-01-01", date(1999, 1, 1)],
    "bytes": [b"\xff", b"b"],
}


@st.composite
def lists_and_literals(draw: st.DrawFn) -> tuple[pa.Array, Any, str]:
    """Draw lists of one type, a literal, and how the file is written."""
    name = draw(st.sampled_from(sorted(VALUES)))
    type_, values = VALUES[name]
    inner = st.lists(st.none() | values, max_size=3)
    lists = draw(st.lists(st.none() | inner, min_size=1, max_size=12))
    writer = draw(st.sampled_from(["pyarrow", "item", "plain", "large", "duckdb"]))
    list_type = pa.large_list(type_) if writer == "large" else pa.list_(type_)
    return pa.array(lists, list_type), draw(st.sampled_from(LITERALS[name])), writer


def written(lists: pa.Array, writer: str, path: str) -> None:
    table = pa.table({"n": range(len(lists)), "tags": lists})
    if writer == "duckdb":
        with duckdb.connect() as engine:
            engine.register("lists_of_file", table)
            engine.execute(f"COPY (FROM lists_of_file) TO '{path}' (ROW_GROUP_SIZE 2)")
        return
    pq.write_table(
        table,
        path,
        row_group_size=2,
        use_compliant_nested_type=writer != "item",
        use_dictionary=writer != "plain",
        write_statistics=writer != "plain",
    )


@settings(max_examples=12)
@given(lists_and_literals())
@example((pa.array([[1], None, [2, None], []], pa.list_(pa.int32())), "1", "duckdb"))
def test_against_an_oracle(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[pa.Array, Any, str]
) -> None:
    lists, literal, writer = case
    path = str(tmp_path_factory.mktemp("oracle") / "lists.parquet")
    written(lists, writer, path)
    bloomify(path)
    tree = Holds("tags", "element", literal)
    expected = {False: rows_by_duckdb(path, tree), True: rows_by_duckdb(path, Not(tree))}
    for is_negated, wanted in expected.items():
        where: Expression = Not(tree) if is_negated else tree
        kept = surviving(path, where)
        starts = [0]
        metadata = pq.read_metadata(path)
        for group in range(metadata.num_row_groups):
            starts.append(starts[-1] + metadata.row_group(group).num_rows)
        for n in wanted:
            assert any(starts[group] <= n < starts[group + 1] for group in kept)
        if not is_rounded(lists.type.value_type, literal):
            assert read_by_all(path, where) == wanted


def is_rounded(type_: pa.DataType, literal: object) -> bool:
    """Whether DuckDB compares rounded values, and this library the exact ones."""
    return pa.types.is_floating(type_) and literal == 0.1


def rows_by_duckdb(path: str, tree: Expression) -> list[int]:
    operand = tree.operand if isinstance(tree, Not) else tree
    assert isinstance(operand, Holds)
    where = f"list_contains(tags, {spell_value(operand.value)})"
    where = f"NOT {where}" if isinstance(tree, Not) else where
    with duckdb.connect() as engine:
        query = f"SELECT n FROM '{path}' WHERE {where} ORDER BY n"  # noqa: S608
        return [n for (n,) in engine.execute(query).fetchall()]
