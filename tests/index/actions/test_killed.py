"""Actions that end at any step, by a kill (odd steps), an error (even steps) or an interrupt.

Whatever happens, the last stable version counts, no file is missing from answers, and `cancel`
leaves nothing behind that no entry refers to.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import index
from parquet_bloomwriter.errors import BloomwriterError, IndexBusy, IndexNotFound
from parquet_bloomwriter.index.entry import STABLE, State
from parquet_bloomwriter.index.log.log import IndexLog
from tests.index.actions.killing import small_groups

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_bloomwriter.index.entry import Entry

pytestmark = pytest.mark.xdist_group("killed")  # what is made once takes seconds

ROOT = Path(__file__).resolve().parents[3]

BEFORE = {
    "create": "new",
    "incremental": "changed",
    "quick": "changed",
    "full": "changed",
    "optimize": "refreshed",
    "vacuum": "refreshed",
    "delete": "active",
    "restore": "deleted",
    "vacuum deleted": "deleted",
    "cancel": "begun",
}
"""Actions, and the tables that they find."""

HAS_OLDER = {"vacuum", "optimize", "incremental", "quick", "full"}
"""Actions after which files of an older version are there."""


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


def write(root: Path, name: str, first: int) -> None:
    root.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": list(range(first, first + 5))}), root / name)
    os.utime(root / name, (1_600_000_000, 1_600_000_000))


def prepare(root: Path, kind: str) -> None:
    """Make a table whose file `a` holds ids from 0, `b` from 100, and so on; it has slices."""
    with small_groups():
        _prepare(root, kind)


def _prepare(root: Path, kind: str) -> None:
    write(root, "a.parquet", 0)
    write(root, "b.parquet", 100)
    if kind == "new":
        return
    index.create(root, ["id"], name="ids")
    if kind in {"changed", "refreshed"}:
        write(root, "c.parquet", 200)
        (root / "a.parquet").unlink()
    if kind == "refreshed":
        index.refresh(root, name="ids")
    if kind == "deleted":
        index.delete(root, name="ids")
    if kind == "begun":
        log = IndexLog(str(root / "_bloom_index/ids"))
        stable = log.latest_stable()
        assert stable is not None
        assert log.write(replace(stable, id=2, state=State.REFRESHING, action="refresh full"))
        write(root / "_bloom_index/ids/v__=2", "half", 0)


@pytest.fixture(scope="module")
def killer() -> Iterator[subprocess.Popen[str]]:
    """Start the process that begins actions and kills them; it has imported all they need."""
    command = [sys.executable, "-W", "error", "-m", "tests.index.actions.killing"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT) as process:
        yield process


def run(
    killer: subprocess.Popen[str], folder: Path, action: str, how: str, steps: tuple[int, int]
) -> range:
    """Make the copies, of a first step and so many after it; return the numbers of all."""
    first, stride = steps
    prepare(folder / "before", BEFORE[action])
    assert killer.stdin is not None
    assert killer.stdout is not None
    killer.stdin.write(f"{json.dumps([str(folder), action.split(maxsplit=1)[0], how, *steps])}\n")
    killer.stdin.flush()
    last = killer.stdout.readline()
    assert last, f"the process of killings ended with {killer.wait()}"
    return range(first, int(last) + 1, stride)


def log_of(table: Path) -> IndexLog:
    return IndexLog(str(table / "_bloom_index" / "ids"))


def listing(table: Path) -> set[str]:
    """Every file and folder of the index."""
    folder = table / "_bloom_index" / "ids"
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def expected(log: IndexLog, entry: Entry | None) -> set[str]:
    """Return all names in the folder if it has only entries, and the files of `entry`."""
    paths = [f"_log/{number}" for number in log.ids()]
    paths += [] if entry is None else [file.path for file in entry.files()]
    return {str(one) for path in paths for one in (Path(path), *Path(path).parents)} - {"."}


def facts(entry: Entry | None) -> Entry | None:
    """Return an entry without the values that change when it is written again."""
    return None if entry is None else replace(entry, id=0, created_ms=0, attempt="", action="")


def check_answers(table: Path) -> None:
    """No file is missing from answers; none is kept for a value that is in none, if asked well."""
    files = {path.name[0]: path for path in table.glob("*.parquet")}
    for value, name in ((3, "a"), (103, "b"), (203, "c")):
        try:
            found = index.lookup(table, f"id = {value}").paths
        except IndexNotFound:
            continue
        assert str(files[name]) in found if name in files else True


WHOLE = ("create", "incremental")
"""Actions that are ended at each step; others, which take the same steps, at some of them."""


@pytest.mark.parametrize("action", BEFORE)
def test_a_killed_process(killer: subprocess.Popen[str], tmp_path: Path, action: str) -> None:
    *numbers, last = run(killer, tmp_path, action, "exit", (1, 2 if action in WHOLE else 4))
    before = log_of(tmp_path / "before").latest_stable()
    after = log_of(tmp_path / f"at-{last}").latest_stable()
    assert len(numbers) > (4 if action in WHOLE else 2)
    assert facts(before) != facts(after) or action in {"vacuum", "cancel"}
    states = set()
    for number in numbers:
        table = tmp_path / f"at-{number}"
        log = log_of(table)
        stable, latest = log.latest_stable(), log.latest()
        is_done = facts(stable) == like(after, stable)
        assert is_done or facts(stable) == facts(before), number
        check_answers(table)
        if latest is not None and latest.state not in STABLE:
            states.add(latest.state)
            with pytest.raises(IndexBusy, match=r"\d UTC.* cancel it"):
                index.refresh(table, name="ids")
        if log.ids():
            check_cancelled(table, stable, may_stay=action in HAS_OLDER)
        check_usable(table)
    assert states, "it was never killed between its first and its last entry"


def like(after: Entry | None, entry: Entry | None) -> Entry | None:
    """The entry in force after the action, with the random names that this run had."""
    if after is None or entry is None or len(after.columns) != len(entry.columns):
        return facts(after)
    return facts(replace(after, columns=entry.columns, manifest=entry.manifest))


def check_cancelled(table: Path, stable: Entry | None, *, may_stay: bool) -> None:
    """`cancel` puts the stable entry in force, and removes everything else.

    What older versions need, and what could not be removed, may stay until `vacuum`.
    """
    log = log_of(table)
    was_deleted = stable is not None and stable.state is State.DELETED
    was_intact = stable is None or log.is_intact(stable)
    index.cancel(table, name="ids")
    now = log.latest()
    assert now is not None
    if stable is None or (was_deleted and not was_intact):
        assert (now.state, listing(table)) == (State.DOES_NOT_EXIST, expected(log, None))
        return
    assert facts(now) == facts(stable)
    assert log.is_intact(now)
    if may_stay:
        assert expected(log, now) <= listing(table)
        if now.state is State.ACTIVE:
            index.vacuum(table, name="ids")
            now = log.latest_stable()
    assert listing(table) == expected(log, now)


def check_usable(table: Path) -> None:
    """The index can be made, refreshed and asked as if nothing had been."""
    try:
        if index.index(table, name="ids").state is State.DELETED:
            index.restore(table, name="ids")
        index.refresh(table, name="ids")
    except IndexNotFound:
        index.create(table, ["id"], name="ids")
    files = {path.name[0]: path for path in table.glob("*.parquet")}
    for value, name in ((3, "a"), (103, "b"), (203, "c")):
        expected_paths = (str(files[name]),) if name in files else ()
        assert index.lookup(table, f"id = {value}").paths == expected_paths
    assert log_of(table).latest() == log_of(table).latest_stable()


@pytest.mark.parametrize(
    ("action", "how", "stride"),
    [
        *((action, "raise", 4 if action in WHOLE else 8) for action in BEFORE),
        ("incremental", "interrupt", 16),
    ],
)
def test_a_failure(
    killer: subprocess.Popen[str], tmp_path: Path, action: str, how: str, stride: int
) -> None:
    *numbers, last = run(killer, tmp_path, action, how, (2, stride))
    before = log_of(tmp_path / "before").latest_stable()
    after = log_of(tmp_path / f"at-{last}").latest_stable()
    for number in numbers:
        table = tmp_path / f"at-{number}"
        log = log_of(table)
        stable = log.latest_stable()
        is_done = facts(stable) == like(after, stable)
        is_gone = stable is not None and stable.state is State.DOES_NOT_EXIST
        assert is_done or is_gone or facts(stable) == facts(before), number
        if action != "cancel" and log.ids():
            assert log.latest() == stable, "the log was left to be cancelled"
        check_answers(table)
        if log.ids():
            check_cancelled(table, stable, may_stay=action in {*HAS_OLDER, "cancel"})
        try:
            check_usable(table)
        except BloomwriterError as error:
            raise AssertionError(number) from error
