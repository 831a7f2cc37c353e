"""Parse SQL text, the condition of a WHERE clause, into a tree.

sqlglot parses it, by PostgreSQL's rules: "double quotes" around names, 'single quotes' around
strings, X'AB' for bytes. Understood are

    =  ==  !=  <>  <  <=  >  >=  [NOT] BETWEEN  [NOT] IN  IS [NOT] NULL  IS [NOT] TRUE, FALSE
    IS [NOT] DISTINCT FROM  <=>  AND  OR  NOT  parentheses
    list_contains  list_has  array_contains  array_has  map_contains  map_contains_key
    map_contains_value  literal = ANY (list)  literal <> ALL (list)

between one column and literals (`sql_literals`), the literal on either side; and = and IN between
row values, `(id, kind) IN ((1, 'a'), (2, 'b'))`, which are equal where all their columns are. Row
values with a NULL or under a NOT stay text: DuckDB takes nulls within them for equal, and compares
them without nulls; PostgreSQL does not. All other parts become
`Opaque` and prune nothing: LIKE, functions, arithmetic, comparisons of columns. `sql_to_arrow`
turns them into pyarrow expressions, by which rows are selected. A node with an argument that is not
known here becomes `Opaque` as well: a later version of sqlglot may add one, and it may negate.

Conditions that are never null themselves (`IS DISTINCT FROM`, `IS TRUE`) select the same rows as
ordinary conditions, but not under NOT: there the tree says what becomes of nulls.

Here are also the errors about text that sqlglot cannot parse, and the SQL text of its nodes.
"""

from __future__ import annotations

import contextlib
import operator
import re
from typing import TYPE_CHECKING, Any, cast

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.predicate.expression import (
    And,
    Comparison,
    Constant,
    Expression,
    Holds,
    IsIn,
    IsNull,
    Not,
    Opaque,
    Operator,
    Or,
    UnknownKind,
    is_deep,
)
from parquet_bloomwriter.predicate.sql_literals import literal_value, restored, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlglot.errors import ParseError, TokenError
    from sqlglot.expressions import Expr
    from sqlglot.tokenizer_core import Token

    from parquet_bloomwriter.metadata.elements import Part
    from parquet_bloomwriter.predicate.expression import Holding

_DIALECT = "postgres"
_WHERE = re.compile(r"\s*where\b", re.IGNORECASE)
_STATEMENT = re.compile(
    r"[\s(]*(select|with|insert|update|delete|create|drop|alter|from|explain|copy)\s+[\w*\"(']",
    re.IGNORECASE,
)
_CLAUSES = {"in", "is", "not", "between", "like"}
"""Words that may follow a column: `update IN (1)` is a condition."""

_VALUES = {"literal", "null", "hexstring", "neg"}
_SHOWN = 40
"""Most characters of the text that an error quotes."""

_MAX_SUBSCRIPTS = 200

_MAX_ROW_VALUES = 200
"""Most row values that are looked up as pairs; of more, each column is looked up by itself."""

_EXAMPLE = "Give a condition such as id = 42 AND kind IN ('a', 'b')."


def read_sql(text: str) -> Expr:
    """Parse the condition of a WHERE clause, with or without the word WHERE.

    Raises:
        InvalidArgument: If the text is not one condition.
    """
    if leading := _WHERE.match(text):
        text = " " * leading.end() + text[leading.end() :]  # positions stay
    _refuse_statement(text)
    found = _parsed(text)
    if not found:
        raise InvalidArgument("no condition is given", remedy=_EXAMPLE)
    if len(found) > 1:
        raise InvalidArgument(
            "more than one condition is given", remedy="Join them by AND or OR, not by semicolons."
        )
    if found[0].key in _VALUES:
        raise InvalidArgument(f'"{text.strip():.80}" is a value, no condition', remedy=_EXAMPLE)
    return found[0]


def has_only(node: Expr, *names: str) -> bool:
    """Return whether a node has no other arguments: an unknown argument may change its meaning."""
    return all(name in names or not value for name, value in node.args.items())


