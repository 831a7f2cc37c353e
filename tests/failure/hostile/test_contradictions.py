"""Footers whose column chunks contradict the schema: refused before pyarrow hangs, or aborts.

Mutants are read in processes of their own, because pyarrow, asked by itself, never returns.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import datafusion
import pyarrow as pa
import pytest

from campaigns.harness import Plan, run
from campaigns.hostile.footers_campaign import Footers
from campaigns.hostile.replacing import zigzag
from parquet_bloomwriter import MalformedFile, UnsupportedFile, dataset, iter_batches, read_table
from parquet_bloomwriter.scan.survivors import find_survivors
from parquet_bloomwriter.scan.table import find_table
from tests.metadata.test_contradictions import TYPE, with_field
from tests.verbs.files import footer_of, with_footer, written
from tests.verbs.test_encrypted import encrypted

if TYPE_CHECKING:
    from pathlib import Path

HANGING = (295, 757, 817, 1463, 1631, 1881, 2063, 2271, 2417, 2439, 3303, 5487)
"""Mutants whose statistics, levels or types keep pyarrow from returning."""


NAMES = (1580, 4439, 24153)
"""Mutants with names that are not UTF-8."""


def test_what_pyarrow_hangs_on_is_refused(tmp_path: Path) -> None:
    with Footers(Plan(scratch=tmp_path)) as footers:
        tried = (*HANGING, *NAMES, *range(5000, 5015))
        found = run(footers, [f"read_table/{number}" for number in tried])
    assert [problem for one in found.values() for problem in one.problems] == []
    assert found["read_table"].tried == len(tried)


def test_a_file_that_is_read_as_a_whole_is_checked_though_no_row_group_matches(
    tmp_path: Path,
) -> None:
    """So it is read when it was replaced in the middle of a first scan."""
    path = tmp_path / "a.parquet"
    data = written(pa.table({"a": [1, 2], "b": [1, 2]}))
    other_type = with_field(footer_of(data).data, TYPE, zigzag(1))  # of the last column
    path.write_bytes(with_footer(data, other_type))
    table = find_table(str(path), filesystem=None, partitioning="hive", options={})
    filters = [("a", "=", 5), ("b", "=", 1)]
    assert find_survivors(table, filters).pieces == ()
    with pytest.raises(MalformedFile, match="another physical type"):
        find_survivors(table, filters, probes=False)


def test_a_file_that_was_replaced_before_it_is_streamed_is_checked(tmp_path: Path) -> None:
    """In a process of its own, which pyarrow would end."""
    folder, damaged = tmp_path / "table", tmp_path / "damaged"
    data = written(pa.table({"a": [1, 2], "b": [1, 2]}))
    folder.mkdir()
    for name in ("a.parquet", "b.parquet"):
        (folder / name).write_bytes(data)
    damaged.write_bytes(with_footer(data, with_field(footer_of(data).data, TYPE, zigzag(1))))
    code = (
        "import os, sys; from parquet_bloomwriter import iter_batches\n"
        "rows = iter_batches(sys.argv[1], filters=[('b', '=', 1)], columns=['a'])\n"
        "os.replace(sys.argv[2], sys.argv[1] + '/b.parquet')\n"
        "try: list(rows)\n"
        "except OSError as error: print(error)\n"
    )
    command = [sys.executable, "-c", code, str(folder), str(damaged)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert "does not match" in done.stdout


REPLACING = """
import os, shutil, sys
from parquet_bloomwriter import MalformedFile, dataset, read_table
from parquet_bloomwriter.verbs import read
folder, sound, damaged = sys.argv[1:]
path = folder + "/b.parquet"

def replace(new):
    shutil.copy(new, path + ".new")
    os.replace(path + ".new", path)

def overwrite(new):
    found = os.stat(path)
    shutil.copyfile(new, path)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))

def scan_dataset(change):
    rows = dataset(folder, filters=[("b", "=", 1)])
    change()
    return rows.to_table()

def scan_table(change):
    def find(*args, **options):
        survivors = original(*args, **options)
        change()
        return survivors

    original, read.find_survivors = read.find_survivors, find
    try:
        return read_table(folder, filters=[("b", "=", 1)])
    finally:
        read.find_survivors = original

for scan in scan_dataset, scan_table:
    for change in replace, overwrite:
        replace(sound)
        assert scan(lambda: change(sound)).num_rows == 2
        try:
            scan(lambda: change(damaged))
        except MalformedFile as error:
            print(error.path == path, error)
"""


def test_a_file_that_was_replaced_before_pyarrow_opens_it_is_checked(tmp_path: Path) -> None:
    """In a process of its own, which pyarrow would end."""
    folder, sound, damaged = (tmp_path / name for name in ("table", "sound", "damaged"))
    data = written(pa.table({"a": [1, 2], "b": [1, 2]}))
    folder.mkdir()
    for place in (folder / "a.parquet", folder / "b.parquet", sound):
        place.write_bytes(data)
    damaged.write_bytes(with_footer(data, with_field(footer_of(data).data, TYPE, zigzag(1))))
    command = [sys.executable, "-c", REPLACING, *map(str, (folder, sound, damaged))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("True") == done.stdout.count("another physical type") == 4


def test_a_filter_on_an_encrypted_column_needs_its_keys() -> None:
    data = encrypted()
    for read in (
        read_table,
        dataset,
        lambda *args, **options: list(iter_batches(*args, **options)),
    ):
        with pytest.raises(UnsupportedFile, match="column email: the column is encrypted"):
            read(data, filters="email = 'a'")
    assert read_table(data, filters="id = 5", columns=["id"]).num_rows == 1
    assert read_table(data, filters="city LIKE 'B%'", columns=["id"]).num_rows == 334


def test_rows_are_found_where_the_statistics_of_long_values_are_shortened(tmp_path: Path) -> None:
    """As parquet-rs does to values of more than 64 bytes."""
    values = [bytes([number]) * 100 for number in range(50)]
    context = datafusion.SessionContext()
    table = pa.table({"key": pa.array(values, pa.binary(100)), "id": range(50)})
    context.register_record_batches("rows", [table.to_batches()])
    context.sql("SELECT * FROM rows").write_parquet(str(tmp_path / "rows"))
    (path,) = (tmp_path / "rows").iterdir()
    filters = [("key", "=", values[7])]
    assert read_table(path, filters=filters)["id"].to_pylist() == [7]
    (batch,) = iter_batches(path, filters=filters)
    assert batch["id"].to_pylist() == [7]
    assert dataset(path, filters="id = 7").to_table().num_rows == 1
    with pytest.raises(UnsupportedFile, match="a shortened minimum or maximum"):
        dataset(path, filters=filters)
