"""Many objects are compared with what an index knows by few requests."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import pytest

from parquet_bloomwriter.index.files import location
from parquet_bloomwriter.index.table import objects as table_objects
from parquet_bloomwriter.index.table.data_files import current_files, list_files
from parquet_bloomwriter.index.table.ref import TableRef
from tests.index.stores.support import ids

if TYPE_CHECKING:
    from tests.index.stores.support import Twins
    from tests.stores.proxy import Proxy

MANY = 30


class Many(NamedTuple):
    """A table of many objects, behind a proxy that counts."""

    twins: Twins
    proxy: Proxy


@pytest.fixture
def table_of_many(through_proxy: Twins, proxy: Proxy) -> Many:
    """Return the table; six of its objects are in folders."""
    for n in range(6, MANY):
        through_proxy.write(f"f{n:02}.parquet", ids(n))
    return Many(through_proxy, proxy)


@pytest.mark.parametrize(
    ("page", "asked", "expected"),
    [
        (1000, MANY, {"ListObjectsV2": 1, "HeadObject": 1}),  # for the object that is gone
        (1000, 5, {"HeadObject": 5}),
        (5, MANY, {"ListObjectsV2": 1, "HeadObject": 15}),
    ],
)
def test_one_listing_tells_of_many_objects(
    table_of_many: Many, monkeypatch: pytest.MonkeyPatch, page: int, asked: int, expected: object
) -> None:
    monkeypatch.setattr(table_objects, "_PAGE", page)
    twins, proxy = table_of_many.twins, table_of_many.proxy
    known = list_files(twins.url)
    urls = [location(twins.url, one) for one in known]
    twins.write("f07.parquet", ids(8))
    twins.client.delete_object(Bucket=twins.bucket, Key=f"{twins.prefix}/f08.parquet")
    before = len(proxy.requests)
    found = table_objects.are_unchanged(urls[-asked:], known[-asked:])
    paths = [one.path for one in known[-asked:]]
    assert found == [path not in {"f07.parquet", "f08.parquet"} for path in paths]
    assert Counter(one.operation for one in proxy.requests[before:]) == expected


def test_named_files_are_listed_once(table_of_many: Many) -> None:
    twins, proxy = table_of_many.twins, table_of_many.proxy
    urls = [location(twins.url, one) for one in list_files(twins.url)]
    before = len(proxy.requests)
    found = current_files(TableRef.of(twins.url), urls, root=twins.url)
    assert [location(twins.url, one) for one in found] == urls
    assert Counter(one.operation for one in proxy.requests[before:]) == {"ListObjectsV2": 1}