def text_of(node: Expr) -> str:
    """Return the SQL text of a node, in one line."""
    from sqlglot.errors import ErrorLevel

    return node.sql(dialect=_DIALECT, unsupported_level=ErrorLevel.IGNORE, comments=False)


def _parsed(text: str) -> list[Expr]:
    from sqlglot import exp
    from sqlglot.dialects.dialect import Dialect
    from sqlglot.errors import ParseError, TokenError

    dialect = Dialect.get_or_raise(_DIALECT)
    try:
        tokens = _with_float(dialect.tokenize(text))
        _refuse_hexadecimal(tokens, text)
        _refuse_subscripts(tokens, text)
        parser = dialect.parser(error_message_context=len(text) + 1)
        return [one for one in parser.parse_into(exp.Condition, tokens, text) if one is not None]
    except TokenError as error:
        raise _unclosed(error, text) from error
    except ParseError as error:
        raise _unexpected(error, text) from error


def _with_float(tokens: list[Token]) -> list[Token]:
    """Return tokens with FLOAT (32 bits in most engines) unlike DOUBLE, as it is in PostgreSQL."""
    from sqlglot.tokenizer_core import TokenType

    for token in tokens:
        if token.token_type == TokenType.DOUBLE and token.text.upper() == "FLOAT":
            token.token_type = TokenType.FLOAT
    return tokens


def _refuse_statement(text: str) -> None:
    match = _STATEMENT.match(text)
    if match is None or text[match.end() - 1 :].split(maxsplit=1)[0].lower() in _CLAUSES:
        return
    raise InvalidArgument(
        "this is a whole statement, not a condition",
        remedy=f"Leave out all but what follows WHERE. {_EXAMPLE}",
    )


def _refuse_hexadecimal(tokens: list[Token], text: str) -> None:
    """Refuse 0x1F, a number, which sqlglot takes for X'1F', a string of bytes."""
    if "0x" not in text.lower():
        return
    for token in tokens:
        if text[token.start : token.start + 2].lower() == "0x":
            raise InvalidArgument(
                f"hexadecimal numbers are not understood, {_place(text, token.start)}",
                remedy=f"Write it in decimal, or as bytes: X'{token.text}'.",
            )


def _refuse_subscripts(tokens: list[Token], text: str) -> None:
    """Refuse many subscripts in a row: sqlglot takes time by the square of their number."""
    from sqlglot.tokenizer_core import TokenType

    if text.count("[") <= _MAX_SUBSCRIPTS:
        return
    if sum(token.token_type == TokenType.L_BRACKET for token in tokens) > _MAX_SUBSCRIPTS:
        raise InvalidArgument(
            f"the condition has more than {_MAX_SUBSCRIPTS} subscripts", remedy=_EXAMPLE
        )


def _unclosed(error: TokenError, text: str) -> InvalidArgument:
    start = (getattr(error, "end", None) or 0) - 1
    where = f", {_place(text, start)}" if text[start : start + 1] in ("'", '"') else ""
    return InvalidArgument(
        f"a string, name or comment is not closed{where}",
        remedy="A quotation mark inside quotation marks is written twice.",
    )


def _unexpected(error: ParseError, text: str) -> InvalidArgument:
    """Return the error for a token at which sqlglot stopped, after the text before it."""
    cause = (error.errors or [{}])[0]
    start = len(cause.get("start_context") or "")
    is_unexpected = cause.get("description", "").startswith("Invalid expression")
    is_last = not (cause.get("end_context") or "").strip()
    what = "ends too early" if is_last and not is_unexpected else "cannot be parsed"
    return InvalidArgument(
        f"the condition {what}, {_place(text, start)}",
        remedy='Write strings in single quotes, names of columns in "double quotes".',
    )


def _place(text: str, start: int) -> str:
    """Return a text on the place of an error: the character, 1-based, and the text there."""
    rest = " ".join(text[start:].split())
    shown = rest if len(rest) <= _SHOWN else f"{rest[:_SHOWN]}..."
    return f"at character {start + 1}: {shown}"


