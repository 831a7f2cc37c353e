"""`bloomify measure`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest
    from click.testing import Result


def test_the_command(
    invoke: Callable[..., Result], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder / "a.parquet"
    ids = [n * 7_919 % 200_003 for n in range(40_000)]
    pq.write_table(pa.table({"id": ids}), file, row_group_size=10_000, use_dictionary=False)
    done = invoke("measure", str(file), "--where", "id = 7919", "--engine", "duckdb")
    assert done.exit_code == 0
    first, *rows, empty, _ = lines = done.stdout.splitlines()[:8]
    assert first.split()[0] == "duckdb"
    assert first.endswith("  without filters  with filters")
    assert [row[:15].rstrip() for row in rows] == [
        *("rows found", "row groups read", "bytes read", "processor time", "time"),
    ]
    assert rows[1].split()[3:] == ["4", "of", "4", "1", "of", "4"]
    assert not empty
    sentence = " ".join(done.stdout.splitlines()[len(lines) - 1 :])
    assert " on id = 7919: 1 of 4 row groups instead of 4, " in sentence
    assert sentence.endswith(" to add.")
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert "1 of 1 file, " in done.stderr
    done = invoke(
        *("measure", str(file), "--where", "id = 7919", "--engine", "bloomify,polars"),
        *("--repeats", "1", "--fpp", "0.1%", "--json"),
    )
    assert done.exit_code == 0
    found: dict[str, Any] = json.loads(done.stdout)
    assert (found["command"], found["columns"], found["num_files"]) == ("measure", ["id"], 1)
    bloomify, polars = found["engines"]
    assert bloomify["after"]["row_groups_read"] == 1
    assert bloomify["sentence"].startswith("bloomify ")
    assert (polars["problem"], polars["after"]["bytes_read"]) == ("", None)
    failed = invoke("measure", str(file), "-c", "id", "--where", "x(id)", "--engine", "polars")
    assert failed.exit_code == 1
    for arguments in (["--where", "id = 3", "--where", "id = 4"], [], ["--where", "id > 3"]):
        assert invoke("measure", str(file), *arguments).exit_code == 2
    monkeypatch.setattr(
        "parquet_bloomwriter.verbs.engines.measurement.EngineMeasurement.is_wrong", True
    )
    words = ("measure", str(file), "--where", "id = 7919", "--engine", "bloomify")
    assert invoke(*words, "--repeats", "1").exit_code == 7
