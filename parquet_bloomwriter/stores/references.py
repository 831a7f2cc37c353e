"""What refers to an object from outside: `replace.external_references` for buckets.

Each place costs a request, so what was found of a prefix is kept for a minute: a thousand objects
of one table ask once. A prefix that cannot be listed counts as a table's: unknown is not "no".
Hadoop writes no checksum files on stores.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Protocol

from parquet_bloomwriter.caches import register
from parquet_bloomwriter.errors import StoreProblem
from parquet_bloomwriter.replace.external_references import Reference, ReferenceKind
from parquet_bloomwriter.stores.buckets import is_forbidden, open_place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


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
_THREADS = 32
"""Requests at the same time."""

_found: dict[tuple[str, str, str], tuple[float, tuple[Reference, ...]]] = {}
_records: dict[tuple[str, str, str], tuple[float, Reference | None]] = {}
register(_found.clear)
register(_records.clear)


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


_TABLES = (
    ("_delta_log/", "", ReferenceKind.DELTA_LOG),
    ("metadata/", ".metadata.json", ReferenceKind.ICEBERG_METADATA),
    (".hoodie/", "", ReferenceKind.HUDI_TIMELINE),
)


def find_records_above(urls: Iterable[str]) -> tuple[Reference, ...]:
    """Find the records of Delta, Iceberg and Hudi tables below prefixes, and below those above.

    All places are asked at the same time; what was found is kept for a minute. Iceberg's records
    are looked for where `replace.external_references.find_table_records` looks for them. Prefixes
    above that may not be listed are passed over: rights are often given for one table only.

    Args:
        urls: Of prefixes, without a slash at the end.

    Raises:
        StoreProblem: If a store does not answer.
    """
    places = dict.fromkeys(place for url in urls for place in _places_above(url))
    with ThreadPoolExecutor(_THREADS) as pool:
        found = list(pool.map(lambda place: _record_at(*place), places))
    return tuple(one for one in found if one is not None)


def find_records_below(root: str, folders: Iterable[str]) -> Iterator[Reference]:
    """Yield the records of other tables in folders below a prefix, by one listing of all of it.

    Args:
        root: URL of the prefix.
        folders: URLs of prefixes below it.

    Raises:
        StoreProblem: If the store does not answer.
    """
    bucket, key = open_place(root)
    wanted = set(folders)
    for one in bucket.objects(f"{key}/" if key else ""):
        for name, suffix, kind in _TABLES:
            above, found, _ = bucket.spell(one.key).partition(f"/{name}")
            if found and above in wanted and one.key.endswith(suffix):
                wanted.discard(above)
                yield Reference(kind=kind, path=f"{above}/{name.rstrip('/')}")


def _places_above(url: str) -> Iterator[tuple[str, str, str, ReferenceKind, bool]]:
    """Yield a bucket's URL, a prefix, suffix and kind of records, and whether it is one above."""
    bucket, key = open_place(url)
    names = key.split("/") if key else []
    is_within, below = True, ""
    for depth in range(len(names), -1, -1):
        if depth < len(names):
            is_within = below in ("", "data") or (is_within and "=" in below)
            below = names[depth - 1] if depth else ""
        prefix = "".join(f"{one}/" for one in names[:depth])
        for name, suffix, kind in _TABLES:
            if is_within or kind is not ReferenceKind.ICEBERG_METADATA:
                yield bucket.spell(""), prefix + name, suffix, kind, depth < len(names)


def _record_at(
    url: str,
    prefix: str,
    suffix: str,
    kind: ReferenceKind,
    is_above: bool,  # noqa: FBT001  the last of what `_places_above` yields
) -> Reference | None:
    bucket = open_place(url).bucket
    place = (bucket.endpoint, bucket.name, prefix)
    then, found = _records.get(place, (0.0, None))
    if not 0 <= time.monotonic() - then < _KEPT_S:
        at, found = bucket.spell(prefix.rstrip("/")), None
        try:
            if bucket.has_prefix(prefix, suffix=suffix):
                found = Reference(kind=kind, path=at)
        except StoreProblem as error:
            if not (is_above and is_forbidden(error)):
                return Reference(kind=ReferenceKind.UNLISTED_METADATA, path=at)
        _records[place] = (time.monotonic(), found)
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
