"""Bind a predicate's tree to the columns of a schema: conditions to test on row groups.

Negations are pushed down to the leaves by De Morgan's laws, which hold in three-valued logic too:

    NOT (a AND b) = NOT a OR NOT b     NOT (x < 5) = x >= 5     NOT (x IN ...) = x is none of ...

and a comparison with a null stays neither true nor false. With NaN, `NOT (x < 5)` and `x >= 5` are
not the same for readers that follow IEEE 754: NaN is then taken to match.

A condition that cannot be bound becomes `Unknown`, with the reason. Constants are conditions as
well: TRUE is unknown, FALSE never matches. No operands at all are `AllOf(())` or `AnyOf(())`.

`literals.domain` says what a literal means to a column, its `Domain`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.caches import register
from parquet_bloomwriter.metadata import Repetition
from parquet_bloomwriter.metadata.elements import leaves_by_part
from parquet_bloomwriter.predicate.bound import (
    AllOf,
    AlwaysFalse,
    AnyOf,
    InSet,
    Interval,
    NotInSet,
    NotNull,
    Nulls,
    Order,
    Unknown,
)
from parquet_bloomwriter.predicate.expression import (
    OPPOSITES,
    And,
    Comparison,
    Constant,
    Holds,
    IsIn,
    IsNull,
    Not,
    Opaque,
    Or,
)
from parquet_bloomwriter.predicate.literals.domain import domain_of
from parquet_bloomwriter.predicate.literals.range import LiteralSet, UnknownRange
from parquet_bloomwriter.predicate.to_sql import to_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from parquet_bloomwriter.metadata import Leaf, Schema
    from parquet_bloomwriter.metadata.elements import Part
    from parquet_bloomwriter.predicate.bound import Atom, Bound
    from parquet_bloomwriter.predicate.expression import Expression, Operator
    from parquet_bloomwriter.predicate.literals.domain import Domain
    from parquet_bloomwriter.predicate.literals.range import LiteralRange

    ByPart = Mapping[tuple[str, Part], Sequence[Leaf]]


@dataclass(slots=True, eq=False)
class Domains:
    """The columns of one schema, by name, for binding predicates."""

    by_name: dict[str, list[Leaf]]
    by_part: ByPart | None = None
    """Leaves of lists and maps, by the dotted path of the list or map and the part; None until they
    are needed."""

    _found: dict[str, Domain | str] = field(default_factory=dict)
    """Earlier results of `find`, by column."""

    @classmethod
    def of(cls, leaves: Iterable[Leaf], by_part: ByPart | None = None) -> Domains:
        """Return the domains of all leaf columns of a schema.

        Args:
            leaves: The columns.
            by_part: The leaves of lists and maps, if their paths do not tell.
        """
        by_name: dict[str, list[Leaf]] = {}
        for leaf in leaves:
            by_name.setdefault(leaf.name, []).append(leaf)
        return cls(by_name, by_part)

    def find(self, name: str) -> Domain | str:
        """Return the domain of a dotted path, or why no predicate can be bound to it, a clause."""
        found = self._found.get(name)
        if found is None:
            found = self._domain(name)
            if name in self.by_name:
                self._found[name] = found
        return found

    def find_part(self, name: str, part: Part) -> Domain | str:
        """Return the domain of the elements of a list, or of the keys or the values of a map.

        Args:
            name: Dotted path of the list or map.
            part: What is looked for.
        """
        if self.by_part is None:
            self.by_part = leaves_by_part(
                leaf for several in self.by_name.values() for leaf in several
            )
        leaves = self.by_part.get((name, part), ())
        if len(leaves) == 1 and all(one is leaves[0] for one in self.by_name.get(name, ())):
            return domain_of(leaves[0])
        if leaves:
            return f"{len(leaves)} columns have this name" if len(leaves) > 1 else _SAME_NAME
        if name in self.by_name:
            return "it is no list and no map"
        if not any(other.startswith(f"{name}.") for other in self.by_name):
            return "there is no such column"
        return f"the file has no column of {part}s that are all values of it"

    def _domain(self, name: str) -> Domain | str:
        leaves = self.by_name.get(name, [])
        if not leaves:
            inside = any(other.startswith(f"{name}.") for other in self.by_name)
            return "it is a group of columns" if inside else "there is no such column"
        if len(leaves) > 1:
            return f"{len(leaves)} columns have this name"
        if Repetition.REPEATED in leaves[0].repetitions:
            return "it lies in a list or a map, of which a row may hold many values"
        return domain_of(leaves[0])


_SAME_NAME = "another column has this name"


@lru_cache(maxsize=128)
def domains_of(schema: Schema) -> Domains:
    """Return the domains of a schema's columns; those of the last schemas are cached."""
    return Domains.of(schema.leaves)


