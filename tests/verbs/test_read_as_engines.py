"""Rows that `read_table` and its siblings return, beside the rows that DuckDB finds."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import (
    InvalidArgument,
    bloomify,
    dataset,
    iter_batches,
    probe,
    read_table,
    scan_polars,
)

if TYPE_CHECKING:
    from pathlib import Path


def rows_of(path: Path, filters: Any) -> list[int]:  # noqa: ANN401  in any notation
    """Return the rows that every reading verb returns; they must agree."""
    found: list[int] = read_table(path, filters=filters)["row"].to_pylist()
    batches = iter_batches(path, filters=filters)
    assert [row for one in batches for row in one["row"].to_pylist()] == found
    assert dataset(path, filters=filters).to_table()["row"].to_pylist() == found
    assert dataset(path, filters=filters).count_rows() == len(found)
    return found


def duckdb_rows(path: Path, condition: str) -> list[int]:
    query = f"SELECT row FROM '{path}' WHERE {condition} ORDER BY row"  # noqa: S608  the tests' own
    return [row for (row,) in duckdb.execute(query).fetchall()]


def all_rows_of(path: Path, filters: Any) -> list[int]:  # noqa: ANN401  in any notation
    """Return the rows that every verb returns, whichever of some columns are wanted."""
    found = rows_of(path, filters)
    rows = dataset(path, filters=filters)
    for name in rows.schema.names[:: max(1, len(rows.schema.names) // 3)]:
        assert rows.to_table([name]).num_rows == len(found), name
        assert read_table(path, columns=[name], filters=filters).num_rows == len(found), name
        batches = iter_batches(path, columns=[name], filters=filters)
        assert sum(one.num_rows for one in batches) == len(found), name
    return found


def swapped(data: bytes, *pairs: tuple[bytes, bytes]) -> bytes:
    """Swap byte strings of one length in the footer of a file."""
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    footer = data[start:]
    for one, two in pairs:
        assert one in footer
        assert two in footer
        footer = footer.replace(one, b"\xfe" * len(one)).replace(two, one)
        footer = footer.replace(b"\xfe" * len(one), two)
    return data[:start] + footer


def test_a_minimum_above_the_maximum_loses_no_row(tmp_path: Path) -> None:
    """Neither probing nor pyarrow believes it, in files, folders, lists and as bytes."""
    low, high = 0x1111_2222_3333_4444, 0x5555_6666_7777_0000
    middle = (low + high) // 2
    table = pa.table({"row": [0, 1, 2], "n": [low, middle, high], "s": ["aaaaaa", "mm", "zzzzzz"]})
    folder = tmp_path / "folder"
    folder.mkdir()
    path, plain = folder / "a.parquet", folder / "b.parquet"
    for one in (path, plain):
        pq.write_table(table, one, store_schema=False)
    numbers = (low.to_bytes(8, "little"), high.to_bytes(8, "little"))
    path.write_bytes(swapped(path.read_bytes(), numbers, (b"aaaaaa", b"zzzzzz")))
    found = pq.read_metadata(path).row_group(0).column(1).statistics
    assert found.min > found.max
    n, s = pc.field("n"), pc.field("s")
    for filters, rows in (
        (f"n = {middle}", [1]),
        (f"n < {middle}", [0]),
        (f"n BETWEEN {low} AND {middle}", [0, 1]),
        ("s = 'mm'", [1]),
        ("s > 'b'", [1, 2]),
        ("lower(s) = 'mm'", [1]),
        (f"s = 'mm' OR n = {high}", [1, 2]),
        (n == middle, [1]),
        (n.isin([low, middle]), [0, 1]),
        (s < "b", [0]),
        (~(s == "mm"), [0, 2]),
    ):
        assert rows_of(path, filters) == rows, filters
        assert rows_of(folder, filters) == [*rows, *rows], filters
        assert read_table(path.read_bytes(), filters=filters)["row"].to_pylist() == rows
    lazy = scan_polars(folder).filter(pl.col("n") == middle).select("row").collect()
    assert lazy["row"].to_list() == [1, 1]


def test_files_that_lack_columns_of_the_condition(tmp_path: Path) -> None:
    """Whichever columns are wanted: pyarrow counts rows wrongly if a file has none of them."""
    places = {"k=1/s=x": (), "k=2/s=B": ("a", "f"), "k=3/s=b": ("a", "f", "st", "t", "e")}
    places["k=4/s=__HIVE_DEFAULT_PARTITION__"] = ("t",)
    first, parts = 0, []
    for place, lacking in places.items():
        (tmp_path / "rows" / place).mkdir(parents=True)
        table = pa.table(
            {
                "row": range(first, first + 4),
                "a": [1, None, 0, 2],
                "f": [0.1, 0.2, None, -0.0],
                "st": [{"x": 1, "y": "q"}, None, {"x": None, "y": "Q"}, {"x": 3, "y": None}],
                "e": pa.nulls(4, pa.int64()),
                "t": ["a", "B", None, "b"],
            }
        )
        stored = table.drop(list(lacking))
        pq.write_table(stored, tmp_path / "rows" / place / "x.parquet", row_group_size=2)
        k, s = (part.partition("=")[2] for part in place.split("/"))
        empty = pa.table({one: pa.nulls(4, table.schema.field(one).type) for one in lacking})
        for name in lacking:
            stored = stored.append_column(name, empty[name])
        stored = stored.append_column("k", pa.array([int(k)] * 4))
        s_value = None if s.startswith("__") else s
        parts.append(stored.append_column("s", pa.array([s_value] * 4, pa.string())))
        first += 4
    whole = pa.concat_tables([one.select(parts[0].column_names) for one in parts])
    connection = duckdb.connect()
    connection.register("whole", whole)
    for condition in (
        "f IS NULL OR f <> 0.1",
        "f = 0.1",
        "NOT (f <= 0)",
        "lower(s) = 'b'",
        "NOT (k + a = 2)",
        "st.x + 1 = 2",
        "st.y IS NULL",
        "e IS NULL AND a = 1",
        "coalesce(a, k) = 1",
        "t LIKE 'a%' OR k = 3",
        "a NOT IN (1, k)",
        "lower(s) = 'b' OR a = 1",
        "NOT (k + 1 = 2 OR lower(s) = 'x')",
        "a IS DISTINCT FROM e",
    ):
        query = f"SELECT row FROM whole WHERE {condition} ORDER BY row"  # noqa: S608
        expected = [row for (row,) in connection.execute(query).fetchall()]
        assert all_rows_of(tmp_path / "rows", condition) == expected, condition


def test_decimals_equal_the_floats_that_they_are_rounded_to(tmp_path: Path) -> None:
    """Pyarrow's cast makes 0.7000000000000001 of 0.70, so it must not compare them."""
    path = tmp_path / "prices.parquet"
    numbers = ("0.70", "1.00", "2.50", "-0.70", "0.00", "999.99", None)
    prices = [None if one is None else Decimal(one) for one in numbers]
    for precision in (9, 18, 30):
        column = pa.array(prices, pa.decimal128(precision, 2))
        pq.write_table(pa.table({"row": range(7), "d": column}), path, row_group_size=2)
        bloomify(path, ["d"])
        for condition in (
            *(
                f"d {one} {two}"
                for one in ("=", "<>", "<", "<=", ">", ">=")
                for two in ("7e-1", "-7e-1")
            ),
            "d IN (0.7, 1e0)",
            "d IN (7e-1)",
            "d NOT IN (7e-1, 2.5e0)",
            "d = 7.0000001e-1",
            "d > 0.6999999e0",
            "d BETWEEN 7e-1 AND 25e-1",
            "d < 1e300",
            "d = 0e0",
        ):
            assert rows_of(path, condition) == duckdb_rows(path, condition), condition
        assert rows_of(path, [("d", "in", [0.7])]) == [0]
        assert rows_of(path, [("d", "not in", [0.7, 1.0])]) == [2, 3, 4, 5, 6]
        for length in (11, 102):
            many = [0.7, *(1000.25 + one for one in range(length - 1))]
            assert rows_of(path, [("d", "in", many)]) == [0]
            assert rows_of(path, " OR ".join(f"d = {one!r}e0" for one in many)) == [0]


