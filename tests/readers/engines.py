"""Query engines behind one face: count the rows where a column equals a value.

Each spells literals its own way. An engine that cannot read a column, or has no such literal,
answers with the name of its error; the same question to the file without filters must then get the
same answer.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

Answer = int | str


class Engine(Protocol):
    """A reader that knows nothing of the package under test."""

    @property
    def name(self) -> str:
        """What the tests call it."""
        ...

    def literal(self, kind: pa.DataType, value: Any) -> str | None:  # noqa: ANN401
        """`value` of the Arrow type `kind` in its SQL; None if it has none."""
        ...

    def counts(self, path: Path, conditions: Sequence[str]) -> list[Answer]:
        """Rows that meet each condition."""
        ...

    def rows(self, path: Path) -> str:
        """Everything in the file, as text."""
        ...


def equals(engine: Engine, column: str, kind: pa.DataType, value: object) -> str | None:
    """Compose the condition that a column has a value."""
    literal = engine.literal(kind, value)
    quote = '"' if engine.name != "spark" else "`"
    return None if literal is None else f"{quote}{column}{quote} = {literal}"


def text_of(value: object) -> str:
    """Numbers, decimals, dates and times as every engine parses them."""
    return str(value).replace("+00:00", "")


def _is_binary(kind: pa.DataType) -> bool:
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _quoted(value: object) -> str:
    return "'" + str(value).replace("'", "''") + "'"


class DuckDB:
    """DuckDB, in memory."""

    name = "duckdb"
    _types = {  # noqa: RUF012
        pa.int16(): "SMALLINT", pa.int32(): "INTEGER", pa.int64(): "BIGINT",
        pa.uint16(): "USMALLINT", pa.uint32(): "UINTEGER", pa.uint64(): "UBIGINT",
        pa.float32(): "FLOAT", pa.float64(): "DOUBLE", pa.date32(): "DATE",
        pa.timestamp("ms"): "TIMESTAMP_MS", pa.timestamp("us"): "TIMESTAMP",
        pa.timestamp("ns"): "TIMESTAMP_NS", pa.timestamp("us", "UTC"): "TIMESTAMPTZ",
        pa.uuid(): "UUID",
    }  # fmt: skip

    def __init__(self) -> None:
        import duckdb

        self._connection = duckdb.connect(config={"threads": 1})
        self._connection.execute("SET TimeZone = 'UTC'")

    def literal(self, kind: pa.DataType, value: Any) -> str | None:  # noqa: ANN401
        if _is_text(kind):
            return _quoted(value)
        if _is_binary(kind) or pa.types.is_fixed_size_binary(kind):
            return f"unhex('{value.hex()}')"
        if pa.types.is_decimal(kind):
            return f"CAST('{value}' AS DECIMAL({kind.precision}, {kind.scale}))"
        known = self._types.get(kind)
        return None if known is None else f"CAST('{text_of(value)}' AS {known})"

    def counts(self, path: Path, conditions: Sequence[str]) -> list[Answer]:
        return [self._count(path, condition) for condition in conditions]

    def _count(self, path: Path, condition: str) -> Answer:
        import duckdb

        query = f"SELECT count(*) FROM read_parquet('{path}') WHERE {condition}"  # noqa: S608
        try:
            (count,) = self._connection.execute(query).fetchall()[0]
        except duckdb.Error as error:
            return type(error).__name__
        return int(count)

    def rows(self, path: Path) -> str:
        import duckdb

        query = f"SELECT * FROM read_parquet('{path}')"  # noqa: S608
        try:
            return str(self._connection.execute(query).fetchall())
        except duckdb.Error as error:
            return type(error).__name__

    def row_groups_excluded(self, path: Path, column: str, literal: str) -> list[bool]:
        """For each row group, whether its filter rules the value out."""
        query = (
            "SELECT bloom_filter_excludes "  # noqa: S608
            f"FROM parquet_bloom_probe('{path}', '{column}', {literal}) ORDER BY row_group_id"
        )
        return [bool(row[0]) for row in self._connection.execute(query).fetchall()]

    def filters(self, path: Path) -> list[tuple[int | None, int | None]]:
        """Offset and length of the filter of each column chunk."""
        query = (
            "SELECT bloom_filter_offset, bloom_filter_length "  # noqa: S608
            f"FROM parquet_metadata('{path}') ORDER BY row_group_id, column_id"
        )
        return [(row[0], row[1]) for row in self._connection.execute(query).fetchall()]


class DataFusion:
    """DataFusion; a new context per file, because it caches metadata."""

    name = "datafusion"
    _types = {  # noqa: RUF012
        pa.int16(): "Int16", pa.int32(): "Int32", pa.int64(): "Int64",
        pa.uint16(): "UInt16", pa.uint32(): "UInt32", pa.uint64(): "UInt64",
        pa.float32(): "Float32", pa.float64(): "Float64", pa.date32(): "Date32",
        pa.timestamp("ms"): "Timestamp(ms)", pa.timestamp("us"): "Timestamp(µs)",
        pa.timestamp("ns"): "Timestamp(ns)", pa.timestamp("us", "UTC"): 'Timestamp(µs, "UTC")',
    }  # fmt: skip

    def literal(self, kind: pa.DataType, value: Any) -> str | None:  # noqa: ANN401
        if _is_text(kind):
            return _quoted(value)
        if _is_binary(kind):
            return f"X'{value.hex()}'"
        if kind == pa.uuid():
            return f"arrow_cast(X'{value.hex}', 'FixedSizeBinary(16)')"
        if pa.types.is_fixed_size_binary(kind):
            return f"arrow_cast(X'{value.hex()}', 'FixedSizeBinary({kind.byte_width})')"
        if pa.types.is_decimal(kind):
            return f"arrow_cast('{value}', 'Decimal128({kind.precision}, {kind.scale})')"
        known = self._types.get(kind)
        return None if known is None else f"arrow_cast('{text_of(value)}', '{known}')"

    def counts(self, path: Path, conditions: Sequence[str]) -> list[Answer]:
        return [self._count(path, condition) for condition in conditions]

    def query(self, path: Path, query: str) -> dict[str, list[Any]]:
        """Run a query on the file as table `t`."""
        import datafusion

        context = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(1))
        context.register_parquet("t", str(path))
        result: dict[str, list[Any]] = context.sql(query).to_pydict()
        return result

    def _count(self, path: Path, condition: str) -> Answer:
        try:
            result = self.query(path, f"SELECT count(*) AS n FROM t WHERE {condition}")  # noqa: S608
        except Exception as error:  # noqa: BLE001  its errors share no class
            return type(error).__name__
        return int(result["n"][0])

    def rows(self, path: Path) -> str:
        try:
            return str(self.query(path, "SELECT * FROM t"))
        except Exception as error:  # noqa: BLE001
            return type(error).__name__

    def metrics(self, path: Path, condition: str) -> dict[str, tuple[int, int]]:
        """Of each kind of pruning: candidates, and how many were left."""
        query = f"EXPLAIN ANALYZE SELECT * FROM t WHERE {condition}"  # noqa: S608
        plan = self.query(path, query)["plan"][0]
        found = re.findall(r"(\w+)=(\d+) total → (\d+) matched", plan)
        return {name: (int(total), int(matched)) for name, total, matched in found}


class ClickHouse:
    """chdb, which is ClickHouse as a library."""

    name = "chdb"
    _types = {  # noqa: RUF012
        pa.int16(): "Int16", pa.int32(): "Int32", pa.int64(): "Int64",
        pa.uint16(): "UInt16", pa.uint32(): "UInt32", pa.uint64(): "UInt64",
        pa.float32(): "Float32", pa.float64(): "Float64", pa.date32(): "Date32",
        pa.timestamp("ms"): "DateTime64(3, \\'UTC\\')", pa.timestamp("us"): "DateTime64(6, \\'UTC\\')",
        pa.timestamp("ns"): "DateTime64(9, \\'UTC\\')",
        pa.timestamp("us", "UTC"): "DateTime64(6, \\'UTC\\')",
    }  # fmt: skip
    _settings = "SETTINGS input_format_parquet_bloom_filter_push_down = 1, session_timezone = 'UTC'"

    def literal(self, kind: pa.DataType, value: Any) -> str | None:  # noqa: ANN401
        if _is_text(kind):
            return _quoted(value)
        if _is_binary(kind):
            return f"unhex('{value.hex()}')"
        if pa.types.is_fixed_size_binary(kind):
            return f"toFixedString(unhex('{value.hex()}'), {kind.byte_width})"
        if kind == pa.uuid():
            return f"toUUID('{value}')"
        if pa.types.is_decimal(kind):
            return f"CAST('{value}', 'Decimal({kind.precision}, {kind.scale})')"
        known = self._types.get(kind)
        return None if known is None else f"CAST('{text_of(value)}', '{known}')"

    def counts(self, path: Path, conditions: Sequence[str]) -> list[Answer]:
        parts = [
            f"SELECT {i}, count() FROM file('{path}', Parquet) WHERE {condition}"  # noqa: S608
            for i, condition in enumerate(conditions)
        ]
        answer = self._query(" UNION ALL ".join(parts), "CSV") if parts else ""
        if answer.isidentifier():
            return [answer] * len(conditions)
        found = dict(tuple(map(int, line.split(","))) for line in answer.splitlines())
        return [found[i] for i in range(len(conditions))]

    def rows(self, path: Path) -> str:
        return self._query(f"SELECT * FROM file('{path}', Parquet)", "CSV")  # noqa: S608

    def rows_read(self, path: Path, condition: str) -> int:
        """Rows that it decoded to answer."""
        import chdb

        query = f"SELECT count() FROM file('{path}', Parquet) WHERE {condition} {self._settings}"  # noqa: S608
        return int(chdb.query(query, "CSV").storage_rows_read())

    def _query(self, query: str, form: str) -> str:
        import chdb

        try:
            return str(chdb.query(f"{query} {self._settings}", form)).strip()
        except RuntimeError as error:
            return type(error).__name__


class Spark:
    """Spark, all conditions in one job: starting one takes longer than reading our files."""

    name = "spark"
    _types = {  # noqa: RUF012
        pa.int16(): "SMALLINT", pa.int32(): "INT", pa.int64(): "BIGINT",
        pa.uint16(): "INT", pa.uint32(): "BIGINT", pa.uint64(): "DECIMAL(20, 0)",
        pa.float32(): "FLOAT", pa.float64(): "DOUBLE", pa.date32(): "DATE",
        pa.timestamp("ms"): "TIMESTAMP_NTZ", pa.timestamp("us"): "TIMESTAMP_NTZ",
        pa.timestamp("us", "UTC"): "TIMESTAMP",
    }  # fmt: skip

    def __init__(self, session: SparkSession) -> None:
        self.session = session

    def literal(self, kind: pa.DataType, value: Any) -> str | None:  # noqa: ANN401
        if _is_text(kind):
            return _quoted(value)
        if _is_binary(kind) or pa.types.is_fixed_size_binary(kind):
            return f"X'{value.hex()}'"
        if pa.types.is_decimal(kind):
            return f"CAST('{value}' AS DECIMAL({kind.precision}, {kind.scale}))"
        known = self._types.get(kind)
        return None if known is None else f"CAST('{text_of(value)}' AS {known})"

    def counts(self, path: Path, conditions: Sequence[str]) -> list[Answer]:
        self.session.read.parquet(str(path)).createOrReplaceTempView("t")
        parts = [
            f"SELECT {i} AS i, count(*) AS n FROM t WHERE {condition}"  # noqa: S608
            for i, condition in enumerate(conditions)
        ]
        found = {row.i: row.n for row in self.session.sql(" UNION ALL ".join(parts)).collect()}
        return [found[i] for i in range(len(conditions))]

    def rows(self, path: Path) -> str:
        from py4j.protocol import Py4JJavaError
        from pyspark.errors import PySparkException

        try:
            return str(self.session.read.parquet(str(path)).collect())
        except (PySparkException, Py4JJavaError) as error:
            return type(error).__name__

    def scanned(self, path: Path, condition: str) -> int:
        """Rows that the scan handed to the filter above it."""
        frame = self.session.read.parquet(str(path)).where(condition)
        frame.collect()
        plan = frame._jdf.queryExecution().executedPlan()  # noqa: SLF001
        for node in _nodes(plan):
            if node.nodeName().startswith("Scan parquet"):
                return int(node.metrics().apply("numOutputRows").value())
        raise LookupError(plan.toString())


def _nodes(plan: Any) -> Iterator[Any]:  # noqa: ANN401  a JVM object
    yield plan
    with contextlib.suppress(Exception):  # only adaptive plans have one inside
        yield from _nodes(plan.executedPlan())
    children = plan.children()
    for i in range(children.size()):
        yield from _nodes(children.apply(i))
