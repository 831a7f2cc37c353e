"""The columns of a file by name, as far as predicates can be bound to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from parquet_bloomwriter.metadata import Repetition
from parquet_bloomwriter.predicate.literals.coerce import domain_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.predicate.literals.coerce import Domain

_MAX_KNOWN = 128


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """All columns of a file."""

    leaves: Sequence[Leaf]
    by_name: dict[str, list[Leaf]]
    domains: dict[str, Domain | str] = field(default_factory=dict)
    """Of the names asked for so far: the column's domain, or why there is none."""

    def domain(self, name: str) -> Domain | str:
        """The column of a dotted path, or why no predicate can be bound to it, a clause."""
        found = self.domains.get(name)
        if found is None:
            found = self._look_up(name)
            if len(self.domains) < len(self.leaves):  # Names that are none are not all kept.
                self.domains[name] = found
        return found

    def _look_up(self, name: str) -> Domain | str:
        leaves = self.by_name.get(name, [])
        if not leaves:
            inside = any(other.startswith(f"{name}.") for other in self.by_name)
            return "it is a group of columns" if inside else "there is no such column"
        if len(leaves) > 1:
            return f"{len(leaves)} columns have this name"
        if Repetition.REPEATED in leaves[0].repetitions:
            return "it lies in a list or a map, of which a row may hold many values"
        return domain_of(leaves[0])


_known: dict[int, Columns] = {}
"""By the identity of the tuple of leaves, which `Columns` keeps alive."""


def columns_of(leaves: Sequence[Leaf]) -> Columns:
    """The columns of a file; remembered for tuples, which cannot change."""
    known = _known.get(id(leaves))
    if known is not None:
        return known
    by_name: dict[str, list[Leaf]] = {}
    for leaf in leaves:
        by_name.setdefault(leaf.name, []).append(leaf)
    columns = Columns(leaves, by_name)
    if isinstance(leaves, tuple):
        if len(_known) >= _MAX_KNOWN:
            _known.clear()
        _known[id(leaves)] = columns
    return columns
