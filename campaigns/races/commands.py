"""Running the command from outside: in a process begun for it, or in a child of a warm one."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 240
"""What takes longer hangs; the slowest command takes two seconds."""

POWERLESS = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
"""What makes root an ordinary user, who may do to files what their mode says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What became of a command."""

    code: int
    """Exit code, or less than 0 for a signal."""

    out: str
    err: str

    def expect(self, code: int, *words: str) -> None:
        """Check the exit code, and that the one line on standard error has these words."""
        assert self.code == code, f"exit code {self.code}, not {code}: {self.err}"
        for word in words:
            assert word.lower() in self.err.lower(), f"{word!r} is not said: {self.err}"
        if code:
            assert self.err.count("\n") == 1, f"not one line: {self.err}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One command in a warm process."""

    arguments: list[str]
    folder: str = "/"
    """Where it is run."""

    limits: Mapping[str, int] = field(default_factory=dict)
    """Of the process, by the names that `resource` has for them."""

    stop_at: int = 0
    """Before which step it stops itself; 0 for none."""

    notes: str | None = None
    """A file to note the steps in."""


def powerless() -> tuple[str, ...]:
    """What a process is started by that must not have root's powers."""
    return POWERLESS if os.geteuid() == 0 else ()


def cold(*arguments: str, begun_by: Sequence[str] = (), folder: Path | None = None) -> Ended:
    """Run `python -m bloomify`."""
    done = subprocess.run(
        [*begun_by, sys.executable, "-m", "bloomify", *arguments],
        cwd=folder or ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return Ended(code=done.returncode, out=done.stdout, err=done.stderr)


class Warm:
    """A warm process that runs commands: see `server`. Another is begun when one hangs or dies."""

    def __init__(self, begun_by: Sequence[str] = ()) -> None:
        self._begun_by = begun_by
        self._folder = tempfile.TemporaryDirectory(prefix="warm-")
        self._count = 0
        self._running: _Running | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._running is not None:
            self._running.end()
        self._folder.cleanup()

    def run(self, *arguments: str, **how: Any) -> Ended:  # noqa: ANN401  fields of `Job`
        """Run one command."""
        (ended,) = self.run_all([Job(arguments=list(arguments), **how)])
        return ended

    def run_all(
        self, jobs: Sequence[Job], *, at_stop: Callable[[], None] | None = None
    ) -> list[Ended]:
        """Run commands at once.

        Args:
            jobs: What to run.
            at_stop: Called while a command that was to stop stands still.
        """
        folder = Path(self._folder.name)
        texts = [(folder / f"{self._new()}", folder / f"{self._new()}") for _ in jobs]
        wishes = [
            asdict(job) | {"out": str(out), "err": str(err)}
            for job, (out, err) in zip(jobs, texts, strict=True)
        ]
        answer = self._ask(wishes, at_stop)
        return [
            Ended(code=code, out=_taken(out), err=_taken(err))
            for code, (out, err) in zip(answer["ended"], texts, strict=True)
        ]

    def _ask(
        self, wishes: list[dict[str, Any]], at_stop: Callable[[], None] | None
    ) -> dict[str, Any]:
        running, self._running = self._running or _Running(self._begun_by), None
        try:
            running.tell(wishes)
            while "ended" not in (answer := running.answer()):
                try:
                    if at_stop is not None:
                        at_stop()
                finally:
                    os.kill(answer["stopped"], signal.SIGCONT)
        except BaseException:
            running.kill()
            raise
        self._running = running
        return answer

    def _new(self) -> int:
        self._count += 1
        return self._count


class _Running:
    """The process, and a thread that listens to it."""

    def __init__(self, begun_by: Sequence[str]) -> None:
        self._answers: queue.Queue[str | None] = queue.Queue()
        self._process = subprocess.Popen(
            [*begun_by, sys.executable, "-W", "ignore", "-m", "campaigns.races.server"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def tell(self, wishes: list[dict[str, Any]]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(wishes) + "\n")
        self._process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        try:
            line = self._answers.get(timeout=PATIENCE_SECONDS)
        except queue.Empty:
            raise AssertionError("the command hangs") from None
        assert line is not None, "the warm process died"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def kill(self) -> None:
        """End the process, and the commands that it runs."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self.end()

    def end(self) -> None:
        """Let the process end by itself."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait(PATIENCE_SECONDS)
        self._listener.join()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._answers.put(line)
        self._answers.put(None)


def _taken(path: Path) -> str:
    if not path.exists():
        return ""
    text = path.read_text(encoding="utf-8")
    path.unlink()
    return text
