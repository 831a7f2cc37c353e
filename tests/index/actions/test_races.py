"""Several processes on one log: every id has one winner, whose entry is whole."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import index
from parquet_bloomwriter.index.entry import STABLE, State
from parquet_bloomwriter.index.log.log import IndexLog

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WRITERS = 4
VERSIONS = 15

WRITER = """
import json, sys, time
from parquet_bloomwriter.index.entry import Entry, IndexedColumn, IndexFile, State
from parquet_bloomwriter.index.log.log import IndexLog
folder, writer, versions, links, start = sys.argv[1:]
if links == "without":
    import errno, os
    def link(*_): raise OSError(errno.EPERM, "no links here")
    os.link = link
log = IndexLog(folder)
parts = tuple(IndexFile(path=f"v__=0/{writer}/{i}", size=i) for i in range(100))
won, lost = [], 0
time.sleep(max(0.0, float(start) - time.time()))
while len(won) < int(versions):
    ids = log.ids()
    number = ids[-1] + 1 if ids else 0
    entry = Entry(id=number, name=writer, state=State.ACTIVE, version=len(won), root=None,
                  columns=(IndexedColumn(name="id", fpp=0.01, parts=parts),))
    if log.write(entry):
        assert log.get(number) == entry
        won.append(number)
    else:
        lost += 1
print(json.dumps({"won": won, "lost": lost}))
"""


@pytest.mark.parametrize("links", ["with", "without"])
def test_writers_of_many_versions(tmp_path: Path, links: str) -> None:
    (tmp_path / "_log").mkdir()
    start = str(time.time() + 1.5)
    command = [sys.executable, "-W", "error", "-c", WRITER, str(tmp_path)]
    writers = [
        subprocess.Popen(
            [*command, str(writer), str(VERSIONS), links, start], stdout=subprocess.PIPE, text=True
        )
        for writer in range(WRITERS)
    ]
    answers = [json.loads(writer.communicate(timeout=120)[0]) for writer in writers]
    winners = {number: w for w, answer in enumerate(answers) for number in answer["won"]}

    assert [len(answer["won"]) for answer in answers] == [VERSIONS] * WRITERS
    assert sorted(winners) == list(range(WRITERS * VERSIONS))  # no id was won twice, none left out
    assert sum(answer["lost"] for answer in answers) > 0  # they did get in each other's way
    log = IndexLog(str(tmp_path))
    found = list(log.entries())
    assert [int(entry.name) for entry in found] == [winners[entry.id] for entry in found]
    assert [entry.id for entry in found] == list(range(WRITERS * VERSIONS))
    assert {len(entry.columns[0].parts) for entry in found} == {100}
    kept = {path.name for path in (tmp_path / "_log").iterdir()}
    assert kept == {str(number) for number in range(WRITERS * VERSIONS)}


REFRESHER = """
import sys, time
from parquet_bloomwriter import index
from parquet_bloomwriter.errors import IndexBusy
from parquet_bloomwriter.index.build.threads import ThreadEngine
table, start = sys.argv[1:]
time.sleep(max(0.0, float(start) - time.time()))
said = []
for mode in ("incremental", "quick", "full", "optimize", "vacuum"):
    try:
        if mode in ("optimize", "vacuum"):
            getattr(index, mode)(table, name="ids")
        else:
            index.refresh(table, name="ids", mode=mode, engine=ThreadEngine(jobs=1))
        said.append("done")
    except IndexBusy:
        said.append("busy")
print(*said)
"""


def test_actions_of_several_processes(tmp_path: Path) -> None:
    for number in range(4):
        pq.write_table(pa.table({"id": [10 * number]}), tmp_path / f"{number}.parquet")
    index.create(tmp_path, ["id"], name="ids")
    pq.write_table(pa.table({"id": [100]}), tmp_path / "new.parquet")
    command = [sys.executable, "-W", "error", "-c", REFRESHER, str(tmp_path)]
    start = str(time.time() + 3)
    workers = [
        subprocess.Popen([*command, start], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    said = " ".join(worker.communicate(timeout=300)[0] for worker in workers).split()

    assert (len(said), "done" in said, set(said) <= {"done", "busy"}) == (15, True, True)
    folder = tmp_path / "_bloom_index" / "ids"
    entries = list(IndexLog(str(folder)).entries())
    begun, ended = entries[0::2], entries[1::2]
    assert {entry.state for entry in begun}.isdisjoint(STABLE)
    assert {entry.state for entry in ended} == {State.ACTIVE}
    assert all(one.action == other.action for one, other in zip(begun, ended, strict=True))
    index.refresh(tmp_path, name="ids")
    index.vacuum(tmp_path, name="ids")
    latest = IndexLog(str(folder)).latest()
    assert latest is not None
    files = {path for path in folder.glob("v__=*/**/*") if path.is_file()}
    assert files == {folder / file.path for file in latest.files()}
    for number in range(4):
        kept = index.lookup(tmp_path, f"id = {10 * number}").paths
        assert kept == (str(tmp_path / f"{number}.parquet"),)


CONTENDERS = 3
CONTENDER = """
import sys, time
from parquet_bloomwriter import index
from parquet_bloomwriter.errors import IndexBusy
from parquet_bloomwriter.index.log.log import IndexLog