def test_several_decimals_equal_one_float(tmp_path: Path) -> None:
    """Of decimals of many digits, DOUBLE keeps about 16: neighbours become the same number."""
    path = tmp_path / "fine.parquet"
    step = Decimal("0.00000000000000000001")
    numbers = [Decimal("0.7") + step * one for one in (-9_000_000, -3, -1, 0, 1, 3, 9_000_000)]
    table = {"row": range(7), "d": pa.array(numbers, pa.decimal128(30, 20))}
    pq.write_table(pa.table(table), path, row_group_size=2)
    near = [1, 2, 3, 4, 5]
    assert [float(one) == 0.7 for one in numbers] == [row in near for row in range(7)]
    assert rows_of(path, "d = 7e-1") == near
    assert rows_of(path, "d IN (7e-1, 5e0)") == near
    assert rows_of(path, "d <> 7e-1") == rows_of(path, "NOT (d IN (7e-1))") == [0, 6]
    assert rows_of(path, "d < 7e-1") == [0]
    assert rows_of(path, "d >= 7e-1") == [*near, 6]
    assert rows_of(path, "d > 7e-1") == [6]


def test_computed_doubles_of_integers_that_are_not_exact(tmp_path: Path) -> None:
    path = tmp_path / "big.parquet"
    table = pa.table({"row": [0, 1, 2], "big": [2**53 + 1, 2**53, 5]})
    pq.write_table(table, path)
    for condition in (
        "CAST(big AS DOUBLE) = 9007199254740992",
        "CAST(big AS DOUBLE) > 1e0",
        "big * 1e0 = 9007199254740992e0",
        "CAST(big AS DOUBLE) <> 5",
    ):
        assert rows_of(path, condition) == duckdb_rows(path, condition), condition


