"""`bloomify get`: rows, as DuckDB returns and spells them, in four forms."""

# ruff: noqa: S608  the conditions are our own
from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import index
from tests.cli.terminal import watch
from tests.support.delta_files import Writer, column
from tests.support.iceberg_reading import new_catalog, paths_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Invoke

PROGRAM = "from bloomify.main import main\nmain()"

VALUES = """
    true AS bool, 255::UTINYINT AS tiny, 170141::HUGEINT::DECIMAL(38, 0) AS huge,
    1.5::DECIMAL(9, 3) AS dec,
    0.00000001::DECIMAL(18, 8) AS small, 0.1::FLOAT AS f4, 123456789::FLOAT AS f4_long, 1e20 AS f8,
    1e-7 AS f8_small, 1e15 AS f8_whole, 'nan'::DOUBLE AS f8_nan, '-inf'::DOUBLE AS f8_inf,
    'é, "x"' || chr(10) || 'y' AS text, '' AS no_text, 'NULL' AS null_text,
    '\\xAA\\x00a\\x27\\x22\\x5C'::BLOB AS blob,
    '5f0c9d10-9d5c-4c66-8f3c-0f6e0d1c2b3a'::UUID AS uuid,
    DATE '2020-01-31' AS day, DATE '0044-03-15 (BC)' AS day_bc, TIME '12:00:00.5' AS time,
    TIMESTAMP '2020-01-01 00:00:00.120' AS moment, TIMESTAMP '2020-01-01 00:00:00' AS second,
    TIMESTAMP_NS '2020-01-01 00:00:00.123456700' AS moment_ns,
    TIMESTAMP '0044-03-15 (BC) 01:02:03.5' AS moment_bc,
    TIMESTAMPTZ '2020-01-01 12:00:00.25+02' AS moment_utc,
    [1, NULL] AS ints, []::INT[] AS empty, [DATE '2020-01-01'] AS days,
    [TIMESTAMP '2020-01-01 00:00:00'] AS moments, ['\\xAA'::BLOB] AS blobs,
    ['a b', 'b, c', '', ' x', 'null', 'it''s', '[', 'a:b', 'a=b', 'a"b', 'a\\b', '(x)'] AS texts,
    {'a': 1, 'it''s': 'x y', 'n': NULL::INT, 'l': ['x,y']} AS struct, [{'a': [1.5]}] AS structs,
    MAP {'k b': 'c, d', 'z': NULL} AS map
"""
"""Values of every kind that DuckDB writes to Parquet."""


@pytest.mark.usefixtures("folder")
def test_values_are_spelled_as_duckdb_spells_them(invoke: Invoke) -> None:
    connection = duckdb.connect()
    connection.execute("SET timezone = 'UTC'")
    nulls = "SELECT " + ", ".join(
        f"NULL AS {name}" for name in connection.sql(f"SELECT {VALUES}").columns
    )
    written = f"SELECT 1 AS id, {VALUES} UNION ALL BY NAME SELECT 2 AS id, * FROM ({nulls})"
    connection.execute(f"COPY ({written}) TO 'v.parquet'")
    stored = connection.sql("FROM 'v.parquet'")
    texts = ", ".join(f'"{name}"::VARCHAR' for name in stored.columns)
    expected = connection.sql(f"SELECT {texts} FROM 'v.parquet'").fetchall()

    shown = invoke("get", "v.parquet", "--where", "id > 0")
    assert (shown.exit_code, shown.stderr) == (0, "")
    header, first, last = csv.reader(io.StringIO(shown.stdout))
    assert header == stored.columns
    assert first == list(expected[0])
    assert last == ["2", *[""] * (len(header) - 1)]
    assert ',"",' in shown.stdout.split("\n2,")[0]  # an empty text is none of these nulls

    lines = [
        json.loads(line, parse_float=str)
        for line in invoke(
            "get", "v.parquet", "--limit", "9", "--format", "jsonl"
        ).stdout.splitlines()
    ]
    assert list(lines[0]) == header
    assert [lines[0][name] for name in ("bool", "tiny", "dec", "small", "f4")] == [
        True,
        255,
        "1.500",
        "0.00000001",
        "0.1",
    ]
    for name in ("f8_nan", "text", "blob", "uuid", "day", "moment_utc"):
        assert lines[0][name] == first[header.index(name)]
    assert lines[0]["struct"] == {"a": 1, "it's": "x y", "n": None, "l": ["x,y"]}
    assert (lines[0]["map"], lines[0]["ints"]) == ({"k b": "c, d", "z": None}, [1, None])
    assert lines[1] == {"id": 2, **dict.fromkeys(header[1:])}

    assert invoke("get", "v.parquet", "--where", "id > 0", "-o", "out.parquet").exit_code == 0
    copied, read = (pq.read_table(name).drop(["f8_nan"]) for name in ("out.parquet", "v.parquet"))
    assert copied.equals(read)


