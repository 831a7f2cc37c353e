"""The probing of files: open them, read footers, judge row groups, close them.

As many files as the system allows are open at once. Those among them that have the same schema and
writer are judged together, as a `FileBatch`. Footers that were read before come from memory. Local
files are opened one after the other, because that takes microseconds; as soon as it takes longer (a
cold cache, a network), many at a time. On a busy machine single files take long, too, while another
process runs; threads would only wait for each other then.
"""

from __future__ import annotations

import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import numpy as np

from parquet_bloomwriter.errors import BloomwriterError, ColumnNotFound, FileProblem
from parquet_bloomwriter.probing.batch_reader import BatchReader
from parquet_bloomwriter.probing.bindings import Bindings, in_paths, partition_of_file
from parquet_bloomwriter.probing.evaluation import evaluate
from parquet_bloomwriter.probing.footer_cache import FileBatch, batch_key, cached_footer
from parquet_bloomwriter.probing.report import FileProbe, ProbeReport
from parquet_bloomwriter.source import open_for_reading

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from parquet_bloomwriter.probing.footer_cache import CachedFooter
    from parquet_bloomwriter.probing.partitions import Partition
    from parquet_bloomwriter.source import Source
    from parquet_bloomwriter.table_files.files import Table

Failure = TypeVar("Failure", BloomwriterError | OSError, BloomwriterError | OSError | None)


class Openable(Protocol):
    """A file that can be opened; `str` gives its name, "" if it has none."""

    def open(self) -> AbstractContextManager[Source]:
        """Open the file for reading."""
        ...


@dataclass(frozen=True, slots=True)
class Given:
    """An open file, or bytes."""

    source: Any

    def __str__(self) -> str:
        return str(getattr(self.source, "name", "") or "")

    def open(self) -> AbstractContextManager[Source]:
        """Return the source; an open file stays open."""
        return open_for_reading(self.source)


_MOST_FILES, _LEAST_FILES = 256, 32
"""Most files that are open at once: a quarter of what the system allows, within these limits."""

_THREADS = 16
_SLOW_SECONDS, _MOST_SLOW, _QUICK_WEIGHT = 0.002, 2, 0.25
"""Seconds; opening a file and parsing its footer takes longer only while waiting for a disk or a
network."""


@dataclass(slots=True, eq=False)
class _Opened:
    """A file that is open with others, or the error of opening it."""

    path: str | None
    source: Source | None = None
    footer: CachedFooter | None = None
    error: BloomwriterError | OSError | None = None


def probe_locations(locations: Sequence[Openable], bindings: Bindings) -> ProbeReport:
    """Return the verdicts on files and their row groups.

    Raises:
        ColumnNotFound: If a column is in none of the files.
    """
    groups = _by_partition(locations, bindings)
    are_of_tables = bool(groups) and all(group.table is not None for group, _ in groups)
    if are_of_tables:  # which know their columns without a look at their files
        _check_columns(groups, locations, bindings)
    found: dict[int, FileProbe] = {}
    num_filters = 0
    for group, places in groups:
        there = [locations[place] for place in places]
        if group.is_excluded:
            found.update(zip(places, map(_by_path, there), strict=True))
            continue
        probed = _probe_group(there, group)
        found.update(zip(places, probed.files, strict=True))
        num_filters += probed.num_filters
    files = tuple(found[place] for place in range(len(locations)))
    if not are_of_tables:
        _check_columns(groups, locations, bindings)
    return ProbeReport(expression=bindings.expression, files=files, num_filters=num_filters)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Probed:
    """The verdicts on some files, and the number of filters used."""

    files: Sequence[FileProbe]
    """Verdicts on the files, in the order given."""

    num_filters: int
    """Number of filters in which values were looked up."""


Groups: TypeAlias = "list[tuple[Bindings, list[int]]]"
"""Groups of files whose paths decide the same: the predicate, and indexes in the list of all."""


def _by_partition(locations: Sequence[Openable], bindings: Bindings) -> Groups:
    """Return files grouped by what their paths decide: many partitions make few groups."""
    groups: dict[Hashable, tuple[Bindings, list[int]]] = {}
    tables: dict[Table, Bindings] = {}
    for place, location in enumerate(locations):
        table: Table | None = getattr(location, "table", None)
        if table is not None and table not in tables:
            tables[table] = bindings.of_table(table)
        begun = bindings if table is None else tables[table]
        partition = _partition_of(location, bindings)
        key: Hashable = table
        if partition is not None:
            key = table, partition.hides_stored, partition.decided(bindings.expression, ())
        if key not in groups:
            groups[key] = (begun if partition is None else begun.in_partition(partition), [])
        groups[key][1].append(place)
    return list(groups.values())


def _partition_of(location: Openable, bindings: Bindings) -> Partition | None:
    if getattr(location, "table", None) is not None:
        return partition_of_file(location, bindings.columns)  # type: ignore[arg-type]  # seen above
    path = str(location)
    if not bindings.reads_paths or "=" not in path:
        return None
    from parquet_bloomwriter.probing.partitions import partition_of

    return partition_of(path, getattr(location, "inner", ""), bindings.columns)


def _probe_group(locations: Sequence[Openable], bindings: Bindings) -> _Probed:
    """Probe the files of one group, in batches of as many as may be open."""
    files: list[FileProbe] = []
    num_filters, at_once = 0, _files_at_once()
    for first in range(0, len(locations), at_once):
        probed = _probe_at_once(locations[first : first + at_once], bindings)
        files.extend(probed.files)
        num_filters += probed.num_filters
    return _Probed(files=files, num_filters=num_filters)


