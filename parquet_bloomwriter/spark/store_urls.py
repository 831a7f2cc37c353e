"""Spark's names of files and ours, and the settings of stores in Spark's configuration.

    Spark                                     here
    file:/data/a b, file:///data/a b          /data/a b
    s3a://bucket/key, s3n://..., s3://...     s3://bucket/key
    gs://bucket/key                           gs://bucket/key
    abfss://container@host/key, abfs://...    abfss://container@host/key
    hdfs://host:port/key                      hdfs://host:port/key

Hadoop writes a path as it is; `inputFiles()` and `_metadata.file_path` are URIs, with escapes.
Other stores (`wasbs`, `viewfs` ...) hold no indexes, and have no name here: `wasbs` gave way to
`abfss`, for the same data.

Of the configuration of Hadoop's connector, `fs.s3a.*`, the endpoint, the region, the keys and the
providers of credentials are taken, for all buckets or for one (`fs.s3a.bucket.NAME.*`, which win).
What counts of `fs.gs.*`, `fs.azure.*` and of HDFS, `spark.cloud_options` says.
They travel to executors within the tasks, so that these need nothing of the driver's environment.
Where the configuration names neither an endpoint, a region nor keys, each machine uses what boto3
finds there. Keys are never shown.

Source: Hadoop, "Hadoop-AWS module: Integration with Amazon Web Services", and core-default.xml.
"""

# ruff: noqa: SLF001  PySpark's way to the JVM
from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.index.storage.base import storage_of
from parquet_bloomwriter.source.settings import BucketSettings, StoreSettings, use
from parquet_bloomwriter.spark import cloud_options
from parquet_bloomwriter.spark.settings import is_connect

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import SparkSession

    from parquet_bloomwriter.source.settings import CloudConnection, HdfsConnection

_FILE = re.compile(r"file:/+", re.IGNORECASE)
_S3 = re.compile(r"(s3[an]?)://(?=[^/])", re.IGNORECASE)
_GOOGLE = re.compile(r"gs://(?=[^/])", re.IGNORECASE)
_AZURE = re.compile(r"abfss?://(?=[^/]+@[^/])", re.IGNORECASE)
_HDFS = re.compile(r"hdfs://(?=[^/])", re.IGNORECASE)
_STORES = ((_S3, "s3"), (_GOOGLE, "gs"), (_AZURE, "abfss"), (_HDFS, "hdfs"))
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")

_PREFIX = "fs.s3a."
_OPTIONS = (
    "endpoint",
    "endpoint.region",
    "access.key",
    "secret.key",
    "session.token",
    "path.style.access",
    "connection.ssl.enabled",
    "aws.credentials.provider",
)
_SECRETS = ("access.key", "secret.key", "session.token")
_NAMES = re.compile(
    r"(?:bucket\.(?P<bucket>.+?)\.)?(?P<option>" + "|".join(map(re.escape, _OPTIONS)) + ")"
)
_JAVA_PATTERN = r"^fs\.s3a\.(bucket\..+\.)?(" + "|".join(map(re.escape, _OPTIONS)) + ")$"

_ANONYMOUS = ("AnonymousAWSCredentialsProvider", "AnonymousCredentialsProvider")
_OF_ENVIRONMENT = "EnvironmentVariableCredentialsProvider"
_FOUND_BY_BOTO3 = frozenset(
    (
        *(_OF_ENVIRONMENT, "SystemPropertyCredentialsProvider"),
        *("IAMInstanceCredentialsProvider", "InstanceProfileCredentialsProvider"),
        *("EC2ContainerCredentialsProviderWrapper", "ContainerCredentialsProvider"),
        *("ProfileCredentialsProvider", "ProfileAWSCredentialsProvider"),
        *("WebIdentityTokenCredentialsProvider", "WebIdentityTokenFileCredentialsProvider"),
        *("DefaultAWSCredentialsProviderChain", "DefaultCredentialsProvider"),
    )
)
"""Credential providers that look where boto3 looks, too: the environment, files, the machine."""


# Names.


def from_hadoop(path: str) -> str | None:
    """Return our name for a path of Hadoop's, which has a scheme and no escapes.

    Returns:
        An absolute local path or the URL of an object; None for any other store.
    """
    local = _FILE.match(path)
    if local is not None:
        return f"/{path[local.end() :]}"
    for pattern, scheme in _STORES:
        match = pattern.match(path)
        if match is not None:
            return f"{scheme}://{path[match.end() :]}".rstrip("/")
    return None


def from_uri(uri: str) -> str | None:
    """Return our name for a file's URI with escapes, as `inputFiles()` returns it."""
    return from_hadoop(unquote(uri))


def scheme_of(path: str) -> str:
    """Return the scheme of a path or URI of Spark's, in lower case; "file" if it has none."""
    match = _SCHEME.match(path)
    return "file" if match is None else match[1].lower()


# Settings.


