"""Folders that say by a file `_bloomify.toml` which filters they ask for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import inspect
from tests.support.delta_files import Writer, column

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Invoke


@pytest.fixture
def lake(folder: Path) -> Path:
    """Write two files of ids and e-mail addresses that deserve filters, and of one city."""
    rows = 40_000
    for day in range(2):
        path = folder / f"lake/day={day}/a.parquet"
        path.parent.mkdir(parents=True)
        table = pa.table(
            {
                "id": [(i + day * rows) * 7_919 % 200_003 for i in range(rows)],
                "email": [f"user{i * 7_919 % rows}@mail.example" for i in range(rows)],
                "city": ["Bern"] * rows,
            }
        )
        pq.write_table(table, path, row_group_size=5_000, use_dictionary=False)
    return folder / "lake"


def filtered(lake: Path) -> list[set[str]]:
    """Return the columns that have filters, file by file."""
    reports = [inspect(path) for path in sorted(lake.rglob("*.parquet"))]
    return [{one.name for one in report.columns if one.filters} for report in reports]


def test_advise_writes_it_and_all_runs_know_it(
    lake: Path, invoke: Invoke, listing: Callable[[], dict[str, bytes]]
) -> None:
    before = listing()
    nothing = invoke("lake/")
    assert nothing.exit_code == 2
    assert "bloomify advise lake/\nWith --write, the folder asks for them" in nothing.stderr
    assert listing() == before
    done = invoke("advise", "lake/", "--write", "--fpp", "0.02")
    assert done.exit_code == 0, done.output
    told = "lake/_bloomify.toml asks for id, email. To add the filters, type: bloomify lake/\n"
    assert done.stderr == f"bloomify: {told}"
    assert listing() == before | {"lake/_bloomify.toml": (lake / "_bloomify.toml").read_bytes()}
    first = invoke("lake/")
    assert first.exit_code == 0
    assert first.stderr == "bloomify: lake/_bloomify.toml gives columns, fpp.\n"
    assert "32 filters added; 2 files done" in first.stdout
    assert filtered(lake) == [{"id", "email"}] * 2
    after = listing()
    for line in (["lake"], ["lake", "--quiet"], ["advise", "lake", "--write", "--fpp", "0.02"]):
        again = invoke(*line)
        assert again.exit_code == 0
        assert listing() == after
    assert "the folder's file says so already" in again.stderr
    assert invoke("lake", "--quiet").output == ""


def test_advise_overwrites_only_if_told(lake: Path, invoke: Invoke) -> None:
    text = 'columns = ["id", "city"]\nexclude = "raw"\n'
    (lake / "_bloomify.toml").write_text(text.replace(', "city"', ', "gone"'))
    refused = invoke("advise", "lake", "--write")
    assert refused.exit_code == 5
    assert "adds email, leaves out gone" in refused.stderr
    assert "permit overwriting with --overwrite" in refused.stderr
    assert (lake / "_bloomify.toml").read_text() == text.replace(', "city"', ', "gone"')
    assert invoke("advise", "lake", "--write", "--overwrite").exit_code == 0
    lines = (lake / "_bloomify.toml").read_text().splitlines()
    assert lines[1:] == ['columns = ["id", "email"]', 'exclude = ["raw"]', "fpp = 0.01"]
    for line in (["lake/day=0/a.parquet", "--write"], ["lake", "lake", "--write"]):
        wrong = invoke("advise", *line)
        assert (wrong.exit_code, "one folder, or one Delta" in wrong.stderr) == (2, True)
    assert invoke("advise", "lake", "--overwrite").exit_code == 2
    (lake / "_bloomify.toml").write_text("colums = 1")
    assert invoke("advise", "lake", "--write", "--overwrite").exit_code == 2
    assert (lake / "_bloomify.toml").read_text() == "colums = 1"
    (lake / "_bloomify.toml").unlink()
    (lake / "broken.parquet").write_text("no Parquet")
    some = invoke("advise", "lake", "--write")
    assert (some.exit_code, "the advice is not written down" in some.stderr) == (3, True)
    assert not (lake / "_bloomify.toml").exists()


def test_the_command_line_comes_first(lake: Path, invoke: Invoke) -> None:
    (lake / "_bloomify.toml").write_text(
        'columns = "*"\nexclude = "city"\nfpp = ["0.1", "id=0.001"]\nplacement = "end"\n'
        'max-bytes = "1K"\n'
    )

    def columns_of(*options: str) -> dict[str, tuple[float, int]]:
        done = invoke("lake", *options, "--dry-run", "--json", "--jobs", "1")
        assert done.exit_code == 0, done.output
        report = json.loads(done.stdout)["files"][0]
        assert report["placement"] == ("row-group" if "--placement" in options else "end")
        return {
            one["name"]: (one["asked_fpp"], one["row_groups"][0]["num_bytes"])
            for one in report["columns"]
        }

    assert columns_of() == {"id": (0.001, 1024), "email": (0.1, 1024)}
    assert columns_of("--fpp", "0.5", "--placement", "row-group") == {
        "id": (0.5, 1024),
        "email": (0.5, 1024),
    }
    assert columns_of("--columns", "city") == {"city": (0.1, 64)}
    assert set(columns_of("--all-columns")) == {"id", "email", "city"}
    assert columns_of("--exclude", "email", "--max-bytes", "1MiB") == {"id": (0.001, 16384)}
    assert invoke("lake", "--all-columns", "--columns", "id").exit_code == 2


def test_files_that_lack_a_column(lake: Path, invoke: Invoke) -> None:
    """`advise` sees that some do, and the run that it asks for ends with 0."""
    rows = [str(i) for i in range(10)]
    (lake / "day=2").mkdir()
    pq.write_table(pa.table({"id": pa.array(range(10)), "x": rows}), lake / "day=2/a.parquet")
    assert invoke("advise", "lake", "--write").exit_code == 0
    text = (lake / "_bloomify.toml").read_text()
    assert text.splitlines()[1:] == [
        'columns = ["id", "email"]',
        "fpp = 0.01",
        "skip-missing = true",
    ]
    (lake / "_bloomify.toml").write_text(text.replace("0.01", '["1%", "email=0.1%"]'))
    done = invoke("lake")
    assert done.exit_code == 0, done.output
    assert "gives columns, fpp, skip-missing.\n" in done.stderr
    assert filtered(lake) == [{"id", "email"}, {"id", "email"}, {"id"}]
    (lake / "_bloomify.toml").write_text(text.replace("true", "false"))
    assert invoke("lake", "--replace").exit_code == 3
    assert invoke("lake", "--replace", "--skip-missing").exit_code == 0


def test_each_folder_has_its_own(lake: Path, invoke: Invoke) -> None:
    """A file in a folder below has no say, unless that folder is named; nor has one above."""
    (lake / "day=0/_bloomify.toml").write_text('columns = "id"')
    (lake / "day=1/_bloomify.toml").write_text('columns = "email"')
    assert invoke("lake").exit_code == 2
    assert invoke("lake/day=0", "./lake//day=1/").exit_code == 0
    assert filtered(lake) == [{"id"}, {"email"}]
    (lake / "day=1/_bloomify.toml").unlink()
    (lake / "_bloomify.toml").write_text('columns = "city"')
    for inputs in (["lake/day=0", "lake/day=1"], ["lake/day=1/a.parquet"], ["lake/*/*.parquet"]):
        missing = invoke(*inputs)
        assert (missing.exit_code, "name the columns" in missing.stderr) == (2, True)
    assert invoke("lake/day=0", "lake/day=1", "--all-columns", "--fpp", "0.2").exit_code == 0
    assert filtered(lake) == [{"id", "email", "city"}] * 2


def test_a_wrong_file_stops_the_run(
    lake: Path, invoke: Invoke, listing: Callable[[], dict[str, bytes]]
) -> None:
    (lake / "_bloomify.toml").write_text("columns = 'id'\nfpp = \"2\"\n")
    before = listing()
    for options in ([], ["--columns", "id"]):
        wrong = invoke("lake", *options)
        assert wrong.exit_code == 2
        assert 'lake/_bloomify.toml: fpp has no rate in "2". Write it as in: fpp' in wrong.stderr
    assert listing() == before


def test_other_commands_pass_over_it(lake: Path, invoke: Invoke) -> None:
    (lake / "_bloomify.toml").write_text("colums = 'id'")  # no other command reads it
    for line in (
        ["lake", "-o", "new", "--all-columns"],
        ["verify", "lake"],
        ["inspect", "lake"],
        ["probe", "lake", "--where", "id = 7919"],
        ["get", "lake", "--where", "id = 7919"],
        ["advise", "lake"],
        ["repair", "lake"],
        ["index", "create", "lake", "--columns", "id", "--name", "ids"],
        ["index", "refresh", "lake", "--name", "ids"],
        ["index", "lookup", "lake", "--where", "id = 7919"],
        ["strip", "lake"],
    ):
        (lake / "_bloomify.toml").write_text("fpp = 0.1" if line[0] == "lake" else "colums = 1")
        done = invoke(*line)
        assert done.exit_code == 0, (line, done.output)
        assert "passed over" not in done.stderr
        assert "_bloomify" not in done.output or line[0] == "lake"


def test_a_table_has_properties_instead(folder: Path, invoke: Invoke) -> None:
    writer = Writer(folder / "shop", [column("id", "long", 1)], (), "none")
    writer.add(pa.table({"id": [1, 2]}))
    writer.commit()
    (folder / "shop/_bloomify.toml").write_text('columns = "id"')
    done = invoke("shop")
    assert done.exit_code == 2
    assert "no property bloomify.columns" in done.stderr
