"""Arguments that have several forms: one name or many, one path or many, rates as numbers or text.

A string is one name, and one path: Python would take it for a sequence of its characters.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from numbers import Integral
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from parquet_bloomwriter.errors import InvalidArgument

if TYPE_CHECKING:
    StrPath = str | os.PathLike[str]
    Rate = float | str

P = ParamSpec("P")
R = TypeVar("R")

TAKE_TABLES = (
    "bloomify_table and strip_table take tables, and so do probe and read_table; find_files finds "
    "the files of a table."
)
"""Remedy where a table is given to a function that takes one file."""


_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([a-z]*)", re.IGNORECASE)
_KIBI = 1024
_FACTORS = {
    **dict.fromkeys(("", "b"), 1),
    **dict.fromkeys(("k", "kib"), _KIBI),
    **dict.fromkeys(("m", "mib"), _KIBI**2),
    **dict.fromkeys(("g", "gib"), _KIBI**3),
}


def names_of(given: str | Iterable[str]) -> tuple[str, ...]:
    """Return column names as a tuple; a string is one name.

    Raises:
        InvalidArgument: If a name is not text.
    """
    return tuple(_several(given, str, "the name of a column"))


def paths_of(given: StrPath | Iterable[StrPath]) -> tuple[str, ...]:
    """Return paths as a tuple of strings; a string, or an object with a path, is one path.

    Raises:
        InvalidArgument: If an element is no path.
    """
    return tuple(map(os.fspath, _several(given, (str, os.PathLike), "a path")))


def source_by_position(
    hint: str = 'conditions are filters="id = 3", and columns are columns=["id"]',
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator: the function refuses all but its source by position, and says why.

    Args:
        hint: The keywords of what may be given by position.
    """

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def checked(*given: P.args, **options: P.kwargs) -> R:
            if len(given) > 1:
                raise TypeError(f"{function.__name__}() takes its source alone by position; {hint}")
            return function(*given, **options)

        return checked

    return decorated


def is_of_library(given: object, library: str, name: str) -> bool:
    """Return whether an object is of a library's class, or a subclass; nothing is imported.

    The names of the object's classes decide. A look into `sys.modules` would find a library that
    another thread is importing, and that has no such class yet. As with `isinstance`, a proxy is of
    the class that it names as its `__class__`.

    Args:
        given: The object.
        library: The name of the top package, such as `pyarrow`.
        name: The name of the class, without its module: libraries move their classes.
    """
    return any(
        kind.__name__ == name and str(kind.__module__).partition(".")[0] == library
        for kind in given.__class__.__mro__
    )


def is_frame(given: object) -> bool:
    """Return whether an argument is a frame of pandas, Polars or Spark, or a table."""
    return hasattr(type(given), "columns")


def remedy_for(given: object) -> str | None:
    """Return what to pass instead of an object that names no file; None if not known."""
    if is_frame(given):
        return "Write it to a file first."
    if hasattr(given, "table_uri"):  # `DeltaTable` of deltalake
        return "Pass the table's folder: its table_uri."
    if hasattr(given, "getvalue"):
        return "Pass its getvalue()."
    if hasattr(given, "read"):
        return "Pass its path, or what its read() returns."
    if isinstance(given, Iterable):
        return "for_each_file applies a verb to several files."
    return None


def rate_of(given: Rate, argument: str = "fpp") -> float:
    """Return a false positive probability, which may be text, as in "0.01" or "1%".

    Args:
        given: The argument.
        argument: Its name, for the message.

    Raises:
        InvalidArgument: If it is no number between 0 and 1, both excluded.
    """
    try:
        is_percent = isinstance(given, str) and given.endswith("%")
        rate = float(given[:-1]) / 100 if is_percent else float(given)  # type: ignore[index]
    except (TypeError, ValueError, OverflowError):
        rate = 0.0
    if not 0 < rate < 1:
        raise InvalidArgument(
            f"{argument} is a number between 0 and 1, such as 0.001, not {given!r:.80}"
        )
    return rate


def parse_size(text: str) -> int:
    """Parse a number of bytes, as in 65536, 512K, 1MiB.

    Raises:
        ValueError: If the text is no size, or has a unit that can mean powers of 1000 or of 1024.
    """
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text!r} is not a size; write it like 65536, 512K or 1MiB")
    number, unit = match[1], match[2].lower()
    if unit not in _FACTORS:
        hint = f"; write {unit[0].upper()}iB" if unit in ("kb", "mb", "gb") else ""
        raise ValueError(f"{match[2]!r} is no unit; there are K, M, G (or KiB, MiB, GiB){hint}")
    return int(float(number) * _FACTORS[unit])


def rates_of(given: Rate | Mapping[str, Rate]) -> float | dict[str, float]:
    """Return a probability for all columns as a number, or those by name as numbers.

    Raises:
        InvalidArgument: If one is no number between 0 and 1, both excluded.
    """
    if isinstance(given, Mapping):
        return {name: rate_of(rate, f'fpp of "{name}"') for name, rate in given.items()}
    return rate_of(given)


def check_jobs(jobs: int | None) -> None:
    """Check a number of threads; None leaves the choice to the verb.

    Raises:
        InvalidArgument: If it is no whole number above 0.
    """
    if jobs is not None and (not isinstance(jobs, Integral) or jobs < 1):
        raise InvalidArgument(f"jobs is a number of threads, 1 or more, not {jobs!r:.80}")


def _several(given: Any, kinds: Any, what: str) -> list[Any]:  # noqa: ANN401  checked here
    if isinstance(given, kinds):
        return [given]
    try:
        several = [given] if isinstance(given, bytes | bytearray | memoryview) else list(given)
    except TypeError:
        several = [given]
    strange = [one for one in several if not isinstance(one, kinds)]
    if strange:
        raise InvalidArgument(f"{what} is text, but {strange[0]!r:.80} was given")
    return several
