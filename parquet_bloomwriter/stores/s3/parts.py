"""Cut a new object into parts: parts that the store copies, and parts that are sent to it.

A part that is not the last has at least 5 MiB. Bytes of the old object that stand between two new
ones, and are fewer than that, cannot be copied by the store: they are read, and sent with their
neighbours. So filters at the end of an object cost nothing but themselves, while filters before
each column chunk may cost up to 5 MiB each, down and up.

An object of which no part would be long enough is sent whole.

Source: Amazon S3 User Guide, "Amazon S3 multipart upload limits".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import UnsupportedFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SMALLEST = 5 * 1024 * 1024
"""Least bytes of a part that is not the last."""

COPIED = 128 * 1024 * 1024
"""Most bytes that the store copies by one request; several requests run at the same time."""

SENT = 16 * 1024 * 1024
"""Bytes that are collected before a part is sent."""

MOST_PARTS = 10_000


@dataclass(frozen=True, slots=True)
class OldBytes:
    """Bytes [start, stop) of the old object, to be copied."""

    start: int
    stop: int

    @property
    def size(self) -> int:
        """Number of bytes."""
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class NewBytes:
    """Bytes of the new object that the old one does not have."""

    size: int
    data: bytes | None = None
    """The bytes; None if only their number matters."""


Segment = OldBytes | NewBytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of an upload."""

    number: int
    """Number of the part in its upload, from 1."""

    segments: tuple[Segment, ...]
    copied: OldBytes | None = None
    """The range of the old object that the part is, if the store can copy it by itself."""

    @property
    def size(self) -> int:
        """Number of bytes."""
        return sum(one.size for one in self.segments)


class Cutter:
    """A cutter of a new object into parts, fed from its first byte to its last."""

    def __init__(self, *, copies: bool) -> None:
        """Begin a new object.

        Args:
            copies: Whether the store has the old object, and can copy bytes of it.
        """
        self._copies = copies
        self._pending: list[Segment] = []
        self._pending_size = 0
        self.count = 0
        """Number of parts so far."""

    @property
    def pending(self) -> tuple[Segment, ...]:
        """Segments that are not in a part yet."""
        return tuple(self._pending)

    def add(self, segment: Segment) -> Iterator[Part]:
        """Add the next segment, and yield the parts that are complete."""
        if isinstance(segment, OldBytes) and self._copies:
            yield from self._copy(segment.start, segment.stop)
        elif isinstance(segment, OldBytes):
            for at in range(segment.start, segment.stop, SENT):
                yield from self._send(OldBytes(at, min(at + SENT, segment.stop)))
        else:
            yield from self._send(segment)

    def _send(self, segment: Segment) -> Iterator[Part]:
        self._keep(segment)
        if self._pending_size >= SENT:
            yield self._flush()

    def _copy(self, start: int, stop: int) -> Iterator[Part]:
        """Yield copied parts of old bytes; the rest, which is too short to copy, is sent."""
        if self._pending:
            taken = min(max(0, SMALLEST - self._pending_size), stop - start)
            if taken:
                self._keep(OldBytes(start, start + taken))
            start += taken
            if self._pending_size < SMALLEST:
                return
            yield self._flush()
        while stop - start >= SMALLEST:
            until = min(start + COPIED, stop)
            if 0 < stop - until < SMALLEST:
                until = stop
            yield self._part((OldBytes(start, until),))
            start = until
        if start < stop:
            self._keep(OldBytes(start, stop))

    def finish(self) -> Iterator[Part]:
        """Yield the last part, if anything is left."""
        if self._pending:
            yield self._flush()

    def _keep(self, segment: Segment) -> None:
        last = self._pending[-1] if self._pending else None
        if (
            isinstance(segment, OldBytes)
            and isinstance(last, OldBytes)
            and last.stop == segment.start
        ):
            self._pending[-1] = OldBytes(last.start, segment.stop)
        else:
            self._pending.append(segment)
        self._pending_size += segment.size

    def _flush(self) -> Part:
        part = self._part(tuple(self._pending))
        self._pending, self._pending_size = [], 0
        return part

    def _part(self, segments: tuple[Segment, ...]) -> Part:
        self.count += 1
        if self.count > MOST_PARTS:
            raise UnsupportedFile(
                f"the new version would have more than {MOST_PARTS:,} parts",
                remedy="Put the filters at the end of the file.",
            )
        copied = segments[0] if self._copies and len(segments) == 1 else None
        return Part(
            number=self.count,
            segments=segments,
            copied=copied if isinstance(copied, OldBytes) else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Bytes moved by writing a new object."""

    requests: int
    down: int
    """Bytes of the old object that are read in order to send them again."""

    up: int
    """Bytes that are sent."""

    copied: int
    """Bytes that the store copies by itself."""


def cost_of(segments: Sequence[Segment], *, copies: bool) -> Cost:
    """Return the bytes moved by writing a new object of these segments.

    Raises:
        UnsupportedFile: If it would have too many parts.
    """
    cutter = Cutter(copies=copies)
    parts = [part for segment in segments for part in cutter.add(segment)]
    is_whole = not parts
    parts += cutter.finish()
    copied = 0 if is_whole else sum(part.copied.size for part in parts if part.copied)
    sent = [part for part in parts if is_whole or part.copied is None]
    return Cost(
        requests=1 if is_whole else len(parts) + 2,
        down=sum(one.size for part in sent for one in part.segments if isinstance(one, OldBytes)),
        up=sum(part.size for part in sent),
        copied=copied,
    )
