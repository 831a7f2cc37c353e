"""A store as the environment names it, for the tests of objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter import clear_cache
from parquet_bloomwriter.stores.s3 import client as s3

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import TypeAlias

    from tests.stores.servers import Client, Store

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
