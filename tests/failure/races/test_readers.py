"""Our readers, and one that opens the path once, while a file is replaced; and who notices what."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from campaigns.races.commands import Warm
from campaigns.races.files import ROWS, sample
from campaigns.races.readers import ONCE
from campaigns.races.replacing import race, race_at_end
from parquet_bloomwriter import bloomify, dataset, iter_batches, read_table, strip
from parquet_bloomwriter.probing import files
from parquet_bloomwriter.scan import survivors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from parquet_bloomwriter.probing.report import ProbeReport

REPLACEMENTS = 4
"""One of each kind."""


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    """Begin the process before readers do, which ask without a pause until the race is over."""
    with Warm() as running:
        running.run("--version").expect(0)
        yield running


def test_readers_of_one_version_notice_no_replacement(warm: Warm, tmp_path: Path) -> None:
    names = (*ONCE, "read_table")
    for seen in race(warm, tmp_path, names, REPLACEMENTS):
        assert (seen.others, seen.right > 0) == ({}, True), seen.reader


def test_nobody_notices_filters_at_the_end(warm: Warm, tmp_path: Path) -> None:
    for seen in race_at_end(warm, tmp_path, ("duckdb", "pyarrow"), REPLACEMENTS):
        assert (seen.others, seen.right > 0) == ({}, True), seen.reader


def _by_table(path: Path) -> int:
    return len(read_table(path, filters="id >= 0 AND NOT id = 2"))


def _by_batches(path: Path) -> int:
    return sum(len(one) for one in iter_batches(path, filters="id >= 0 AND NOT id = 2"))


def _by_dataset(path: Path) -> int:
    return len(dataset(path, filters="id >= 0 AND NOT id = 2").to_table())


def _when_probed(monkeypatch: pytest.MonkeyPatch, then: Callable[[], object], times: int) -> None:
    """Do something after files were probed, and before they are scanned."""
    real = files.probe_locations
    left = [times]

    def probe(*args: Any) -> ProbeReport:  # noqa: ANN401  as the real one
        found = real(*args)
        if left[0]:
            left[0] -= 1
            then()
        return found

    monkeypatch.setattr(survivors, "probe_locations", probe)


@pytest.mark.parametrize("is_folder", [False, True])
@pytest.mark.parametrize("read", [_by_table, _by_batches, _by_dataset])
@pytest.mark.parametrize("work", [lambda path: bloomify(path, ["name"]), strip])
def test_a_file_that_is_replaced_after_it_was_probed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    read: Callable[[Path], int],
    work: Callable[[Path], object],
    is_folder: bool,  # noqa: FBT001  given by pytest
) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(sample().bloomed if work is strip else sample().plain)
    _when_probed(monkeypatch, lambda: work(path), 1)
    assert read(tmp_path if is_folder else path) == ROWS - 1


def _file(ids: range) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table({"id": ids}), out, row_group_size=25)
    return out.getvalue()


@pytest.mark.parametrize("is_folder", [False, True])
@pytest.mark.parametrize("read", [read_table, iter_batches])
def test_a_file_whose_rows_move_to_other_row_groups(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    read: Callable[..., Iterable[Any]],
    is_folder: bool,  # noqa: FBT001  given by pytest
) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(_file(range(100)))

    def turn_round() -> None:
        (tmp_path / "_new").write_bytes(_file(range(99, -1, -1)))
        (tmp_path / "_new").replace(path)

    _when_probed(monkeypatch, turn_round, 1)
    found = read(tmp_path if is_folder else path, filters="id < 5")
    batches = found.to_batches() if isinstance(found, pa.Table) else found
    ids = [row["id"] for batch in batches for row in batch.to_pylist()]
    assert sorted(ids) == [0, 1, 2, 3, 4]


def test_files_that_are_replaced_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(_file(range(100)))
    _when_probed(monkeypatch, lambda: path.write_bytes(_file(range(99, -1, -1))), 100)
    assert sorted(read_table(tmp_path, filters="id < 5")["id"].to_pylist()) == [0, 1, 2, 3, 4]