def test_nulls_in_long_lists(tmp_path: Path) -> None:
    """The list is cut out of the text before it is parsed, with NULL in it or without."""
    path = tmp_path / "nulls.parquet"
    table = pa.table({"row": range(4), "n": [1, None, 3, 5000], "s": ["NULL", None, "1", "x"]})
    pq.write_table(table, path)
    numbers = ", ".join(map(str, range(2, 1500)))
    texts = ", ".join(f"'{one}'" for one in range(1, 1500))
    for condition in (
        f"n IN ({numbers}, NULL)",
        f"n IN (null, {numbers})",
        f"n NOT IN ({numbers}, NULL)",
        f"n NOT IN ({numbers})",
        f"NOT (n IN (NULL, NULL, {numbers}))",
        f"s IN ({texts}, NULL)",
        f"s IN (NULL, 'NULL', {texts})",
        f"s NOT IN ({texts}, 'NULL')",
        f"s NOT IN ({texts}, NULL)",
    ):
        assert rows_of(path, condition) == duckdb_rows(path, condition), condition[:30]


def test_literals_that_engines_read_in_different_ways_exclude_nothing(tmp_path: Path) -> None:
    path = tmp_path / "literals.parquet"
    start = 1_704_103_200 * 10**9  # 2024-01-01 10:00:00
    table = pa.table(
        {
            "float": [0.10000000149011612, 0.1],
            "whole": [1, 2],
            "at": pa.array([start + 123_456_000, start + 123_456_789], pa.timestamp("ns")),
            "time": pa.array([36_000 * 10**9 + 123_456_000, 5], pa.time64("ns")),
        }
    )
    pq.write_table(table, path, row_group_size=1)
    bloomify(path, table.column_names)
    for condition, groups in {
        "float = CAST(0.1 AS FLOAT)": (0, 1),  # 32 bits in DuckDB and Spark, 64 in PostgreSQL
        "float = CAST(0.5 AS FLOAT)": (),
        "float = CAST(0.1 AS DOUBLE)": (1,),
        "whole = 1.0000000000000001": (0, 1),  # DataFusion reads a DOUBLE
        "whole = 1.5": (),
        "at = TIMESTAMP '2024-01-01 10:00:00.123456789'": (0, 1),  # DuckDB cuts to microseconds
        "at = TIMESTAMP '2024-01-01 10:00:00.123456'": (0,),
        "time = TIME '10:00:00.123456789'": (0,),
    }.items():
        found = probe(path, condition).might_match
        assert [one.surviving for one in found] == ([groups] if groups else []), condition
    with pytest.raises(InvalidArgument, match="cannot be evaluated: float = CAST"):
        read_table(path, filters="float = CAST(0.1 AS FLOAT)")


def test_offsets_that_some_readers_ignore(tmp_path: Path) -> None:
    """DuckDB 2.0 takes the clock of a TIMESTAMP for the session's, whatever its offset."""
    path = tmp_path / "moments.parquet"
    start, hour = 1_704_103_200 * 10**6, 3_600 * 10**6  # 2024-01-01 10:00:00Z
    moments = [start, start + hour, start + 2 * hour]
    table = pa.table({"row": [0, 1, 2], "moment": pa.array(moments, pa.timestamp("us", "UTC"))})
    pq.write_table(table, path, row_group_size=1)
    bloomify(path, ["moment"])
    connection = duckdb.connect()
    for zone in ("UTC", "Europe/Berlin"):
        connection.execute(f"SET TimeZone = '{zone}'")
        for kind in ("TIMESTAMP", "TIMESTAMPTZ", ""):
            for operator in ("=", "<>", "<", ">="):
                condition = f"moment {operator} {kind} '2024-01-01 12:00:00+02:00'"
                query = f"SELECT row FROM '{path}' WHERE {condition}"  # noqa: S608
                found = {row for (row,) in connection.execute(query).fetchall()}
                mine = read_table(path, filters=condition)["row"].to_pylist()
                assert found | set(mine) <= set(probe(path, condition).files[0].surviving)
                assert kind == "TIMESTAMP" or found == set(mine)
    assert rows_of(path, "moment = TIMESTAMP '2024-01-01 12:00:00+02:00'") == [0]
    (file,) = probe(path, "moment = TIMESTAMPTZ '2024-01-01 12:00:00+02:00'").files
    assert file.surviving == (0,)


