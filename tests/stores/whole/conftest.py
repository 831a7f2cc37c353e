"""Stores on this machine, and a file to be rewritten on them."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import bloomify, caches

if TYPE_CHECKING:
    from tests.stores.whole.sftp_server import Sshd


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
def sftp_url(sshd: Sshd) -> str:
    """Return the URL of a file on that server, which is not there yet."""
    return f"sftp://ada@127.0.0.1:{sshd.port}/a.parquet"
