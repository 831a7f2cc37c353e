"""Every file of the corpus is rewritten in each placement, verified, and read by pyarrow."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from tests.corpus.test_every_file import SHARDS, ends_well
from tests.torture.section import Count, Section, Torture, of_counts

if TYPE_CHECKING:
    from tests.support.workers import Task

ROOT = Path(__file__).resolve().parents[2]
TEXT = """
Real files of many writers, fuzzed and malformed ones among them. Each is rewritten in each
placement and verified, or refused with an error of ours and left alone; pyarrow reads the same from
the new version, and finds every value in its filters; `strip` gives the old bytes back.
"""
_REMARKS = {
    "rewritten": "and read back",
    "refused": "untouched, with the reason",
    "nothing to do": "no column can have filters",
}


def torture(plan: Torture) -> Section:
    """Take as many shards as asked for."""
    corpus = Path(os.environ.get("BLOOMIFY_CORPUS", ROOT / "../shared/corpus")).resolve()
    outcomes: list[Task] = []
    problems: list[str] = []
    for shard in range(plan.some(SHARDS)):
        try:
            outcomes += ends_well(shard, corpus, plan.scratch)
        except AssertionError as error:
            problems.append(f"shard {shard} of {SHARDS}: {error}")
        plan.say(f"{len(outcomes):,} files")
    statuses = Counter(status for outcome in outcomes for status in set(outcome["status"].values()))
    counts = [
        Count(what=f"files {what}", tried=statuses[what], survived=statuses[what], remark=remark)
        for what, remark in _REMARKS.items()
    ]
    return of_counts("Other writers' files", TEXT, tuple(counts), tuple(problems))
