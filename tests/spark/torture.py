"""Thousands of random queries with the rules off and on: `python -m tests.spark.torture`.

    --seed N        where to begin (0); the same seed makes the same tables and queries
    --queries N     how many (5000)
    --per-trial N   queries of one set of tables (60)

Exits with 1 if an answer changed, and prints what is needed to find it again.
"""

from __future__ import annotations

import argparse
import logging
import shutil
import sys
import tempfile
from pathlib import Path

from tests.spark.both_ways import eager_session
from tests.spark.generated.trials import Summary, Trial


def main() -> int:
    """Run trials until there were enough queries."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--queries", type=int, default=5000)
    parser.add_argument("--per-trial", type=int, default=60)
    options = parser.parse_args()
    summary = Summary()
    seed = options.seed
    with eager_session() as spark, tempfile.TemporaryDirectory(prefix="torture-") as folder:
        while summary.num_queries < options.queries:
            before = len(summary.wrong)
            trial = Trial(spark=spark, folder=Path(folder), seed=seed, summary=summary)
            trial.run(num_queries=options.per_trial)
            for wrong in summary.wrong[before:]:
                _say(wrong)
            _say(_progress(summary, seed))
            shutil.rmtree(Path(folder) / str(seed))
            seed += 1
    _say(f"seeds {options.seed} to {seed - 1}\n{summary}")
    return int(bool(summary.wrong))


def _progress(summary: Summary, seed: int) -> str:
    return (
        f"seed {seed}: {summary.num_queries} queries, {summary.pruned.total()} pruned, "
        f"{summary.probed.total()} joins filtered, {len(summary.wrong)} wrong"
    )


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    sys.exit(main())
