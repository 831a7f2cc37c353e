"""Polars' lazy scans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tests.readers.engines.face import InMemory, brief

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars as pl

    from tests.readers.engines.face import Answer, Shape


class Polars(InMemory):
    """Polars' lazy scans; without push-down the whole file is filtered in memory."""

    name = "polars"

    def equal_to(
        self,
        column: str,
        kind: pa.DataType,
        value: Any,  # noqa: ANN401
        shape: Shape = "flat",
    ) -> pl.Expr | None:
        """The condition that a column has a value."""
        import polars as pl

        if pa.types.is_decimal256(kind) or pa.types.is_interval(kind):
            return None
        plain = value.bytes if kind == pa.uuid() else value
        literal = pl.lit(plain) if isinstance(plain, bytes | str) else _typed(plain, kind)
        shapes = {
            "flat": pl.col(column) == literal,
            "struct": pl.col(column).struct.field("x") == literal,
            "list": pl.col(column).list.contains(literal),
        }
        return shapes.get(shape)

    def counts(self, path: Path, conditions: Sequence[pl.Expr]) -> list[Answer]:
        """Count the rows that meet each condition."""
        return [self._count(path, condition) for condition in conditions]

    def _count(self, path: Path, condition: pl.Expr) -> Answer:
        import polars as pl

        frame = pl.scan_parquet(path, glob=False, use_statistics=self._pushdown)
        optimizations = pl.QueryOptFlags(predicate_pushdown=self._pushdown)
        try:
            found = frame.filter(condition).select(pl.len()).collect(optimizations=optimizations)
            return int(found.item())
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            self.problem = brief(error)
            return type(error).__name__

    def rows(self, path: Path) -> str:
        """Return everything in the file, as text."""
        import polars as pl

        return str(pl.read_parquet(path, glob=False).rows())


def _typed(value: Any, kind: pa.DataType) -> pl.Expr:  # noqa: ANN401
    """A literal of the type that Polars makes of one of Arrow."""
    import polars as pl

    dtype = pl.Series(pa.array([], kind)).dtype
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        value = pa.scalar(value, kind).value
        return pl.lit(value).cast(dtype)
    return pl.lit(value).cast(dtype) if dtype.is_numeric() else pl.lit(value, dtype=dtype)
