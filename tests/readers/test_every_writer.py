"""The sample files of every writer read the same with filters added, in every reader."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import bloomify
from tests.readers.engines import ClickHouse, DataFusion, DuckDB, Engine, Spark, equals
from tests.support.draws import drawn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from parquet_bloomwriter.rewrite.plan import Placement

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
FILES = sorted(str(p.relative_to(FIXTURES)) for p in FIXTURES.glob("*/*.parquet"))
PLACEMENTS: tuple[Placement, ...] = ("column-chunk", "row-group", "end")
UNSTEADY = {("chdb", "pyarrow/odd_names.parquet")}
"""It reads columns without a name, or refuses them, as chance has it."""

ENGINES: tuple[Engine, ...] = (DuckDB(), DataFusion(), ClickHouse())


def test_there_are_files_of_every_writer() -> None:
    writers = {"pyarrow", "duckdb", "datafusion", "chdb", "polars", "fastparquet", "spark"}
    assert {Path(file).parent.name for file in FILES} == writers == set(FOR_SPARK)


def test_all_rows_are_the_same(tmp_path: Path) -> None:
    """Half of the files, each with one placement and half of the readers beside pyarrow.

    They are others in each run.
    """
    for number, file in enumerate(drawn(FILES, len(FILES) // 2)):
        old, new = FIXTURES / file, tmp_path / f"{number}.parquet"
        bloomify(old, output=new, placement=PLACEMENTS[number % len(PLACEMENTS)])
        readers = [_by_polars, _by_fastparquet, *(engine.rows for engine in ENGINES)]
        some = [one for place, one in enumerate(readers) if place % 2 == number % 2]
        if (ENGINES[-1].name, file) in UNSTEADY:
            some = readers[:-1]
        differences = [read for read in (_by_pyarrow, *some) if read(new) != read(old)]
        assert (file, differences) == (file, [])


def test_values_are_found(tmp_path: Path) -> None:
    """In a fifth of the files, and by all engines: others in each run."""
    for number, file in enumerate(drawn(FILES, len(FILES) // 5)):
        old, new = FIXTURES / file, tmp_path / f"{number}.parquet"
        bloomify(old, output=new, replace=True)
        for engine in ENGINES:
            if (engine.name, file) not in UNSTEADY:
                conditions = _conditions(engine, old)
                found, expected = (engine.counts(path, conditions) for path in (new, old))
                assert (file, found) == (file, expected)


FOR_SPARK = {
    "chdb": ("bloom", "plain"),
    "datafusion": ("bloom", "nested", "v2"),
    "duckdb": ("bloom", "types", "v2"),
    "fastparquet": ("int96", "people"),
    "polars": ("nested", "people"),
    "pyarrow": (
        *("bloom", "codec_zstd", "empty_row_groups", "every_type", "every_type_v2", "int96"),
        *("nested", "no_rows", "odd_names", "page_index"),
    ),
    "spark": ("bloom", "legacy", "v2"),
}
"""Files of each way to lay data out; for Spark, a file takes long."""


@pytest.mark.parametrize("writer", FOR_SPARK)
def test_spark_reads_the_same(writer: str, tmp_path: Path, spark: SparkSession) -> None:
    engine = Spark(spark)
    for name in FOR_SPARK[writer]:
        old, new = FIXTURES / writer / f"{name}.parquet", tmp_path / f"{name}.parquet"
        bloomify(old, output=new)
        assert engine.rows(new) == engine.rows(old)


def test_spark_finds_what_it_wrote(tmp_path: Path, spark: SparkSession) -> None:
    old, new = FIXTURES / "spark/plain.parquet", tmp_path / "new.parquet"
    assert bloomify(old, output=new).num_built > 0
    conditions = _conditions(Spark(spark), old)
    answers = Spark(spark).counts(new, conditions)
    assert answers == Spark(spark).counts(old, conditions)
    assert all(int(answer) > 0 for answer in answers)


def _conditions(engine: Engine, path: Path) -> list[str]:
    """Equalities with the first and last value of every column."""
    table = pq.read_table(path)
    conditions = []
    for name in table.column_names:
        if table.column_names.count(name) > 1:
            continue
        values = table.column(name).drop_null()
        if len(values) and not pa.types.is_nested(values.type):
            ends = (values[0].as_py(), values[-1].as_py())
            conditions += [equals(engine, name, values.type, value) for value in ends]
    return [condition for condition in conditions if condition is not None]


def _by_pyarrow(path: Path) -> str:
    return str(pq.read_table(path).to_pylist())


def _by_polars(path: Path) -> str:
    import polars as pl

    return _text(lambda: pl.read_parquet(path, glob=False).rows())


def _by_fastparquet(path: Path) -> str:
    import fastparquet

    with path.open("rb") as file:  # it would leave it open
        return _text(lambda: fastparquet.ParquetFile(file).to_pandas().to_dict("list"))


def _text(read: Any) -> str:  # noqa: ANN401  a call without arguments
    """What is read, or the name of the error."""
    try:
        return str(read())
    except BaseException as error:  # noqa: BLE001  a panic of Polars is no Exception
        return type(error).__name__
