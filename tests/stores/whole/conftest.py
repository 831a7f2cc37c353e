"""Stores on this machine, and a file to be rewritten on them."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import bloomify, caches
from tests.stores.whole.cloud import Cloud, serving

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def plain() -> bytes:
    """Return a Parquet file without filters."""
    buffer = io.BytesIO()
    table = pa.table({"id": range(12_000), "text": [f"x{n}" for n in range(12_000)]})
    pq.write_table(table, buffer, row_group_size=6000)
    return buffer.getvalue()


@pytest.fixture(scope="session")
def with_filters(plain: bytes) -> bytes:
    """Return what `bloomify` makes of it on a store."""
    data = bloomify(plain, ["id"], placement="end").data
    assert data is not None
    return data


@pytest.fixture(autouse=True)
def _nothing_known() -> None:
    """Forget what other tests found beside their files."""
    caches.clear_cache()


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    """Return a server that is GCS and Azure, which obstore finds by the environment."""
    one = Cloud()
    with serving(one) as url:
        one.url = url
        monkeypatch.setenv("GOOGLE_BASE_URL", url)
        monkeypatch.setenv("GOOGLE_BEARER_TOKEN", "secret-token")
        monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", url)
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "c2VjcmV0LWtleQ==")
        monkeypatch.setattr("parquet_bloomwriter.stores.conditional._FIRST_PAUSE_S", 0.001)
        monkeypatch.setattr("parquet_bloomwriter.stores.conditional._READ_RETRIES", 2)
        yield one