OPERATORS_OF_SQL: dict[str, tuple[Operator, Operator, Callable[[int, int], bool]]] = {
    "eq": ("=", "=", operator.eq),
    "neq": ("!=", "!=", operator.ne),
    "lt": ("<", ">", operator.lt),
    "lte": ("<=", ">=", operator.le),
    "gt": (">", "<", operator.gt),
    "gte": (">=", "<=", operator.ge),
}
"""Operator, operator with its sides swapped, and its function, by sqlglot's name of the node."""


def parse_sql(text: str) -> Expression:
    """Return the tree of SQL text, which may begin with WHERE.

    Raises:
        InvalidArgument: If the text cannot be parsed, is a whole statement, or is no condition.
    """
    with nesting_refused():
        tree = _parse(text)
        if is_deep(tree):
            raise RecursionError
        return tree


@contextlib.contextmanager
def nesting_refused() -> Iterator[None]:
    """Refuse a condition over which sqlglot, or a function that walks its tree, cannot recurse.

    Raises:
        InvalidArgument: If the condition is nested too deeply.
    """
    try:
        yield
    except RecursionError:
        raise InvalidArgument(
            "the condition is nested too deeply",
            remedy="Leave out parentheses that change nothing, or build a pyarrow expression.",
        ) from None


def _parse(text: str) -> Expression:
    short = shortened(text)
    if short is not None:
        with contextlib.suppress(InvalidArgument):  # the whole text tells where
            tree = restored(_condition(read_sql(short.text), is_negated=False), short.lists)
            if tree is not None:
                return tree
    return _condition(read_sql(text), is_negated=False)


def _condition(node: Expr, *, is_negated: bool) -> Expression:
    """Return the tree of a node; `is_negated` if the node is under a NOT."""
    while node.key == "paren":
        node = node.this
    try:
        found = _connective(node, is_negated) or _atom(node, is_negated)
    except UnknownKind:
        found = None
    return Opaque(text_of(node), is_sql=True) if found is None else found


def _connective(node: Expr, is_negated: bool) -> Expression | None:  # noqa: FBT001  passed on
    if node.key in ("and", "or") and has_only(node, "this", "expression"):
        kind = And if node.key == "and" else Or
        operands = _operands(node)
        return kind(tuple(_condition(operand, is_negated=is_negated) for operand in operands))
    if node.key == "not" and has_only(node, "this"):
        return Not(_condition(node.this, is_negated=True))
    return None


