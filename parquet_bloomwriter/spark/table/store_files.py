"""The plan of `bloomify_table` for a table on a store: its objects, and checks without data.

An output must be an empty prefix. There is no journal of it: a run that was stopped is begun anew,
with another prefix, or after what it wrote was removed. In place a run is continued as on a disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.index.storage.base import storage_of
from parquet_bloomwriter.replace.external_references import find_by_name
from parquet_bloomwriter.source.folders import Leftovers
from parquet_bloomwriter.source.listing import none_in
from parquet_bloomwriter.spark.table.files import TableFile, check_reference
from parquet_bloomwriter.stores.listing import candidates_in
from parquet_bloomwriter.stores.open import open_place
from parquet_bloomwriter.stores.references import (
    find_records_above,
    find_records_below,
    find_references,
)

if TYPE_CHECKING:
    from parquet_bloomwriter.stores.base import TableStore


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreTable:
    """The objects of a table."""

    root: str
    """URL of the table's prefix."""

    files: tuple[TableFile, ...]


def table_objects(url: str) -> StoreTable:
    """Return the objects of a table that Spark reads, in the order of their names.

    Raises:
        InvalidArgument: If there are none.
        StoreProblem: If the store refuses or does not answer.
    """
    store, key = open_place(url)
    prefix = f"{key}/" if key else ""
    files = tuple(_objects(store, prefix))
    if files:
        return StoreTable(root=url, files=files)
    state = store.state(key) if key else None
    if state is None:
        none_in(url)
    root, _, name = url.rpartition("/")
    return StoreTable(root=root, files=(_object(url, name, state.size),))


def check_is_plain(table: StoreTable, *, in_place: bool) -> None:
    """Check that nothing else keeps a record of the objects, as `files.check_is_plain` does.

    Raises:
        UnsafeTarget: If a table format does, or if a `_metadata` describes objects to be replaced.
        StoreProblem: If the store does not answer.
    """
    folders = {file.path.rpartition("/")[0] for file in table.files} - {table.root}
    found = [
        *(reference for file in table.files for reference in find_by_name(file.path)),
        *find_records_above([table.root]),
        *find_records_below(table.root, folders),
    ]
    if in_place:  # each object is checked again before it is replaced
        found += find_references(*open_place(table.files[0].path))
    for reference in found:
        check_reference(table.root, reference, in_place=in_place)


def check_output(output: str, table: str) -> None:
    """Check that an output is an empty prefix on a store, apart from the table.

    Raises:
        InvalidArgument: If it is not.
        StoreProblem: If the store refuses or does not answer.
    """
    if not storage_of(output).is_remote:
        raise InvalidArgument(
            f'the table is on a store, and the output "{output}" is not',
            remedy="Name an output on a store, or copy the table first.",
        )
    if f"{output}/".startswith(f"{table}/") or f"{table}/".startswith(f"{output}/"):
        raise InvalidArgument(
            f'the output "{output}" and the table "{table}" are not apart',
            remedy="Name a prefix elsewhere.",
        )
    store, key = open_place(output)
    if store.has_prefix(f"{key}/" if key else ""):
        raise InvalidArgument(
            f'there are objects below "{output}" already',
            remedy="Name an empty prefix; on stores, runs with an output cannot be continued.",
        )


def _objects(store: TableStore, prefix: str) -> list[TableFile]:
    found = []
    sure, doubtful = candidates_in(store, prefix, Leftovers())
    for listed in sorted(sure + doubtful):
        name = listed.key.removeprefix(prefix)
        why_not = "" if listed.size else "an empty file, which Spark passes over"
        url = store.spell(listed.key)
        found.append(_object(url, name, listed.size, why_not))
    return found


def _object(url: str, name: str, size: int, why_not: str = "") -> TableFile:
    return TableFile(path=url, name=name, size=size, why_not=why_not, is_on_store=True)
