"""Nothing is said about files that changed since they were listed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from parquet_bloomwriter.index.build.file_filters import value_filter
from parquet_bloomwriter.index.table.data_files import list_files
from tests.index.built import build, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def two(tmp_path: Path) -> Path:
    root = tmp_path / "t"
    write(root, {name: pa.table({"x": [1, 2, 3]}) for name in ("a.parquet", "b.parquet")})
    for path in root.iterdir():
        os.utime(path, ns=(0, 1_600_000_000_000_000_000))
    return root


def replace_file(path: Path) -> None:
    write(path.parent, {path.name: pa.table({"x": [9, 8, 7]})})


def append_to(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


VALUE_FILTER = "parquet_bloomwriter.index.build.file_filters.value_filter"
CHANGES: list[Callable[[Path], None]] = [
    lambda path: path.unlink(),
    replace_file,
    append_to,
    os.utime,
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changed_since_it_was_listed(
    change: Callable[[Path], None], two: Path, tmp_path: Path
) -> None:
    files = list_files(str(two))
    change(two / "a.parquet")
    built = build(two, tmp_path, "x", files=files)
    assert built.result.changed == (10,)
    assert built.result.unindexed == ()
    assert set(built.filters("x")) == {"b.parquet"}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes_while_it_is_read(
    change: Callable[[Path], None], two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changing(source: Any, *rest: Any) -> Any:  # noqa: ANN401  passed on
        built = value_filter(source, *rest)
        if source.path.endswith("a.parquet"):
            change(two / "a.parquet")
        return built

    monkeypatch.setattr(VALUE_FILTER, changing)
    built = build(two, tmp_path, "x")
    assert built.result.changed == (10,)
    assert set(built.filters("x")) == {"b.parquet"}


def test_a_file_that_is_replaced_before_pyarrow_opens_it(
    two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changing(source: Any, *rest: Any) -> Any:  # noqa: ANN401  passed on
        other = two / "other"
        other.write_bytes((two / "a.parquet").read_bytes())
        os.utime(other, ns=(0, 1_600_000_000_000_000_000))
        other.rename(two / "a.parquet")
        return value_filter(source, *rest)

    files = list_files(str(two))[:1]
    monkeypatch.setattr(VALUE_FILTER, changing)
    built = build(two, tmp_path, "x", files=files)
    assert built.result.changed == (10,)
    assert built.rows("x") == []


def test_a_file_written_just_now_is_read_when_it_has_settled(tmp_path: Path) -> None:
    write(tmp_path / "t", {"a.parquet": pa.table({"x": [1]})})
    built = build(tmp_path / "t", tmp_path, "x")
    assert set(built.filters("x")) == {"a.parquet"}
