"""A journal of unfinished uploads of this machine, so that a later run can abort them.

An upload that is neither completed nor aborted is paid for until it is. Whose it is, a store does
not say; so only ids in this journal are ever aborted, and only if the process that began them is
dead. Each upload is a file of its own, locked by its process as long as that lives:

    $XDG_STATE_HOME/parquet-bloomwriter/uploads/ATTEMPT.json     by default ~/.local/state

    {"endpoint": ..., "bucket": ..., "key": ..., "own_key": ...}     before the upload begins
    {"upload": ...}                                                  when the store has given its id

Both lines are synced. There are no credentials in them. If a process dies between the two, or the
answer with the id is lost, the store may have begun an upload that has no parts yet. A listing
shows key, id and time of an upload, and not the attempt that began it: another program may have
begun one of the same key in the same second. So a later run aborts such an upload only if the key
is ours alone, as that of a scratch object is. Otherwise the entry stays, and the run names the
uploads of that key, until there are none.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.errors import BloomwriterError, StoreProblem
from parquet_bloomwriter.replace.names import sync_folder
from parquet_bloomwriter.replace.temporary import Lock, try_lock
from parquet_bloomwriter.stores.lost_answers import Refusal
from parquet_bloomwriter.text import count
from parquet_bloomwriter.user_folders import make_private, state_folder

if TYPE_CHECKING:
    from parquet_bloomwriter.stores.s3.bucket import S3Bucket

_LATEST_S = 3600
"""Seconds after which a store no longer carries out a request of a process that has died."""


def journal_folder() -> Path:
    """Return the folder of the journal; for a user without a home, a path that cannot exist."""
    return (state_folder() or Path(os.devnull)) / "uploads"


class Entry:
    """The journal entry of one upload of this process."""

    upload = ""
    """Id of the upload, after the store has given it."""

    def __init__(
        self, bucket: S3Bucket, key: str, *, attempt: str, is_own_key: bool = False
    ) -> None:
        """Write the entry of an upload before it begins, and lock it.

        Without a place to write to there is no entry.

        Args:
            bucket: Where the upload will be.
            key: Of the object that it will make.
            attempt: Random id of the attempt, the name of the entry.
            is_own_key: Whether no other attempt ever has an upload of this key.
        """
        self._fd = -1
        self._path = journal_folder() / f"{attempt}.json"
        facts = {"endpoint": bucket.endpoint, "bucket": bucket.name, "key": key}
        with contextlib.suppress(OSError, RuntimeError):
            make_private(self._path.parent)
            unseen = self._path.with_suffix(".new")
            self._fd = os.open(unseen, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            try_lock(self._fd)
            self._append({**facts, "own_key": is_own_key})
            unseen.rename(self._path)  # locked before any other run can see it
            sync_folder(str(self._path.parent))

    def begun(self, upload: str) -> None:
        """Write the id of the upload, which the store has begun, to the entry."""
        self.upload = upload
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                self._append({"upload": upload})

    def _append(self, facts: dict[str, object]) -> None:
        os.write(self._fd, json.dumps(facts).encode() + b"\n")
        os.fsync(self._fd)

    def remove(self) -> None:
        """Remove the entry: the upload has ended."""
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)
        self.leave()

    def leave(self) -> None:
        """Leave the entry to a later run: it is not known whether the upload has ended."""
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                os.close(self._fd)
            self._fd = -1


def begin_upload(
    bucket: S3Bucket,
    key: str,
    *,
    attempt: str,
    is_own_key: bool = False,
    **attributes: Any,  # noqa: ANN401  as boto3 takes them
) -> Entry:
    """Begin an upload after writing its journal entry.

    Args:
        bucket: Where the upload will be.
        key: Of the object that it will make.
        attempt: Random id of the attempt.
        is_own_key: Whether no other attempt ever has an upload of this key.
        attributes: Content type, metadata and so on.

    Raises:
        StoreProblem: If the store refuses, or does not answer.
    """
    entry = Entry(bucket, key, attempt=attempt, is_own_key=is_own_key)
    try:
        entry.begun(bucket.begin_upload(key, **attributes))
    except (StoreProblem, OSError) as error:
        refusal = error.__cause__
        if isinstance(refusal, Refusal) and (refusal.is_final or refusal.is_busy):
            entry.remove()
        raise
    finally:
        if not entry.upload:  # The store may have begun it.
            entry.leave()
    return entry


def abort_abandoned(bucket: S3Bucket) -> int:
    """Abort the uploads that dead processes of this machine left in a bucket; return their number.

    Errors are ignored: an upload that cannot be aborted stays in the journal.
    """
    ended = 0
    for path in _entries():
        with contextlib.suppress(OSError, ValueError, KeyError, BloomwriterError):
            ended += _abort(bucket, path)
    return ended


def foreign_uploads(bucket: S3Bucket, prefix: str) -> str:
    """Return a clause on unfinished uploads below a prefix that are not in the journal, or "".

    These are also uploads that a run of this machine may have begun, which died before it knew
    their ids. If uploads cannot be listed, the clause is "".
    """
    try:
        ours = {_read(path.read_bytes()).get("upload") for path in _entries()}
        others = [one for one in bucket.uploads(prefix) if one[1] not in ours]
    except (OSError, ValueError, BloomwriterError):
        return ""
    if not others:
        return ""
    command = f"aws s3api list-multipart-uploads --bucket {bucket.name} --prefix '{prefix}'"
    return (
        f"{count(len(others), 'unfinished upload')} below s3://{bucket.name}/{prefix} "
        f"{'is' if len(others) == 1 else 'are'} of other machines or programs, or of a run that "
        f"was killed before the store had told it their ids: `{command}` lists "
        "them, `aws s3api abort-multipart-upload` ends one, and the bucket's lifecycle rule "
        "AbortIncompleteMultipartUpload ends all that are old"
    )


def _entries() -> list[Path]:
    try:
        return sorted(journal_folder().glob("*.json"))
    except (OSError, RuntimeError):
        return []


def _abort(bucket: S3Bucket, path: Path) -> int:
    fd = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    try:
        if try_lock(fd) is not Lock.HELD:
            return 0
        facts = _read(os.read(fd, 1 << 16))
        if (facts["endpoint"], facts["bucket"]) != (bucket.endpoint, bucket.name):
            return 0
        key, known = facts["key"], facts.get("upload")
        uploads = [str(known)] if known else [two for one, two in bucket.uploads(key) if one == key]
        if not known and not facts.get("own_key") and uploads:
            return 0
        for upload in uploads:
            bucket.abort_upload(key, upload)
        if known or time.time() - os.fstat(fd).st_mtime > _LATEST_S:
            path.unlink()
        return len(uploads)
    finally:
        os.close(fd)


def _read(lines: bytes) -> dict[str, Any]:
    """Return the joined JSON of the lines of an entry; the last line may be torn.

    Raises:
        ValueError: If the first is.
    """
    facts: dict[str, Any] = {}
    for number, line in enumerate(lines.splitlines()):
        try:
            facts |= json.loads(line)
        except (ValueError, TypeError) as error:
            if not number:
                raise ValueError("no entry") from error
    return facts
