"""Query engines behind one face: count the rows where a column equals a value.

Each spells literals its own way. An engine that cannot read a column, or has no such literal,
answers with the name of its error; the same question to the file without filters must then get the
same answer.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

Answer = int | str

Condition: TypeAlias = Any
"""SQL, or an expression of the engine's own."""

Shape = Literal["flat", "struct", "list", "map"]
"""What the values lie in: nothing, field `x` of a struct, a list, or the keys of a map."""


class Engine(Protocol):
    """A reader that knows nothing of the package under test."""

    @property
    def name(self) -> str:
        """What the tests call it."""
        ...

    @property
    def problem(self) -> str:
        """The last error's first line, empty if there was none."""
        ...

    def equal_to(
        self,
        column: str,
        kind: pa.DataType,
        value: Any,  # noqa: ANN401
        shape: Shape = "flat",
    ) -> Condition | None:
        """The condition that a column has a value; None if the engine has no words for it."""
        ...

    def counts(self, path: Path, conditions: Sequence[Condition]) -> list[Answer]:
        """Rows that meet each condition."""
        ...

    def rows(self, path: Path) -> str:
        """Everything in the file, as text."""
        ...


def equals(engine: Engine, column: str, kind: pa.DataType, value: object) -> str | None:
    """Compose the condition that a column has a value."""
    return engine.equal_to(column, kind, value)


class InMemory:
    """What engines have in common that filter in memory where push-down is off."""

    def __init__(self, *, pushdown: bool = True) -> None:
        self.problem = ""
        self._pushdown = pushdown


class Spelling(Protocol):
    """What engines with SQL have in common."""

    _access: Mapping[Shape, str]
    """How a column `{0}` of each shape is compared with a literal `{1}`."""

    def literal(self, kind: pa.DataType, value: Any) -> str | None:  # noqa: ANN401
        """Spell `value` as a literal of the type `kind`; None if there is none."""
        ...

    def equal_to(
        self,
        column: str,
        kind: pa.DataType,
        value: Any,  # noqa: ANN401
        shape: Shape = "flat",
    ) -> str | None:
        """Compose the condition that a column has a value."""
        literal = self.literal(kind, value)
        access = self._access.get(shape)
        return None if literal is None or access is None else access.format(column, literal)


class Batched(Spelling):
    """What engines with SQL have in common that answer many conditions at once."""

    _at_once: int
    """Conditions of one query."""

    def counts(self, path: Path, conditions: Sequence[str]) -> list[Answer]:
        """Count the rows that meet each condition."""
        return in_batches(lambda some: self._counts(path, some), conditions, self._at_once)

    @abstractmethod
    def _counts(self, path: Path, conditions: Sequence[str]) -> list[Answer]: ...


def in_batches(
    ask: Callable[[Sequence[Condition]], list[Answer]],
    conditions: Sequence[Condition],
    size: int,
) -> list[Answer]:
    """Ask so many at once; of a batch that fails, each alone."""
    answers: list[Answer] = []
    for start in range(0, len(conditions), size):
        batch = conditions[start : start + size]
        found = ask(batch)
        if len(batch) > 1 and isinstance(found[0], str):
            found = [answer for one in batch for answer in ask([one])]
        answers += found
    return answers


def brief(error: BaseException) -> str:
    """The first line of an error, without paths and ClickHouse's prefixes."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    line = lines[0] if lines else type(error).__name__
    return re.sub(r"(Code: \d+\. )?DB::Exception: |(file:)?/\S+", "", line)[:200]


UNION: Final = " UNION ALL "


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
