"""Files on stores that are replaced between probing and reading: an error, or the new rows.

Ordinals of row groups mean nothing in another version of a file: no row may be lost by old ones.
"""

from __future__ import annotations

import pickle
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import fsspec
import polars as pl
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import FileChanged, dataset, iter_batches, read_table, scan_polars
from parquet_bloomwriter.probing import files
from parquet_bloomwriter.scan import stream, survivors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    import pyarrow.dataset as ds

    from tests.stores.conftest import Use
    from tests.stores.servers import Store

    Put: TypeAlias = Callable[[str, list[int]], None]

OLD = list(range(20))
NEW = OLD[::-1]
"""The same values and sizes, in other row groups."""

ID = 3
BOTH = f"id = {ID} AND n = {10 * ID}"


@pytest.fixture(params=["s3", "memory"])
def folder(request: pytest.FixtureRequest, use: Use) -> Iterator[str]:
    """Make a folder on a store; yield its URL."""
    if request.param == "memory":
        memory = fsspec.filesystem("memory")
        yield "memory://replaced"
        memory.rm("/replaced", recursive=True)
        return
    store: Store = request.getfixturevalue("store")
    use(store)
    yield f"s3://{request.getfixturevalue('bucket')}/replaced"


@pytest.fixture
def put(folder: str) -> Put:
    """Return a function that writes a file of these values in row groups of five."""

    def put(name: str, values: list[int]) -> None:
        sink = pa.BufferOutputStream()
        table = pa.table({"id": values, "n": [10 * one for one in values]})
        pq.write_table(table, sink, row_group_size=5, compression="none", use_dictionary=False)
        data = sink.getvalue().to_pybytes()
        if folder.startswith("memory"):
            fsspec.filesystem("memory").pipe_file(f"/replaced/{name}", data)
            time.sleep(0.03)  # more than a tick of the clock
        else:
            bucket = folder.removeprefix("s3://")
            with pafs.FileSystem.from_uri("s3://")[0].open_output_stream(f"{bucket}/{name}") as out:
                out.write(data)

    return put


def test_a_dataset_notices_another_version(folder: str, put: Put) -> None:
    for source in ("a.parquet", ""):
        put("a.parquet", OLD)
        put("b.parquet", [one + 100 for one in OLD])
        url = f"{folder}/{source}".rstrip("/")
        rows = dataset(url, filters=BOTH)
        parts = dataset(url, filters=BOTH, filter_rows=False)
        sent = pickle.loads(pickle.dumps(parts))  # noqa: S301
        for one in (rows, parts, sent):
            assert ID in one.to_table()["id"].to_pylist()
        assert len(parts.to_table()) == 5, "one row group of eight"
        put("b.parquet", NEW[:1])
        assert ID in rows.to_table()["id"].to_pylist(), "the other file is not read"

        put("a.parquet", NEW)

        reads: list[Callable[[], object]] = [
            rows.to_table,
            rows.count_rows,
            parts.to_table,
            sent.to_table,
            partial(_all_batches, rows),
            pl.scan_pyarrow_dataset(rows).collect,
        ]
        for read in reads:
            with pytest.raises(Exception, match="was changed after the dataset was made") as caught:
                read()
            assert isinstance(caught.value, FileChanged | pl.exceptions.ComputeError)
        assert dataset(url, filters=BOTH).to_table()["id"].to_pylist() == [ID]


def _all_batches(rows: ds.Dataset) -> list[pa.RecordBatch]:
    return list(rows.to_batches())


def test_rows_of_the_new_version_are_found(
    folder: str, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file is replaced when it was probed, and before it is read."""
    probe = files.probe_locations

    def then_replaced(*given: Any) -> Any:  # noqa: ANN401
        found = probe(*given)
        put("a.parquet", NEW)
        return found

    monkeypatch.setattr(survivors, "probe_locations", then_replaced)
    for source in ("a.parquet", ""):
        for read in (_whole, _batch_by_batch, _by_polars):
            put("a.parquet", OLD)
            put("b.parquet", [one + 100 for one in OLD])
            assert read(f"{folder}/{source}".rstrip("/")) == [ID]


def _whole(url: str) -> list[int]:
    found: list[int] = read_table(url, filters=BOTH)["id"].to_pylist()
    return found


def _batch_by_batch(url: str) -> list[int]:
    return [one for batch in iter_batches(url, filters=BOTH) for one in batch["id"].to_pylist()]


def _by_polars(url: str) -> list[int]:
    found: list[int] = scan_polars(url).filter(pl.sql_expr(BOTH)).collect()["id"].to_list()
    return found


def test_batches_of_two_versions_are_an_error(
    folder: str, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "_DECODED_ROWS", 1)  # else the first read takes all
    put("a.parquet", list(range(400)))
    batches = iter_batches(f"{folder}/a.parquet", filters="id < 200", batch_size=1)
    next(batches)
    put("a.parquet", list(range(400))[::-1])
    with pytest.raises(FileChanged, match="while it was read"):
        list(batches)
