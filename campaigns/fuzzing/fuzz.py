"""Fuzz one target with Atheris, in a process of its own.

    python -m campaigns.fuzzing.fuzz TARGET CORPUS [options of libFuzzer]

What was found before is tried first, which loads what all tries need. The package is instrumented.
Its compiled loops are machine code, which is not: the scan of footers runs as it is, and
`same_scan` holds the compiled form against it.
"""

from __future__ import annotations

import sys
import time
from importlib import import_module
from typing import TYPE_CHECKING

from campaigns.hostile.limits import CPU_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

_LATE = (
    *("predicate.sql", "predicate.arrow_in", "predicate.arrow_out", "probing.evaluation"),
    *("probing.dictionary", "predicate.sql_literals", "predicate.iso_8601"),
)
"""Modules that the package imports when they are needed: too late to be instrumented."""


def main() -> None:
    """Fuzz until the time is over, or something is found."""
    target, *options = sys.argv[1:]
    atheris = import_module("atheris")
    with atheris.instrument_imports(include=["parquet_bloomwriter"]):
        targets = import_module("campaigns.fuzzing.targets")
        seeds = import_module("campaigns.fuzzing.files").seeds
        for name in _LATE:
            import_module(f"parquet_bloomwriter.{name}")
    kernels = import_module("parquet_bloomwriter.kernels")
    reference = import_module("parquet_bloomwriter.kernels.reference")
    kernels.scan = reference.scan  # type: ignore[attr-defined]  # its coverage guides the fuzzer
    fuzzed = targets.TARGETS[target]
    for seed in seeds(target):
        fuzzed(seed)
    atheris.Setup([sys.argv[0], *options], limited(fuzzed))
    atheris.Fuzz()


def limited(fuzzed: Callable[[bytes], None]) -> Callable[[bytes], None]:
    """The same, with a limit on the processor's time: a loaded machine is no hang."""

    def run(data: bytes) -> None:
        began = time.process_time()
        fuzzed(data)
        taken = time.process_time() - began
        if taken > CPU_SECONDS:
            raise TimeoutError(f"{taken:.1f} s of processor time")

    return run


if __name__ == "__main__":
    main()
