"""From S3 to other stores and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter import UnsafeTarget, bloomify, strip
from parquet_bloomwriter.rewrite import whole_files
from parquet_bloomwriter.stores.s3 import client as s3

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.stores.servers import Store
    from tests.stores.whole.cloud import Cloud


@pytest.fixture
def bucket_url(
    store: Store, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Return the URL of a bucket on S3."""
    for variable, value in store.environment.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    s3._client.cache_clear()  # noqa: SLF001  it knows another endpoint
    yield f"s3://{bucket}"
    s3._client.cache_clear()  # noqa: SLF001  it knows another endpoint


@pytest.mark.parametrize("small", [0, whole_files._SMALL])  # noqa: SLF001  copied later, or at once
def test_from_s3_to_another_store_and_back(  # noqa: PLR0913, PLR0917  fixtures
    store: Store,
    bucket: str,
    bucket_url: str,
    cloud: Cloud,
    plain: bytes,
    with_filters: bytes,
    monkeypatch: pytest.MonkeyPatch,
    small: int,
) -> None:
    monkeypatch.setattr(whole_files, "_SMALL", small)
    client = store.client()
    client.put_object(Bucket=bucket, Key="a.parquet", Body=plain)
    report = bloomify(f"{bucket_url}/a.parquet", ["id"], output="gs://bucket/b.parquet")
    assert cloud.objects["bucket/b.parquet"].data == with_filters
    assert report.store is not None
    assert len(plain) <= report.store.down < 3 * len(plain)
    assert report.store.up == len(with_filters)
    with pytest.raises(UnsafeTarget, match="exists already"):
        strip("gs://bucket/b.parquet", output=f"{bucket_url}/a.parquet")
    report_back = strip("gs://bucket/b.parquet", output=f"{bucket_url}/c.parquet")
    assert report_back.output == f"{bucket_url}/c.parquet"
    found = client.get_object(Bucket=bucket, Key="c.parquet")["Body"].read()
    assert found == plain
