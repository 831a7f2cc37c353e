"""The actions in entries of the log, with all their fields, known or unknown.

An action keeps all fields that were read, as in JSON. So if the action of a file is copied into a
new entry, fields that this program does not know are kept.

Source: Delta protocol, "Actions".
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from parquet_bloomwriter.errors import TableProblem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class FileKey(NamedTuple):
    """The key of a logical file: its data file, and the deletion vector of its deleted rows."""

    path: str
    """URI of the data file in the log, relative to the table's root or absolute."""

    deletion_vector: str | None
    """Unique id of the deletion vector ("Derived Fields"); None without deleted rows."""


@dataclass(frozen=True, eq=False)
class Add:
    """The action `add`: a data file of the table."""

    raw: Mapping[str, Any]
    """The action's fields, as in JSON. Fields that are null are left out."""

    @cached_property
    def key(self) -> FileKey:
        """The key of the file."""
        return FileKey(self.path, vector_id(self.raw.get("deletionVector")))

    @property
    def path(self) -> str:
        """URI of the data file, with escapes, relative to the table's root or absolute."""
        return str(self.raw["path"])

    @property
    def size(self) -> int:
        """Size of the data file, bytes."""
        return int(self.raw["size"])

    @property
    def partition_values(self) -> Mapping[str, str | None]:
        """Partition values by physical name of the partition column; None for null."""
        return self.raw.get("partitionValues") or {}

    @property
    def modified_ms(self) -> int:
        """Time at which the file was created, milliseconds since 1970 UTC."""
        return int(self.raw["modificationTime"])

    @property
    def tags(self) -> Mapping[str, str]:
        """Tags that programs gave the file."""
        return self.raw.get("tags") or {}

    @property
    def deletion_vector(self) -> Mapping[str, Any] | None:
        """Descriptor of the deletion vector; None if no row is deleted."""
        return self.raw.get("deletionVector")

    @property
    def stats(self) -> str | None:
        """Statistics of the file, JSON."""
        return self.raw.get("stats")

    @property
    def num_records(self) -> int | None:
        """Number of rows by the statistics, deleted rows included; None if not known."""
        try:
            stats = json.loads(self.stats or "null")
        except ValueError:
            return None
        found = stats.get("numRecords") if isinstance(stats, dict) else None
        return found if isinstance(found, int) else None


def vector_id(descriptor: Mapping[str, Any] | None) -> str | None:
    """Return the unique id of a deletion vector (Delta protocol, "Derived Fields")."""
    if descriptor is None:
        return None
    name = f"{descriptor['storageType']}{descriptor['pathOrInlineDv']}"
    offset = descriptor.get("offset")
    return name if offset is None else f"{name}@{offset}"


@dataclass(frozen=True)
class Protocol:
    """The action `protocol`: versions and features that readers and writers must understand."""

    reader_version: int
    writer_version: int
    reader_features: frozenset[str] = frozenset()
    """Names of features for readers; empty below reader version 3."""

    writer_features: frozenset[str] = frozenset()
    """Names of features for writers; empty below writer version 7."""

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Protocol:
        """Parse the fields of the action `protocol`."""
        return cls(
            reader_version=int(fields["minReaderVersion"]),
            writer_version=int(fields["minWriterVersion"]),
            reader_features=frozenset(fields.get("readerFeatures") or ()),
            writer_features=frozenset(fields.get("writerFeatures") or ()),
        )


@dataclass(frozen=True)
class Metadata:
    """The action `metaData`: the table's schema and properties."""

    raw: Mapping[str, Any] = field(repr=False)
    """The action's fields, as in JSON."""

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The table's schema ("Schema Serialization Format")."""
        found: dict[str, Any] = json.loads(self.raw["schemaString"])
        return found

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """Logical names of the partition columns."""
        return tuple(self.raw.get("partitionColumns") or ())

    @property
    def properties(self) -> Mapping[str, str]:
        """The table's properties."""
        return self.raw.get("configuration") or {}

    @property
    def id(self) -> str:
        """Random id of the table."""
        return str(self.raw["id"])


@dataclass(frozen=True, kw_only=True)
class Commit:
    """One entry of the log: the changes of one version.

    Actions are as in JSON, without their names.
    """

    version: int
    info: Mapping[str, Any]
    """Fields of `commitInfo`; empty without this action."""

    protocol: Protocol | None
    metadata: Metadata | None
    adds: tuple[Add, ...]
    removes: tuple[Mapping[str, Any], ...]
    others: tuple[Mapping[str, Any], ...]
    """All other actions, each with its name: {"txn": {...}}."""

    @property
    def is_empty(self) -> bool:
        """Return whether the entry has no actions, as while a writer has not yet filled it."""
        found = (self.info, self.protocol, self.metadata)
        return not any((*found, self.adds, self.removes, self.others))


def parse_actions(data: bytes, *, name: str, root: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the fields of each action in an entry or a JSON checkpoint.

    Args:
        data: Lines of JSON.
        name: Name of the file, for messages.
        root: Root of the table, for messages.

    Raises:
        TableProblem: If a line is no action, or an action lacks what identifies it.
    """
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line or line.isspace():
            continue
        try:
            action = json.loads(line)
        except ValueError as error:
            raise _damaged(name, number, root, f"is no JSON ({error})") from None
        if not isinstance(action, dict):
            raise _damaged(name, number, root, "is no action")
        for kind, fields in action.items():
            if fields is None:
                continue
            if not isinstance(fields, dict):
                raise _damaged(name, number, root, f'has a "{kind}" that is no object')
            if kind in _NEEDED and not _NEEDED[kind] <= fields.keys():
                lacking = ", ".join(sorted(_NEEDED[kind] - fields.keys()))
                raise _damaged(name, number, root, f'has a "{kind}" without {lacking}')
            yield kind, {one: value for one, value in fields.items() if value is not None}


_NEEDED = {
    "add": {"path", "size", "modificationTime"},
    "remove": {"path"},
    "metaData": {"id", "schemaString"},
    "protocol": {"minReaderVersion", "minWriterVersion"},
    "sidecar": {"path"},
}
"""The fields that an action must have, by name of the action."""


def _damaged(name: str, line: int, root: str, what: str) -> TableProblem:
    return TableProblem(
        f"line {line} of {name} {what}",
        path=root,
        remedy="Restore the file from a backup.",
    )
