"""Texts for people: words and numbers, made safe to show whatever names a file contains.

Libraries put URLs into their errors, with all that stands in them. So `safe`, through which all
texts pass, leaves out passwords and signatures, too (`redacted`).
"""

from __future__ import annotations

import difflib
import math
import re
import unicodedata
from itertools import groupby, islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ELLIPSIS = "…"

LONGEST_TEXT = 400
"""Most characters of a text from a file; the middle of a longer text is left out."""

_UNITS = ("KiB", "MiB", "GiB", "TiB")
_PLAIN_BELOW = 10_000
"""Bytes; smaller sizes are written exactly."""

_DECIMAL_ABOVE = 1e-6
_MULTIPLIED = 2
"""Factor of growth above which a warning is given for files."""

_KIBI = 1024
_MOST_RUNS = 12
"""Most runs of row groups that are named in a sentence."""

_MOST_LINES = 40
"""Most lines below a heading."""

_MOST_NAMES = 10
"""Most names that are listed in a sentence."""

_COLUMNS_LISTED = 12
"""Most columns that are named in a remark; the others are counted."""

_NEAR_NAMES = 3
"""Most names that are proposed for a wrong one."""

_LETTERS = 2
"""Least characters of a prefix that stands for a whole name."""

_SIMILARITY = 0.65
"""Least similarity to a name that was probably meant, in [0, 1]: two letters of three."""

_SHORT, _SIMILARITY_IF_SHORT = 4, 0.75
"""Most characters of a short name, to which the least similarity is higher."""

_LONGEST_NAME = 100
"""Most characters of a name in a sentence; no suggestion is made for longer names."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]{0,40}://[^\s\"'<>]+")
_USER = re.compile(r"(?<=://)(?:[^/]{0,999}@|[^/:@]{0,99}:(?!\d*/)[^@]{0,999}@)")
"""Users and passwords in a URL; the second form is for a password with a slash, but not a port."""

_CONTAINER = re.compile(r"(?:abfss?|wasbs?)://[^:/@]*@", re.IGNORECASE)
"""Beginning of a URL of Azure with a container in the place of a user."""

_KEYS = ("s3://", "s3a://", "s3n://")
"""Beginnings of URLs whose keys may contain a question mark; only secret values are left out."""

_VALUES = re.compile(r"([?&#][^?=&#\s]*=)[^&#\s]*[^&#\s:.,;)]")
_SECRET = re.compile(
    r"([?&#;](?:[\w.~-]|%2D)*(?:sig|signature|token|secret|passw(?:or)?d|credentials?|"
    r"access_?key(?:_?id)?|account_?key|secret_?key|api_?key|sas)(?:=|%3D))(?![*])[^&#;\s\"'<>]*[^&#;\s\"'<>:.,)]",
    re.IGNORECASE,
)
"""A parameter of a URL, or of a connection string, that grants rights."""

_LEFT_OUT = r"\g<1>***"


def redacted(text: str) -> str:
    """Return a text without the passwords, signatures and tokens of its URLs and parameters.

    Users and passwords go from URLs, and the values of their parameters. Elsewhere the values of
    parameters go whose names say that they are secret. Folders called `NAME=VALUE` stay.
    """
    if "://" in text:
        text = _URL.sub(lambda found: _without_user_and_values(found[0]), text)
    if "=" in text or "%3" in text:
        text = _SECRET.sub(_LEFT_OUT, text)
    return text


def _without_user_and_values(url: str) -> str:
    if _CONTAINER.match(url) is None:
        url = _USER.sub("", url)
    return url if url.lower().startswith(_KEYS) else _VALUES.sub(_LEFT_OUT, url)


def words_of(error: BaseException | None) -> str:
    """Return an error's message, in one line and without secrets; its class if it has none."""
    return " ".join(redacted(str(error or "")).split()) or type(error).__name__


def safe(text: str) -> str:
    """Escape what a screen would obey or hide (controls, ANSI, bidi marks, line ends).

    Secrets in URLs are left out, see `redacted`.
    """
    return printable(redacted(text))


def printable(text: str) -> str:
    """Escape what a screen would obey or hide, and leave out nothing: for values of rows."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text
    )


def name(text: str) -> str:
    """Return a column's name, made safe, and visible if it is empty."""
    return safe(text) or '""'


def clipped(text: str, longest: int = LONGEST_TEXT) -> str:
    """Return a text without its middle if it has more than `longest` characters."""
    if len(text) <= longest:
        return text
    after = (longest - 1) // 2
    return text[: longest - 1 - after] + ELLIPSIS + text[-after:]


def suggestion(
    wrong: str,
    columns: Iterable[str],
    *,
    typed: Mapping[str, str] | None = None,
    near: Sequence[str] | None = None,
) -> str:
    """Return a sentence on which column may have been meant, or which columns exist.

    Args:
        wrong: The name that no column has.
        columns: The names that there are.
        typed: What to type for names that cannot be typed as they are.
        near: Names that may have been meant; by default the one that is most similar.
    """
    names = list(dict.fromkeys(columns))
    by_case = [one for one in names if one.lower() == wrong.lower()]
    close = by_case or near or [one for one in [nearest(wrong, names)] if one is not None]
    spelled = typed or {}
    shown = [clipped(spelled.get(one, one), _LONGEST_NAME) for one in close or names[:_MOST_NAMES]]
    if close:
        return f"Did you mean {' or '.join(shown)}?"
    more = len(names) - len(shown)
    return f"The columns are: {', '.join(shown)}{f' and {more:,} more' if more else ''}."


