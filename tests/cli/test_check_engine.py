"""`bloomify check-engine`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from parquet_bloomwriter import bloomify
from parquet_bloomwriter.verbs import check_engine as verb

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest
    from click.testing import Result

    from parquet_bloomwriter import EngineReport


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
    assert second.endswith(
        " does not use the filters: it tried to read data pages, which are destroyed in the copy "
        "that was asked (your file is untouched)"
    )
    assert "which only the filters of 4 row groups exclude" in done.stderr
    assert "not asked" not in done.stderr
    done = invoke("check-engine", str(file), "--engine", "polars", "-c", "email", "--json")
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert (found["command"], found["column"]) == ("check-engine", "email")
    (polars,) = found["engines"]
    assert (polars["engine"], polars["use"]) == ("polars", "NOT_USED")
    assert polars["error"].startswith("polars.exceptions.")
    command = "cmp -s {file} " + str(file) + " || { echo no pages >&2; exit 3; }; echo 0"
    for options, end in (([], "untouched)\n"), (["--verbose"], "untouched): no pages\n")):
        done = invoke("check-engine", str(file), "-c", "id", "--command", command, *options)
        assert done.stdout.endswith(end)
    assert invoke("check-engine", str(file), "--engine", "nothing").exit_code == 2


def test_only_installed_engines_are_named(
    invoke: Callable[..., Result], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder / "a.parquet"
    pq.write_table(pa.table({"id": [n * 7_919 % 200_003 for n in range(1000)]}), file)
    bloomify(file, ["id"])
    installed = {"duckdb", "polars"}
    monkeypatch.setattr(
        "parquet_bloomwriter.verbs.engines.queries.find_spec",
        lambda module: module if module in installed else None,
    )
    done = invoke("check-engine", str(file))
    assert done.exit_code == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["duckdb"]
    assert "not asked: polars; " in done.stderr
    installed.remove("duckdb")
    done = invoke("check-engine", str(file))
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == (
        "bloomify: no engine that uses filters is installed beside bloomify. Type: pip install "
        "duckdb; or give --command (bloomify check-engine --help)\n"
    )


def test_an_engine_that_loses_rows(
    invoke: Callable[..., Result],
    folder: Path,
    old_duckdb: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = folder / "a.parquet"
    table = pa.table({"id": range(0, 900, 3), "blob": [b"\xff%d" % i for i in range(300)]})
    pq.write_table(table, file, row_group_size=100)
    bloomify(file)
    ask, reports = verb.check_engine, []

    def asked(*arguments: Any, **options: Any) -> EngineReport:  # noqa: ANN401  passed on
        reports.append(ask(*arguments, **options))
        return reports[0]

    monkeypatch.setattr(verb, "check_engine", asked)
    done = invoke("check-engine", str(file), "--engine", "duckdb", "--python", str(old_duckdb))
    assert done.exit_code == 7
    first, second = done.stdout.splitlines()
    assert first.startswith("duckdb 1.5.5 is WRONG with the filters: blob = b'")
    assert first.endswith("': 0 of 1 row found, and 5 other values")
    assert second.startswith("  known: DuckDB 1.5.0 to 1.5.6 loses rows of BLOB columns")
    assert "and for values that are in id, blob" in done.stderr
    monkeypatch.setattr(verb, "check_engine", lambda *_, **__: reports[0])  # asked once
    done = invoke("check-engine", str(file), "--engine", "duckdb", "--json")
    assert done.exit_code == 7
    (found,) = json.loads(done.stdout)["engines"]
    assert (found["use"], found["num_compared"]) == ("WRONG", 12)
    lost = found["lost"][0]
    assert bytes.fromhex(lost.pop("value")) in table["blob"].to_pylist()
    assert lost == {"column": "blob", "count": 0, "expected": 1}


def test_an_engine_that_needs_no_filters(invoke: Callable[..., Result], folder: Path) -> None:
    file = folder / "a.parquet"
    pq.write_table(pa.table({"id": [1, 5, 9]}), file)
    bloomify(file, ["id"])
    done = invoke("check-engine", str(file), "--command", "echo 0; : {file}")
    assert done.stdout == (
        "echo 0; : {file}: undecided, it answered without filters as well. Try a file with more "
        "row groups\n"
    )
