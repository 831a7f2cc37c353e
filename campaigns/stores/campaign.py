"""Objects on a store that fails: faults at every request, other writers, a killed server."""

from __future__ import annotations

import contextlib
import io
import os
import random
import secrets
import signal
import threading
import time
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from campaigns.harness import Campaign, Result, spread
from parquet_bloomwriter import bloomify, clear_cache, inspect, repair, strip
from parquet_bloomwriter.errors import (
    BloomwriterError,
    FileChanged,
    OutcomeUnknown,
    Unfinished,
)
from parquet_bloomwriter.stores.s3 import bucket
from parquet_bloomwriter.stores.s3 import client as s3
from tests.stores.faults import Fault, Rule
from tests.stores.proxy import Proxy
from tests.stores.servers import SeaweedFS
from tests.stores.signals import run_until, unnamed, uploads_of
from tests.verbs.files import without_length

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_ROWS = {"small": 2_000, "large": 700_000}
"""Of the files: one that is sent whole, and one of which the store copies most."""

_VERBS = ("bloomify", "again", "strip", "repair", "output")
_FAULTS, _WRITERS, _KILLS, _SIGNALS = 2_000, 200, 50, 200
_MOST_REQUESTS = 40
"""Of a run whose store has not been tried yet."""

_READ_SECONDS = 2
_RECOVERY_SECONDS = 60
"""A server that was killed answers again after some seconds."""


