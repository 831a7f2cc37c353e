"""`BatchReader` reads many blocks or headers of one size from a batch of files at once.

Local files are read by a kernel, one loop over `pread`, where the system has that call; all others
by their own `read_ranges`, several files at a time.
"""

from __future__ import annotations

from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from parquet_bloomwriter import kernels
from parquet_bloomwriter.errors import BloomwriterError
from parquet_bloomwriter.kernels.layout import ODD, PIECE_BYTES, WITH_HEADER
from parquet_bloomwriter.parallel import default_jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.source import Source

T = TypeVar("T")

_REMOTE_THREADS = 16
_TASKS_PER_THREAD = 256
"""Least lookups that are worth a thread of their own."""


@dataclass(slots=True, eq=False)
class BatchReader:
    """Reads pieces from the files of one batch, and records which files failed."""

    sources: Sequence[Source]
    """The open files."""

    failures: dict[int, BloomwriterError | OSError] = field(default_factory=dict)
    """Error of each file that cannot be read, by its ordinal in the batch."""

    descriptors: NDArray[np.int64] = field(init=False)
    """File descriptors of local files, -1 for all others, shape (files,)."""

    are_local: bool = field(init=False)
    """Whether all files are local."""

    _ahead: dict[tuple[int, int], bytes] = field(default_factory=dict)
    """Bytes that `read_ahead` has read from files on stores, by file and position."""

    def __post_init__(self) -> None:
        descriptors = [getattr(source, "fd", -1) for source in self.sources]
        self.descriptors = np.array(descriptors, np.int64)
        self.are_local = -1 not in descriptors

    def read(
        self, file_of: NDArray[np.int64], starts: NDArray[np.int64], size: int
    ) -> NDArray[np.uint8]:
        """Read n pieces of `size` bytes.

        Args:
            file_of: Ordinals of the files, shape (n,).
            starts: Absolute positions, shape (n,), bytes.
            size: Of each piece, bytes.

        Returns:
            Shape (n, size). Rows of files in `failures` mean nothing.
        """
        found = np.zeros((len(starts), size), np.uint8)
        of_piece = self.descriptors[file_of]
        if self.are_local or not len(starts):
            self._read_local(file_of, of_piece, starts, found)
            return found
        is_local = of_piece >= 0
        local = np.flatnonzero(is_local)
        if len(local):
            part = found[local]
            self._read_local(file_of[local], of_piece[local], starts[local], part)
            found[local] = part
        self._read_others(file_of, starts, np.flatnonzero(~is_local), found)
        return found

    def read_ahead(self, file_of: NDArray[np.int64], ranges: NDArray[np.int64]) -> None:
        """Read ranges that `read` will be asked for, and keep them; close ranges share a request.

        Args:
            file_of: Ordinals of the files, shape (n,). Those of local files are left out.
            ranges: Absolute positions [start, stop), shape (n, 2), bytes.
        """
        by_file: defaultdict[int, set[tuple[int, int]]] = defaultdict(set)
        for file, (start, stop) in zip(file_of.tolist(), ranges.tolist(), strict=True):
            if self.descriptors[file] < 0:
                by_file[file].add((start, stop))

        def read_file(place: tuple[int, set[tuple[int, int]]]) -> None:
            file, wanted = place
            chosen = sorted(wanted)
            try:
                read = self.sources[file].read_ranges(chosen)
            except (BloomwriterError, OSError) as error:
                self.failures[file] = error
                return
            self._ahead.update(
                ((file, start), data) for (start, _), data in zip(chosen, read, strict=True)
            )

        _for_each(by_file.items(), read_file)

    def read_at(self, file: int, start: int, stop: int) -> bytes:
        """Read the bytes [start, stop) of one file.

        Raises:
            BloomwriterError, OSError: If that fails.
        """
        return self.sources[file].read_at(start, stop)

    def raise_first_failure(self) -> None:
        """Raise the error of the first file that could not be read, if there is any.

        Raises:
            BloomwriterError, OSError: The error.
        """
        for error in self.failures.values():
            raise error

    def probe(self, file_of: NDArray[np.int64], tasks: NDArray[np.int64]) -> bool:
        """Let the kernel `probe_usual` look up hashes in filters of local files.

        Args:
            file_of: Ordinals of the files, shape (n,).
            tasks: Shape (n, `TASK_WORDS`), see `kernels.layout`; file descriptors and answers are
                filled in.

        Returns:
            Whether the tasks were done. They are not if some file is not local, or if this system
            has no `pread`.
        """
        if not (len(tasks) and self.are_local and kernels.HAS_PREAD):
            return False
        tasks[:, 0] = self.descriptors[file_of]
        if len(tasks) <= _TASKS_PER_THREAD:
            kernels.probe_usual(tasks)
        else:
            _probe_in_threads(tasks)
        answers = tasks[:, -1]
        with_header, with_block = answers >= WITH_HEADER, answers & ODD != ODD
        if len(self.sources) == 1:
            reads = int(np.count_nonzero(with_header) + np.count_nonzero(with_block))
            self.sources[0].traffic.add(reads, reads * PIECE_BYTES)
        else:
            self._count(file_of[with_header], PIECE_BYTES)
            self._count(file_of[with_block], PIECE_BYTES)
        return True

    def _read_local(
        self,
        file_of: NDArray[np.int64],
        descriptors: NDArray[np.int64],
        starts: NDArray[np.int64],
        found: NDArray[np.uint8],
    ) -> None:
        size = found.shape[1]
        done = 0
        if kernels.HAS_PREAD:
            starts = np.ascontiguousarray(starts)
            done = kernels.read_pieces(descriptors, starts, size, found)
            self._count(file_of[:done], size)
        for piece in range(done, len(starts)):
            self._read_one(int(file_of[piece]), int(starts[piece]), found[piece])

    def _count(self, file_of: NDArray[np.int64], size: int) -> None:
        """Add a number of pieces to the traffic of their files."""
        counts = np.bincount(file_of, minlength=len(self.sources)).tolist()
        for source, count in zip(self.sources, counts, strict=True):
            if count:
                source.traffic.add(count, count * size)

    def _read_one(self, file: int, start: int, found: NDArray[np.uint8]) -> None:
        """Read one piece by its source, which also handles interrupted and short reads."""
        if file in self.failures:
            return
        try:
            found[:] = np.frombuffer(self.read_at(file, start, start + len(found)), np.uint8)
        except (BloomwriterError, OSError) as error:
            self.failures[file] = error

    def _read_others(
        self,
        file_of: NDArray[np.int64],
        starts: NDArray[np.int64],
        pieces: NDArray[np.int64],
        found: NDArray[np.uint8],
    ) -> None:
        size = found.shape[1]
        by_file: defaultdict[int, list[int]] = defaultdict(list)
        for piece in pieces.tolist():
            by_file[int(file_of[piece])].append(piece)

        def read_file(place: tuple[int, list[int]]) -> None:
            file, mine = place
            known = {
                start: data[:size]
                for start in starts[mine].tolist()
                if len(data := self._ahead.get((file, start), b"")) >= size
            }
            ranges = [(one, one + size) for one in starts[mine].tolist() if one not in known]
            try:
                others = iter(self.sources[file].read_ranges(ranges) if ranges else ())
                read = [
                    known[one] if one in known else next(others) for one in starts[mine].tolist()
                ]
            except (BloomwriterError, OSError) as error:
                self.failures[file] = error
                return
            found[mine] = np.frombuffer(b"".join(read), np.uint8).reshape(-1, size)

        _for_each(by_file.items(), read_file)


def _for_each(places: Collection[T], read_file: Callable[[T], None]) -> None:
    """Call a function for several files on stores in parallel."""
    if len(places) < 2:  # noqa: PLR2004  one needs no threads
        for place in places:
            read_file(place)
        return
    with ThreadPoolExecutor(min(_REMOTE_THREADS, len(places))) as pool:
        for _ in pool.map(read_file, places):
            pass


def _probe_in_threads(tasks: NDArray[np.int64]) -> None:
    share = max(_TASKS_PER_THREAD, -(-len(tasks) // default_jobs()))
    first, *others = (tasks[start : start + share] for start in range(0, len(tasks), share))
    with ThreadPoolExecutor(max(1, len(others))) as pool:
        running = [pool.submit(kernels.probe_usual, other) for other in others]
        kernels.probe_usual(first)
        for one in running:
            one.result()
