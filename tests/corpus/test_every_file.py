"""Every file of the corpus is rewritten and verified, refused untouched, or left as it is.

What `support.rewriting` and `support.reading` say about a file they say as problems; here there
must be none. The tests draw one shard of the files, the torture takes all of them.
"""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING

import pytest

from tests.support.manifest import Entry, entries, file_of
from tests.support.workers import Crash, work

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.support.workers import Task

pytestmark = pytest.mark.shares

SHARDS = 8
OUTCOMES = {"rewritten", "refused", "nothing to do"}
PEAK_BYTES = 1 << 30

REFUSED_THOUGH_READABLE = {
    # Its page index lies behind the end of the file. Adding filters would move the end behind the
    # index, and bytes of ours would be taken for it.
    "r-lib__nanoparquet/tests/testthat/data/repeated_primitive_no_list_no_nest.parquet",
}
"""Normal files that pyarrow reads and we do not touch, with the reason."""

ABORTS_PYARROW_TOLERATED = {"fuzz", "malformed"}


def test_every_file_ends_well(corpus_dir: Path, tmp_path: Path) -> None:
    ends_well(secrets.randbelow(SHARDS), corpus_dir, tmp_path)


def ends_well(shard: int, corpus_dir: Path, tmp_path: Path) -> list[Task]:
    """Assert it of one shard of the files; return their outcomes."""
    chosen = {str(file_of(corpus_dir, e.path)): e for e in entries(corpus_dir)[shard::SHARDS]}
    outcomes = rewritten(chosen, tmp_path)
    assert problems_of(outcomes) == {}
    assert {status for o in outcomes for status in o["status"].values()} <= OUTCOMES
    assert max(outcome["peak_bytes"] for outcome in outcomes) < PEAK_BYTES
    refused = {chosen[o["path"]] for o in outcomes if "refused" in o["status"].values()}
    readable = {e.path for e in refused if e.kind == "normal" and e.pyarrow_reads}
    assert readable <= REFUSED_THOUGH_READABLE
    readings = read_back(outcomes, chosen)
    assert problems_of(readings) == {}
    built = {outcome["path"]: len(outcome["built"]) for outcome in outcomes}
    told = sum(reading["num_filters"] for reading in readings)
    assert told >= 0.98 * sum(built[r["path"]] for r in readings if r["readable"])
    assert sum(reading["num_lookups"] for reading in readings) > 10 * told
    return outcomes


def rewritten(files: Sequence[str] | dict[str, Entry], scratch: Path) -> list[Task]:
    """Rewrite all files; none may crash the process."""
    tasks = [{"path": path} for path in files]
    answers = list(work("tests.support.rewriting", tasks, str(scratch)))
    assert [answer for answer in answers if isinstance(answer, Crash)] == []
    outcomes = [answer for answer in answers if not isinstance(answer, Crash)]
    assert [outcome["path"] for outcome in outcomes] == list(files)
    return outcomes


def read_back(outcomes: list[Task], files: dict[str, Entry]) -> list[Task]:
    """Read all old and new files; pyarrow may crash, but only on broken files, and on the old."""
    tasks = [{key: o[key] for key in ("path", "new", "built")} for o in outcomes]
    readings = []
    for answer in work("tests.support.reading", tasks):
        if isinstance(answer, Crash):
            assert not answer.passed, answer
            assert files[answer.path].kind in ABORTS_PYARROW_TOLERATED, answer
        else:
            readings.append(answer)
    return readings


def problems_of(answers: list[Task]) -> dict[str, str]:
    """By file, what is wrong."""
    return {a["path"]: json.dumps(a["problems"]) for a in answers if a["problems"]}
