"""The known faults of engines that lose rows of files whose filters are right.

The filters follow the specification, and the engines are at fault; but the user loses rows.
`HAZARDS` is the only list of such faults. Notes of reports, `check_engine`, the table of
docs/compatibility.md and `make test-engines` are made of it. `make test-engines` asks old and new
releases, and fails if a release loses rows for which no hazard is listed here.

A hazard that depends on the schema by which a reader reads is no property of a file: reports do not
mention it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from parquet_bloomwriter.metadata import PhysicalType
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.sbbf.header import usual_header_length

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.metadata.footer import Footer


class Reading(Enum):
    """The schema by which an engine reads a file."""

    OWN = "its own schema"
    NOT_NULL = "a schema without nulls"
    WIDER = "a schema of wider types"


class Shape(Enum):
    """The conditions of a hazard on filters, beside the type of their column."""

    ANY = "any"
    ADJACENT = "filters that lie next to each other (placements row-group and end)"
    EXACT = "filters of --sizing exact"


class Seen(Enum):
    """The evidence for a hazard."""

    MEASURED = "measured"
    """`make test-engines` finds it."""

    DOCUMENTED = "reported"
    """A thread or an earlier measurement says so; `make test-engines` does not find it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hazard:
    """A way in which an engine loses rows of a file because it has filters."""

    engine: str
    """Name of the engine, as people write it."""

    first: str = ""
    """First affected version, as far as its numbers go; "" if it is not known."""

    last: str = ""
    """Last affected version; "" if there is none so far."""

    columns: str
    """Affected columns, in words: "loses rows of ..."."""

    is_of: Callable[[Leaf], bool]
    """Function that returns whether a leaf column's type is affected."""

    shape: Shape = Shape.ANY
    reading: Reading = Reading.OWN
    threads: tuple[str, ...]
    """Addresses of threads that say more."""

    seen: Seen = Seen.MEASURED

    @property
    def versions(self) -> str:
        """The range of versions, as in "1.5.0 to 1.5.6"; "" for all."""
        if self.first and self.last:
            return self.first if self.first == self.last else f"{self.first} to {self.last}"
        if self.last:
            return f"up to {self.last}"
        return f"from {self.first}" if self.first else ""

    @property
    def name(self) -> str:
        """The name of the engine, and the affected versions."""
        return f"{self.engine} {self.versions}".rstrip()

    def __str__(self) -> str:
        """Return a clause on the hazard, with the addresses of threads."""
        schema = "" if self.reading is Reading.OWN else f", if it reads by {self.reading.value}"
        threads = f" ({', '.join(self.threads)})" if self.threads else ""
        return f"{self.name} loses rows of {self.columns}{schema}{threads}"

    def concerns(self, version: str) -> bool:
        """Return whether a version of the engine, such as "26.3.9.1", lies in the range."""
        asked, first, last = map(_numbers, (version, self.first, self.last))
        return first <= asked[: len(first)] and (not last or asked[: len(last)] <= last)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


def _is_binary(leaf: Leaf) -> bool:
    fixed = leaf.physical_type == PhysicalType.FIXED_LEN_BYTE_ARRAY
    is_bytes = fixed or leaf.physical_type == PhysicalType.BYTE_ARRAY
    return is_bytes and not leaf.logical_type and leaf.converted_type is None


def _is_fixed_decimal(leaf: Leaf) -> bool:
    return leaf.is_decimal and leaf.physical_type == PhysicalType.FIXED_LEN_BYTE_ARRAY


def _is_int96(leaf: Leaf) -> bool:
    return leaf.physical_type == PhysicalType.INT96


def _is_narrow(leaf: Leaf) -> bool:
    return leaf.physical_type in (PhysicalType.INT32, PhysicalType.FLOAT) and not leaf.is_decimal


def _is_nullable(leaf: Leaf) -> bool:
    return any(leaf.repetitions)


def _is_any(_leaf: Leaf) -> bool:
    return True


def _issue(repository: str, number: int) -> str:
    return f"https://github.com/{repository}/issues/{number}"


