"""Which row groups of which files can hold what is asked for: open, look, judge, close.

Files are worked on in batches, as many as may be open at once; those of a batch that have the same
schema and writer are judged together. Footers come from memory where they were read before. Local
files are opened one after the other, because that takes microseconds; as soon as it takes longer (a
cold cache, a network), many at a time.
"""

from __future__ import annotations

import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from parquet_bloomwriter.errors import BloomwriterError, ColumnNotFound, FileProblem
from parquet_bloomwriter.hashing import XXHASH, HashKind
from parquet_bloomwriter.predicate import columns_of
from parquet_bloomwriter.predicate.bind import bind
from parquet_bloomwriter.predicate.to_sql import quoted_columns, single_quotes
from parquet_bloomwriter.probing.batch_reader import Pieces
from parquet_bloomwriter.probing.bloom import Hashes
from parquet_bloomwriter.probing.evaluation import evaluate, leaves_of
from parquet_bloomwriter.probing.footer_cache import Family, family_key, known_file
from parquet_bloomwriter.probing.report import FileProbe, ProbeReport
from parquet_bloomwriter.source import open_for_reading
from parquet_bloomwriter.text import suggestion

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.predicate.bound import Bound, Members
    from parquet_bloomwriter.predicate.expression import Expression
    from parquet_bloomwriter.probing.evaluation import Findings
    from parquet_bloomwriter.probing.footer_cache import KnownFile
    from parquet_bloomwriter.probing.partitions import Partition
    from parquet_bloomwriter.source import Source

Failure = TypeVar("Failure", BloomwriterError | OSError, BloomwriterError | OSError | None)


class Openable(Protocol):
    """A file that can be opened; spelled out, it is the file's name."""

    def open(self) -> AbstractContextManager[Source]:
        """Open it for reading."""
        ...


@dataclass(frozen=True, slots=True)
class Given:
    """Something that is open already, or bytes."""

    source: Any

    def __str__(self) -> str:
        return str(getattr(self.source, "name", "") or "")

    def open(self) -> AbstractContextManager[Source]:
        """What is open stays open."""
        return open_for_reading(self.source)


_MOST_FILES, _LEAST_FILES = 256, 32
"""Files that are open at once, where the system allows four times as many; and in any case."""

_THREADS = 16
_SLOW_SECONDS = 0.002
"""A file that takes longer than this to open and view is waited for, not worked on."""


@dataclass(slots=True, eq=False)
class Bindings:
    """A predicate, and what it means for each schema that was met."""

    expression: Expression
    columns: tuple[str, ...] = ()
    seen: dict[int, tuple[tuple[Leaf, ...], Bound, tuple[int, ...]]] = field(default_factory=dict)
    """By the identity of the leaves: these, the bound predicate, the ordinals of its columns."""

    hashed: dict[int, Hashes] = field(default_factory=dict)
    """By the identity of an atom."""

    hash_kind: HashKind = XXHASH
    """The hash function of filters whose headers do not name it; "xxhash" to distrust these."""

    reads_paths: bool = False
    """Whether paths tell the values of columns."""

    partition: Partition | None = None
    """The columns that all the files have in their paths, with the same values."""

    @classmethod
    def of(
        cls, expression: Expression, hash_kind: HashKind = XXHASH, *, reads_paths: bool = False
    ) -> Bindings:
        """Begin with no schema."""
        return cls(expression, columns_of(expression), hash_kind=hash_kind, reads_paths=reads_paths)

    def in_partition(self, partition: Partition) -> Bindings:
        """The same for the files with these columns in their paths."""
        return replace(self, seen={}, hashed={}, partition=partition)

    @property
    def is_excluded(self) -> bool:
        """Whether paths alone exclude the files, whatever they store."""
        return self.partition is not None and self.partition.excludes(self.expression)

    def bound(self, leaves: tuple[Leaf, ...]) -> Bound:
        """The predicate for one schema."""
        return self._binding(leaves)[1]

    def wanted(self, leaves: tuple[Leaf, ...]) -> tuple[int, ...]:
        """The columns of one schema that are needed."""
        return self._binding(leaves)[2]

    def hashes(self, atom: Members) -> Hashes:
        """The hashes of an atom's values."""
        if id(atom) not in self.hashed:
            self.hashed[id(atom)] = Hashes.of(atom.plains or (), self.hash_kind)
        return self.hashed[id(atom)]

    def check_columns(self, paths: Sequence[str]) -> None:
        """See that every column is in some file, or is a partition key in some path.

        Raises:
            ColumnNotFound: If one is not.
        """
        quoted = quoted_columns(self.expression)
        names = (*self.columns, *quoted)
        schemas = [leaves for leaves, _, _ in self.seen.values()]
        if any(all(_has(leaves, name) for name in names) for leaves in schemas):
            return
        for name in names if schemas else ():
            is_known = any(_has(leaves, name) for leaves in schemas)
            if is_known or _in_paths(name, paths):
                continue
            if name in quoted:
                raise ColumnNotFound(f'there is no column "{name}"', remedy=single_quotes(name))
            from parquet_bloomwriter.column_names import select_columns

            try:
                select_columns(schemas[0], [name])
            except ColumnNotFound as error:
                known = (*(leaf.name for leaf in schemas[0]), *_names_in_paths(paths))
                error.remedy = suggestion(name, known)
                raise

    def _binding(self, leaves: tuple[Leaf, ...]) -> tuple[tuple[Leaf, ...], Bound, tuple[int, ...]]:
        found = self.seen.get(id(leaves))
        if found is None:
            bound = bind(self._on(leaves), leaves)
            found = (leaves, bound, tuple(leaf.ordinal for leaf in leaves_of(bound)))
            self.seen[id(leaves)] = found
        return found

    def _on(self, leaves: Sequence[Leaf]) -> Expression:
        """The predicate, as far as paths leave it open."""
        if self.partition is None:
            return self.expression
        return self.partition.decided(self.expression, {leaf.name for leaf in leaves})


