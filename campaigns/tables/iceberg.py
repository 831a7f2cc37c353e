"""Commits to an Iceberg table while another program commits to it, too, or answers are lost."""

from __future__ import annotations

import contextlib
import random
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import (
    CommitStateUnknownException,
    NoSuchNamespaceError,
    NoSuchTableError,
)

from campaigns.harness import Campaign, Result
from parquet_bloomwriter import bloomify_table, inspect, verify
from parquet_bloomwriter.tables.replacement import Limits
from parquet_bloomwriter.tables.report import FileFate
from tests.stores.servers import SeaweedFS
from tests.support.delta_real import bag
from tests.support.iceberg_deletes import live_entries
from tests.support.iceberg_races import KINDS, NAME, make, meddle, rows_after, rows_before
from tests.support.iceberg_readers import by_duckdb, by_pyiceberg, by_specification
from tests.support.iceberg_tables import NAMESPACE, make_warehouse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

    from parquet_bloomwriter import TableReport
    from tests.support.iceberg_tables import Row, Warehouse

_RACES = 500
"""Of each kind."""

_LONGEST_S = 0.3
"""How long either may wait before it begins; a run takes about as long."""

LOST = ("lost-after", "lost-before")
"""An answer of the catalog is lost, of a commit that was made, or of one that was not."""


class Iceberg(Campaign):
    """KIND/N: what another program does or the catalog answers, and how often it was tried."""

    part = "iceberg"
    title = "Iceberg tables that others write to"
    text = """
As for Delta, in a catalog of SQLite, with pyiceberg as the other process; or the answer to one
commit is lost. The next run must complete the filters.
"""

    readers: ClassVar[tuple[Callable[[Table], list[Row]], ...]] = (by_specification, by_duckdb)
    catalog: ClassVar[type[Catalog]] = SqlCatalog
    server: dict[str, str] | None = None
    """How to open the catalog, if a server has it."""

    def cases(self) -> Iterable[str]:
        """Take a share of the races of each kind."""
        kinds = (*KINDS, *LOST)
        return [f"{kind}/{number}" for number in range(self.plan.some(_RACES)) for kind in kinds]

    def attempt(self, name: str, show: Callable[[str], None]) -> Iterable[Result]:
        """Try one race."""
        kind = name.partition("/")[0]
        seed = f"{self.plan.seed} {name}"
        folder = self.plan.scratch / "ground"
        shutil.rmtree(folder, ignore_errors=True)
        with pytest.MonkeyPatch.context() as patch:
            warehouse = make_warehouse(folder, patch, self.server)
            patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
            with contextlib.suppress(NoSuchTableError, NoSuchNamespaceError):
                warehouse.open().drop_table((NAMESPACE, NAME))  # of the try before, on a server
            make(warehouse)
            if kind in LOST:
                report, said = _lose(self.catalog, kind, seed)
            else:
                report, said = _race(warehouse, kind, seed)
            show(f"{kind}: {said}; {len(report.commits)} commits")
            problems = tuple(self._problems(warehouse, kind, report, said))
        dropped = report.count(FileFate.DROPPED)
        seen = "the other lost" if said != "done" else "ours dropped" if dropped else "both won"
        seen = said if kind in LOST else seen
        yield Result(name=name, seen={seen: 1}, problems=problems)

    def _problems(
        self, warehouse: Warehouse, kind: str, report: TableReport, said: str
    ) -> Iterator[str]:
        table = warehouse.load(NAME)
        expected = bag(rows_after(kind) if said == "done" else rows_before())
        for reader in self.readers:
            seen = bag(reader(table))
            if seen != expected:
                yield f"{reader.__name__}: {seen.total()} rows, not {expected.total()} ({said})"
        if report.undecided:
            yield f"it is unknown what became of {report.undecided}"
        known = [one.snapshot_id for one in table.metadata.snapshots]
        if kind != "expire" and not set(report.commits) <= set(known):
            yield f"{report.commits} was reported, the table has {known}"
        if kind in LOST and len(known) != 3 + len(report.commits):
            yield f"{len(report.commits)} commits were reported, the table has {len(known) - 3}"
        paths = [one.data_file.file_path for one in live_entries(table)]
        if missing := [path for path in paths if not table.io.new_input(path).exists()]:
            yield f"files are missing: {missing}"
            return
        bloomify_table(warehouse.url(NAME), "id")
        table = warehouse.load(NAME)
        if bag(by_specification(table)) != expected:
            yield "the next run changed the rows"
        for one in live_entries(table):
            with table.io.new_input(one.data_file.file_path).open() as file:
                data = file.read()
            has_filters = any(column.filters for column in inspect(data).columns)
            if not has_filters or not verify(data).passed:
                yield f"{one.data_file.file_path} has no right filter after the next run"


class IcebergOnStore(Iceberg):
    """The same in a REST catalog, with the files on an object store: SeaweedFS has both."""

    part = "iceberg-store"
    title = "Iceberg tables on an object store"
    text = """
The same races are run in a REST catalog with its files on an object store (SeaweedFS has both).
pyiceberg and a reader of the tests read the rows.
"""
    readers = (by_specification, by_pyiceberg)
    catalog = RestCatalog

    def open(self) -> None:
        """Start the server."""
        weed = SeaweedFS(self.plan.scratch / "weed", with_catalog=True)
        self.server = self.stack.enter_context(weed).catalog


def _race(warehouse: Warehouse, kind: str, seed: str) -> tuple[TableReport, str]:
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(meddle, warehouse, kind, _LONGEST_S, seed)
        time.sleep(random.Random(f"ours {seed}").uniform(0, _LONGEST_S))  # noqa: S311  no secret
        report = bloomify_table(warehouse.url(NAME), "id", limits=Limits(num_files=1))
        return report, other.result()


def _lose(kind_of_catalog: type[Catalog], kind: str, seed: str) -> tuple[TableReport, str]:
    """Lose the answer of one of the three commits."""
    real: Any = kind_of_catalog.commit_table
    left = [random.Random(seed).randrange(3)]  # noqa: S311  no secret

    def losing(catalog: Catalog, *given: object) -> object:
        left[0] -= 1
        if left[0] != -1:
            return real(catalog, *given)
        if kind == "lost-after":
            real(catalog, *given)
        raise CommitStateUnknownException("the answer was lost")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind_of_catalog, "commit_table", losing)
        report = bloomify_table(f"iceberg://ground/db.{NAME}", "id", limits=Limits(num_files=1))
    return report, "found out" if left[0] < 0 else "nothing was lost"
