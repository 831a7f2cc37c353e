"""The files that are mutated: samples of every writer in `fixtures/`, taken apart once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from campaigns.hostile.fields import Fields, fields_of
from tests.support import compact

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
MAX_FOOTER_BYTES = 5000
"""Larger footers cost more and have nothing that small ones lack."""

_TAIL_BYTES = 8
_KINDS = (pa.types.is_integer, pa.types.is_string, pa.types.is_floating)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Base:
    """One well-formed file."""

    name: str
    """Path below the fixtures."""

    body: bytes
    """Everything before the footer."""

    footer: bytes
    fields: Fields
    num_columns: int
    """Leaf columns."""

    num_filters: int
    """Bloom filters that its footer leads to."""

    filters: tuple[list[tuple[str, str, object]], ...]
    """Conditions that pyarrow takes, each on a column and with a value that is in it."""

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return len(self.body) + len(self.footer) + _TAIL_BYTES


@cache
def bases() -> tuple[Base, ...]:
    """Every base, in the order of the names."""
    found = (base_of(path) for path in sorted(FIXTURES.glob("*/*.parquet")))
    return tuple(base for base in found if len(base.footer) <= MAX_FOOTER_BYTES)


def base_of(path: Path) -> Base:
    """Take one file apart."""
    data = path.read_bytes()
    start = compact.footer_start(data)
    footer = data[start:-_TAIL_BYTES]
    decoded = compact.decode(footer)[0]
    return Base(
        name="/".join(path.parts[-2:]),
        body=data[:start],
        footer=footer,
        fields=fields_of(footer),
        num_columns=pq.read_metadata(path).num_columns,
        num_filters=len(compact.filters_of(decoded)),
        filters=_filters(pq.read_table(path)),
    )


def _filters(table: pa.Table) -> tuple[list[tuple[str, str, object]], ...]:
    """A condition for each column that has a plain value."""
    found = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        values = column.drop_null() if any(is_(column.type) for is_ in _KINDS) else ()
        if len(values):
            found.append([(name, "=", values[len(values) // 2].as_py())])
    return tuple(found)
