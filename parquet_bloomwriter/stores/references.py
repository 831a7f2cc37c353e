"""Find what refers to an object from outside: `replace.external_references` for buckets.

Each prefix costs a request, so the result for a prefix is kept for a minute: a thousand objects of
one table need one request. A prefix that cannot be listed counts as a table's: unknown is not "no".
Hadoop writes no checksum files on stores.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from parquet_bloomwriter.caches import register
from parquet_bloomwriter.errors import StoreProblem
from parquet_bloomwriter.replace.external_references import (
    FORMATS,
    Reach,
    Reference,
    ReferenceKind,
    TableFormat,
    find_by_name,
    reaches_upwards,
)
from parquet_bloomwriter.stores.base import is_forbidden
from parquet_bloomwriter.stores.open import open_place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from parquet_bloomwriter.stores.base import Store


_KEPT_S = 60.0
_THREADS = 32
"""Number of parallel requests."""

_SUMMARY = TableFormat(
    kind=ReferenceKind.SUMMARY_METADATA,
    table="a data set with a summary",
    reader="its writer",
    signs=("_metadata",),
    remedy="",
)
"""A `_metadata` file: found like the records of a table, not read, and counts above all folders."""

_WITH_FOLDERS = tuple(one for one in FORMATS if one.signs)

_kept: dict[tuple[object, ...], tuple[float, Reference | None]] = {}
register(_kept.clear)


def find_references(store: Store, key: str) -> Iterator[Reference]:
    """Yield the external references to an object, the nearest first.

    Raises:
        StoreProblem: If the store does not answer.
    """
    yield from find_by_name(store.spell(key))
    for prefix, reaches in _upwards(key.rpartition("/")[0]):
        for one in (_SUMMARY, *_WITH_FOLDERS):
            if one.reach in reaches | Reach.ICEBERG:
                found = _record(store, prefix, one)
                if found is not None:
                    yield found


def find_records_above(urls: Iterable[str]) -> tuple[Reference, ...]:
    """Find the records of table formats in prefixes, and in the prefixes above them.

    All places are asked in parallel; the results are kept for a minute. Records count where they
    count for `replace.external_references.find_table_records`. Prefixes above that may not be
    listed are passed over: rights are often given for one table only.

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
    """Yield the records of other tables below a prefix, found by one listing of all its objects.

    Args:
        root: URL of the prefix.
        folders: URLs of prefixes below it, which have files. Records in prefixes between count,
            too.

    Raises:
        StoreProblem: If the store does not answer.
    """
    store, key = open_place(root)
    wanted: dict[str, Reach] = {}
    for folder in folders:
        names = folder.removeprefix(f"{root}/").split("/")
        for depth, reaches in zip(
            range(len(names), 0, -1), reaches_upwards(reversed(names)), strict=True
        ):
            place = "/".join((root, *names[:depth]))
            wanted[place] = reaches | wanted.get(place, reaches)
    missing: dict[tuple[str, ReferenceKind], set[str]] = {}
    for one in store.objects(f"{key}/" if key else ""):
        url = store.spell(one.key)
        for table in _WITH_FOLDERS:
            for sign in table.signs:
                for above in _above(url, sign, table.endings):
                    if table.reach not in wanted.get(above, Reach(0)):
                        continue
                    left = missing.setdefault((above, table.kind), set(table.signs))
                    if left == {sign}:
                        yield Reference(
                            kind=table.kind, path=f"{above}/{table.signs[0].rstrip('/')}"
                        )
                    left.discard(sign)


def _above(url: str, sign: str, endings: tuple[str, ...]) -> Iterator[str]:
    """Yield the prefixes that an object marks as a table, by sign and endings of a format."""
    if not sign.endswith("/"):
        if url.endswith(f"/{sign}"):
            yield url.removesuffix(f"/{sign}")
        return
    if f"/{sign}" in url and url.endswith(endings or ""):
        names = url.split("/")
        for depth in range(len(names) - 2 if endings else 0, len(names) - 1):
            if f"{names[depth]}/" == sign:
                yield "/".join(names[:depth])


def _upwards(folder: str) -> Iterator[tuple[str, Reach]]:
    """Return a folder and those above it, as prefixes with the reaches that count there."""
    names = folder.split("/") if folder else []
    prefixes = ["".join(f"{one}/" for one in names[:depth]) for depth in range(len(names), -1, -1)]
    return zip(prefixes, reaches_upwards([*reversed(names), ""]), strict=True)


def _places_above(url: str) -> Iterator[tuple[str, str, TableFormat, bool]]:
    """Yield bucket URL, prefix, format, and whether the prefix lies above `url`."""
    store, key = open_place(url)
    for depth, (prefix, reaches) in enumerate(_upwards(key)):
        for one in _WITH_FOLDERS:
            if one.reach in reaches:
                yield store.spell(""), prefix, one, depth > 0


def _record_at(
    url: str,
    prefix: str,
    one: TableFormat,
    is_above: bool,  # noqa: FBT001  the last of what `_places_above` yields
) -> Reference | None:
    return _record(open_place(url).store, prefix, one, passes_over_forbidden=is_above)


def _record(
    store: Store, prefix: str, one: TableFormat, *, passes_over_forbidden: bool = False
) -> Reference | None:
    """Return the records of one format directly below a prefix, or None."""
    place = (store.endpoint, store.name, prefix, one.kind, passes_over_forbidden)
    then, found = _kept.get(place, (0.0, None))
    if 0 <= time.monotonic() - then < _KEPT_S:
        return found
    at, found = store.spell(prefix + one.signs[0].rstrip("/")), None
    try:
        if all(_has(store, prefix + sign, one.endings) for sign in one.signs):
            found = Reference(kind=one.kind, path=at)
    except StoreProblem as error:
        if not (passes_over_forbidden and is_forbidden(error)):
            return Reference(kind=ReferenceKind.UNLISTED_METADATA, path=at)
    _kept[place] = (time.monotonic(), found)
    return found


def _has(store: Store, name: str, endings: tuple[str, ...]) -> bool:
    """Return whether a file exists; for a name with a slash, a folder with such an ending."""
    if name.endswith("/"):
        return store.has_prefix(name, suffix=endings or "")
    return store.has_prefix(name, suffix=name.rpartition("/")[2])
