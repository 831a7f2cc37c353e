"""Indexes of tests have several parts, as those of large tables have."""

from __future__ import annotations

import pytest

from parquet_bloomwriter.index.build import group


@pytest.fixture(autouse=True)
def _small_tables_get_several_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "_WORTH_A_GROUP", 1)
