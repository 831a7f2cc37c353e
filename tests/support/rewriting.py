"""Rewrite files with the package under test, and hold each result against the old file.

Runs in a process of its own, `python -m tests.support.rewriting SCRATCH`, as `support.workers` has
it. A task is `{"path": file}`. The new versions stay in SCRATCH for readers.
"""

from __future__ import annotations

import copy
import json
import shutil
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from parquet_bloomwriter import BloomwriterError, Status, bloomify, strip
from parquet_bloomwriter.rewrite.plan import Placement
from tests.support import compact
from tests.support.split_block import ReferenceFilter
from tests.support.workers import tell

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parquet_bloomwriter import AddReport
    from tests.support.compact import Struct

PLACEMENTS: tuple[Placement, ...] = get_args(Placement)
_OFFSETS = (compact.FILE_OFFSET, compact.OFFSET_INDEX_OFFSET, compact.COLUMN_INDEX_OFFSET)
_META_OFFSETS = (
    compact.DATA_PAGE_OFFSET,
    compact.INDEX_PAGE_OFFSET,
    compact.DICTIONARY_PAGE_OFFSET,
)
_BLOOM = (compact.BLOOM_FILTER_OFFSET, compact.BLOOM_FILTER_LENGTH)
_COMPARED_BYTES = 8
"""A page header has at least as many."""


@dataclass(kw_only=True)
class Outcome:
    """What became of one file."""

    path: str
    status: dict[str, str] = field(default_factory=dict)
    """By placement: "rewritten", "refused" or "nothing to do"."""

    reason: str = ""
    """The error, if it was refused; why filters went to the end, if they did."""

    skipped: list[str] = field(default_factory=list)
    """Reasons why chunks got no filter, or filters were replaced."""

    built: list[tuple[int, int]] = field(default_factory=list)
    """Row group and leaf ordinal of each new filter."""

    kept: int = 0
    """Old filters that were found to hold every value."""

    replaced: int = 0
    """Old filters that had to be built anew."""

    new: dict[str, str] = field(default_factory=dict)
    """By placement: the new version."""

    problems: list[str] = field(default_factory=list)
    """What should not be."""

    peak_bytes: int = 0
    """Memory of the process so far, at most."""


def rewrite(path: Path, scratch: Path) -> Outcome:
    """Add filters in each placement: first to a copy on disk, then to the bytes."""
    outcome = Outcome(path=str(path))
    old = path.read_bytes()
    for placement in PLACEMENTS:
        folder = Path(tempfile.mkdtemp(prefix=f"{placement}-", dir=scratch))
        target = folder / "new.parquet"
        if placement == PLACEMENTS[0]:
            shutil.copyfile(path, target)
            new = _on_disk(target, old, placement, outcome)
        else:
            new = _in_memory(old, placement, outcome)
            target.write_bytes(new)
        if new != old:
            outcome.new[placement] = str(target)
    _agree(outcome)
    outcome.peak_bytes = _peak_bytes()
    return outcome


def _on_disk(target: Path, old: bytes, placement: Placement, outcome: Outcome) -> bytes:
    try:
        report = bloomify(target, placement=placement, jobs=1)
    except BloomwriterError as error:
        _refused(error, placement, outcome)
    else:
        _judge(report, old, target.read_bytes(), placement, outcome)
    listing = [entry.name for entry in target.parent.iterdir()]
    if listing != [target.name]:
        outcome.problems.append(f"{placement}: the folder holds {listing}")
    new = target.read_bytes()
    if new != old and outcome.status[placement] != "rewritten":
        outcome.problems.append(f"{placement}: {outcome.status[placement]}, but the file changed")
    return new


def _in_memory(old: bytes, placement: Placement, outcome: Outcome) -> bytes:
    try:
        report = bloomify(old, placement=placement, jobs=1)
    except BloomwriterError as error:
        _refused(error, placement, outcome)
        return old
    new = old if report.data is None else report.data
    _judge(report, old, new, placement, outcome)
    return new


def _refused(error: BloomwriterError, placement: Placement, outcome: Outcome) -> None:
    outcome.status[placement] = "refused"
    outcome.reason = f"{type(error).__name__}: {error.problem}"


def _judge(
    report: AddReport, old: bytes, new: bytes, placement: Placement, outcome: Outcome
) -> None:
    outcome.status[placement] = "rewritten" if report.written else "nothing to do"
    outcome.reason = outcome.reason or report.fallback or ""
    outcome.skipped = sorted({r for column in report.columns for r in column.reasons})
    built = {
        (chunk.row_group, column.ordinal): (chunk.offset, chunk.length)
        for column in report.columns
        for chunk in column.chunks
        if chunk.status is Status.BUILT
    }
    outcome.built = sorted(built)
    outcome.kept = sum(column.count(Status.KEPT) for column in report.columns)
    outcome.replaced = sum(
        chunk.reason != "" for column in report.columns for chunk in column.built
    )
    if report.written:
        problems = _differences(old, new, built)
        outcome.problems += [f"{placement}: {problem}" for problem in problems]


def _differences(
    old: bytes, new: bytes, built: Mapping[tuple[int, int], tuple[int | None, int]]
) -> Iterator[str]:
    """Say what else differs between the files than the new filters."""
    before, after = compact.footer_of(old), compact.footer_of(new)
    filters = compact.filters_of(after)
    had_filters = bool(compact.filters_of(before))
    expected = (strip(old).data or old) if had_filters else old
    if strip(new).data != expected:
        yield "taking the filters out again does not restore the file"
    if _without_offsets(before) != _without_offsets(after):
        yield "the footer differs in more than offsets and filters"
    for place, where in built.items():
        if filters.get(place) != where:
            yield f"{place}: the footer says {filters.get(place)}, the report {where}"
    for place in filters.keys() - built.keys():
        if filters[place][1] != compact.filters_of(before)[place][1]:
            yield f"{place}: an old filter's length changed"
    for place in filters.keys() & built.keys():
        offset, length = filters[place]
        try:
            ReferenceFilter.parse(new[offset : offset + (length or 0)])
        except ValueError as error:
            yield f"{place}: {error}"
    spans = sorted(span for place, span in filters.items() if place in built)
    yield from _misplaced(old, new, before, after, None if had_filters else spans)


