"""A share of the faults, writers and kills of `make torture`, drawn anew in each run."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest

from campaigns.harness import Plan, torture

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.shares
def test_an_object_is_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    section = torture("stores", Plan(share=0.01, seed=secrets.randbelow(1 << 31), scratch=tmp_path))
    assert section.problems == ()
    assert section.tried > 20
