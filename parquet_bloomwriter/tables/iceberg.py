"""Iceberg tables, with the interface of the verbs that write to tables: `ChangeableIceberg`."""

from __future__ import annotations

import dataclasses
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from parquet_bloomwriter.delta.place import new_name
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.iceberg import commit as catalog
from parquet_bloomwriter.iceberg import new_snapshot
from parquet_bloomwriter.iceberg.catalog import metadata_errors
from parquet_bloomwriter.iceberg.properties import ENABLED, asked_by, to_ask
from parquet_bloomwriter.iceberg.snapshot import (
    check_replaceable,
    read_again,
    read_snapshot,
    reload,
)
from parquet_bloomwriter.iceberg.store import use_settings_of
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.tables.choice import FOOTERS_AT_ONCE, footer_of
from parquet_bloomwriter.tables.table import COMMITTED, Asked, DataFile, TableCommit

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from parquet_bloomwriter.iceberg.schema import IcebergColumns
    from parquet_bloomwriter.iceberg.snapshot import IcebergSnapshot
    from parquet_bloomwriter.metadata import Footer
    from parquet_bloomwriter.tables.table import FileReplacement

_SPECIAL = frozenset("%?#")
"""Characters that some readers interpret as parts of a URL."""


@dataclass(frozen=True)
class ChangeableIceberg:
    """An Iceberg table at a branch's last snapshot. The methods are those of `ChangeableTable`."""

    snapshot: IcebergSnapshot
    name: str
    format = "iceberg"
    keeps_notes = False
    asks_by = f"{ENABLED}NAME"

    @classmethod
    def open(cls, name: str, *, branch: str | None = None) -> ChangeableIceberg:
        """Read the last snapshot of a branch, to change it.

        Raises:
            InvalidArgument: If there is no such table or branch, or pyiceberg is missing.
            UnsupportedTable: If its format version is one whose files must not be replaced.
            TableProblem: If its metadata cannot be read.
        """
        snapshot = read_snapshot(name, branch=branch)
        check_replaceable(snapshot)
        use_settings_of(snapshot)
        return cls(snapshot, snapshot.name)

    @property
    def id(self) -> str:
        """See `ChangeableTable`."""
        return f"{self.snapshot.uuid}\n{self.snapshot.table.location()}"

    @property
    def is_far(self) -> bool:
        """See `ChangeableTable`."""
        return "://" in self.shown(self.snapshot.table.location())

    @property
    def version(self) -> int:
        """See `ChangeableTable`; 0 for a table without snapshots."""
        return self.snapshot.snapshot_id or 0

    @property
    def columns(self) -> IcebergColumns:
        """See `ChangeableTable`."""
        return self.snapshot.columns

    @cached_property
    def files(self) -> Collection[DataFile]:
        """See `ChangeableTable`. Tables of format version 1 have the newest files first."""
        return [
            DataFile(
                key=path,
                path=path,
                size=entry.size,
                partition=(entry.spec_id, entry.partition),
                age_rank=entry.data_sequence_number or -position,
                why_kept=entry.why_kept,
            )
            for position, (path, entry) in enumerate(self.snapshot.files.items())
        ]

    def asked(self) -> Asked:
        """See `ChangeableTable`."""
        found = asked_by(self.snapshot)
        return Asked(
            names=found.columns,
            rates=found.rates,
            max_bytes=found.max_bytes,
            unknown=found.unknown,
        )

    def ask(self, columns: Sequence[str], fpp: float | None) -> int | None:
        """See `ChangeableTable`. Properties belong to no snapshot: the branch's is returned."""
        wanted = to_ask(columns, fpp)
        if wanted.items() <= self.snapshot.properties.items():
            return None
        return catalog.set_properties(self.snapshot, wanted).snapshot_id or 0

    def has(self, file: DataFile) -> bool:
        """See `ChangeableTable`."""
        entry = self.snapshot.files.get(file.path)
        return entry is not None and entry.why_kept is None

    def locate(self, path: str) -> str:
        """See `ChangeableTable`."""
        return self.snapshot.locate(path)

    def shown(self, path: str) -> str:
        """See `ChangeableTable`."""
        with suppress(InvalidArgument):
            return self.locate(path)
        return path

    def new_path(self, file: DataFile) -> str:
        """See `ChangeableTable`. It lies beside the old file, wherever that is."""
        folder, slash, name = file.path.rpartition("/")
        return f"{folder}{slash}{new_name(name if _SPECIAL.isdisjoint(name) else '')}"

    def remove(self, path: str) -> None:
        """See `ChangeableTable`."""
        place = self.locate(path)
        if "://" not in place:
            os.unlink(place)  # noqa: PTH108  paths are strings
            return
        with metadata_errors(self.name):
            self.snapshot.table.io.delete(path)

    def check_commits(self) -> None:
        """See `ChangeableTable`. All catalogs of pyiceberg swap metadata exclusively."""

    def newest(self) -> ChangeableIceberg:
        """See `ChangeableTable`. Files stay valid under another schema: columns have ids."""
        before = self.snapshot
        table = reload(before)
        location = table.metadata_location
        if location and location == before.table.metadata_location:
            after = dataclasses.replace(before, table=table)  # keys may have been renewed
        else:
            after = read_again(before, table)
            check_replaceable(after)
        use_settings_of(after)
        return ChangeableIceberg(after, self.name)

    def commit(
        self, replacements: Sequence[FileReplacement], *, verb: str, columns: Sequence[str]
    ) -> TableCommit:
        """See `ChangeableTable`."""
        with ThreadPoolExecutor(FOOTERS_AT_ONCE, thread_name_prefix="bloomify") as pool:
            logged = list(pool.map(self._logged, replacements))
        try:
            made = catalog.replace_files(
                self.snapshot, logged, parameters={f"bloomify.{verb}": ", ".join(columns)}
            )
        except (KeyboardInterrupt, SystemExit) as error:
            found = error.__dict__.pop(catalog.COMMITTED, None)
            if found is not None:
                error.__dict__[COMMITTED] = self._came_to(found)
            raise
        return self._came_to(made)

    def _came_to(self, made: catalog.SnapshotCommit) -> TableCommit:
        return TableCommit(
            table=ChangeableIceberg(made.snapshot, self.name),
            version=made.snapshot_id,
            dropped={one.path: why for one, why in made.dropped},
        )

    def _logged(self, replacement: FileReplacement) -> new_snapshot.EntryReplacement:
        """Return the old manifest entry and its new file, as a new snapshot needs them."""
        old = self.snapshot.files[replacement.old.path]
        offsets = None
        if old.data_file.split_offsets is not None:
            footer, _ = footer_of(self.locate(replacement.path))
            offsets = split_offsets(footer)
        return new_snapshot.EntryReplacement(
            old=old, path=replacement.path, size=replacement.size, split_offsets=offsets
        )


def split_offsets(footer: Footer) -> tuple[int, ...]:
    """Return the position of each row group's first page, bytes from the file's start."""
    starts = footer.chunks.value(ChunkField.DATA_PAGE_OFFSET).copy()
    dictionaries = footer.chunks.value(ChunkField.DICTIONARY_PAGE_OFFSET)
    is_first = (dictionaries > 0) & (dictionaries < starts)
    starts[is_first] = dictionaries[is_first]
    return tuple(sorted(starts.min(axis=1).tolist())) if starts.size else ()
