"""Iceberg tables in a catalog of SQLite, made by pyiceberg: one maker for each kind of table.

Every maker says which rows its table has, without asking a reader. `iceberg_deletes` beside this
module has the delete files, which pyiceberg cannot write; `iceberg_readers` reads tables.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections import defaultdict
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
from pyiceberg.catalog import load_catalog
from pyiceberg.io.pyarrow import write_file
from pyiceberg.partitioning import (
    PartitionField,
    PartitionFieldValue,
    PartitionKey,
    PartitionSpec,
)
from pyiceberg.schema import Schema
from pyiceberg.table import WriteTask
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.sorting import SortField, SortOrder
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform, Transform
from pyiceberg.types import (
    DoubleType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
)
from pyiceberg.utils.datetime import datetime_to_micros

from tests.support.iceberg_deletes import (
    delete_by_vectors,
    delete_equal,
    delete_positions,
    live_entries,
)
from tests.support.iceberg_readers import READERS, SPECIFICATION, WITH_EQUALITY_DELETES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path

    import pytest
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

Row: TypeAlias = dict[str, Any]

Spec: TypeAlias = dict[str, Transform[Any, Any]]

CATALOG = "ground"
NAMESPACE = "db"
ROWS = 100
"""Of each append."""


@dataclass(frozen=True)
class Warehouse:
    """A catalog of SQLite, with its tables in the same folder; or one that a server has."""

    folder: Path
    name: str = CATALOG
    server: Mapping[str, str] | None = None
    """What pyiceberg needs to open the server's catalog."""

    @property
    def settings(self) -> dict[str, str]:
        """What pyiceberg needs to open the catalog."""
        if self.server is not None:
            return dict(self.server)
        return {
            "type": "sql",
            "uri": f"sqlite:///{self.folder}/catalog.db",
            "warehouse": f"file://{self.folder}/warehouse",
        }

    @property
    def environment(self) -> dict[str, str]:
        """The same as variables, by which `iceberg://CATALOG/...` is found."""
        prefix = f"PYICEBERG_CATALOG__{self.name.upper()}__"
        return {
            prefix + key.replace("-", "_").upper(): value for key, value in self.settings.items()
        }

    def open(self) -> Catalog:
        """Open the catalog anew, with a connection of its own."""
        return load_catalog(self.name, **self.settings)

    def load(self, name: str) -> Table:
        """Load a table as it is now."""
        return self.open().load_table((NAMESPACE, name))

    def url(self, name: str) -> str:
        """Return the name by which this project knows a table."""
        return f"iceberg://{self.name}/{NAMESPACE}.{name}"

    def create(
        self,
        name: str,
        schema: Schema | None = None,
        *,
        spec: Spec | None = None,
        sorted_by: str | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> Table:
        """Create a table.

        Args:
            name: Without a namespace.
            schema: By default the one of `rows_of_append`.
            spec: Transforms by the names of columns.
            sorted_by: A column.
            properties: Of the table; `format-version` is one.
        """
        schema = PEOPLE if schema is None else schema
        given: dict[str, Any] = {"schema": schema, "properties": dict(properties or {})}
        if spec:
            given["partition_spec"] = PartitionSpec(
                *(
                    PartitionField(
                        source_id=schema.find_field(column).field_id,
                        field_id=1000 + place,
                        transform=transform,
                        name=f"{column}_{place}",
                    )
                    for place, (column, transform) in enumerate(spec.items())
                )
            )
        if sorted_by:
            one = SortField(schema.find_field(sorted_by).field_id, IdentityTransform())
            given["sort_order"] = SortOrder(one)
        catalog = self.open()
        catalog.create_namespace_if_not_exists(NAMESPACE)
        return catalog.create_table((NAMESPACE, name), **given)


def make_warehouse(
    folder: Path, monkeypatch: pytest.MonkeyPatch, server: Mapping[str, str] | None = None
) -> Warehouse:
    """Make an empty catalog that is found by its name, in this process and in those it starts.

    Args:
        folder: Of the catalog, its tables, and pyiceberg's configuration; made.
        monkeypatch: Ends what is set.
        server: How to open the catalog of a server, to use that one.
    """
    from pyiceberg import catalog
    from pyiceberg.utils.config import Config
    from sqlalchemy import create_engine

    (folder / "warehouse").mkdir(parents=True)
    warehouse = Warehouse(folder, server=server)
    monkeypatch.setenv("PYICEBERG_HOME", str(folder))  # nothing of this user's
    for name, value in warehouse.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(catalog, "_ENV_CONFIG", Config())  # pyiceberg reads it once, when imported
    # A catalog that is opened again has the compiled queries and the connections of the first.
    monkeypatch.setattr("pyiceberg.catalog.sql.create_engine", cache(create_engine))
    return warehouse


@dataclass(frozen=True, kw_only=True)
class Made:
    """A table, and what a maker knows of it."""

    warehouse: Warehouse
    name: str
    rows: list[Row]
    """Those that are not deleted, of the branch main."""

    num_named: int = 0
    """Data files that position deletes or deletion vectors name."""

    deleted: list[Row] = field(default_factory=list)
    """Rows that delete files delete."""

    column: str = "id"
    """A column that can have filters, by its present name."""

    readers: tuple[str, ...] = READERS
    """Those that read the table right."""

    format_version: int = 2

    @property
    def url(self) -> str:
        """The name by which this project knows it."""
        return self.warehouse.url(self.name)

    def load(self) -> Table:
        """Load it as it is now."""
        return self.warehouse.load(self.name)

    def without(self, gone: Collection[int]) -> Made:
        """Return the same with some rows deleted, by the values of `id`."""
        return replace(
            self,
            rows=[row for row in self.rows if row["id"] not in gone],
            deleted=[row for row in self.rows if row["id"] in gone],
        )


PEOPLE = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "email", StringType()),
    NestedField(3, "city", StringType()),
    NestedField(4, "seen", TimestampType()),
    NestedField(
        5,
        "place",
        StructType(NestedField(6, "zip", LongType()), NestedField(7, "street", StringType())),
    ),
)

