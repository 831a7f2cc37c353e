"""The file that most tests replace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.replacing import OLD

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Write a file, alone in its folder."""
    path = tmp_path / "a.parquet"
    path.write_bytes(OLD)
    return path
