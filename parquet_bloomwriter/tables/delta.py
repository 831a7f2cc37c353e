"""Delta tables, with the interface of the verbs that write to tables: `ChangeableDelta`.

bloomify.columns    names separated by commas, as for `--columns`: id, address.city; * for all
bloomify.fpp        as for `--fpp`, separated by commas: 0.01, email=0.001
"""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast
from urllib.parse import unquote

from parquet_bloomwriter.arguments import rate_of
from parquet_bloomwriter.column_names import EVERY_COLUMN
from parquet_bloomwriter.delta import commit as log
from parquet_bloomwriter.delta.place import place_of
from parquet_bloomwriter.delta.schema import DeltaColumns
from parquet_bloomwriter.delta.snapshot import (
    advance,
    read_to_change,
    read_whole_commit,
)
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.tables.table import Asked, DataFile, TableCommit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from parquet_bloomwriter.delta.actions import Add, FileKey
    from parquet_bloomwriter.delta.snapshot import Snapshot
    from parquet_bloomwriter.tables.table import FileReplacement

_COLUMNS = "bloomify.columns"
_FPP = "bloomify.fpp"

_TAG = "bloomify"
"""Name of the tag of files that this program wrote: a path, and columns. The tag counts only for
the path that it names: another program may copy the tags of a file to a file of its own."""

_MS_PER_S = 1000


@dataclass(frozen=True)
class ChangeableDelta:
    """A Delta table at one version. The methods are those of `ChangeableTable`."""

    snapshot: Snapshot
    name: str
    format = "delta"
    keeps_notes = True
    asks_by = _COLUMNS

    @classmethod
    def open(cls, path: str) -> ChangeableDelta:
        """Read the last version of a table, to change it.

        Raises:
            InvalidArgument: If there is none.
            TableProblem: If its log is damaged.
            UnsupportedTable: If it has a feature that this program must not touch.
            StoreProblem, OSError: If the log cannot be read.
        """
        snapshot = read_to_change(place_of(path))
        snapshot.check_replaceable()
        return cls(snapshot, snapshot.place.root)

    @property
    def id(self) -> str:
        """See `ChangeableTable`."""
        return f"{self.snapshot.metadata.id}\n{self.snapshot.place.root}"

    @property
    def is_far(self) -> bool:
        """See `ChangeableTable`."""
        return "://" in self.snapshot.place.root

    @property
    def version(self) -> int:
        """See `ChangeableTable`."""
        return self.snapshot.version

    @cached_property
    def columns(self) -> DeltaColumns:
        """See `ChangeableTable`."""
        return DeltaColumns(self.snapshot.metadata)

    @cached_property
    def files(self) -> Collection[DataFile]:
        """See `ChangeableTable`. Any file may be replaced: deletion vectors carry over."""
        return [
            DataFile(
                key=key,
                path=add.path,
                size=add.size,
                partition=tuple(add.partition_values.items()),
                age_rank=add.modified_ms,
                finished=_finished(add),
            )
            for key, add in self.snapshot.files.items()
        ]

    def asked(self) -> Asked:
        """See `ChangeableTable`."""
        properties = self.snapshot.metadata.properties
        return Asked(names=_listed(properties.get(_COLUMNS, "")), rates=_rates(properties))

    def ask(self, columns: Sequence[str], fpp: float | None) -> int | None:
        """See `ChangeableTable`."""
        for name in columns:
            if "," in name or name != name.strip():
                raise InvalidArgument(f'the name "{name}" cannot stand in the property {_COLUMNS}')
        wanted = {_COLUMNS: ", ".join(columns)}
        if fpp is not None:
            wanted[_FPP] = f"{fpp:g}"
        if wanted.items() <= self.snapshot.metadata.properties.items():
            return None
        return log.set_properties(self.snapshot, wanted).version

    def has(self, file: DataFile) -> bool:
        """See `ChangeableTable`."""
        return file.key in self.snapshot.files

    def locate(self, path: str) -> str:
        """See `ChangeableTable`."""
        return self.snapshot.place.locate(path)

    def shown(self, path: str) -> str:
        """See `ChangeableTable`."""
        return unquote(path)

    def new_path(self, file: DataFile) -> str:
        """See `ChangeableTable`."""
        return self.snapshot.place.new_uri(file.path)

    def remove(self, path: str) -> None:
        """See `ChangeableTable`."""
        self.snapshot.place.remove(path)

    def check_commits(self) -> None:
        """See `ChangeableTable`."""
        self.snapshot.place.check_commits()

    def newest(self) -> ChangeableDelta:
        """See `ChangeableTable`."""
        snapshot = self.snapshot
        while commit := read_whole_commit(snapshot.place, snapshot.version + 1):
            snapshot = advance(snapshot, commit)
        log.check_unchanged(self.snapshot, snapshot)
        return self if snapshot is self.snapshot else ChangeableDelta(snapshot, self.name)

    def commit(
        self, replacements: Sequence[FileReplacement], *, verb: str, columns: Sequence[str]
    ) -> TableCommit:
        """See `ChangeableTable`."""
        made = log.replace_files(
            self.snapshot,
            [self._logged(one) for one in replacements],
            operation_parameters={
                "predicate": "[]",
                "zOrderBy": "[]",
                "auto": "false",
                f"bloomify.{verb}": json.dumps(tuple(columns)),
            },
        )
        dropped = {str(one.new["path"]): why for one, why in made.dropped}
        return TableCommit(
            table=ChangeableDelta(made.snapshot, self.name),
            version=made.version if len(dropped) < len(replacements) else None,
            dropped=dropped,
        )

    def _logged(self, replacement: FileReplacement) -> log.AddReplacement:
        """Return the removed file and its successor, as the log's entry needs them."""
        old = self.snapshot.files[cast("FileKey", replacement.old.key)]
        tags = {name: text for name, text in old.tags.items() if name != _TAG}
        if replacement.finished:
            tags[_TAG] = tag_of(replacement.path, replacement.finished)
        new = log.new_add(
            old,
            uri=replacement.path,
            size=replacement.size,
            modified_ms=int(time.time() * _MS_PER_S),
            tags=tags,
        )
        return log.AddReplacement(old=old, new=new)


def tag_of(path: str, columns: Iterable[str]) -> str:
    """Return the tag of a new file: its path, and the columns that need no more work."""
    return json.dumps({"path": path, "columns": sorted(columns)}, separators=(",", ":"))


def _finished(add: Add) -> frozenset[str]:
    tag = add.tags.get(_TAG)
    if tag is None:
        return frozenset()
    with contextlib.suppress(ValueError, TypeError, KeyError):
        document = json.loads(tag)
        if document["path"] == add.path:
            return frozenset(map(str, document["columns"]))
    return frozenset()


def _rates(properties: Mapping[str, str]) -> dict[str, float]:
    rates = {}
    for part in _listed(properties.get(_FPP, "")):
        name, _, rate = part.rpartition("=")
        try:
            rates[name.strip() or EVERY_COLUMN] = rate_of(rate)
        except InvalidArgument:
            raise InvalidArgument(
                f'the table\'s property {_FPP} has no rate in "{part}"',
                remedy="Set it as in 0.01, or 1%, email=0.1%.",
            ) from None
    return rates


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
