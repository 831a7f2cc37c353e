"""Settings and keys of stores that a program gives, in place of those that libraries find.

    S3             boto3         environment, configuration files, the machine
    GCS, Azure     obstore       environment
    HDFS           hdfs-native   Hadoop's configuration

`StoreSettings` is a value: it never changes, and can be pickled. Stores get their part of it when
they are opened (`stores.open`), and never look for it again. A path says nothing of settings, so
one value counts for the whole process, `_in_use`, which is this package's only state of settings.
Spark's configuration sets it (`spark.store_urls`), and the catalogs of Iceberg tables add buckets
to it (`iceberg.store`). Two users of one process with different keys for the same bucket must not
use it at the same time. Secrets are left out of every text.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from parquet_bloomwriter.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketSettings:
    """How one bucket of S3 is reached. Can be pickled; then the secrets are in the pickle."""

    endpoint: str | None = field(default=None, repr=False)
    """URL of the store, which may contain a password; None for Amazon S3."""

    region: str | None = None
    access_key: str | None = field(default=None, repr=False)
    """Access key; None if boto3 shall look for keys where it always does."""

    secret_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    path_style: bool = False
    """Whether the bucket stands in the path of URLs, not in the name of the host."""

    is_anonymous: bool = False
    """Whether requests are not signed."""


class CloudConnection(Protocol):
    """How a bucket of GCS or a container of Azure is reached; see `stores.gcs_azure_settings`."""

    @property
    def endpoint(self) -> str:
        """URL of the store."""

    def arguments(self) -> dict[str, Any]:
        """Return the options for obstore."""

    def __hash__(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HdfsConnection:
    """Settings of name nodes, besides Hadoop's configuration on this machine."""

    default: str | None = None
    """`fs.defaultFS`: the file system of `hdfs:///path`."""

    settings: tuple[tuple[str, str], ...] = ()
    """Names and values of Hadoop's settings; they override those of its configuration."""


@dataclass(frozen=True)
class StoreSettings:
    """The settings of all stores; these say something of single buckets of S3 only."""

    buckets: Mapping[str, BucketSettings | InvalidArgument] = field(
        default_factory=dict, repr=False, kw_only=True
    )
    """Settings of buckets of S3 by name, before all others; or why a bucket cannot be used."""

    def of_bucket(self, name: str) -> BucketSettings | None:
        """Return the settings of a bucket of S3; None: boto3 finds them.

        Raises:
            InvalidArgument: If there are settings that cannot be used here.
        """
        own = self.buckets.get(name)
        if isinstance(own, InvalidArgument):
            raise copy(own)  # which gets a traceback and a file's name; the value never changes
        return self.of_other_bucket(name) if own is None else own

    def of_other_bucket(self, name: str) -> BucketSettings | None:  # noqa: ARG002
        """Return the settings of a bucket of S3 that is not in `buckets`."""
        return None

    def of_cloud(self, base: str) -> CloudConnection | None:  # noqa: ARG002
        """Return the settings of a bucket of GCS or a container of Azure; None: obstore finds them.

        Args:
            base: Its URL, without a key.

        Raises:
            InvalidArgument: If there are settings that cannot be used here.
        """
        return None

    def of_hdfs(self) -> HdfsConnection:
        """Return the settings of name nodes."""
        return HdfsConnection()


_in_use = StoreSettings()
_changing = Lock()


def settings_in_use() -> StoreSettings:
    """Return the settings for stores that are opened from now on."""
    return _in_use


def use(settings: StoreSettings, *, keep_buckets: bool = False) -> None:
    """Use these settings, and no others, for all stores that this process opens from now on.

    Args:
        settings: The settings.
        keep_buckets: Whether buckets of S3 that have settings of their own keep them.
    """
    _change(lambda before: replace(settings, buckets=before.buckets) if keep_buckets else settings)


def use_for_buckets(buckets: Mapping[str, BucketSettings | InvalidArgument | None]) -> None:
    """Use these settings for some buckets of S3 from now on; None: those of all other buckets."""

    def with_buckets(before: StoreSettings) -> StoreSettings:
        own = {**before.buckets, **buckets}
        return replace(before, buckets={name: one for name, one in own.items() if one is not None})

    _change(with_buckets)


def _change(new: Callable[[StoreSettings], StoreSettings]) -> None:
    global _in_use  # noqa: PLW0603  the one setting of the process
    with _changing:
        _in_use = new(_in_use)
