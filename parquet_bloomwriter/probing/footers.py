"""Footers that were read before, kept in memory as long as their files stay the same."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

from parquet_bloomwriter.probing.footer_cache import KnownFile
from parquet_bloomwriter.source import read_footer

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence
    from typing import TypeAlias

    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.source import Source

    Leaves: TypeAlias = tuple[Leaf, ...]

MAX_BYTES = 256 * 1024 * 1024
"""Memory that footers kept may take, roughly."""


class FooterCache:
    """Footers by the identity of their files; those used least recently go first.

    A file that changes changes its identity, so what is found is never stale.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        """Keep footers of `max_bytes` bytes in all."""
        self._max_bytes = max_bytes
        self._files: OrderedDict[Hashable, tuple[KnownFile, int]] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, identity: Hashable) -> KnownFile | None:
        """The footer of a file, if it is kept."""
        with self._lock:
            found = self._files.get(identity)
            if found is None:
                return None
            self._files.move_to_end(identity)
            return found[0]

    def put(self, identity: Hashable, file: KnownFile) -> None:
        """Keep a footer."""
        weight = file.weight
        with self._lock:
            self._forget(identity)
            self._files[identity] = (file, weight)
            self._bytes += weight
            while self._bytes > self._max_bytes:
                self._forget(next(iter(self._files)))

    def clear(self) -> None:
        """Forget all footers."""
        with self._lock:
            self._files.clear()
            self._bytes = 0

    def __len__(self) -> int:
        return len(self._files)

    def _forget(self, identity: Hashable) -> None:
        found = self._files.pop(identity, None)
        if found is not None:
            self._bytes -= found[1]


CACHE = FooterCache()
"""The one of this process."""


def clear_cache() -> None:
    """Forget the footers that were read so far."""
    CACHE.clear()


def known_file(source: Source, wanted: Callable[[Leaves], Sequence[int]]) -> KnownFile:
    """The footer of a source, read unless it is kept.

    Args:
        source: An open file.
        wanted: Gives the ordinals of the leaves whose numbers are needed.

    Raises:
        FileProblem: If it is no Parquet file, or cannot be worked on.
        OSError: If it cannot be read.
    """
    identity = source.identity
    file = None if identity is None else CACHE.get(identity)
    if file is not None:
        file.learn(wanted(file.leaves))
        return file
    footer = read_footer(source, check_head=False)
    file = KnownFile.of(footer)
    file.learn(wanted(file.leaves), footer)
    if identity is not None:
        CACHE.put(identity, file)
    return file
