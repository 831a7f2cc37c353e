"""Tables for tests of the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.delta_tables import make_table

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of three files, versions 0 to 2."""
    return make_table(tmp_path / "t", rows=50)
