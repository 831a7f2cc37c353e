"""DuckDB, in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tests.readers.engines.face import (
    UNION,
    Batched,
    brief,
    is_binary,
    is_text,
    quoted,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.readers.engines.face import Answer


class DuckDB(Batched):
    """DuckDB, in memory."""

    name = "duckdb"
    problem = ""
    _at_once = 50
    _types = {  # noqa: RUF012
        pa.bool_(): "BOOLEAN", pa.int8(): "TINYINT", pa.uint8(): "UTINYINT",
        pa.int16(): "SMALLINT", pa.int32(): "INTEGER", pa.int64(): "BIGINT",
        pa.uint16(): "USMALLINT", pa.uint32(): "UINTEGER", pa.uint64(): "UBIGINT",
        pa.float16(): "FLOAT", pa.float32(): "FLOAT", pa.float64(): "DOUBLE", pa.date32(): "DATE",
        pa.time32("ms"): "TIME", pa.time64("us"): "TIME", pa.time64("ns"): "TIME_NS",
        pa.timestamp("ms"): "TIMESTAMP_MS", pa.timestamp("us"): "TIMESTAMP",
        pa.timestamp("ns"): "TIMESTAMP_NS", pa.timestamp("ms", "UTC"): "TIMESTAMPTZ",
        pa.timestamp("us", "UTC"): "TIMESTAMPTZ", pa.timestamp("ns", "UTC"): "TIMESTAMPTZ_NS",
        pa.uuid(): "UUID",
    }  # fmt: skip
    _access = {  # noqa: RUF012
        "flat": '"{0}" = {1}',
        "struct": '"{0}"."x" = {1}',
        "list": 'list_contains("{0}", {1})',
        "map": 'list_contains(map_keys("{0}"), {1})',
    }

    def __init__(self, *, pushdown: bool = True) -> None:
        import duckdb

        self._connection = duckdb.connect(config={"threads": 1})
        self._connection.execute("SET TimeZone = 'UTC'")
        if not pushdown:
            off = "filter_pushdown,statistics_propagation,row_group_pruner,join_filter_pushdown"
            self._connection.execute(f"SET disabled_optimizers = '{off}'")

    def literal(self, kind: pa.DataType, value: Any) -> str | None:  # noqa: ANN401
        """Spell `value` as a literal of the type `kind`; None if there is none."""
        if is_text(kind):
            return quoted(value)
        if is_binary(kind) or pa.types.is_fixed_size_binary(kind):
            return f"unhex('{value.hex()}')"
        if pa.types.is_decimal(kind):
            return f"CAST('{value}' AS DECIMAL({kind.precision}, {kind.scale}))"
        if pa.types.is_interval(kind):
            return f"to_days({value.days})"
        known = self._types.get(kind)
        return None if known is None else f"CAST('{text_of(value)}' AS {known})"

    def _counts(self, path: Path, conditions: Sequence[str]) -> list[Answer]:
        import duckdb

        parts = [
            f"SELECT {i}, count(*) FROM read_parquet('{path}') WHERE {condition}"  # noqa: S608
            for i, condition in enumerate(conditions)
        ]
        try:
            found = dict(self._connection.execute(UNION.join(parts)).fetchall())
        except duckdb.Error as error:
            self.problem = brief(error)
            return [type(error).__name__] * len(conditions)
        return [int(found[i]) for i in range(len(conditions))]

    def rows(self, path: Path) -> str:
        """Return everything in the file, as text."""
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
