"""The progress bar, with a clock of our own."""

from __future__ import annotations

import io
import random
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter.progress import PATIENCE, Bar
from parquet_bloomwriter.text import width

if TYPE_CHECKING:
    from collections.abc import Callable

MIB = 1024**2


@dataclass
class Clock:
    """A clock that stands still."""

    now: float = 0.0

    def __call__(self) -> float:
        """Tell the time, seconds."""
        return self.now


def percent(bar: Bar, columns: int = 80) -> int:
    found = re.search(r"(\d+) %", bar.text(columns))
    assert found
    return int(found[1])


def test_short_work_shows_nothing() -> None:
    stream, clock = io.StringIO(), Clock()
    bar = Bar(stream, clock=clock)
    bar.begin(num_files=1, num_bytes=100)
    with bar.file(100) as file:
        file.begin(num_bytes=100, num_filters=2)
        clock.now = PATIENCE * 0.99
        file.built()
    assert stream.getvalue() == ""


def test_long_work_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    stream, clock = io.StringIO(), Clock()
    bar = Bar(stream, clock=clock)
    bar.begin(num_files=1, num_bytes=4 * MIB)
    file = bar.file(4 * MIB)
    file.begin(num_bytes=4 * MIB, num_filters=4)
    file.built()
    clock.now = PATIENCE
    file.wrote(3 * MIB)
    file.wrote(1)  # too soon to draw again
    assert stream.getvalue() == (
        "\r\x1b[Kbloomify   [============>            ]    50 %   1 of 4 filters   3.0 of 4.0 MiB"
    )
    with bar.hidden():
        assert stream.getvalue().endswith("4.0 MiB\r\x1b[K")


@pytest.mark.parametrize("num_files", [1, 4, 400])
@pytest.mark.parametrize("title", ["bloomify", "indexing 名前のとても長いフォルダーの名前の表"])
def test_it_fits_the_terminal(num_files: int, title: str) -> None:
    bar = Bar(None, title=title)
    bar.begin(num_files=num_files, num_bytes=num_files * 10**12)
    for done in range(num_files + 1):
        for columns in (4, 10, 20, 60, 80, 200):
            assert width(bar.text(columns)) <= columns - len("^C") - 1
        if title == "bloomify":
            assert "[" in bar.text(80)
            assert " iB" not in bar.text(80).replace("TiB", " iB")[:40]
            assert bar.text(80).endswith("iB")
        if done < num_files:
            with bar.file(10**12) as file:
                file.begin(num_bytes=10**12, num_filters=3)
    assert percent(bar) == 100


@pytest.mark.parametrize("num_files", [1, 4, 400])
@pytest.mark.parametrize("knows_bytes", [True, False])
def test_it_never_goes_back_and_ends_at_the_end(num_files: int, *, knows_bytes: bool) -> None:
    draw = random.Random(num_files)  # noqa: S311
    sizes = [draw.randrange(10**9) if knows_bytes else 0 for _ in range(num_files)]
    bar = Bar(None)
    bar.begin(num_files=num_files, num_bytes=sum(sizes))
    seen, looking = [percent(bar)], Lock()

    def look() -> None:
        with looking:
            seen.append(percent(bar))

    def work(size: int) -> None:
        with bar.file(size) as file:
            file.begin(num_bytes=size, num_filters=7)
            for _ in range(7):
                file.built()
                look()
                file.wrote(size // 5)  # more than the file has
                look()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, sizes[: num_files // 2]))
    half = percent(bar)
    for size in sizes[num_files // 2 :]:
        work(size)
    assert seen == sorted(seen)
    assert (seen[0], percent(bar)) == (0, 100)
    if num_files == 400:
        assert 40 < half < 60


def test_files_that_fail_or_stay_count_as_done() -> None:
    bar = Bar(None)
    bar.begin(num_files=2, num_bytes=300)
    with pytest.raises(OSError, match="no"), bar.file(100):
        raise OSError("no")
    assert (percent(bar), "1 of 2 files   100 of 300 bytes" in bar.text(80)) == (33, True)
    with bar.file(200):
        pass
    assert (percent(bar), "2 of 2 files   300 of 300 bytes" in bar.text(80)) == (100, True)


def test_jobs_that_tell_of_whole_files() -> None:
    bar = Bar(None, title="indexing events")
    bar.begin(num_files=2000, num_bytes=5_583_457_485)
    bar.done(num_files=1204, num_bytes=3_328_599_654)
    assert bar.text(80) == (
        "indexing events   [=====>   ]    59 %   1,204 of 2,000 files   3.1 of 5.2 GiB"
    )
    bar.begin(num_files=4000, num_bytes=20_000_000_000)  # never backwards
    assert percent(bar) == 59


def test_several_threads_are_counted() -> None:
    bar = Bar(None)
    bar.begin(num_files=1, num_bytes=0)
    file = bar.file(0)
    file.begin(num_bytes=0, num_filters=4000)

    def build() -> None:
        for _ in range(1000):
            file.built()

    with ThreadPoolExecutor(4) as pool:
        for _ in range(4):
            pool.submit(build)
    assert "100 %   4,000 of 4,000 filters" in bar.text(100)


def test_a_stopped_bar_raises_wherever_it_is_told() -> None:
    stream = io.StringIO()
    bar = Bar(stream, patience=0)
    bar.begin(num_files=2, num_bytes=2)
    drawn = stream.getvalue()
    file = bar.file(1)
    bar.stop(KeyboardInterrupt)
    tells: list[Callable[[], None]] = [
        lambda: file.wrote(1),
        file.built,
        lambda: file.begin(num_bytes=1, num_filters=1),
        lambda: bar.done(num_files=1, num_bytes=1),
    ]
    for tell in tells:
        with pytest.raises(KeyboardInterrupt):
            tell()
    with file:  # a file that is done is done
        pass
    assert stream.getvalue() == drawn != ""


def test_a_closed_bar_draws_no_more() -> None:
    stream = io.StringIO()
    with Bar(stream, patience=0) as bar:
        bar.begin(num_files=2, num_bytes=2)
    shown = stream.getvalue()
    assert shown.endswith("\r\x1b[K")
    bar.done(num_files=1, num_bytes=1)
    assert stream.getvalue() == shown
    bar.begin(num_files=9, num_bytes=9)
    assert "of 9 files" not in stream.getvalue()  # too soon


def test_nothing_is_drawn_before_there_is_something_to_count() -> None:
    stream, clock = io.StringIO(), Clock()
    bar = Bar(stream, clock=clock)
    clock.now = 2 * PATIENCE
    bar.begin(num_files=1, num_bytes=0)
    with bar.file(0):
        assert stream.getvalue() == ""
    bar.begin(num_files=2, num_bytes=0)
    assert stream.getvalue() != ""