def _operands(node: Expr) -> Iterator[Expr]:
    """Yield the operands of a run of ANDs, or of ORs, from left to right, without recursion."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        inner = one
        while inner.key == "paren":
            inner = inner.this
        if inner.key == node.key and has_only(inner, "this", "expression"):
            waiting += [inner.expression, inner.this]
        else:
            yield one


def _atom(node: Expr, is_negated: bool) -> Expression | None:  # noqa: FBT001  passed on
    if node.key in OPERATORS_OF_SQL:
        return _quantified(node) or _comparison(node, is_negated)
    if node.key in _TESTS:
        return _TESTS[node.key](node, is_negated)
    if node.key == "boolean":
        return Constant(bool(node.this))
    column = column_of(node)
    return None if column is None else Comparison(column, "=", value=True)


def _comparison(node: Expr, is_negated: bool) -> Expression | None:  # noqa: FBT001, PLR0911  passed on; one for each kind
    if not has_only(node, "this", "expression"):
        return None
    if node.key == "eq" and not is_negated:
        sides = node.this, node.expression
        found = _equal_rows(*sides) or _equal_rows(*reversed(sides))
        if found is not None:
            return And(found)
    as_written, mirrored, evaluate = OPERATORS_OF_SQL[node.key]
    left, right = column_of(node.this), column_of(node.expression)
    if left is not None and right is None:
        return Comparison(left, as_written, literal_value(node.expression))
    if right is not None and left is None:
        return Comparison(right, mirrored, literal_value(node.this))
    if left is not None:
        return None
    one, other = literal_value(node.this), literal_value(node.expression)
    if type(one) is int and type(other) is int:  # 1 = 1, which programs write in front
        return Constant(evaluate(one, other))
    return None


def _quantified(node: Expr) -> Expression | None:
    """Return the tree of `5 = ANY (list)` or `5 <> ALL (list)`; None if it is neither."""
    wanted = {"eq": "any", "neq": "all"}.get(node.key)
    list_, kind = node.expression, node.expression.key
    if kind == "anonymous":  # so sqlglot has ALL and SOME
        kind = {"all": "all", "some": "any"}.get(list_.name.lower(), "")
        list_ = list_.expressions[0] if len(list_.expressions) == 1 else None
    elif kind in ("any", "all"):
        list_ = list_.this
    if kind != wanted or list_ is None or not has_only(node, "this", "expression"):
        return None
    found = _holding(list_, node.this, "ANY")
    if found is None or found.value is None:  # of an empty list, NULL = ANY is false
        return None
    return Not(found) if kind == "all" else found


def _holding(container: Expr, literal: Expr, function: Holding) -> Holds | None:
    """Return the tree of a function that looks for a literal in a list or a map."""
    part: Part = "element"
    if function.startswith("map_"):
        part = "value" if function == "map_contains_value" else "key"
    elif container.key == "mapkeys" and has_only(container, "this"):
        part, container = "key", container.this
    elif container.key == "anonymous" and container.name.lower() == "map_values":
        if len(container.expressions) != 1:
            return None
        part, container = "value", container.expressions[0]
    column = column_of(container)
    return None if column is None else Holds(column, part, literal_value(literal), function)


def _function(node: Expr, _: bool) -> Expression | None:  # noqa: FBT001  as its siblings
    """Return the tree of a function of a list or a map and a literal."""
    if node.key == "anonymous":
        function, arguments = _FUNCTIONS.get(node.name.lower()), node.expressions
    else:
        function, name = _FUNCTIONS_BY_NODE[node.key]
        if not has_only(node, "this", name):
            return None
        arguments = [node.this, node.args[name]]
    if function is None or len(arguments) != len(("container", "literal")):
        return None
    container, literal = arguments
    return _holding(container, literal, function)


def _membership(node: Expr, is_negated: bool) -> Expression | None:  # noqa: FBT001  passed on
    if not has_only(node, "this", "expressions") or not node.expressions:
        return None
    column = column_of(node.this)
    if column is None:
        return None if is_negated else _rows_membership(node)
    given = [literal_value(expression) for expression in node.expressions]
    values = tuple(value for value in given if value is not None)
    if len(values) == len(given):
        return IsIn(column, values)
    unknown = Comparison(column, "=", None)
    if not values:
        return unknown
    return Or((IsIn(column, values), unknown)) if is_negated else IsIn(column, values)


def _rows_membership(node: Expr) -> Expression | None:
    """Return the tree of `(a, b) IN ((1, 2), (3, 4))`, or None."""
    rows = [_equal_rows(node.this, expression) for expression in node.expressions]
    known = [row for row in rows if row is not None]
    if len(known) < len(rows):
        return None
    if len(known) <= _MAX_ROW_VALUES:
        return Or(tuple(map(And, known)))
    columns = zip(*known, strict=True)
    each = (IsIn(some[0].column, tuple(one.value for one in some)) for some in columns)
    return And((*each, Opaque(text_of(node), is_sql=True)))


def _equal_rows(columns: Expr, literals: Expr) -> tuple[Comparison, ...] | None:
    """Return comparisons of a row value's columns with literals; None if any is null or unknown."""
    row = _row_of(columns)
    names = [name for one in row if (name := column_of(one)) is not None]
    others = _row_of(literals) if names else []
    if not names or not len(names) == len(row) == len(others):
        return None
    values = list(map(literal_value, others))
    pairs = zip(names, values, strict=True)
    return None if None in values else tuple(Comparison(name, "=", v) for name, v in pairs)