def _misplaced(
    old: bytes,
    new: bytes,
    before: Struct,
    after: Struct,
    spans: Sequence[tuple[int, int | None]] | None,
) -> Iterator[str]:
    """Offsets that do not lead to the bytes that they led to before."""
    chunks, new_chunks = compact.chunks_of(before), compact.chunks_of(after)
    resized = False
    for place, chunk in chunks.items():
        meta, new_chunk = chunk.get(compact.META_DATA, {}), new_chunks[place]
        pairs = [
            (meta.get(field_id, 0), new_chunk[compact.META_DATA].get(field_id, 0))
            for field_id in _META_OFFSETS
        ]
        indexes, new_indexes = _index_parts(chunk, old), _index_parts(new_chunk, new)
        if indexes[1] != new_indexes[1]:
            yield f"{place}: the ColumnIndex changed"
        pages, new_pages = _pages(indexes[0]), _pages(new_indexes[0])
        if [page[1:] for page in pages] != [page[1:] for page in new_pages]:
            yield f"{place}: the OffsetIndex changed in more than offsets"
        resized = resized or len(indexes[0]) != len(new_indexes[0])
        pairs += [(page[0], new_page[0]) for page, new_page in zip(pages, new_pages, strict=True)]
        for was, is_ in pairs:
            same = old[was : was + _COMPARED_BYTES] == new[is_ : is_ + _COMPARED_BYTES]
            if (was > 0 and not same) or (was <= 0 and is_ != was):
                yield f"{place}: what was at byte {was} is not at byte {is_}"
    if spans is not None and not resized:
        yield from _wrong_file_offsets(before, after, spans)


def _wrong_file_offsets(
    before: Struct, after: Struct, spans: Sequence[tuple[int, int | None]]
) -> Iterator[str]:
    """`file_offset` moves with the byte it points at, whatever that is."""
    pairs = [
        (chunk.get(compact.FILE_OFFSET), new_chunk.get(compact.FILE_OFFSET))
        for chunk, new_chunk in zip(
            compact.chunks_of(before).values(), compact.chunks_of(after).values(), strict=True
        )
    ] + [
        (a.get(compact.ROW_GROUP_FILE_OFFSET), b.get(compact.ROW_GROUP_FILE_OFFSET))
        for a, b in zip(before[compact.ROW_GROUPS], after[compact.ROW_GROUPS], strict=True)
    ]
    for was, is_ in pairs:
        expected = was or 0
        if expected > 0:
            for offset, length in spans:
                expected += (length or 0) if offset <= expected else 0
        if (is_ or 0) != expected:
            yield f"a file_offset of {was} became {is_}, not {expected}"


def _index_parts(chunk: Struct, file: bytes) -> tuple[bytes, bytes]:
    """Bytes of the OffsetIndex and of the ColumnIndex."""
    parts = []
    for offset_id, length_id in (
        (compact.OFFSET_INDEX_OFFSET, compact.OFFSET_INDEX_LENGTH),
        (compact.COLUMN_INDEX_OFFSET, compact.COLUMN_INDEX_LENGTH),
    ):
        offset, length = chunk.get(offset_id, 0), chunk.get(length_id, 0)
        parts.append(file[offset : offset + length] if offset > 0 else b"")
    return parts[0], parts[1]


def _pages(offset_index: bytes) -> list[tuple[int, object, object]]:
    if not offset_index:
        return []
    locations = compact.decode(offset_index)[0].get(1, [])
    return [(page[1], page.get(2), page.get(3)) for page in locations]


def _without_offsets(footer: Struct) -> Struct:
    result = copy.deepcopy(footer)
    for row_group in result[compact.ROW_GROUPS]:
        row_group.pop(compact.ROW_GROUP_FILE_OFFSET, None)
    for chunk in compact.chunks_of(result).values():
        for field_id in (*_OFFSETS, compact.OFFSET_INDEX_LENGTH):
            chunk.pop(field_id, None)
        for field_id in (*_META_OFFSETS, *_BLOOM):
            chunk[compact.META_DATA].pop(field_id, None)
    return result


def _agree(outcome: Outcome) -> None:
    """All placements must end alike, with the same filters."""
    if len(set(outcome.status.values())) != 1:
        outcome.problems.append(f"placements end differently: {outcome.status}")
    filters = []
    for path in outcome.new.values():
        data = Path(path).read_bytes()
        places = compact.filters_of(compact.footer_of(data))
        found = {p: data[at : at + (length or 0)] for p, (at, length) in places.items()}
        filters.append([found[place] for place in outcome.built])
    if any(other != filters[0] for other in filters[1:]):
        outcome.problems.append("placements hold different filters")


def _peak_bytes() -> int:
    """Memory of this program so far; `getrusage` would count that of the one that started it."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (kib,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(kib) * 1024


def main() -> None:
    """Work on one task per line of the standard input."""
    scratch = Path(sys.argv[1])
    for line in sys.stdin:
        path = json.loads(line)["path"]
        tell({"begins": path})
        tell(asdict(rewrite(Path(path), scratch)))


if __name__ == "__main__":
    main()
