"""Jobs where executors are processes of their own, and where the driver has no JVM."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import inspect, strip
from parquet_bloomwriter.index import api
from tests.support.draws import drawn
from tests.support.spark_children import Child
from tests.support.spark_session import home_in

pytestmark = pytest.mark.shares

RUN_JOBS = Path(__file__).with_name("run_jobs.py")
NUM_FILES = 6
CONNECT = "connect"
CLUSTER = "local-cluster[2,1,1024]"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Return a table of two partitions with a damaged file."""
    for i in range(NUM_FILES):
        path = tmp_path / "t x" / f"p={i % 2}" / f"f{i}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": list(range(i * 100, i * 100 + 100))}), path)
    (tmp_path / "t x" / "p=0" / "bad.parquet").write_bytes(b"PAR1PAR1")
    return tmp_path / "t x"


def test_jobs_need_no_more_than_a_common_disk(table: Path, tmp_path: Path) -> None:
    """On one of these in each run, since each takes a JVM or more."""
    master = drawn([CLUSTER, CONNECT], 1)[0]
    before = {path: path.read_bytes() for path in sorted(table.rglob("*.parquet"))}
    output, home = tmp_path / "u", tmp_path / "home"
    home.mkdir()
    jobs = [f"table={output}", "table=", f"index={tmp_path / 'h'}"]
    if master == CLUSTER:
        jobs.append(f"join={tmp_path / 'j'}")
    child = Child(RUN_JOBS, master, str(table), *jobs, SPARK_HOME=home_in(home))
    to_output, in_place, (num_groups, num_files), *joined = child.result()
    # Executors with a JVM of their own get the filter, and the classes that ask it.
    assert joined in ([], [[[15, 0, 1], [15, 1, 1]]])
    for rows in (to_output, in_place):
        assert [(row["path"], row["status"]) for row in rows] == [
            (str(path), "failed" if path.name == "bad.parquet" else "rewritten") for path in before
        ]
    for path, old in before.items():
        if path.name != "bad.parquet":
            for new in (path, output / path.relative_to(table)):
                assert strip(new.read_bytes()).data == old
                assert [column.name for column in inspect(new).columns] == ["id"]
    assert (num_groups, num_files) == (2, NUM_FILES)
    for i in range(NUM_FILES):
        kept = api.lookup(table, f"id = {i * 100 + 7}", name="ids", home=tmp_path / "h").paths
        assert f"f{i}.parquet" in {Path(path).name for path in kept}
        assert len(kept) < NUM_FILES
