"""The progress bar, with a clock of our own."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from bloomify.progress import PATIENCE, Bar


@dataclass
class Clock:
    """A clock that stands still."""

    now: float = 0.0

    def __call__(self) -> float:
        """Tell the time, seconds."""
        return self.now


def test_short_work_shows_nothing() -> None:
    stream, clock = io.StringIO(), Clock()
    bar = Bar(stream, clock=clock)
    bar.begin(num_bytes=100, num_filters=2)
    clock.now = PATIENCE * 0.99
    bar.built()
    assert stream.getvalue() == ""


def test_long_work_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    stream, clock = io.StringIO(), Clock()
    bar = Bar(stream, clock=clock)
    bar.begin(num_bytes=4 * 1024**2, num_filters=4)
    bar.built()
    clock.now = PATIENCE
    bar.wrote(3 * 1024**2)
    bar.wrote(1)  # too soon to draw again
    assert stream.getvalue() == (
        "\r\x1b[Kbloomify   [============>            ]    50 %   "
        "1 of 4 filters   3.0 MiB of 4.0 MiB"
    )
    with bar.hidden():
        assert stream.getvalue().endswith("4.0 MiB\r\x1b[K")


def test_it_fits_the_terminal() -> None:
    bar = Bar(None)
    bar.begin(num_bytes=10**12, num_filters=10**6)
    bar.wrote(10**13)
    assert len(bar.text(200)) < 200
    assert "100 %" not in bar.text(200)
    for columns in (20, 60, 80):
        assert len(bar.text(columns)) < columns


def test_several_threads_are_counted() -> None:
    bar = Bar(None)
    bar.begin(num_bytes=0, num_filters=4000)

    def build() -> None:
        for _ in range(1000):
            bar.built()

    with ThreadPoolExecutor(4) as pool:
        for _ in range(4):
            pool.submit(build)
    assert "100 %   4,000 of 4,000 filters" in bar.text(100)


def test_a_stopped_bar_raises_wherever_it_is_told() -> None:
    bar = Bar(None)
    bar.stop(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        bar.wrote(1)
    with pytest.raises(KeyboardInterrupt):
        bar.built()


def test_files_are_what_counts_where_they_are_counted() -> None:
    bar = Bar(None)
    bar.expect(num_files=4)
    bar.begin(num_bytes=0, num_filters=2)
    bar.built()
    bar.built()
    bar.finished()
    assert " 25 %   1 of 4 files   2 of 2 filters" in bar.text(100)


def test_nothing_is_drawn_before_there_is_something_to_count() -> None:
    stream, clock = io.StringIO(), Clock()
    bar = Bar(stream, clock=clock)
    clock.now = 2 * PATIENCE
    bar.expect(num_files=0)
    bar.finished()
    assert stream.getvalue() == ""
    bar.expect(num_files=2)
    assert stream.getvalue() != ""
