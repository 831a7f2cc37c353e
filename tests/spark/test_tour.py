"""A tour of the Spark part, from an index to a rewritten table, for every line of Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from parquet_bloomwriter.spark import BFIndexConfig, Hyperspace, bloomify_table
from tests.spark.metrics import metrics_of
from tests.support.spark_session import local_session

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

NUM_FILES = 4
SETTINGS = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.bloomwriter.join.minBytes": "0",
}


def write(folder: Path, number: int) -> None:
    """Write a file whose ids are spread over the range of all files."""
    folder.mkdir(exist_ok=True)
    ids = [(number + 10 * j) * 1_000_003 for j in range(50)]
    pq.write_table(pa.table({"id": pa.array(ids, pa.int64())}), folder / f"{number}.parquet")


def test_from_an_index_to_a_rewritten_table(spark: SparkSession, tmp_path: Path) -> None:
    assert spark is not None
    folder = tmp_path / "events"
    for number in range(NUM_FILES):
        write(folder, number)
    with local_session(SETTINGS) as session:
        hs = Hyperspace(session)
        assert hs.create_index(str(folder), BFIndexConfig("ids", ["id"])).num_files == NUM_FILES

        hs.enable()
        events = session.read.parquet(str(folder))
        one = events.where(f"id = {13 * 1_000_003}")
        assert (len(one.collect()), metrics_of(one).num_files) == (1, 1)
        keys = session.range(0, 500_000_000, 1_000_003).select("id")
        joined = keys.join(events, "id")
        assert (len(joined.collect()), metrics_of(joined).num_probes) == (50 * NUM_FILES, 1)
        assert f"1 of {NUM_FILES} files" in hs.explain(one)
        assert "NO_USABLE_CONDITION" in hs.why_not(events.where("id > 5"), "ids")
        hs.disable()

        asked = events.transform(hs.where(f"id = {13 * 1_000_003}"))
        assert (len(asked.collect()), metrics_of(asked).num_files) == (1, 1)

        write(folder, NUM_FILES)
        assert hs.refresh_index("ids", "incremental").num_files == NUM_FILES + 1
        rows = bloomify_table(session, str(folder), ["id"], output=str(tmp_path / "new")).collect()
        assert [row["status"] for row in rows] == ["rewritten"] * (NUM_FILES + 1)
        hs.delete_index("ids")
        assert [row["state"] for row in hs.indexes().collect()] == ["DELETED"]
