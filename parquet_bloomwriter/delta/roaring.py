"""Sets of row positions as Roaring bitmaps, in their portable format of 64 bits.

    u64 number of buckets, then for each bucket, by ascending key:
        u32 key          the upper 32 bits of its values; the highest one is 0
        cookie           u32 12346, then u32 number of containers: none is of runs; or
                         u16 12347, u16 number of containers - 1, then a bit for each: is it of runs
        for each container: u16 key (bits 16 to 31 of its values), u16 number of values - 1
        for each container: u32 offset, if none is of runs, or if there are 4 or more
        for each container, its values' lower 16 bits:
            runs         u16 number of runs, then for each: u16 first value, u16 values - 1
            up to 4,096  u16 for each value, ascending
            more         65,536 bits, in 8,192 bytes

All numbers are little endian. Offsets repeat what follows from the sizes, and are skipped. Numbers
of values are added up before any set is expanded: few bytes of runs may stand for many values.

Source: RoaringFormatSpec, with "extension for 64-bit implementations"; Delta protocol, "Deletion
Vector Format".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_NO_RUNS, _WITH_RUNS = 12346, 12347
_MOST_IN_ARRAY = 4096
_BITMAP_BYTES = 8192
_OFFSETS_FROM = 4
"""Number of containers from which offsets are stored although some containers are of runs."""

_LEAST_BUCKET_BYTES = 8
_KEY_LIMIT = 1 << 31


class MalformedBitmap(ValueError):
    """Raised if bytes are no valid Roaring bitmap; the message is a clause."""


@dataclass(frozen=True, slots=True)
class _Container:
    """A container: up to 65,536 values that share all but their lower 16 bits."""

    base: int
    """The upper 48 bits of the values, as a number whose lower 16 bits are zero."""

    count: int
    data: memoryview
    is_of_runs: bool

    def values(self) -> NDArray[np.int64]:
        """Return the values of the container, ascending."""
        if self.is_of_runs:
            low = self._expand_runs()
        elif self.count <= _MOST_IN_ARRAY:
            low = np.frombuffer(self.data, "<u2").astype(np.int64)
            if (np.diff(low) <= 0).any():
                raise MalformedBitmap("the values of a container do not ascend")
        else:
            bits = np.unpackbits(np.frombuffer(self.data, np.uint8), bitorder="little")
            low = np.flatnonzero(bits)
            if len(low) != self.count:
                raise MalformedBitmap(f"a container of {self.count} values has {len(low)} bits set")
        return low + self.base

    def _expand_runs(self) -> NDArray[np.int64]:
        runs = np.frombuffer(self.data, "<u2").astype(np.int64).reshape(-1, 2)
        starts, lengths = runs[:, 0], runs[:, 1] + 1
        ends = starts + lengths
        if (starts[1:] < ends[:-1]).any() or (ends > 1 << 16).any():
            raise MalformedBitmap("the runs of a container overlap, or do not ascend")
        if int(lengths.sum()) != self.count:
            raise MalformedBitmap(f"a container of {self.count} values has runs of others")
        before = np.concatenate(([0], np.cumsum(lengths)[:-1]))
        return np.repeat(starts - before, lengths) + np.arange(self.count)


def parse_bitmap(data: bytes | memoryview, *, count: int) -> NDArray[np.int64]:
    """Return the values of a bitmap, ascending, shape (count,).

    Args:
        data: The bitmap, and nothing else.
        count: The number of values that it is said to have.

    Raises:
        MalformedBitmap: If it is malformed, or has another number of values.
    """
    containers = list(_Reader(memoryview(data)).containers())
    found = sum(container.count for container in containers)
    if found != count:
        raise MalformedBitmap(f"it has {found} values, not {count}")
    return np.concatenate(
        [np.zeros(0, np.int64), *(container.values() for container in containers)]
    )


class _Reader:
    """Reads a bitmap from its first byte to its last."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._place = 0

    def containers(self) -> Iterator[_Container]:
        """Yield all containers, by ascending values."""
        num_buckets = self._number(8)
        if num_buckets > len(self._data) // _LEAST_BUCKET_BYTES:
            raise MalformedBitmap(f"it cannot have {num_buckets} buckets")
        last = -1
        for _ in range(num_buckets):
            key = self._number(4)
            if not last < key < _KEY_LIMIT:
                raise MalformedBitmap("the keys of its buckets do not ascend, or are too large")
            last = key
            yield from self._bucket(key << 32)
        if self._place != len(self._data):
            raise MalformedBitmap(f"{len(self._data) - self._place} bytes follow its end")

    def _bucket(self, base: int) -> Iterator[_Container]:
        cookie = self._number(2)
        runs = np.zeros(0, np.uint8)
        if cookie == _WITH_RUNS:
            num_containers = self._number(2) + 1
            flags = np.frombuffer(self._take((num_containers + 7) // 8), np.uint8)
            runs = np.unpackbits(flags, count=num_containers, bitorder="little")
        elif cookie == _NO_RUNS and self._number(2) == 0:
            num_containers = self._number(4)
            if num_containers > 1 << 16:
                raise MalformedBitmap(f"a bucket cannot have {num_containers} containers")
            runs = np.zeros(num_containers, np.uint8)
        else:
            raise MalformedBitmap("a bucket begins with an unknown cookie")
        heads = np.frombuffer(self._take(4 * num_containers), "<u2").astype(np.int64).reshape(-1, 2)
        if (np.diff(heads[:, 0]) <= 0).any():
            raise MalformedBitmap("the keys of containers do not ascend")
        if cookie == _NO_RUNS or num_containers >= _OFFSETS_FROM:
            self._take(4 * num_containers)
        for (key, fewer), is_of_runs in zip(heads.tolist(), runs.tolist(), strict=True):
            size = self._size(fewer + 1, is_of_runs=bool(is_of_runs))
            data = self._take(size)
            yield _Container(base | key << 16, fewer + 1, data, bool(is_of_runs))

    def _size(self, count: int, *, is_of_runs: bool) -> int:
        """Return the size of a container's values, bytes."""
        if is_of_runs:
            return 4 * self._number(2)
        return 2 * count if count <= _MOST_IN_ARRAY else _BITMAP_BYTES

    def _number(self, num_bytes: int) -> int:
        return int.from_bytes(self._take(num_bytes), "little")

    def _take(self, num_bytes: int) -> memoryview:
        start, self._place = self._place, self._place + num_bytes
        if self._place > len(self._data):
            raise MalformedBitmap("it ends too early")
        return self._data[start : self._place]
