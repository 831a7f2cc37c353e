"""What a rule decided about one relation of a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parquet_bloomwriter.index.report import Reason
    from parquet_bloomwriter.spark.rules.protocol import Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Whether a rule uses an index for a relation, and if not, why."""

    rule: Rule
    relation: str
    """Root paths of the relation that the rule reads less of, joined by ", "."""

    index: str | None
    """Name of the index; None if the decision is about no index."""

    condition: str
    """The condition, or the equality of a join, in SQL."""

    num_files: int = 0
    """Files of the relation before the rule. For joins: of the indexed side."""

    num_kept: int = 0
    """Files that are left to read."""

    num_bytes: int = 0
    bytes_kept: int = 0
    reason: Reason | None = None
    """Why the index was not used; None if it was."""

    @property
    def was_used(self) -> bool:
        """Return whether the rule changed the plan."""
        return self.reason is None
