"""`--dialect murmur3` and its seed: what `add` writes, `probe` and `verify` find."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Invoke

SEEDED = ("--dialect", "murmur3", "--murmur3-seed", "1361930890")
PRESENT, ABSENT = "email = 'user7@mail.example'", "email = 'user7x@mail.example'"


@pytest.fixture
def events(folder: Path) -> Path:
    """Write events.parquet: two row groups of 100 addresses, about which only filters decide."""
    path = folder / "events.parquet"
    table = pa.table({"id": range(200), "email": [f"user{i}@mail.example" for i in range(200)]})
    pq.write_table(table, path, row_group_size=100, use_dictionary=False, write_statistics=False)
    return path


@pytest.mark.parametrize("options", [("--dialect", "murmur3"), SEEDED])
def test_what_was_written_is_found(events: Path, invoke: Invoke, options: tuple[str, ...]) -> None:
    assert invoke(str(events), "--columns", "id,email", *options).exit_code == 0
    assert invoke("probe", str(events), "--where", PRESENT, *options).exit_code == 0
    absent = invoke("probe", str(events), "--where", ABSENT, *options)
    assert (absent.exit_code, "none of 2 row groups can match" in absent.stdout) == (1, True)
    verified = invoke("verify", str(events), *options)
    assert (verified.exit_code, "UNCHECKED" in verified.stdout) == (0, False)
    assert "4 filters OK, 400 values looked up" in verified.stdout


def test_without_the_options_nothing_is_decided(events: Path, invoke: Invoke) -> None:
    invoke(str(events), "--columns", "id,email", *SEEDED)
    absent = invoke("probe", str(events), "--where", ABSENT)
    assert (absent.exit_code, "draft" in absent.stdout) == (0, True)
    assert "4 UNCHECKED" in invoke("verify", str(events)).stdout
    released = invoke("probe", str(events), "--where", ABSENT, "--dialect", "xxhash")
    assert _verdicts(released.stdout) == _verdicts(absent.stdout)


def _verdicts(shown: str) -> str:
    """All but the requests and bytes: a footer may be known from the probe before."""
    return shown.rsplit(", ", 2)[0]


def test_another_seed_finds_nothing(events: Path, invoke: Invoke) -> None:
    invoke(str(events), "--columns", "id,email", *SEEDED)
    verified = invoke("verify", str(events), "--dialect", "murmur3")
    assert (verified.exit_code, "4 FAILED" in verified.stdout) == (1, True)


@pytest.mark.parametrize(
    "line",
    [
        ("events.parquet", "--columns", "id"),
        ("verify", "events.parquet"),
        ("probe", "events.parquet", "--where", "id = 1"),
    ],
)
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--murmur3-seed", "5"), "a seed goes with --dialect murmur3"),
        (("--murmur3-seed", "5", "--dialect", "xxhash"), "a seed goes with --dialect murmur3"),
        (("--dialect", "murmur3", "--murmur3-seed", "-1"), "0<=x<=4294967295"),
        (("--dialect", "murmur3", "--murmur3-seed", "4294967296"), "0<=x<=4294967295"),
        (("--dialect", "md5"), "'md5'"),
    ],
)
def test_seeds_and_dialects_that_there_are_not(
    events: Path,
    invoke: Invoke,
    line: tuple[str, ...],
    options: tuple[str, ...],
    reason: str,
) -> None:
    before = events.read_bytes()
    result = invoke(*line, *options)
    assert (result.exit_code, result.stdout, reason in result.stderr) == (2, "", True)
    assert events.read_bytes() == before


def test_the_seed_may_come_before_the_dialect(events: Path, invoke: Invoke) -> None:
    result = invoke(str(events), "--columns", "id", "--murmur3-seed", "5", "--dialect", "murmur3")
    assert result.exit_code == 0
