"""The reference to a table: the path, URL or name that a caller gives, parsed once."""

# ruff: noqa: PTH112, PTH113, PTH118, PTH120  paths are strings, as in the entries
from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.iceberg.names import is_iceberg
from parquet_bloomwriter.index.layout import HOME, absolute_path
from parquet_bloomwriter.index.storage.base import storage_of
from parquet_bloomwriter.index.table.metadata import (
    DeltaState,
    delta_table,
    iceberg_table,
    is_delta,
)

if TYPE_CHECKING:
    from typing import Self

    from parquet_bloomwriter.index.table.metadata import MetadataTable, TableState


@dataclass(frozen=True, kw_only=True)
class TableRef:
    """The table that a caller names: a table, a folder within it, or one of its files."""

    given: str
    """The reference as the caller spelled it."""

    path: str
    """Absolute path or URL; for an Iceberg table, the table's location."""

    iceberg: MetadataTable | None = None
    """The opened Iceberg table, if the caller names one."""

    @classmethod
    def of(
        cls,
        given: str | os.PathLike[str],
        *,
        snapshot: int | None = None,
        branch: str | None = None,
    ) -> Self:
        """Parse the caller's reference; open an Iceberg table, by default at its last snapshot.

        Args:
            given: Path, `file:` URL, or URL of an object or prefix; or the name of an Iceberg
                table.
            snapshot: Id of a snapshot of an Iceberg table.
            branch: Branch of an Iceberg table.

        Raises:
            InvalidArgument: If the path is empty, or another URL; if there is no such Iceberg
                table, snapshot or branch.
            TableProblem: If the catalog of an Iceberg table does not answer.
        """
        text = os.fspath(given)
        if is_iceberg(text):
            table = iceberg_table(text, snapshot_id=snapshot, branch=branch)
            return cls.of_iceberg(text, table)
        if snapshot is not None or branch is not None:
            raise InvalidArgument(
                "only an Iceberg table has snapshots and branches",
                path=text,
                remedy="Name it as iceberg://CATALOG/NAMESPACE.TABLE.",
            )
        return cls(given=text, path=absolute_path(text))

    @classmethod
    def of_iceberg(cls, name: str, table: MetadataTable) -> Self:
        """Return the reference to an Iceberg table that is already open."""
        return cls(given=name, path=table.root, iceberg=table)

    @cached_property
    def is_on_store(self) -> bool:
        """Whether the table is on a store, not on a disk."""
        return storage_of(self.path).is_remote

    @cached_property
    def root(self) -> str:
        """The table's folder or prefix, or the one that the single file is in.

        Raises:
            InvalidArgument: If there is no folder or file of that name.
            StoreProblem: If it is on a store that refuses or does not answer.
        """
        path = self.path
        if self.is_on_store:
            from parquet_bloomwriter.index.table.objects import root_on_store

            return root_on_store(path)
        if os.path.isdir(path):
            return path
        if os.path.isfile(path):
            return os.path.dirname(path)
        raise InvalidArgument(
            f'there is no folder or file "{path}"', remedy="Name the folder of the table."
        )

    def home(self, given: str | os.PathLike[str] | None = None) -> str:
        """Return the folder of the table's indexes, which need not exist.

        Args:
            given: The folder that the caller names; None for the usual folder.
        """
        return os.path.join(self.root, HOME) if given is None else absolute_path(given)

    def check_folder(self) -> None:
        """Check that a table whose folder is to get an index is named by its folder, not by a file.

        Raises:
            InvalidArgument: If it is named by a file, or there is no such table.
            StoreProblem: If it is on a store that refuses or does not answer.
        """
        if self.path != self.root:
            raise InvalidArgument(
                "an index is of all files of a folder, and this is a file",
                path=self.given,
                remedy=f'Name its folder, "{self.root}".',
            )

    def opened(
        self, state: TableState | None = None, *, root: str | None = None
    ) -> MetadataTable | None:
        """Open a table whose metadata name its files, at its last state; None for a plain one.

        Args:
            state: State of the table that an index records; None if there is no index yet.
            root: The table's folder, as the index has it; None for the root of this one.

        Raises:
            InvalidArgument: If it is an Iceberg table, and only the index names it.
        """
        root = self.root if root is None else root
        if why := self.why_unnamed(state):
            raise InvalidArgument(f"the index says nothing here: {why}", path=root)
        if self.iceberg is not None:
            return self.iceberg
        if isinstance(state, DeltaState) or (state is None and is_delta(root)):
            return delta_table(root)
        return None

    def why_unnamed(self, state: TableState | None) -> str | None:
        """Return why an Iceberg table is not opened, a clause: only its index names it; else None.

        An index may come from a stranger: no catalog is asked for a name that is found in it.

        Args:
            state: State of the table that an index records.
        """
        if state is None or isinstance(state, DeltaState) or self.iceberg is not None:
            return None
        return (
            "it is of an Iceberg table, and names that are found in an index are not looked up: if "
            f'you mean "{state.name}", name the table so'
        )
