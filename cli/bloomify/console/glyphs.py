"""Small pictures in text: which row groups survive, how full a filter is.

    ▒▒▒█▒▒▒▒▒▒    one cell for each row group, or for several where there are many
    █████░░░░░    a share of a whole

ASCII characters are used where the encoding of the stream lacks these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

_SHARE_CELLS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Glyphs:
    """The characters to draw with."""

    might: str = "█"
    """A row group that might match, or the filled part of a whole."""

    cannot: str = "▒"
    """A row group that cannot match."""

    empty: str = "░"
    """The rest of a whole."""

    infinity: str = "∞"


ASCII = Glyphs(might="#", cannot=".", empty=".", infinity="inf")


def glyphs_for(encoding: str | None) -> Glyphs:
    """Return block characters if an encoding has them, else ASCII."""
    glyphs = Glyphs()
    try:
        (glyphs.might + glyphs.cannot + glyphs.empty + glyphs.infinity).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return glyphs


def survivors_bar(
    surviving: Collection[int], num_row_groups: int, *, glyphs: Glyphs, most: int
) -> str:
    """Draw row groups from the first to the last.

    Args:
        surviving: Ordinals of those that might match.
        num_row_groups: All of them.
        glyphs: The characters to draw with.
        most: Largest number of cells. With more row groups each cell stands for several neighbours,
            and is filled if any of them might match.
    """
    cells = min(num_row_groups, most)
    hit = {ordinal * cells // num_row_groups for ordinal in surviving}
    return "".join(glyphs.might if cell in hit else glyphs.cannot for cell in range(cells))


def share_bar(share: float, *, glyphs: Glyphs) -> str:
    """Draw a share in [0, 1]. The bar is empty only for 0, and full only for 1."""
    filled = round(share * _SHARE_CELLS)
    if 0 < share < 1:
        filled = min(max(filled, 1), _SHARE_CELLS - 1)
    return glyphs.might * filled + glyphs.empty * (_SHARE_CELLS - filled)
