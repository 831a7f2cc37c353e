"""The plan of a new file: places of filters, and bytes that move; made before writing.

Two invariants make a rewritten file safe:

- **No cycle.** Filters lie before the footer and the footer is last, so every offset is final
  before a byte of the footer is made. (An OffsetIndex holds offsets too, and may grow with them;
  sizes are settled first, by repetition, because varints only grow when offsets do.)
- **A plan is a cover.** It is a sequence of pieces in the order of the new file. Its `Copy` and
  `Skip` ranges, in order, cover [0, footer start) of the old file exactly once. `Skip` drops
  nothing but old filters that are taken out and page indexes that are written anew. So data is
  never re-encoded, and taking the filters out again restores the old file byte for byte.

It is made in two steps. A `Draft` knows the positions in the old file; the sizes of the filters
complete it to a `Plan`. What lies before a filter can be copied while the filter is being built.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from parquet_bloomwriter.errors import MalformedFile
from parquet_bloomwriter.metadata.footer import MAGIC
from parquet_bloomwriter.metadata.patch import (
    Edit,
    Shift,
    apply_edits,
    bloom_edit,
    index_length_edits,
    offset_edits,
)
from parquet_bloomwriter.rewrite.embedded import leads_to_index, why_not_shift
from parquet_bloomwriter.rewrite.extents import covered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.filters.stored import StoredFilter
    from parquet_bloomwriter.metadata import Footer
    from parquet_bloomwriter.rewrite.old_layout import Layout

Placement = Literal["column-chunk", "row-group", "end"]
Chunk = tuple[int, int]
"""A column chunk: row group and leaf ordinal, both 0-based."""

_MAX_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy bytes [start, stop) of the old file."""

    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Skip:
    """Leave out bytes [start, stop) of the old file."""

    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Emit:
    """Write bytes that the old file does not have."""

    data: bytes


@dataclass(frozen=True, slots=True)
class EmitFilter:
    """Write the header and bitset of one column chunk's new filter."""

    row_group: int
    column: int
    length: int


Piece = Copy | Skip | Emit | EmitFilter


@dataclass(frozen=True, slots=True, kw_only=True)
class Insertion:
    """The place of one new filter."""

    position: int
    """Absolute position in the old file before which the filter goes."""

    row_group: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The positions of a plan, without the sizes of filters."""

    placement: Placement
    fallback: str | None
    """Why `placement` is "end" although another one was asked for; None if it is as asked for."""

    caution: str | None = None
    """Why bytes should not have moved, although they do; None if they may."""

    insertions: tuple[Insertion, ...]
    """Places of the new filters, in the order of the new file."""

    drops: tuple[StoredFilter, ...]
    """Old filters whose fields are taken out of the footer."""

    skips: tuple[Skip, ...]
    """The bytes of `drops` that nothing else claims, in order."""

    repairs: tuple[StoredFilter, ...] = ()
    """Old filters whose missing length is set in the footer."""

    left_bytes: int = 0
    """Bytes of `drops` that stay in the file, although the footer no longer refers to them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedFilter:
    """The place of a filter in the new file."""

    row_group: int
    column: int
    offset: int
    """Absolute position in the new file, bytes."""

    length: int
    """Length of header and bitset, bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The plan of the whole new file."""

    pieces: tuple[Piece, ...]
    filters: tuple[PlacedFilter, ...]
    dropped: frozenset[Chunk]
    """Chunks that have a filter in the old file, and none in the new one."""

    size: int
    """Size of the new file, bytes."""

    footer_start: int
    """Absolute position of the footer in the old file."""


def make_draft(
    layout: Layout,
    chunks: Sequence[Chunk],
    placement: Placement,
    *,
    drops: Sequence[StoredFilter] = (),
    insists: bool = False,
) -> Draft:
    """Choose the positions of new filters, and the bytes of old filters to leave out.

    Args:
        layout: The file.
        chunks: Column chunks that get a filter.
        placement: Where filters should go. If moving data is unsafe in this file, they go to the
            end, and nothing moves but filters that are there already: bytes of other old filters
            stay, too, and the footer leads there no more.
        drops: Old filters to take out. If any filter comes or goes, intruders go with them.
        insists: Keep the placement although bytes move that another program may find by their
            position: see `embedded`.
    """
    fallback = caution = None
    are_dropped = _are_dropped(layout, drops, chunks)
    drops = [old for old, goes in zip(layout.existing, are_dropped, strict=True) if goes]
    positions = dict.fromkeys(chunks, layout.footer.start)
    skips = _skips(layout, are_dropped)
    if placement != "end" or skips:
        reason = layout.why_not_move()
        if reason is not None:
            skips = _skips_at_end(layout, skips)
        elif placement != "end":
            wanted = _positions(layout, chunks, placement)
            reason = _why_not_cut(layout, list(wanted.values()), placement)
            if wanted and not reason:
                caution = why_not_shift(layout, min(wanted.values()))
                reason = None if insists else caution
            positions = positions if reason else wanted
        if skips and leads_to_index(layout, skips[0].stop):
            skips = _skips_at_end(layout, skips)
        fallback = reason if placement != "end" else None
    insertions = sorted(
        (Insertion(position=position, row_group=chunk[0], column=chunk[1])
         for chunk, position in positions.items()),
        key=lambda i: (i.position, i.row_group, i.column),
    )  # fmt: skip
    return Draft(
        placement="end" if fallback else placement,
        fallback=fallback,
        caution=caution if insists else None,
        insertions=tuple(insertions),
        drops=tuple(drops),
        skips=skips,
        left_bytes=_left_bytes(layout, are_dropped, skips),
        repairs=_left_unconfirmed(layout, drops, skips),
    )


