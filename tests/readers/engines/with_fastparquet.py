"""fastparquet, which filters row groups by statistics and rows afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tests.readers.engines.face import InMemory, brief, is_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.readers.engines.face import Answer, Shape

    Comparison = tuple[str, str, Any]


class FastParquet(InMemory):
    """fastparquet; without push-down the whole column is filtered in memory."""

    name = "fastparquet"

    def equal_to(
        self,
        column: str,
        kind: pa.DataType,
        value: Any,  # noqa: ANN401
        shape: Shape = "flat",
    ) -> Comparison | None:
        """The condition that a column has a value; None for what it has no values for."""
        import pandas as pd

        if pa.types.is_timestamp(kind) or kind == pa.date32():
            value = pd.Timestamp(value)
        elif pa.types.is_decimal(kind):
            value = float(value)
        elif pa.types.is_time(kind) or pa.types.is_interval(kind) or kind == pa.uuid():
            return None
        if shape == "struct":
            return (f"{column}.x", "==", value)
        return (column, "==", value) if shape == "flat" or is_text(kind) else None

    def counts(self, path: Path, conditions: Sequence[Comparison]) -> list[Answer]:
        """Count the rows that meet each condition."""
        import fastparquet

        with path.open("rb") as file:  # it would leave it open
            try:
                opened = fastparquet.ParquetFile(file)
            except Exception as error:  # noqa: BLE001  it raises whatever comes
                self.problem = brief(error)
                return [type(error).__name__] * len(conditions)
            return [self._count(opened, condition) for condition in conditions]

    def _count(self, opened: Any, condition: Comparison) -> Answer:  # noqa: ANN401
        column, _, value = condition
        try:
            filters = [[condition]] if self._pushdown else None
            return int((opened.to_pandas([column], filters=filters)[column] == value).sum())
        except Exception as error:  # noqa: BLE001
            self.problem = brief(error)
            return type(error).__name__

    def rows(self, path: Path) -> str:
        """Return everything in the file, as text."""
        import fastparquet

        with path.open("rb") as file:
            return str(fastparquet.ParquetFile(file).to_pandas().to_dict("list"))