register(domains_of.cache_clear)


def bind(expression: Expression, domains: Domains) -> Bound:
    """Return a predicate bound to these columns: the conditions to test on row groups."""
    return _bind(expression, domains, negated=False)


def _bind(expression: Expression, domains: Domains, *, negated: bool) -> Bound:  # noqa: PLR0911  one for each kind
    match expression:
        case Not(operand):
            return _bind(operand, domains, negated=not negated)
        case And() | Or():
            operands = _operands(expression)
            parts = tuple([_bind(one, domains, negated=negated) for one in operands])
            if len(parts) == 1:
                return parts[0]
            return AllOf(parts) if isinstance(expression, And) is not negated else AnyOf(parts)
        case Constant():
            return _constant(expression, negated=negated)
        case Opaque():
            reason = (
                "filters answer = and IN, statistics also <, > and BETWEEN, of a column and "
                "values; LIKE and functions exclude nothing"
            )
            return Unknown(text=_text(expression, negated=negated), reason=reason)
        case Holds():
            return _holds(expression, domains, negated=negated)
    return _condition(expression, domains, negated=negated)


def _operands(expression: And | Or) -> Iterator[Expression]:
    """Yield the operands; nested operands of the same connective are yielded in their place."""
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
    kind = Unknown if value else AlwaysFalse
    return kind(text=text, reason=reason)


def _condition(expression: Comparison | IsIn | IsNull, domains: Domains, *, negated: bool) -> Atom:
    """Bind a condition on one column."""
    text = _text(expression, negated=negated)
    domain = domains.find(expression.column)
    if isinstance(domain, str):
        return Unknown(text=text, reason=domain, column=expression.column)
    match expression:
        case IsNull():
            return _null(domain, text, negated=negated)
        case IsIn(_, values):
            return _is_in(domain, values, text, negated=negated)
        case Comparison(_, operator, value):
            if value is None:
                return _always_false(domain, text, "nothing equals null, nor is it less or greater")
            found = domain.place(value)
            if isinstance(found, UnknownRange):
                return _unknown(domain, text, found.reason)
            return _comparison(domain, operator, found, text, negated=negated)


def _holds(expression: Holds, domains: Domains, *, negated: bool) -> Atom:
    """Bind a condition on the elements of a list, or on the keys or values of a map."""
    text = _text(expression, negated=negated)
    domain = domains.find_part(expression.column, expression.part)
    if isinstance(domain, str):
        return Unknown(text=text, reason=domain, column=expression.column)
    if expression.value is None:
        return _always_false(domain, text, "nothing equals null")
    if negated:
        return _unknown(domain, text, "that some rows hold a value tells nothing of the others")
    found = domain.place(expression.value)
    if isinstance(found, UnknownRange):
        return _unknown(domain, text, found.reason)
    return _in_set(domain, LiteralSet(found.keys, found.is_exact, found.reason), text)


def _text(expression: Expression, *, negated: bool) -> str:
    """Return a condition as text for people; a negated comparison has the opposite operator."""
    if negated and isinstance(expression, Comparison):
        opposite = OPPOSITES[expression.operator]
        return to_text(Comparison(expression.column, opposite, expression.value))
    return to_text(Not(expression) if negated else expression)


