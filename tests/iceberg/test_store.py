"""pyiceberg's settings of stores, as ours."""

from __future__ import annotations

import pytest

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.iceberg.store import bucket_settings
from parquet_bloomwriter.source.settings import BucketSettings


def test_nothing_is_said_of_s3() -> None:
    assert bucket_settings({"type": "sql", "s3.connect-timeout": "60"}) is None


def test_a_store_with_keys() -> None:
    found = bucket_settings(
        {
            "s3.endpoint": "http://127.0.0.1:8333",
            "s3.access-key-id": "k",
            "s3.secret-access-key": "hidden",
            "s3.session-token": "t",
            "client.region": "eu-west-1",
        }
    )
    assert found == BucketSettings(
        endpoint="http://127.0.0.1:8333",
        region="eu-west-1",
        access_key="k",
        secret_key="hidden",  # noqa: S106
        session_token="t",  # noqa: S106
        path_style=True,
    )
    assert "hidden" not in repr(found)


def test_amazons_buckets_stand_in_the_name_of_the_host() -> None:
    found = bucket_settings({"s3.region": "eu-west-1", "s3.anonymous": "True"})
    assert found == BucketSettings(region="eu-west-1", is_anonymous=True)


def test_a_catalog_that_signs_requests_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="signs requests"):
        bucket_settings({"s3.remote-signing-enabled": "true", "s3.endpoint": "http://x"})
