"""Engines answer alike with and without our filters, and find what is there.

Over every type, placement and sizing; and over the sample files of every writer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import bloomify
from tests.readers import matrix
from tests.readers.engines import Engine, equals

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloomwriter.rewrite.plan import Placement
    from parquet_bloomwriter.sbbf.sizing import Sizing

VARIANTS: tuple[tuple[Placement, Sizing], ...] = (
    ("column-chunk", "pow2"),
    ("row-group", "pow2"),
    ("end", "pow2"),
    ("column-chunk", "exact"),
)

MATRIX = [
    (file, engine)
    for file in matrix.FILES
    for engine in ("duckdb", "datafusion", "chdb", "spark")
    if (file, engine) != ("unknown to spark", "spark")
]


@pytest.fixture(scope="module")
def file(request: pytest.FixtureRequest) -> str:
    """Return which file of the matrix."""
    return str(request.param)


@pytest.fixture(scope="module")
def versions(file: str, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return a file of the matrix without filters, then with."""
    folder = tmp_path_factory.mktemp("matrix")
    old = folder / "old.parquet"
    pq.write_table(
        matrix.table(file),
        old,
        row_group_size=matrix.ROW_GROUP_ROWS,
        use_dictionary=False,
        write_page_index=True,
        data_page_size=512,
        write_batch_size=64,
        store_decimal_as_integer=file == "decimals as integers",
    )
    return [old, *with_filters(old, folder)]


def with_filters(old: Path, folder: Path) -> list[Path]:
    """Write each variant of a file."""
    paths = []
    for placement, sizing in VARIANTS:
        paths.append(folder / f"{old.stem}-{placement}-{sizing}.parquet")
        report = bloomify(old, output=paths[-1], placement=placement, sizing=sizing)
        assert report.fallback is None
    return paths


@pytest.mark.parametrize(("file", "engine"), MATRIX, indirect=True)
def test_every_type_and_placement(file: str, versions: list[Path], engine: Engine) -> None:
    lookups = 1 if engine.name == "spark" else 2  # its scans take 60 ms each
    expected = {
        _condition(engine, name, number): count
        for name in matrix.FILES[file]
        for count, numbers in ((1, matrix.present()), (0, matrix.absent()))
        for number in numbers[-lookups:]
    }
    for path in versions if engine.name != "spark" else (versions[2], versions[4]):
        answers = dict(zip(expected, engine.counts(path, list(expected)), strict=True))
        assert answers == expected, path.name


def _condition(engine: Engine, name: str, number: int) -> str:
    column = matrix.COLUMNS[name]
    condition = equals(engine, name, column.kind, column.make(number))
    assert condition is not None
    return condition
