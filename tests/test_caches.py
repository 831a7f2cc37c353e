"""Caches that threads share, and what only one thread makes."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from parquet_bloomwriter.caches import make_room
from parquet_bloomwriter.spark import jobs
from parquet_bloomwriter.stores import gcs_azure_settings
from parquet_bloomwriter.stores.s3 import client as s3

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest


class _Shared(dict[int, int]):
    """A dictionary of which another thread takes each key a moment earlier."""

    def pop(self, key: int, *default: int | None) -> int | None:  # type: ignore[override]
        super().pop(key, None)
        return super().pop(key, *default)


def test_other_threads_make_room_too() -> None:
    kept = _Shared.fromkeys(range(10), 0)
    make_room(kept, most=4)
    assert list(kept) == [7, 8, 9]
    make_room(kept, most=4)
    assert list(kept) == [7, 8, 9]


def _by_threads(make: Callable[[int], str]) -> set[str]:
    with ThreadPoolExecutor(4) as pool:
        return set(pool.map(make, range(4)))


def test_temporary_files_stay_where_threads_make_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((gcs_azure_settings, "NamedTemporaryFile"), (jobs, "mkdtemp")):
        make = getattr(module.tempfile, name)

        def slowly(*given: object, make: Callable[..., object] = make, **named: object) -> object:
            time.sleep(0.05)  # The other threads begin.
            return make(*given, **named)

        monkeypatch.setattr(module.tempfile, name, slowly)
    gcs_azure_settings._file.cache_clear()  # noqa: SLF001  no other test has made it
    monkeypatch.setattr(jobs, "_scratch", [])
    (file,) = _by_threads(lambda _: gcs_azure_settings._as_file("{}").name)  # noqa: SLF001  its only use
    (folder,) = _by_threads(lambda _: jobs.scratch_folder())
    assert Path(file).read_text("utf-8") == "{}"
    assert Path(folder).is_dir()


def test_a_client_of_a_store_is_of_the_keys_of_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    for key in ("old", "new", "old"):
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", f"of {key}")
        client = s3.open_bucket("b", None).client
        assert client._request_signer._credentials.access_key == key  # noqa: SLF001  boto3 shows none
    assert s3._client.cache_info().maxsize  # noqa: SLF001  catalogs send new keys without end


def test_threads_share_one_client_of_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    import boto3

    make = boto3.Session.client

    def slowly(*given: object, **named: object) -> object:
        time.sleep(0.05)  # The other threads begin.
        return make(*given, **named)

    monkeypatch.setattr(boto3.Session, "client", slowly)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    s3._client.cache_clear()  # noqa: SLF001  it knows another endpoint
    with ThreadPoolExecutor(4) as pool:
        buckets = list(pool.map(lambda _: s3.open_bucket("b", None), range(4)))
    s3._client.cache_clear()  # noqa: SLF001  as above
    assert len({id(one.client) for one in buckets}) == 1
