"""A predicate's tree and a file's columns -> what to look for in each row group.

Negations are pushed down to the leaves by De Morgan's laws, which hold in three-valued logic too:

    NOT (a AND b) = NOT a OR NOT b     NOT (x < 5) = x >= 5     NOT (x IN ...) = x is none of ...

and a comparison with a null stays neither true nor false. With NaN, `NOT (x < 5)` and `x >= 5` are
not the same for readers that follow IEEE 754: NaN is then taken to match.

Whatever cannot be bound becomes `Undecided`, with the reason. Constants are conditions as well:
TRUE is undecided, FALSE never matches. No operands at all are `AllOf(())` or `AnyOf(())`.

The columns of a file by name, as far as predicates can be bound to them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.metadata import Repetition
from parquet_bloomwriter.predicate.bound import (
    AllOf,
    AnyOf,
    Differs,
    Interval,
    Members,
    Never,
    NotNull,
    Nulls,
    Order,
    Undecided,
)
from parquet_bloomwriter.predicate.expression import (
    OPPOSITES,
    And,
    Comparison,
    Constant,
    IsIn,
    IsNull,
    Not,
    Opaque,
    Or,
)
from parquet_bloomwriter.predicate.literals.coerce import domain_of
from parquet_bloomwriter.predicate.literals.in_list import Listing, place_all
from parquet_bloomwriter.predicate.literals.range import Unclear
from parquet_bloomwriter.predicate.to_sql import to_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parquet_bloomwriter.metadata import Leaf
    from parquet_bloomwriter.predicate.bound import Atom, Bound
    from parquet_bloomwriter.predicate.expression import Expression, Operator
    from parquet_bloomwriter.predicate.literals.coerce import Domain
    from parquet_bloomwriter.predicate.literals.range import Spot

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


def bind(expression: Expression, leaves: Sequence[Leaf]) -> Bound:
    """Bring a predicate and the columns of a file together.

    Args:
        expression: The predicate.
        leaves: All leaf columns of the file. What is worked out about a tuple is remembered.
    """
    return _bind(expression, columns_of(leaves), negated=False)


def _bind(expression: Expression, columns: Columns, *, negated: bool) -> Bound:
    match expression:
        case Not(operand):
            return _bind(operand, columns, negated=not negated)
        case And() | Or():
            operands = _operands(expression)
            parts = tuple([_bind(one, columns, negated=negated) for one in operands])
            if len(parts) == 1:
                return parts[0]
            return AllOf(parts) if isinstance(expression, And) is not negated else AnyOf(parts)
        case Constant():
            return _constant(expression, negated=negated)
        case Opaque():
            reason = "only comparisons of a column with literals are concluded from"
            return Undecided(text=_text(expression, negated=negated), reason=reason)
    return _condition(expression, columns, negated=negated)


def _operands(expression: And | Or) -> Iterator[Expression]:
    """The operands, with those of operands of the same sort in their place, however deep."""
    kind = type(expression)
    pending = list(reversed(expression.operands))
    while pending:
        operand = pending.pop()
        if isinstance(operand, kind):
            pending.extend(reversed(operand.operands))
        else:
            yield operand


def _constant(expression: Constant, *, negated: bool) -> Atom:
    value = expression.value is not negated
    text = expression.text or ("TRUE" if value else "FALSE")
    reason = expression.reason or f"the condition is always {'true' if value else 'false'}"
    kind = Undecided if value else Never
    return kind(text=text, reason=reason)


def _condition(expression: Comparison | IsIn | IsNull, columns: Columns, *, negated: bool) -> Atom:
    """Bind what is about one column."""
    text = _text(expression, negated=negated)
    domain = columns.domain(expression.column)
    if isinstance(domain, str):
        return Undecided(text=text, reason=domain, column=expression.column)
    match expression:
        case IsNull():
            return _null(domain, text, negated=negated)
        case IsIn(_, values):
            return _is_in(domain, values, text, negated=negated)
        case Comparison(_, operator, value):
            if value is None:
                return _never(domain, text, "nothing equals null, nor is it less or greater")
            spot = domain.spot(value)
            if isinstance(spot, Unclear):
                return _undecided(domain, text, spot.reason)
            return _comparison(domain, operator, spot, text, negated=negated)


def _text(expression: Expression, *, negated: bool) -> str:
    """The condition for people; a negated comparison by the opposite operator."""
    if negated and isinstance(expression, Comparison):
        opposite = OPPOSITES[expression.operator]
        return to_text(Comparison(expression.column, opposite, expression.value))
    return to_text(Not(expression) if negated else expression)


def _null(domain: Domain, text: str, *, negated: bool) -> Atom:
    if negated:
        return NotNull(leaf=domain.leaf, text=text)
    if all(one is Repetition.REQUIRED for one in domain.leaf.repetitions):
        return _never(domain, text, "the column is required: it holds no nulls")
    return Nulls(leaf=domain.leaf, text=text)


def _is_in(domain: Domain, values: tuple[object, ...], text: str, *, negated: bool) -> Atom:
    listing = place_all(domain, values)  # type: ignore[arg-type]  # the pattern loses their type
    if isinstance(listing, Unclear):
        return _undecided(domain, text, listing.reason)
    if not negated:
        return _members(domain, listing, text)
    if not listing.keys and listing.is_exact:
        return _undecided(domain, text, "no value is in the list, so the condition is always true")
    return _differs(domain, listing, text)


def _comparison(
    domain: Domain, operator: Operator, spot: Spot, text: str, *, negated: bool
) -> Atom:
    effective = OPPOSITES[operator] if negated else operator
    if effective not in {"=", "!="}:
        return _interval(domain, effective, spot, text, negated=negated)
    listing = Listing(spot.keys, spot.is_exact, spot.reason)
    if effective == "=":
        return _members(domain, listing, text)
    if not listing.keys and listing.is_exact:
        return NotNull(leaf=domain.leaf, text=text)
    return _differs(domain, listing, text)


def _members(domain: Domain, listing: Listing, text: str) -> Atom:
    if not listing.keys:
        return _never(domain, text, listing.reason or "the list is empty")
    return Members(
        leaf=domain.leaf,
        text=text,
        keys=None if domain.order is None else listing.keys,
        plains=None if domain.encode is None else domain.encode(listing.keys),
    )


def _differs(domain: Domain, listing: Listing, text: str) -> Atom:
    if domain.order is None or domain.order is Order.FLOATING:
        return _undecided(domain, text, "statistics do not tell that all values are the same")
    if not listing.is_exact:
        return _undecided(domain, text, "readers differ in what equals the literal")
    return Differs(leaf=domain.leaf, text=text, keys=frozenset(listing.keys))


def _interval(domain: Domain, operator: Operator, spot: Spot, text: str, *, negated: bool) -> Atom:
    if domain.order is None:
        return _undecided(domain, text, "statistics have no defined order for the column's type")
    if spot.order_problem:
        return _undecided(domain, text, spot.order_problem)
    low, high = _ends(operator, spot)
    if domain.limits is not None:
        least, greatest = domain.limits
        if (low is not None and low > greatest) or (high is not None and high < least):
            return _never(domain, text, domain.range_problem)
        low = None if low is not None and low <= least else low
        high = None if high is not None and high >= greatest else high
        if low is None and high is None:
            return NotNull(leaf=domain.leaf, text=text)
    matches_nan = domain.order is Order.FLOATING and (negated or high is None)
    return Interval(leaf=domain.leaf, text=text, low=low, high=high, matches_nan=matches_nan)


def _ends(operator: Operator, spot: Spot) -> tuple[Any, Any]:
    """Least and greatest key that may satisfy the comparison; None for no limit."""
    match operator:
        case "<":
            return None, spot.before
        case "<=":
            return None, spot.at_most
        case ">":
            return spot.after, None
        case _:
            return spot.at_least, None


def _undecided(domain: Domain, text: str, reason: str) -> Undecided:
    return Undecided(text=text, reason=reason, column=domain.leaf.name)


def _never(domain: Domain, text: str, reason: str) -> Never:
    return Never(text=text, reason=reason, column=domain.leaf.name)
