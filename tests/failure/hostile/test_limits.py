"""The limits of a try are noticed: a process of its own breaks each of them."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

MEMORY = """
from campaigns.hostile.limits import Meter
meter = Meter()
with meter.measured() as use:
    bytes(range(256)) * (400 << 10)
print(use.peak_bytes >> 20)
with meter.measured() as use:
    pass
print(use.peak_bytes >> 20)
"""

POOL = """
import pyarrow as pa
from campaigns.hostile.limits import Meter
meter = Meter()
with meter.measured() as use:
    pa.allocate_buffer(100 << 20)
print(use.pool_bytes >> 20)
"""

HANG = """
from campaigns.hostile import limits
limits.CPU_SECONDS = 0.2
with limits.Meter().measured():
    while True:
        pass
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_memory_is_noticed_in_the_try_that_takes_it() -> None:
    first, second = map(int, run(MEMORY).stdout.split())
    assert 99 <= first < 120
    assert second < 10


def test_memory_that_is_only_reserved_is_noticed() -> None:
    assert run(POOL).stdout == "100\n"


def test_a_hang_ends_the_process_and_says_where() -> None:
    ended = run(HANG)
    assert ended.returncode == -signal.SIGPROF
    assert 'File "<string>", line' in ended.stderr
