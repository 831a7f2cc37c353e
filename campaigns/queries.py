"""Thousands of random queries with Spark's rules off and on.

A case is a seed: the same seed makes the same tables and queries.
"""

from __future__ import annotations

import logging
import shutil
from typing import TYPE_CHECKING

from campaigns.harness import Campaign, Result
from tests.spark.both_ways import eager_session
from tests.spark.generated.trials import Summary, Trial

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from campaigns.harness import Section, Tallies

QUERIES = 5_000
PER_TRIAL = 60
"""Queries of one set of tables."""

_LINE = "queries"


class Queries(Campaign):
    """Trials on one session."""

    part = "queries"
    title = "Spark's answers with the index"
    text = """
Random queries of random tables with an index run with the optimizer's rules off and on: before and
after files were appended, removed, overwritten, renamed and replaced. The results must be equal.
"""

    def open(self) -> None:
        """Begin a session."""
        logging.disable(logging.CRITICAL)
        self._spark = self.stack.enter_context(eager_session())

    def cases(self) -> Iterable[str]:
        """Return seeds until there are enough queries."""
        seed = self.plan.seed
        return map(str, range(seed, seed + self.plan.some(QUERIES // PER_TRIAL)))

    def attempt(self, name: str, show: Callable[[str], None]) -> Iterable[Result]:
        """Run a trial."""
        summary, folder = Summary(), self.plan.scratch
        trial = Trial(spark=self._spark, folder=folder, seed=int(name), summary=summary)
        trial.run(num_queries=PER_TRIAL)
        shutil.rmtree(folder / name)
        show(str(summary))
        yield Result(
            name=name,
            tried=summary.num_queries,
            wrong=len(summary.wrong),
            problems=tuple(summary.wrong),
            seen={
                "pruned": summary.pruned.total(),
                "probed": summary.probed.total(),
                "replaced": summary.num_replaced,
                "threaded": summary.num_threaded,
            },
        )

    def line(self, name: str) -> str:  # noqa: ARG002  the only one
        """Return the only line."""
        return _LINE

    def section(self, tallies: Tallies) -> Section:
        """Say how often the rules did something."""
        seen = tallies[_LINE].seen
        remark = (
            f"files were left out in {seen['pruned']:,}, "
            f"rows dropped before a join in {seen['probed']:,}; "
            f"{seen['replaced']:,} of replaced files, {seen['threaded']:,} in other threads"
        )
        return self.counted({_LINE: (_LINE, remark)}, tallies)
