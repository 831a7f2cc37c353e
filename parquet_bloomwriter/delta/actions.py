"""What entries of the log say: actions, with every field that they have, known or not.

An action keeps what was read, as JSON has it. So a file whose entry is copied into a new one keeps
fields that no version of this program knew.

Source: Delta protocol, "Actions".
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class FileKey(NamedTuple):
    """What a logical file is known by: its data file, and the rows of it that were deleted."""

    path: str
    """As the log has it: a URI, relative to the table's root or absolute."""

    deletion_vector: str | None
    """Unique id of its deletion vector ("Derived Fields")."""


@dataclass(frozen=True, eq=False)
class Add:
    """A file of the table."""

    raw: Mapping[str, Any]
    """The action's fields, as in JSON. Fields that are null are left out."""

    @cached_property
    def key(self) -> FileKey:
        """What the file is known by."""
        return FileKey(self.path, vector_id(self.raw.get("deletionVector")))

    @property
    def path(self) -> str:
        """A URI, relative to the table's root or absolute, with what it escapes."""
        return str(self.raw["path"])

    @property
    def size(self) -> int:
        """Bytes of the data file."""
        return int(self.raw["size"])

    @property
    def partition_values(self) -> Mapping[str, str | None]:
        """Values by physical name of the partition column; None for null."""
        return self.raw.get("partitionValues") or {}

    @property
    def modified_ms(self) -> int:
        """When the file was created, milliseconds since the epoch."""
        return int(self.raw["modificationTime"])

    @property
    def tags(self) -> Mapping[str, str]:
        """What programs noted of the file."""
        return self.raw.get("tags") or {}

    @property
    def deletion_vector(self) -> Mapping[str, Any] | None:
        """Descriptor of the deleted rows, if there are any."""
        return self.raw.get("deletionVector")

    @property
    def stats(self) -> str | None:
        """Statistics, as JSON."""
        return self.raw.get("stats")


def vector_id(descriptor: Mapping[str, Any] | None) -> str | None:
    """Return the unique id of a deletion vector (Delta protocol, "Derived Fields")."""
    if descriptor is None:
        return None
    name = f"{descriptor['storageType']}{descriptor['pathOrInlineDv']}"
    offset = descriptor.get("offset")
    return name if offset is None else f"{name}@{offset}"


@dataclass(frozen=True)
class Protocol:
    """What a program must understand to read and to write the table."""

    reader_version: int
    writer_version: int
    reader_features: frozenset[str] = frozenset()
    """Named features; empty below reader version 3."""

    writer_features: frozenset[str] = frozenset()
    """Named features; empty below writer version 7."""


@dataclass(frozen=True)
class Metadata:
    """The table's schema and properties."""

    raw: Mapping[str, Any] = field(repr=False)
    """The action's fields, as in JSON."""

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The table's schema ("Schema Serialization Format")."""
        found: dict[str, Any] = json.loads(self.raw["schemaString"])
        return found

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """Logical names."""
        return tuple(self.raw.get("partitionColumns") or ())

    @property
    def properties(self) -> Mapping[str, str]:
        """The table's properties."""
        return self.raw.get("configuration") or {}

    @property
    def id(self) -> str:
        """Of the table, random."""
        return str(self.raw["id"])


@dataclass(frozen=True, kw_only=True)
class Commit:
    """One entry of the log: what one version changed. Actions as in JSON, without their names."""

    version: int
    info: Mapping[str, Any]
    """`commitInfo`; empty without one."""

    protocol: Protocol | None
    metadata: Metadata | None
    adds: tuple[Add, ...]
    removes: tuple[Mapping[str, Any], ...]
    others: tuple[Mapping[str, Any], ...]
    """All other actions, each with its name: {"txn": {...}}."""


def without_nulls(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an action that are not null: JSON leaves the others out."""
    return {name: value for name, value in fields.items() if value is not None}


def protocol_of(fields: Mapping[str, Any]) -> Protocol:
    """Return a protocol, given the fields of its action."""
    return Protocol(
        reader_version=int(fields["minReaderVersion"]),
        writer_version=int(fields["minWriterVersion"]),
        reader_features=frozenset(fields.get("readerFeatures") or ()),
        writer_features=frozenset(fields.get("writerFeatures") or ()),
    )