@pytest.fixture
def lake(folder: Path) -> Path:
    """A folder of 12 files in hive folders, with ids in no order, and the first lacks a column."""
    for n in range(12):
        inner = folder / "lake" / f"kind={'ab'[n % 2]}"
        inner.mkdir(parents=True, exist_ok=True)
        ids = [(k * 7_919 + n * 101) % 20_011 for k in range(500)]
        rows = pa.table({"id": ids, "name": [f"n{i % 50}" for i in ids], "n": [n] * 500})
        pq.write_table(rows, inner / f"{n:02}.parquet", row_group_size=100)
    return folder / "lake"


def _rows(shown: str) -> list[list[str]]:
    return sorted(list(csv.reader(io.StringIO(shown)))[1:])


def _of_duckdb(condition: str, files: str = "lake/**/*.parquet") -> list[list[str]]:
    found = (
        duckdb.connect()
        .sql(
            f"SELECT id, name, n, kind FROM read_parquet('{files}', hive_partitioning = true)"
            f" WHERE {condition}"
        )
        .fetchall()
    )
    return sorted([str(value) for value in row] for row in found)


CONDITIONS = (
    "id = 7919",
    "id IN (7919, 101, 5, -1)",
    "name = 'n7' AND id < 3000",
    "kind = 'a' AND id = 7919",
    "id = 7919 OR n = 3",
    "id = -1",
)


def test_rows_are_those_of_duckdb_with_an_index_and_without(lake: Path, invoke: Invoke) -> None:
    def compare() -> None:
        for condition in CONDITIONS:
            expected = _of_duckdb(condition)
            for given in ("lake", "lake/", str(lake)):
                shown = invoke("get", given, "--where", condition)
                assert (shown.exit_code, shown.stderr) == (0 if expected else 1, ""), given
                assert shown.stdout.splitlines()[0] == "id,name,n,kind"
                assert _rows(shown.stdout) == expected, (given, condition)
        halves = invoke("get", "lake/kind=a", "lake/kind=b", "--where", "id = 7919 OR n = 3")
        assert _rows(halves.stdout) == [row[:3] for row in _of_duckdb("id = 7919 OR n = 3")]
        files = sorted(map(str, lake.rglob("*.parquet")))
        assert _rows(invoke("get", *files, "--where", "n = 3").stdout) == _of_duckdb("n = 3")

    compare()
    index.create("lake", ["id"], name="ids")
    compare()
    # A file that the index excludes is not opened.
    excluded = {*lake.rglob("*.parquet")} - {
        *map(type(lake), index.lookup("lake", "id = 7919").paths)
    }
    assert len(excluded) > 6
    for path in excluded:
        known = path.stat()
        path.write_bytes(bytes(known.st_size))
        os.utime(path, ns=(known.st_atime_ns, known.st_mtime_ns))
    shown = invoke("get", "lake", "--where", "id = 7919")
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert ["7919" in row for row in _rows(shown.stdout)] == [True] * len(_rows(shown.stdout))
    # A file that it does not know is read, and the command says so.
    pq.write_table(pa.table({"id": [7919], "name": ["new"], "n": [99]}), lake / "kind=a/99.parquet")
    shown = invoke("get", "lake", "--where", "id = 7919", "--columns", "n,name")
    assert "99,new" in shown.stdout.splitlines()
    assert "bloomify index refresh lake --name ids" in shown.stderr


def test_files_that_an_index_does_not_know_are_read_also_if_it_promises_to_know_all(
    lake: Path, invoke: Invoke
) -> None:
    index.create("lake", ["id"], name="ids", contract="immutable")
    new = pa.table({"id": [7919, -5], "name": ["new", "new"], "n": [99, 99]})
    for name in ("kind=a/99.parquet", "kind=c/part-0"):
        (lake / name).parent.mkdir(exist_ok=True)
        pq.write_table(new, lake / name)
    (lake.parent / "link").symlink_to(lake)
    for given in ("lake", "link/", f"file://{lake}", "lake/kind=c/.."):
        shown = invoke("get", given, "--where", "id = -5", "--columns", "n,kind")
        assert shown.stdout.splitlines() == ["n,kind", "99,a", "99,c"], given
        assert "2 files unknown to the index" in shown.stderr
    part = invoke("get", "lake/kind=c", "--where", "id = 7919", "--columns", "n")
    assert part.stdout.splitlines() == ["n", "99"]


