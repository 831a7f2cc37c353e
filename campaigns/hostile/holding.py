"""Hold a rewritten file against the old one, by what the plan says and Thrift's own classes.

- Taking the filters out gives what taking them out of the old file gives.
- Every byte that the plan copies is where it says; what it skips is an old filter or a page index.
- The footer says the same, but for filters, and positions that moved with the byte they point at.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import parquet_bloomwriter as pb
from campaigns.hostile.fields import OFFSETS, Shape
from parquet_bloomwriter.rewrite.plan import Copy, Emit, EmitFilter, Skip
from tests.support import compact
from tests.support.split_block import ReferenceFilter

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parquet_bloomwriter import AddReport
    from parquet_bloomwriter.rewrite.plan import Piece
    from tests.support.compact import Struct

_BLOOM = {(4, 1, 3, 14), (4, 1, 3, 15)}
_CHUNK = (4, 1)
_INDEX_LENGTH = (*_CHUNK, 5)
_BLOOM_OFFSET = compact.BLOOM_FILTER_OFFSET
_MISSING = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    """Old bytes [start, stop) that the new file has at `target`."""

    start: int
    stop: int
    target: int


def faults_of_strip(old: bytes, stripped: bytes, new: bytes) -> Iterator[str]:
    """Say whether taking the new filters out gives `stripped`, the old file without its own."""
    try:
        back = pb.strip(new).data or new
    except pb.BloomwriterError as error:
        yield f"the new file cannot be stripped: {error}"
        return
    if back != stripped:
        was = "the old file" if stripped == old else "the stripped old file"
        yield f"strip(new) has {len(back)} bytes, {was} {len(stripped)}, and they differ"


def faults_of_bytes(old: bytes, new: bytes, pieces: Sequence[Piece]) -> Iterator[str]:
    """Say which bytes are not where the plan puts them."""
    if len(new) != sum(_length(piece) for piece in pieces):
        yield f"the new file has {len(new)} bytes, the plan another number"
    for stay in _stays(pieces):
        end = stay.target + stay.stop - stay.start
        if new[stay.target : end] != old[stay.start : stay.stop]:
            yield f"bytes {stay.start}-{stay.stop} of the old file are not at {stay.target}"


def faults_of_skips(old: bytes, pieces: Sequence[Piece]) -> Iterator[str]:
    """Say which bytes were left out although they are neither a filter nor a page index."""
    footer = decoded(old)
    if footer is None:
        return
    spans = set()
    for chunk in _chunks_of(footer).values():
        index = _integer(chunk, compact.OFFSET_INDEX_OFFSET)
        spans.add((index, index + _integer(chunk, compact.OFFSET_INDEX_LENGTH)))
        filter_ = _integer(_meta_of(chunk), _BLOOM_OFFSET)
        spans.add(_span_of_filter(old, filter_))
    for piece in pieces:
        if isinstance(piece, Skip) and not _is_tiled(piece, spans):
            yield f"bytes {piece.start}-{piece.stop} were left out, and are no filter and no index"


def faults_of_footer(old: bytes, new: bytes, report: AddReport) -> Iterator[str]:
    """Say where the footers differ in more than filters and positions."""
    before, after = decoded(old), decoded(new)
    if before is None or after is None:
        if before is not None:
            yield "Thrift's own classes read the old footer, but not the new one"
        return
    stays, emitted = tuple(_stays(report.pieces)), _emitted(report.pieces)
    yield from _Comparison(stays=stays, emitted=emitted).differences(before, after, ())
    chunks = _chunks_of(after)
    for column in report.columns:
        for chunk in column.built:
            meta = _meta_of(chunks.get((chunk.row_group, column.ordinal), {}))
            where = (meta.get(_BLOOM_OFFSET), meta.get(compact.BLOOM_FILTER_LENGTH))
            if meta and where != (chunk.offset, chunk.length):
                yield f"the footer leads to a filter at {where}, the report to {chunk.offset}"


def faults_of_filters(new: bytes, report: AddReport) -> Iterator[str]:
    """Say which new filters are not one header and its bitset."""
    for column in report.columns:
        for chunk in column.built:
            start = chunk.offset or 0
            try:
                ReferenceFilter.parse(new[start : start + chunk.length])
            except ValueError as error:
                yield f"the filter at byte {start}: {error}"


@lru_cache(maxsize=2)
def decoded(file: bytes) -> Struct | None:
    """Read the footer; None if Thrift's own classes cannot, which know fewer wire types.

    The old and the new file's are kept: several checks need them, and reading one takes longer than
    writing the mutant.
    """
    try:
        return compact.footer_of(file)
    except Exception:  # noqa: BLE001  they raise anything
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Comparison:
    """Walks through two footers at once."""

    stays: tuple[Stay, ...]
    emitted: dict[int, tuple[int, int]]

    def differences(self, before: Any, after: Any, shape: Shape) -> Iterator[str]:  # noqa: ANN401
        """Say where two Thrift values differ in more than filters and positions."""
        if isinstance(before, dict) and isinstance(after, dict):
            yield from self._of_structs(before, after, shape)
        elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
            for one, other in zip(before, after, strict=True):
                yield from self.differences(one, other, shape)
        elif shape in OFFSETS and isinstance(before, int) and isinstance(after, int):
            expected = _moved(before, self.stays, self.emitted)
            if expected is not None and after != expected:
                yield f"the position {before} of field {shape} became {after}, not {expected}"
        elif before != after and not (before != before and after != after):  # noqa: PLR0124  NaN
            yield f"field {shape} was {str(before)[:60]} and is {str(after)[:60]}"

    def _of_structs(self, before: Struct, after: Struct, shape: Shape) -> Iterator[str]:
        index = self.emitted.get(_integer(before, 4)) if shape == _CHUNK else None
        for field_id in sorted(before.keys() | after.keys()):
            inner = (*shape, field_id)
            one, other = before.get(field_id, _MISSING), after.get(field_id, _MISSING)
            if index is not None and inner == _INDEX_LENGTH:
                one = index[1]
            if inner not in _BLOOM:
                yield from self.differences(one, other, inner)


def _moved(position: int, stays: Sequence[Stay], emitted: dict[int, tuple[int, int]]) -> int | None:
    """Where the byte at a position went; None if it is no longer there, or in the footer."""
    if position <= 0:
        return position
    if position in emitted:
        return emitted[position][0]
    for stay in stays:
        if stay.start <= position < stay.stop:
            return stay.target + position - stay.start
    return None


def _stays(pieces: Sequence[Piece]) -> Iterator[Stay]:
    target = 0
    for piece in pieces:
        if isinstance(piece, Copy):
            yield Stay(start=piece.start, stop=piece.stop, target=target)
        target += _length(piece)


def _emitted(pieces: Sequence[Piece]) -> dict[int, tuple[int, int]]:
    """By the old position of each page index that was written anew: the new one, and its bytes."""
    found: dict[int, tuple[int, int]] = {}
    target, skipped = 0, None
    for piece in pieces:
        if isinstance(piece, Emit) and skipped is not None:
            found[skipped] = (target, len(piece.data))
        skipped = piece.start if isinstance(piece, Skip) else None
        target += _length(piece)
    return found


def _chunks_of(footer: Struct) -> dict[tuple[int, int], Struct]:
    """Column chunks by row group and leaf; none if the lists are not what they should be."""
    try:
        return compact.chunks_of(footer)
    except (AttributeError, KeyError, TypeError):
        return {}


def _meta_of(chunk: Struct) -> Struct:
    """A column chunk's metadata; nothing if it has none, or something else in its place."""
    meta = chunk.get(compact.META_DATA) if isinstance(chunk, dict) else None
    return meta if isinstance(meta, dict) else {}


def _integer(struct: Struct, field_id: int) -> int:
    """A field's number; 0 if it is missing or of another type."""
    number = struct.get(field_id) if isinstance(struct, dict) else None
    return number if isinstance(number, int) else 0


def _span_of_filter(old: bytes, start: int) -> tuple[int, int]:
    """Where a filter lies by its own header; nowhere if there is none."""
    if not 0 < start < len(old):
        return (0, 0)
    try:
        header, length = compact.decode(old[start : start + 64])
    except Exception:  # noqa: BLE001  Thrift's own classes raise anything
        return (0, 0)
    return (start, start + length + _integer(header, 1))


def _is_tiled(skip: Skip, spans: set[tuple[int, int]]) -> bool:
    """Whether spans, one behind the other, cover exactly the skipped bytes."""
    ends = {skip.start}
    for start, stop in sorted(spans):
        if start in ends:
            ends.add(stop)
    return skip.stop in ends


def _length(piece: Piece) -> int:
    """Bytes of the new file that the piece makes."""
    match piece:
        case Copy(start, stop):
            return stop - start
        case Emit(data):
            return len(data)
        case EmitFilter(length=length):
            return length
    return 0
