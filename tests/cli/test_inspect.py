"""`bloomify inspect`: tables, remarks, the page."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import bloomify, strip
from parquet_bloomwriter.reports.inspection import InspectReport
from parquet_bloomwriter.reports.page import page
from parquet_bloomwriter.text import size
from parquet_bloomwriter.verbs.inspect import inspect
from tests.verbs.broken_filters import bitset_span, with_bytes, with_zeros

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Invoke


def test_a_small_file(orders: Path, invoke: Invoke) -> None:
    facts = inspect(orders)
    result = invoke("inspect", "orders.parquet")
    assert (result.exit_code, result.stderr) == (0, "")
    headline, by_column, one_by_one = result.stdout.rstrip("\n").split("\n\n")
    assert headline.startswith(
        f"orders.parquet: 8 filters in 4 row groups, {size(facts.num_filter_bytes)}, "
    )
    rows = [line.split() for line in by_column.splitlines()]
    assert [row[0] for row in rows] == ["column", "id", "email"]
    assert rows[1][1:4] == ["4", "of", "4"]
    ndv = sum(one.ndv or 0 for one in facts.columns[0].filters)
    assert (rows[1][4], rows[1][-1]) == (f"{ndv:,.0f}", "column-chunk")
    filters = [line.split() for line in one_by_one.splitlines()[1:]]
    assert [(row[0], row[1], row[2]) for row in filters] == [
        (name, str(row_group), "100") for name in ("id", "email") for row_group in range(4)
    ]
    assert "█" in one_by_one
    assert "trust" not in one_by_one


@pytest.mark.usefixtures("orders")
def test_only_the_columns_named(invoke: Invoke) -> None:
    shown = invoke("inspect", "orders.parquet", "--columns", "email").stdout
    assert "\nemail " in shown
    assert "\nid " not in shown


def test_without_filters_it_points_to_advise(events: Path, orders: Path, invoke: Invoke) -> None:
    events.rename("it's.parquet")
    result = invoke("inspect", "it's.parquet")
    hint = """to see which columns deserve filters, type: bloomify advise 'it'"'"'s.parquet'"""
    assert (result.exit_code, result.stderr) == (0, f"bloomify: {hint}\n")
    orders.unlink()
    assert invoke("inspect", ".").stderr.endswith("type: bloomify advise .\n")
    for option in ("--quiet", "--json"):
        assert invoke("inspect", "it's.parquet", option).stderr == ""
    assert invoke("inspect", "it's.parquet", "--columns", "id").stderr == ""
    bloomify("it's.parquet", ["id"])
    assert invoke("inspect", ".").stderr == ""


def test_columns_without_filters_if_they_are_named(events: Path, invoke: Invoke) -> None:
    assert events.exists()
    shown = invoke("inspect", "events.parquet").stdout
    assert shown == "events.parquet: no filters in 2 row groups\n"
    named = invoke("inspect", "events.parquet", "--columns", "id").stdout
    assert named.splitlines()[-1].split() == ["id", "0", "of", "2", *"-------"]


def test_problems_are_said_below(orders: Path, invoke: Invoke) -> None:
    orders.write_bytes(with_zeros(orders.read_bytes(), (2, 0)))
    result = invoke("inspect", "orders.parquet")
    assert result.exit_code == 0
    *_, by_column, one_by_one, remarks = result.stdout.rstrip("\n").split("\n\n")
    assert by_column
    trust = [line.split()[-1] for line in one_by_one.splitlines()]
    assert trust == ["trust", "ok", "ok", "problem", *["ok"] * 5]
    assert remarks == (
        "problem   id, row group 2: all its bits are zero, though the chunk has values"
    )


def test_a_full_filter(orders: Path, invoke: Invoke) -> None:
    data = orders.read_bytes()
    start, stop = bitset_span(data, (0, 0))
    orders.write_bytes(with_bytes(data, start, b"\xff" * (stop - start)))
    shown = invoke("inspect", "orders.parquet", "--columns", "id").stdout
    assert "██████████ 100%" in shown
    assert "∞" in shown
    document = json.loads(invoke("inspect", "orders.parquet", "--json").stdout)
    first = document["files"][0]["columns"][0]["filters"][0]
    assert (first["ndv"], first["fill"], first["fpp"]) == (None, 1.0, 1.0)


def test_many_files(shop: Path, invoke: Invoke) -> None:
    result = invoke("inspect", str(shop))
    assert result.exit_code == 3
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"{shop}/orders.parquet: 8 filters in 4 row groups, ")
    assert lines[1] == f"{shop}/plain.parquet: no filters in 4 row groups"
    assert [line.split()[1:4] for line in lines if line.startswith("id ")] == [["4", "of", "8"]]
    assert lines[-1].startswith("8 filters, ")
    assert lines[-1].endswith("; 1 of 3 files failed, see above.")
    assert "The file was left unchanged" not in result.stderr
    listed = invoke("inspect", str(shop), "--row-groups").stdout
    assert sum(line.startswith("id ") for line in listed.splitlines()) == 6
    assert f"\n\n{shop}/plain.parquet: no filters" in listed


def test_many_filters_are_listed_if_that_is_asked_for(folder: Path, invoke: Invoke) -> None:
    path = folder / "many.parquet"
    pq.write_table(pa.table({"id": range(17)}), path, row_group_size=1)
    bloomify(path, ["id"])
    brief = invoke("inspect", "many.parquet").stdout
    assert brief.count("\nid ") == 1
    assert invoke("inspect", "many.parquet", "--row-groups").stdout.count("\nid ") == 1 + 17


@pytest.mark.usefixtures("orders")
def test_a_folder_of_one_file_gets_a_summary(invoke: Invoke) -> None:
    lines = invoke("inspect", ".").stdout.splitlines()
    assert lines[0].startswith("./orders.parquet: 8 filters in 4 row groups, ")
    assert lines[-1].startswith("8 filters, ")
    assert lines[-1].endswith("; 1 file read.")


def test_the_json_is_the_report(orders: Path, invoke: Invoke) -> None:
    (file,) = json.loads(invoke("inspect", "orders.parquet", "--json").stdout)["files"]
    report = inspect(orders)
    assert (file["size"], file["num_filters"]) == (report.size, 8)
    assert (file["num_filter_bytes"], file["share"]) == (report.num_filter_bytes, report.share)
    for shown, column in zip(file["columns"], report.columns, strict=True):
        assert shown["name"] == column.name
        for one, facts in zip(shown["filters"], column.filters, strict=True):
            assert one["offset"] == facts.offset
            assert one["place"] == facts.place
            assert one["fpp"] == facts.fpp
            assert one["bits_per_value"] == facts.bits_per_value


def test_the_page(orders: Path, invoke: Invoke) -> None:
    result = invoke("inspect", "orders.parquet", "--html", "report.html")
    made = orders.with_name("report.html").read_text(encoding="utf-8")
    assert result.exit_code == 0
    assert result.stdout.startswith("orders.parquet: ")
    assert result.stderr == (
        f"bloomify: the page was written to report.html, {size(len(made.encode()))}.\n"
    )
    named = InspectReport(files=(inspect("orders.parquet"),))
    when = re.compile(
        r"(Made by parquet-bloomwriter [^ ]+) on \d+ [A-Z][a-z]+ \d{4}, \d\d:\d\d [^<]+"
    )
    assert when.sub(r"\1", made) == page(named)
    assert when.search(made)


def test_the_page_of_a_folder_is_named_after_it(orders: Path, invoke: Invoke) -> None:
    folder = orders.with_name("shop")
    folder.mkdir()
    for name in ("a.parquet", "b.parquet"):
        (folder / name).write_bytes(orders.read_bytes())
    invoke("inspect", "shop", "--html", "report.html")
    made = orders.with_name("report.html").read_text(encoding="utf-8")
    assert "<title>Bloom filters in shop (2 files)</title>" in made


@pytest.mark.usefixtures("orders")
def test_the_page_and_json(invoke: Invoke) -> None:
    result = invoke("inspect", "orders.parquet", "--html", "report.html", "--json")
    assert json.loads(result.stdout)["command"] == "inspect"
    assert "the page was written to" in result.stderr


def test_a_page_that_exists_is_kept_unless_told_otherwise(
    orders: Path, invoke: Invoke, listing: Callable[[], dict[str, bytes]]
) -> None:
    target = orders.with_name("report.html")
    target.write_text("precious")
    before = listing()
    result = invoke("inspect", "orders.parquet", "--html", "report.html")
    assert (result.exit_code, result.stdout) == (5, "")
    assert result.stderr == (
        "bloomify: report.html: the output exists already. "
        "Choose another name, or permit overwriting with --overwrite.\n"
    )
    assert listing() == before
    result = invoke("inspect", "orders.parquet", "--html", "report.html", "--overwrite")
    assert result.exit_code == 0
    assert target.read_text().startswith("<!DOCTYPE html>")
    assert set(listing()) == set(before)


def test_a_page_that_comes_meanwhile_is_kept(
    orders: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = orders.with_name("report.html")

    def come_first(_: object, **__: object) -> str:
        target.write_text("precious")
        return "<!DOCTYPE html>"

    monkeypatch.setattr("parquet_bloomwriter.reports.page.page", come_first)
    result = invoke("inspect", "orders.parquet", "--html", "report.html")
    assert result.exit_code == 5
    assert "report.html: the output exists already." in result.stderr
    assert target.read_text() == "precious"
    assert {path.name for path in orders.parent.iterdir()} == {"orders.parquet", "report.html"}


@pytest.mark.usefixtures("orders")
@pytest.mark.parametrize(
    ("path", "code", "problem"), [("no/r.html", 2, "no such file"), (".", 6, "is a dir")]
)
def test_a_page_that_cannot_be_written(invoke: Invoke, path: str, code: int, problem: str) -> None:
    result = invoke("inspect", "orders.parquet", "--html", path)
    assert (result.exit_code, result.stdout) == (code, "")
    assert problem in result.stderr


def test_there_is_no_page_of_nothing(folder: Path, invoke: Invoke) -> None:
    result = invoke("inspect", "none.parquet", "--html", "report.html")
    assert (result.exit_code, list(folder.iterdir())) == (2, [])


def test_hostile_names(folder: Path, invoke: Invoke) -> None:
    path = folder / "a\x1b[31m\nb.parquet"
    pq.write_table(pa.table({"x\x1b]0;y\a\u202e": range(9)}), path)
    bloomify(path, ["#0"])
    for verb in ("inspect", "verify", "advise"):
        shown = invoke(verb, str(path)).stdout
        assert not set("\x1b\a\u202e") & set(shown)
        assert "x\\x1b]0;y\\x07\\u202e" in shown
        assert "a\\x1b[31m\\nb.parquet" in shown


@pytest.mark.parametrize(
    ("verb", "nothing"),
    [
        ("inspect", "no filters"),
        ("verify", "there is no filter to check"),
    ],
)
def test_many_files_without_filters_are_counted(
    orders: Path, invoke: Invoke, verb: str, nothing: str
) -> None:
    plain = strip(orders.read_bytes()).data or b""
    for number in range(9):
        (orders.parent / f"plain{number}.parquet").write_bytes(plain)
    assert invoke(verb, ".").stdout.count(f".parquet: {nothing}") == 9
    (orders.parent / "zplain.parquet").write_bytes(plain)
    shown = invoke(verb, ".").stdout
    assert f"\n10 files: {nothing}; --verbose names them\n" in shown
    assert f".parquet: {nothing}" not in shown
    assert shown.startswith("./orders.parquet: 8 filters ")
