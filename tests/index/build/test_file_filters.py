"""Filters that files have are taken if they can be trusted, and answer as those of values do."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_bloomwriter import bloomify, clear_cache, index
from parquet_bloomwriter.index.build import file_filters, survey
from parquet_bloomwriter.index.build.group import FileFilter, filter_of_file
from parquet_bloomwriter.index.query import snapshot
from parquet_bloomwriter.source.local import open_local
from parquet_bloomwriter.source.open import opened_with_footer
from tests.index.built import build, hash_of, overwrite, tables, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def embedded(folder: Path, table: pa.Table, *, name: str = "f.parquet", **options: Any) -> Path:  # noqa: ANN401
    """Write a file, and add filters to it."""
    write(folder, {name: table}, **options)
    bloomify(folder / name, ["x"])
    return folder / name


@settings(max_examples=12)
@given(files=tables(), row_group_size=st.integers(1, 100))
def test_embedded_filters_give_the_answers_of_values(
    files: dict[str, pa.Table], row_group_size: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("t")
    for name, table in files.items():
        embedded(root, table, name=name, row_group_size=row_group_size)
    from_values = build(root, tmp_path_factory.mktemp("v"), "x", origin="values")
    built = build(root, tmp_path_factory.mktemp("a"), "x", origin="auto")
    filters = built.filters("x")
    assert built.reasons() == {}
    assert set(filters) == set(from_values.filters("x"))
    for name, table in files.items():
        found = [bits for bits in filters[name] if bits is not None]
        values = table["x"].drop_null().to_pylist()
        assert bool(found) == bool(values)
        for value in values:
            h = hash_of(table["x"].type, value)
            assert any(bits.check_hash(h) for bits in found)
            assert built.partial("x").check_hash(h)


def test_each_row_group_keeps_its_filter(tmp_path: Path) -> None:
    groups = [pa.array(np.arange(start, start + 100)) for start in (0, 1000)]
    table = pa.table({"x": pa.chunked_array([*groups, pa.array([None] * 100, pa.int64())])})
    embedded(tmp_path / "t", table, row_group_size=100)
    built = build(tmp_path / "t", tmp_path, "x", origin="embedded")
    rows = built.rows("x")
    assert [row["rowGroup"] for row in rows] == [0, 1, 2]
    assert [row["numValues"] for row in rows] == [100, 100, 0]
    assert [85 < row["ndv"] < 115 for row in rows] == [True, True, False]
    first, second, third = built.filters("x")["f.parquet"]
    assert third is None
    for bits, start in ((first, 0), (second, 1000)):
        assert bits is not None
        found = [h for h in range(2000) if bits.check_hash(hash_of(pa.int64(), h))]
        assert set(range(start, start + 100)) <= set(found)
        assert len(found) < 200


def test_embedded_filters_are_folded_to_the_rate_asked_for(tmp_path: Path) -> None:
    table = pa.table({"x": np.arange(5000)})
    write(tmp_path / "t", {"f.parquet": table}, bloom_filter_options={"x": {"ndv": 10**6}})
    ((bits,),) = (
        build(tmp_path / "t", tmp_path, "x", origin="embedded", fpp=0.05).filters("x").values()
    )
    assert bits is not None
    assert bits.exact_fpp() <= 0.05
    assert bits.fold(2).exact_fpp() > 0.05


def test_the_filters_of_a_file_share_what_it_may_take(tmp_path: Path) -> None:
    embedded(tmp_path / "t", pa.table({"x": np.arange(8000)}), row_group_size=1000)
    built = build(tmp_path / "t", tmp_path, "x", origin="embedded", max_bytes=2000)
    assert [bits.num_bytes for bits in built.filters("x")["f.parquet"] if bits] == [128] * 8


def test_a_file_that_lacks_a_filter_is_read_or_left(tmp_path: Path) -> None:
    table = pa.table({"x": np.arange(100)})
    embedded(tmp_path / "t", table, name="has.parquet")
    write(tmp_path / "t", {"lacks.parquet": table})
    auto = build(tmp_path / "t", tmp_path / "auto", "x", origin="auto")
    assert [row["rowGroup"] for row in auto.rows("x")] == [0, -1]
    assert auto.reasons() == {}
    strict = build(tmp_path / "t", tmp_path / "embedded", "x", origin="embedded")
    assert set(strict.filters("x")) == {"has.parquet"}
    assert strict.reasons() == {("lacks.parquet", "x"): "row group 0: it has no filter"}
    assert strict.result.incomplete == ("x",)


def place_of_filter(path: Path) -> tuple[int, int]:
    from parquet_bloomwriter.filters.stored import filters_of_columns

    with opened_with_footer(path) as (source, footer):
        (found,) = filters_of_columns(source, footer, {0})
        assert found.header is not None
        return found.offset + found.header.length, found.stop


def test_filters_that_must_not_be_trusted_are_not(tmp_path: Path) -> None:
    table = pa.table({"x": np.arange(100)})
    zeroed = embedded(tmp_path / "t", table, name="zeroed.parquet")
    start, stop = place_of_filter(zeroed)
    overwrite(zeroed, start, bytes(stop - start))
    broken = embedded(tmp_path / "t", table, name="broken.parquet")
    overwrite(broken, place_of_filter(broken)[0] - 5, b"\xff" * 5)
    strict = build(tmp_path / "t", tmp_path / "embedded", "x", origin="embedded")
    assert strict.rows("x") == []
    reasons = strict.reasons()
    assert reasons["zeroed.parquet", "x"].endswith("all bits are zero, though there are values")
    assert reasons["broken.parquet", "x"].startswith("row group 0: ")
    auto = build(tmp_path / "t", tmp_path / "auto", "x", origin="auto")
    for (bits,) in auto.filters("x").values():
        assert bits is not None
        assert all(bits.check_hash(hash_of(pa.int64(), value)) for value in range(100))


@pytest.mark.parametrize("values", [[0.0, 1.5], [-0.0], [1.5]])
def test_filters_of_others_that_may_lack_zeros_or_nans_are_not_taken(
    values: list[float], tmp_path: Path
) -> None:
    table = pa.table({"x": values})
    write(tmp_path / "t", {"f.parquet": table}, bloom_filter_options={"x": {"ndv": 10}})
    strict = build(tmp_path / "t", tmp_path / "embedded", "x", origin="embedded")
    assert strict.rows("x") == []
    ((bits,),) = build(tmp_path / "t", tmp_path / "auto", "x", origin="auto").filters("x").values()
    assert bits is not None
    assert [bits.check_hash(hash_of(pa.float64(), zero)) for zero in (0.0, -0.0)] == [
        0.0 in values
    ] * 2


def _long_ago(path: Path) -> str:
    """Let a file be old: one of a moment ago, by chance on a whole second, is refused."""
    os.utime(path, (10**9, 10**9))
    return str(path)


def test_the_filter_of_one_file(tmp_path: Path) -> None:
    values = np.arange(4000)
    path = tmp_path / "plain.parquet"
    pq.write_table(pa.table({"x": values}), path, row_group_size=500)
    found = filter_of_file(_long_ago(path), "x", fpp=0.01, max_bytes=1 << 20)
    assert isinstance(found, FileFilter)
    assert found.num_values == 4000
    assert found.leaf.name == "x"
    assert found.bits.exact_fpp() <= 0.01
    assert all(found.bits.check_hash(hash_of(pa.int64(), int(value))) for value in values)


def test_the_filter_of_one_file_from_its_own(tmp_path: Path) -> None:
    path = embedded(tmp_path, pa.table({"x": np.arange(4000)}))
    found = filter_of_file(_long_ago(path), "x", fpp=0.01, max_bytes=1 << 20)
    assert isinstance(found, FileFilter)
    assert all(found.bits.check_hash(hash_of(pa.int64(), value)) for value in range(4000))
    many = embedded(
        tmp_path, pa.table({"x": np.arange(4000)}), name="many.parquet", row_group_size=100
    )
    found = filter_of_file(_long_ago(many), "x", fpp=0.01, max_bytes=1 << 20)
    assert isinstance(found, FileFilter)
    assert found.bits.exact_fpp() <= 0.01  # by values: 40 filters together would be overloaded
    assert all(found.bits.check_hash(hash_of(pa.int64(), value)) for value in range(4000))


def test_the_filter_of_one_file_without_values(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table({"x": pa.array([None], pa.int64())}), path)
    found = filter_of_file(_long_ago(path), "x", fpp=0.01, max_bytes=1 << 20)
    assert isinstance(found, FileFilter)
    assert (found.num_values, found.bits.fill()) == (0, 0)


def test_no_filter_of_one_file(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    pq.write_table(pa.table({"y": [1]}), path)
    assert filter_of_file(_long_ago(path), "x", fpp=0.01, max_bytes=64) == 'there is no column "x"'
    assert "gone" in str(filter_of_file(str(tmp_path / "no"), "x", fpp=0.01, max_bytes=64))


class PanicException(BaseException):
    """As libraries in Rust raise it."""


def test_a_panic_over_one_file_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a build nor a lookup ends by it; Ctrl-C ends both."""
    for name in ("a", "b", "c"):
        pq.write_table(pa.table({"id": [1, 2]}), tmp_path / f"{name}.parquet")
    raised: list[BaseException] = [PanicException("index out of range")]

    def failing(open_: Callable[[str], Any]) -> Callable[[str], Any]:
        def fail(path: str) -> Any:  # noqa: ANN401  a context
            if path.endswith("b.parquet"):
                raise raised[0]
            return open_(path)

        return fail

    places = {"filters": (file_filters, "open_local"), "survey": (survey, "open_data_file")}
    for name, (module, attribute) in places.items():
        with monkeypatch.context() as patch:
            patch.setattr(module, attribute, failing(getattr(module, attribute)))
            report = index.create(tmp_path, ["id"], name=name)
        assert report.num_files >= 2
        assert len(index.lookup(tmp_path, "id = 1", name=name).paths) == 3
    raised[0] = KeyboardInterrupt()
    monkeypatch.setattr(file_filters, "open_local", failing(open_local))
    with pytest.raises(KeyboardInterrupt):
        index.create(tmp_path, ["id"], name="interrupted")
    monkeypatch.undo()
    clear_cache()
    monkeypatch.setattr(snapshot, "read_manifest", lambda *_: throw(PanicException("deep")))
    assert len(index.lookup(tmp_path, "id = 5", name="survey").paths) == 3


def throw(error: BaseException) -> None:
    raise error