def near_pattern(pattern: str, names: Iterable[str]) -> list[str]:
    """Return a few names that may be meant by a pattern with `*` and `?` that matches none.

    A name is near if it contains two thirds of the pattern's longest text between wildcards.
    """
    text = max(re.split(r"[*?]", pattern.lower()), key=len)
    if not _LETTERS <= len(text) <= _LONGEST_NAME:
        return []
    least = max(_LETTERS, math.ceil(_SIMILARITY * len(text)))
    runs = {
        one: difflib.SequenceMatcher(None, one.lower(), text, autojunk=False)
        .find_longest_match()
        .size
        for one in dict.fromkeys(names)
        if len(one) <= _LONGEST_NAME
    }
    close = [one for one, run in runs.items() if run >= least]
    return sorted(close, key=lambda one: -runs[one])[:_NEAR_NAMES]


def nearest(wrong: str, names: Iterable[str]) -> str | None:
    """Return the name that was probably meant, or None.

    Case does not matter. The last part of a dotted name, and a beginning that only one name has,
    stand for the whole.
    """
    short = [one for one in names if len(one) <= _LONGEST_NAME]
    key = wrong.lower()
    if not key or len(key) > _LONGEST_NAME:
        return None
    whole = {one.lower(): one for one in reversed(short)}
    last = ((one.rpartition(".")[2].lower(), one) for one in reversed(short))
    parts = {part: one for part, one in last if part == key or len(part) >= _LETTERS}
    begun = [one for lower, one in whole.items() if lower.startswith(key)]
    if len(begun) == 1 and len(key) >= _LETTERS:
        return begun[0]
    known = parts | whole
    likeness = _SIMILARITY if len(key) > _SHORT else _SIMILARITY_IF_SHORT
    close = difflib.get_close_matches(key, known, n=1, cutoff=likeness)
    return known[close[0]] if close else None


def listed(head: str, lines: Iterable[str]) -> str:
    """Return a heading with lines below it, at most a screen's worth."""
    every = [f"  {line}" for line in lines]
    more = len(every) - _MOST_LINES
    shown = [*every[:_MOST_LINES], f"  ... and {more:,} more"] if more > 0 else every
    return "\n".join([head, *shown])


def listed_names(names: Iterable[str]) -> str:
    """Return a list of column names, as in "id, email and 3 more"."""
    known = list(names)
    more = len(known) - _COLUMNS_LISTED
    listed = ", ".join(known[:_COLUMNS_LISTED])
    return f"{listed} and {more:,} more" if more > 0 else listed


def count(number: int, noun: str) -> str:
    """Return a number with its noun, as in "1 filter" and "2,000 filters"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def size(num_bytes: int) -> str:
    """Return a size, as in "123 bytes" and "1.5 MiB"."""
    if abs(num_bytes) < _PLAIN_BELOW:
        return count(num_bytes, "byte")
    power = min(int(math.log(abs(num_bytes), _KIBI)), len(_UNITS))
    return f"{num_bytes / _KIBI**power:,.1f} {_UNITS[power - 1]}"


def growth_warning(before: int, after: int) -> str | None:
    """Return a warning if filters make files more than twice as large, or None."""
    if not before or after <= _MULTIPLIED * before:
        return None
    times = f"{after / before:,.1f} times as large"
    return f"filters make it {times}: take a higher fpp, a smaller max_bytes, or fewer columns"


def growth(before: int, after: int) -> str:
    """Return how a file's size changed, as in "1.0 MiB -> 1.1 MiB (+4.2 %)"."""
    share = f" ({(after - before) / before:+.1%})".replace("%", " %") if before else ""
    return f"{size(before)} -> {size(after)}{share if after != before else ''}"


def rate(probability: float | None) -> str:
    """Return a probability with two significant digits; "-" for None."""
    if probability is None:
        return "-"
    if not _DECIMAL_ABOVE <= probability < 1:
        return f"{probability:.2g}"
    leading_zeros = -int(f"{probability:e}".partition("e")[2]) - 1
    return f"{probability:.{leading_zeros + 2}f}".rstrip("0").rstrip(".")


def percent(share: float) -> str:
    """Return a share of a whole, as in "12 %", "0.98 %" and "100 %": two digits are exact."""
    value = 100 * share
    if value >= 10 or value == 0:  # noqa: PLR2004  two digits before the point
        return f"{min(value, 99.9) if share < 1 else value:.3g} %"
    return f"{rate(value)} %"


def ranges(numbers: Iterable[int]) -> str:
    """Return ascending numbers as ranges, as in "0-2, 5"."""
    runs = groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])
    bounds = [[number for _, number in run] for _, run in runs]
    return ", ".join(str(r[0]) if len(r) == 1 else f"{r[0]}-{r[-1]}" for r in bounds)


def row_groups(ordinals: Sequence[int]) -> str:
    """Return the names of ascending row groups, as in "row groups 0-2, 5 and 40 more"."""
    runs = groupby(enumerate(ordinals), key=lambda pair: pair[1] - pair[0])
    named = [number for _, run in islice(runs, _MOST_RUNS) for _, number in run]
    more = len(ordinals) - len(named)
    noun = "row group" if len(ordinals) == 1 else "row groups"
    return f"{noun} {ranges(named)}{f' and {more:,} more' if more else ''}"


def width(text: str) -> int:
    """Return the number of columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_width_of(character) for character in text)


def shorten(text: str, columns: int) -> str:
    """Return a text without its middle if it is wider than `columns`."""
    if width(text) <= columns:
        return text
    after = (columns - 1) // 2
    return _start(text, columns - 1 - after) + ELLIPSIS + _start(text[::-1], after)[::-1]


def _width_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _start(text: str, columns: int) -> str:
    """Return the longest start of a text that fits into `columns`."""
    taken = 0
    for place, character in enumerate(text):
        taken += _width_of(character)
        if taken > columns:
            return text[:place]
    return text