HAZARDS: tuple[Hazard, ...] = (
    Hazard(
        engine="DuckDB",
        first="1.5.0",
        last="1.5.6",
        columns="BLOB columns that have filters",
        is_of=_is_binary,
        threads=(_issue("duckdb/duckdb", 23053), _issue("duckdb/duckdb", 23829)),
    ),
    Hazard(
        engine="ClickHouse",
        first="26.1",
        last="26.3",
        columns="columns whose filters lie next to each other; placement column-chunk is right",
        is_of=_is_any,
        shape=Shape.ADJACENT,
        threads=(_issue("ClickHouse/ClickHouse", 102385), _issue("chdb-io/chdb", 587)),
    ),
    Hazard(
        engine="ClickHouse",
        first="26.1",
        last="26.7",
        columns="nullable columns that have filters, if 0 or an empty text is asked for",
        is_of=_is_nullable,
        reading=Reading.NOT_NULL,
        threads=(_issue("ClickHouse/ClickHouse", 112580),),
    ),
    Hazard(
        engine="DataFusion",
        first="38",
        last="54",
        columns="decimals of fixed length that have filters",
        is_of=_is_fixed_decimal,
        threads=(_issue("apache/datafusion", 22994),),
    ),
    Hazard(
        engine="cuDF",
        columns="decimals of fixed length that have filters",
        is_of=_is_fixed_decimal,
        threads=(),
        seen=Seen.DOCUMENTED,
    ),
    Hazard(
        engine="cuDF",
        columns="INT96 timestamps that have filters",
        is_of=_is_int96,
        threads=(),
        seen=Seen.DOCUMENTED,
    ),
    Hazard(
        engine="DataFusion",
        first="38",
        last="48",
        columns="INT32 and FLOAT columns that have filters",
        is_of=_is_narrow,
        reading=Reading.WIDER,
        threads=(_issue("apache/hudi", 19467),),
    ),
    Hazard(
        engine="Trino",
        columns="INT32 columns that have filters",
        is_of=_is_narrow,
        reading=Reading.WIDER,
        threads=(_issue("trinodb/trino", 30544),),
        seen=Seen.DOCUMENTED,
    ),
    Hazard(
        engine="Impala",
        columns="columns with filters of exact sizes (no powers of two)",
        is_of=_is_any,
        shape=Shape.EXACT,
        threads=(),
        seen=Seen.DOCUMENTED,
    ),
)
"""All hazards, by engine."""


def notes_of_hazards(
    leaf: Leaf, *, is_adjacent: bool = False, is_exact: bool = False
) -> Iterator[str]:
    """Yield notes on hazards for readers of a column's filters, by any schema.

    Args:
        leaf: The column.
        is_adjacent: Whether a filter of the column lies next to another filter.
        is_exact: Whether the size of a filter of the column is no power of two.
    """
    shapes = {Shape.ANY, *([Shape.ADJACENT] * is_adjacent), *([Shape.EXACT] * is_exact)}
    engines: dict[str, list[str]] = {}
    for hazard in HAZARDS:
        if hazard.reading is Reading.OWN and hazard.shape in shapes and hazard.is_of(leaf):
            engines.setdefault(hazard.columns, []).append(hazard.name)
    for columns, names in engines.items():
        yield f"{' and '.join(names)} {'lose' if names[1:] else 'loses'} rows of {columns}"


def hazards_of_engine(
    engine: str, version: str, footer: Footer, leaves: Sequence[Leaf]
) -> list[Hazard]:
    """Return the hazards of one version of an engine that concern filters of these columns.

    Args:
        engine: Name of the engine, in any case.
        version: Its version; "" concerns no hazard.
        footer: The footer of the file.
        leaves: The columns with filters.
    """
    known = [
        one for one in HAZARDS if one.engine.lower() == engine.lower() and one.concerns(version)
    ]
    if not (known and version):
        return []
    fields = (ChunkField.BLOOM_FILTER_OFFSET, ChunkField.BLOOM_FILTER_LENGTH)
    offsets, lengths = map(footer.chunks.value, fields)
    filters = [
        (column, int(offsets[row_group, column]), int(lengths[row_group, column]))
        for row_group, column in zip(*(offsets > 0).nonzero(), strict=True)
    ]
    adjacent = adjacent_columns(filters)
    exact = {
        column
        for column, _, length in filters
        if (num_bytes := length - usual_header_length(length)) & (num_bytes - 1)
    }
    of_shape = {
        Shape.ANY: leaves,
        Shape.ADJACENT: [leaf for leaf in leaves if leaf.ordinal in adjacent],
        Shape.EXACT: [leaf for leaf in leaves if leaf.ordinal in exact],
    }
    return [one for one in known if any(map(one.is_of, of_shape[one.shape]))]


def adjacent_columns(filters: Iterable[tuple[int, int, int]]) -> frozenset[int]:
    """Return the columns with a filter that touches another filter in the file.

    Args:
        filters: Leaf ordinal, offset and length of each filter, bytes.
    """
    known = list(filters)
    starts = {offset: column for column, offset, _ in known}
    ends = {offset + length: column for column, offset, length in known}
    meeting = starts.keys() & ends.keys()
    return frozenset(column for at in meeting for column in (starts[at], ends[at]))
