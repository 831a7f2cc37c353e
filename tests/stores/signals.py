"""The command in a process of its own, which gets a signal; and the uploads that it leaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.stores.s3.journal import journal_folder

if TYPE_CHECKING:
    import signal
    from collections.abc import Sequence

    from tests.stores.proxy import Proxy
    from tests.stores.servers import Client

_MOST_SECONDS = 120


def uploads_of(client: Client, bucket: str, prefix: str = "") -> dict[str, str]:
    """Return the keys of unfinished uploads, by id."""
    found = client.list_multipart_uploads(Bucket=bucket, Prefix=prefix).get("Uploads", ())
    return {one["UploadId"]: one["Key"] for one in found}


def unnamed(uploads: dict[str, str]) -> list[str]:
    """Return the ids of uploads that no entry of the journal names, by id or else by key."""
    named = set()
    for path in journal_folder().glob("*.json"):
        entry: dict[str, Any] = {}
        for line in path.read_text("utf-8").splitlines():
            entry |= json.loads(line)
        named.add(entry.get("upload") or entry["key"])
    return [upload for upload, key in uploads.items() if not {upload, key} & named]


def run_until(
    proxy: Proxy, arguments: Sequence[str], number: signal.Signals, *, requests: int
) -> tuple[int, str]:
    """Run the command, and send it a signal when the store has got so many requests.

    Returns:
        Its exit code, and what it printed to standard error.
    """
    proxy.forget()
    environment = {**os.environ, **proxy.store.environment}
    command = [sys.executable, "-m", "bloomify", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment, text=True) as process:
        until = time.monotonic() + _MOST_SECONDS
        while process.poll() is None and len(proxy.requests) < requests:
            assert time.monotonic() < until
            time.sleep(0.001)
        process.send_signal(number)
        _, said = process.communicate(timeout=_MOST_SECONDS)
    return process.returncode, said
