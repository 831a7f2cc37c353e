"""The requested filters: columns and FPPs, from arguments or from a table's properties."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.arguments import names_of, rate_of, rates_of
from parquet_bloomwriter.column_names import EVERY_COLUMN, matching_names
from parquet_bloomwriter.errors import ColumnNotFound, InvalidArgument
from parquet_bloomwriter.sbbf.sizing import MAX_BYTES, check_max_bytes
from parquet_bloomwriter.table_files.find import open_to_change
from parquet_bloomwriter.text import safe

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from parquet_bloomwriter.arguments import Rate
    from parquet_bloomwriter.column_names import TableColumns
    from parquet_bloomwriter.table_files.files import Table

DEFAULT_FPP = 0.01


@dataclass(frozen=True, kw_only=True)
class RequestedFilters:
    """The filters that are requested: which columns, which rates, which size."""

    rates: Mapping[str, float]
    """False positive probability by logical name of the leaf column."""

    max_bytes: int
    """Maximum size of a bitset, bytes."""

    is_by_table: bool
    """Whether the request comes from the table's properties."""


def requested_filters(
    table: Table,
    names: str | Sequence[str] | None,
    fpp: Rate | Mapping[str, Rate] | None,
    max_bytes: int | None,
    *,
    exclude: str | Sequence[str] = (),
) -> RequestedFilters:
    """Return the requested filters, from arguments and from the table's properties.

    Args:
        table: The table, with its columns and properties.
        names: Logical names, as arguments, "*" for all columns; None for those that the table's
            properties have.
        fpp: As an argument: for all columns, or by name; None for what the table's properties have,
            else 1 %.
        max_bytes: Largest bitset; None for what the table's properties have, else the largest that
            readers take.
        exclude: Columns that are not asked for, whatever names them.

    Raises:
        InvalidArgument: If nothing is asked for, or a property or an argument makes no sense.
        ColumnNotFound: If the table has no such column.
    """
    asked = table.asked()
    is_by_table = names is None
    if names is None:
        names = asked.columns
        if not names and asked.unknown:
            raise InvalidArgument(
                f"the table has no column that its property {safe(asked.unknown[0])} names",
                remedy="Name columns; or correct the property.",
            )
        if not names:
            raise InvalidArgument(
                f"no columns are named, and the table has no property {asked.name}",
                remedy="Name columns; or set the property, so that all runs know them.",
            )
    names = names_of(names)
    chosen = leaves_of(table.columns, None if EVERY_COLUMN in names else names)
    excluded = table.columns.select(names_of(exclude))
    if chosen and not set(chosen) - set(excluded):
        raise InvalidArgument(
            "all columns that are chosen are excluded, too", remedy="Exclude fewer."
        )
    chosen = tuple(name for name in chosen if name not in excluded)
    # The properties may have rates of columns that are not among the chosen columns.
    asked_rates = {
        name: rate
        for name, rate in asked.rates.items()
        if is_by_table or name in chosen or name == EVERY_COLUMN or matching_names(chosen, name)
    }
    if max_bytes is None:
        max_bytes = asked.max_bytes or MAX_BYTES
    check_max_bytes(max_bytes)
    return RequestedFilters(
        rates=_settled(table.columns, chosen, rates_of(asked_rates if fpp is None else fpp)),
        max_bytes=max_bytes,
        is_by_table=is_by_table,
    )


def leaves_of(columns: TableColumns[Any], names: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the leaf columns of the named columns and groups; None: all leaf columns.

    Raises:
        ColumnNotFound: If the table has no such column, or two of one name.
    """
    chosen = columns.select(names)
    for name, number in Counter(chosen).items():
        if number > 1:
            raise ColumnNotFound(
                f'two columns of the table are called "{safe(name)}", so neither can be meant',
                name=name,
                column=name,
                remedy="Name the other columns, and leave this one out.",
            )
    return chosen


def _settled(
    columns: TableColumns[Any], chosen: Sequence[str], fpp: float | Mapping[str, float]
) -> dict[str, float]:
    by_name = fpp if isinstance(fpp, Mapping) else {EVERY_COLUMN: fpp}
    rates = dict.fromkeys(chosen, by_name.get(EVERY_COLUMN, DEFAULT_FPP))
    for name, rate in by_name.items():
        if name == EVERY_COLUMN:
            continue
        named = columns.select((name,))
        if name not in named:
            # A pattern may match columns that are not chosen; these need no rate.
            named = matching_names(rates, name) or named
        for leaf in named:
            if leaf not in rates:
                raise InvalidArgument(
                    f'a rate is given for "{name}", which is none of the columns chosen',
                    remedy="Choose the column too.",
                )
            rates[leaf] = rate
    return rates


def ask_for_filters(
    table: str | os.PathLike[str], columns: Sequence[str], *, fpp: Rate | None = None
) -> int | None:
    """Set the properties of a Delta or Iceberg table that `bloomify_table` reads.

    That of a Delta table names all columns. Those of an Iceberg table are set for these columns,
    and stay for others.

    Args:
        table: Path or URL of a Delta table's folder, or iceberg://CATALOG/NAMESPACE.TABLE.
        columns: Columns as the table names them.
        fpp: False positive probability for all of them; None leaves that property as it is.

    Returns:
        The version that was made; of an Iceberg table the current snapshot, as its properties
        belong to none. None if the properties are so already.

    Raises:
        InvalidArgument: If there is no table, or a name cannot stand in a property.
        ColumnNotFound: If the table has no such column.
        TableProblem, UnsafeTarget, OutcomeUnknown, StoreProblem, OSError: As for `bloomify_table`.
    """
    rate = None if fpp is None else rate_of(fpp)
    opened = open_to_change(table)
    return opened.ask(leaves_of(opened.columns, columns), rate)
