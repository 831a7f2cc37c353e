"""What a rule decided about one relation of a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from parquet_bloomwriter.index.report import Reason

Rule = Literal["PushDownBFIndexRule", "JoinBFIndexRule"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One index, or none, and one relation: used or why not."""

    rule: Rule
    relation: str
    """Where the relation that is read less lies: its root paths, joined by ", "."""

    index: str | None
    """Name of the index; None if no index is concerned."""

    condition: str
    """The condition, or the equality of a join, for people."""

    num_files: int = 0
    """Files of the relation before the rule. For joins: of the indexed side."""

    num_kept: int = 0
    num_bytes: int = 0
    bytes_kept: int = 0
    reason: Reason | None = None
    """Why the index was not used; None if it was."""

    @property
    def was_used(self) -> bool:
        """Whether the rule changed the plan."""
        return self.reason is None