def make_plan(layout: Layout, draft: Draft, lengths: Mapping[Chunk, int]) -> Plan:
    """Return the plan of a draft: every offset becomes final.

    Args:
        layout: The file.
        draft: Positions.
        lengths: Bytes of header and bitset of every new filter. Insertions that are not in it
            are left out.

    Raises:
        UnsupportedFile: If the metadata of a chunk cannot take the fields.
    """
    footer = layout.footer
    changes = _changes(draft, lengths)
    if any(start < layout.filters_at_end for start, _, _ in changes):
        changes = _with_page_indexes(layout, changes)
    stops = [stop for _, stop, _ in changes]
    move = Shift.of(stops, [length_of(piece) - (stop - start) for start, stop, piece in changes])
    pieces, filters = _pieces(changes, footer.start)
    index_lengths = {start: length_of(piece) for start, _, piece in changes if type(piece) is Emit}
    new_footer = _patched(footer, move, filters, draft, index_lengths)
    tail = new_footer + len(new_footer).to_bytes(4, "little") + MAGIC
    pieces.append(Emit(tail))
    plan = Plan(
        pieces=tuple(pieces),
        filters=tuple(filters),
        dropped=frozenset((f.row_group, f.column) for f in draft.drops) - lengths.keys(),
        size=sum(map(length_of, pieces)),
        footer_start=footer.start,
    )
    check_cover(plan)
    return plan


def unchanged(footer: Footer) -> Plan:
    """Return the plan of a new file that equals the old file."""
    tail = footer.data + len(footer.data).to_bytes(4, "little") + MAGIC
    return Plan(
        pieces=(Copy(0, footer.start), Emit(tail)),
        filters=(),
        dropped=frozenset(),
        size=footer.file_size,
        footer_start=footer.start,
    )


def check_cover(plan: Plan) -> None:
    """Prove that the plan uses every byte before the old footer exactly once, in order.

    Raises:
        AssertionError: If it does not. That is a bug, and nothing may be written.
    """
    position = 0
    for piece in plan.pieces:
        if isinstance(piece, Copy | Skip):
            if piece.start != position or piece.stop <= piece.start:
                raise AssertionError(f"{piece} after byte {position}")
            position = piece.stop
    if position != plan.footer_start:
        raise AssertionError(f"the plan ends at byte {position}, not {plan.footer_start}")


def _positions(layout: Layout, chunks: Sequence[Chunk], placement: Placement) -> dict[Chunk, int]:
    starts = layout.footer.chunk_starts()
    if placement == "column-chunk":
        return {chunk: int(starts[chunk]) for chunk in chunks}
    row_groups = {chunk[0] for chunk in chunks}
    behind = {number: layout.next_start(int(starts[number].max())) for number in row_groups}
    return {chunk: behind[chunk[0]] for chunk in chunks}


def _why_not_cut(layout: Layout, positions: list[int], placement: Placement) -> str | None:
    if placement == "column-chunk" and len(set(positions)) < len(positions):
        return "column chunks share their bytes"
    if not layout.cuts_are_safe(positions):
        return "column chunks overlap"
    if not layout.pages_are_whole(positions):
        return "a column chunk seems to start within a page"
    return None


def _are_dropped(
    layout: Layout, drops: Sequence[StoredFilter], chunks: Sequence[Chunk]
) -> NDArray[np.bool_]:
    """Return for each old filter whether it goes: those named, and intruders if any change."""
    named = {(old.row_group, old.column) for old in drops}
    goes = np.array([(old.row_group, old.column) in named for old in layout.existing], np.bool_)
    return goes | layout.extents.intruders if named or chunks else goes


def _skips(layout: Layout, are_dropped: NDArray[np.bool_]) -> tuple[Skip, ...]:
    """Return the bytes of dropped filters whose extent is certain, in the order of the file."""
    spans = layout.extents.spans[layout.extents.certain & are_dropped]
    return tuple(Skip(start, stop) for start, stop in sorted(spans.tolist()))


def _skips_at_end(layout: Layout, skips: Sequence[Skip]) -> tuple[Skip, ...]:
    """Return the skips after which only filters move."""
    return tuple(skip for skip in skips if skip.start >= layout.filters_at_end)