table = sys.argv[1]
time.time_ns = lambda: 1_700_000_000_000_000_000  # entries of one content differ in nothing else
write = IndexLog.write

def say(word):
    print(word, flush=True)

def write_with_the_others(log, entry):
    IndexLog.write = write
    say("ready")
    sys.stdin.readline()
    return write(log, entry)

for line in iter(sys.stdin.readline, ""):
    verb, *mode = line.split()
    IndexLog.write = write_with_the_others
    try:
        if verb == "create":
            index.create(table, ["id"], name="ids")
        elif verb == "refresh":
            index.refresh(table, name="ids", mode=mode[0])
        else:
            getattr(index, verb)(table, name="ids")
        say("won")
    except IndexBusy:
        say("lost")
"""


class Contenders:
    """Processes that do one action at once: all of them reach the log before any writes to it."""

    def __init__(self, table: Path) -> None:
        command = [sys.executable, "-W", "error", "-c", CONTENDER, str(table)]
        pipe = subprocess.PIPE
        self.processes = [
            subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(CONTENDERS)
        ]

    def contend(self, action: str) -> list[str]:
        """Begin an action in all processes at once, and return the outcome in each."""
        self._tell(action)
        assert self._answers() == ["ready"] * CONTENDERS
        self._tell("go")
        return sorted(self._answers())

    def _tell(self, line: str) -> None:
        for process in self.processes:
            assert process.stdin is not None
            process.stdin.write(f"{line}\n")
            process.stdin.flush()

    def _answers(self) -> list[str]:
        pipes = [process.stdout for process in self.processes]
        return [pipe.readline().strip() for pipe in pipes if pipe is not None]

    def end(self) -> None:
        """Let the processes end."""
        for process in self.processes:
            process.communicate(timeout=60)


def test_of_several_processes_that_begin_at_once_exactly_one_wins(tmp_path: Path) -> None:
    log = IndexLog(str(tmp_path / "_bloom_index" / "ids"))

    def append(number: int) -> None:
        pq.write_table(pa.table({"id": [number]}), tmp_path / f"{number}.parquet")

    def die_at_work() -> None:
        latest = log.latest()
        assert latest is not None
        begun = replace(latest, id=latest.id + 1, state=State.REFRESHING, attempt="of the dead")
        assert log.write(begun)

    before: dict[str, Callable[[], object]] = {
        "refresh incremental": lambda: append(2),
        "refresh quick": lambda: append(3),
        "cancel": die_at_work,
    }
    actions = ["create", "refresh incremental", "refresh quick", "optimize", "vacuum"]
    actions += ["delete", "restore", "cancel"]
    append(1)
    contenders = Contenders(tmp_path)
    try:
        for action in actions:
            before.get(action, lambda: None)()
            assert (action, contenders.contend(action)) == (action, ["lost", "lost", "won"])
            latest = log.latest()
            assert latest is not None
            ended = State.DELETED if action == "delete" else State.ACTIVE
            assert (action, latest.state, latest.action.split()[0]) == (
                action,
                ended,
                action.split()[0],
            )
    finally:
        contenders.end()
    attempts = [entry.attempt for entry in log.entries() if entry.attempt != "of the dead"]
    assert attempts[0::2] == attempts[1::2]
    assert len(set(attempts)) == len(actions)
    for number in (1, 2, 3):
        kept = index.lookup(tmp_path, f"id = {number}").paths
        assert kept == (str(tmp_path / f"{number}.parquet"),)
