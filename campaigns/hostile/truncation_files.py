"""Thirty small files, of every writer, half of them with filters; and how they are cut.

- to each length from 0 to all but the last byte;
- to each length of their data, with the footer behind it: offsets then lead behind the end;
- by a hole of 1, 8 or 64 bytes, in turn, at each byte: offsets then lead to other bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from campaigns.hostile.filters_files import FIXTURES, Filtered, spots_of
from parquet_bloomwriter import bloomify
from tests.support import compact
from tests.verbs.files import footer_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parquet_bloomwriter.rewrite.plan import Chunk

_PLAIN: Final = (
    *("pyarrow/no_rows", "pyarrow/all_null", "pyarrow/int96", "pyarrow/odd_floats"),
    *("pyarrow/odd_names", "pyarrow/empty_row_groups", "polars/nested", "pyarrow/decimals"),
    *("pyarrow/decimals_as_integer", "pyarrow/no_arrow_schema", "pyarrow/no_statistics"),
    *("pyarrow/nested", "datafusion/nested", "duckdb/types", "pyarrow/codec_brotli"),
)
"""Fixtures of at most 11 kB."""

_PLACEMENTS: Final = ("column-chunk", "row-group", "end")
_HOLES: Final = (1, 8, 64)
"""Bytes that holes take out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Small:
    """A small file."""

    file: Filtered
    footer_start: int
    """Absolute position, bytes."""

    chunks: dict[Chunk, tuple[int, int]]
    """Where each column chunk lies, absolute positions [start, stop)."""

    @property
    def tail(self) -> bytes:
        """Footer, length and magic."""
        return self.file.data[self.footer_start :]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A file of which bytes [start, stop) are missing."""

    small: Small
    start: int
    stop: int

    @property
    def data(self) -> bytes:
        """What is left."""
        whole = self.small.file.data
        return whole[: self.start] + whole[self.stop :]

    def is_whole(self, chunk: Chunk) -> bool:
        """Whether all bytes of a column chunk are still where they were."""
        return self.small.chunks[chunk][1] <= self.start


@cache
def smalls() -> Sequence[Small]:
    """All thirty: the plain ones, and each with filters in one placement or another."""
    plain = [(name, (FIXTURES / f"{name}.parquet").read_bytes()) for name in _PLAIN]
    return [
        *(_small(name, data) for name, data in plain),
        *(
            _small(f"{name} {_PLACEMENTS[turn % 3]}", _with_filters(data, turn))
            for turn, (name, data) in enumerate(plain)
        ),
    ]


def _with_filters(data: bytes, turn: int) -> bytes:
    placement = _PLACEMENTS[turn % len(_PLACEMENTS)]
    return bloomify(data, placement=placement, fpp=0.1, jobs=1).data or data  # type: ignore[arg-type]  # one of its literals


def _small(name: str, data: bytes) -> Small:
    footer = footer_of(data)
    starts = footer.chunk_starts()
    sizes = {
        chunk: fields[compact.META_DATA][7]
        for chunk, fields in compact.chunks_of(compact.footer_of(data)).items()
    }
    return Small(
        file=Filtered(name=name, data=data, spots=spots_of(data)),
        footer_start=footer.start,
        chunks={
            chunk: (int(starts[chunk]), int(starts[chunk]) + size) for chunk, size in sizes.items()
        },
    )


def _lengths(small: Small) -> int:
    return len(small.file.data)


def _data_lengths(small: Small) -> int:
    return small.footer_start


def _holes(small: Small) -> int:
    return small.footer_start - 4


def _shortened(small: Small, at: int) -> Cut:
    return Cut(small=small, start=at, stop=len(small.file.data))


def _glued(small: Small, at: int) -> Cut:
    return Cut(small=small, start=at, stop=small.footer_start)


def _holed(small: Small, at: int) -> Cut:
    start = 4 + at
    stop = min(start + _HOLES[at % len(_HOLES)], small.footer_start)
    return Cut(small=small, start=start, stop=stop)


CUTS: Final[dict[str, tuple[Callable[[Small], int], Callable[[Small, int], Cut]]]] = {
    "lengths": (_lengths, _shortened),
    "glued": (_data_lengths, _glued),
    "holes": (_holes, _holed),
}
"""By kind: how often a file can be cut so, and one of these cuts."""


@cache
def _ends(kind: str) -> Sequence[int]:
    return list(accumulate(CUTS[kind][0](small) for small in smalls()))


def count_cuts(kind: str) -> int:
    """How many cuts of a kind there are in all files."""
    return _ends(kind)[-1]


def cut(kind: str, number: int) -> Cut:
    """Make cut `number`, 0-based."""
    ends = _ends(kind)
    which = next(i for i, end in enumerate(ends) if number < end)
    before = ends[which - 1] if which else 0
    return CUTS[kind][1](smalls()[which], number - before)


__all__ = ["CUTS", "Cut", "Small", "count_cuts", "cut", "smalls"]
