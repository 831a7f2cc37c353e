"""What a caller names, and which state of tables is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import dataset, find_files, iter_batches, probe, read_table
from parquet_bloomwriter.errors import InvalidArgument
from tests.support.delta_files import Writer, column

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

VERBS = {
    "find_files": find_files,
    "probe": lambda source, **state: probe(source, "id = 1", **state),
    "read_table": read_table,
    "iter_batches": iter_batches,
    "dataset": lambda source, **state: dataset(source, filters="id = 1", **state),
}
every_verb = pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)


@pytest.fixture
def delta(tmp_path: Path) -> str:
    """A Delta table of one file."""
    writer = Writer(tmp_path / "shop", [column("id", "long", 1)], (), "none")
    writer.add(pa.table({"id": [1, 2]}))
    return str(writer.commit())


@pytest.fixture
def plain(tmp_path: Path) -> str:
    """A file that belongs to no table."""
    path = tmp_path / "plain.parquet"
    pq.write_table(pa.table({"id": [1, 2]}), path)
    return str(path)


@every_verb
@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"snapshot": 1}, "is a Delta table, which has versions and no snapshot ids"),
        ({"branch": "main"}, "is a Delta table, which has versions and no branches"),
    ],
)
def test_delta_tables_have_versions_only(
    verb: Callable[..., object], state: dict[str, object], words: str, delta: str
) -> None:
    with pytest.raises(InvalidArgument, match=words):
        verb(delta, **state)
    assert verb(delta, version=0)


@every_verb
@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"version": 0}, "is no table, so it has no versions"),
        ({"snapshot": 1}, "is no Iceberg table, so it has no snapshots"),
        ({"branch": "main"}, "is no Iceberg table, so it has no branches"),
    ],
)
def test_files_have_one_state(
    verb: Callable[..., object], state: dict[str, object], words: str, plain: str
) -> None:
    with pytest.raises(InvalidArgument, match=words):
        verb(plain, **state)
    assert verb(plain)
