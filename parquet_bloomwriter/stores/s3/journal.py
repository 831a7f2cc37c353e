"""The uploads that runs on this machine have begun and not ended, so that a later run can.

An upload that is neither completed nor aborted is paid for until it is. Whose it is, a store does
not say; so only ids in this journal are ever aborted, and only if the process that began them is
dead. Each upload is a file of its own, locked by its process as long as that lives:

    $XDG_STATE_HOME/parquet-bloomwriter/uploads/ID.json     by default ~/.local/state

It says endpoint, bucket, key and upload id, and no credentials.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import BloomwriterError
from parquet_bloomwriter.replace.temporary import Lock, try_lock
from parquet_bloomwriter.text import count
from parquet_bloomwriter.user_folders import state_folder

if TYPE_CHECKING:
    from parquet_bloomwriter.stores.s3.bucket import S3Bucket


def journal_folder() -> Path:
    """Return where the journal is; for a user without a home, a place where nothing can be."""
    return (state_folder() or Path(os.devnull)) / "uploads"


class Entry:
    """One upload that this process has begun."""

    def __init__(self, bucket: S3Bucket, key: str, upload: str, *, attempt: str) -> None:
        """Write the entry, and lock it; without a place to write to there is none."""
        self._fd = -1
        self._path = journal_folder() / f"{attempt}.json"
        facts = {"endpoint": bucket.endpoint, "bucket": bucket.name, "key": key, "upload": upload}
        with contextlib.suppress(OSError, RuntimeError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            unseen = self._path.with_suffix(".new")
            self._fd = os.open(unseen, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            try_lock(self._fd)
            os.write(self._fd, json.dumps(facts).encode())
            unseen.rename(self._path)  # locked before any other run can see it

    def remove(self) -> None:
        """Take the entry out: the upload has ended."""
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)
        self.leave()

    def leave(self) -> None:
        """Leave the entry to a later run: whether the upload has ended is not known."""
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                os.close(self._fd)
            self._fd = -1


def abort_abandoned(bucket: S3Bucket) -> int:
    """Abort the uploads to a bucket that dead processes of this machine have left; count them.

    It is a courtesy: what fails stays in the journal.
    """
    ended = 0
    for path in _entries():
        with contextlib.suppress(OSError, ValueError, KeyError, BloomwriterError):
            ended += _abort(bucket, path)
    return ended


def foreign_uploads(bucket: S3Bucket, prefix: str) -> str:
    """Return a clause on unfinished uploads below a prefix that are not in the journal; or "".

    What cannot be listed is not told.
    """
    try:
        ours = {json.loads(path.read_bytes())["upload"] for path in _entries()}
        others = [one for one in bucket.uploads(prefix) if one[1] not in ours]
    except (OSError, ValueError, KeyError, TypeError, BloomwriterError):
        return ""
    if not others:
        return ""
    command = f"aws s3api list-multipart-uploads --bucket {bucket.name} --prefix '{prefix}'"
    return (
        f"{count(len(others), 'unfinished upload')} below s3://{bucket.name}/{prefix} "
        f"{'is' if len(others) == 1 else 'are'} of other machines or programs: `{command}` lists "
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
        facts = json.loads(os.read(fd, 1 << 16))
        if (facts["endpoint"], facts["bucket"]) != (bucket.endpoint, bucket.name):
            return 0
        bucket.abort_upload(facts["key"], facts["upload"])
        path.unlink()
        return 1
    finally:
        os.close(fd)
