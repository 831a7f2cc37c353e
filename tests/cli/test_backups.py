"""Backups never lie where readers of the inputs find them."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Invoke

    Listing = Callable[[], dict[str, bytes]]

NAMES = ("day=1/a.parquet", "day=2/b.PARQUET")
REWRITING = (["add", "--columns", "id"], ["strip"], ["repair"])


@pytest.fixture
def warehouse(events: Path) -> Path:
    """Make a folder of two files."""
    folder = events.with_name("warehouse")
    for name in NAMES:
        (folder / name).parent.mkdir(parents=True)
        shutil.copy(events, folder / name)
    events.unlink()
    return folder


@pytest.mark.parametrize("given", ["warehouse", "warehouse/", "warehouse/*/*"])
@pytest.mark.parametrize("verb", REWRITING)
def test_a_suffix_is_refused_for_folders_and_patterns(
    warehouse: Path, invoke: Invoke, listing: Listing, verb: list[str], given: str
) -> None:
    before, rows = listing(), pq.read_table(warehouse, partitioning=None).num_rows
    result = invoke(verb[0], given, "--backup", ".old", *verb[1:])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f'bloomify: readers of "{given}" would read the backups, too; keep them elsewhere, with '
        f"--backup-dir. See bloomify {verb[0]} --help.\n"
    )
    assert listing() == before
    assert pq.read_table(warehouse, partitioning=None).num_rows == rows


@pytest.mark.parametrize("verb", REWRITING)
def test_a_suffix_is_refused_for_what_a_shell_makes_of_a_pattern(
    warehouse: Path, invoke: Invoke, listing: Listing, verb: list[str]
) -> None:
    before = listing()
    given = [f"{warehouse.name}/{name}" for name in NAMES]
    result = invoke(verb[0], *given, "--backup", ".old", *verb[1:])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "readers of several files would read the backups, too" in result.stderr
    assert listing() == before


@pytest.mark.parametrize("options", [["--backup", ".old"], ["--backup-dir", "old"]])
def test_no_backup_beside_other_parquet_files(
    events: Path, invoke: Invoke, listing: Listing, options: list[str]
) -> None:
    shutil.copy(events, "other.PARQUET")
    before = listing()
    result = invoke(events.name, "--columns", "id", *options)
    assert (result.exit_code, result.stdout) == (5, "")
    assert "readers of the folder of the file would read the backup, too" in result.stderr
    assert f"Name a folder outside of {events.parent}, with --backup-dir." in result.stderr
    assert listing() == before


def test_a_folder_of_backups_keeps_the_tree(
    warehouse: Path, invoke: Invoke, listing: Listing
) -> None:
    before = listing()
    result = invoke("warehouse", "--columns", "id", "--backup-dir", "kept/today")
    assert (result.exit_code, result.stderr) == (0, "")
    kept = {name.removeprefix("kept/today/"): data for name, data in listing().items()}
    assert {name: kept[name] for name in NAMES} == {
        name: before[f"warehouse/{name}"] for name in NAMES
    }
    assert all((warehouse / name).read_bytes() != kept[name] for name in NAMES)
    again = invoke("strip", "warehouse", "--backup-dir", "kept/today")
    assert (again.exit_code, again.stdout) == (5, "")
    assert "the backup exists already" in again.stderr


def test_a_folder_among_the_inputs_is_refused(
    warehouse: Path, invoke: Invoke, listing: Listing
) -> None:
    before = listing()
    for verb in REWRITING:
        result = invoke(verb[0], "warehouse", "--backup-dir", "warehouse/old", *verb[1:])
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr == (
            'bloomify: backups in "warehouse/old" would be read by readers of "warehouse", too. '
            "Name a folder outside of it.\n"
        )
    both = invoke("warehouse", "--columns", "id", "--backup", "~", "--backup-dir", "kept")
    assert (both.exit_code, both.stdout) == (2, "")
    assert "--backup and --backup-dir exclude each other" in both.stderr
    assert listing() == before
    assert warehouse.is_dir()


@pytest.mark.parametrize("verb", REWRITING)
def test_a_file_is_no_folder_for_backups(
    warehouse: Path, invoke: Invoke, listing: Listing, verb: list[str]
) -> None:
    (warehouse.parent / "kept").write_text("a plain file")
    before = listing()
    result = invoke(verb[0], "warehouse", "--backup-dir", "kept", *verb[1:])
    message = "bloomify: kept: backups go to a folder, and this is none."
    assert (result.exit_code, result.stdout) == (2, "")
    assert (result.stderr.count("\n"), result.stderr[: len(message)]) == (1, message)
    assert listing() == before
