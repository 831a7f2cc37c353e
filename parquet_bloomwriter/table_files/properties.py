"""The properties by which a Delta or an Iceberg table asks for Bloom filters.

Delta:

    bloomify.columns    names separated by commas, as for `--columns`: id, address.city; * for all
    bloomify.fpp        as for `--fpp`, separated by commas: 0.01, email=0.001

Iceberg:

    write.parquet.bloom-filter-enabled.column.NAME   true: the column should have filters
    write.parquet.bloom-filter-fpp.column.NAME       false positive probability, 0.01 by default
    write.parquet.bloom-filter-max-bytes             largest bitset, bytes, 1 MiB by default

Iceberg does not change its properties when a column is renamed: NAME is the column's name when the
property was set. So a name that the current schema lacks is looked for in older schemas, newest
first, and stands for the field of the same id. Names of dropped columns are ignored. NAME may also
be the path in Parquet files, tags.list.element, as writers before Iceberg 1.8 required.

Source: Iceberg documentation, "Configuration" ("Write properties"); `TableProperties` of Iceberg.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from parquet_bloomwriter.arguments import rate_of
from parquet_bloomwriter.column_names import EVERY_COLUMN
from parquet_bloomwriter.errors import ColumnNotFound, InvalidArgument
from parquet_bloomwriter.text import safe

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from parquet_bloomwriter.iceberg.snapshot import IcebergSnapshot

_T = TypeVar("_T", int, float)

DELTA_COLUMNS, DELTA_FPP = "bloomify.columns", "bloomify.fpp"

ENABLED = "write.parquet.bloom-filter-enabled.column."
FPP = "write.parquet.bloom-filter-fpp.column."
MAX_BYTES = "write.parquet.bloom-filter-max-bytes"

DEFAULT_MAX_BYTES = 1 << 20
"""Iceberg's default for the property `MAX_BYTES`, bytes."""

_PARQUET_LEVELS = ((".list.element", ".element"), (".key_value.", "."))
"""Path levels that Parquet adds in lists and maps, and what Iceberg's names have instead."""


@dataclass(frozen=True, kw_only=True)
class AskedFilters:
    """The Bloom filters that a table's properties ask for."""

    name: str
    """Name of the property that lists columns, for messages."""

    columns: Sequence[str]
    """Logical names of columns and groups; "*" for all."""

    rates: Mapping[str, float]
    """False positive probability by name; "*" for all other columns."""

    max_bytes: int | None = None
    """Maximum size of a bitset, bytes; None if the properties do not say."""

    unknown: Sequence[str] = ()
    """Names of properties that ask for filters of a column that does not exist now."""


def asked_by_delta(properties: Mapping[str, str]) -> AskedFilters:
    """Return the filters that the properties of a Delta table ask for.

    Raises:
        InvalidArgument: If a property makes no sense.
    """
    try:
        rates = rates_by_name(words_in(properties.get(DELTA_FPP, "")))
    except ValueError as error:
        raise InvalidArgument(
            f"the table's property {DELTA_FPP} has {error}",
            remedy="Set it as in 0.01, or 1%, email=0.1%.",
        ) from None
    columns = words_in(properties.get(DELTA_COLUMNS, ""))
    return AskedFilters(name=DELTA_COLUMNS, columns=columns, rates=rates)


def delta_properties(columns: Sequence[str], fpp: float | None) -> dict[str, str]:
    """Return the properties by which a Delta table asks for filters of columns.

    Args:
        columns: Names of leaves.
        fpp: False positive probability of each; None to leave that property out.

    Raises:
        InvalidArgument: If a name cannot stand in a property.
    """
    for name in columns:
        if "," in name or name != name.strip():
            raise InvalidArgument(f'the name "{name}" cannot stand in the property {DELTA_COLUMNS}')
    rate = {} if fpp is None else {DELTA_FPP: f"{fpp:g}"}
    return {DELTA_COLUMNS: ", ".join(columns), **rate}


def asked_by_iceberg(snapshot: IcebergSnapshot) -> AskedFilters:
    """Return the filters that the properties of an Iceberg table ask for.

    Raises:
        InvalidArgument: If a property makes no sense.
    """
    properties = snapshot.properties
    enabled: dict[str, None] = {}
    unknown = []
    for key, text in properties.items():
        if key.startswith(ENABLED) and text.strip().lower() == "true":
            leaves = _leaves(snapshot, key.removeprefix(ENABLED))
            enabled.update(dict.fromkeys(leaves))
            unknown += [] if leaves else [key]
    rates: dict[str, float] = {}
    for key, text in properties.items():
        if key.startswith(FPP):
            rate = _number(key, text, float)
            rates.update(
                (leaf, rate) for leaf in _leaves(snapshot, key.removeprefix(FPP)) if leaf in enabled
            )
    max_bytes = DEFAULT_MAX_BYTES if enabled else None
    if MAX_BYTES in properties:
        max_bytes = _number(MAX_BYTES, properties[MAX_BYTES], int)
    in_order = [one.name for one in snapshot.columns.columns if one.name in enabled]
    return AskedFilters(
        name=f"{ENABLED}NAME",
        columns=tuple(in_order),
        rates=rates,
        max_bytes=max_bytes,
        unknown=tuple(unknown),
    )


def iceberg_properties(columns: Sequence[str], fpp: float | None) -> dict[str, str]:
    """Return the properties by which an Iceberg table does so; see `delta_properties`."""
    properties = {f"{ENABLED}{name}": "true" for name in columns}
    if fpp is not None:
        properties |= {f"{FPP}{name}": f"{fpp:g}" for name in columns}
    return properties


def _leaves(snapshot: IcebergSnapshot, name: str) -> tuple[str, ...]:
    """Return the current names of leaf columns that a property names, without dropped ones."""
    spellings = [name]
    for of_parquet, of_iceberg in _PARQUET_LEVELS:
        spellings.append(spellings[-1].replace(of_parquet, of_iceberg))
    for spelling in dict.fromkeys(spellings):
        current = _current_name(snapshot, spelling)
        if current is not None:
            try:
                return snapshot.columns.select((current,))
            except ColumnNotFound:
                return ()  # a type that no file stores values of
    return ()


def _current_name(snapshot: IcebergSnapshot, name: str) -> str | None:
    older = sorted(
        snapshot.table.metadata.schemas, key=lambda schema: schema.schema_id, reverse=True
    )
    for schema in (snapshot.schema, *older):
        try:
            field_id = schema.find_field(name).field_id
        except ValueError:
            continue
        return snapshot.schema.find_column_name(field_id)
    return None


def _number(key: str, text: str, kind: type[_T]) -> _T:
    try:
        return kind(text.strip())
    except ValueError:
        raise InvalidArgument(
            f'the table\'s property {safe(key)} is "{safe(text)}", which is no number'
        ) from None


def rates_by_name(words: Iterable[str]) -> dict[str, float]:
    """Return false positive probabilities by name, from words as for `--fpp`: 1%, email=0.1%.

    Raises:
        ValueError: If a word has no rate; the message is a clause.
    """
    rates = {}
    for word in words:
        name, _, rate = word.rpartition("=")
        try:
            rates[name.strip() or EVERY_COLUMN] = rate_of(rate)
        except InvalidArgument:
            raise ValueError(f'no rate in "{word}"') from None
    return rates


def words_in(text: str) -> list[str]:
    """Return the words of a list that commas separate."""
    return [part.strip() for part in text.split(",") if part.strip()]