def _null(domain: Domain, text: str, *, negated: bool) -> Atom:
    if negated:
        return NotNull(leaf=domain.leaf, text=text)
    if all(repetition is Repetition.REQUIRED for repetition in domain.leaf.repetitions):
        return _always_false(domain, text, "the column is required: it holds no nulls")
    return Nulls(leaf=domain.leaf, text=text)


def _is_in(domain: Domain, values: tuple[object, ...], text: str, *, negated: bool) -> Atom:
    from parquet_bloomwriter.predicate.literals.domain import place_all

    literals = place_all(domain, values)  # type: ignore[arg-type]  # the pattern loses their type
    if isinstance(literals, UnknownRange):
        return _unknown(domain, text, literals.reason)
    if not negated:
        return _in_set(domain, literals, text)
    if not literals.keys and literals.is_exact:
        return _unknown(domain, text, "no value is in the list, so the condition is always true")
    return _not_in_set(domain, literals, text)


def _comparison(
    domain: Domain, operator: Operator, found: LiteralRange, text: str, *, negated: bool
) -> Atom:
    effective = OPPOSITES[operator] if negated else operator
    if effective not in {"=", "!="}:
        return _interval(domain, effective, found, text, negated=negated)
    literals = LiteralSet(found.keys, found.is_exact, found.reason)
    if effective == "=":
        return _in_set(domain, literals, text)
    if not literals.keys and literals.is_exact:
        return NotNull(leaf=domain.leaf, text=text)
    return _not_in_set(domain, literals, text)


def _in_set(domain: Domain, literals: LiteralSet, text: str) -> Atom:
    if not literals.keys:
        return _always_false(domain, text, literals.reason or "the list is empty")
    return InSet(
        leaf=domain.leaf,
        text=text,
        keys=None if domain.order is None else literals.keys,
        plains=None if domain.encode is None else domain.encode(literals.keys),
    )


def _not_in_set(domain: Domain, literals: LiteralSet, text: str) -> Atom:
    if domain.order is None or domain.order is Order.FLOATING:
        return _unknown(domain, text, "statistics do not tell that all values are the same")
    if not literals.is_exact:
        return _unknown(domain, text, "readers differ in what equals the literal")
    return NotInSet(leaf=domain.leaf, text=text, keys=frozenset(literals.keys))


def _interval(
    domain: Domain, operator: Operator, found: LiteralRange, text: str, *, negated: bool
) -> Atom:
    if domain.order is None:
        return _unknown(domain, text, "statistics have no defined order for the column's type")
    if found.order_problem:
        return _unknown(domain, text, found.order_problem)
    low, high = _ends(operator, found)
    if domain.limits is not None:
        least, greatest = domain.limits
        if (low is not None and low > greatest) or (high is not None and high < least):
            return _always_false(domain, text, domain.range_problem)
        low = None if low is not None and low <= least else low
        high = None if high is not None and high >= greatest else high
        if low is None and high is None:
            return NotNull(leaf=domain.leaf, text=text)
    matches_nan = domain.order is Order.FLOATING and (negated or high is None)
    return Interval(leaf=domain.leaf, text=text, low=low, high=high, matches_nan=matches_nan)


def _ends(operator: Operator, found: LiteralRange) -> tuple[Any, Any]:
    """Return the least and the greatest key that may satisfy a comparison; None for no limit."""
    match operator:
        case "<":
            return None, found.before
        case "<=":
            return None, found.at_most
        case ">":
            return found.after, None
        case _:
            return found.at_least, None


def _unknown(domain: Domain, text: str, reason: str) -> Unknown:
    return Unknown(text=text, reason=reason, column=domain.leaf.name)


def _always_false(domain: Domain, text: str, reason: str) -> AlwaysFalse:
    return AlwaysFalse(text=text, reason=reason, column=domain.leaf.name)
