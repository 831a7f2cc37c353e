"""What people type behind options -> typed values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T", bound=float)

_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([a-z]*)", re.IGNORECASE)
_KIBI = 1024
_FACTORS = {
    **dict.fromkeys(("", "b"), 1),
    **dict.fromkeys(("k", "kib"), _KIBI),
    **dict.fromkeys(("m", "mib"), _KIBI**2),
    **dict.fromkeys(("g", "gib"), _KIBI**3),
}


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


def parse_filter_size(text: str) -> int:
    """Parse a number of bytes that a filter may have.

    Raises:
        ValueError: If it is none, or more than any filter can have.
    """
    size = parse_size(text)
    if size >= 1 << 31:
        raise ValueError(f"{text!r} is more than a filter can have; it must be below 2 GiB")
    return size


def parse_sample(text: str) -> int | float:
    """Parse a number of row groups, or a share of them: 3, 10%.

    Raises:
        ValueError: If it is neither.
    """
    if not text.endswith("%"):
        return parse_count(text)
    try:
        share = float(text[:-1]) / 100
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise ValueError(f"{text!r} is not a share between 0 % and 100 %")
    return share


def split_pairs(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    """Split COLUMN=VALUE at the first sign of equality."""
    pairs = [text.partition("=") for text in given]
    for column, sign, _ in pairs:
        if not (column and sign):
            raise click.BadParameter("give a column and a value, as in id=42")
    return tuple((column, value) for column, _, value in pairs)


def split_columns(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    """Split lists at commas."""
    names = tuple(name.strip() for text in given for name in text.split(","))
    if not all(names):
        raise click.BadParameter("an empty name is among the columns")
    return tuple(dict.fromkeys(names))


def one(
    parse: Callable[[str], T],
) -> Callable[[click.Context, click.Parameter, str | None], T | None]:
    """A click callback for one value."""

    def callback(
        _context: click.Context, _parameter: click.Parameter, given: str | None
    ) -> T | None:
        return None if given is None else _parsed(parse, given)

    return callback


def per_column(
    parse: Callable[[str], T],
) -> Callable[[click.Context, click.Parameter, tuple[str, ...]], dict[str, T]]:
    """A click callback for VALUE and COLUMN=VALUE, any number of them; "*" names all columns."""

    def callback(
        _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
    ) -> dict[str, T]:
        pairs = [text.rpartition("=") for text in given]
        if sum(not name for name, _, _ in pairs) > 1:
            raise click.BadParameter("more than one value is for all columns")
        return {name or "*": _parsed(parse, value) for name, _, value in pairs}

    return callback


def _parsed(parse: Callable[[str], T], text: str) -> T:
    try:
        return parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