def _in_paths(name: str, paths: Sequence[str]) -> bool:
    """Whether some path names it as a column of a partition."""
    return any(f"/{name}=" in f"/{path}" for path in paths)


def _names_in_paths(paths: Sequence[str]) -> Iterator[str]:
    """The columns that folders such as `year=2023` name, from the outermost of the first path."""
    for path in paths:
        for folder in path.split("/")[:-1]:
            name, is_given, _ = folder.partition("=")
            if name and is_given:
                yield name


def _has(leaves: Sequence[Leaf], name: str) -> bool:
    return any(leaf.name == name or leaf.name.startswith(f"{name}.") for leaf in leaves)


@dataclass(slots=True, eq=False)
class _Opened:
    """One file of a batch."""

    path: str | None
    source: Source | None = None
    known: KnownFile | None = None
    error: BloomwriterError | OSError | None = None


def probe_locations(locations: Sequence[Openable], bindings: Bindings) -> ProbeReport:
    """Probe files.

    Raises:
        ColumnNotFound: If a column is in none of the files.
    """
    groups = _by_partition(locations, bindings)
    found: dict[int, FileProbe] = {}
    num_filters = sum(
        _probe_group(group, places, locations, found)
        for group, places in groups
        if not group.is_excluded
    )
    for group, places in groups:
        if group.is_excluded:
            found.update((place, _by_path(locations[place])) for place in places)
    files = tuple(found[place] for place in range(len(locations)))
    _check_columns(groups, locations, bindings)
    return ProbeReport(expression=bindings.expression, files=files, num_filters=num_filters)


Groups: TypeAlias = "list[tuple[Bindings, list[int]]]"
"""Files by what their paths say: the predicate for them, and where they are in the list of all."""


def _by_partition(locations: Sequence[Openable], bindings: Bindings) -> Groups:
    """Group files by what their paths decide; many partitions are few groups."""
    groups: dict[Hashable, tuple[Bindings, list[int]]] = {}
    for place, location in enumerate(locations):
        partition = _partition_of(location, bindings)
        key = None
        if partition is not None:
            key = partition.hides_stored, partition.decided(bindings.expression, ())
        if key not in groups:
            of_path = bindings if partition is None else bindings.in_partition(partition)
            groups[key] = (of_path, [])
        groups[key][1].append(place)
    return list(groups.values())


def _partition_of(location: Openable, bindings: Bindings) -> Partition | None:
    path = str(location)
    if not bindings.reads_paths or "=" not in path:
        return None
    from parquet_bloomwriter.probing.partitions import partition_of

    return partition_of(path, getattr(location, "inner", ""), bindings.columns)


