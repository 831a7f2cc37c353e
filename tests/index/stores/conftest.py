"""Tables on a store for the tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.index.stores.support import Twins, ids, use

if TYPE_CHECKING:
    from pathlib import Path

    from tests.stores.proxy import Proxy
    from tests.stores.servers import Store


@pytest.fixture
def twins(store: Store, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Twins:
    """Return an empty table on the store, which is used without a proxy."""
    use(store, tmp_path, monkeypatch)
    local = tmp_path / "table"
    local.mkdir()
    return Twins(client=store.client(), bucket=bucket, local=local)


@pytest.fixture
def table(twins: Twins) -> Twins:
    """Return a table of six files; file n holds n and n + 100."""
    for n in range(6):
        twins.write(f"day={n % 2}/f{n}.parquet", ids(n, n + 100))
    return twins


@pytest.fixture
def through_proxy(
    table: Twins, proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Twins:
    """Return the same table, with all requests of this package going through the proxy."""
    use(proxy.store, tmp_path, monkeypatch)
    return table