@dataclass(frozen=True)
class HadoopSettings(StoreSettings):
    """The settings of buckets in Spark's configuration. Can be pickled; its text shows no keys."""

    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Options of S3 by name, without `fs.s3a.`."""

    clouds: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Options of GCS, Azure and HDFS by full name."""

    def of_other_bucket(self, name: str) -> BucketSettings | None:
        """Return the settings of a bucket of S3; None: boto3 finds the settings.

        Raises:
            InvalidArgument: If credentials come from a provider that is not known here.
        """
        found = {}
        for option in _OPTIONS:
            own = self.options.get(f"bucket.{name}.{option}")
            text = (self.options.get(option, "") if own is None else own).strip()
            if text:
                found[option] = text
        endpoint, region = _endpoint_of(found), found.get("endpoint.region")
        keys = _credentials(name, found)
        if keys is None and endpoint is None and region is None:
            return None
        by_path = found.get("path.style.access", "").lower() == "true"
        settings = {"endpoint": endpoint, "region": region, "path_style": by_path}
        return BucketSettings(**settings, **(keys or {}))  # type: ignore[arg-type]  # by name

    def of_cloud(self, base: str) -> CloudConnection | None:
        """Return the settings of a bucket of GCS or a container of Azure."""
        return cloud_options.connection(self.clouds, base)

    def of_hdfs(self) -> HdfsConnection:
        """Return the settings of name nodes."""
        return cloud_options.hdfs_connection(self.clouds)


def store_settings(spark: SparkSession) -> HadoopSettings:
    """Return the settings of buckets in a session's configuration.

    A client of Spark Connect is told the endpoint and the region, but no keys: boto3 finds them.
    """
    if is_connect(spark):
        return HadoopSettings(_of_client(spark))
    configuration = _hadoop(spark)
    clouds = cloud_options.with_key_file(_matching(configuration, cloud_options.JAVA_PATTERN))
    return HadoopSettings(_of_hadoop(configuration), clouds)


def use_settings_of(spark: SparkSession, paths: Iterable[str] | None = None) -> None:
    """Apply the settings of a session in this process, from now on.

    Args:
        spark: The session.
        paths: What a query reads, by our names: if all of it is on disks, do nothing. Meanwhile,
            another thread may work on an Iceberg table, whose buckets keep the catalog's settings;
            None: a verb begins, and only the session's settings apply.
    """
    if paths is None or any(storage_of(path).is_remote for path in paths):
        use(store_settings(spark), keep_buckets=paths is not None)


def _hadoop(spark: Any) -> Any:  # noqa: ANN401  py4j has no types
    return spark._jsparkSession.sessionState().newHadoopConf()


def _matching(configuration: Any, pattern: str) -> dict[str, str]:  # noqa: ANN401  of the JVM
    listed = configuration.getValByRegex(pattern)
    return {str(name): str(listed[name]) for name in listed}


def _of_hadoop(configuration: Any) -> dict[str, str]:  # noqa: ANN401  of the JVM
    from py4j.protocol import Py4JError

    listed = _matching(configuration, _JAVA_PATTERN)
    found = {name.removeprefix(_PREFIX): text for name, text in listed.items()}
    for option in _SECRETS:  # perhaps in a credentials file that the configuration names
        with suppress(Py4JError):  # the file cannot be read; tables on disks need no secrets
            secret = configuration.getPassword(_PREFIX + option)
            if secret is not None:
                found[option] = "".join(secret)
    return found


def _of_client(spark: SparkSession) -> dict[str, str]:
    found = {}
    for prefix in ("spark.hadoop.", ""):
        for option in _OPTIONS:
            value = spark.conf.get(f"{prefix}{_PREFIX}{option}", None)
            if value:
                found[option] = value
    return found


def _endpoint_of(found: Mapping[str, str]) -> str | None:
    endpoint = found.get("endpoint")
    if endpoint is None or endpoint.lower() in ("central", "s3.amazonaws.com"):
        return None
    if "://" in endpoint:
        return endpoint
    is_plain = found.get("connection.ssl.enabled", "true").lower() == "false"
    return f"{'http' if is_plain else 'https'}://{endpoint}"


def _credentials(bucket: str, found: Mapping[str, str]) -> dict[str, object] | None:
    """Return the keys of the first provider that has keys; None: boto3 finds the keys."""
    keys: dict[str, object] = {}
    for option, name in zip(_SECRETS, ("access_key", "secret_key", "session_token"), strict=True):
        if option in found:
            keys[name] = found[option]
    has_keys = {"access_key", "secret_key"} <= set(keys)
    for provider in _providers(found):
        name = re.split(r"[.$]", provider)[-1]
        if name in _ANONYMOUS:
            return {"is_anonymous": True}
        if name == "TemporaryAWSCredentialsProvider":
            if has_keys and "session_token" in keys:
                return keys
        elif name == "SimpleAWSCredentialsProvider":
            if has_keys:
                return {one: keys[one] for one in ("access_key", "secret_key")}
        elif name in _FOUND_BY_BOTO3:
            return None
        else:
            raise InvalidArgument(
                f'the credentials of the bucket "{bucket}" come from {provider}, which is not '
                "known",
                remedy="Set fs.s3a.access.key and fs.s3a.secret.key, or name a provider that boto3 "
                "has, too, such as IAMInstanceCredentialsProvider.",
            )
    return None


def _providers(found: Mapping[str, str]) -> Sequence[str]:
    given = found.get("aws.credentials.provider", "")
    named = [one.strip() for one in given.split(",") if one.strip()]
    if not os.environ.get("AWS_ACCESS_KEY_ID"):  # without it, other providers count
        others = [one for one in named if not one.endswith(_OF_ENVIRONMENT)]
        named = others or named
    return named or ("TemporaryAWSCredentialsProvider", "SimpleAWSCredentialsProvider")