def _by_path(location: Openable) -> FileProbe:
    """Return the verdict on a file that its path excludes."""
    return FileProbe(path=str(location) or None, known=None, findings=None, is_excluded=True)


def _check_columns(groups: Groups, locations: Sequence[Openable], bindings: Bindings) -> None:
    """Check that every column is in some file; open excluded files only if one seems missing.

    Raises:
        ColumnNotFound: If a column is in none of the files.
    """
    tables = [names for group, _ in groups if group.table is not None for names in group.names()]
    others = [(group, places) for group, places in groups if group.table is None]
    places_of_others = sorted(place for _, places in others for place in places)
    paths = [str(locations[place]) for place in places_of_others if str(locations[place])]
    excluded = [
        (group, [locations[place] for place in places])
        for group, places in others
        if group.is_excluded
    ]
    for group, _ in others:
        bindings.seen.update(group.seen)
    is_decided = bindings.seen or tables or all(in_paths(name, paths) for name in bindings.columns)
    if not is_decided:
        for group, there in excluded[:1]:
            _probe_group(there[:1], group)
            bindings.seen.update(group.seen)
    try:
        bindings.check_columns(paths, tables)
    except ColumnNotFound:
        for group, there in excluded:
            _probe_group(there, group)
            bindings.seen.update(group.seen)
        bindings.check_columns(paths, tables)


def _files_at_once() -> int:
    try:
        import resource
    except ImportError:  # Windows, whose C library allows 512.
        return _MOST_FILES // 2
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY:
        return _MOST_FILES
    return max(_LEAST_FILES, min(_MOST_FILES, allowed // 4))


def _probe_at_once(locations: Sequence[Openable], bindings: Bindings) -> _Probed:
    """Probe files that are all open at the same time."""
    with ExitStack() as stack:
        opened = _open_all(locations, bindings, stack)
        batches: defaultdict[Hashable, list[int]] = defaultdict(list)
        probes: dict[int, FileProbe] = {}
        for place, one in enumerate(opened):
            if one.footer is None:
                probes[place] = FileProbe(
                    path=one.path,
                    known=None,
                    findings=None,
                    error=one.error,
                    version=getattr(one.source, "told_version", None),
                )
            else:
                batches[batch_key(one.footer)].append(place)
        num_filters = 0
        for places in batches.values():
            probed = _judge([opened[place] for place in places], bindings)
            probes.update(zip(places, probed.files, strict=True))
            num_filters += probed.num_filters
    files = [probes[place] for place in range(len(opened))]
    return _Probed(files=files, num_filters=num_filters)


def _judge(opened: Sequence[_Opened], bindings: Bindings) -> _Probed:
    """Judge the files of one batch."""
    footers = [one.footer for one in opened if one.footer is not None]
    sources = [one.source for one in opened if one.source is not None]
    batch, reader = FileBatch.of(footers), BatchReader(sources)
    bound = bindings.to_file(footers[0]).bound
    findings = evaluate(bound, batch, reader, bindings.hashes)
    surviving: defaultdict[int, list[int]] = defaultdict(list)
    for row in np.flatnonzero(findings.might).tolist():
        place = int(batch.file_of[row])
        surviving[place].append(row - int(batch.rows[place]))
    files = [
        FileProbe(
            path=one.path,
            known=one.footer,
            findings=findings,
            first_row=first,
            surviving=tuple(surviving.get(place, ())),
            error=_blamed(reader.failures.get(place), one.path),
            version=getattr(source, "told_version", None),
            requests=source.traffic.requests,
            bytes_read=source.traffic.bytes,
        )
        for place, (one, source, first) in enumerate(
            zip(opened, sources, batch.rows.tolist(), strict=False)
        )
    ]
    return _Probed(files=files, num_filters=findings.num_filters)


def _open_all(locations: Sequence[Openable], bindings: Bindings, stack: ExitStack) -> list[_Opened]:
    """Open files and parse their footers; `stack` closes the files that were opened."""

    def ordinals(file: CachedFooter) -> tuple[int, ...]:
        return bindings.to_file(file).ordinals

    def open_one(location: Openable) -> _Opened:
        one = _Opened(str(location) or None)
        try:
            one.source = stack.enter_context(location.open())
            one.footer = cached_footer(one.source, ordinals)
        except (BloomwriterError, OSError) as error:
            one.error = _blamed(error, one.path)
        return one

    opened = list(_while_quick(locations, open_one))
    rest = locations[len(opened) :]
    if rest:
        with ThreadPoolExecutor(min(_THREADS, len(rest))) as pool:
            opened += pool.map(open_one, rest)
    return opened


def _blamed(error: Failure, path: str | None) -> Failure:
    """Add the path to an error, and drop "left unchanged": reading changes nothing."""
    if isinstance(error, FileProblem):
        error.path, error.outcome = error.path or path, ""
    return error


def _while_quick(
    locations: Sequence[Openable], open_one: Callable[[Openable], _Opened]
) -> Iterator[_Opened]:
    """Open files until several take long; single ones may take long for other reasons."""
    num_slow = 0.0
    for location in locations:
        began = time.perf_counter()
        yield open_one(location)
        is_slow = time.perf_counter() - began > _SLOW_SECONDS
        num_slow = num_slow + 1 if is_slow else max(0.0, num_slow - _QUICK_WEIGHT)
        if num_slow > _MOST_SLOW:
            return
