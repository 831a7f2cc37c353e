"""Parts of many objects at the same time: bounded together, and all of them arrive."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from parquet_bloomwriter.errors import StoreProblem
from parquet_bloomwriter.parallel import ByteBudget
from parquet_bloomwriter.stores.s3 import new_object, parts
from parquet_bloomwriter.stores.s3.new_object import NewObject

if TYPE_CHECKING:
    from collections.abc import Callable

    from parquet_bloomwriter.stores.s3.answers import ObjectState

pytestmark = pytest.mark.usefixtures("homes")
PART = 1000
"""Bytes of a part here."""


class Bucket:
    """Takes parts slowly, and counts the bytes that it is given at the same time."""

    name = endpoint = "bucket"

    def __init__(self, fails: Callable[[str, int], bool] = lambda _key, _number: False) -> None:
        self.fails = fails
        self.arrived: dict[str, int] = {}
        self.largest = 0
        self._now = 0
        self._lock = threading.Lock()

    def begin_upload(self, key: str, **_: Any) -> str:  # noqa: ANN401
        """Begin one."""
        return f"upload of {key}"

    def upload_part(self, key: str, upload: str, number: int, data: bytes) -> str:
        """Take a part."""
        with self._lock:
            self._now += len(data)
            self.largest = max(self.largest, self._now)
        time.sleep(0.001)
        with self._lock:
            self._now -= len(data)
            self.arrived[key] = self.arrived.get(key, 0) + len(data)
        if self.fails(key, number):
            raise StoreProblem("no", path=upload)
        return "etag"

    def copy_part(self, key: str, upload: str, number: int, **_: Any) -> str:  # noqa: ANN401
        """Copy a part."""
        return f"{key} {upload} {number}"

    def abort_upload(self, key: str, upload: str) -> None:
        """End an upload."""


class Zeros:
    """An old version of any size."""

    def read_at(self, start: int, stop: int) -> bytes:
        """Return zeros."""
        return bytes(stop - start)


@pytest.fixture
def budget(monkeypatch: pytest.MonkeyPatch) -> ByteBudget:
    """Return room for five parts, which all objects share."""
    one = ByteBudget(5 * PART)
    monkeypatch.setattr(new_object, "_under_way", one)
    monkeypatch.setattr(parts, "SENT", PART)
    return one


def made(bucket: Bucket, key: str, *, copied_from: ObjectState | None = None) -> NewObject:
    """Begin a new object."""
    anything: Any = bucket
    old: Any = Zeros()
    return NewObject(anything, key, old=old, copied_from=copied_from, replaces=None, attributes={})


def write(bucket: Bucket, key: str) -> None:
    """Write an object of forty parts, old bytes and new ones, and wait for all."""
    new = made(bucket, key)
    try:
        for at in range(20):
            new.copy(at * PART, (at + 1) * PART)
            new.write(bytes(PART))
        new.complete()
    finally:
        new.give_up()


def test_all_objects_together_hold_no_more_than_the_bound(budget: ByteBudget) -> None:
    bucket = Bucket()
    keys = [f"{n}" for n in range(16)]
    with ThreadPoolExecutor(len(keys)) as pool:
        list(pool.map(lambda key: write(bucket, key), keys))
    assert bucket.arrived == dict.fromkeys(keys, 40 * PART)
    assert PART < bucket.largest <= 5 * PART
    assert budget.held == 0


def test_what_failed_or_was_given_up_leaves_room_for_others(budget: ByteBudget) -> None:
    bucket = Bucket(fails=lambda key, number: key == "bad" and number > 2)
    with ThreadPoolExecutor(8) as pool:
        bad = [pool.submit(write, bucket, "bad") for _ in range(4)]
        good = [pool.submit(write, bucket, f"{n}") for n in range(4)]
        assert [type(one.exception()) for one in bad] == [StoreProblem] * 4
        assert [one.exception() for one in good] == [None] * 4
    assert budget.held == 0


def test_a_part_larger_than_the_bound_is_sent_alone(budget: ByteBudget) -> None:
    bucket = Bucket()
    new = made(bucket, "key")
    for _ in range(3):
        new.write(bytes(PART))
        new.write(bytes(9 * PART))
    new.complete()
    new.give_up()
    assert bucket.arrived == {"key": 30 * PART}
    assert bucket.largest == 9 * PART
    assert budget.held == 0


def test_what_the_store_copies_needs_no_room(budget: ByteBudget) -> None:
    anything: Any = "an object"
    budget.acquire(5 * PART)
    new = made(Bucket(), "key", copied_from=anything)
    new.copy(0, 3 * parts.SMALLEST)
    new.complete()
    new.give_up()
    assert budget.held == 5 * PART