def _left_bytes(layout: Layout, are_dropped: NDArray[np.bool_], skips: Sequence[Skip]) -> int:
    """Return the number of bytes that stay in the file although no filter claims them any more."""
    spans = layout.extents.spans
    lost = covered(spans) - covered(spans[~are_dropped])
    return lost - sum(skip.stop - skip.start for skip in skips)


def _left_unconfirmed(
    layout: Layout, drops: Sequence[StoredFilter], skips: Sequence[Skip]
) -> tuple[StoredFilter, ...]:
    """Return the filters without a length in the footer whose ends would no longer be confirmed."""
    gone = {f.offset for f in drops}
    after = {skip.start: skip.stop for skip in skips}

    def is_shown(stop: int) -> bool:
        while stop in after:
            stop = after[stop]
        return stop not in gone and stop in edges

    kept = [f for f in layout.existing if f.problem is None and f.offset not in gone]
    lengthless = [f for f in kept if f.footer_length is None]
    known = layout.footer.edges() if lengthless and drops else None
    if known is None:
        return ()
    edges = set(known.tolist())
    return tuple(f for f in lengthless if not is_shown(f.stop))


Change = tuple[int, int, Piece]
"""Old bytes [start, stop), and the piece that replaces them."""


def _changes(draft: Draft, lengths: Mapping[Chunk, int]) -> list[Change]:
    insertions: list[Change] = [
        (i.position, i.position, EmitFilter(i.row_group, i.column, lengths[i.row_group, i.column]))
        for i in draft.insertions
        if (i.row_group, i.column) in lengths
    ]
    skips: list[Change] = [(skip.start, skip.stop, skip) for skip in draft.skips]
    return sorted(insertions + skips, key=lambda change: change[:2])


def _with_page_indexes(layout: Layout, changes: list[Change]) -> list[Change]:
    """Add to the changes the rewriting of every OffsetIndex whose pages move.

    The length of an OffsetIndex depends on its offsets, and these on the lengths before them:
    repeated until no length changes any more.
    """
    indexes = layout.offset_indexes
    lengths = [len(index.data) for index in indexes]
    for _ in range(_MAX_ROUNDS):
        spans = [(start, stop, length_of(piece)) for start, stop, piece in changes]
        spans += [(i.start, i.stop, n) for i, n in zip(indexes, lengths, strict=True)]
        spans.sort(key=lambda span: span[:2])
        move = Shift.of([s[1] for s in spans], [s[2] - (s[1] - s[0]) for s in spans])
        before, lengths = lengths, [index.length_after(move) for index in indexes]
        if lengths == before:
            rewritten: list[Change] = [(i.start, i.stop, Emit(i.moved(move))) for i in indexes]
            return sorted(changes + rewritten, key=lambda change: change[:2])
    raise MalformedFile("the page indexes refer to pages in a circle")


def _pieces(changes: list[Change], footer_start: int) -> tuple[list[Piece], list[PlacedFilter]]:
    pieces: list[Piece] = []
    filters: list[PlacedFilter] = []
    source = target = 0
    for start, stop, piece in changes:
        if start > source:
            pieces.append(Copy(source, start))
        target += start - source
        if isinstance(piece, EmitFilter):
            filters.append(
                PlacedFilter(
                    row_group=piece.row_group,
                    column=piece.column,
                    offset=target,
                    length=piece.length,
                )
            )
        elif isinstance(piece, Emit):
            pieces.append(Skip(start, stop))
        pieces.append(piece)
        source, target = stop, target + length_of(piece)
    if footer_start > source:
        pieces.append(Copy(source, footer_start))
    return pieces, filters


def _patched(
    footer: Footer,
    move: Shift,
    filters: Sequence[PlacedFilter],
    draft: Draft,
    index_lengths: Mapping[int, int],
) -> bytes:
    places: dict[Chunk, tuple[int, int] | None] = {
        (f.row_group, f.column): None for f in draft.drops
    }
    for old in draft.repairs:
        if old.length is not None:
            offset = int(move(np.array([old.offset]))[0])
            places[old.row_group, old.column] = (offset, old.length)
    places |= {(f.row_group, f.column): (f.offset, f.length) for f in filters}
    rewritten = np.zeros(footer.chunks.values.shape[:2], np.bool_)
    edits: list[Edit] = []
    for (row_group, column), place in places.items():
        rewritten[row_group, column] = True
        edits.append(bloom_edit(footer, row_group, column, place))
    edits += offset_edits(footer, move, except_bloom=rewritten)
    edits += index_length_edits(footer, index_lengths)
    edits.sort(key=lambda edit: edit.start)
    return apply_edits(footer.data, edits)


def length_of(piece: Piece) -> int:
    """Return the number of bytes that a piece has in the new file."""
    match piece:
        case Copy(start, stop):
            return stop - start
        case Emit(data):
            return len(data)
        case EmitFilter(length=length):
            return length
        case Skip():
            return 0