class Stores(Campaign):
    """faults/VERB/SIZE/FAULT/N/once, writers/N, kills/N, signals/N."""

    part = "stores"
    title = "Object stores that fail"
    text = """
A real store (SeaweedFS) stands behind a proxy that lets requests fail: the connection is cut before
or after the store has done its work, or the answer is 500, 503, 403, 409 or 412, stops half-way,
has another ETag, or is one that no honest store gives: garbage, an endless redirection, a length of
4 EiB, another range, a body without end. This is done at each request of each verb, once and from
there on. Afterwards the object must be the old object or the new object, and the report or the
error must say which, or that this is not known. Every upload that is left must be in the journal or
named in the error. The same command, run again when the store works, must finish.

**Writers.** Two commands add filters to one object at the same time, or a program overwrites it:
every reported filter must be there, and the last write of the other program must never be lost.
**Kills.** The server is killed in the middle, and started again.

**Signals.** The command gets SIGTERM or SIGKILL at a random moment. After SIGTERM no upload may be
left, after SIGKILL none that the journal does not name.
"""

    def open(self) -> None:
        """Start the store, and the proxy before it."""
        self._server = self.stack.enter_context(SeaweedFS(self.plan.scratch / "seaweedfs"))
        self._store = self._server.store
        self._proxy = self.stack.enter_context(Proxy(self._store))
        self._client = self._store.client(attempts=10)
        self._bucket = self._store.new_bucket()
        self._files = {size: Versions.of(rows) for size, rows in _ROWS.items()}
        homes = {
            "XDG_CACHE_HOME": str(self.plan.scratch / "cache"),
            "XDG_STATE_HOME": str(self.plan.scratch / "state"),
        }
        patched = mock.patch.dict(os.environ, {**self._proxy.store.environment, **homes})
        self.stack.enter_context(patched)
        self.stack.enter_context(mock.patch.object(bucket, "_FIRST_PAUSE_S", 0.001))
        self.stack.enter_context(mock.patch.object(s3, "_TIMEOUT_S", _READ_SECONDS))
        s3._client.cache_clear()  # noqa: SLF001  it knows another endpoint, and waits longer
        self.stack.callback(s3._client.cache_clear)  # noqa: SLF001

    def cases(self) -> Iterable[str]:
        """Take a share of all faults, writers and kills."""
        names = [
            f"faults/{verb}/{size}/{fault.value}/{number}/{often}"
            for size in _ROWS
            for verb in _VERBS
            for number in range(1, self._count(verb, size) + 1)
            for fault in Fault
            for often in ("once", "sticky")
        ]
        random.Random(self.plan.seed).shuffle(names)  # noqa: S311  no secret
        yield from names[: self.plan.some(_FAULTS)]
        yield from spread([f"writers/{n}" for n in range(_WRITERS)], self.plan.some(_WRITERS))
        yield from spread([f"kills/{n}" for n in range(_KILLS)], self.plan.some(_KILLS))
        yield from spread([f"signals/{n}" for n in range(_SIGNALS)], self.plan.some(_SIGNALS))

    def attempt(self, name: str, show: Callable[[str], None]) -> Iterable[Result]:
        """Try one."""
        kind, *rest = name.split("/")
        trial = getattr(self, f"_{kind}")
        clear_cache()
        (self.plan.scratch / "cache/parquet-bloomwriter/stores.json").unlink(missing_ok=True)
        seen = trial(secrets.token_hex(6), *rest)
        show(seen)
        yield Result(name=name, seen={seen: 1})

    # ------------------------------------------------------------ faults

    def _count(self, verb: str, size: str) -> int:
        """Return how many requests a verb makes if all is well."""
        trial = Trial(self, verb, size, secrets.token_hex(6))
        clear_cache()
        self._proxy.forget()
        trial.run()
        return len(self._proxy.requests)

    def _faults(self, key: str, *names: str) -> str:
        verb, size, fault, number, often = names
        trial = Trial(self, verb, size, key)
        rule = Rule(fault=Fault(fault), nth=int(number), sticky=often == "sticky", seconds=0.1)
        self._proxy.play(rule)
        try:
            outcome = trial.run()
        finally:
            self._proxy.play()
        seen = trial.judge(outcome)
        trial.finish(seconds=0)
        return seen

    # ------------------------------------------------------------ writers

    def _writers(self, key: str, number: str) -> str:
        chance = random.Random(f"{self.plan.seed} {number}")  # noqa: S311  no secret
        versions = self._files[chance.choice(list(_ROWS))]
        url = self.put(key, versions.old)
        outcomes: dict[str, BaseException | None] = {}
        waits = {"id": 0.0, "v": chance.random() * 0.2}

        def add(column: str) -> None:
            threading.Event().wait(waits[column])
            try:
                bloomify(url, [column])
            except BloomwriterError as error:
                outcomes[column] = error
            else:
                outcomes[column] = None

        def overwrite() -> None:
            threading.Event().wait(waits["v"])
            self.put(key, versions.other)
            outcomes["v"] = None

        other = overwrite if int(number) % 2 else lambda: add("v")
        threads = [threading.Thread(target=lambda: add("id")), threading.Thread(target=other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        now = self.get(key)
        for error in outcomes.values():
            check(error is None or isinstance(error, FileChanged), f"{error!r}")
        if other is overwrite:
            new = bloomify(versions.other, ["id"], placement="end").data
            check(now in (versions.other, new), "what the other program wrote is lost")
            if outcomes["id"] is None and now == versions.other:
                return "overwritten after us"
            return "gave way" if outcomes["id"] else "after the other"
        done = {column for column, error in outcomes.items() if error is None}
        check(bool(done), "both gave way")
        check(filters_in(now) == done, f"{done} were reported, {filters_in(now)} are there")
        check(strip(now or b"").data == versions.old, "bytes have changed")
        return " and ".join(sorted(done))

    # ------------------------------------------------------------ kills

    def _kills(self, key: str, number: str) -> str:
        """Kill a server of its own: one that was killed often goes wrong by itself."""
        chance = random.Random(f"{self.plan.seed} {number}")  # noqa: S311  no secret
        verb, size = chance.choice(_VERBS[:3]), chance.choice(list(_ROWS))
        outcomes: list[BaseException | None] = []
        kept = self._server, self._client, self._bucket
        with SeaweedFS(self.plan.scratch / f"killed-{key}") as server, Proxy(server.store) as proxy:
            self._server, self._client = server, server.store.client(attempts=10)
            self._bucket = server.store.new_bucket()
            try:
                with mock.patch.dict(os.environ, proxy.store.environment):
                    s3._client.cache_clear()  # noqa: SLF001  it knows the other server
                    trial = Trial(self, verb, size, key)
                    thread = threading.Thread(target=lambda: outcomes.append(trial.run()))
                    thread.start()
                    threading.Event().wait(chance.random() * 0.3)
                    server.kill()
                    thread.join()
                    server.start()
                    seen = trial.judge(outcomes[0])
                    trial.finish()
            finally:
                self._server, self._client, self._bucket = kept
                s3._client.cache_clear()  # noqa: SLF001  as above
        return seen

    # ------------------------------------------------------------ signals

    def _signals(self, key: str, number: str) -> str:
        chance = random.Random(f"{self.plan.seed} {number}")  # noqa: S311  no secret
        sent = chance.choice([signal.SIGTERM, signal.SIGKILL])
        versions = self._files["large"]
        folder = f"{key}/"
        url = self.put(f"{folder}x", versions.old)
        after = chance.randint(1, _MOST_REQUESTS)
        code, said = run_until(self._proxy, [url, "--columns", "id"], sent, requests=after)
        now, left = self.get(f"{folder}x"), uploads_of(self._client, self._bucket, folder)
        new = versions.new if now != versions.old else versions.old
        check(now == new or filters_in(now) == {"id"}, "the object is neither old nor new")
        check(not unnamed(left), f"the journal does not name an upload: {left}")
        if sent is signal.SIGTERM:
            check(not left, f"an upload is left: {said}")
            check(code in (0, 128 + signal.SIGTERM), f"it ended with {code}: {said}")
        return f"{sent.name}, {'old' if now == versions.old else 'new'}"

    # ------------------------------------------------------------ the store

    def put(self, key: str, data: bytes) -> str:
        """Write an object, and return its URL."""
        self._client.put_object(Bucket=self._bucket, Key=key, Body=data)
        return f"s3://{self._bucket}/{key}"

    def get(self, key: str) -> bytes | None:
        """Return the bytes of an object; None if there is none."""
        with contextlib.suppress(self._client.exceptions.NoSuchKey):
            answer = self._client.get_object(Bucket=self._bucket, Key=key)
            return bytes(answer["Body"].read())
        return None

    def versions(self, size: str) -> Versions:
        """Return the versions of a file of one size."""
        return self._files[size]

    def uploads(self, key: str) -> dict[str, str]:
        """Return the keys of unfinished uploads, by id."""
        return uploads_of(self._client, self._bucket, key)


class Versions:
    """A file, and what the verbs make of it."""

    def __init__(self, old: bytes, other: bytes) -> None:
        """Take the file, and another one by which it may be overwritten."""
        self.old = old
        self.other = other
        self.new = data_of(bloomify(old, ["id"], placement="end"))
        self.without_lengths = without_length(self.new, (0, 0), (1, 0))

    @classmethod
    def of(cls, rows: int) -> Versions:
        """Make files of so many rows."""
        return cls(*(written(rows, seed) for seed in (1, 2)))


class Trial:
    """One verb on one object."""

    def __init__(self, campaign: Stores, verb: str, size: str, key: str) -> None:
        """Put the object there."""
        versions = campaign.versions(size)
        self._campaign = campaign
        self._verb = verb
        self._key = key
        before = {
            "strip": versions.new,
            "again": versions.new,
            "repair": versions.without_lengths,
        }
        self._old: bytes | None = before.get(verb, versions.old)
        self._url = campaign.put(key, self._old)
        self._new = versions.old if verb == "strip" else versions.new
        self._target = key
        if verb == "output":
            self._old, self._target = None, f"{key}-new"

    def run(self) -> BaseException | None:
        """Run the verb; return what it raised."""
        verbs: dict[str, Callable[[], Any]] = {
            "bloomify": lambda: bloomify(self._url, ["id"]),
            "again": lambda: bloomify(self._url, ["id"], replace=True),
            "strip": lambda: strip(self._url),
            "repair": lambda: repair(self._url),
            "output": lambda: bloomify(self._url, ["id"], output=f"{self._url}-new"),
        }
        try:
            verbs[self._verb]()
        except (BloomwriterError, OSError) as error:
            return error
        return None

    def judge(self, error: BaseException | None) -> str:
        """Check what is there now, and what was said of it."""
        now = self._campaign.get(self._target)
        check(now in (self._old, self._new), "the object is neither the old one nor the new one")
        left = self._campaign.uploads(self._target)
        said = str(error)
        check(
            not unnamed(left) or "list-multipart-uploads" in said or "upload" in said,
            f"an upload is left, and not named: {said}",
        )
        is_new = now == self._new
        if error is None or isinstance(error, Unfinished):
            check(is_new, f"the new version is not there: {said}")
        elif not isinstance(error, OutcomeUnknown):
            check(now == self._old, f"the new version is there, and it was said: {said}")
        for secret in ("secret-key-of-tests", "access-key-of-tests"):
            check(secret not in said, "credentials in a message")
        return "finished" if error is None else type(error).__name__

    def finish(self, seconds: float = _RECOVERY_SECONDS) -> None:
        """Run the verb again, with the store in order."""
        if self._verb == "output" and self._campaign.get(self._target) is not None:
            return
        error, until = self.run(), time.monotonic() + seconds
        while error is not None and time.monotonic() < until:
            error = self.run()
        check(error is None, f"the second run failed: {error!r}")
        check(self._campaign.get(self._target) == self._new, "the second run made something else")


def check(holds: bool, problem: str) -> None:  # noqa: FBT001  as `assert` has it
    """Raise the problem unless the condition holds."""
    if not holds:
        raise AssertionError(problem)


def written(rows: int, seed: int) -> bytes:
    """Write a file of two row groups."""
    chance = np.random.default_rng(seed)
    table = pa.table(
        {"id": chance.integers(0, 1 << 62, rows), "v": chance.integers(0, 1 << 62, rows)}
    )
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=-(-rows // 2), use_dictionary=False)
    return sink.getvalue()


def data_of(report: Any) -> bytes:  # noqa: ANN401  of three verbs
    """Return the new version of a buffer."""
    data: bytes = report.data
    return data


def filters_in(data: bytes | None) -> set[str]:
    """Return the columns that have filters."""
    return {one.name for one in inspect(data or b"").columns if one.filters}
