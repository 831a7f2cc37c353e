"""Files whose filters are damaged: every writer's fixtures, and small ones of this package.

Of each filter it is known where it lies, and some values that its column chunk holds. Both are
found without the package under test: by Thrift's own class, and by pyarrow.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from parquet_bloomwriter import bloomify
from parquet_bloomwriter.predicate.expression import UnknownKind
from parquet_bloomwriter.predicate.literals.python_values import plain_value
from tests.support import compact
from tests.support.plain import leaf_arrays, plain_values
from tests.verbs.files import people, without_length, written

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from parquet_bloomwriter.rewrite.plan import Chunk

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
FILTERED = (
    *("chdb/bloom", "datafusion/bloom", "datafusion/nested", "duckdb/bloom", "duckdb/types"),
    *("pyarrow/bloom", "pyarrow/bloom_page_index", "spark/bloom", "spark/bloom_dictionary"),
)
"""Fixtures that have filters, by every writer that makes some."""

_NUM_BYTES, _COMPRESSION = 1, 4
_VALUES = 3
"""Values of a column chunk that are asked for: from its beginning, middle and end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A filter, and what is in it."""

    chunk: Chunk
    """Row group and leaf ordinal, 0-based."""

    offset: int
    """Absolute position of the header, bytes."""

    header_bytes: int
    num_bytes: int
    """Bytes of the bitset."""

    is_draft: bool
    """Whether its header has no compression, as in the Murmur3 drafts."""

    values: tuple[Any, ...]
    """Literals that its column chunk holds."""

    plains: tuple[bytes, ...]
    """PLAIN bytes of all values of its column chunk; empty if they cannot be told."""

    @property
    def column(self) -> str:
        """The leaf column, as verbs take it."""
        return f"#{self.chunk[1]}"

    @property
    def bits(self) -> int:
        """Absolute position of the bitset, bytes."""
        return self.offset + self.header_bytes

    @property
    def stop(self) -> int:
        """Absolute position past the bitset, bytes."""
        return self.bits + self.num_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Filtered:
    """A file with filters."""

    name: str
    data: bytes
    spots: tuple[Spot, ...]


@cache
def filtered(name: str) -> Filtered:
    """Read or make one of the files; `every_name` lists them."""
    data = _made()[name] if name in _made() else (FIXTURES / f"{name}.parquet").read_bytes()
    return Filtered(name=name, data=data, spots=spots_of(data))


def every_name() -> tuple[str, ...]:
    """All files there are."""
    return (*FILTERED, *_made())


@cache
def _made() -> Mapping[str, bytes]:
    """Files of one's own: each placement, other sizes, the draft, and lengths left out."""
    plain = written(people(60), row_group_size=30, write_statistics=False)
    by_placement = {
        f"own/{placement}": _with_filters(plain, placement=placement)
        for placement in ("column-chunk", "row-group", "end")
    }
    chunks = [(row_group, column) for row_group in range(2) for column in range(3)]
    return {
        **by_placement,
        "own/exact": _with_filters(plain, sizing="exact", fpp=0.001),
        "own/murmur3": _with_filters(plain, dialect="murmur3"),
        "own/no_length": without_length(by_placement["own/column-chunk"], *chunks),
    }


def _with_filters(plain: bytes, **options: Any) -> bytes:  # noqa: ANN401  of the verb
    data = bloomify(plain, jobs=1, **options).data
    assert data is not None
    return data


def spots_of(data: bytes, only: Collection[Chunk] | None = None) -> tuple[Spot, ...]:
    """Every filter that the footer points to, or only those of some column chunks."""
    filters = compact.filters_of(compact.footer_of(data))
    if only is not None:
        filters = {chunk: place for chunk, place in filters.items() if chunk in only}
    columns = _columns(data, {row_group for row_group, _ in filters})
    spots = []
    for chunk, (offset, _) in filters.items():
        header, header_bytes = compact.decode(data[offset : offset + 64])
        values, plains = columns.get(chunk, ((), ()))
        spots.append(
            Spot(
                chunk=chunk,
                offset=offset,
                header_bytes=header_bytes,
                num_bytes=header[_NUM_BYTES],
                is_draft=_COMPRESSION not in header,
                values=values,
                plains=plains,
            )
        )
    return tuple(spots)


Told = tuple[tuple[Any, ...], tuple[bytes, ...]]
"""Some literals, and the PLAIN bytes of all values."""


def _columns(data: bytes, row_groups: set[int]) -> dict[Chunk, Told]:
    """What pyarrow finds in each column chunk."""
    found: dict[Chunk, Told] = {}
    with pq.ParquetFile(pa.BufferReader(data)) as file:
        for row_group in row_groups:
            table = file.read_row_group(row_group, use_threads=False)
            leaves = [leaf for column in table.columns for leaf in leaf_arrays(_whole(column))]
            for ordinal, leaf in enumerate(leaves):
                plains = plain_values(leaf, file.schema.column(ordinal))
                found[row_group, ordinal] = (_literals(leaf), tuple(dict.fromkeys(plains or ())))
    return found


def _literals(leaf: pa.Array) -> tuple[Any, ...]:
    places = sorted({0, len(leaf) // 2, len(leaf) - 1}) if len(leaf) else []
    literals = []
    for place in places[:_VALUES]:
        with suppress(UnknownKind, ValueError, OverflowError):
            literals.append(plain_value(leaf[place]))
    return tuple(literals)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return whole if isinstance(whole, pa.Array) else pa.concat_arrays(whole.chunks)
