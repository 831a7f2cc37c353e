"""The URLs of objects on S3."""

from __future__ import annotations

from typing import NamedTuple

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.source.filesystems import SCHEMES

_STARTS = tuple(f"{scheme}://" for scheme in SCHEMES["s3"])


class ObjectPath(NamedTuple):
    """Bucket and key of an object on S3."""

    bucket: str
    key: str

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.key}"


def is_s3(path: str) -> bool:
    """Return whether a path is the URL of an object, a prefix or a pattern on S3."""
    return path.lower().startswith(_STARTS)


def parse_url(url: str) -> ObjectPath:
    """Split the URL of an object, `s3://bucket/key`; escapes in the key are left alone.

    Raises:
        InvalidArgument: If it names no bucket, or has a user, a password or parameters, which
            would end up in messages and process lists.
    """
    bucket, _, key = url.partition("://")[2].partition("/")
    is_secret = "@" in bucket or ":" in bucket  # a password may have a slash in it
    if not bucket or is_secret:
        problem = "has a user or a password in it" if is_secret else "names no bucket"
        raise InvalidArgument(
            f"the URL {problem}",
            remedy="Name the object as s3://bucket/key; boto3 finds credentials in the environment "
            "(AWS_PROFILE, AWS_ACCESS_KEY_ID), its files, or from the machine.",
        )
    return ObjectPath(bucket, key)
