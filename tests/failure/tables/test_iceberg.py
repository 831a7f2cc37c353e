"""A share of the races of `make torture` on Iceberg tables, drawn anew in each run."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from campaigns.harness import Plan, torture

if TYPE_CHECKING:
    from pathlib import Path


def test_a_table_that_others_write_to(tmp_path: Path) -> None:
    section = torture(
        "iceberg", Plan(share=0.002, seed=secrets.randbelow(1 << 31), scratch=tmp_path)
    )
    assert section.problems == ()
    assert section.tried == 9
