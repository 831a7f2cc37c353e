"""Tables of a REST catalog on a store: SeaweedFS brings both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import CommitStateUnknownException

from parquet_bloomwriter import bloomify_table, strip_table
from parquet_bloomwriter.source.settings import StoreSettings, use
from parquet_bloomwriter.tables.report import FileFate
from tests.stores.servers import SeaweedFS
from tests.support.delta_real import bag
from tests.support.iceberg_deletes import delete_equal, delete_positions, live_entries
from tests.support.iceberg_readers import by_pyiceberg, by_specification

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyiceberg.table import Table

URL = "iceberg://weed/db.t"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFS]:
    """Run a server that has a catalog."""
    with SeaweedFS(tmp_path_factory.mktemp("weed"), with_catalog=True) as running:
        yield running


@pytest.fixture
def table(server: SeaweedFS, monkeypatch: pytest.MonkeyPatch) -> Iterator[Table]:
    """Make a table of three files; it is gone afterwards."""
    for key, value in server.catalog.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__WEED__{key.replace('-', '_').upper()}", value)
    for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    catalog = load_catalog("weed", **server.catalog)
    catalog.create_namespace_if_not_exists("db")
    made = catalog.create_table("db.t", schema=pa.schema([("id", pa.int64())]))
    for number in range(3):
        made.append(pa.table({"id": range(number * 10, number * 10 + 10)}))
    yield made
    use(StoreSettings())
    catalog.drop_table("db.t")


def test_filters_come_and_go(table: Table) -> None:
    before = bag(by_pyiceberg(table))
    report = bloomify_table(URL, "id")
    assert (report.count(FileFate.REPLACED), report.num_filters) == (3, 3)
    for rows in (by_pyiceberg, by_specification):
        assert bag(rows(table.refresh())) == before
    assert bloomify_table(URL, "id").commits == ()
    assert strip_table(URL).count(FileFate.REPLACED) == 3
    assert bag(by_pyiceberg(table.refresh())) == before


def test_deleted_rows_stay_deleted(table: Table) -> None:
    delete_equal(table, {"id": [5]})
    delete_positions(table, {live_entries(table)[0].data_file.file_path: [0]})
    before = bag(by_specification(table))
    assert before.total() == 28
    report = bloomify_table(URL, "id")
    assert (report.count(FileFate.REPLACED), report.count(FileFate.KEPT)) == (2, 1)
    assert bag(by_specification(table.refresh())) == before


@pytest.mark.parametrize("is_made", [True, False])
def test_a_lost_answer_makes_one_snapshot(
    table: Table, monkeypatch: pytest.MonkeyPatch, *, is_made: bool
) -> None:
    real: Any = RestCatalog.commit_table
    lost: list[object] = []
    before, num_snapshots = bag(by_pyiceberg(table)), len(table.metadata.snapshots)

    def losing(catalog: RestCatalog, *given: object) -> object:
        if lost:
            return real(catalog, *given)
        lost.append(real(catalog, *given) if is_made else None)
        raise CommitStateUnknownException("the answer was lost")

    monkeypatch.setattr(RestCatalog, "commit_table", losing)
    report = bloomify_table(URL, "id")
    assert len(lost) == 1
    assert (len(report.commits), report.left_over, report.undecided) == (1, (), ())
    assert len(table.refresh().metadata.snapshots) == num_snapshots + 1
    assert bag(by_pyiceberg(table)) == before
