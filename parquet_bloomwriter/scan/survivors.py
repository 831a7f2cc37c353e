"""The row groups of a table's files that survive probing.

The fragments that pyarrow scans are probed one by one and in the same order, so no file has to be
found again by its name. A file that cannot be probed is read as a whole, and pyarrow decides.

pyarrow looks at statistics, too, and never returns from some (`metadata.contradictions`). So files
whose metadata contradict the schema in a column of the condition are refused before pyarrow gets
them. Where statistics are only unusual, or the footer is one that only pyarrow takes for sound,
rows are selected without statistics.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import (
    BloomwriterError,
    FileProblem,
    InvalidArgument,
    MalformedFile,
    UnsupportedFile,
)
from parquet_bloomwriter.hashing import XXHASH, HashKind
from parquet_bloomwriter.metadata.contradictions import Consequence
from parquet_bloomwriter.predicate import parse
from parquet_bloomwriter.predicate.arrow_columns import has_name
from parquet_bloomwriter.predicate.arrow_in import columns_in
from parquet_bloomwriter.predicate.arrow_out import to_arrow
from parquet_bloomwriter.predicate.expression import (
    And,
    Comparison,
    Constant,
    IsIn,
    IsNull,
    Not,
    Or,
)
from parquet_bloomwriter.probing.files import Given, probe_locations
from parquet_bloomwriter.probing.footer_cache import cached_footer
from parquet_bloomwriter.probing.report import FileProbe
from parquet_bloomwriter.scan.safe_pushdown import (
    TableBindings,
    stored_paths,
    without_columns,
    without_statistics,
)
from parquet_bloomwriter.scan.snapshots import FileStates, is_local, without_footer
from parquet_bloomwriter.source import Location
from parquet_bloomwriter.source.filesystems import locate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    from parquet_bloomwriter.metadata.contradictions import Contradiction
    from parquet_bloomwriter.predicate import Filters
    from parquet_bloomwriter.predicate.expression import Expression
    from parquet_bloomwriter.probing.files import Openable
    from parquet_bloomwriter.scan.table import TableFiles
    from parquet_bloomwriter.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """The surviving row groups of one file."""

    fragment: ds.ParquetFileFragment
    """The file, cut down to the row groups that survive."""

    scanned: ds.ParquetFileFragment | None = None
    """The fragment that pyarrow scans, if the file lacks a column of the condition."""

    row_groups: tuple[int, ...] | None = None
    """Ordinals of the surviving row groups; None if all survive."""

    columns: frozenset[str] | None = None
    """Names of the file's columns, at the top level; None if the file could not be probed."""

    @property
    def is_of_version(self) -> bool:
        """Return whether the piece holds for one version of the file only."""
        return self.row_groups is not None or self.scanned is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Survivors:
    """The surviving row groups of a table."""

    pieces: tuple[Piece, ...]
    """One for each file with surviving row groups."""

    condition: pc.Expression | None
    """The condition that selects rows; None if all rows are returned."""

    states: FileStates
    """States, when probed, of the files whose piece holds for one version of the file only."""

    probed: FileStates
    """States of all files before they were probed; empty where nothing is selected."""

    compares_statistics: bool = True
    """Whether pyarrow may compare the statistics of the columns in the condition."""

    @property
    def fragments(self) -> tuple[ds.ParquetFileFragment, ...]:
        """The fragments for pyarrow to scan."""
        return tuple(piece.scanned or piece.fragment for piece in self.pieces)


def find_survivors(
    table: TableFiles,
    filters: Filters | None,
    *,
    probes: bool = True,
    hash_kind: HashKind = XXHASH,
    streams: bool = True,
) -> Survivors:
    """Return the row groups of a table to read; probe its files, unless all rows are wanted.

    Args:
        table: The table.
        filters: What `read_table` takes; None for all rows.
        probes: False to read files as a whole, because they change more quickly than probing.
        hash_kind: The hash function of Bloom filters whose headers do not name it; "xxhash"
            distrusts these filters.
        streams: Whether the caller can select rows without statistics (`scan.stream`). If not,
            every file must be one that pyarrow can scan by itself, with other filters, too.

    Raises:
        InvalidArgument: If the filters cannot be understood, or compared with the columns.
        ColumnNotFound: If the table has no such column.
        MalformedFile: If a file contradicts its schema in a column of the filters, or, unless the
            caller streams, in any column.
        UnsupportedFile: If a column of the filters is encrypted, and there are no keys; or, unless
            the caller streams, if pyarrow cannot compare its statistics.
        Whatever pyarrow raises: If it cannot evaluate the filters.
    """
    if filters is None:
        every = tuple(map(_whole, table.fragments))
        none = FileStates(states={})
        return Survivors(pieces=every, condition=None, states=none, probed=none)
    import pyarrow.compute as pc

    tree = parse(filters)
    condition = to_arrow(tree if isinstance(filters, str) else filters, table.schema)
    if condition.equals(pc.scalar(value=False)):
        none = FileStates(states={})
        return Survivors(pieces=(), condition=condition, states=none, probed=none)
    fragments = _in_partitions(table, condition)
    return _probe(
        table,
        fragments,
        tree,
        condition=condition,
        probes=probes,
        hash_kind=hash_kind,
        streams=streams,
    )