def _probe_group(
    bindings: Bindings,
    places: Sequence[int],
    locations: Sequence[Openable],
    found: dict[int, FileProbe],
) -> int:
    """Probe files of one partition; return how many filters were asked."""
    num_filters, at_once = 0, _files_at_once()
    for first in range(0, len(places), at_once):
        some = places[first : first + at_once]
        probed, filters = _probe_batch([locations[place] for place in some], bindings)
        found.update(zip(some, probed, strict=True))
        num_filters += filters
    return num_filters


def _by_path(location: Openable) -> FileProbe:
    """The verdict on a file that is not opened."""
    return FileProbe(path=str(location) or None, known=None, findings=None, is_excluded=True)


def _check_columns(groups: Groups, locations: Sequence[Openable], bindings: Bindings) -> None:
    """See that every column is in some file; look into excluded files only if one seems missing.

    Raises:
        ColumnNotFound: If a column is in none.
    """
    paths = [str(location) for location in locations if str(location)]
    excluded = [(group, places) for group, places in groups if group.is_excluded]
    for group, _ in groups:
        bindings.seen.update(group.seen)
    if not bindings.seen and not all(_in_paths(name, paths) for name in bindings.columns):
        for group, places in excluded[:1]:
            _probe_group(group, places[:1], locations, {})
            bindings.seen.update(group.seen)
    try:
        bindings.check_columns(paths)
    except ColumnNotFound:
        for group, places in excluded:
            _probe_group(group, places, locations, {})
            bindings.seen.update(group.seen)
        bindings.check_columns(paths)


def _files_at_once() -> int:
    try:
        import resource
    except ImportError:  # Windows, whose C library allows 512.
        return _MOST_FILES // 2
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY:
        return _MOST_FILES
    return max(_LEAST_FILES, min(_MOST_FILES, allowed // 4))


def _probe_batch(
    locations: Sequence[Openable], bindings: Bindings
) -> tuple[Iterable[FileProbe], int]:
    entered: list[AbstractContextManager[Source]] = []
    try:
        opened = _open_all(locations, bindings, entered)
        families = defaultdict(list)
        for place, one in enumerate(opened):
            if one.known is not None:
                families[family_key(one.known)].append(place)
        probes: dict[int, FileProbe] = {
            place: FileProbe(path=one.path, known=None, findings=None, error=one.error)
            for place, one in enumerate(opened)
            if one.known is None
        }
        num_filters = 0
        for places in families.values():
            findings, members = _judge([opened[place] for place in places], bindings)
            probes.update(zip(places, members, strict=True))
            num_filters += findings.num_filters
    finally:
        for manager in entered:
            manager.__exit__(None, None, None)
    return (probes[place] for place in range(len(opened))), num_filters


def _judge(opened: Sequence[_Opened], bindings: Bindings) -> tuple[Findings, Iterable[FileProbe]]:
    """Judge the files of one family."""
    known = [one.known for one in opened if one.known is not None]
    sources = [one.source for one in opened if one.source is not None]
    family = Family.of(known)
    pieces = Pieces(sources)
    findings = evaluate(bindings.bound(known[0].leaves), family, pieces, bindings.hashes)
    probes = [
        FileProbe(
            path=one.path,
            known=one.known,
            findings=findings,
            first_row=first,
            error=_blamed(pieces.failures.get(place), one.path),
            requests=source.traffic.requests,
            bytes_read=source.traffic.bytes,
        )
        for place, (one, source, first) in enumerate(
            zip(opened, sources, family.rows.tolist(), strict=False)
        )
    ]
    return findings, probes


def _open_all(
    locations: Sequence[Openable],
    bindings: Bindings,
    entered: list[AbstractContextManager[Source]],
) -> list[_Opened]:
    """Open files and view their footers; what was opened is noted in `entered`."""

    def open_one(location: Openable) -> _Opened:
        one = _Opened(str(location) or None)
        try:
            manager = location.open()
            one.source = manager.__enter__()
            entered.append(manager)
            one.known = known_file(one.source, bindings.wanted)
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
    """Say which file it was, and no longer that it was left unchanged: reading changes nothing."""
    if isinstance(error, FileProblem):
        error.path, error.outcome = error.path or path, ""
    return error


def _while_quick(
    locations: Sequence[Openable], open_one: Callable[[Openable], _Opened]
) -> Iterator[_Opened]:
    """Open files until several have taken long; the first may do so for other reasons."""
    num_slow = 0
    for location in locations:
        began = time.perf_counter()
        yield open_one(location)
        num_slow += time.perf_counter() - began > _SLOW_SECONDS
        if num_slow > 2:  # noqa: PLR2004  several
            return
