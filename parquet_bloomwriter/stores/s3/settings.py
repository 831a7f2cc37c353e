"""Settings of buckets that a program gives, in place of those that boto3 finds.

A source of settings counts for the whole process, for every bucket that is opened from then on;
whoever installs another one takes its place. So two users of one process with different keys for
the same bucket must not use it at the same time. Secrets are left out of every text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Source: TypeAlias = Callable[[str], "BucketSettings | None"]
    """Function from a bucket's name to its settings; None where those that boto3 finds count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketSettings:
    """How one bucket is reached. Can be pickled; then the secrets are in the pickle."""

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


_installed: tuple[Source, ...] = ()
"""Sources of settings; for each bucket, the first source that knows it counts."""


def install(source: Source | None) -> None:
    """Use only this source of settings; with None, boto3's own configuration."""
    global _installed  # noqa: PLW0603  a setting of the process
    _installed = () if source is None else (source,)


def install_above(source: Source) -> None:
    """Ask this source first for each bucket, and then the sources installed before it."""
    global _installed  # noqa: PLW0603  a setting of the process
    _installed = (source, *(one for one in _installed if one is not source))


def settings_of(bucket: str) -> BucketSettings | None:
    """Return the settings of a bucket from the installed sources, or None.

    Raises:
        InvalidArgument: If the source knows of settings that cannot be used here.
    """
    for source in _installed:
        found = source(bucket)
        if found is not None:
            return found
    return None
