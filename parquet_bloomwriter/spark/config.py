"""The configuration of a Bloom filter index: its name, its columns, the rates of its filters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.arguments import names_of
from parquet_bloomwriter.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ALIASES = {
    "indexName": "index_name",
    "indexedColumns": "indexed_columns",
    "expectedNumItems": "expected_num_items",
}


@dataclass(frozen=True, slots=True)
class BFIndexConfig:
    """The configuration of a Bloom filter index, which has a filter for each column."""

    index_name: str
    """One segment of a path: letters, digits, `_`, `.` and `-`."""

    indexed_columns: Sequence[str]
    """Dotted paths of leaf columns; a string is a single path."""

    expected_num_items: int | Mapping[str, int] | None = None
    """Distinct values expected in the whole table, for every column or by column; None: the number
    of rows."""

    fpp: float | Mapping[str, float] = 0.01
    """False positive probability for every column or by column, in (0, 1)."""

    def __post_init__(self) -> None:
        columns = names_of(self.indexed_columns)
        if not columns:
            raise InvalidArgument(
                "indexed_columns is empty",
                remedy='For example BFIndexConfig("ids", ["id", "email"]).',
            )
        object.__setattr__(self, "indexed_columns", columns)

    @classmethod
    def of(cls, **arguments: Any) -> BFIndexConfig:  # noqa: ANN401  checked by the class
        """Make a configuration by Hyperspace's names, such as `indexName`."""
        return cls(**{_ALIASES.get(name, name): value for name, value in arguments.items()})

    @property
    def indexName(self) -> str:  # noqa: N802  Hyperspace's name
        """Return `index_name`."""
        return self.index_name

    @property
    def indexedColumns(self) -> Sequence[str]:  # noqa: N802  Hyperspace's name
        """Return `indexed_columns`."""
        return self.indexed_columns

    @property
    def expectedNumItems(self) -> int | Mapping[str, int] | None:  # noqa: N802  Hyperspace's name
        """Return `expected_num_items`."""
        return self.expected_num_items
