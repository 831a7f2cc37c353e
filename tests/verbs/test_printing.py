"""`print(report)`: what somebody at a prompt reads, without bytes, plans and arrays."""

from __future__ import annotations

import dataclasses
import io
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import parquet_bloomwriter
from parquet_bloomwriter import (
    Effort,
    EngineCheck,
    EngineMeasurement,
    EngineReport,
    InspectReport,
    LostRows,
    MeasureReport,
    Use,
    advise,
    bloomify,
    bloomify_table,
    for_each_file,
    index,
    inspect,
    probe,
    repair,
    strip,
    verify,
)
from tests.support.delta_tables import make_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EXCEPTIONS = {"Sbbf", "BloomFile", "Reason"}
"""Not reports, but what they are about."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Write a file of two row groups, with a column that a terminal should not obey."""
    file = tmp_path / "table/people.parquet"
    file.parent.mkdir()
    ids = [i * 37 % 200 * 2 for i in range(200)]
    table = pa.table({"id": ids, "evil\x1b[31m": ids, "ok": [True] * 200})
    pq.write_table(table, file, row_group_size=100, use_dictionary=False)
    return file


def reports(path: Path) -> Iterator[Any]:
    """Yield one of everything that a verb returns, and of what these are made of."""
    added = bloomify(path)
    yield added
    yield from added.columns
    yield from added.columns[0].chunks
    yield bloomify(path.read_bytes(), replace=True)
    yield from for_each_file(path, lambda file, _, __: repair(file))
    path.with_name("no.parquet").write_text("no Parquet file at all")
    yield from for_each_file(path.with_name("no.parquet"), lambda file, _, __: repair(file))
    path.with_name("no.parquet").unlink()
    yield repair(path)
    found = inspect(path)
    yield from (found, found.filters[0], found.columns[0], InspectReport(files=(found, found)))
    checked = verify(path)
    yield from (checked, checked.checks[0])
    advice = advise(path)
    yield from (advice, advice.columns[0])
    probed = probe(path, "id = 3")
    yield from (probed, probed.files[0], probed.files[0].row_groups[0])
    yield probed.files[0].row_groups[0].checks[0]
    made = index.create(path.parent, "id", name="ids")
    yield from (made, made.columns[0], index.index(path.parent, name="ids"))
    yield bloomify_table(make_table(path.parents[1] / "delta", num_files=1), "id")
    looked_up = index.lookup(path.parent, "id = 3")
    yield from (looked_up, looked_up.indexes[0])
    yield strip(path)
    check = EngineCheck(engine="an engine", version="1.0", use=Use.NOT_USED, reason="it fails")
    yield check
    yield LostRows(column="id", value=3, count=0, expected=1)
    yield EngineReport(
        path=str(path),
        column="id",
        value="x~",
        num_row_groups=2,
        present_columns=("id",),
        checks=(check, check),
    )
    effort = Effort(
        num_rows=1,
        row_groups_read=1,
        num_row_groups=2,
        bytes_read=10,
        cpu_seconds=0.001,
        seconds=0.001,
    )
    measured = EngineMeasurement(engine="an engine", version="1.0", before=effort, after=effort)
    yield from (effort, dataclasses.replace(measured, sentence="an engine on id = 3: less"))
    yield MeasureReport(
        path=str(path),
        condition="id = 3",
        columns=("id",),
        num_files=1,
        num_all_files=1,
        size_before=100,
        size_after=110,
        build_seconds=0.1,
        copied_bytes=110,
        repeats=5,
        engines=(dataclasses.replace(measured, problem="it fails"),),
    )


def test_every_report_is_readable(path: Path) -> None:
    shown = {}
    for report in reports(path):
        text = str(report)
        assert "(" not in text.split(":", maxsplit=1)[0], text
        assert not [word for word in ("=(", "=None", "b'", "<", "array") if word in text], text
        assert all(line.isprintable() and len(line) < 400 for line in text.split("\n")), text
        shown[type(report).__name__] = text
    classes = {
        name
        for module in (parquet_bloomwriter, index)
        for name in module.__all__
        if dataclasses.is_dataclass(value := getattr(module, name)) and isinstance(value, type)
    }
    assert classes - EXCEPTIONS - {"LeftOut", "Unindexed"} <= shown.keys()


def test_what_they_say(path: Path) -> None:
    out = io.StringIO()
    with redirect_stdout(out):
        print(bloomify(path, "id", dry_run=True))  # noqa: T201
        print(bloomify(path, ["id", "ok"]))  # noqa: T201
        print(probe(path, "id = 3"))  # noqa: T201
        print(verify(path))  # noqa: T201
    sizes = "3,058 bytes -> 3,487 bytes (+14.0 %)"
    column = "  id: filters of 2 row groups: 2 built, 416 bytes, NDV 198, FPP 0.0074 for 0.01"
    why = "BOOLEAN columns get no filters: readers and writers disagree on them"
    assert out.getvalue().splitlines() == [
        f"{path}: 2 filters would be added, {sizes}",
        column,
        f"{path}: 2 filters added, {sizes}",
        column,
        f"  ok: filters of 2 row groups: 2 skipped; {why}",
        "id = 3: 0 of 1 file and 0 of 2 row groups might match",
        f"  {path}: CANNOT_MATCH, no row group of 2",
        f"{path}: filters: 2 OK, 0 FAILED, 0 UNCHECKED; 200 values looked up, 0 missing",
    ]


def test_long_reports_are_cut() -> None:
    table = pa.table({f"c{i}": [1] for i in range(60)})
    sink = io.BytesIO()
    pq.write_table(table, sink)
    lines = str(bloomify(sink.getvalue())).splitlines()
    assert lines[0].startswith("buffer: 60 filters added, ")
    assert len(lines) < 45
    assert lines[-1].startswith("  ... and ")


def test_a_printed_report_has_the_notes_of_the_command(tmp_path: Path) -> None:
    """Such as that a slightly higher rate would halve the filters."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": range(10_000)}), path)
    report = bloomify(path, ["id"], fpp=0.0035)
    notes = [one.sentence for one in report.summary().remarks if one.label == "note"]
    assert notes
    for note in notes:
        assert f"note: {note}" in str(report)
