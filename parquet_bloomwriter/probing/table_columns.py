"""A predicate on the columns of a Delta table, and what it means for each of its files.

- Values of partition columns stand in the log, with types: never in the names of folders.
- A file may lack a column that was added later: its values there are null.
- Columns have other names in files if the table maps its columns.
- A file may have a narrower type than the table: literals are compared with that.

Conditions become opaque (any row may satisfy them) where equal values are not stored as equal
bytes, or readers differ in what is equal: collated text, CHAR filled up with blanks, timestamps as
INT96, partition values whose time zone nobody noted, floats that are not what the log spells.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from parquet_bloomwriter.delta.partition_values import partition_value
from parquet_bloomwriter.errors import TableProblem
from parquet_bloomwriter.metadata.logical_types import Kind, type_of
from parquet_bloomwriter.predicate.bind import Domains, bind
from parquet_bloomwriter.probing.evaluation import leaves_of
from parquet_bloomwriter.probing.files import Bindings, SchemaBinding
from parquet_bloomwriter.probing.partitions import Partition

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parquet_bloomwriter.delta.files import Table, TableFile
    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.predicate.bound import Bound
    from parquet_bloomwriter.probing.footer_cache import CachedFooter
    from parquet_bloomwriter.probing.partitions import Texts

_UNKNOWN: Texts = ()
_NULL: Texts = (None,)

_KINDS = {
    "string": (Kind.TEXT, Kind.BINARY),
    "binary": (Kind.TEXT, Kind.BINARY),
    "byte": (Kind.INTEGER,),
    "short": (Kind.INTEGER,),
    "integer": (Kind.INTEGER,),
    "long": (Kind.INTEGER,),
    "float": (Kind.FLOATING,),
    "double": (Kind.FLOATING, Kind.INTEGER),
    "boolean": (Kind.BOOLEAN,),
    "date": (Kind.DATE,),
    "timestamp": (Kind.TIMESTAMP,),
    "timestamp_ntz": (Kind.TIMESTAMP,),
}
"""What files may store for a type of the table, so that literals mean the same to both."""

_CHAR = "__CHAR_VARCHAR_TYPE_STRING"
_COLLATIONS = "__COLLATIONS"
_EXACT_BITS = 32
"""Integers of so many bits are exact as DOUBLE."""


@dataclass(slots=True, eq=False)
class LoggedBindings(Bindings):
    """A predicate, and what it means for each schema of a table's files."""

    def to_file(self, file: CachedFooter) -> SchemaBinding:
        """Return what the predicate means for a file."""
        found = self.seen.get(file.schema)
        if found is None:
            bound = self._bound(self._logged.in_file(file.footer()))
            ordinals = tuple(leaf.ordinal for leaf in leaves_of(bound))
            found = self.seen[file.schema] = SchemaBinding(bound=bound, ordinals=ordinals)
        return found

    def names(self) -> list[tuple[str, ...]]:
        """Return the names of the table's columns: no file need have them all."""
        leaves = self._logged.columns.select(None)
        return [(*leaves, *plain_fields(self._logged.snapshot.metadata.schema))]

    @property
    def _logged(self) -> Table:
        return cast("Table", self.table)

    def _bound(self, leaves: Mapping[str, Leaf]) -> Bound:
        expression = self.expression
        if self.partition is not None:
            expression = self.partition.decided(expression, ())
        lacking = Partition(
            values=dict(self._undecided(leaves)),
            hides_stored=True,
            origin="null, which the file's rows have there,",
        )
        return bind(lacking.decided(expression, ()), Domains.of(leaves.values()))

    def _undecided(self, leaves: Mapping[str, Leaf]) -> Iterator[tuple[str, Texts]]:
        """Yield columns that the file lacks, and those whose conditions mean something else."""
        fields = plain_fields(self._logged.snapshot.metadata.schema)
        stored = set(self._logged.columns.select(None))
        for name in self.columns:
            several = fields.get(name, ())
            if len(several) != 1 or name not in stored or is_special(several[0]):
                yield name, _UNKNOWN
            elif name not in leaves:
                yield name, _NULL
            elif not _is_kept(leaves[name], several[0]["type"]):
                yield name, _UNKNOWN


def plain_fields(schema: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the fields of a table of which a row has one value, by dotted name.

    Args:
        schema: The table's ("Schema Serialization Format").
    """
    found: dict[str, list[Mapping[str, Any]]] = {}
    for name, field in _plain(schema["fields"], ""):
        found.setdefault(name, []).append(field)
    return found


def _plain(fields: Sequence[Any], above: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for field in fields:
        name, type_ = f"{above}{field['name']}", field["type"]
        if isinstance(type_, str):
            yield name, field
        elif type_["type"] == "struct":
            yield from _plain(type_["fields"], f"{name}.")


def is_special(field: Mapping[str, Any]) -> bool:
    """Whether readers may find other values equal than those with equal bytes."""
    metadata = field.get("metadata") or {}
    padded = str(metadata.get(_CHAR, "")).lower().startswith("char")
    return padded or _COLLATIONS in metadata or str(field["type"]).startswith("string collate")


def _is_kept(leaf: Leaf, type_: str) -> bool:
    """Whether stored values equal the same literals as the values of the table."""
    stored = type_of(leaf)
    if type_.startswith("decimal"):
        return stored.kind in {Kind.DECIMAL, Kind.INTEGER}
    if stored.kind not in _KINDS.get(type_, ()):
        return False
    if stored.kind is Kind.TIMESTAMP:
        return stored.is_adjusted is (type_ == "timestamp")
    if type_ == "double" and stored.kind is Kind.INTEGER:
        return stored.bits <= _EXACT_BITS
    return True


def partition_in_log(file: TableFile, columns: Sequence[str]) -> Partition | None:
    """Return the partition columns of a predicate with the file's values; None if it has none."""
    values: dict[str, Texts] = {}
    for name, (logged, field) in file.table.partition_columns.items():
        if name in columns:
            values[name] = _texts(file.add.partition_values.get(logged), field)
    if not values:
        return None
    return Partition(values=values, hides_stored=True, origin="the value in the log")


def _texts(text: str | None, field: Mapping[str, Any]) -> Texts:  # noqa: PLR0911  a type each
    """Return a partition value as paths would spell it; nothing if that is not certain."""
    try:
        value = partition_value(text, field["type"], field["name"])
    except TableProblem:
        return _UNKNOWN
    if value is None:
        return _NULL
    if is_special(field) or isinstance(value, datetime):
        return _UNKNOWN
    if isinstance(value, bool):
        return (str(value).lower(),)
    if isinstance(value, float):
        return _spelled(value, text or "", field["type"])
    if isinstance(value, Decimal):
        return (f"{value:f}",)
    return (str(value),)


def _spelled(value: float, text: str, type_: object) -> Texts:
    """Return how a float is spelled if it is just that number, and finite."""
    layout = "<f" if type_ == "float" else "<d"
    try:
        (stored,) = struct.unpack(layout, struct.pack(layout, value))
        is_exact = Decimal(stored) == Decimal(text)
    except (ArithmeticError, ValueError, OverflowError):
        return _UNKNOWN
    return (text,) if is_exact else _UNKNOWN
