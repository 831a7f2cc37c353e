"""Scales of plots: the height of a value, and the values that are written beside a plot."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.text import rate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_KIBI = 1024
_SMALLEST_RATE = 1e-12
"""Lower rates, and zero, stand at the bottom of the scale."""

_MOST_STEPS = 3
"""Distances between lines; a scale of more decades or octaves leaves lines out."""

_LOWEST_DECIMAL = -4
"""Lower powers of ten are written as such."""

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_NEAR = 1e-9
"""What rounding may add to the logarithm of a whole power."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """The heights of values in a plot."""

    low: float
    """Value, or its logarithm, at the bottom."""

    high: float
    """At the top; higher than `low`."""

    base: float | None
    """Of the logarithm; None for a linear scale."""

    ticks: tuple[tuple[float, str], ...]
    """Values with a line and a label."""

    def height(self, value: float) -> float:
        """Return the height of a value, from 0 at the bottom to 1 at the top."""
        along = value if self.base is None else self._log(value)
        return min(max((along - self.low) / (self.high - self.low), 0.0), 1.0)

    def _log(self, value: float) -> float:
        return math.log(value, self.base or math.e) if value > 0 else self.low


def size_scale(sizes: Iterable[float]) -> Scale:
    """Return a scale of bytes, in powers of two."""
    low, high = _bounds(sizes, base=2.0, least=1.0)
    steps, step = _steps(low, high)
    powers = range(low, low + steps * step + 1, step)
    return _logarithmic(powers, base=2.0, label=_short_size)


def rate_scale(rates: Iterable[float]) -> Scale:
    """Return a scale of probabilities, in powers of ten up to one."""
    low, high = _bounds(rates, base=10.0, least=_SMALLEST_RATE)
    high = min(high, 0)
    steps, step = _steps(low, high)
    return _logarithmic(range(high - steps * step, high + 1, step), base=10.0, label=_short_rate)


def share_scale() -> Scale:
    """Return a scale of shares, from 0 % to 100 %."""
    ticks = ((0.0, "0 %"), (0.5, "50 %"), (1.0, "100 %"))
    return Scale(low=0.0, high=1.0, base=None, ticks=ticks)


def _bounds(values: Iterable[float], *, base: float, least: float) -> tuple[int, int]:
    """Return the powers that enclose all values, at least two apart."""
    known = [math.log(max(value, least), base) for value in values] or [0.0]
    low, high = math.floor(min(known) + _NEAR), math.ceil(max(known) - _NEAR)
    return (low, high) if high - low > 1 else (low - 1, high + 1)


def _steps(low: int, high: int) -> tuple[int, int]:
    """Return the number of steps from one power to the other, or beyond, and their length."""
    length = math.ceil((high - low) / _MOST_STEPS)
    return math.ceil((high - low) / length), length


def _logarithmic(powers: range, *, base: float, label: Callable[[float], str]) -> Scale:
    values = [base**power for power in powers]
    ticks = tuple((value, label(value)) for value in values)
    return Scale(low=float(powers[0]), high=float(powers[-1]), base=base, ticks=ticks)


def _short_rate(probability: float) -> str:
    power = round(math.log10(probability))
    return rate(probability) if power > _LOWEST_DECIMAL else f"10{str(power).translate(_RAISED)}"


def _short_size(num_bytes: float) -> str:
    if num_bytes < _KIBI:
        return f"{num_bytes:.4g} B"
    power = min(int(math.log2(num_bytes)) // 10, 4)
    return f"{num_bytes / _KIBI**power:,.0f} {'KMGT'[power - 1]}iB"
