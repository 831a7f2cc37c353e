"""Tables on object stores: the listing of their objects, and the identity of an object.

A file is identified by path, size and ETag: the ETag of an object changes with its bytes, so that
no clock matters. A listing returns it for every object. A weak ETag (RFC 9110, 8.8.1) is ignored:
then the time of the last change counts.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from typing import TYPE_CHECKING, cast

from parquet_bloomwriter.errors import FileProblem, InvalidArgument
from parquet_bloomwriter.index.files import LoggedFile, ObjectId
from parquet_bloomwriter.index.layout import relative_path
from parquet_bloomwriter.stores.listing import candidates_in, parquet_among
from parquet_bloomwriter.stores.open import open_place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.index.files import FileId
    from parquet_bloomwriter.source import Source
    from parquet_bloomwriter.source.base import RangeReader
    from parquet_bloomwriter.source.folders import Leftovers
    from parquet_bloomwriter.stores.base import Listed, TableStore

_NS_PER_MS = 1_000_000
_THREADS = 16
"""Number of simultaneous requests."""

_PAGE = 1000
"""Number of objects that one request lists."""

_WORTH_A_REQUEST = 12
"""Number of requests for single objects that cost about as much as one request for a listing."""


def is_folder(url: str) -> bool:
    """Return whether any key lies below a URL.

    Raises:
        StoreProblem: If the store refuses or does not answer.
    """
    store, key = open_place(url)
    return store.has_prefix(f"{key}/" if key else "")


def root_on_store(url: str) -> str:
    """Return the root of a table: the URL itself, or the prefix that contains the single object.

    Raises:
        InvalidArgument: If there is no such prefix or object.
        StoreProblem: If the store refuses or does not answer.
    """
    if is_folder(url):
        return url
    store, key = open_place(url)
    if key and store.state(key) is not None:
        return url.rpartition("/")[0]
    raise InvalidArgument(
        f'there is no object, and nothing below "{url}"', remedy="Name the prefix of the table."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTable:
    """The objects below the root of a table: Parquet by their names, or perhaps Parquet."""

    sure: list[ObjectId]
    doubtful: list[ObjectId]
    store: TableStore
    objects: dict[str, Listed]
    """The perhaps-Parquet objects, by their paths in the identities."""

    def parquet_among(self, doubtful: Sequence[FileId], leftovers: Leftovers) -> list[ObjectId]:
        """Return the doubtful objects that are Parquet by their last or first bytes."""
        asked = [self.objects[one.path] for one in doubtful]
        found = {one.key for one in parquet_among(self.store, asked, leftovers)}
        return [one for one in self.doubtful if self.objects[one.path].key in found]


def list_objects(root: str, leftovers: Leftovers) -> ListedTable:
    """List the objects below a prefix that are files of a table, or might be.

    Args:
        root: URL of the prefix.
        leftovers: Receives the files that are skipped.

    Raises:
        StoreProblem: If the store refuses or does not answer.
    """
    store, key = open_place(root)
    sure, doubtful = candidates_in(store, f"{key}/" if key else "", leftovers)

    def identity(one: Listed) -> ObjectId:
        path = relative_path(root, store.spell(one.key))
        return ObjectId(path, one.size, one.changed_ns // _NS_PER_MS, _bare(one.etag))

    ids = [identity(one) for one in doubtful]
    return ListedTable(
        sure=[identity(one) for one in sure],
        doubtful=ids,
        store=store,
        objects={one.path: listed for one, listed in zip(ids, doubtful, strict=True)},
    )


def object_id(url: str, path: str) -> ObjectId:
    """Look up an object on its store, and return its identity.

    Args:
        url: URL of the object.
        path: Path for the identity of the object.

    Raises:
        FileNotFoundError: If there is none.
        StoreProblem: If the store refuses or does not answer.
    """
    store, key = open_place(url)
    found = store.state(key)
    if found is None:
        raise FileNotFoundError(2, "No such object", url)
    return ObjectId(path, found.size, found.changed_ns // _NS_PER_MS, _bare(found.etag))


def are_unchanged(urls: Sequence[str], files: Sequence[FileId]) -> list[bool]:
    """Look at objects, and return for each whether it is unchanged; False if that is unknown.

    One request lists a thousand objects. Listings are read as long as they take at most one request
    for each dozen of the given objects; the other objects are looked up one by one.
    """
    listed = _listed(urls) if len(urls) >= _WORTH_A_REQUEST else {}

    def is_unchanged(pair: tuple[str, FileId]) -> bool:
        url, file = pair
        try:
            now = listed.get(url) or object_id(url, file.path)
        except (OSError, FileProblem):
            return False
        return replace(now, path=file.path).is_same(file)

    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(is_unchanged, zip(urls, files, strict=True)))


def _listed(urls: Sequence[str]) -> dict[str, ObjectId]:
    """Return the identities of objects by URL, as far as a few requests for listings find them."""
    found: dict[str, ObjectId] = {}
    for store, keys in _by_bucket(urls).items():
        first, last = min(keys), max(keys)
        prefix = _common_prefix(first, last)
        most = _PAGE * (1 + len(keys) // _WORTH_A_REQUEST)
        with suppress(OSError, FileProblem):  # listing may be forbidden where reading is not
            objects = store.objects(prefix, start_after=first[:-1])
            for one in islice(objects, most):
                if one.key > last:
                    break
                if one.key in keys:
                    url = store.spell(one.key)
                    changed_ms = one.changed_ns // _NS_PER_MS
                    found[url] = ObjectId(url, one.size, changed_ms, _bare(one.etag))
    return found


def _common_prefix(one: str, other: str) -> str:
    same = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return "".join(letter for letter, _ in same)


def _by_bucket(urls: Sequence[str]) -> dict[TableStore, set[str]]:
    opened: dict[str, TableStore] = {}
    keys: dict[TableStore, set[str]] = {}
    for url in urls:
        scheme, _, rest = url.partition("://")
        name, _, key = rest.partition("/")
        root = f"{scheme}://{name}"
        if root not in opened:
            opened[root] = open_place(root).store
        keys.setdefault(opened[root], set()).add(key)
    return keys


def is_state_of(source: Source, file: FileId) -> bool:
    """Return whether an open object has the identity that was listed."""
    if isinstance(file, LoggedFile):
        return source.size == file.size
    return source.size == file.size and _bare(cast("RangeReader", source).etag) == file.etag


def _bare(etag: str) -> str:
    """Return an ETag without its quotes; "" for a weak ETag."""
    return "" if etag.startswith("W/") else etag.strip('"')
