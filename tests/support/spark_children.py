"""Processes with a Spark of their own, and their end."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.spark_session import PROJECT, WORKERS

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARK = "BLOOMIFY_TEST_CHILD"
_PATIENCE_S = 600
"""Much longer than anything takes: it only ends what hangs."""


class Child:
    """A Python process, and all that it starts: the JVM, and the workers of Spark."""

    def __init__(self, script: Path, *arguments: str, **environment: str) -> None:
        self.mark = secrets.token_hex(8)
        inherited = {name: value for name, value in os.environ.items() if "SPARK" not in name}
        own = {_MARK: self.mark, "PYTHONPATH": str(PROJECT), **WORKERS, **environment}
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(script), *arguments],
            env=inherited | own,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def result(self) -> Any:  # noqa: ANN401  whatever it prints
        """Wait, and read the last line that it printed as JSON."""
        try:
            out, err = self.process.communicate(timeout=_PATIENCE_S)
        finally:
            self.kill()
        assert self.process.returncode == 0, err[-4000:]
        return json.loads(out.splitlines()[-1])

    def kill(self) -> None:
        """Kill whatever is left of it, all at once and without warning."""
        deadline = time.monotonic() + _PATIENCE_S
        while left := list(self._processes()):
            for process in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            assert time.monotonic() < deadline
            self.process.poll()
            time.sleep(0.01)
        self.process.communicate()

    def _processes(self) -> Iterator[int]:
        """Processes with our mark in their environment that are not merely waited for."""
        mark = f"{_MARK}={self.mark}".encode()
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mark in (folder / "environ").read_bytes():
                    yield int(folder.name)
