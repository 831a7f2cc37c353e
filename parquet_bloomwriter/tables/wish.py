"""What is asked for: columns of the table and their rates, by arguments or by its properties.

bloomify.columns    names separated by commas, as for `--columns`: id, address.city; * for all
bloomify.fpp        as for `--fpp`, separated by commas: 0.01, email=0.001
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.arguments import names_of
from parquet_bloomwriter.column_names import EVERY_COLUMN
from parquet_bloomwriter.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.delta.schema import TableColumns

COLUMNS = "bloomify.columns"
FPP = "bloomify.fpp"
DEFAULT_FPP = 0.01


@dataclass(frozen=True, kw_only=True)
class Wish:
    """Which columns should have filters."""

    rates: Mapping[str, float]
    """False positive probability by logical name of the leaf."""

    is_by_table: bool
    """Whether the table's properties ask for it."""


def wish_of(
    columns: TableColumns,
    properties: Mapping[str, str],
    names: str | Sequence[str] | None,
    fpp: float | Mapping[str, float] | None,
) -> Wish:
    """Return what is asked for.

    Args:
        columns: Those of the table.
        properties: Of the table.
        names: Logical names, as arguments, "*" for all columns; None for those that the table's
            property has.
        fpp: As an argument: for all columns, or by name; None for what the table's property has,
            else 1 %.

    Raises:
        InvalidArgument: If nothing is asked for, or a property or a rate makes no sense.
        ColumnNotFound: If the table has no such column.
    """
    is_by_table = names is None
    if names is None:
        names = _listed(properties.get(COLUMNS, ""))
        if not names:
            raise InvalidArgument(
                f"no columns are named, and the table has no property {COLUMNS}",
                remedy="Name columns; or set the property, so that all runs know them.",
            )
    names = names_of(names)
    chosen = columns.select(None if EVERY_COLUMN in names else names)
    if fpp is None:
        fpp = _rates(properties.get(FPP, ""))
    return Wish(rates=_settled(columns, chosen, fpp), is_by_table=is_by_table)


def _settled(
    columns: TableColumns, chosen: Sequence[str], fpp: float | Mapping[str, float]
) -> dict[str, float]:
    by_name = fpp if isinstance(fpp, Mapping) else {EVERY_COLUMN: fpp}
    rates = dict.fromkeys(chosen, by_name.get(EVERY_COLUMN, DEFAULT_FPP))
    for name, rate in by_name.items():
        if name == EVERY_COLUMN:
            continue
        for leaf in columns.select((name,)):
            if leaf not in rates:
                raise InvalidArgument(
                    f'a rate is given for "{name}", which is none of the columns chosen',
                    remedy="Choose the column too.",
                )
            rates[leaf] = rate
    for rate in rates.values():
        if not 0 < rate < 1:
            raise InvalidArgument(f"{rate} is no probability between 0 and 1, both excluded")
    return rates


def _rates(text: str) -> dict[str, float]:
    rates = {}
    for part in _listed(text):
        name, _, rate = part.rpartition("=")
        try:
            rates[name.strip() or EVERY_COLUMN] = float(rate)
        except ValueError:
            raise InvalidArgument(
                f'the table\'s property {FPP} has no rate in "{part}"',
                remedy="Set it as in 0.01, or 0.01, email=0.001.",
            ) from None
    return rates


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
