"""DataFusion; a new context per file, because it caches metadata."""

from __future__ import annotations

import re
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


_OFF = {
    "datafusion.execution.parquet.pruning": "false",
    "datafusion.execution.parquet.bloom_filter_on_read": "false",
    "datafusion.execution.parquet.enable_page_index": "false",
}


class DataFusion(Batched):
    """DataFusion; a new context per file, because it caches metadata."""

    name = "datafusion"
    problem = ""
    _at_once = 50
    _types = {  # noqa: RUF012
        pa.bool_(): "Boolean", pa.int8(): "Int8", pa.uint8(): "UInt8",
        pa.int16(): "Int16", pa.int32(): "Int32", pa.int64(): "Int64",
        pa.uint16(): "UInt16", pa.uint32(): "UInt32", pa.uint64(): "UInt64",
        pa.float16(): "Float16", pa.float32(): "Float32", pa.float64(): "Float64",
        pa.date32(): "Date32", pa.time32("ms"): "Time32(ms)",
        pa.time64("us"): "Time64(µs)", pa.time64("ns"): "Time64(ns)",
        pa.timestamp("ms"): "Timestamp(ms)", pa.timestamp("us"): "Timestamp(µs)",
        pa.timestamp("ns"): "Timestamp(ns)", pa.timestamp("us", "UTC"): 'Timestamp(µs, "UTC")',
        pa.timestamp("ms", "UTC"): 'Timestamp(ms, "UTC")',
        pa.timestamp("ns", "UTC"): 'Timestamp(ns, "UTC")',
    }  # fmt: skip
    _access = {  # noqa: RUF012
        "flat": '"{0}" = {1}',
        "struct": "t.\"{0}\"['x'] = {1}",
        "list": 'array_has("{0}", {1})',
        "map": 'array_has(map_keys("{0}"), {1})',
    }

    def __init__(self, *, pushdown: bool = True) -> None:
        self._settings = {} if pushdown else _OFF

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
            bits = kind.bit_width
            return f"arrow_cast('{value}', 'Decimal{bits}({kind.precision}, {kind.scale})')"
        known = self._types.get(kind)
        return None if known is None else f"arrow_cast('{text_of(value)}', '{known}')"

    def query(self, path: Path, query: str) -> dict[str, list[Any]]:
        """Run a query on the file as table `t`."""
        import datafusion

        config = datafusion.SessionConfig().with_target_partitions(1)
        for name, value in self._settings.items():
            config = config.set(name, value)
        context = datafusion.SessionContext(config)
        context.register_parquet("t", str(path))
        result: dict[str, list[Any]] = context.sql(query).to_pydict()
        return result

    def _counts(self, path: Path, conditions: Sequence[str]) -> list[Answer]:
        parts = [
            f"SELECT {i} AS i, count(*) AS n FROM t WHERE {condition}"  # noqa: S608
            for i, condition in enumerate(conditions)
        ]
        try:
            result = self.query(path, UNION.join(parts))
        except Exception as error:  # noqa: BLE001  its errors share no class
            self.problem = brief(error)
            return [type(error).__name__] * len(conditions)
        found = dict(zip(result["i"], result["n"], strict=True))
        return [int(found[i]) for i in range(len(conditions))]

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
