"""What refers to an object from outside: `replace.external_references` for buckets.

Each place costs a request, so what was found of a prefix is kept for a minute: a thousand objects
of one table ask once. A prefix that cannot be listed counts as a table's: unknown is not "no".
Hadoop writes no checksum files on stores.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol

from parquet_bloomwriter.caches import register
from parquet_bloomwriter.errors import StoreProblem
from parquet_bloomwriter.replace.external_references import Reference, ReferenceKind

if TYPE_CHECKING:
    from collections.abc import Iterator


class Folders(Protocol):
    """What can be asked for the names below a prefix: a bucket, or another store."""

    name: str
    endpoint: str

    def has_prefix(self, prefix: str, *, suffix: str = "") -> bool:
        """Whether any name begins so, and ends with `suffix`."""
        ...

    def spell(self, key: str, /) -> str:
        """Return the URL of a name."""
        ...


_KEPT_S = 60.0

_found: dict[tuple[str, str, str], tuple[float, tuple[Reference, ...]]] = {}
register(_found.clear)


def find_references(bucket: Folders, key: str) -> Iterator[Reference]:
    """Yield what refers to an object, the nearest first.

    Raises:
        StoreProblem: If the store does not answer.
    """
    folder = key.rpartition("/")[0]
    names = folder.split("/") if folder else []
    for depth in range(len(names), -1, -1):
        yield from _references(bucket, "".join(f"{one}/" for one in names[:depth]))


def _references(bucket: Folders, prefix: str) -> tuple[Reference, ...]:
    """Find tables, and summaries of files, whose records lie right below a prefix."""
    place = (bucket.endpoint, bucket.name, prefix)
    then, found = _found.get(place, (0.0, ()))
    if not 0 <= time.monotonic() - then < _KEPT_S:
        found = tuple(_look(bucket, prefix))
        if all(one.kind is not ReferenceKind.UNLISTED_METADATA for one in found):
            _found[place] = (time.monotonic(), found)
    return found


def _look(bucket: Folders, prefix: str) -> Iterator[Reference]:
    places = (
        ("_metadata", "_metadata", ReferenceKind.SUMMARY_METADATA),
        ("_delta_log/", "", ReferenceKind.DELTA_LOG),
        ("metadata/", ".metadata.json", ReferenceKind.ICEBERG_METADATA),
        (".hoodie/", "", ReferenceKind.HUDI_TIMELINE),
    )
    for name, suffix, kind in places:
        at = bucket.spell(prefix + name.rstrip("/"))
        try:
            if bucket.has_prefix(prefix + name, suffix=suffix):
                yield Reference(kind=kind, path=at)
        except StoreProblem:
            yield Reference(kind=ReferenceKind.UNLISTED_METADATA, path=at)
