"""The columns that queries ask for, and how: by equality, which filters answer, or otherwise.

Queries are whole statements or conditions, as people keep them in files. They are only read: no
query is run, and tables and types are not looked up, so a column counts by its name alone.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from parquet_bloomwriter.caches import register
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.text import words_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sqlglot.expressions import Expr
    from sqlglot.tokenizer_core import Token

_DIALECT = "duckdb"
_STATEMENT = re.compile(r"[\s(]*(select|with|from|delete|update|merge|explain)\b", re.IGNORECASE)
_WHERE = re.compile(r"\s*where\b", re.IGNORECASE)


class ColumnUse(NamedTuple):
    """How often queries ask for a column."""

    num_equal: int = 0
    """Number of queries that ask for values, by `=` or `IN`."""

    num_other: int = 0
    """Number of queries that ask in another way only: `<`, BETWEEN, LIKE, a function, a join."""

    num_queries: int = 0
    """Number of all queries."""


def uses_of_columns(queries: str | Iterable[str], names: Iterable[str]) -> dict[str, ColumnUse]:
    """Return for each column how often the queries ask for it.

    Args:
        queries: Statements or conditions in SQL, several in one text if semicolons separate them.
        names: Dotted paths of the columns. A column of a query is one of these if its last parts
            are the path, in any case of letters.

    Raises:
        InvalidArgument: If a text is not SQL, or holds no query.
    """
    trees = _trees((queries,) if isinstance(queries, str) else tuple(queries))
    known = {name.lower(): name for name in names}
    equal: Counter[str] = Counter()
    other: Counter[str] = Counter()
    for tree in trees:
        asked = dict(sorted(_asked(tree, known)))  # of one column, equality comes last, and counts
        equal.update(name for name, is_equal in asked.items() if is_equal)
        other.update(name for name, is_equal in asked.items() if not is_equal)
    return {name: ColumnUse(equal[name], other[name], len(trees)) for name in known.values()}


def unknown_columns(queries: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return the names in the conditions of queries if none of them is one of these columns.

    A query may join other tables, so names that are not known say nothing where others are.

    Args:
        queries: As for `uses_of_columns`.
        names: As for `uses_of_columns`.
    """
    known = {name.lower(): name for name in names}
    trees = _trees(tuple(queries))
    if any(True for tree in trees for _ in _asked(tree, known)):
        return []
    return sorted({name for tree in trees for name in _names_asked(tree)})


def _names_asked(tree: Expr) -> Iterator[str]:
    """Yield the dotted names of the columns in the conditions of a query."""
    from sqlglot import exp

    for column in tree.find_all(exp.Column):
        if isinstance(column.find_ancestor(exp.Where, exp.Join, exp.Select), exp.Where | exp.Join):
            yield ".".join(_parts_of(column))


@lru_cache(maxsize=4)
def _trees(texts: tuple[str, ...]) -> tuple[Expr, ...]:
    """Return the trees of all queries; parsed once for all files."""
    trees = tuple(tree for text in texts for tree in _parsed(text))
    if not trees:
        raise InvalidArgument("no query is given", remedy="Give a condition such as id = 42.")
    return trees


register(_trees.cache_clear)


def _parsed(text: str) -> Iterator[Expr]:
    """Yield the trees of the statements, or conditions, of a text."""
    import sqlglot
    from sqlglot.errors import ParseError, TokenError

    statement = text
    try:
        tokens = sqlglot.tokenize(text, read=_DIALECT)
        for statement in _split(text, tokens):
            yield sqlglot.parse_one(_as_statement(statement), read=_DIALECT)
    except (ParseError, TokenError) as error:
        details = getattr(error, "errors", None) or [{"description": words_of(error)}]
        plain = re.sub(r"<class '[\w.]*\.(\w+)'>", r"\1", details[0]["description"])
        problem = f"a query cannot be read as SQL: {plain}"
        raise InvalidArgument(problem, remedy=f'It is "{statement.strip():.80}".') from error


def _as_statement(text: str) -> str:
    """Return a statement as it is, and a condition as the condition of one."""
    if _STATEMENT.match(text):
        return text
    where = "" if _WHERE.match(text) else "WHERE "
    return f"SELECT * FROM t {where}{text}"  # noqa: S608  it is parsed, and never run


def _split(text: str, tokens: Iterable[Token]) -> Iterator[str]:
    """Yield the texts between semicolons, from their first tokens on; comments are no tokens."""
    from sqlglot.tokenizer_core import TokenType

    start: int | None = None
    for one in tokens:
        if one.token_type != TokenType.SEMICOLON:
            start = one.start if start is None else start
        elif start is not None:
            yield text[start : one.start]
            start = None
    if start is not None:
        yield text[start:]


def _asked(tree: Expr, known: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    """Yield the columns in the conditions of a query, and whether each is asked for by equality."""
    from sqlglot import exp

    for column in tree.find_all(exp.Column):
        clause = column.find_ancestor(exp.Where, exp.Join, exp.Select)
        name = _name_of(column, known)
        if name is None or not isinstance(clause, exp.Where | exp.Join):
            continue
        whole = column.parent if isinstance(column.parent, exp.Dot) else column
        yield name, _is_equality(whole)


def _is_equality(node: Expr) -> bool:
    """Return whether a column is compared with values, by `=` or `IN`, not with columns."""
    from sqlglot import exp

    parent = node.parent
    while isinstance(parent, exp.Paren | exp.Tuple):
        node, parent = parent, parent.parent
    if isinstance(parent, exp.In):
        return node is parent.this
    if not isinstance(parent, exp.EQ | exp.NullSafeEQ):
        return False
    return (parent.left if node is parent.right else parent.right).find(exp.Column) is None


def _parts_of(column: Expr) -> list[str]:
    """Return the parts of the name of a column, from the top, with its table if that is named."""
    from sqlglot import exp

    parts = [part.name for part in column.parts]  # type: ignore[attr-defined]
    if isinstance(column.parent, exp.Dot):
        parts += [part.name for part in column.parent.parts[1:]]
    return parts


def _name_of(column: Expr, known: Mapping[str, str]) -> str | None:
    """Return the column of the file that a column of a query names, None if there is none."""
    parts = [part.lower() for part in _parts_of(column)]
    suffixes = (".".join(parts[start:]) for start in range(len(parts)))
    return next((known[suffix] for suffix in suffixes if suffix in known), None)
