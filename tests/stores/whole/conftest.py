"""Stores on this machine, and a file to be rewritten on them."""

from __future__ import annotations

import io
import logging
from typing import TYPE_CHECKING

import fsspec.config
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.sftp import SFTPFileSystem

from parquet_bloomwriter import bloomify, caches
from tests.stores.whole import cloud as clouds
from tests.stores.whole import sftp_server
from tests.stores.whole.cloud import Cloud

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    """Return a server that is GCS and Azure, which obstore finds by the environment."""
    one = Cloud()
    with clouds.serving(one) as url:
        one.url = url
        monkeypatch.setenv("GOOGLE_BASE_URL", url)
        monkeypatch.setenv("GOOGLE_BEARER_TOKEN", "secret-token")
        monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", url)
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
        monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "c2VjcmV0LWtleQ==")
        monkeypatch.setattr("parquet_bloomwriter.stores.conditional._FIRST_PAUSE_S", 0.001)
        monkeypatch.setattr("parquet_bloomwriter.stores.conditional._READ_RETRIES", 2)
        yield one


@pytest.fixture
def sshd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sshd]:
    """Return a server; fsspec's configuration has the password."""
    root = tmp_path / "served"
    root.mkdir()
    logging.getLogger("paramiko").setLevel(logging.CRITICAL)
    settings = {"password": "secret-word", "look_for_keys": False, "allow_agent": False}
    monkeypatch.setitem(fsspec.config.conf, "sftp", settings)
    monkeypatch.setattr("parquet_bloomwriter.stores.file_systems._PAUSES_S", (0.0, 0.0))
    with sftp_server.serving(root) as server:
        yield server
        for one in SFTPFileSystem._cache.values():  # noqa: SLF001  its connections
            one.client.close()
        SFTPFileSystem.clear_instance_cache()


@pytest.fixture
def sftp_url(sshd: Sshd) -> str:
    """Return the URL of a file on that server, which is not there yet."""
    return f"sftp://ada@127.0.0.1:{sshd.port}/a.parquet"
