"""Which parts of a table's files are worth reading.

The files that are probed are the very fragments that pyarrow scans, one for one and in its order:
nothing has to be found again by its name. A file that cannot be probed is read whole, and pyarrow
decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import BloomwriterError
from parquet_bloomwriter.predicate import parse, to_arrow
from parquet_bloomwriter.probing.pruning import Given, probe_locations
from parquet_bloomwriter.scanning.guarding import TableBindings
from parquet_bloomwriter.source import Location
from parquet_bloomwriter.source.filesystems import locate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    from parquet_bloomwriter.predicate import Filters
    from parquet_bloomwriter.probing.pruning import Openable
    from parquet_bloomwriter.probing.report import FileProbe
    from parquet_bloomwriter.scanning.table_files import TableFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class Survivors:
    """What is left of a table."""

    fragments: tuple[ds.ParquetFileFragment, ...]
    """Those with surviving row groups, cut down to these."""

    condition: pc.Expression | None
    """What their rows must satisfy still; None if nothing was asked for."""


def find_survivors(table: TableFiles, filters: Filters | None) -> Survivors:
    """Probe the files of a table, unless all rows are asked for.

    Args:
        table: The table.
        filters: What `read_table` takes; None for all rows.

    Raises:
        InvalidArgument: If the filters cannot be understood, or not be compared with the columns.
        ColumnNotFound: If the table has no such column.
        Whatever pyarrow raises: If it cannot evaluate the filters.
    """
    if filters is None:
        return Survivors(fragments=table.fragments, condition=None)
    tree = parse(filters)
    condition = to_arrow(tree if isinstance(filters, str) else filters, table.schema)
    bindings = TableBindings(
        tree, schema=table.schema, partition_columns=frozenset(table.partitions)
    )
    fragments = _in_partitions(table, condition)
    probes = _probed(table, fragments, bindings)
    return Survivors(
        fragments=tuple(_surviving(fragments, probes, is_single=len(table.fragments) == 1)),
        condition=condition,
    )


def _in_partitions(table: TableFiles, condition: pc.Expression) -> Sequence[ds.ParquetFileFragment]:
    """The files whose paths do not contradict the condition."""
    if not table.partitions:
        return table.fragments
    return tuple(table.dataset_of(table.fragments).get_fragments(condition))


def _probed(
    table: TableFiles, fragments: Sequence[ds.ParquetFileFragment], bindings: TableBindings
) -> Sequence[FileProbe | None]:
    """Probe files; None for those of which nothing is known."""
    try:
        report = probe_locations([_openable(table, one) for one in fragments], bindings)
    except (BloomwriterError, OSError):
        return [None] * len(fragments)
    return [None if one.error or one.known is None else one for one in report.files]


def _openable(table: TableFiles, fragment: ds.ParquetFileFragment) -> Openable:
    if table.is_open:
        return Given(table.source)
    place = locate(fragment.path, fragment.filesystem)
    return Location(path=place.path, filesystem=place.filesystem, name=place.path)


def _surviving(
    fragments: Sequence[ds.ParquetFileFragment],
    probes: Sequence[FileProbe | None],
    *,
    is_single: bool,
) -> Iterator[ds.ParquetFileFragment]:
    for fragment, probe in zip(fragments, probes, strict=True):
        if probe is None or len(probe.surviving) == probe.num_row_groups:
            yield fragment
        elif is_single:
            yield from _cut_known(fragment, probe)
        elif probe.surviving:
            yield fragment.format.make_fragment(
                fragment.path,
                fragment.filesystem,
                fragment.partition_expression,
                row_groups=probe.surviving,
            )


def _cut_known(
    fragment: ds.ParquetFileFragment, probe: FileProbe
) -> Iterator[ds.ParquetFileFragment]:
    """Cut a file down whose footer pyarrow has read for the schema, unless it changed since."""
    metadata = fragment.metadata
    seen = (probe.num_row_groups, probe.num_rows)
    if (metadata.num_row_groups, metadata.num_rows) != seen:
        yield fragment
    elif probe.surviving:
        yield fragment.subset(row_group_ids=probe.surviving)
