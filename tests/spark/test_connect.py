"""An index on Spark Connect: made by jobs of a client, and used without any rule on the server.

Server and client are processes of their own. That files are left out is proved twice: by Spark's
metric, and because reading them would fail, for they are overwritten with zeros meanwhile.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.spark_session import PROJECT, WORKERS

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.shares, pytest.mark.xdist_group("connect")]  # one server for all

pytest.importorskip("grpc_status")

FILES = 10
ROWS = 10


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("connect")
    command = [sys.executable, "-m", "tests.spark.connect_server", str(folder)]
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(
            command,
            cwd=PROJECT,
            env=_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as server,
    ):
        assert server.stdout is not None
        line = next((one for one in server.stdout if one.startswith("port ")), "")
        assert line, (folder / "log").read_text()
        yield f"sc://127.0.0.1:{line.split()[1]}"
        assert server.stdin is not None
        server.stdin.close()
        server.wait(60)


@pytest.fixture(scope="module")
def facts(remote: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    table = tmp_path_factory.mktemp("tables") / "some events"
    for number in range(FILES):
        numbers = range(ROWS * number, ROWS * number + ROWS)
        folder = table / f"p={number % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        columns = {"id": pa.array(numbers, pa.int64()), "name": [f"n{one}" for one in numbers]}
        pq.write_table(pa.table(columns), folder / f"{number:04} é.parquet")
    client = subprocess.run(
        [sys.executable, "-m", "tests.spark.connect_client", remote, str(table)],
        cwd=PROJECT,
        env=_environment(),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert client.returncode == 0, client.stderr
    found: dict[str, Any] = json.loads(client.stdout.splitlines()[-1])
    return found


def test_the_index_is_made_by_jobs_of_the_client(facts: dict[str, Any]) -> None:
    assert facts["session"].startswith("pyspark.sql.connect")
    assert facts["created"] == [FILES, 0, "ACTIVE"]
    assert facts["indexes"] == [["ids", "ACTIVE", ["id", "name"]]]


def test_files_are_left_out(facts: dict[str, Any]) -> None:
    assert len(facts["spoilt"]) == FILES - 2
    assert facts["unpruned"] not in ("no error", "InvalidArgument")
    assert facts["where"] == {"rows": [[31, "n31", 1]], "num_files": 1}
    assert facts["typed"] == {"rows": [[31, "n31", 1], [32, "n32", 1]], "num_files": 1}
    assert facts["partition"] == {"rows": [[31, "n31", 1]], "num_files": 1}
    assert facts["above"] == {"rows": [[31, "n31", 1]], "num_files": 1}
    assert facts["relative"] == {"rows": [[31, "n31", 1]], "num_files": 1}
    assert facts["globbed"]["num_files"] == 1


def test_appended_files_are_read_and_indexed(facts: dict[str, Any]) -> None:
    found, after, (num_files, appended) = facts["quick"]
    assert found == {"rows": [[1000, "new", 1]], "num_files": 1}
    assert after == {"rows": [], "num_files": 0}
    assert (num_files, appended) == (FILES + 1, 0)


def test_nothing_is_left_out_of_what_only_the_server_knows(facts: dict[str, Any]) -> None:
    assert set(facts["kept"]) == {"renamed", "replaced", "selected", "limited", "sql", "table"}
    assert all(codes == ["COL_SCHEMA_MISMATCH"] for codes in facts["kept"].values())


def test_rules_are_refused_with_what_to_do_instead(facts: dict[str, Any]) -> None:
    assert facts["is_enabled"] is False
    for told in (facts["enable"], facts["explain"]):
        assert "Spark Connect" in told
        assert "where" in told
    assert f"1 of {FILES + 1} files" in facts["explained"]


def _environment() -> dict[str, str]:
    return {**os.environ, **WORKERS, "PYTHONPATH": str(PROJECT), "PYTHONWARNINGS": "ignore"}
