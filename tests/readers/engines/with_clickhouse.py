"""chdb, which is ClickHouse as a library."""

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


_OFF = (
    "filter_push_down",
    "bloom_filter_push_down",
    "dictionary_filter_push_down",
    "page_filter_push_down",
)


class ClickHouse(Batched):
    """chdb, which is ClickHouse as a library."""

    name = "chdb"
    problem = ""
    _at_once = 100
    _types = {  # noqa: RUF012
        pa.bool_(): "Bool", pa.int8(): "Int8", pa.uint8(): "UInt8",
        pa.int16(): "Int16", pa.int32(): "Int32", pa.int64(): "Int64",
        pa.uint16(): "UInt16", pa.uint32(): "UInt32", pa.uint64(): "UInt64",
        pa.float16(): "Float32", pa.float32(): "Float32", pa.float64(): "Float64",
        pa.date32(): "Date32", pa.time32("ms"): "Time64(3)",
        pa.time64("us"): "Time64(6)", pa.time64("ns"): "Time64(9)",
        pa.timestamp("ms"): "DateTime64(3, \\'UTC\\')",
        pa.timestamp("us"): "DateTime64(6, \\'UTC\\')",
        pa.timestamp("ns"): "DateTime64(9, \\'UTC\\')",
        pa.timestamp("ms", "UTC"): "DateTime64(3, \\'UTC\\')",
        pa.timestamp("us", "UTC"): "DateTime64(6, \\'UTC\\')",
        pa.timestamp("ns", "UTC"): "DateTime64(9, \\'UTC\\')",
    }  # fmt: skip
    _access = {  # noqa: RUF012
        "flat": '"{0}" = {1}',
        "struct": '"{0}"."x" = {1}',
        "list": 'has("{0}", {1})',
        "map": 'mapContains("{0}", {1})',
    }
    _in_order = ", input_format_parquet_preserve_order = 1"

    def __init__(self, *, pushdown: bool = True) -> None:
        on = ("bloom_filter_push_down = 1",) if pushdown else (f"{name} = 0" for name in _OFF)
        common = ("session_timezone = 'UTC'", "max_threads = 1")
        settings = (*common, *(f"input_format_parquet_{one}" for one in on))
        self._settings = "SETTINGS " + ", ".join(settings)

    def literal(self, kind: pa.DataType, value: Any) -> str | None:  # noqa: ANN401
        """Spell `value` as a literal of the type `kind`; None if there is none."""
        if is_text(kind):
            return quoted(value)
        if is_binary(kind):
            return f"unhex('{value.hex()}')"
        if pa.types.is_fixed_size_binary(kind):
            return f"toFixedString(unhex('{value.hex()}'), {kind.byte_width})"
        if kind == pa.uuid():
            return f"toUUID('{value}')"
        if pa.types.is_decimal(kind):
            return f"CAST('{value}', 'Decimal({kind.precision}, {kind.scale})')"
        known = self._types.get(kind)
        return None if known is None else f"CAST('{text_of(value)}', '{known}')"

    def _counts(self, path: Path, conditions: Sequence[str]) -> list[Answer]:
        parts = [
            f"SELECT {i}, count() FROM file('{path}', Parquet) WHERE {condition}"  # noqa: S608
            for i, condition in enumerate(conditions)
        ]
        answer = self._query(UNION.join(parts), "CSV")
        if answer.isidentifier():
            return [answer] * len(conditions)
        lines = (line.split(",") for line in answer.splitlines())
        found = {int(i): int(count) for i, count in lines}
        return [found[i] for i in range(len(conditions))]

    def rows(self, path: Path) -> str:
        """Return everything in the file, in its order, as text."""
        return self._query(f"SELECT * FROM file('{path}', Parquet)", "CSV", self._in_order)  # noqa: S608

    def rows_read(self, path: Path, condition: str) -> int:
        """Rows that it decoded to answer."""
        import chdb

        query = f"SELECT count() FROM file('{path}', Parquet) WHERE {condition} {self._settings}"  # noqa: S608
        return int(chdb.query(query, "CSV").storage_rows_read())

    def _query(self, query: str, form: str, more_settings: str = "") -> str:
        import chdb

        try:
            return str(chdb.query(query + " " + self._settings + more_settings, form)).strip()
        except RuntimeError as error:
            self.problem = brief(error)
            return type(error).__name__
