"""Open a bucket of S3: the client of boto3, which buckets of the same settings share."""

from __future__ import annotations

import os
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.source.filesystems import without_secrets
from parquet_bloomwriter.source.settings import BucketSettings
from parquet_bloomwriter.stores.s3.limits import BoundedSession
from parquet_bloomwriter.stores.s3.store import S3Store
from parquet_bloomwriter.text import words_of

if TYPE_CHECKING:
    from botocore.config import Config

_CONNECTIONS = 64
_TIMEOUT_S = 60
_MAX_CLIENTS = 32
"""Maximum number of clients that are kept: catalogs send new keys again and again."""

_VARIABLES = (
    *("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_PROFILE"),
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_DEFAULT_REGION"),
    *("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"),
)
"""Environment variables that boto3 reads once, when it makes a client."""


def open_bucket(name: str, settings: BucketSettings | None) -> S3Store:
    """Open a bucket; no request is made yet.

    Args:
        name: The bucket.
        settings: How it is reached; None for what boto3 finds (AWS_ENDPOINT_URL, AWS_PROFILE ...).

    Raises:
        InvalidArgument: If boto3 is missing, or cannot make a client.
    """
    environment = tuple(os.environ.get(one) or None for one in _VARIABLES)
    with _opening:  # Else each thread that begins at the same time makes one of its own.
        client = _client(settings, environment)
    return S3Store(client, name, endpoint=without_secrets(str(client.meta.endpoint_url)))


_opening = Lock()


@lru_cache(_MAX_CLIENTS)
def _client(given: BucketSettings | None, environment: tuple[str | None, ...]) -> Any:  # noqa: ANN401  boto3 has no types
    try:
        import boto3
    except ImportError as error:
        raise InvalidArgument(
            "files on S3 are written with boto3, which is not installed",
            remedy="Install it: pip install boto3.",
        ) from error
    from botocore.exceptions import BotoCoreError
    from botocore.session import Session

    of_s3, of_all, profile = environment[:3]
    endpoint = of_s3 or of_all
    if given is not None:
        endpoint, profile = given.endpoint, None
    config = _config(given or BucketSettings(path_style=endpoint is not None))
    keys: dict[str, str | None] = {}
    own = None
    if given is not None and given.access_key is not None:
        # Whatever AWS_PROFILE says here.
        own = Session(session_vars={"profile": (None, None, None, None)})
        keys["aws_access_key_id"] = given.access_key
        keys["aws_secret_access_key"] = given.secret_key
        keys["aws_session_token"] = given.session_token
    try:
        session = boto3.Session(
            profile_name=profile,
            region_name=None if given is None else given.region,
            botocore_session=own,
        )
        client = session.client("s3", endpoint_url=endpoint, config=config, **keys)
    except (BotoCoreError, ValueError) as error:
        raise InvalidArgument(
            f"boto3 cannot open S3: {words_of(error)}",
            remedy="Check AWS_PROFILE, AWS_REGION and AWS_ENDPOINT_URL.",
        ) from error
    _limit(client)
    return client


def _config(given: BucketSettings) -> Config:
    """Return how the client makes requests."""
    from botocore import UNSIGNED
    from botocore.config import Config

    return Config(
        retries={"total_max_attempts": 1, "mode": "standard"},
        max_pool_connections=_CONNECTIONS,
        connect_timeout=_TIMEOUT_S / 6,
        read_timeout=_TIMEOUT_S,
        # Other stores than Amazon's do not know the newer checksums; MD5 goes along instead.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        **({"s3": {"addressing_style": "path"}} if given.path_style else {}),
        # Keys that are given go to the store that is given, or to Amazon's, and to no other.
        **({"ignore_configured_endpoint_urls": True} if given.access_key is not None else {}),
        **({"signature_version": UNSIGNED} if given.is_anonymous else {}),
    )


def _limit(client: Any) -> None:  # noqa: ANN401  boto3's
    """Limit the memory and time that answers to a client may take."""
    session = BoundedSession(client._endpoint.http_session)  # noqa: SLF001  there is no other way
    client._endpoint.http_session = session  # noqa: SLF001

    def begin(model: Any, **_: object) -> None:  # noqa: ANN401  boto3's
        if model.name != "HeadBucket":  # boto3 asks that for an operation that was redirected
            session.begin()

    client.meta.events.register("provide-client-params.s3", begin)
