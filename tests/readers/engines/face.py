"""Query engines behind one face: count the rows where a column equals a value.

Each spells literals its own way. An engine that cannot read a column, or has no such literal,
answers with the name of its error; the same question to the file without filters must then get the
same answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Answer = int | str


class Engine(Protocol):
    """A reader that knows nothing of the package under test."""

    @property
    def name(self) -> str:
        """What the tests call it."""
        ...

    def literal(self, kind: pa.DataType, value: Any) -> str | None:  # noqa: ANN401
        """Spell `value` as a literal of the type `kind`; None if there is none."""
        ...

    def counts(self, path: Path, conditions: Sequence[str]) -> list[Answer]:
        """Rows that meet each condition."""
        ...

    def rows(self, path: Path) -> str:
        """Everything in the file, as text."""
        ...


def equals(engine: Engine, column: str, kind: pa.DataType, value: object) -> str | None:
    """Compose the condition that a column has a value."""
    literal = engine.literal(kind, value)
    quote = '"' if engine.name != "spark" else "`"
    return None if literal is None else f"{quote}{column}{quote} = {literal}"


def text_of(value: object) -> str:
    """Numbers, decimals, dates and times as every engine parses them."""
    return str(value).replace("+00:00", "")


def is_binary(kind: pa.DataType) -> bool:
    """Whether it is of bytes of any length."""
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def is_text(kind: pa.DataType) -> bool:
    """Whether it is text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def quoted(value: object) -> str:
    """Spell a string."""
    return "'" + str(value).replace("'", "''") + "'"
