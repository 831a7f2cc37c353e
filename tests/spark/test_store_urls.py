"""Names of files in Spark and here, and settings of buckets out of Hadoop's configuration."""

from __future__ import annotations

import pickle

import pytest

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.iceberg.store import use_settings
from parquet_bloomwriter.source.settings import BucketSettings, StoreSettings, settings_in_use, use
from parquet_bloomwriter.spark import store_urls
from parquet_bloomwriter.spark.connect.file_keys import file_key, file_uri, leaving_out
from parquet_bloomwriter.spark.store_urls import HadoopSettings, from_hadoop, from_uri, scheme_of
from parquet_bloomwriter.stores.open import open_bucket

ENVIRONMENT = "x.EnvironmentVariableCredentialsProvider"
SIMPLE = "x.SimpleAWSCredentialsProvider"
KEYS = {"access.key": "A", "secret.key": "S"}


@pytest.mark.parametrize(
    ("given", "ours"),
    [
        ("file:/a b/c", "/a b/c"),
        ("file:///a%20b", "/a%20b"),
        ("s3a://b/k %20é", "s3://b/k %20é"),
        ("s3n://b/k/", "s3://b/k"),
        ("s3://b", "s3://b"),
        ("s3a:/k", None),
        (
            "abfss://c@account.dfs.core.windows.net/a b",
            "abfss://c@account.dfs.core.windows.net/a b",
        ),
        ("abfs://c@account.dfs.core.windows.net/", "abfss://c@account.dfs.core.windows.net"),
        ("abfss://account/k", None),
        ("wasbs://c@account.blob.core.windows.net/k", None),
        ("gs://b/k", "gs://b/k"),
        ("hdfs://host:8020/a b#c", "hdfs://host:8020/a b#c"),
        ("hdfs:///k", None),
        ("viewfs://cluster/k", None),
    ],
)
def test_names(given: str, ours: str | None) -> None:
    assert from_hadoop(given) == ours


def test_uris_have_escapes() -> None:
    path = "s3://b/a %20/é+#.parquet"
    uri = file_uri(path, "s3a")
    assert uri == "s3a://b/a%20%2520/é+%23.parquet"
    assert from_uri(uri) == path
    assert (scheme_of(uri), scheme_of("/a:b")) == ("s3a", "file")
    key = file_key(path, 7, 1999, scheme="s3a")
    assert key == f"{uri}|7|1"
    assert "unix_seconds" in leaving_out([key])
    assert "unix_micros" in leaving_out([file_key("/a", 7, 1999) or ""])


def test_a_bucket_has_settings_of_its_own() -> None:
    settings = HadoopSettings(
        {
            **KEYS,
            "endpoint": "store:9000",
            "connection.ssl.enabled": "false",
            "path.style.access": "true",
            "bucket.other.endpoint": "https://other",
            "bucket.other.secret.key": "T",
            "bucket.a.b.endpoint.region": "eu-west-1",
        }
    )
    one, other, dotted = (settings.of_bucket(name) for name in ("one", "other", "a.b"))
    assert one is not None
    assert other is not None
    assert dotted is not None
    assert (one.endpoint, one.secret_key, one.path_style) == ("http://store:9000", "S", True)
    assert (other.endpoint, other.access_key, other.secret_key) == ("https://other", "A", "T")
    assert (one.region, dotted.region) == (None, "eu-west-1")
    assert pickle.loads(pickle.dumps(settings)) == settings  # noqa: S301  our own


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({}, None),
        ({"endpoint": "s3.amazonaws.com"}, None),
        (KEYS, ("A", "S", None, False)),
        ({**KEYS, "session.token": "T"}, ("A", "S", "T", False)),
        (
            {
                **KEYS,
                "session.token": "T",
                "aws.credentials.provider": SIMPLE,
            },
            ("A", "S", None, False),
        ),
        ({**KEYS, "aws.credentials.provider": "x.IAMInstanceCredentialsProvider"}, None),
        ({**KEYS, "aws.credentials.provider": f"{ENVIRONMENT},{SIMPLE}"}, ("A", "S", None, False)),
        ({"aws.credentials.provider": f"{ENVIRONMENT},{SIMPLE}"}, None),
        (
            {"aws.credentials.provider": f"{SIMPLE}, x.ProfileCredentialsProvider"},
            None,
        ),
        (
            {"aws.credentials.provider": "x.AnonymousAWSCredentialsProvider"},
            (None, None, None, True),
        ),
    ],
)
def test_credentials(options: dict[str, str], found: tuple[object, ...] | None) -> None:
    settings = HadoopSettings(options).of_bucket("b")
    shown = settings and (
        settings.access_key,
        settings.secret_key,
        settings.session_token,
        settings.is_anonymous,
    )
    assert shown == found


def test_unknown_providers_are_refused_by_name() -> None:
    options = {**KEYS, "aws.credentials.provider": "org.Vault,x.SimpleAWSCredentialsProvider"}
    with pytest.raises(InvalidArgument, match=r"org\.Vault"):
        HadoopSettings(options).of_bucket("b")


def test_texts_show_no_keys() -> None:
    keys = {"access.key": "ACCESS", "secret.key": "SECRET", "session.token": "TOK"}
    settings = HadoopSettings({**keys, "endpoint": "http://u:WORD@store"})
    for one in (settings, settings.of_bucket("b")):
        assert not any(key in f"{one!r} {one}" for key in ("ACCESS", "SECRET", "TOK", "WORD"))


def test_a_provider_that_looks_into_the_environment_wins_if_there_are_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options = {**KEYS, "aws.credentials.provider": f"{ENVIRONMENT},{SIMPLE}"}
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of the machine")
    assert HadoopSettings(options).of_bucket("b") is None


@pytest.mark.parametrize("endpoint", [None, "central", "s3.amazonaws.com"])
def test_given_keys_go_to_no_endpoint_of_the_environment(
    endpoint: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.setenv(name, "http://elsewhere.example:1")
    monkeypatch.setenv("AWS_PROFILE", "not there")
    options = {
        **KEYS,
        "endpoint.region": "us-east-1",
        **({"endpoint": endpoint} if endpoint else {}),
    }
    use(HadoopSettings(options))
    try:
        bucket = open_bucket("b")
    finally:
        use(StoreSettings())
    assert "amazonaws.com" in bucket.endpoint


def test_a_blank_setting_of_one_bucket_hides_that_of_all() -> None:
    options = {**KEYS, "endpoint": "http://store:1", "bucket.b.endpoint": ""}
    found = HadoopSettings(options).of_bucket("b")
    assert found is not None
    assert found.endpoint is None
    other = HadoopSettings(options).of_bucket("c")
    assert other is not None
    assert other.endpoint == "http://store:1"


def test_a_query_leaves_a_bucket_the_keys_of_its_iceberg_catalog(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = HadoopSettings({**KEYS, "endpoint.region": "session"})
    monkeypatch.setattr(store_urls, "store_settings", lambda _: given)
    try:
        use_settings({"s3.region": "catalog"}, ["s3://iceberg/table"])
        store_urls.use_settings_of(None, ["/disk", "s3://other/x"])  # type: ignore[arg-type]
        found = settings_in_use()
        assert found.of_bucket("iceberg") == BucketSettings(region="catalog")
        assert found.of_bucket("other") == given.of_bucket("other") != BucketSettings()
        store_urls.use_settings_of(None)  # type: ignore[arg-type]  # a verb begins
        assert settings_in_use().of_bucket("iceberg") == given.of_bucket("iceberg")
    finally:
        use(StoreSettings())
