"""Indexes of elements of lists, and of keys and values of maps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import index
from parquet_bloomwriter.errors import ColumnNotFound, InvalidArgument
from parquet_bloomwriter.index.format.columns import columns_holding

if TYPE_CHECKING:
    from pathlib import Path

FILES, ROWS = 6, 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a table whose files name the groups in lists differently, with two indexes."""
    path = tmp_path_factory.mktemp("lists")
    for file in range(FILES):
        names = [f"{file}.{n}" for n in range(ROWS)]
        table = pa.table(
            {
                "n": range(ROWS),
                "tags": [[f"t{one}", None] if n % 3 else None for n, one in enumerate(names)],
                "m": pa.array(
                    [{f"k{one}": file * ROWS + n} for n, one in enumerate(names)],
                    pa.map_(pa.string(), pa.int64()),
                ),
                "deep": [[[n]] for n in range(ROWS)],
                "s": [{"tags": [f"s{one}"]} for one in names],
            }
        )
        compliant = file % 2 == 0
        pq.write_table(table, path / f"{file}.parquet", use_compliant_nested_type=compliant)
    columns = ["tags", "m.key_value.key", "m.key_value.value", "s.tags"]
    index.create(path, columns, name="all")
    index.create(path, ["tags.list.element"], name="named")
    return path


def kept(folder: Path, where: str, name: str) -> list[str]:
    return [path.rpartition("/")[2] for path in index.lookup(folder, where, name=name).paths]


def test_lookups(folder: Path) -> None:
    every = [f"{file}.parquet" for file in range(FILES)]
    for where, expected in {
        "list_contains(tags, 't3.4')": every[3:4],
        "'t3.4' = ANY (tags)": every[3:4],
        "list_contains(tags, 'none')": [],
        "list_contains(s.tags, 's2.0')": every[2:3],
        "map_contains(m, 'k4.1')": every[4:5],
        "map_contains_value(m, 241)": every[4:5],
        "array_contains(map_values(m), 241.0)": every[4:5],
        "list_contains(tags, 't3.4') AND map_contains(m, 'k4.1')": [],
        "list_contains(tags, 't3.4') OR map_contains(m, 'k4.1')": every[3:5],
        "NOT list_contains(tags, 't3.4')": every,
        "tags = 't3.4'": every,
        "list_contains(m, 'k4.1')": every[4:5],  # an error in every engine
    }.items():
        assert kept(folder, where, "all") == expected, where
    with pytest.raises(ColumnNotFound, match='no column "t"'):
        kept(folder, "list_contains(t, 't3.4')", "all")
    for file in (2, 3):  # of either writer
        found = kept(folder, f"list_contains(tags, 't{file}.4')", "named")
        assert found == every[file : file + 1]
    (use,) = index.lookup(folder, "map_contains(m, 'k4.1')", name="named").indexes
    assert use.reason is not None
    assert use.reason.code == "MISSING_INDEXED_COL"


def test_what_cannot_be_indexed(folder: Path) -> None:
    for column, why in {
        "deep.list.element.list.element": "parts of elements",
        "deep": "it is a group",
        "m": "it is a group",
    }.items():
        with pytest.raises(InvalidArgument, match=why):
            index.create(folder, [column], name="none")


def test_which_columns_hold_a_part() -> None:
    names = ["tags", "tags.list.element", "m.key_value.key", "m.key_value.value", "a.b.c.d"]
    assert columns_holding(names, "tags", "element") == names[:2]
    assert columns_holding(names, "m", "key") == names[2:3]
    assert columns_holding(names, "m", "value") == names[3:4]
    assert columns_holding(names, "tags", "key") == []
    assert columns_holding(names, "a", "element") == []
    assert columns_holding(names, "a.b", "element") == names[4:]
