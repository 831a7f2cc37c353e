"""Another user of the machine who connects to what a session listens on.

Nothing of the rules listens. The attacks go to py4j's server for calls from Java to Python, which
a program may start for its own use, such as `foreachBatch`, and which asks nobody for a password.
"""

# ruff: noqa: SLF001  Spark's objects of the JVM
from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import clear_cache, index
from parquet_bloomwriter.spark import rules
from parquet_bloomwriter.spark.rules import session as rules_session
from parquet_bloomwriter.spark.rules.bridge import Bridge
from parquet_bloomwriter.spark.rules.joins import Joins
from parquet_bloomwriter.spark.rules.protocol import ProbeFilter
from tests.spark.conftest import INTERPRETED
from tests.spark.metrics import metrics_of
from tests.support.spark_session import local_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

NOBODY = 65534
NUM_FILES, ROWS = 3, 40
WANTED = 7 * NUM_FILES * 1_000_003
_LISTENS = "0A"
"""State of a socket in /proc/net/tcp."""

ATTACKS = Path(__file__).with_name("stranger.py")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a table in a closed folder, with an index."""
    tmp_path.chmod(0o700)
    folder = tmp_path / "closed"
    folder.mkdir()
    for i in range(NUM_FILES):
        ids = [(i + NUM_FILES * j) * 1_000_003 for j in range(ROWS)]
        pq.write_table(pa.table({"id": pa.array(ids, pa.int64())}), folder / f"secret-{i}.parquet")
    index.create(folder, ["id"], name="ids")
    return folder


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """Return a session that has had no rules so far."""
    assert spark is not None
    with local_session(INTERPRETED) as own:
        yield own
        rules.disable(own)


def check(spark: SparkSession, table: Path) -> None:
    """Check that a query returns its row, and reads one file of the table."""
    df = spark.read.parquet(str(table)).where(f"id = {WANTED}")
    assert [row["id"] for row in df.collect()] == [WANTED]
    assert metrics_of(df).num_files == 1


def listening() -> set[str]:
    """Return the sockets on which this process takes connections."""
    own = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # the one by which the folder is listed
            own.add(str(descriptor.readlink()).removeprefix("socket:[").removesuffix("]"))
    lines = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    lines += Path("/proc/net/tcp6").read_text(encoding="ascii").splitlines()[1:]
    sockets = [line.split() for line in lines]
    return {one[9] for one in sockets if one[3] == _LISTENS and one[9] in own}


def known_objects(spark: SparkSession) -> list[object]:
    """Return the objects of Python that py4j lets callers reach."""
    gateway: Any = spark.sparkContext._gateway
    return list(gateway.gateway_property.pool.dict.values())


def test_rules_open_no_port(session: SparkSession, table: Path) -> None:
    before, known = listening(), known_objects(session)
    assert rules.enable(session), rules.problem_of(session)
    check(session, table)
    assert rules.trace(session.read.parquet(str(table)).where(f"id = {WANTED}"))
    assert listening() == before
    assert known_objects(session) == known


def test_another_user_learns_nothing_and_changes_nothing(
    session: SparkSession, table: Path
) -> None:
    from pyspark.java_gateway import ensure_callback_server_started

    gateway: Any = session.sparkContext._gateway
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
    assert rules.enable(session), rules.problem_of(session)
    check(session, table)
    adaptor = rules_session._adaptors[session]
    assert isinstance(adaptor, rules_session._Adaptor)
    before = dict(vars(adaptor.bridge)), set(adaptor.bridge.homes)
    user = NOBODY if os.geteuid() == 0 else os.geteuid()
    port = gateway._callback_server.get_listening_port()
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(ATTACKS), str(port), str(table), str(user)],
        capture_output=True,
        check=True,
        timeout=300,
    )
    answers = json.loads(done.stdout)
    assert answers["user"] == user
    assert answers["attacks"] > 1000
    for told in answers["told"]:
        assert "secret-" not in told
        assert "Bridge" not in told
        assert not told.startswith("!y"), told
    assert (vars(adaptor.bridge), adaptor.bridge.homes) == before
    check(session, table)


def test_a_slow_answer_delays_no_other_query(
    session: SparkSession, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [threading.Event() for _ in range(4)]
    answer, asked = Bridge.apply, iter(others)

    def apply(bridge: Bridge, text: str) -> str:
        mine = next(asked, None) if '"prune"' in text else None
        if mine is not None:
            mine.set()
            assert all(one.wait(100) for one in others)
        return answer(bridge, text)

    assert rules.enable(session), rules.problem_of(session)
    monkeypatch.setattr(Bridge, "apply", apply)
    threads = [threading.Thread(target=check, args=(session, table)) for _ in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=200)
    assert all(one.is_set() for one in others)
    check(session, table)


def test_no_answer_leaves_the_plan(
    session: SparkSession, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> str:
        raise MemoryError

    assert rules.enable(session), rules.problem_of(session)
    with monkeypatch.context() as patch:
        patch.setattr(Bridge, "apply", fail)
        for _ in range(3):  # the threads that answer survive it
            df = session.read.parquet(str(table)).where(f"id = {WANTED}")
            assert len(df.collect()) == 1
            assert metrics_of(df).num_files == NUM_FILES
    check(session, table)


def test_a_mailbox_without_python_fails(session: SparkSession, table: Path) -> None:
    """Queries go on when the process that answers is gone."""
    assert rules.enable(session), rules.problem_of(session)
    rules.disable(session)
    context: Any = session.sparkContext
    loader = session._jsparkSession.sharedState().jarClassLoader()
    bridge = rules_session._new(context, loader, "Bridge")
    _silence(context, bridge.mailbox())
    rule = rules_session._new(context, loader, "PushDownBFIndexRule", bridge, "spark.x", "true")
    rules_session._set_rules(session, [rule])
    df = session.read.parquet(str(table)).where(f"id = {WANTED}")
    assert len(df.collect()) == 1
    assert metrics_of(df).num_files == NUM_FILES


def _silence(context: Any, mailbox: Any) -> None:  # noqa: ANN401  Java objects
    """Let a mailbox believe that Python came for the last time an hour ago."""
    heard = mailbox.getClass().getDeclaredField("heard")
    heard.setAccessible(True)
    heard.setLong(mailbox, context._jvm.java.lang.System.nanoTime() - 3_600_000_000_000)


def test_a_mailbox_ends_when_java_has_forgotten_its_rules(session: SparkSession) -> None:
    assert rules.enable(session), rules.problem_of(session)
    context: Any = session.sparkContext
    loader = session._jsparkSession.sharedState().jarClassLoader()
    java: Any = context._jvm.java
    bridge = rules_session._new(context, loader, "Bridge")
    mailbox, alive = bridge.mailbox(), java.util.WeakHashMap()
    alive.put(bridge, "")
    # At once: py4j's own thread first releases all that earlier tests have left.
    context._gateway._gateway_client.garbage_collect_object(bridge._target_id, enqueue=False)
    while not alive.isEmpty():  # the test's time is up if that does not come
        gc.collect()
        java.lang.System.gc()
    assert mailbox.next() is None


def test_a_filter_that_is_not_as_it_was_written_drops_no_row(
    session: SparkSession, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The filter of a join goes to Java in a file, which a stranger or a disk might change."""
    written = Joins.filter_of

    def cleared(joins: Joins, *arguments: Any) -> Any:  # noqa: ANN401  what it returns
        found = written(joins, *arguments)
        assert isinstance(found, ProbeFilter)
        with Path(found.path).open("r+b") as file:
            file.seek(found.offset)
            file.write(bytes(found.num_bytes))
        return found

    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    session.conf.set("spark.bloomwriter.join.minBytes", "0")
    pq.write_table(pa.table({"id": [WANTED, 5]}), tmp_path / "other.parquet")
    assert rules.enable(session), rules.problem_of(session)
    other = session.read.parquet(str(tmp_path / "other.parquet"))

    def joined() -> DataFrame:
        return session.read.parquet(str(table)).join(other, "id")

    for changes in (False, True):
        clear_cache()
        with monkeypatch.context() as patch:
            if changes:
                patch.setattr(Joins, "filter_of", cleared)
            df = joined()
            assert [row["id"] for row in df.collect()] == [WANTED]
            assert (metrics_of(df).num_probes == 0) is changes