def test_rows_of_a_delta_table_with_an_index(folder: Path, invoke: Invoke) -> None:
    fields = [column("id", "long", 1), column("late", "string", 2), column("kind", "string", 3)]
    writer = Writer(folder / "shop", fields, ["kind"])
    writer.add(pa.table({"id": range(0, 800, 2)}), partition={"kind": "a"})
    writer.commit()
    later = pa.table({"id": range(1000, 1800, 2), "late": ["x"] * 400})
    for kind in ("a", "b"):
        writer.add(later, partition={"kind": kind}, deleted=range(10), folder=f"kind={kind}/")
    root = writer.commit()
    for with_index in (False, True):
        if with_index:
            index.create(root, ["id"], name="ids")
        shown = invoke(
            "get", "shop", "--where", "id IN (0, 1018, 1020)", "--columns", "kind,late,id"
        )
        assert (shown.exit_code, shown.stderr) == (0, "")
        assert shown.stdout.splitlines() == ["kind,late,id", "a,,0", "a,x,1020", "b,x,1020"]
        past = invoke("get", "shop", "--where", "id = 1020", "--version", "0")
        assert (past.exit_code, past.stdout) == (1, "id,late,kind\n")
    first = root / "part-00001.parquet"
    first.write_bytes(bytes(first.stat().st_size))
    assert invoke("get", "shop", "--where", "id = 1020").exit_code == 0


def test_rows_of_an_iceberg_table_with_an_index(
    folder: Path, monkeypatch: pytest.MonkeyPatch, invoke: Invoke
) -> None:
    schema = pa.schema([("id", pa.int64()), ("name", pa.string())])
    table = new_catalog(monkeypatch, folder).create_table("shop.orders", schema)
    for first in (0, 1000, 2000):
        names = [f"n{one}" for one in range(400)]
        table.append(pa.table({"id": range(first, first + 800, 2), "name": names}))
    last = table.current_snapshot()
    assert last is not None
    for with_index in (False, True):
        if with_index:
            index.create("iceberg://lake/shop.orders", ["id"], name="ids")
        url = "iceberg://lake/shop.orders"
        shown = invoke("get", url, "--where", "id IN (1004, 2006, 5)")
        assert (shown.exit_code, shown.stderr) == (0, "")
        assert _rows(shown.stdout) == [["1004", "n2"], ["2006", "n3"]]
        past = invoke(
            "get", url, "--where", "id = 2006", "--snapshot", str(last.parent_snapshot_id)
        )
        assert past.exit_code == 1
    table.append(pa.table({"id": [7], "name": ["new"]}))
    told = invoke("get", url, "--where", "id = 7")
    assert _rows(told.stdout) == [["7", "new"]]
    command = told.stderr.partition("Type: bloomify ")[2].split()
    assert command == ["index", "refresh", url, "--name", "ids"]
    for path in map(type(folder), paths_of(table)):
        if pq.read_table(path).column("id")[0].as_py() not in (1000, 7):
            path.unlink()
    assert invoke("get", url, "--where", "id = 1004").exit_code == 0


@pytest.mark.usefixtures("folder")
def test_a_closed_pipe_is_no_error() -> None:
    pq.write_table(pa.table({"id": range(300_000)}), "many.parquet")
    words = f"{sys.executable} -m bloomify get many.parquet --where 'id >= 0'"
    line = f"set -o pipefail; {words} | head -2"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)  # noqa: S607
    assert (done.returncode, done.stdout, done.stderr) == (0, "id\n0\n", "")


def test_a_file_is_whole_or_not_there(lake: Path, invoke: Invoke) -> None:
    arguments = ("get", "lake", "--where", "id >= 0", "-o")
    assert invoke(*arguments, "out.jsonl").exit_code == 0
    whole = (lake.parent / "out.jsonl").read_text()
    assert len(whole.splitlines()) == 6000
    assert json.loads(whole.splitlines()[0])["kind"] == "a"
    assert invoke(*arguments, "out.csv").exit_code == 0
    assert _rows((lake.parent / "out.csv").read_text()) == _of_duckdb("true")

    first = min(lake.rglob("*.parquet"))
    (lake.parent / "link.parquet").symlink_to(first)
    before = first.read_bytes()
    for given, output in (
        ("lake", str(first)),
        (str(first), "link.parquet"),
        ("lake/*/*.parquet", "lake/../" + str(first.relative_to(lake.parent))),
    ):
        own = invoke("get", given, "--where", "id < 100", "-o", output, "--overwrite")
        assert (own.exit_code, first.read_bytes()) == (5, before)
        assert "a file of an INPUT" in own.stderr
    taken = invoke(*arguments, "out.jsonl")
    assert taken.exit_code == 5
    assert "--overwrite" in taken.stderr
    broken = max(lake.rglob("*.parquet"))
    data = bytearray(broken.read_bytes())
    data[4:2000] = bytes(1996)
    broken.write_bytes(data)
    names = sorted(lake.parent.iterdir())
    for name, more in (("out.jsonl", ["--overwrite"]), ("new.parquet", [])):
        failed = invoke(*arguments, name, *more)
        assert failed.exit_code in (4, 6), failed.stderr
        assert sorted(lake.parent.iterdir()) == names
    assert (lake.parent / "out.jsonl").read_text() == whole


