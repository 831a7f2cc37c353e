"""Tries cases of a campaign in a process that they may crash: `support.workers` has the frame.

python -m campaigns.worker PART SCRATCH SHARE SEED
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from campaigns.harness import Plan, attempt, campaign_of
from tests.support.workers import tell


def main() -> None:
    """Try what the lines of the standard input name."""
    part, scratch, share, seed = sys.argv[1:]
    plan = Plan(scratch=Path(scratch), share=float(share), seed=int(seed))
    with campaign_of(part)(plan) as campaign:
        for line in sys.stdin:
            name = json.loads(line)["path"]
            tell({"begins": name})
            results = attempt(campaign, name, _live)
            tell({"results": [asdict(result) for result in results]})
    os._exit(0)  # How libraries take themselves down is their own affair.


def _live(_: str) -> None:
    """Give a sign of life; what is shown is for those who try a case again."""
    tell({"begins": ""})


if __name__ == "__main__":
    main()