def _row_of(node: Expr) -> list[Expr]:
    """Return the parts of a row value; empty for other nodes."""
    while node.key == "paren":
        node = node.this
    is_row = node.key == "tuple" and has_only(node, "expressions")
    return node.expressions if is_row else []


def _between(node: Expr, _: bool) -> Expression | None:  # noqa: FBT001  as its siblings
    column = column_of(node.this)
    if column is None or not has_only(node, "this", "low", "high"):
        return None
    low, high = literal_value(node.args["low"]), literal_value(node.args["high"])
    return And((Comparison(column, ">=", low), Comparison(column, "<=", high)))


def _is(node: Expr, is_negated: bool) -> Expression | None:  # noqa: FBT001  passed on
    column = column_of(node.this)
    if column is None or not has_only(node, "this", "expression", "negate"):
        return None
    turned = bool(node.args.get("negate"))
    if node.expression.key == "null":
        return Not(IsNull(column)) if turned else IsNull(column)
    if node.expression.key != "boolean":
        return None
    holds = Comparison(column, "=", value=bool(node.expression.this))
    known = _never_null(holds, column, is_negated=is_negated or turned)
    return Not(known) if turned else known


def _distinct(node: Expr, is_negated: bool) -> Expression | None:  # noqa: FBT001  passed on
    column, other = column_of(node.this), node.expression
    if column is None:
        column, other = column_of(node.expression), node.this
    if column is None or not has_only(node, "this", "expression"):
        return None
    value = literal_value(other)
    differs = node.key == "nullsafeneq"
    if value is None:
        return Not(IsNull(column)) if differs else IsNull(column)
    if differs:
        return Or((Comparison(column, "!=", value), IsNull(column)))
    return _never_null(Comparison(column, "=", value), column, is_negated=is_negated)


def _never_null(condition: Expression, column: str, *, is_negated: bool) -> Expression:
    """Return a condition that is false, instead of null, for rows where the column is null.

    The rows that are selected are the same unless the condition is under a NOT.
    """
    return And((condition, Not(IsNull(column)))) if is_negated else condition


def column_of(node: Expr) -> str | None:
    """Return the dotted path of a column; None for other nodes."""
    while node.key == "paren":
        node = node.this
    if node.key == "column" and has_only(node, "this", "table", "db", "catalog"):
        parts = cast("Any", node).parts
        names = all(part.key == "identifier" for part in parts)
        return ".".join(part.name for part in parts) if names else None
    if node.key == "dot" and node.expression.key == "identifier":
        before = column_of(node.this)
        return None if before is None else f"{before}.{node.expression.name}"
    return None


def columns_in_text(text: str) -> list[tuple[str, bool]]:
    """Return the dotted paths of the columns in a condition, and whether each is in double quotes.

    Raises:
        InvalidArgument: If the condition is nested too deeply.
    """
    with nesting_refused():
        columns = [one for one in read_sql(text).walk() if one.key == "column"]
        found = [(column_of(column), bool(column.this.args.get("quoted"))) for column in columns]
    return [(name, is_quoted) for name, is_quoted in found if name is not None]


_TESTS: dict[str, Callable[[Expr, bool], Expression | None]] = {
    "in": _membership,
    "between": _between,
    "is": _is,
    "nullsafeeq": _distinct,
    "nullsafeneq": _distinct,
    **dict.fromkeys(("anonymous", "arraycontains", "mapcontainskey"), _function),
}
"""Functions that make trees, by sqlglot's name of the node."""

_FUNCTIONS: dict[str, Holding] = {
    "list_contains": "list_contains",
    "list_has": "list_contains",
    "map_contains": "map_contains",
    "map_contains_value": "map_contains_value",
}
"""Functions of lists and maps by name in lower case, if sqlglot does not know the function."""

_FUNCTIONS_BY_NODE: dict[str, tuple[Holding, str]] = {
    "arraycontains": ("array_contains", "expression"),
    "mapcontainskey": ("map_contains_key", "key"),
}
"""Functions of lists and maps by sqlglot's name of the node, with the argument of the literal."""