def prune(table: TableFiles, tree: Expression, *, hash_kind: HashKind = XXHASH) -> Survivors:
    """Return the row groups of a table with rows that may satisfy a tree; the caller selects rows.

    Nothing is checked: conditions that cannot be compared with the columns exclude nothing.

    Args:
        table: The table.
        tree: True of all rows that are wanted.
        hash_kind: As for `find_survivors`.
    """
    fragments: Sequence[ds.ParquetFileFragment] = table.fragments
    if table.partitions:
        try:
            decided = _on_partitions(tree, _exact_partitions(table))
            fragments = _in_partitions(table, to_arrow(decided, table.schema))
        except InvalidArgument:
            fragments = table.fragments
    return _probe(
        table, fragments, tree, condition=None, probes=True, hash_kind=hash_kind, streams=True
    )


def _probe(  # noqa: PLR0913  what both callers know
    table: TableFiles,
    fragments: Sequence[ds.ParquetFileFragment],
    tree: Expression,
    *,
    condition: pc.Expression | None,
    probes: bool,
    hash_kind: HashKind,
    streams: bool,
) -> Survivors:
    bindings = TableBindings(
        tree,
        hash_kind=hash_kind,
        schema=table.schema,
        partition_columns=frozenset(table.partitions),
    )
    if not probes and not table.is_open:
        fragments = [without_footer(fragment, None) for fragment in fragments]
    probed = _probed(table, fragments, bindings)
    found = [None if one.error or one.known is None or not probes else one for one in probed]
    pairs = zip(probed, found, strict=True)
    read = [one for one, judged in pairs if judged is None or judged.surviving]
    compares = condition is None or _may_compare_statistics(table, read, condition, streams=streams)
    pieces = tuple(_surviving(table, fragments, found))
    versions = (
        {}
        if table.is_open
        else {one.path: probe.version for one, probe in zip(fragments, probed, strict=True)}
    )
    if condition is not None:
        paths = stored_paths(condition, table)
        condition = without_statistics(condition, paths)
        pieces = tuple([_without_columns(table, piece, paths) for piece in pieces])
    return Survivors(
        pieces=pieces,
        condition=condition,
        states=FileStates.of([piece.fragment for piece in pieces if piece.is_of_version], versions),
        probed=FileStates(
            states=FileStates.of([piece.fragment for piece in pieces], versions).states
        ),
        compares_statistics=compares,
    )


def _may_compare_statistics(
    table: TableFiles, probed: Iterable[FileProbe], condition: pc.Expression, *, streams: bool
) -> bool:
    """Return whether pyarrow may compare the statistics of the columns in a condition.

    Args:
        table: The table.
        probed: The files of it of which anything will be read.
        condition: What rows must satisfy.
        streams: As for `find_survivors`.

    Raises:
        MalformedFile, UnsupportedFile: As `find_survivors`.
    """
    answer = True
    for one in probed:
        if isinstance(one.error, MalformedFile):
            if not streams:
                raise one.error
            answer = False
        if one.known is None:
            continue
        for ordinal, found in one.known.contradictions().items():
            if found.consequence is Consequence.NEED_KEYS and table.has_keys:
                continue
            name = one.known.leaves[ordinal].name
            is_asked = _is_asked(name, condition)
            if is_asked and streams and found.consequence is Consequence.SKIP_STATISTICS:
                answer = False
            elif is_asked or (found.consequence is Consequence.REFUSE and not streams):
                raise _refused(one.path, found, name)
    return answer


def check_comparable(source: Source, *, has_keys: bool) -> None:
    """Check that pyarrow can compare all statistics of a file, or raises an error by itself.

    Args:
        source: The open file.
        has_keys: Whether pyarrow has keys of encrypted columns.

    Raises:
        MalformedFile, UnsupportedFile: As `find_survivors`, if the caller does not stream.
    """
    try:
        known = cached_footer(source, lambda _: ())
    except MalformedFile as error:
        error.outcome = ""
        raise
    except (FileProblem, OSError):
        return
    for ordinal, found in known.contradictions().items():
        if found.consequence is not Consequence.NEED_KEYS or not has_keys:
            raise _refused(source.name, found, known.leaves[ordinal].name)


def _is_asked(name: str, condition: pc.Expression) -> bool:
    """Return whether a leaf column may be in a condition, alone or as a part of a group."""
    asked = columns_in(condition)
    return asked is None or any(f"{name}.".startswith(f"{one}.") for one in asked)


_REMEDIES = {
    Consequence.REFUSE: "Leave the column out of the filters, or have the file written anew.",
    Consequence.NEED_KEYS: (
        "Give its keys (decryption_properties), or leave the column out of the filters."
    ),
    Consequence.SKIP_STATISTICS: "Use read_table or iter_batches.",
}


