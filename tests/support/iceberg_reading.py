"""Iceberg tables for tests of verbs that read: a catalog, evolved tables, delete files."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog import load_catalog
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
)
from pyiceberg.typedef import Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

CATALOG = "lake"


def new_catalog(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Catalog:
    """Return a catalog in a folder, with the namespace `shop`: iceberg://lake/shop.NAME."""
    settings = {
        "type": "sql",
        "uri": f"sqlite:///{folder}/catalog.db",
        "warehouse": f"file://{folder}/warehouse",
    }
    for name, value in settings.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__{CATALOG.upper()}__{name.upper()}", value)
    catalog = load_catalog(CATALOG, **settings)
    catalog.create_namespace("shop")
    return catalog


def url_of(table: Table) -> str:
    """Return the name by which verbs open a table."""
    return f"iceberg://{CATALOG}/{'.'.join(table.name())}"


def paths_of(table: Table) -> list[str]:
    """Return the local paths of the last snapshot's data files, in the order of the plan."""
    return [
        file.removeprefix("file://") for file in table.inspect.data_files()["file_path"].to_pylist()
    ]


def append_stored(
    table: Table,
    rows: pa.Table,
    *,
    partition: Sequence[Any] = (),
    row_group_size: int | None = None,
    use_dictionary: bool = True,
) -> str:
    """Append a file as it is: with the field ids that `rows` has, or none. Returns its path."""
    path = f"{table.location().removeprefix('file://')}/data/{uuid.uuid4().hex}.parquet"
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(
        rows,
        path,
        row_group_size=row_group_size,
        store_schema=False,
        use_dictionary=use_dictionary,
    )
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"file://{path}",
        file_format=FileFormat.PARQUET,
        partition=Record(*partition),
        record_count=rows.num_rows,
        file_size_in_bytes=Path(path).stat().st_size,
    )
    file.spec_id = table.spec().spec_id
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        append.append_data_file(file)
    return path
