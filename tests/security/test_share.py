"""A fixed share of what `torture` tries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from campaigns.harness import Plan, torture
from campaigns.security.mutations import change_bytes, change_field, make_table, num_fields
from campaigns.security.random_text import attempt

if TYPE_CHECKING:
    from pathlib import Path

_SEED = 1_000_000
"""Apart from those that the whole torture begins with."""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mutations") / "original"
    make_table(folder)
    return folder


@pytest.mark.parametrize("seed", range(_SEED, _SEED + 12))
def test_random_text(tmp_path: Path, seed: int) -> None:
    assert attempt(seed, tmp_path) == []


@pytest.mark.parametrize("seed", range(_SEED, _SEED + 80, 10))
def test_files_of_indexes(original: Path, tmp_path: Path, seed: int) -> None:
    results = [change_bytes(original, tmp_path, seed + more) for more in range(10)]
    assert [result.problem for result in results if result.problem] == []


def test_fields_of_logs(original: Path, tmp_path: Path) -> None:
    whole = num_fields(original)
    results = [change_field(original, tmp_path, one) for one in range(0, whole, whole // 25)]
    assert [result.problem for result in results if result.problem] == []


def test_the_whole_of_it_runs(tmp_path: Path) -> None:
    section = torture("security", Plan(share=0.0005, seed=_SEED, scratch=tmp_path))
    assert section.problems == ()
    assert section.tried == section.survived > 2
