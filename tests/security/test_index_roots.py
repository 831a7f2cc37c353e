"""An index made by somebody else: what it names is compared, never opened, resolved or asked.

The actions run under strace, which sees what libraries in Rust and C++ do, too: not one connection
(the look-up of a name begins with one), and no look at a place that only the index names.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from campaigns.security.logs import index_folder, newest, rewrite
from parquet_bloomwriter import index
from parquet_bloomwriter.errors import BloomwriterError, IndexProblem, InvalidArgument
from parquet_bloomwriter.index.format.manifest import FileTable
from parquet_bloomwriter.index.query import snapshot as snapshots
from parquet_bloomwriter.spark.connect import prune
from parquet_bloomwriter.spark.plan.catalog import KnownHomes, matching_indexes
from parquet_bloomwriter.spark.rules.appended import _bytes_gone
from tests.security.test_index_folder import ACTIONS, NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from parquet_bloomwriter.index.query.snapshot import Snapshot

TRAP = "/trap-of-a-stranger"
"""A name that nothing but a root in an index has."""

ROOTS = (
    f"hdfs://127.0.0.1:9{TRAP}",
    f"s3://bucket{TRAP}",
    f"s3a://bucket{TRAP}",
    f"gs://bucket{TRAP}",
    f"abfss://container@account.dfs.core.windows.net{TRAP}",
    f"https://127.0.0.1:9{TRAP}",
    f"iceberg://prod{TRAP}.table",
    f"file://127.0.0.1{TRAP}",
    f"//host{TRAP}",
    TRAP,
    f"TABLE/..{TRAP}",
    f"TABLE/x/../..{TRAP}",
)
"""What the log of an index says; TABLE is the folder that the caller names."""

WITH_ALL = (ROOTS[0], TRAP)
"""Roots that meet every action."""

STATES: tuple[dict[str, str], ...] = (
    {"delta_version": "0"},
    {
        "iceberg_table": "iceberg://prod/sales.orders",
        "iceberg_uuid": "u",
        "iceberg_snapshot": "1",
        "iceberg_fields": "{}",
    },
)

ENTRIES: list[tuple[str | None, dict[str, str]]] = [
    *((root, {}) for root in ROOTS),
    *((root, state) for root in (ROOTS[0], None) for state in STATES),
]

FURTHER: dict[str, Callable[[Path], object]] = {
    "lookup by name": lambda table: index.lookup(table, "id = 3", name=NAME),
    "lookup of a file": lambda table: index.lookup(table / "0.parquet", "id = 3"),
    "show": index.index,
    "refresh quickly": lambda table: index.refresh(table, mode="quick"),
    "Spark's rules": lambda table: list(matching_indexes([str(table)], [])),
    "Spark's session": lambda table: list(KnownHomes(None, [table]).infos()),
    "create": lambda table: index.create(table, ["id"], name=NAME),
}


def make_table(folder: Path) -> Path:
    folder.mkdir()
    for i in range(2):
        pq.write_table(pa.table({"id": [i, i + 10, i + 20]}), folder / f"{i}.parquet")
    index.create(folder, ["id"], name=NAME)
    return folder


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return make_table(tmp_path / "table")


def attempts() -> Iterator[tuple[str | None, dict[str, str], Callable[[Path], object]]]:
    """Yield each root and state with some actions: each action meets a third of them."""
    actions = list((ACTIONS | FURTHER).values())
    for nth, (root, state) in enumerate(ENTRIES):
        meets_all = root is None or (root in WITH_ALL and not state)
        for action in actions if meets_all else actions[nth % 3 :: 3]:
            yield root, state, action


def attempt_all(original: Path, scratch: Path) -> int:
    """Do actions on a table with every root and state; return how many."""
    count = 0
    for root, state, action in attempts():
        table = scratch / f"table-{count}"
        shutil.copytree(original, table, copy_function=shutil.copy2)
        folder = index_folder(table, NAME)
        named = None if root is None else root.replace("TABLE", str(table))
        rewrite(folder, root=named, options=newest(folder)[1]["options"] | state)
        with contextlib.suppress(BloomwriterError, OSError):
            action(table)
        shutil.rmtree(table)
        count += 1
    return count


def test_what_an_index_names_is_not_followed(table: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    program = (
        "import sys; from pathlib import Path; from tests.security import test_index_roots as own;"
        "print(own.attempt_all(*map(Path, sys.argv[1:])))"
    )
    environment = os.environ | {
        "PYICEBERG_CATALOG__PROD__URI": "http://127.0.0.1:9",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
    }
    command = ["strace", "-f", "-qq", "-e", "trace=connect,sendto,%file", "-o", str(trace)]
    command += [sys.executable, "-c", program, str(table), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == len(list(attempts())) > 100
    calls = trace.read_text(errors="replace").splitlines()
    assert [line for line in calls if "connect(" in line or "sendto(" in line] == []
    assert [line for line in calls if TRAP in line] == []
    assert any(str(table) in line for line in calls)


def test_refusals_say_why(table: Path) -> None:
    folder = index_folder(table, NAME)
    rewrite(folder, root=ROOTS[0])
    with pytest.raises(InvalidArgument, match=f'of another table.*Name the folder "{ROOTS[0]}"'):
        index.refresh(table, NAME)
    assert index.index(table, NAME).problem == f'it is of another table, "{ROOTS[0]}"'
    (info,) = index.indexes(table, changes=True)
    assert info.problem == f'it is of another table, "{ROOTS[0]}"'
    (use,) = index.lookup(table, "id = 3", name=NAME).indexes
    assert use.reason is not None
    assert f"the index is of {ROOTS[0]}" in use.reason.text
    assert list(matching_indexes([str(table)], [])) == []
    rewrite(folder, root=f"{table}/../x")
    with pytest.raises(IndexProblem, match="not an absolute path"):
        index.refresh(table, NAME)


def test_a_session_reads_no_table_that_only_an_index_names(table: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    index.create(table, ["id"], name="elsewhere", home=home)
    unnamed = KnownHomes(str(home), [])
    with pytest.raises(InvalidArgument, match=f'of "{table}".*has not named.*table='):
        unnamed.find_with_table("elsewhere")
    assert unnamed.find("elsewhere").table == str(table)  # which is read by no other action
    assert unnamed.find_with_table("elsewhere", str(table)).table == str(table)
    assert KnownHomes(str(home), [table]).find_with_table("elsewhere").table == str(table)
    assert KnownHomes(None, [table]).find_with_table(NAME).table == str(table)


NAMES = (
    "0.parquet",
    "day=1/1.parquet",
    f"s3://bucket{TRAP}",
    f"hdfs://127.0.0.1:9{TRAP}",
    TRAP,
    f"..{TRAP}",
    f"x/../..{TRAP}",
)


def snapshot_of(table: Path, names: tuple[str, ...]) -> Snapshot:
    """Return a snapshot of an index that knows files of these names."""
    found = snapshots.open_snapshot(str(index_folder(table, NAME)))
    assert isinstance(found, snapshots.Snapshot)
    numbers = np.arange(len(names), dtype=np.int64)
    found._files = FileTable(  # noqa: SLF001  as if the manifest had them
        ids=numbers,
        paths=pa.array(names, pa.string()),
        sizes=numbers + 1,
        modified_ms=numbers,
        num_rows=numbers,
        etags=None,
    )
    return found


def test_names_of_files_are_followed_only_within_what_is_asked(table: Path) -> None:
    """The files that `where` looks at, and those that a join of Spark looks for."""
    found, root = snapshot_of(table, NAMES), str(table)

    def present(*locations: str) -> list[str]:
        flags = prune._present(found, locations)  # noqa: SLF001
        return [name for name, flag in zip(NAMES, flags, strict=True) if flag]

    assert present(root) == ["0.parquet", "day=1/1.parquet"]
    assert present(f"{root}/day=1") == ["day=1/1.parquet"]
    assert present(os.path.dirname(root)) == ["0.parquet", "day=1/1.parquet"]  # noqa: PTH120
    assert present(root, TRAP) == ["0.parquet", "day=1/1.parquet", TRAP]
    many = [f"{root}/{n}.parquet" for n in range(100)]
    assert present(*many) == ["0.parquet", "day=1/1.parquet"]
    assert present(*many, NAMES[2]) == ["0.parquet", "day=1/1.parquet", NAMES[2]]
    gone = _bytes_gone(found, np.zeros(len(NAMES), np.bool_))
    assert gone == 2 + 3 + 4  # names of stores are no files here, and day=1 was never written


LINKED = {
    "the log": "_log",
    "the index": "",
    "a version": "v__={next}",
    "a column": "v__={next}/column=id",
}


@pytest.mark.parametrize("place", LINKED)
def test_nothing_is_written_through_a_link(table: Path, tmp_path: Path, place: str) -> None:
    folder = index_folder(table, NAME)
    path = folder / LINKED[place].format(next=int(newest(folder)[0].name) + 1)
    target = tmp_path / "target"
    if path.exists():
        path.rename(target)
    else:
        target.mkdir()
        path.parent.mkdir(exist_ok=True)
    path.symlink_to(target)
    (target / ".1.bloomify-0123456789abcdef.tmp").write_text("precious")
    before = sorted((one, one.lstat().st_mtime_ns) for one in target.rglob("*"))
    pq.write_table(pa.table({"id": [77]}), table / "new.parquet")
    for action in ("refresh in full", "refresh", "delete", "vacuum", "optimize", "cancel"):
        is_all = place in ("the log", "the index")
        refuses = is_all and action != "optimize"  # of which there is nothing to do
        refuses |= action == "refresh in full"
        expected = (
            pytest.raises(IndexProblem, match=r"is a symbolic link.*Remove the link")
            if refuses
            else contextlib.suppress(BloomwriterError, OSError)
        )
        with expected:
            ACTIONS[action](table)
        assert sorted((one, one.lstat().st_mtime_ns) for one in target.rglob("*")) == before, action
    if place in ("the log", "the index"):
        assert str(table / "new.parquet") in index.lookup(table, "id = 77").paths
