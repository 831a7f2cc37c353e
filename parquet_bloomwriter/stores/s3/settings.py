"""Settings of buckets that a program gives, instead of those that boto3 finds.

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
    """Returns the settings of a bucket, by its name; None where those that boto3 finds count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketSettings:
    """How one bucket is reached. Can be pickled; then the secrets are in the pickle."""

    endpoint: str | None = field(default=None, repr=False)
    """URL of the store, which may have a password in it; None for Amazon's."""

    region: str | None = None
    access_key: str | None = field(default=None, repr=False)
    """None: boto3 looks for keys where it always does."""

    secret_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    path_style: bool = False
    """Whether the bucket stands in the path of URLs, not in the name of the host."""

    is_anonymous: bool = False
    """Whether requests are not signed."""


_installed: tuple[Source, ...] = ()
"""Where settings come from. For each bucket, the first source that knows it counts."""


def install(source: Source | None) -> None:
    """Take settings from this source only; None: boto3's configuration counts again."""
    global _installed  # noqa: PLW0603  a setting of the process
    _installed = () if source is None else (source,)


def install_above(source: Source) -> None:
    """Ask this source first, for each bucket, and then the sources installed before it."""
    global _installed  # noqa: PLW0603  a setting of the process
    _installed = (source, *(one for one in _installed if one is not source))


def settings_of(bucket: str) -> BucketSettings | None:
    """Return what the installed sources say of a bucket.

    Raises:
        InvalidArgument: If the source knows of settings that cannot be used here.
    """
    for source in _installed:
        found = source(bucket)
        if found is not None:
            return found
    return None