CITIES = ("Ulm", "Bad Urach", "a/b=c%20", "Köln")
"""As folders of partitions these need escapes."""


def rows_of_append(number: int, count: int = ROWS) -> list[Row]:
    """Return rows for `PEOPLE`; `id` counts through all appends, and an email is missing in each.

    DuckDB 1.5.5 loses rows that have no value in a column of equality deletes: `id` has no nulls.
    """
    first = dt.datetime(2026, 11, 20)  # noqa: DTZ001  the column has no zone
    return [
        {
            "id": number * count + nth,
            "email": None if nth == 7 else f"user{number * count + nth}@example.org",
            "city": CITIES[nth % 4],
            "seen": first + dt.timedelta(days=number, hours=nth % 48),
            "place": {"zip": nth, "street": f"s{nth % 5}"},
        }
        for nth in range(count)
    ]


def append(table: Table, rows: Iterable[Row], *, branch: str | None = None) -> None:
    """Append rows, in the present columns of a table."""
    data = pa.Table.from_pylist(list(rows), schema=table.schema().as_arrow())
    table.append(data, branch=branch or MAIN_BRANCH)


def append_files(table: Table, rows: Iterable[Row]) -> None:
    """Append rows to a table with any transforms: a file for each partition.

    pyiceberg's own append needs a library of compiled code for hashes and days. The files name the
    table's sort order, which pyiceberg leaves out.
    """
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    keys: dict[tuple[Any, ...], PartitionKey] = {}
    schema, spec = table.schema(), table.spec()
    types = schema.as_arrow()
    for row in rows:
        values = [PartitionFieldValue(one, _in_partition(one, row, schema)) for one in spec.fields]
        key = PartitionKey(values, spec, schema)
        found = tuple(key.partition[place] for place in range(len(values)))
        groups[found].append(row)
        keys[found] = key
    with table.transaction() as work, work.update_snapshot().fast_append() as update:
        for found, some in groups.items():
            task = WriteTask(
                uuid.uuid4(),
                len(groups),
                schema,
                pa.Table.from_pylist(some, schema=types).to_batches(),
                partition_key=keys[found] if spec.fields else None,
            )
            for file in write_file(table.io, table.metadata, iter([task])):
                file[15] = table.sort_order().order_id
                update.append_data_file(file)