def test_times_outside_a_day(tmp_path: Path) -> None:
    """Fastparquet stores durations as times."""
    path = tmp_path / "times.parquet"
    hour = 3_600 * 10**6
    hours = pa.array([1, 25, -1, 48, None])
    micros = pa.compute.multiply(hours, hour)
    columns = {
        "us": micros.view(pa.time64("us")),
        "ns": pa.compute.multiply(micros, 1000).view(pa.time64("ns")),
        "ms": pa.compute.divide(micros, 1000).cast(pa.int32()).view(pa.time32("ms")),
    }
    pq.write_table(pa.table({"row": range(5), **columns}), path, row_group_size=2)
    bloomify(path, list(columns))
    for name, column in columns.items():
        for place, hour in enumerate(hours.to_pylist()[:4]):
            one = column[place]
            others = [row for row in range(4) if row != place]
            assert rows_of(path, [(name, "=", one)]) == [place]
            assert rows_of(path, [(name, "!=", one)]) == others
            assert rows_of(path, [(name, "in", column[place : place + 1])]) == [place]
            assert rows_of(path, [(name, "not in", column[place : place + 1])]) == [*others, 4]
            assert rows_of(path, pc.field(name) == one) == [place]
            below = [row for row, other in enumerate(hours.to_pylist()[:4]) if other < hour]
            assert rows_of(path, [(name, "<", one)]) == below
        assert rows_of(path, f"{name} > TIME '23:59:59.9'") == [1, 3]
        assert rows_of(path, f"{name} <> TIME '01:00:00'") == [1, 2, 3]


def test_text_that_is_no_unicode_and_text_with_a_name_of_pyarrow(tmp_path: Path) -> None:
    path = tmp_path / "texts.parquet"
    text = "see __filename"
    pq.write_table(pa.table({"row": [0, 1], "s": ["a", text]}), path)
    assert rows_of(path, f"s = {json.dumps(text)}".replace('"', "'")) == [1]
    assert rows_of(path, [("s", "in", [text, "b"])]) == [1]
    for filters in ("s = '\udcff'", [("s", "=", "\udcff")], [("s", "in", ["\udcff"])]):
        with pytest.raises(InvalidArgument, match=r"Unicode|utf-8"):
            read_table(path, filters=filters)


def test_values_and_paths_that_nothing_can_hold(tmp_path: Path) -> None:
    path = tmp_path / "values.parquet"
    number, moment = pa.array([1, 2]), pa.array([1, 2], pa.timestamp("us"))
    price = pa.array([Decimal("0.1")] * 2, pa.decimal128(30, 20))
    pq.write_table(pa.table({"row": [0, 1], "n": number, "t": moment, "d": price}), path)
    for value in (10**400, pa.scalar(2**31 - 1, pa.date32()), pa.scalar(2**62, pa.duration("s"))):
        for filters in ([("t", "=", value)], [[("t", "in", [value])], [("n", "=", 1)]]):
            probe(path, filters)
            try:
                read_table(path, filters=filters)
            except (InvalidArgument, pa.ArrowException) as error:
                assert "cannot" in str(error)  # noqa: PT017  both are answers
    with pytest.raises(InvalidArgument, match="more than pyarrow can evaluate"):
        read_table(path, filters=[("d", "in", [one + 0.1 for one in range(12_000)])])
    broken = f"{path}\0"
    for verb in (
        lambda: probe(broken, "n = 1"),
        lambda: read_table([broken]),
        lambda: dataset(broken),
        lambda: scan_polars(broken),
        lambda: bloomify(broken, ["n"]),
        lambda: bloomify(path, ["n"], output=broken),
        lambda: bloomify(path, ["n"], backup_dir=broken),
    ):
        with pytest.raises(InvalidArgument, match="has a NUL"):
            verb()
