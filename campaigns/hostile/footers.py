"""Mutated files by number: the same number always gives the same bytes.

Half of them are scrambled without regard to what the bytes mean, half are well-formed Thrift, or
nearly, with numbers that lie or a structure that nobody expects. What lies before the footer
stays, but in a smaller share also pages, page indexes and filters are scrambled.

    python -m campaigns.hostile.footers 4711 > mutant.parquet
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from campaigns.hostile import lies, shapes
from campaigns.hostile.bases import Base, bases
from campaigns.hostile.fields import OFFSETS
from campaigns.hostile.replacing import replaced
from campaigns.hostile.scrambling import SCRAMBLINGS

if TYPE_CHECKING:
    from collections.abc import Callable

    from campaigns.hostile.replacing import Part

MAGIC = b"PAR1"
STRUCTURED: tuple[Callable[[Random, Base], list[Part]], ...] = (
    lies.wrong_number,
    lies.wrong_number,
    lies.wrong_number,
    lies.wrong_numbers,
    lies.wrong_everywhere,
    lies.swapped,
    lies.foreign_filter,
    lies.padded,
    lies.wrong_text,
    lies.wrong_length,
    shapes.dropped,
    shapes.doubled,
    shapes.retyped,
    shapes.renumbered,
    shapes.long_headers,
    shapes.unordered,
    shapes.added,
    shapes.claimed_filter,
    shapes.nested,
    shapes.resized,
    shapes.rearranged,
    shapes.exchanged,
)
_ENCRYPTED_MAGIC, _GZIP = b"PARE", b"\x1f\x8b"
_NEARBY = 64
"""Bytes behind the start of something in which the body is scrambled."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Mutant:
    """One mutated file."""

    number: int
    base: Base
    how: str
    """Names of the mutations, in order."""

    data: bytes


def mutant(number: int) -> Mutant:
    """Make the file with this number."""
    random = Random(number)  # noqa: S311
    base = random.choice(bases())
    mutate = _structured if number % 2 else _scrambled
    footer = base.footer
    while footer == base.footer:
        how, parts = mutate(random, base)
        footer = replaced(base.footer, parts)
    body = base.body
    if random.random() < 0.1:
        how, body = f"{how}, body", _scrambled_body(random, base)
    data = body + footer + _tail(random, base, footer, is_structured=bool(number % 2))
    return Mutant(number=number, base=base, how=how, data=data)


def _scrambled(random: Random, base: Base) -> tuple[str, list[Part]]:
    scramblings = random.choices(SCRAMBLINGS, k=random.choice((1, 1, 1, 2, 4)))
    other = random.choice(bases()).footer
    parts = [part for scramble in scramblings for part in scramble(random, base.footer, other)]
    return " ".join(scramble.__name__ for scramble in scramblings), parts


def _structured(random: Random, base: Base) -> tuple[str, list[Part]]:
    mutations = random.choices(STRUCTURED, k=random.choice((1, 1, 1, 2, 3)))
    parts = [part for mutate in mutations for part in mutate(random, base)]
    return " ".join(mutate.__name__ for mutate in mutations), parts


def _scrambled_body(random: Random, base: Base) -> bytes:
    """Scramble just behind a position that the footer names: headers of pages, indexes, filters.

    In every fourth body the place is anywhere: values, levels, references to dictionaries.
    """
    fields = base.fields.by_shape
    starts = [f.number for shape in OFFSETS for f in fields.get(shape, ()) if f.number > 0]
    at = min(random.choice(starts), len(base.body) - 1)
    if random.random() < 0.25:
        at = random.randrange(len(base.body))
    near = base.body[at : at + _NEARBY]
    parts = random.choice(SCRAMBLINGS[:5])(random, near, base.footer)
    return base.body[:at] + replaced(near, parts) + base.body[at + len(near) :]


def _tail(random: Random, base: Base, footer: bytes, *, is_structured: bool) -> bytes:
    """Footer length and magic; the length fits in half of the scrambled and nearly all others."""
    length, magic = len(footer), MAGIC
    fits = random.random() < (0.98 if is_structured else 0.5)
    if not fits:
        wrong = (len(base.footer), length + 1, length - 1, 0, base.size, 2**31, 2**32 - 1)
        length = max(random.choice(wrong), 0)
        if random.random() < 0.05:
            magic = random.choice((_ENCRYPTED_MAGIC, _GZIP * 2, b"PAR2"))
    return length.to_bytes(4, "little") + magic


if __name__ == "__main__":
    sys.stdout.buffer.write(mutant(int(sys.argv[1])).data)