def _refused(path: str | None, found: Contradiction, name: str) -> FileProblem:
    kind = MalformedFile if found.consequence is Consequence.REFUSE else UnsupportedFile
    error = kind(
        found.problem,
        path=path,
        row_group=found.row_group,
        column=name,
        remedy=_REMEDIES[found.consequence],
    )
    error.outcome = ""
    return error


def _exact_partitions(table: TableFiles) -> frozenset[str]:
    """Return the partition columns whose values all readers compare alike, so not floats (NaN)."""
    import pyarrow as pa

    types = {name: table.schema.field(name).type for name in table.partitions}
    values = {
        name: type_.value_type if pa.types.is_dictionary(type_) else type_
        for name, type_ in types.items()
    }
    return frozenset(name for name, type_ in values.items() if not pa.types.is_floating(type_))


def _on_partitions(tree: Expression, names: frozenset[str]) -> Expression:
    """Return a tree on partition columns only that is true wherever the given tree is true."""
    match tree:
        case And(operands) | Or(operands):
            kind = And if isinstance(tree, And) else Or
            return kind(tuple(_on_partitions(operand, names) for operand in operands))
        case Comparison(column) | IsIn(column) | IsNull(column) if column in names:
            return tree
        case Not(Comparison(column) | IsIn(column) | IsNull(column)) if column in names:
            return tree
    return Constant(value=True)


def _in_partitions(table: TableFiles, condition: pc.Expression) -> Sequence[ds.ParquetFileFragment]:
    """Return the files whose paths do not contradict the condition."""
    if not table.partitions:
        return table.fragments
    return tuple(table.dataset_of(table.fragments).get_fragments(condition))


def _probed(
    table: TableFiles, fragments: Sequence[ds.ParquetFileFragment], bindings: TableBindings
) -> Sequence[FileProbe]:
    """Return the verdicts on files; a file that cannot be probed gets one with the error."""
    locations = _openables(table, fragments)
    try:
        return probe_locations(locations, bindings).files
    except (BloomwriterError, OSError) as error:
        return [
            FileProbe(path=str(location) or None, known=None, findings=None, error=error)
            for location in locations
        ]


def _openables(
    table: TableFiles, fragments: Sequence[ds.ParquetFileFragment]
) -> Sequence[Openable]:
    """Return the files, which all are on one file system, to be opened for probing."""
    if table.is_open:
        return [Given(table.source if table.probed is None else table.probed)] * len(fragments)
    if not fragments:
        return []
    if is_local(fragments[0]):
        return [Location(path=one.path) for one in fragments]
    filesystem = fragments[0].filesystem
    places = [locate(one.path, filesystem) for one in fragments]
    return [Location(path=one.path, filesystem=one.filesystem, name=one.path) for one in places]


def _without_columns(table: TableFiles, piece: Piece, paths: Sequence[tuple[str, ...]]) -> Piece:
    """Return a piece that says which of some columns its file lacks."""
    import pyarrow as pa

    fragment, stored = piece.fragment, piece.columns
    if stored is None:
        seen = without_footer(fragment, None) if is_local(fragment) else fragment
        try:
            stored = frozenset(field.name for field in seen.physical_schema if has_name(field))
        except (OSError, pa.ArrowException):  # the scan will raise an error about the file
            return piece
    known = without_columns(fragment.partition_expression, paths, stored)
    if known.equals(fragment.partition_expression):
        return piece
    if not table.is_open:
        fragment = without_footer(fragment, piece.row_groups, partition_expression=known)
    else:
        fragment = fragment.format.make_fragment(table.source, partition_expression=known)
        if piece.row_groups is not None:
            fragment = fragment.subset(row_group_ids=piece.row_groups)
    return replace(piece, scanned=fragment)


def _surviving(
    table: TableFiles,
    fragments: Sequence[ds.ParquetFileFragment],
    probes: Sequence[FileProbe | None],
) -> Iterator[Piece]:
    for fragment, probe in zip(fragments, probes, strict=True):
        if probe is None or probe.known is None:
            yield _whole(fragment)
            continue
        columns = frozenset(leaf.path[0] for leaf in probe.known.leaves)
        if len(probe.surviving) == probe.num_row_groups:
            yield replace(_whole(fragment), columns=columns)
        elif probe.surviving:
            yield replace(_cut(table, fragment, probe), columns=columns)


def _whole(fragment: ds.ParquetFileFragment) -> Piece:
    return Piece(fragment=without_footer(fragment, None) if is_local(fragment) else fragment)


def _cut(table: TableFiles, fragment: ds.ParquetFileFragment, probe: FileProbe) -> Piece:
    row_groups = tuple(probe.surviving)
    if len(table.fragments) == 1:  # pyarrow has read its footer, for the schema
        metadata = fragment.metadata
        seen = (probe.num_row_groups, probe.num_rows)
        if (metadata.num_row_groups, metadata.num_rows) != seen:
            return _whole(fragment)
        if table.is_open:
            return Piece(fragment=fragment.subset(row_group_ids=row_groups), row_groups=row_groups)
    return Piece(fragment=without_footer(fragment, row_groups), row_groups=row_groups)
