"""The matrix of releases, with the installed ones and an old one: what changes, a hazard says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.filters.hazards import HAZARDS, Reading
from parquet_bloomwriter.verbs.engines import queries
from tests.readers.releases import judging
from tests.readers.releases.cases import PLACEMENTS, asked_of
from tests.readers.releases.page import rewritten, table_of

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from parquet_bloomwriter.verbs.engines.queries import Reply


def test_installed_engines_lose_no_rows(tmp_path: Path) -> None:
    asked = list(asked_of(("INT(32, signed)", "BYTE_ARRAY"), ("plain",), tmp_path))
    assert {one.reading for one in asked} == set(Reading)
    for engine in ("duckdb", "datafusion", "clickhouse"):
        found = judging.judge(engine, engine, asked)
        assert (found.unknown, found.hazards) == ((), frozenset())
        assert found.num_compared > 0.9 * len(PLACEMENTS) * len(asked)


def test_an_old_release(tmp_path: Path, old_duckdb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list(asked_of(("BYTE_ARRAY",), ("plain",), tmp_path / "files"))
    answers: list[Reply] = []

    def ask(*given: Any, **options: Any) -> list[Reply]:  # noqa: ANN401  passed on
        answers[:] = answers or queries.ask(*given, **options)
        return answers

    monkeypatch.setattr(judging, "ask", ask)  # for both judgements, once
    found = judging.judge("duckdb", "duckdb==1.5.5", asked, python=str(old_duckdb))
    assert (found.version, found.unknown) == ("1.5.5", ())
    assert found.hazards == {HAZARDS[0]}
    own = [found.known[placement, Reading.OWN] for placement in PLACEMENTS]
    assert own[0] == own[1] == own[2] > 0
    page = rewritten("## Engines that lose rows\n\n## Next\n", [found])
    assert table_of([found]) in page
    assert rewritten(page) == page
    monkeypatch.setattr(judging, "HAZARDS", ())
    found = judging.judge("duckdb", "duckdb==1.5.5", asked, python=str(old_duckdb))
    assert not found.known
    assert any("BYTE_ARRAY, plain, end" in line for line in found.unknown)
