"""Iceberg tables for tests of commits: a catalog in a folder, on SQLite; rows; copies of files."""

from __future__ import annotations

import shutil
import uuid
from typing import TYPE_CHECKING

import pyarrow as pa

from parquet_bloomwriter.iceberg.new_snapshot import EntryReplacement
from parquet_bloomwriter.iceberg.snapshot import locate

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyiceberg.table import Table

    from parquet_bloomwriter.iceberg.snapshot import DataFileEntry, IcebergSnapshot
    from tests.stores.servers import Store

CATALOG = "testing"


def configuration(folder: Path) -> dict[str, str]:
    """Return variables of the environment that name a catalog in a folder."""
    prefix = f"PYICEBERG_CATALOG__{CATALOG.upper()}__"
    return {
        f"{prefix}URI": f"sqlite:///{folder}/catalog.db",
        f"{prefix}WAREHOUSE": f"file://{folder}/warehouse",
    }


def configuration_on(store: Store, bucket: str, folder: Path) -> dict[str, str]:
    """Return variables that name a catalog in a folder, of tables in a bucket.

    Whatever does not take the catalog's own settings of the store finds no server.
    """
    prefix = f"PYICEBERG_CATALOG__{CATALOG.upper()}__"
    return {
        **configuration(folder),
        f"{prefix}WAREHOUSE": f"s3://{bucket}/warehouse",
        f"{prefix}S3__ENDPOINT": store.endpoint,
        f"{prefix}S3__ACCESS_KEY_ID": store.access_key,
        f"{prefix}S3__SECRET_ACCESS_KEY": store.secret_key,
        f"{prefix}S3__REGION": store.region,
        "XDG_CACHE_HOME": f"{folder}/cache",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
    }


def name_of(table: Table) -> str:
    """Return the name of a table as verbs take it."""
    return f"iceberg://{CATALOG}/{'.'.join(table.name())}"


def rows(start: int, number: int = 10) -> pa.Table:
    """Return rows of columns id and name, with ids from `start` on."""
    ids = list(range(start, start + number))
    return pa.table({"id": ids, "name": [f"name {one}" for one in ids]})


def copies(
    snapshot: IcebergSnapshot, entries: Sequence[DataFileEntry] | None = None
) -> list[EntryReplacement]:
    """Copy data files under new names, and return their replacements."""
    made = []
    for entry in snapshot.files.values() if entries is None else entries:
        path = entry.path.replace(".parquet", f"-{uuid.uuid4()}.parquet")
        shutil.copy(locate(entry.path), locate(path))
        made.append(EntryReplacement(old=entry, path=path, size=entry.size, split_offsets=(4,)))
    return made
