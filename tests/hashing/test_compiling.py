"""Single values never wait for a compiler, and compiled kernels are kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

SINGLE_VALUES = """
import sys
from parquet_bloomwriter.hashing import hash_plain, plain_bytes
from parquet_bloomwriter.sbbf import Sbbf, num_blocks_for
built = Sbbf.empty(num_blocks_for(1000, 0.01))
h = hash_plain(plain_bytes(5, "INT64"))
built.insert_hash(h)
print(Sbbf.from_bytes(built.fold_to_target_fpp(0.01).to_bytes()).check_hash(h))
print(sorted({"numba", "llvmlite", "pyarrow"} & sys.modules.keys()))
"""

KEPT = """
from parquet_bloomwriter.hashing import kernels_are_compiled, warm_up
before = kernels_are_compiled()
warm_up()
print(before, kernels_are_compiled())
"""


# What numba does if neither the package's folder nor the user's cache can be written.
NOWHERE = """
from numba.core.dispatcher import Dispatcher
def enable_caching(self):
    raise RuntimeError("cannot cache function: no locator available")
Dispatcher.enable_caching = enable_caching
"""


def run(script: str, **environment: str) -> list[str]:
    """Run a script in a process of its own and return its words."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_single_values_load_neither_numba_nor_pyarrow() -> None:
    assert run(SINGLE_VALUES) == ["True", "[]"]


def test_kernels_are_compiled_once(tmp_path: Path) -> None:
    folder = str(tmp_path)
    assert run(KEPT, NUMBA_CACHE_DIR=folder) == ["False", "True"]
    assert run(KEPT, NUMBA_CACHE_DIR=folder) == ["True", "True"]


def test_kernels_work_where_nothing_can_be_kept() -> None:
    assert run(NOWHERE + KEPT) == ["False", "False"]