@pytest.mark.usefixtures("folder")
def test_a_table_fits_the_terminal(invoke: Invoke) -> None:
    rows = {
        "id": [1, 20_000],
        "text": ["x" * 200, None],
        "tab": ["a\tb", "https://user:word@host/"],
    }
    wide = {f"column_{n}": [1.5, 2.5] for n in range(12)}
    pq.write_table(pa.table({**rows, **wide}), "wide.parquet")
    seen = watch(PROGRAM, "get", "wide.parquet", "--where", "id > 0", columns=80)
    lines = seen.screen(1000)
    assert seen.code == 0
    assert all(len(line) <= 80 for line in lines[:3])
    assert lines[0].split()[:4] == ["id", "text", "tab", "column_0"]
    assert lines[2].split()[:2] == ["20000", "NULL"]
    assert "\t" not in seen.raw
    assert (
        lines[3] == "bloomify: 2 rows; 7 columns did not fit: "
        "name some with --columns, or take --format csv."
    )
    few = invoke("get", "wide.parquet", "--limit", "5", "--columns", "tab,id", "--format", "table")
    assert few.stdout.splitlines() == [
        "tab                         id",
        "a\\tb                         1",
        "https://user:word@host/  20000",
    ]
    texts = {name: ["y" * 30, "z"] for name in ("first", "second", "third")}
    pq.write_table(pa.table({**texts, "last": [1, 2]}), "texts.parquet")
    done = invoke("get", "texts.parquet", "--where", "last > 0", "--format", "table")
    head, *shown = done.stdout.splitlines()
    assert {head.index("last") + len("last")} == set(map(len, shown))
    later = {"n": [*range(2000), 10**12], "t": ["x"] * 2000 + ["y" * 99]}
    pq.write_table(pa.table(later), "later.parquet")
    last = invoke(
        "get", "later.parquet", "--where", "n >= 0", "--format", "table"
    ).stdout.splitlines()[-1]
    assert last.startswith("1000000000000  yyyyy")
    assert len(last) <= 90
    none = invoke("get", "wide.parquet", "--where", "id = 5", "--format", "table")
    assert (none.exit_code, none.stdout) == (1, "")
    assert none.stderr == "bloomify: no row passes the condition.\n"


@pytest.mark.usefixtures("folder")
def test_ctrl_c_says_how_many_rows_were_printed() -> None:
    pq.write_table(pa.table({"id": range(3_000_000)}), "many.parquet")
    seen = watch(
        PROGRAM, "get", "many.parquet", "--where", "id >= 0", columns=80, interrupt_at="100000"
    )
    assert seen.code == 130
    told = [line for line in seen.screen(1000) if "interrupted." in line]
    assert [line.split("interrupted. ")[1].split(",")[-1].split(" ", 1)[1] for line in told] == [
        "rows were printed."
    ]


def test_long_conditions_come_from_files_and_pipes(lake: Path, invoke: Invoke) -> None:
    ids = f"id IN ({', '.join(map(str, range(20_000)))})\n  AND n = 3;\n"
    (lake.parent / "ids.sql").write_text(ids, encoding="utf-8-sig")
    expected = _of_duckdb("id < 20000 AND n = 3")
    shown = invoke("get", "lake", "--where", "@ids.sql", "--where", "id < 1000")
    assert _rows(shown.stdout) == [row for row in expected if int(row[0]) < 1000]
    piped = subprocess.run(
        [sys.executable, "-m", "bloomify", "get", "lake", "--where", "-"],
        input=ids,
        capture_output=True,
        text=True,
        check=True,
    )
    assert _rows(piped.stdout) == expected
    line = f"{sys.executable} -m bloomify get lake --where - <&-"
    closed = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)  # noqa: S607
    assert (closed.returncode, "standard input is closed" in closed.stderr) == (2, True)
    assert invoke("probe", "lake", "--where", "@ids.sql", "--quiet").exit_code == 0
    index.create("lake", ["id"], name="ids")
    for verb in ("lookup", "explain"):
        assert invoke("index", verb, "lake", "--where", "@ids.sql").exit_code == 0
    for given, problem in (
        (["@none.sql"], "none.sql: No such file"),
        (["@lake"], "lake: Is a directory"),
        (["-"], "there is no condition in -"),
        (["-", "-"], "can be read once only"),
    ):
        wrong = invoke("probe", "lake", *[word for one in given for word in ("--where", one)])
        assert (wrong.exit_code, wrong.stdout) == (2, "")
        assert problem in wrong.stderr


