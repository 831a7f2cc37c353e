"""Readers behind one face: three questions about the file at a path, which is opened anew for each.

How many rows, and what do their ids add up to? How many have an id that is there? How many one that
is not? The last two are what filters are for.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Ask = Callable[[str], "Answer"]

Answer = tuple[int, int, int, int]
"""Rows, the sum of their ids, rows with the id that is there, rows with the one that is not."""

PRESENT, ABSENT = 2, 3

_at_end = ExitStack()


def reader(name: str) -> Ask:
    """Load a reader."""
    return _READERS[name]()


def names() -> list[str]:
    """Of all readers: the engines, then our own verbs."""
    return list(_READERS)


def expected(rows: int) -> Answer:
    """The answer for the table of `files.table`."""
    return rows, rows * (rows - 1), 1, 0


def _pyarrow_file() -> Ask:
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    def ask(path: str) -> Answer:
        with pq.ParquetFile(path) as file:
            ids = file.read(["id"])["id"]
        counts = [pc.sum(pc.equal(ids, number)).as_py() for number in (PRESENT, ABSENT)]
        return len(ids), pc.sum(ids).as_py(), counts[0], counts[1]

    return ask


def _by_tables(read: Callable[..., Any]) -> Ask:
    """Of something that reads a table, all of it or what is asked for."""
    import pyarrow.compute as pc

    def ask(path: str) -> Answer:
        ids = read(path, None)["id"]
        present, absent = (len(read(path, [("id", "=", number)])) for number in (PRESENT, ABSENT))
        return len(ids), pc.sum(ids).as_py(), present, absent

    return ask


def _pyarrow() -> Ask:
    import pyarrow.parquet as pq

    return _by_tables(lambda path, filters: pq.read_table(path, filters=filters))


def _read_table() -> Ask:
    from parquet_bloomwriter import read_table

    return _by_tables(lambda path, filters: read_table(path, filters=filters))


def _read_folder() -> Ask:
    from pathlib import Path

    from parquet_bloomwriter import read_table

    return _by_tables(lambda path, filters: read_table(Path(path).parent, filters=filters))


def _iter_batches() -> Ask:
    import pyarrow as pa

    from parquet_bloomwriter import iter_batches

    schema = pa.schema([("id", pa.int64())])

    def read(path: str, filters: Any) -> pa.Table:  # noqa: ANN401  of any form
        batches = iter_batches(path, columns=["id"], filters=filters)
        return pa.Table.from_batches(batches, schema)

    return _by_tables(read)


def _dataset() -> Ask:
    from parquet_bloomwriter import dataset

    return _by_tables(lambda path, filters: dataset(path, filters=filters or "id >= 0").to_table())


def _probe() -> Ask:
    """Rows of surviving row groups, which need not hold the id, but for an absent one are none."""
    from parquet_bloomwriter import probe, read_table

    def ask(path: str) -> Answer:
        report = probe(path, f"id = {PRESENT}")
        none = probe(path, f"id = {ABSENT} AND id = {PRESENT}")
        ids = read_table(path, columns=["id"])["id"]
        assert all(one.error is None for one in (*report.files, *none.files)), report
        present = sum(len(one.surviving) for one in report.files)
        return len(ids), sum(ids.to_pylist()), int(present > 0), 0

    return ask


def _duckdb() -> Ask:
    import duckdb

    connection = duckdb.connect(config={"threads": 1})

    def one(query: str) -> tuple[Any, ...]:
        found: tuple[Any, ...] = connection.execute(query).fetchall()[0]
        return found

    def ask(path: str) -> Answer:
        rows, total = one(f"SELECT count(*), sum(id) FROM '{path}'")  # noqa: S608
        present, absent = (
            one(f"SELECT count(*) FROM '{path}' WHERE id = {number}")[0]  # noqa: S608
            for number in (PRESENT, ABSENT)
        )
        return int(rows), int(total), int(present), int(absent)

    return ask


def _datafusion() -> Ask:
    import datafusion

    def one(path: str, query: str) -> list[int]:
        """A new context, as the old one keeps footers."""
        context = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(1))
        context.register_parquet("t", path)
        return [int(values[0]) for values in context.sql(query).to_pydict().values()]

    def ask(path: str) -> Answer:
        rows, total = one(path, "SELECT count(name) AS n, sum(id) AS total FROM t")
        present, absent = (
            one(path, f"SELECT count(name) AS n FROM t WHERE id = {number}")[0]  # noqa: S608
            for number in (PRESENT, ABSENT)
        )
        return rows, total, present, absent

    return ask


def _polars() -> Ask:
    import polars as pl

    def ask(path: str) -> Answer:
        whole = pl.scan_parquet(path).select(pl.col("id").sum().alias("sum"), n=pl.len()).collect()
        present, absent = (
            pl.scan_parquet(path).filter(pl.col("id") == number).collect().height
            for number in (PRESENT, ABSENT)
        )
        return int(whole["n"][0]), int(whole["sum"][0]), present, absent

    return ask


def _chdb() -> Ask:
    import chdb

    def one(query: str) -> list[int]:
        return [int(number) for number in str(chdb.query(query, "CSV")).split(",")]

    def ask(path: str) -> Answer:
        file = f"file('{path}', Parquet)"
        rows, total = one(f"SELECT count(name), sum(id) FROM {file}")  # noqa: S608
        present, absent = (
            one(f"SELECT count(name) FROM {file} WHERE id = {number}")[0]  # noqa: S608
            for number in (PRESENT, ABSENT)
        )
        return rows, total, present, absent

    return ask


def _spark() -> Ask:
    from tests.support.spark_session import local_session

    session = _at_end.enter_context(local_session({}))

    def one(path: str, condition: str) -> list[int]:
        frame = session.read.parquet(path).where(condition)
        row = frame.selectExpr("count(name)", "coalesce(sum(id), 0)").first()
        assert row is not None
        return [int(number) for number in row]

    def ask(path: str) -> Answer:
        rows, total = one(path, "true")
        present, absent = (one(path, f"id = {number}")[0] for number in (PRESENT, ABSENT))
        return rows, total, present, absent

    return ask


_READERS: dict[str, Callable[[], Ask]] = {
    "pyarrow-file": _pyarrow_file,
    "pyarrow": _pyarrow,
    "duckdb": _duckdb,
    "datafusion": _datafusion,
    "polars": _polars,
    "chdb": _chdb,
    "spark": _spark,
    "read_table": _read_table,
    "read_folder": _read_folder,
    "iter_batches": _iter_batches,
    "dataset": _dataset,
    "probe": _probe,
}


def current(folder: Path) -> Path:
    """The file that is asked about now: a fixed one, or the one with the number that is noted."""
    note = folder / "number"
    name = f"{note.read_text()}.parquet" if note.exists() else "a.parquet"
    return folder / "table" / name
