"""`bloomify check-engine`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from parquet_bloomwriter import bloomify

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result


def test_the_command(invoke: Callable[..., Result], folder: Path) -> None:
    file = folder / "a.parquet"
    ids = [n * 7_919 % 200_003 for n in range(40_000)]
    table = pa.table({"id": ids, "email": [f"{one}@mail.example" for one in ids]})
    pq.write_table(table, file, row_group_size=10_000)
    bloomify(file, ["id", "email"])
    done = invoke("check-engine", str(file), "--engine", "duckdb,polars")
    assert done.exit_code == 1
    first, second = done.stdout.splitlines()
    assert first.endswith(" uses the filters")
    assert "does not use the filters: it reads data pages" in second
    assert "which only the filters of 4 row groups exclude" in done.stderr
    assert "not asked: datafusion, " in done.stderr
    assert "duckdb" not in done.stderr.rpartition("not asked")[2]
    done = invoke("check-engine", str(file), "--engine", "duckdb", "-c", "email", "--json")
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert (found["command"], found["column"]) == ("check-engine", "email")
    assert [(one["engine"], one["use"]) for one in found["engines"]] == [("duckdb", "USED")]
    assert invoke("check-engine", str(file), "--engine", "nothing").exit_code == 2
