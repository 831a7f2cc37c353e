"""What people type behind options -> typed values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parquet_bloomwriter.footer import Leaf

T = TypeVar("T", int, float)

_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([a-z]*)", re.IGNORECASE)
_KIBI = 1024
_FACTORS = {
    **dict.fromkeys(("", "b"), 1),
    **dict.fromkeys(("k", "kib"), _KIBI),
    **dict.fromkeys(("m", "mib"), _KIBI**2),
    **dict.fromkeys(("g", "gib"), _KIBI**3),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PerColumn(Generic[T]):
    """A value for all columns, and others for some of them."""

    option: str
    """Its name, for messages."""

    general: T | None
    """None if there is none."""

    named: tuple[tuple[str, T], ...] = ()
    """Names as for --columns; later ones win."""

    def among(self, leaves: Sequence[Leaf], chosen: Sequence[Leaf]) -> dict[str, T]:
        """Settle the value of every chosen column, by its dotted path.

        Raises:
            ColumnNotFound: If a name matches nothing.
            InvalidArgument: If a name matches a column that is not chosen.
        """
        from parquet_bloomwriter.columns import select_columns
        from parquet_bloomwriter.errors import InvalidArgument

        values = {} if self.general is None else {leaf.name: self.general for leaf in chosen}
        for name, value in self.named:
            for leaf in select_columns(leaves, [name]):
                if leaf not in chosen:
                    raise InvalidArgument(
                        f'{self.option} names "{name}", which is none of the columns chosen',
                        remedy="Name it in --columns too.",
                    )
                values[leaf.name] = value
        return values


def parse_rate(text: str) -> float:
    """Parse a false positive probability.

    Raises:
        ValueError: If it is not between 0 and 1.
    """
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate < 1:
        raise ValueError(f"{text!r} is not a probability between 0 and 1, both excluded")
    return rate


def parse_count(text: str) -> int:
    """Parse a positive whole number; underscores and commas may group its digits.

    Raises:
        ValueError: If it is none.
    """
    digits = text.replace("_", "").replace(",", "")
    if not (digits.isascii() and digits.isdecimal() and int(digits)):
        raise ValueError(f"{text!r} is not a positive whole number")
    return int(digits)


def parse_size(text: str) -> int:
    """Parse a number of bytes, as in 65536, 512K, 1MiB.

    Raises:
        ValueError: If it is none, or its unit means different things to different people.
    """
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text!r} is not a size; write it like 65536, 512K or 1MiB")
    number, unit = match[1], match[2].lower()
    if unit not in _FACTORS:
        hint = f"; write {unit[0].upper()}iB" if unit in ("kb", "mb", "gb") else ""
        raise ValueError(f"{match[2]!r} is no unit; there are K, M, G (or KiB, MiB, GiB){hint}")
    return int(float(number) * _FACTORS[unit])


def split_columns(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    """Split lists at commas."""
    names = tuple(name.strip() for text in given for name in text.split(","))
    if not all(names):
        raise click.BadParameter("an empty name is among the columns")
    return tuple(dict.fromkeys(names))


def one(
    parse: Callable[[str], int],
) -> Callable[[click.Context, click.Parameter, str | None], int | None]:
    """A click callback for one value."""

    def callback(
        _context: click.Context, _parameter: click.Parameter, given: str | None
    ) -> int | None:
        return None if given is None else _parsed(parse, given)

    return callback


def per_column(
    parse: Callable[[str], T],
) -> Callable[[click.Context, click.Parameter, tuple[str, ...]], PerColumn[T]]:
    """A click callback for VALUE and COLUMN=VALUE, any number of them."""

    def callback(
        _context: click.Context, parameter: click.Parameter, given: tuple[str, ...]
    ) -> PerColumn[T]:
        pairs = [text.rpartition("=") for text in given]
        values = [(name, _parsed(parse, value)) for name, _, value in pairs]
        general = [value for name, value in values if not name]
        if len(general) > 1:
            raise click.BadParameter("more than one value is for all columns")
        return PerColumn(
            option=parameter.opts[0],
            general=general[0] if general else None,
            named=tuple((name, value) for name, value in values if name),
        )

    return callback


def _parsed(parse: Callable[[str], T], text: str) -> T:
    try:
        return parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
