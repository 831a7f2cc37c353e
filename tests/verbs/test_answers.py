"""A share of the random predicates of `make torture`, drawn anew in each run."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest

from campaigns.harness import Plan, torture

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.shares
def test_verbs_return_the_rows_that_plain_python_selects(tmp_path: Path) -> None:
    section = torture(
        "answers", Plan(share=0.006, seed=secrets.randbelow(1 << 31), scratch=tmp_path)
    )
    assert section.problems == ()
    assert section.tried > 400
