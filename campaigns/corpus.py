"""Every file of the corpus is probed, rewritten in each placement, verified, and read by pyarrow.

A case is a shard of the files, by number.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from campaigns.harness import Campaign, Result
from tests.corpus.test_every_file import SHARDS, ends_well
from tests.corpus.test_probing import answers_or_is_refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from campaigns.harness import Section, Tallies

ROOT = Path(__file__).resolve().parents[1]
_REMARKS: Final = {
    "files rewritten": "and read back",
    "files refused": "untouched, with the reason",
    "files nothing to do": "no column can have filters",
    "shards that failed": "",
}


class Corpus(Campaign):
    """The files in the folder that BLOOMIFY_CORPUS names."""

    part = "corpus"
    title = "Other writers' files"
    text = """
Each real file is rewritten in each placement and verified, or refused and left as it is. pyarrow
must read the same, and find every value in its filters; `strip` must give the old bytes back.
"""

    def cases(self) -> Iterable[str]:
        """Return as many shards as are planned."""
        return map(str, range(self.plan.some(SHARDS)))

    def attempt(self, name: str, show: Callable[[str], None]) -> Iterable[Result]:
        """Take a shard."""
        corpus = Path(os.environ.get("BLOOMIFY_CORPUS", ROOT / "../shared/corpus")).resolve()
        answers_or_is_refused(int(name), corpus)
        outcomes = ends_well(int(name), corpus, self.plan.scratch)
        show("\n".join(f"{outcome['path']}: {outcome['status']}" for outcome in outcomes))
        statuses = Counter(status for one in outcomes for status in set(one["status"].values()))
        for status, number in statuses.items():
            yield Result(name=name, line=f"files {status}", tried=number)

    def line(self, name: str) -> str:  # noqa: ARG002  the only one
        """Return where a shard is counted in which something is wrong."""
        return "shards that failed"

    def section(self, tallies: Tallies) -> Section:
        """Count by what became of the files."""
        return self.counted({line: (line, remark) for line, remark in _REMARKS.items()}, tallies)