def test_what_cannot_be_is_refused_before_a_row_is_printed(lake: Path, invoke: Invoke) -> None:
    pq.write_table(pa.table({"id": [1], "other": [2]}), "other.parquet")
    (lake.parent / "text.parquet").write_text("no Parquet")
    for code, words, problem in (
        (2, ["lake", "other.parquet", "--where", "id = 1"], "has other columns"),
        (2, ["lake", "none", "--where", "id = 1"], "none"),
        (2, ["none*.parquet", "--where", "id = 1"], "none*.parquet"),
        (2, ["lake", "--where", "ident = 1"], "ident"),
        (2, ["lake", "--where", "id = 1", "--columns", "ident"], "ident"),
        (2, ["lake", "--where", "id = 1", "--version", "3"], "no versions"),
        (2, ["lake", "--where", "id = 1", "--overwrite"], "--overwrite goes with"),
        (2, ["lake"], "say what to look for"),
        (4, ["text.parquet", "--where", "id = 1"], ""),
        (2, ["lake", "--where", "id = 1", "-o", "nowhere/x.csv"], "nowhere"),
    ):
        shown = invoke("get", *words)
        assert (shown.exit_code, shown.stdout) == (code, ""), (words, shown.stderr, shown.stdout)
        assert problem in shown.stderr, shown.stderr
        assert "Traceback" not in shown.stderr


def test_inputs_that_cannot_be_read_are_refused_as_by_probe(folder: Path, invoke: Invoke) -> None:
    (folder / "text.parquet").write_text("hello world, a text file")
    (folder / "empty").mkdir()
    (folder / "mixed").mkdir()
    pq.write_table(pa.table({"id": range(300_000)}), folder / "mixed" / "a.parquet")
    for given in ("text.parquet", "empty"):
        probed = invoke("probe", given, "--where", "id = 3")
        for options in (["--where", "id = 3"], ["--limit", "3"]):
            done = invoke("get", given, *options)
            assert (done.exit_code, done.stdout) == (probed.exit_code, "")
            assert done.stderr == probed.stderr
    (folder / "mixed" / "b.parquet").write_text("hello world, a text file")
    done = invoke("get", "mixed", "--where", "id >= 0")
    assert done.exit_code == 4
    told, error = done.stderr.splitlines()
    num_rows = len(done.stdout.splitlines()) - 1
    assert told == (
        f"bloomify: {num_rows:,} rows were printed, and these are not all, because of an error:"
    )
    assert error.startswith("bloomify: mixed/b.parquet: byte 20: the last four bytes are not")
    done = invoke("get", "mixed/a.parquet", "--where", "idd = 0")
    assert done.stderr == 'bloomify: there is no column "idd". Did you mean id?\n'


@pytest.mark.usefixtures("folder")
def test_a_terminal_gets_no_control_characters_of_values(invoke: Invoke) -> None:
    text = "é\x1b[31m\x7f\x9b\u202e"
    entries = pa.array([[("k\x1b", text)]], pa.map_(pa.string(), pa.string()))
    columns = {"id": [1], "a\x1b": [text], "l": [[text]], "m": entries}
    pq.write_table(pa.table(columns), "v.parquet")
    for form in ("table", "csv", "jsonl"):
        seen = watch(
            PROGRAM, "get", "v.parquet", "--where", "id > 0", "--format", form, columns=200
        )
        (shown,) = [line for line in seen.screen(200) if "é" in line]
        assert shown.isprintable()
    lines = invoke("get", "v.parquet", "--where", "id > 0", "--format", "jsonl").stdout
    assert lines.removesuffix("\n").isprintable()
    assert json.loads(lines) == {"id": 1, "a\x1b": text, "l": [text], "m": {"k\x1b": text}}
    plain = invoke("get", "v.parquet", "--where", "id > 0").stdout
    assert f"1,{text}," in plain  # a pipe gets what is stored
