"""Seven writers: each writes the rows of a type to a file, or says why it cannot.

The type is Arrow's where the writer takes Arrow, and the writer's own, by a cast, where it has SQL.
What really is in the file is read from its footer.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from campaigns.types.sql_types import CHDB, DUCKDB, SPARK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from campaigns.types.cases import Case
    from campaigns.types.rows import Rows

GROUP_ROWS = 200
_DUCKDB_GROUP_ROWS = 2048


_SMALL_DECIMALS = tuple(f"DECIMAL({digits}, 2)" for digits in (4, 9, 18))
"""Of these there are two: as bytes, and as integers."""


class Cannot(Exception):
    """The writer has no such type."""


class Writer(Protocol):
    """Writes files."""

    name: str
    group_rows: int
    """Rows of a row group, at least."""

    def write(self, rows: Rows, path: Path) -> None:
        """Write the rows.

        Raises:
            Cannot: If the writer has no such type.
            Exception: Whatever the writer raises.
        """
        ...


class PyArrow:
    """parquet-cpp; in one of several layouts."""

    name = "pyarrow"
    group_rows = GROUP_ROWS
    layouts: Mapping[str, Mapping[str, object]] = {
        "plain": {"use_dictionary": False},
        "dictionary": {"write_page_index": True},
        "v2": {"use_dictionary": False, "data_page_version": "2.0", "data_page_size": 256},
        "required": {"use_dictionary": False, "compression": "zstd"},
        "no statistics": {"use_dictionary": False, "write_statistics": False},
    }

    def __init__(self, layout: str = "plain") -> None:
        self._layout = layout

    def write(self, rows: Rows, path: Path) -> None:
        """Write the rows; in the layout "required" without nulls."""
        case, table = rows.case, rows.table
        if case.name == "ENUM":
            raise Cannot("dictionaries become STRING")
        if self._layout == "required":
            column = table["c"].drop_null()
            field = pa.field("c", column.type, nullable=False)
            table = pa.table([column], schema=pa.schema([field]))
        pq.write_table(
            table,
            path,
            row_group_size=rows.group_rows,
            store_decimal_as_integer=case.name.endswith("as integer"),
            use_deprecated_int96_timestamps=case.name == "INT96",
            **self.layouts[self._layout],
        )


class DataFusion:
    """parquet-rs."""

    name = "datafusion"
    group_rows = GROUP_ROWS

    def write(self, rows: Rows, path: Path) -> None:
        """Write the rows."""
        import datafusion

        _none_of(rows.case, "INT96", "ENUM", *_SMALL_DECIMALS)
        options = datafusion.ParquetWriterOptions(
            max_row_group_size=rows.group_rows,
            dictionary_enabled=False,
            allow_single_file_parallelism=False,
        )
        frame = datafusion.SessionContext().from_arrow(rows.table)
        frame.write_parquet_with_options(str(path), options)


class Polars:
    """Polars' own writer."""

    name = "polars"
    group_rows = GROUP_ROWS

    def write(self, rows: Rows, path: Path) -> None:
        """Write the rows."""
        import polars as pl

        _none_of(rows.case, "INT96", "INTERVAL", "ENUM", "UUID", "FIXED", "TIME(ms", "TIME(us")
        _none_of(rows.case, "DECIMAL(76", *_SMALL_DECIMALS)
        pl.DataFrame(rows.table).write_parquet(path, row_group_size=rows.group_rows)


class FastParquet:
    """fastparquet, from pandas."""

    name = "fastparquet"
    group_rows = GROUP_ROWS

    def write(self, rows: Rows, path: Path) -> None:
        """Write the rows."""
        import fastparquet
        import pandas as pd

        case = rows.case
        _none_of(case, "as integer", "INTERVAL", "STRUCT", "LIST", "MAP", "UUID", "TIME(")
        _none_of(case, "FLOAT16", "FIXED", "ENUM", "DECIMAL", "DATE")
        names = (f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))
        dtypes = {
            pa.type_for_alias(name.lower()): pd.api.types.pandas_dtype(name) for name in names
        }
        dtypes[pa.bool_()] = pd.BooleanDtype()
        encoding = {"STRING": "utf8", "JSON": "utf8", "BYTE_ARRAY": "bytes"}.get(case.name, "infer")
        frame = rows.table.to_pandas(types_mapper=dtypes.get)
        if encoding != "infer":
            frame["c"] = frame["c"].astype(object)
        fastparquet.write(
            str(path),
            frame,
            row_group_offsets=[0, rows.group_rows, 2 * rows.group_rows],
            times="int96" if case.name == "INT96" else "int64",
            object_encoding=encoding,
            has_nulls=True,
        )


