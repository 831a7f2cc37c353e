"""pyarrow's datasets, which filter row groups by statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds

from tests.readers.engines.face import InMemory, brief

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.readers.engines.face import Answer, Shape


class PyArrow(InMemory):
    """pyarrow's datasets; without push-down the whole table is filtered in memory."""

    name = "pyarrow"

    def equal_to(
        self,
        column: str,
        kind: pa.DataType,
        value: Any,  # noqa: ANN401
        shape: Shape = "flat",
    ) -> ds.Expression | None:
        """The condition that a column has a value; None for lists and maps."""
        if shape not in ("flat", "struct") or pa.types.is_interval(kind):
            return None
        field = ds.field(column) if shape == "flat" else ds.field(column, "x")
        return field == pa.scalar(value, kind)

    def counts(self, path: Path, conditions: Sequence[ds.Expression]) -> list[Answer]:
        """Count the rows that meet each condition."""
        try:
            dataset = ds.dataset(path)
            source = dataset if self._pushdown else ds.dataset(dataset.to_table(use_threads=False))
        except (pa.ArrowException, OSError) as error:
            self.problem = brief(error)
            return [type(error).__name__] * len(conditions)
        return [self._count(source, condition) for condition in conditions]

    def _count(self, source: ds.Dataset, condition: ds.Expression) -> Answer:
        try:
            return int(source.count_rows(filter=condition, use_threads=False))
        except (pa.ArrowException, TypeError, OSError) as error:
            self.problem = brief(error)
            return type(error).__name__

    def rows(self, path: Path) -> str:
        """Return everything in the file, as text."""
        return str(ds.dataset(path).to_table(use_threads=False).to_pylist())
