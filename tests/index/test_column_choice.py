"""Patterns, ordinals and excluded names for the columns of an index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from parquet_bloomwriter import ColumnNotFound, InvalidArgument, index
from parquet_bloomwriter.index.column_choice import choose_names
from parquet_bloomwriter.index.table.ref import TableRef
from tests.support.iceberg_reading import new_catalog, paths_of

if TYPE_CHECKING:
    from pathlib import Path

DATA = pa.table(
    {
        "user_id": pa.array([1, 2], pa.int64()),
        "order_id": pa.array([3, 4], pa.int64()),
        "is_id": [True, False],
        "tags_id": [[1], [2]],
        "address": [{"zip_id": "a", "city": "b"}] * 2,
    }
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of two files, of which the first cannot be read."""
    path = tmp_path / "shop"
    path.mkdir()
    (path / "a.parquet").write_text("this is no Parquet file, but long enough")
    pq.write_table(DATA, path / "b.parquet")
    return path


@pytest.fixture(params=["folder", "delta", "iceberg"])
def shop(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same columns in a folder, a Delta and an Iceberg table."""
    if request.param == "folder":
        return str(request.getfixturevalue("folder"))
    if request.param == "delta":
        write_deltalake(str(tmp_path / "delta"), DATA)
        return str(tmp_path / "delta")
    (tmp_path / "iceberg").mkdir()
    catalog = new_catalog(monkeypatch, tmp_path / "iceberg")
    table = catalog.create_table("shop.orders", DATA.schema)
    table.append(DATA)
    assert len(paths_of(table)) == 1
    return "iceberg://lake/shop.orders"


@pytest.mark.parametrize(
    ("columns", "exclude", "expected"),
    [
        (["*_id"], [], ["user_id", "order_id", "address.zip_id"]),
        (["*_id"], ["user*", "address"], ["order_id"]),
        (["address.city", "*r_id"], [], ["address.city", "user_id", "order_id"]),
        (["order_id", "*_id"], ["address.*"], ["order_id", "user_id"]),
        (["#1"], [], ["order_id"]),
        (["order_id", "user_id"], ["#0"], ["order_id"]),
        ("*", ["address"], ["user_id", "order_id"]),
    ],
)
def test_choices(
    shop: str, columns: list[str] | str, exclude: list[str], expected: list[str]
) -> None:
    element = "tags_id.element" if shop.startswith("iceberg:") else "tags_id.list.element"
    elements = [element] if columns == "*" else []
    assert list(choose_names(TableRef.of(shop), columns, exclude).names) == expected + elements


def test_a_pattern_of_columns_that_cannot_be_indexed(shop: str) -> None:
    with pytest.raises(InvalidArgument, match="is_id"):
        index.create(shop, "is*", name="ids")


def test_an_index_by_pattern(shop: str) -> None:
    rates = {"*r_id": 0.02, "user_id": 0.001, "*": 0.05}
    report = index.create(
        shop, ["*_id", "address.city"], exclude="address.zip_id", name="ids", fpp=rates
    )
    found = {column.name: column.fpp for column in report.columns}
    assert found == {"user_id": 0.001, "order_id": 0.02, "address.city": 0.05}
    assert index.lookup(shop, "order_id = 3 AND user_id = 1").num_kept >= 1


def test_a_name_wins_over_a_pattern(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a*": [1], "ab": [2]}), tmp_path / "odd.parquet")
    assert choose_names(TableRef.of(tmp_path), ["a*"]).names == ("a*",)
    assert choose_names(TableRef.of(tmp_path), ["?*"], ["a*"]).names == ("ab",)


def test_what_cannot_be_chosen(folder: Path) -> None:
    with pytest.raises(ColumnNotFound, match="Did you mean user_id or order_id"):
        choose_names(TableRef.of(folder), "*_idx")
    with pytest.raises(ColumnNotFound, match='no column "nothing"'):
        choose_names(TableRef.of(folder), "user_id", "nothing")
    with pytest.raises(InvalidArgument, match="are excluded, too"):
        choose_names(TableRef.of(folder), "user_id", "*_id")
    with pytest.raises(InvalidArgument, match="more than once"):
        choose_names(TableRef.of(folder), ["user_id", "user_id"])
    assert choose_names(TableRef.of(folder), ["USER_ID", "order_id"], "user_id").names == (
        "order_id",
    )
    with pytest.raises(InvalidArgument, match="fpp is given for zip"):
        index.create(folder, "*_id", name="ids", fpp={"zip": 0.1})
    assert not (folder / "_bloom_index").exists()


def test_plain_names_need_no_file(tmp_path: Path) -> None:
    choice = choose_names(TableRef.of(tmp_path / "nowhere"), ["b", "a"])
    assert choice.names == ("b", "a")
    assert choice.by_name({"a": 1, "*": 2, "other": 3}) == {"a": 1, "b": 2, "other": 3}
