"""DataFusion; a new context per file, because it caches metadata."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tests.readers.engines.face import is_binary, is_text, quoted, text_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.readers.engines.face import Answer


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
        """Spell `value` as a literal of the type `kind`; None if there is none."""
        if is_text(kind):
            return quoted(value)
        if is_binary(kind):
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
        """Count the rows that meet each condition."""
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
        """Return everything in the file, as text."""
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
