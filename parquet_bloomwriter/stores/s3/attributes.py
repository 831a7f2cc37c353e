"""The attributes of an object besides its bytes, and how a new version keeps them.

    with the answer that opened it   content type and the like, user metadata, storage class,
                                     encryption by the store's or a KMS key, redirection
    by a request, if there are any   tags
    by a request, if the bucket      grants of the ACL, if there are others than the owner's
      has ACLs

Nothing of it comes along by itself, whether a version is copied or sent. What a new version could
not keep, or must not touch, is refused by name: objects that are archived, locked, or
encrypted by a key that only its owner has (SSE-C).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from parquet_bloomwriter.caches import make_room, register
from parquet_bloomwriter.errors import StoreProblem, UnsupportedFile
from parquet_bloomwriter.stores.s3.answers import S3Refusal, with_own_key
from parquet_bloomwriter.stores.s3.bucket import ATTEMPT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parquet_bloomwriter.stores.s3.answers import ObjectState
    from parquet_bloomwriter.stores.s3.bucket import S3Bucket

_KEPT = (
    "CacheControl",
    "ContentDisposition",
    "ContentEncoding",
    "ContentLanguage",
    "ContentType",
    "Expires",
    "ServerSideEncryption",
    "SSEKMSKeyId",
    "BucketKeyEnabled",
    "StorageClass",
    "WebsiteRedirectLocation",
)
_ARCHIVES = frozenset(("GLACIER", "DEEP_ARCHIVE"))
_GRANTS = {
    "FULL_CONTROL": "GrantFullControl",
    "READ": "GrantRead",
    "READ_ACP": "GrantReadACP",
    "WRITE_ACP": "GrantWriteACP",
}
_GRANTEES = {"CanonicalUser": ("id", "ID"), "Group": ("uri", "URI")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributes:
    """The attributes that a new version gets."""

    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the request that makes the new version, as boto3 spells them."""

    notes: tuple[str, ...] = ()
    """Attributes that could not be kept, a clause each."""


def check_writable(state: ObjectState) -> None:
    """Refuse an object whose new version could not have the same attributes.

    Raises:
        UnsupportedFile: If it is archived, locked, or encrypted by a key of its owner's.
    """
    headers = state.headers
    path = str(state.path)
    elsewhere = "Write the new version to another key."
    if headers.get("SSECustomerAlgorithm"):
        raise with_own_key(path)
    if headers.get("StorageClass") in _ARCHIVES:
        raise UnsupportedFile(
            "the object is archived, and so would its new version be",
            path=path,
            remedy="Write the new version to another key, or give the object another storage class "
            "first.",
        )
    lock = headers.get("ObjectLockMode")
    if lock or headers.get("ObjectLockLegalHoldStatus") == "ON":
        kind = f"mode {lock}" if lock else "legal hold"
        raise UnsupportedFile(
            f"the object is locked (Object Lock, {kind}), and its new version would not be",
            path=path,
            remedy=elsewhere,
        )


def attributes_of(bucket: S3Bucket, state: ObjectState, *, target: S3Bucket) -> Attributes:
    """Return the attributes that a new version of an object gets.

    Args:
        bucket: Where the object is.
        state: The object.
        target: Where the new version will be.

    Raises:
        StoreProblem: If the object has tags, and they cannot be read.
    """
    headers = state.headers
    notes = []
    kept = {name: headers[name] for name in _KEPT if headers.get(name) not in (None, "")}
    if kept.get("StorageClass") in _ARCHIVES:  # It was restored, and is written to another key.
        notes.append(f"its storage class {kept.pop('StorageClass')} was not kept")
    metadata = {k: v for k, v in (headers.get("Metadata") or {}).items() if k != ATTEMPT}
    arguments: dict[str, Any] = {**kept, "Metadata": metadata}
    if headers.get("TagCount"):
        arguments["Tagging"] = urlencode(_tags(bucket, state.path.key))
    elif not _shows_tags(bucket, state.path.key):
        needed = "s3:GetObjectTagging"
        notes.append(f"tags, if it has any, were not kept: reading them needs {needed}")
    grants, lost = _grants(bucket, state.path.key) if target.has_acls() else ({}, ())
    return Attributes(arguments={**arguments, **grants}, notes=(*notes, *lost))


_MAX_CLIENTS = 32
_show_tags: dict[tuple[Any, str], bool] = {}
"""Whether an object without a tag count has no tags, by bucket and client: its keys decide."""
register(_show_tags.clear)


def _shows_tags(bucket: S3Bucket, key: str) -> bool:
    """Return whether objects without a tag count have no tags; tested once for a bucket.

    Amazon S3 tells the number only to those who may read the tags.
    """
    place = (bucket.client, bucket.name)
    known = _show_tags.get(place)
    if known is None:
        known = True
        try:
            _tags(bucket, key)
        except StoreProblem as error:
            refusal = error.__cause__
            known = not (isinstance(refusal, S3Refusal) and refusal.status == HTTPStatus.FORBIDDEN)
        make_room(_show_tags, most=_MAX_CLIENTS)
        _show_tags[place] = known
    return known


def _tags(bucket: S3Bucket, key: str) -> list[tuple[str, str]]:
    answer = bucket.call("get_object_tagging", key, Key=key)
    try:
        return [(tag["Key"], tag["Value"]) for tag in answer["TagSet"]]
    except KeyError as error:
        problem = "the store shows tags without names or values"
        raise StoreProblem(problem, path=bucket.spell(key)) from error


def _grants(bucket: S3Bucket, key: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the grants of the ACL besides the owner's, and notes on those that are lost."""
    if not bucket.has_acls():
        return {}, ()
    try:
        answer = bucket.call("get_object_acl", key, Key=key)
    except StoreProblem as error:
        return {}, (f"its ACL could not be read ({error.problem}), and is the bucket's default",)
    owner = answer.get("Owner", {}).get("ID")
    grants = answer.get("Grants", ())
    if all(one.get("Grantee", {}).get("ID") == owner for one in grants):
        return {}, ()
    given: dict[str, list[str]] = {}
    lost = []
    for one in grants:
        grantee, permission = one.get("Grantee", {}), one.get("Permission", "?")
        word, name = _GRANTEES.get(grantee.get("Type", ""), ("", ""))
        if name not in grantee or permission not in _GRANTS:
            lost.append(f"a grant of {permission} in its ACL could not be kept")
            continue
        given.setdefault(_GRANTS[permission], []).append(f'{word}="{grantee[name]}"')
    return {name: ", ".join(who) for name, who in given.items()}, tuple(lost)
