"""Proof that engines use filters, and lose no rows by them: real engines, and invented ones."""

from __future__ import annotations

import datetime as dt
import shlex
import sys
import uuid
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import InvalidArgument, Use, bloomify, check_engine, probe
from parquet_bloomwriter.metadata.encodings import (
    is_fully_dictionary_encoded,
    without_dictionaries,
)
from parquet_bloomwriter.metadata.footer import parse_footer
from parquet_bloomwriter.source.open import opened_with_footer

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = ["id", "email", "kind"]
FILTERING = ["duckdb", "datafusion", "clickhouse"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Write a file with filters; all values of `kind` are in dictionaries."""
    rng = np.random.default_rng(5)
    ids = rng.choice(1_000_000, 20_000, replace=False)
    table = pa.table(
        {
            "plain": ids,
            "id": ids,
            "email": [f"o'user {i}@mail.example" for i in ids],
            "kind": [f"kind {i % 50}" for i in ids],
        }
    )
    path = tmp_path / "it's a file #1.parquet"
    pq.write_table(table, path, row_group_size=10_000)
    bloomify(path, COLUMNS)
    return path


def test_these_use_the_filters(file: Path) -> None:
    """Asked for a text that is in no row, and neither in a dictionary; others: further below."""
    before = file.read_bytes()
    engines = ["duckdb", "bloomify"]
    report = check_engine(file, engines, column="kind")
    for engine, check in zip(engines, report.checks, strict=True):
        assert (check.engine, check.use, check.reason) == (engine, Use.USED, "")
        assert check.version
    assert report.all_use
    assert (report.column, report.num_row_groups) == ("kind", 2)
    assert not probe(file, [("kind", "==", report.value)]).might_match
    assert report.value not in pq.read_table(file).column("kind").to_pylist()
    assert file.read_bytes() == before


def test_these_do_not(file: Path) -> None:
    """As `tests/cli` has it of Polars."""
    report = check_engine(file, "pandas", column="id")
    (check,) = report.checks
    assert (check.use, report.all_use) == (Use.NOT_USED, False)
    assert check.reason.startswith("it tried to read data pages, ")
    assert check.error


@pytest.mark.spark
@pytest.mark.shares
def test_spark_uses_them(file: Path) -> None:
    (check,) = check_engine(file, "spark", column="kind").checks
    assert check.use is Use.USED


READS = "test $(tr -d '\\0' < '{file}' | wc -c) -gt 100000 && echo 0"
"""Fails if the data pages of `file` are destroyed, which are most of its bytes."""


@pytest.mark.parametrize(
    ("command", "use", "reason"),
    [
        ("echo 0; : {file}", Use.UNDECIDED, "answered without filters as well"),
        ("echo 7 {file} 7", Use.UNDECIDED, "counts 7 rows"),
        (": {file}; echo no >&2; exit 3", Use.UNDECIDED, "cannot read the file itself: no"),
        (": {file}; kill -9 $$", Use.UNDECIDED, "cannot read the file itself: it was ended by sig"),
        (": {file}; sleep 60", Use.UNDECIDED, "it did not answer within 0.5 s"),
        (READS, Use.NOT_USED, "it tried to read data pages"),
    ],
)
def test_commands(file: Path, command: str, use: Use, reason: str) -> None:
    timeout_s = 0.5 if "sleep" in command else 60
    (check,) = check_engine(file, command=command, timeout_s=timeout_s).checks
    assert (check.engine, check.use) == (command, use)
    assert reason in check.reason


def test_a_command_that_asks_the_filters(tmp_path: Path) -> None:
    """Each value is asked for in a process of its own, so the file has a single row group."""
    file = tmp_path / "it's a file.parquet"
    pq.write_table(pa.table({"kind": [f"kind {i * i}" for i in range(400)]}), file)
    bloomify(file)
    script = "import sys, duckdb; print(duckdb.execute(sys.argv[1]).fetchone()[0])"
    query = "SELECT count(*) FROM '{file}' WHERE {column} = {value}"
    command = f'{sys.executable} -c {shlex.quote(script)} "{query}"'
    (check,) = check_engine(file, command=command).checks
    assert (check.use, check.reason, check.lost) == (Use.USED, "", ())
    assert check.num_compared


def test_what_cannot_be_asked(file: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match='Did you mean "duckdb"'):
        check_engine(file, "duckbd")
    with pytest.raises(InvalidArgument, match="has no Bloom filters"):
        check_engine(file, "duckdb", column="plain")
    with pytest.raises(InvalidArgument, match="where the file goes"):
        check_engine(file, command="true")
    with pytest.raises(InvalidArgument, match=r"is a folder. Name one of its files"):
        check_engine(tmp_path, "duckdb")
    with pytest.raises(InvalidArgument, match="is a URL"):
        check_engine("s3://bucket/key", "duckdb")
    dense = tmp_path / "dense.parquet"
    pq.write_table(pa.table({"id": range(1000)}), dense, row_group_size=100)
    bloomify(dense, ["id"])
    with pytest.raises(InvalidArgument, match="no question is found"):
        check_engine(dense, "duckdb")


def test_an_engine_that_is_missing(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parquet_bloomwriter.verbs.engines.queries.find_spec", lambda _: None)
    with pytest.raises(InvalidArgument, match="pip install chdb"):
        check_engine(file, "clickhouse")
    with pytest.raises(InvalidArgument, match="no engine that uses filters is installed"):
        check_engine(file)


def test_an_engine_that_is_missing_keeps_no_other_from_being_asked(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "parquet_bloomwriter.verbs.engines.queries.find_spec",
        lambda module: None if module == "chdb" else module,
    )
    missing, duckdb = check_engine(file, ["clickhouse", "duckdb"]).checks
    assert (missing.engine, missing.use) == ("clickhouse", Use.UNDECIDED)
    assert missing.reason == "chdb is not installed here (type: pip install chdb)"
    assert (duckdb.engine, duckdb.use) == ("duckdb", Use.USED)


ODD = ["id\\", "id`", "id'", 'id"', 'id\\" = 0 OR 1 IN (SELECT throwIf(1)) -- ']
MANY = {
    "blob": [b"\xff\x00%d" % i for i in range(400)],  # the first one: absent bytes are asked for
    "id": [i * 7 for i in range(400)],
    "text": [f"it's {i}" for i in range(400)],
    "fixed": pa.array([b"\xff%04d" % i for i in range(400)], pa.binary(5)),
    "real": [i / 8 for i in range(400)],
    "price": pa.array([Decimal(i).scaleb(-2) for i in range(400)], pa.decimal128(9, 2)),
    "day": [dt.date(2020, 1, 1) + dt.timedelta(i) for i in range(400)],
    "at": [dt.datetime(2020, 1, 1, tzinfo=dt.UTC) + dt.timedelta(hours=i) for i in range(400)],
    "uid": pa.array([uuid.UUID(int=i << 100).bytes for i in range(400)], pa.uuid()),
    "place": [{"zip": i * 3} for i in range(400)],
    **dict.fromkeys(ODD, range(400)),
    "odd": [{"zip'] = 0 OR t['zip": i * 5} for i in range(400)],
    "tags": [[i] for i in range(400)],
}
"""Columns of many types, and names that are names in the SQL of every engine."""


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Write a file with filters of many types."""
    path = tmp_path / "many.parquet"
    pq.write_table(pa.table(MANY), path, row_group_size=400)
    bloomify(path, [f"#{i}" for i in range(len(MANY) - 1)])
    return path


def test_present_values_of_every_column_are_asked_for(many: Path) -> None:
    before = many.read_bytes()
    report = check_engine(many, FILTERING)
    assert (report.column, type(report.value)) == ("blob", bytes)
    names = {"place": "place.zip", "odd": "odd.zip'] = 0 OR t['zip"}
    assert report.present_columns == tuple(names.get(one, one) for one in list(MANY)[:-1])
    for check in report.checks:
        assert check.num_compared == 2 * len(report.present_columns)
        assert (check.use, check.lost, check.hazards) == (Use.USED, (), ()), check.reason
    assert not report.has_wrong
    assert many.read_bytes() == before


def test_an_engine_that_loses_rows(many: Path, old_duckdb: Path) -> None:
    report = check_engine(many, "duckdb", python=old_duckdb)
    (check,) = report.checks
    assert report.has_wrong
    assert (check.use, check.version) == (Use.WRONG, "1.5.5")
    assert {one.column for one in check.lost} == {"blob", "fixed"}
    assert all((one.count, one.expected) == (0, 1) for one in check.lost)
    assert str(check.lost[0]) in check.reason
    assert check.hazards[0].startswith("DuckDB 1.5.0 to 1.5.6 loses rows of BLOB columns that ")


def test_a_command_that_loses_rows(file: Path) -> None:
    with_filters = shlex.quote(str(file))
    command = f"if cmp -s {{file}} {with_filters}; then echo 0; else echo 1; fi"
    (check,) = check_engine(file, command=command, column="id").checks
    assert check.use is Use.WRONG
    assert check.num_compared == len(check.lost) == 4  # two of each row group


def test_a_python_that_is_none(file: Path, tmp_path: Path, old_duckdb: Path) -> None:
    for python in (tmp_path / "nothing", "/bin/false"):
        with pytest.raises(InvalidArgument, match="does not run as a Python"):
            check_engine(file, "duckdb", python=python)
    bare = old_duckdb.with_name("bare")
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n', encoding="utf-8")
    bare.chmod(0o755)
    with pytest.raises(InvalidArgument, match=f"{bare} -m pip install duckdb"):
        check_engine(file, "duckdb", python=bare)


def test_the_value_lies_between_minimum_and_maximum(tmp_path: Path) -> None:
    """Statistics alone would exclude a value that begins with the maximum."""
    path = tmp_path / "a.parquet"
    emails = ["u9@mail.example", "u5@mail.example", "u100@mail.example"]
    pq.write_table(pa.table({"email": emails}), path)
    bloomify(path)
    report = check_engine(path, "duckdb")
    assert min(emails) < str(report.value) < max(emails)
    assert report.all_use


def test_footers_lose_their_dictionaries(file: Path) -> None:
    with opened_with_footer(file) as (_, footer):
        pass
    kind = footer.leaves[-1].ordinal
    assert is_fully_dictionary_encoded(footer, 0, kind)
    data = without_dictionaries(footer)
    assert len(data) == len(footer.data)
    other = parse_footer(data, start=footer.start)
    assert not is_fully_dictionary_encoded(other, 0, kind)
    assert sum(a != b for a, b in zip(data, footer.data, strict=True)) <= 16


def test_nothing_of_a_file_is_a_command(tmp_path: Path) -> None:
    bad = tmp_path / "bad"
    texts = ("x$(touch {})", "x`touch {}`", "x'; touch {}; echo '", 'x"; touch {}')
    values = [texts[i % 4].format(bad) + str(2 * i) for i in range(500)]
    names = ["a", f"b$(touch {bad})"]
    table = pa.table([values, list(range(0, 5000, 10))], names)
    path = tmp_path / f"it's; touch {bad.name}; .parquet"
    pq.write_table(table, path)
    bloomify(path)
    with pytest.raises(InvalidArgument, match="no question is found"):
        check_engine(path, command="cat {file} {column} {value} >/dev/null; echo 0")
    (check,) = check_engine(path, "duckdb", column="a").checks
    assert check.use is Use.USED
    assert not bad.exists()
