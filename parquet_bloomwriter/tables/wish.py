"""What is asked for: columns of the table and their rates, by arguments or by its properties."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.arguments import names_of, rates_of
from parquet_bloomwriter.column_names import EVERY_COLUMN, matching_names
from parquet_bloomwriter.errors import ColumnNotFound, InvalidArgument
from parquet_bloomwriter.sbbf.sizing import MAX_BYTES, check_max_bytes
from parquet_bloomwriter.text import safe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.arguments import Rate
    from parquet_bloomwriter.tables.table import Columns, Table

DEFAULT_FPP = 0.01


@dataclass(frozen=True, kw_only=True)
class Wish:
    """Which columns should have filters."""

    rates: Mapping[str, float]
    """False positive probability by logical name of the leaf."""

    max_bytes: int
    """Largest bitset."""

    is_by_table: bool
    """Whether the table's properties ask for it."""


def wish_of(
    table: Table,
    names: str | Sequence[str] | None,
    fpp: Rate | Mapping[str, Rate] | None,
    max_bytes: int | None,
    *,
    exclude: str | Sequence[str] = (),
) -> Wish:
    """Return what is asked for.

    Args:
        table: With its columns and properties.
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
        names = asked.names
        if not names and asked.unknown:
            raise InvalidArgument(
                f"the table has no column that its property {safe(asked.unknown[0])} names",
                remedy="Name columns; or correct the property.",
            )
        if not names:
            raise InvalidArgument(
                f"no columns are named, and the table has no property {table.asks_by}",
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
    # The properties may have rates of other columns than those that are named now.
    asked_rates = {
        name: rate
        for name, rate in asked.rates.items()
        if is_by_table or name in chosen or name == EVERY_COLUMN or matching_names(chosen, name)
    }
    if max_bytes is None:
        max_bytes = asked.max_bytes or MAX_BYTES
    check_max_bytes(max_bytes)
    return Wish(
        rates=_settled(table.columns, chosen, rates_of(asked_rates if fpp is None else fpp)),
        max_bytes=max_bytes,
        is_by_table=is_by_table,
    )


def leaves_of(columns: Columns, names: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the leaves of columns and groups by name, None for all, each of which has its own.

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
    columns: Columns, chosen: Sequence[str], fpp: float | Mapping[str, float]
) -> dict[str, float]:
    by_name = fpp if isinstance(fpp, Mapping) else {EVERY_COLUMN: fpp}
    rates = dict.fromkeys(chosen, by_name.get(EVERY_COLUMN, DEFAULT_FPP))
    for name, rate in by_name.items():
        if name == EVERY_COLUMN:
            continue
        named = columns.select((name,))
        if name not in named:
            # Of what a pattern matches, only columns that are chosen need the rate.
            named = matching_names(rates, name) or named
        for leaf in named:
            if leaf not in rates:
                raise InvalidArgument(
                    f'a rate is given for "{name}", which is none of the columns chosen',
                    remedy="Choose the column too.",
                )
            rates[leaf] = rate
    return rates
