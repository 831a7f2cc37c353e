"""Errors of verbs that only read name the object, and the permission that is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter import for_each_file, inspect, probe, verify
from parquet_bloomwriter.errors import StoreProblem

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.stores.whole.cloud import Cloud


@pytest.mark.parametrize("verb", [inspect, verify, lambda url: probe(url, "id = 1")])
def test_reading_on_s3_says_what_is_missing(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, verb: Callable[[str], object]
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", cloud.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-key")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    cloud.fault = lambda *_: "403"
    with pytest.raises(PermissionError) as caught:
        verb("s3://bucket/table/a.parquet")
    assert caught.value.filename == "s3://bucket/table/a.parquet"
    assert "this needs the permission s3:GetObject" in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("base", ["gs://bucket", "az://bucket"])
def test_listing_says_what_is_missing(cloud: Cloud, base: str) -> None:
    cloud.fault = lambda *_: "403"
    with pytest.raises(StoreProblem, match=r"forbids it.*(storage\.objects\.list|blobs/read)"):
        list(for_each_file(f"{base}/table/", lambda *_: None))


def test_a_store_that_is_not_there_is_named() -> None:
    with pytest.raises(StoreProblem, match=r"ftp://127.0.0.1:9/table/: the store cannot be opened"):
        list(for_each_file("ftp://127.0.0.1:9/table/", lambda *_: None))
