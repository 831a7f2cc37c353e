"""`bloomify add`: what it does, and what it says about it."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import strip
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.text import growth
from tests.verbs.files import with_number

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Invoke

TABLE = """
column  row groups  NDV  bytes  bits/value  FPP asked  worst FPP
id          2 of 2  200    416        15.4       0.01     0.0094
email       1 of 2  100    144        10.2       0.01     0.0091
active      0 of 2    -      -           -       0.01          -

empty     email (row group 1): no values, so no filter
skipped   active: BOOLEAN columns get no filters: readers and writers disagree on them
"""


def bloom_offsets(path: Path) -> list[list[int | None]]:
    metadata = pq.read_metadata(path)
    return [
        [metadata.row_group(g).column(c).bloom_filter_offset for c in range(metadata.num_columns)]
        for g in range(metadata.num_row_groups)
    ]


@pytest.mark.parametrize("verb", [(), ("add",)])
def test_the_table_of_one_file(events: Path, invoke: Invoke, verb: tuple[str, ...]) -> None:
    before = events.stat().st_size
    result = invoke(*verb, "events.parquet", "--all-columns")
    sizes = growth(before, events.stat().st_size)
    assert result.stdout == f"events.parquet: 3 filters added, {sizes}\n{TABLE}"
    assert (result.exit_code, result.stderr) == (0, "")


def test_options_may_come_first(events: Path, invoke: Invoke) -> None:
    result = invoke("--columns", "id", str(events))
    assert (result.exit_code, result.stderr) == (0, "")
    assert "2 filters added" in result.stdout


def test_a_file_called_like_a_command(events: Path, invoke: Invoke) -> None:
    events.rename("strip")
    result = invoke("./strip", "--columns", "id")
    assert (result.exit_code, result.stdout.split(",")[0]) == (0, "./strip: 2 filters added")


def test_filters_that_are_there_are_kept(events: Path, invoke: Invoke) -> None:
    invoke("events.parquet", "--columns", "id")
    before = events.read_bytes()
    result = invoke("events.parquet", "--columns", "id")
    assert result.stdout == (
        "events.parquet: no filter to add; the file stays as it is\n\n"
        "column  row groups  NDV  bytes  bits/value  FPP asked  worst FPP\n"
        "id          2 kept    -      -           -       0.01     0.0094\n\n"
        "kept      id: the filters that are there stay: headers, places and rates are right; "
        "--replace builds them anew\n"
    )
    assert (result.exit_code, events.read_bytes()) == (0, before)


def test_replace_builds_filters_anew(events: Path, invoke: Invoke) -> None:
    original = events.read_bytes()
    invoke("events.parquet", "--columns", "id")
    result = invoke("events.parquet", "--columns", "id", "--replace", "--fpp", "0.0001")
    assert result.exit_code == 0
    assert "2 filters added" in result.stdout
    assert strip(events.read_bytes()).data == original


@pytest.mark.usefixtures("events")
def test_rates_by_column(invoke: Invoke) -> None:
    arguments = ("--columns", "id,email", "--fpp", "0.1", "--fpp", "email=0.001", "--json")
    result = invoke("events.parquet", *arguments)
    columns = json.loads(result.stdout)["files"][0]["columns"]
    assert [(c["name"], c["asked_fpp"]) for c in columns] == [("id", 0.1), ("email", 0.001)]
    assert all(c["achieved_fpp"] <= c["asked_fpp"] for c in columns)


@pytest.mark.usefixtures("events")
def test_max_bytes_wins_over_the_rate(invoke: Invoke) -> None:
    arguments = ("--columns", "id", "--fpp", "0.000001", "--max-bytes", "0.125K", "--json")
    result = invoke("events.parquet", *arguments)
    chunks = json.loads(result.stdout)["files"][0]["columns"][0]["row_groups"]
    assert [chunk["num_bytes"] for chunk in chunks] == [128, 128]


@pytest.mark.usefixtures("events")
def test_exact_sizes(invoke: Invoke) -> None:
    arguments = ("--columns", "id", "--sizing", "exact", "--ndv", "id=100", "--json")
    result = invoke("events.parquet", *arguments)
    chunks = json.loads(result.stdout)["files"][0]["columns"][0]["row_groups"]
    assert all(chunk["num_bytes"] % 32 == 0 for chunk in chunks)
    assert any(chunk["num_bytes"].bit_count() > 1 for chunk in chunks)


@pytest.mark.parametrize("placement", ["column-chunk", "row-group", "end"])
def test_placements(events: Path, invoke: Invoke, placement: str) -> None:
    original = events.read_bytes()
    result = invoke("events.parquet", "--columns", "id", "--placement", placement, "--json")
    offsets = bloom_offsets(events)
    report = json.loads(result.stdout)["files"][0]
    assert report["placement"] == placement
    assert [c["offset"] for c in report["columns"][0]["row_groups"]] == [row[0] for row in offsets]
    assert strip(events.read_bytes()).data == original


def test_a_column_that_cannot_have_filters_is_no_success(events: Path, invoke: Invoke) -> None:
    before = events.read_bytes()
    result = invoke("events.parquet", "--columns", "active")
    assert result.exit_code == 1
    assert "skipped   active: BOOLEAN columns get no filters" in result.stdout
    assert events.read_bytes() == before


def test_a_file_without_rows_is_fine(folder: Path, invoke: Invoke) -> None:
    pq.write_table(pa.table({"id": pa.array([], pa.int64())}), folder / "none.parquet")
    result = invoke("none.parquet", "--all-columns")
    assert result.exit_code == 0
    assert result.stdout.startswith("none.parquet: no filter to add; the file stays as it is\n")


@pytest.mark.parametrize(("rows", "half"), [(25_000, "0.011"), (31_000, ""), (24_000, None)])
def test_why_the_rate_is_better_than_asked(
    rows: int, half: str | None, folder: Path, invoke: Invoke
) -> None:
    pq.write_table(pa.table({"id": range(rows)}), folder / "t.parquet")
    shown = invoke("t.parquet", "--columns", "id").stdout
    note = "sizes are powers of two, so that the rate is often better than asked"
    assert (note in shown) is (half is not None)
    assert ("would halve" in shown) is bool(half)
    if half:
        assert re.search(
            rf"an FPP of {half} would halve \d+ of \d+ filters", " ".join(shown.split())
        )
        before = (folder / "t.parquet").stat().st_size
        assert invoke("t.parquet", "--columns", "id", "--replace", "--fpp", half).exit_code == 0
        assert before - (folder / "t.parquet").stat().st_size == 32 * 1024
    kept = invoke("t.parquet", "--columns", "id", "--fpp", "0.1").stdout
    assert note not in kept
    assert "--replace builds them anew" in kept


def test_without_columns_it_lists_them(events: Path, invoke: Invoke) -> None:
    before = events.read_bytes()
    result = invoke("events.parquet")
    assert (result.exit_code, result.stdout, events.read_bytes()) == (2, "", before)
    assert result.stderr == (
        "bloomify: name the columns that get filters with --columns, or take --all-columns.\n"
        "The columns of events.parquet:\n\n"
        "  id      INT64\n"
        "  email   STRING\n"
        "  active  BOOLEAN  (no filters)\n\n"
        "To see which columns deserve filters: bloomify advise events.parquet\n"
        "For example: bloomify events.parquet --columns id\n"
    )


def test_the_json_has_the_facts_of_the_table(events: Path, invoke: Invoke) -> None:
    before = events.stat().st_size
    result = invoke("events.parquet", "--columns", "email", "--json")
    assert result.stdout.isascii()
    document = json.loads(result.stdout)
    ((first, second),) = [c.pop("row_groups") for c in document["files"][0]["columns"]]
    assert document.pop("seconds") >= 0
    assert document == {
        "version": 1,
        "command": "add",
        "failed": [],
        "files": [
            {
                "path": "events.parquet",
                "output": "events.parquet",
                "written": True,
                "dry_run": False,
                "size_before": before,
                "size_after": events.stat().st_size,
                "num_rows": 200,
                "num_row_groups": 2,
                "num_built": 1,
                "placement": "column-chunk",
                "fallback": None,
                "left_bytes": 0,
                "missing_columns": [],
                "warnings": [],
                "columns": [
                    {
                        "name": "email",
                        "ordinal": 1,
                        "physical_type": "BYTE_ARRAY",
                        "asked_fpp": 0.01,
                        "achieved_fpp": first["fpp"],
                        "ndv": first["ndv"],
                        "bytes_added": first["length"],
                        "bits_per_value": 8 * first["num_bytes"] / first["ndv"],
                        "notes": [],
                    }
                ],
            }
        ],
    }
    assert first["offset"] == bloom_offsets(events)[0][1]
    assert (first["row_group"], first["status"], first["num_bytes"]) == (0, "built", 128)
    assert second == {
        "row_group": 1,
        "status": "empty",
        "reason": "",
        "offset": None,
        "length": 0,
        "num_bytes": 0,
        "ndv": None,
        "fpp": None,
        "is_unreadable": False,
    }


@pytest.mark.parametrize("output", [(), ("-o", "new/folder/out.parquet")])
def test_a_dry_run_prints_the_plan_and_writes_nothing(
    events: Path,
    invoke: Invoke,
    listing: Callable[[], dict[str, bytes]],
    output: tuple[str, ...],
) -> None:
    before = listing()
    result = invoke("events.parquet", "--columns", "id", "--dry-run", "--json", *output)
    assert listing() == before
    (report,) = json.loads(result.stdout)["files"]
    assert (report["written"], report["output"], report["dry_run"]) == (False, None, True)
    steps = report["plan"]
    actions = [step["action"] for step in steps]
    assert actions == ["copy", "filter", "copy", "filter", "copy", "metadata"]
    ends = [step["start"] + step["length"] for step in steps]
    assert [step["start"] for step in steps] == [0, *ends[:-1]]
    assert ends[-1] == report["size_after"]
    copied = b"".join(before["events.parquet"][slice(*s["old"])] for s in steps if s["old"])
    assert before["events.parquet"].startswith(copied)

    text = invoke("events.parquet", "--columns", "id", "--dry-run", "--plan", *output).stdout
    assert text.startswith("events.parquet: 2 filters would be added, ")
    rows = [line.split() for line in text.partition("\ndo ")[2].splitlines()[1:]]
    assert [row[0] for row in rows] == actions
    assert rows[1][-4:] == ["id,", "row", "group", "0"]
    assert rows[-1][-1] == "footer"
    assert listing() == before
    invoke("events.parquet", "--columns", "id")
    assert events.stat().st_size == report["size_after"]


def test_output_leaves_the_input_alone(events: Path, invoke: Invoke) -> None:
    before = events.read_bytes()
    result = invoke("events.parquet", "--columns", "id", "-o", "new.parquet")
    assert result.stdout.startswith("events.parquet -> new.parquet: 2 filters added, ")
    assert events.read_bytes() == before
    assert strip(events.with_name("new.parquet")).path is not None
    again = invoke("events.parquet", "--columns", "id", "-o", "new.parquet")
    assert (again.exit_code, again.stdout) == (5, "")
    assert "permit overwriting with --overwrite" in again.stderr
    assert (
        invoke("events.parquet", "--columns", "id", "-o", "new.parquet", "--overwrite").exit_code
        == 0
    )


def test_backup_keeps_the_old_file(
    events: Path, invoke: Invoke, listing: Callable[[], dict[str, bytes]]
) -> None:
    before = events.read_bytes()
    assert invoke("events.parquet", "--columns", "id", "--backup", ".old").exit_code == 0
    assert listing() == {"events.parquet": events.read_bytes(), "events.parquet.old": before}
    assert events.read_bytes() != before


def test_a_checksum_file_is_renewed_on_request(events: Path, invoke: Invoke) -> None:
    crc = events.with_name(".events.parquet.crc")
    crc.write_bytes(b"crc\0\0\0\2\0")
    result = invoke("events.parquet", "--columns", "id")
    assert result.exit_code == 5
    assert "Renew the checksum file with --regenerate-crc" in result.stderr
    assert "insist with --force" in result.stderr
    assert invoke("events.parquet", "--columns", "id", "--regenerate-crc").exit_code == 0
    chunks = -(-events.stat().st_size // 512)
    assert crc.stat().st_size == 8 + 4 * chunks


@pytest.mark.parametrize("command", ["add --columns id", "strip", "repair"])
def test_a_stale_checksum_file_is_renewed_beside_a_file_that_stays(
    events: Path, invoke: Invoke, command: str
) -> None:
    if command.startswith("add"):
        assert invoke("events.parquet", "--columns", "id").exit_code == 0
    verb, *options = command.split()
    before = events.read_bytes()
    crc = events.with_name(".events.parquet.crc")
    crc.write_bytes(b"crc\0\0\0\2\0stale")
    arguments = (verb, "events.parquet", *options, "--regenerate-crc")
    assert invoke(*arguments, "--dry-run").exit_code == 0
    assert crc.read_bytes().endswith(b"stale")
    assert invoke(*arguments).exit_code == 0
    assert events.read_bytes() == before
    assert crc.stat().st_size == 8 + 4 * -(-events.stat().st_size // 512)
    found = crc.stat()
    assert invoke(*arguments).exit_code == 0
    assert crc.stat().st_ino == found.st_ino  # it fits, and stays


def test_hard_links_are_broken_only_by_force(events: Path, invoke: Invoke) -> None:
    os.link(events, "other.parquet")
    result = invoke("events.parquet", "--columns", "id")
    assert result.exit_code == 5
    assert "Permit it with --force" in result.stderr
    assert invoke("events.parquet", "--columns", "id", "--force").exit_code == 0


def test_the_drafts_are_written_with_a_warning(events: Path, invoke: Invoke) -> None:
    result = invoke(str(events), "--columns", "id", "--dialect", "murmur3")
    assert result.exit_code == 0
    assert result.stderr.startswith("bloomify: warning: --dialect murmur3 follows drafts")
    assert "DuckDB fails on such files, and other readers ignore the filters" in result.stderr


def test_quiet_prints_nothing(events: Path, invoke: Invoke) -> None:
    result = invoke(str(events), "--columns", "id", "--dialect", "murmur3", "--quiet")
    assert (result.exit_code, result.output) == (0, "")
    assert bloom_offsets(events)[0][0] is not None


def test_names_cannot_command_the_terminal(folder: Path, invoke: Invoke) -> None:
    name = "\x1b[2Jid\u202e\n"
    pq.write_table(pa.table({name: [1, 2, 3]}), folder / "odd.parquet")
    for arguments in ([], ["--all-columns"], ["--columns", "\x1b[2J"]):
        result = invoke("odd.parquet", *arguments)
        assert "\x1b" not in result.output
        assert "\u202e" not in result.output
    assert "\\x1b[2Jid\\u202e\\n" in invoke("odd.parquet").stderr


def _damaged(path: Path) -> None:
    """Change a byte of the e-mail addresses of the first row group, whose pages have checksums."""
    table = pq.read_table(path)
    pq.write_table(
        table, path, row_group_size=100, compression="none", use_dictionary=False,
        write_page_checksum=True,
    )  # fmt: skip
    data = path.read_bytes()
    at = data.index(b"user50@mail.example")
    path.write_bytes(data[:at] + b"U" + data[at + 1 :])


@pytest.mark.parametrize("options", [(), ("--quiet",), ("--dry-run",)])
def test_damage_is_a_warning(events: Path, invoke: Invoke, options: tuple[str, ...]) -> None:
    _damaged(events)
    result = invoke("events.parquet", "--columns", "id,email", *options)
    assert result.exit_code == 1
    assert result.stderr.startswith(
        "bloomify: warning: events.parquet: row group 0, column email cannot be read ("
    )
    assert result.stderr.endswith("): it got no filter, and readers will fail there too\n")
    assert result.stderr.count("\n") == 1
    assert "CRC" in result.stderr
    result = invoke("events.parquet", "--columns", "id,email", "--json", "--dry-run")
    assert result.exit_code == 1
    (file,) = json.loads(result.stdout)["files"]
    chunks = [chunk for column in file["columns"] for chunk in column["row_groups"]]
    assert [chunk["is_unreadable"] for chunk in chunks] == [False, False, True, False]
    assert chunks[2]["status"] == "skipped"


@pytest.mark.parametrize("codec", [3, 99])
def test_a_codec_that_is_missing_here_is_no_damage(
    events: Path, invoke: Invoke, codec: int
) -> None:
    events.write_bytes(with_number(events.read_bytes(), ChunkField.CODEC, codec))
    result = invoke("events.parquet", "--columns", "id")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "skipped   id (row group 0): " in result.stdout


def test_filters_that_slow_down_scans_are_noted(invoke: Invoke, tmp_path: Path) -> None:
    """By default, those of files on disk that are large, and a large part of the file."""
    for rows, is_noted in ((2_000, False), (600_000, True)):
        path = tmp_path / f"{rows}.parquet"
        ids = np.random.default_rng(1).integers(0, 1 << 62, rows)
        pq.write_table(pa.table({"id": ids, "n": np.zeros(rows)}), path)
        for placement, is_between in ((), True), (("--placement", "end"), False):
            result = invoke(str(path), "--columns", "id", "--dry-run", *placement)
            assert result.exit_code == 0
            words = " ".join(result.output.split())
            assert ("--placement end avoids that" in words) == (is_noted and is_between)
