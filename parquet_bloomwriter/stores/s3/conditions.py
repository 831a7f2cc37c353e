"""Test whether a store honours conditions, on which the safety of rewriting rests.

Amazon S3 does. Other stores may ignore them, and then `If-Match` with a wrong ETag overwrites the
object. So they are tried, never on an object of the user's but on a scratch key beside it, once for
each endpoint and bucket. That a store honours them is remembered for a day, and only as long as it
calls itself by the same name in its answers (their header `Server`): another store may take over
the endpoint. Two stores may have one name, behind a proxy for instance; hence only a day. That a
store does not honour conditions is remembered until the process ends, for it may be mended:

    PREFIX/_bloomify-scratch-ID    a few bytes, deleted afterwards
    $XDG_CACHE_HOME/parquet-bloomwriter/stores.json    by default ~/.cache

Tried are `If-None-Match: *` and `If-Match` on a put, `If-Match` on completing an upload, and the
condition on what is copied. The scratch object has a little more than 5 MiB, for Amazon S3 copies
ranges of no smaller ones.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from parquet_bloomwriter.caches import register
from parquet_bloomwriter.errors import BloomwriterError, FileChanged, OutcomeUnknown, StoreProblem
from parquet_bloomwriter.parallel import to_the_end
from parquet_bloomwriter.stores.lost_answers import Refusal
from parquet_bloomwriter.stores.s3.bucket import ATTEMPT
from parquet_bloomwriter.stores.s3.journal import begin_upload
from parquet_bloomwriter.stores.s3.parts import SMALLEST
from parquet_bloomwriter.user_folders import cache_folder, make_private

if TYPE_CHECKING:
    from parquet_bloomwriter.stores.s3.bucket import S3Bucket

_AMAZON = (".amazonaws.com", ".amazonaws.com.cn")
_KEPT_S = 86_400
_WRONG = '"00000000000000000000000000000000"'
"""An ETag that no object has."""


_AGAIN = "Run the command again."
_trying = Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """The abilities of a store: conditions, and copies of ranges."""

    conditions: bool
    """The store refuses a request whose condition does not hold."""

    copies: bool
    """The store copies ranges of objects as parts, also under a condition."""


_found: dict[str, Abilities] = {}
register(_found.clear)


def abilities_of(bucket: S3Bucket, key: str) -> Abilities:
    """Find out what the store of a bucket can do, from the cache or by trying.

    Args:
        bucket: The bucket.
        key: Of an object; scratch keys have the same prefix.

    Raises:
        StoreProblem: If the store refuses to have scratch keys, or does not answer.
    """
    if (urlsplit(bucket.endpoint).hostname or "").endswith(_AMAZON):
        return Abilities(conditions=True, copies=True)
    name = f"{bucket.endpoint} {bucket.name}"
    with _trying:
        found = _found.get(name) or _remembered(bucket, key, name)
        if found is None:
            try:
                found = to_the_end(lambda: _try(bucket, key.rpartition("/")[0]))
            except (FileChanged, OutcomeUnknown) as error:
                # Of the scratch object. The user's object has not been touched.
                raise StoreProblem(error.problem, path=error.path, remedy=_AGAIN) from error
            if found.conditions:
                _keep(name, found, server=bucket.server)
        _found[name] = found
    return found


def _try(bucket: S3Bucket, folder: str) -> Abilities:
    scratch = f"{folder}/" * bool(folder) + f"_bloomify-scratch-{secrets.token_hex(8)}"
    versions: list[str | None] = []
    try:
        try:
            first = bucket.put(
                scratch, bytes(SMALLEST + 1), attempt=secrets.token_hex(8), replaces=None
            )
        except StoreProblem as error:
            if _is_unknown_header(error):
                return Abilities(conditions=False, copies=False)
            raise
        versions.append(first.version)
        honours = _refuses(bucket, scratch, None, versions)
        honours = honours and _refuses(bucket, scratch, _WRONG, versions)
        if not honours:
            return Abilities(conditions=False, copies=False)
        return _try_upload(bucket, scratch, versions)
    finally:
        with contextlib.suppress(BloomwriterError, OSError):
            if not versions:  # No answer came, but the object may be there.
                left = bucket.state(scratch)
                versions += [] if left is None else [left.version]
        for version in dict.fromkeys(versions):
            with contextlib.suppress(BloomwriterError, OSError):
                _remove(bucket, scratch, version)


def _remove(bucket: S3Bucket, scratch: str, version: str | None) -> None:
    """Delete a version; where versioning is suspended, leave no delete marker."""
    if version is None:
        left = bucket.state(scratch)  # Not all stores say "null" when they have written it.
        if left is None:
            return
        version = left.version
    bucket.remove(scratch, version=version)


def _is_unknown_header(error: StoreProblem) -> bool:
    """Return whether a store refused a request because it knows no conditions."""
    refusal = error.__cause__
    return isinstance(refusal, Refusal) and refusal.code == "NotImplemented"


def _refuses(
    bucket: S3Bucket, scratch: str, replaces: str | None, versions: list[str | None]
) -> bool:
    try:
        written = bucket.put(scratch, b"other", attempt=secrets.token_hex(8), replaces=replaces)
    except FileChanged:
        return True
    except StoreProblem as error:
        if _is_unknown_header(error):
            return False
        raise
    versions.append(written.version)
    return False


def _try_upload(bucket: S3Bucket, scratch: str, versions: list[str | None]) -> Abilities:
    """Complete an upload and copy a range, first under false conditions, then under true ones."""
    attempt = secrets.token_hex(8)
    metadata = {ATTEMPT: attempt}
    entry = begin_upload(bucket, scratch, attempt=attempt, is_own_key=True, Metadata=metadata)
    upload = entry.upload
    try:
        etag = bucket.upload_part(scratch, upload, 1, b"other")
        try:
            made = bucket.complete_upload(
                scratch, upload, [etag], size=5, attempt=attempt, replaces=_WRONG
            )
        except FileChanged:
            return Abilities(conditions=True, copies=_can_copy(bucket, scratch, upload))
        except StoreProblem as error:
            if _is_unknown_header(error):
                return Abilities(conditions=False, copies=False)
            raise
        versions.append(made.version)
        return Abilities(conditions=False, copies=False)
    finally:
        with contextlib.suppress(BloomwriterError, OSError):
            bucket.abort_upload(scratch, upload)
            entry.remove()
        entry.leave()


def _can_copy(bucket: S3Bucket, scratch: str, upload: str) -> bool:
    state = bucket.state(scratch)
    if state is None:
        return False
    try:
        bucket.copy_part(scratch, upload, 2, of=state, start=0, stop=SMALLEST)
    except StoreProblem as error:
        if isinstance(error.__cause__, Refusal) and error.__cause__.is_final:
            return False
        raise  # This says nothing about the store's abilities.
    except FileChanged:
        return False
    wrong = type(state)(
        path=state.path, size=state.size, etag=_WRONG, version=None, attempt=None, headers={}
    )
    try:
        bucket.copy_part(scratch, upload, 3, of=wrong, start=0, stop=SMALLEST)
    except FileChanged:
        return True
    return False


def _file() -> Path:
    return (cache_folder() or Path(os.devnull)) / "stores.json"


def _remembered(bucket: S3Bucket, key: str, name: str) -> Abilities | None:
    """Return the cached abilities of this server, or None."""
    one = _kept().get(name)
    if one is None:
        return None
    if not bucket.server:
        bucket.state(key)  # Whatever the answer is, it says who gives it.
    if one["server"] != bucket.server:
        return None
    return Abilities(conditions=one["conditions"], copies=one["copies"])


def _kept() -> dict[str, Any]:
    """Return the cache of the last day; an empty one if the file is missing or broken."""
    try:
        entries = json.loads(_file().read_bytes())
        return {
            name: {field: one[field] for field in ("conditions", "copies", "server", "at")}
            for name, one in entries.items()
            if "server" in one and 0 <= time.time() - one["at"] < _KEPT_S
        }
    except (OSError, RuntimeError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _keep(name: str, found: Abilities, *, server: str) -> None:
    """Add abilities to the cache file; errors are ignored, the next run tries again."""
    new_one = {**asdict(found), "server": server, "at": time.time()}
    with contextlib.suppress(OSError, RuntimeError):
        path = _file()
        make_private(path.parent)
        new = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        new.write_text(json.dumps({**_kept(), name: new_one}))
        new.replace(path)
