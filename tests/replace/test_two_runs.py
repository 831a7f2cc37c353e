"""Two runs on one file: locks, and the temporary files of killed and of live runs."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter.errors import (
    FileChanged,
)
from parquet_bloomwriter.replace.target import choose_target
from parquet_bloomwriter.replace.temporary import Lock, find_temporaries, try_lock
from parquet_bloomwriter.source.local import open_file
from tests.support.replacing import NEW, OLD, accept, contents, replacing, rewrite, write_new

if TYPE_CHECKING:
    from collections.abc import Iterator


ROOT = Path(__file__).resolve().parents[2]


def test_the_second_of_two_runs_finds_the_file_changed(old: Path) -> None:
    with pytest.raises(FileChanged, match="replaced by another"), open_file(old) as source:  # noqa: PT012, SIM117
        with replacing(source, choose_target(source), verify=accept) as new:
            new.write(b"the second")
            rewrite(old)
            assert len(find_temporaries(str(old))) == 1
    assert contents(old.parent) == {"a.parquet": NEW}


@contextmanager
def _locked_elsewhere(path: Path) -> Iterator[None]:
    fcntl = pytest.importorskip("fcntl")
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def test_a_file_that_another_process_has_locked(old: Path) -> None:
    with _locked_elsewhere(old), pytest.raises(FileChanged, match="locked"):
        rewrite(old)
    assert contents(old.parent) == {"a.parquet": OLD}
    rewrite(old)
    assert contents(old.parent) == {"a.parquet": NEW}


def test_the_lock_is_given_back_with_the_old_file_still_open(old: Path) -> None:
    with open_file(old) as source:
        target = choose_target(source, backup_suffix="~")
        with replacing(source, target, verify=accept) as new:
            write_new(new)
        for path in (old, old.parent / "a.parquet~"):
            with path.open("rb") as file:
                assert try_lock(file.fileno()) is Lock.HELD


def test_where_locks_are_unavailable_files_are_replaced_all_the_same(
    old: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fcntl = pytest.importorskip("fcntl")

    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", refuse)
    stale = old.parent / ".a.parquet.bloomify-0123456789abcdef.tmp"
    stale.write_bytes(b"perhaps live")
    rewrite(old)
    assert contents(old.parent) == {"a.parquet": NEW, stale.name: b"perhaps live"}


RACER = """
    import sys
    from parquet_bloomwriter.errors import FileChanged
    from parquet_bloomwriter.replace.commit import new_version
    from parquet_bloomwriter.source.local import open_file
    from parquet_bloomwriter.replace.target import choose_target

    path, name, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    sys.stdin.readline()
    for number in range(rounds):
        while True:
            try:
                with open_file(path) as source:
                    target = choose_target(source)
                    with new_version(source, target) as new:
                        new.copy(0, source.identity.size)
                        new.write(f"{name}{number}\\n".encode())
                        new.complete()
                        new.commit()
                break
            except FileChanged:
                pass
"""


def _start(script: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_nothing_is_lost_when_two_processes_race(tmp_path: Path) -> None:
    """Each adds 50 lines, every one by a replacement of the whole file."""
    path = tmp_path / "lines"
    path.write_bytes(b"")
    racers = [_start(RACER, path, name, 50) for name in "ab"]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    for racer in racers:
        racer.communicate(timeout=60)
        assert racer.returncode == 0
    lines = path.read_text().splitlines()
    for name in "ab":
        expected = [f"{name}{number}" for number in range(50)]
        assert [line for line in lines if line.startswith(name)] == expected
    assert len(lines) == 100
    assert list(contents(tmp_path)) == ["lines"]


WAITER = """
    import sys
    from parquet_bloomwriter.errors import FileChanged
    from parquet_bloomwriter.replace.commit import new_version
    from parquet_bloomwriter.source.local import open_file
    from parquet_bloomwriter.replace.target import choose_target

    try:
        with open_file(sys.argv[1]) as source:
            with new_version(source, choose_target(source)) as new:
                new.write(b"half")
                print("half", flush=True)
                sys.stdin.readline()
                new.complete()
                new.commit()
    except FileChanged:
        print("changed", flush=True)
"""


def test_the_temporary_file_of_a_killed_run_is_removed_but_not_that_of_a_live_one(
    old: Path,
) -> None:
    killed, live = _start(WAITER, old), _start(WAITER, old)
    for run in (killed, live):
        assert run.stdout is not None
        assert run.stdout.readline() == "half\n"
    killed.kill()
    killed.communicate()
    temporaries = find_temporaries(str(old))
    assert len(temporaries) == 2
    rewrite(old)
    (left,) = find_temporaries(str(old))
    assert contents(old.parent) == {"a.parquet": NEW, Path(left).name: b"half"}
    assert live.communicate("go on\n")[0] == "changed\n"
    assert contents(old.parent) == {"a.parquet": NEW}
