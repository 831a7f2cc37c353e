"""Which allocator pyarrow gets in the process of the command."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

VARIABLE = "ARROW_DEFAULT_MEMORY_POOL"
PROGRAM = """
from bloomify import main

class Probe:
    def main(prog_name):
        import pyarrow
        print(pyarrow.default_memory_pool().backend_name)

main.cli = Probe
main.main()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="measured on Linux only")
@pytest.mark.parametrize(("asked", "used"), [(None, "system"), ("mimalloc", "mimalloc")])
def test_memory_comes_from_the_c_library_unless_told_otherwise(
    asked: str | None, used: str
) -> None:
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    if asked is not None:
        environment[VARIABLE] = asked
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    assert (run.stdout, run.stderr) == (f"{used}\n", "")