class DuckDB:
    """DuckDB's COPY."""

    name = "duckdb"
    group_rows = _DUCKDB_GROUP_ROWS

    def write(self, rows: Rows, path: Path) -> None:
        """Write the rows, cast to DuckDB's type."""
        import duckdb

        kind = _of(DUCKDB, rows.case)
        with duckdb.connect(config={"threads": 1}) as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.register("t", _plain(rows.table))
            value = f"CAST(c AS {kind})"
            if rows.case.name == "INTERVAL":
                value = "to_days(c)"
            connection.execute(
                f"COPY (SELECT {value} AS c FROM t) TO '{path}' (FORMAT parquet, "  # noqa: S608
                f"ROW_GROUP_SIZE {rows.group_rows}, DICTIONARY_SIZE_LIMIT 1)"
            )


class ClickHouse:
    """chdb's INTO OUTFILE."""

    name = "chdb"
    group_rows = GROUP_ROWS

    def write(self, rows: Rows, path: Path) -> None:
        """Write the rows, cast to ClickHouse's type."""
        import chdb

        kind = _of(CHDB, rows.case)
        if kind == "Enum":
            kind = f"Nullable(Enum16({', '.join(map(repr, sorted(rows.present)))}))"
        with tempfile.TemporaryDirectory() as folder:
            given = Path(folder, "given.parquet")
            table = _plain(rows.table)
            if rows.case.name == "UUID":  # of bytes it would take the order for its own
                texts = [None if v is None else str(v) for v in rows.table["c"].to_pylist()]
                table = pa.table({"c": texts})
            pq.write_table(table, given)
            chdb.query(
                f"SELECT CAST(c AS {kind}) AS c FROM file('{given}', Parquet) "  # noqa: S608
                f"INTO OUTFILE '{path}' TRUNCATE FORMAT Parquet SETTINGS max_threads = 1, "
                f"output_format_parquet_row_group_size = {rows.group_rows}, "
                f"max_block_size = {rows.group_rows}, session_timezone = 'UTC', "
                "output_format_parquet_max_dictionary_size = 0, "
                "input_format_parquet_preserve_order = 1, "
                "output_format_parquet_write_bloom_filter = 0"
            )


class Spark:
    """parquet-java."""

    name = "spark"
    group_rows = GROUP_ROWS

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def write(self, rows: Rows, path: Path) -> None:
        """Write the rows, cast to Spark's type."""
        kind = _of(SPARK, rows.case)
        outputs = {"INT96": "INT96", "TIMESTAMP(ms, UTC)": "TIMESTAMP_MILLIS"}
        output = outputs.get(rows.case.name, "TIMESTAMP_MICROS")
        self._session.conf.set("spark.sql.parquet.outputTimestampType", output)
        legacy = str(rows.case.name.startswith("DECIMAL") and "integer" not in rows.case.name)
        self._session.conf.set("spark.sql.parquet.writeLegacyFormat", legacy.lower())
        with tempfile.TemporaryDirectory() as folder:
            given = Path(folder, "given.parquet")
            finest = pa.timestamp("us") if rows.case.name == "INT96" else None
            table = _plain(rows.table)
            pq.write_table(table.cast(pa.schema({"c": finest})) if finest else table, given)
            frame = self._session.read.parquet(str(given)).selectExpr(f"CAST(c AS {kind}) AS c")
            options = {
                "parquet.enable.dictionary": "false",
                "parquet.block.row.count.limit": str(rows.group_rows),
            }
            frame.coalesce(1).write.options(**options).parquet(f"{folder}/out")
            (part,) = Path(folder, "out").glob("part-*.parquet")
            path.write_bytes(part.read_bytes())


def _none_of(case: Case, *parts: str) -> None:
    """Refuse types by parts of their names; by whole names those that others begin with."""
    if any(
        case.name == part or (part in case.name and part not in _SMALL_DECIMALS) for part in parts
    ):
        raise Cannot("has no such type")


def _of(types: Mapping[str, str], case: Case) -> str:
    try:
        return types[case.name]
    except KeyError:
        raise Cannot("has no such type") from None


def _plain(table: pa.Table) -> pa.Table:
    """The same in types that every reader takes; casts make the rest."""
    column = table["c"].combine_chunks()
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        column = column.storage
    elif pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    elif pa.types.is_float16(kind):
        column = column.cast(pa.float32())
    elif kind == pa.month_day_nano_interval():
        days = [None if value is None else value.days for value in column.to_pylist()]
        column = pa.array(days, pa.int32())
    return pa.table({"c": column})
