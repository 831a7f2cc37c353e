"""A store as the environment names it, for the tests of objects."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import fsspec.config
import pytest
from fsspec.implementations.sftp import SFTPFileSystem

from parquet_bloomwriter import clear_cache
from parquet_bloomwriter.stores.s3 import client as s3
from tests.stores.whole import cloud as clouds
from tests.stores.whole import sftp_server
from tests.stores.whole.cloud import Cloud

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import TypeAlias

    from tests.stores.servers import Client, Store
    from tests.stores.whole.sftp_server import Sshd

    Use: TypeAlias = Callable[[Store], None]


@pytest.fixture
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the test a cache and a journal of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    clear_cache()


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Iterator[Use]:
    """Make a store the one that the environment names."""

    def name(store: Store) -> None:
        for variable, value in store.environment.items():
            monkeypatch.setenv(variable, value)
        s3._client.cache_clear()  # noqa: SLF001  it knows another endpoint

    yield name
    s3._client.cache_clear()  # noqa: SLF001  it knows another endpoint


@pytest.fixture
def client(store: Store, use: Use) -> Client:
    """Return a client of the store, which the environment names, too."""
    use(store)
    return store.client()


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
