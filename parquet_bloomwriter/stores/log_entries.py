"""The entries of logs on stores: of several writers, only one creates an entry.

The logs of indexes and those of Delta tables are written by this. On disks, `durable.create_once`
does the same.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import BloomwriterError, FileChanged, OutcomeUnknown

if TYPE_CHECKING:
    from parquet_bloomwriter.stores.base import Store

_LOOKS_S = (0.0, 1.0, 4.0)
"""Seconds before each check of a log entry whose creation was not answered."""


def create_entry(  # noqa: PLR0913  what an entry is, and a promise
    store: Store,
    path: str,
    data: bytes,
    *,
    attempt: str,
    content_type: str = "",
    one_writer: bool = False,
) -> bool:
    """Create an entry of a log; of several writers only one succeeds.

    A created entry is there as a whole, or not at all.

    Args:
        store: Where the log is; it creates a file only if there is none (`why_not_exclusive`).
        path: Of the entry.
        data: The entry, which holds `attempt`.
        attempt: Random id of this attempt.
        content_type: What the store is to say of it.
        one_writer: The caller promises that there is no other writer.

    Returns:
        Whether it was created; False if there is an entry of another writer.

    Raises:
        OutcomeUnknown: If it cannot be found out.
        StoreProblem, OSError: If it was certainly not created.
    """
    try:
        store.create(path, data, attempt=attempt, content_type=content_type, one_writer=one_writer)
    except FileChanged:
        # The text tells where a gateway has dropped the metadata.
        return _is_ours(store, path, attempt) or False
    except OutcomeUnknown:
        # If another program's entry is there, ours never comes: its condition does not hold.
        for pause in _LOOKS_S:
            time.sleep(pause)
            try:
                found = _is_ours(store, path, attempt)
            except (BloomwriterError, OSError):
                continue
            if found is not None:
                return found
        raise
    return True


def _is_ours(store: Store, path: str, attempt: str) -> bool | None:
    """Return whether an entry has the id of an attempt; None if there is no entry."""
    try:
        return attempt.encode() in store.read_whole(path)
    except FileNotFoundError:
        return None