def _in_partition(one: PartitionField, row: Row, schema: Schema) -> Any:  # noqa: ANN401
    """Return the value of a partition field: text, a hash, or days since 1970."""
    value = row[schema.find_column_name(one.source_id) or ""]
    if isinstance(value, dt.datetime):
        value = datetime_to_micros(value)
    return one.transform.transform(schema.find_field(one.source_id).field_type)(value)


def fill(table: Table, num_files: int = 3) -> list[Row]:
    """Append to a table of `PEOPLE`, and return its rows."""
    appended = [rows_of_append(number) for number in range(num_files)]
    for rows in appended:
        append_files(table, rows)
    return [row for rows in appended for row in rows]


def plain(warehouse: Warehouse) -> Made:
    """Three appends, and nothing else."""
    return Made(warehouse=warehouse, name="plain", rows=fill(warehouse.create("plain")))


def without_snapshot(warehouse: Warehouse) -> Made:
    """A table to which nothing was written yet."""
    warehouse.create("without_snapshot")
    return Made(warehouse=warehouse, name="without_snapshot", rows=[])


def version_1(warehouse: Warehouse) -> Made:
    """Format version 1, partitioned, so that its manifests know no sequence numbers."""
    table = warehouse.create(
        "version_1", spec={"city": IdentityTransform()}, properties={"format-version": "1"}
    )
    rows = fill(table, 2)
    return Made(warehouse=warehouse, name="version_1", rows=rows, format_version=1)


def upgraded(warehouse: Warehouse) -> Made:
    """Version 1 at first, version 2 by now: files whose sequence number is 0, and later ones."""
    table = warehouse.create("upgraded", properties={"format-version": "1"})
    rows = fill(table, 2)
    with table.transaction() as work:
        work.upgrade_table_version(2)
    more = rows_of_append(2)
    append(table, more)
    return Made(warehouse=warehouse, name="upgraded", rows=rows + more)


def partitioned(warehouse: Warehouse) -> Made:
    """By a value, a hash and a day."""
    spec: Spec = {"city": IdentityTransform(), "id": BucketTransform(2), "seen": DayTransform()}
    table = warehouse.create("partitioned", spec=spec)
    return Made(warehouse=warehouse, name="partitioned", rows=fill(table, 2))


def other_partitions(warehouse: Warehouse) -> Made:
    """Files of three partition specs."""
    table = warehouse.create("other_partitions", spec={"city": IdentityTransform()})
    rows = fill(table, 1)
    with table.update_spec() as update:
        update.add_field("id", BucketTransform(3), "hash")
    append_files(table, rows_of_append(1))
    with table.update_spec() as update:
        update.remove_field("city_0")
    append_files(table, rows_of_append(2))
    rows += rows_of_append(1) + rows_of_append(2)
    return Made(warehouse=warehouse, name="other_partitions", rows=rows)


def other_columns(warehouse: Warehouse) -> Made:
    """Columns renamed, exchanged, dropped, added and widened between appends."""
    schema = Schema(
        NestedField(1, "key", IntegerType()),
        NestedField(2, "left", StringType()),
        NestedField(3, "right", StringType()),
        NestedField(4, "gone", StringType()),
        NestedField(5, "share", FloatType()),
        NestedField(6, "inner", StructType(NestedField(7, "old", IntegerType()))),
    )
    table = warehouse.create("other_columns", schema)
    numbers = range(ROWS)
    append(
        table,
        [
            {
                "key": n,
                "left": f"l{n}",
                "right": f"r{n}",
                "gone": f"g{n}",
                "share": n / 4,
                "inner": {"old": n},
            }
            for n in numbers
        ],
    )
    with table.update_schema() as update:
        update.rename_column("key", "id").update_column("key", LongType())
        update.rename_column("left", "right").rename_column("right", "left")
        update.delete_column("gone").update_column("share", DoubleType())
        update.rename_column(("inner", "old"), "new")
    with table.update_schema() as update:
        update.add_column("gone", StringType())  # the same name, another column
    append(
        table,
        [
            {
                "id": 2**40 + n,
                "right": f"l{n}",
                "left": f"r{n}",
                "gone": f"again{n}",
                "share": n / 4,
                "inner": {"new": n},
            }
            for n in numbers
        ],
    )
    rows = [
        {
            "id": key + n,
            "right": f"l{n}",
            "left": f"r{n}",
            "gone": gone and f"{gone}{n}",
            "share": n / 4,
            "inner": {"new": n},
        }
        for key, gone in ((0, None), (2**40, "again"))
        for n in numbers
    ]
    return Made(warehouse=warehouse, name="other_columns", rows=rows)


