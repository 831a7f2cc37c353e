"""The bar as it is seen: on a pseudo-terminal of 80 columns, with few files and with many."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest

from bloomify.console.interruption import interruptible
from parquet_bloomwriter import bloomify, strip
from parquet_bloomwriter.progress import Bar
from tests.cli.terminal import watch

EAGER = """
import os
from parquet_bloomwriter import progress
progress.PATIENCE = progress._INTERVAL = 0
from bloomify.main import main
main()
"""
"""The command, whose bar shows at once and each time it is told of something."""

SLOW = """
import time
from parquet_bloomwriter import progress
progress.PATIENCE = progress._INTERVAL = 0
wrote = progress.FileProgress.wrote

def slowly(self, num_bytes):
    wrote(self, num_bytes)
    for _ in range(3000):
        time.sleep(0.01)
        self._bar.check()

progress.FileProgress.wrote = slowly
from bloomify.main import main
main()
"""

ADD, STRIP = ("add", "--columns", "id,email"), ("strip",)


def copies(events: Path, count: int) -> list[str]:
    folder = events.with_name("many")
    folder.mkdir()
    data = events.read_bytes()
    for i in range(count):
        (folder / f"{i:04}.parquet").write_bytes(data)
    return [str(path) for path in folder.iterdir()]


@pytest.mark.parametrize(("count", "verb"), [(1, ADD), (4, STRIP), (4, ("verify",)), (20, ADD)])
def test_it_only_goes_on_in_one_line(events: Path, count: int, verb: tuple[str, ...]) -> None:
    if verb is not ADD:
        bloomify(events, ["id", "email"])
    copies(events, count)
    seen = watch(EAGER, verb[0], "many", *verb[1:], columns=80)
    assert seen.code == 0
    assert seen.percents == sorted(seen.percents)
    assert seen.percents
    assert all(len(bar) < 80 for bar in seen.bars)
    if count > 1:
        assert all(f" of {count} files" in bar for bar in seen.bars)
    assert not [line for line in seen.screen(80) if " %   " in line]
    assert len(seen.screen(80)) > count


def test_it_keeps_to_the_terminal_that_it_is_on(events: Path) -> None:
    columns = 24
    copies(events, 4)
    redirected = "import os; os.dup2(os.open('/dev/null', os.O_WRONLY), 1)" + EAGER
    seen = watch(redirected, *ADD, "many", "-o", "new", columns=columns)
    assert seen.bars
    assert [bar for bar in seen.bars if len(bar) >= columns] == []


@pytest.mark.parametrize("count", [1, 20])
def test_after_an_interruption_the_line_is_gone(events: Path, count: int) -> None:
    paths = copies(events, count)
    before = {path: Path(path).read_bytes() for path in paths}
    seen = watch(SLOW, *ADD, "many", "--jobs", "2", columns=80, interrupt_at=" %   ")
    assert seen.code == 130
    of_all = r" after \d+ of 20 files" if count > 1 else ""
    message = rf"interrupted{of_all}\. Files that are not reported as done were left unchanged\."
    assert re.search(f"bloomify: {message}$", "".join(seen.screen(80)))
    assert "%" not in "".join(seen.screen(80))
    assert seen.raw.endswith("\r\n")
    after = {path: Path(path).read_bytes() for path in paths}
    done = [path for path in paths if after[path] != before[path]]
    assert len(done) < count
    assert all(strip(after[path]).data == before[path] for path in done)
    assert sorted(map(str, events.with_name("many").iterdir())) == sorted(paths)


def test_an_interruption_that_breaks_a_lock_is_an_interruption() -> None:
    def wait() -> None:
        lock = threading.RLock()
        try:
            raise KeyboardInterrupt
        finally:
            lock.release()

    with pytest.raises(KeyboardInterrupt), interruptible(Bar(None)):
        wait()