def nested(warehouse: Warehouse) -> Made:
    """Lists, maps and structs in one another."""
    schema = Schema(
        NestedField(1, "id", LongType()),
        NestedField(2, "tags", ListType(element_id=3, element_type=StringType())),
        NestedField(
            4,
            "scores",
            MapType(key_id=5, key_type=StringType(), value_id=6, value_type=LongType()),
        ),
        NestedField(
            7,
            "visits",
            ListType(
                element_id=8,
                element_type=StructType(
                    NestedField(9, "at", LongType()), NestedField(10, "by", StringType())
                ),
            ),
        ),
    )
    table = warehouse.create("nested", schema)
    rows = [
        {
            "id": n,
            "tags": [f"t{n}", "x"] if n % 3 else None,
            "scores": [(f"k{n}", n)],
            "visits": [{"at": n, "by": f"u{n}"}] * (n % 3),
        }
        for n in range(ROWS)
    ]
    append(table, rows)
    return Made(warehouse=warehouse, name="nested", rows=rows)


def branches(warehouse: Warehouse) -> Made:
    """A branch `side` that went on by itself, and a tag `then` of the first snapshot."""
    table = warehouse.create("branches")
    rows = fill(table, 2)
    first = table.metadata.snapshots[0].snapshot_id
    head = table.metadata.current_snapshot_id
    assert head is not None
    table.manage_snapshots().create_tag(first, "then").create_branch(head, "side").commit()
    append(table, rows_of_append(2), branch="side")
    append(table, rows_of_append(3))
    return Made(warehouse=warehouse, name="branches", rows=rows + rows_of_append(3))


def sorted_files(warehouse: Warehouse) -> Made:
    """A sort order, which files name by its id."""
    table = warehouse.create("sorted_files", sorted_by="id")
    return Made(warehouse=warehouse, name="sorted_files", rows=fill(table, 2))


def row_groups(warehouse: Warehouse) -> Made:
    """Several row groups in a file."""
    properties = {"write.parquet.row-group-limit": "30"}
    table = warehouse.create("row_groups", properties=properties)
    return Made(warehouse=warehouse, name="row_groups", rows=fill(table, 2))


def rewritten(warehouse: Warehouse) -> Made:
    """Files that pyiceberg rewrote, as a delete of some of their rows does."""
    table = warehouse.create("rewritten")
    rows = fill(table)
    table.delete("id >= 150 and id < 160")
    kept = [row for row in rows if not 150 <= row["id"] < 160]
    return Made(warehouse=warehouse, name="rewritten", rows=kept)


def one_position_delete(warehouse: Warehouse) -> Made:
    """A delete file that names one data file of three."""
    table = warehouse.create("one_position_delete")
    rows = fill(table)
    path = _paths(table)[1]
    delete_positions(table, {path: [3, 7, 99]})
    return Made(warehouse=warehouse, name="one_position_delete", rows=rows, num_named=1).without(
        {103, 107, 199}
    )


def many_position_deletes(warehouse: Warehouse) -> Made:
    """A delete file that names the first and the last of three files: bounds enclose all."""
    table = warehouse.create("many_position_deletes")
    rows = fill(table)
    paths = sorted(_paths(table))
    first, last = (_paths(table).index(path) for path in (paths[0], paths[2]))
    delete_positions(table, {paths[0]: [1], paths[2]: [2, 50]})
    gone = {first * ROWS + 1, last * ROWS + 2, last * ROWS + 50}
    return Made(warehouse=warehouse, name="many_position_deletes", rows=rows, num_named=2).without(
        gone
    )


def position_deletes_of_partitions(warehouse: Warehouse) -> Made:
    """A delete file without bounds in one partition, which has two data files."""
    spec: Spec = {"city": IdentityTransform()}
    table = warehouse.create("position_deletes_of_partitions", spec=spec)
    rows = fill(table, 2)
    named = [
        entry.data_file.file_path
        for entry in live_entries(table)
        if entry.data_file.partition[0] == CITIES[0]
    ]
    assert len(named) == 2
    delete_positions(table, {path: [0] for path in named}, with_bounds=False)
    return Made(
        warehouse=warehouse, name="position_deletes_of_partitions", rows=rows, num_named=2
    ).without({0, ROWS})


def old_position_delete(warehouse: Warehouse) -> Made:
    """A delete file, and appends after it; names in it are in no order."""
    table = warehouse.create("old_position_delete")
    rows = fill(table, 2)
    first, second = _paths(table)
    delete_positions(table, {second: [5], first: [6]})
    append(table, rows_of_append(2))
    rows += rows_of_append(2)
    return Made(warehouse=warehouse, name="old_position_delete", rows=rows, num_named=2).without(
        {6, ROWS + 5}
    )


def equality_deletes(warehouse: Warehouse) -> Made:
    """Ids deleted between appends, and some of them appended again after that.

    The deletes apply to the two older files. A file of theirs with a newer sequence number would
    bring rows back; a newer file with an older number would lose rows.
    """
    table = warehouse.create("equality_deletes")
    rows = fill(table, 2)
    gone = {4, 5, ROWS + 6}
    delete_equal(table, {"id": sorted(gone)})
    again = [row | {"email": "again"} for row in rows_of_append(0) if row["id"] in {3, 4, 5}]
    append(table, again)
    made = Made(
        warehouse=warehouse, name="equality_deletes", rows=rows, readers=WITH_EQUALITY_DELETES
    ).without(gone)
    made.rows.extend(again)
    return made


def equality_deletes_in_partitions(warehouse: Warehouse) -> Made:
    """Equality deletes of one partition only: the same value stays in others.

    DuckDB 1.5.5 applies them to all partitions, which the specification does not allow.
    """
    spec: Spec = {"city": IdentityTransform()}
    table = warehouse.create("equality_deletes_in_partitions", spec=spec)
    rows = fill(table, 2)
    partition = next(
        entry.data_file.partition
        for entry in live_entries(table)
        if entry.data_file.partition[0] == CITIES[1]
    )
    delete_equal(table, {"id": [0, 1, 5]}, partition=partition)
    append(table, [row for row in rows_of_append(0) if row["id"] == 5])
    made = Made(
        warehouse=warehouse, name=table.name()[-1], rows=rows, readers=(SPECIFICATION,)
    ).without({1, 5})
    made.rows.extend(row for row in rows_of_append(0) if row["id"] == 5)
    return made


def all_deletes(warehouse: Warehouse) -> Made:
    """Equality deletes, then position deletes of one file, then another append."""
    table = warehouse.create("all_deletes")
    rows = fill(table, 2)
    delete_equal(table, {"id": [10, ROWS + 10]})
    delete_positions(table, {_paths(table)[0]: [11, 12]})
    append(table, rows_of_append(2))
    rows += rows_of_append(2)
    gone = {10, ROWS + 10, 11, 12}
    return Made(
        warehouse=warehouse,
        name="all_deletes",
        rows=rows,
        num_named=1,
        readers=WITH_EQUALITY_DELETES,
    ).without(gone)


def deletion_vectors(warehouse: Warehouse) -> Made:
    """Format version 3, with a deletion vector of one file of two."""
    table = warehouse.create("deletion_vectors")
    rows = fill(table, 2)
    delete_by_vectors(table, {_paths(table)[1]: [1, 2, 98]})
    made = Made(warehouse=warehouse, name="deletion_vectors", rows=rows, num_named=1).without(
        {ROWS + 1, ROWS + 2, ROWS + 98}
    )
    readers = tuple(one for one in READERS if one != SPECIFICATION)
    return replace(made, format_version=3, readers=readers)


def _paths(table: Table) -> list[str]:
    """Return the locations of data files, the oldest first."""
    entries = sorted(live_entries(table), key=lambda one: one.sequence_number or 0)
    return [entry.data_file.file_path for entry in entries]


MAKERS: dict[str, Callable[[Warehouse], Made]] = {
    maker.__name__: maker
    for maker in (
        plain,
        without_snapshot,
        version_1,
        upgraded,
        partitioned,
        other_partitions,
        other_columns,
        nested,
        branches,
        sorted_files,
        row_groups,
        rewritten,
        one_position_delete,
        many_position_deletes,
        position_deletes_of_partitions,
        old_position_delete,
        equality_deletes,
        equality_deletes_in_partitions,
        all_deletes,
        deletion_vectors,
    )
}
