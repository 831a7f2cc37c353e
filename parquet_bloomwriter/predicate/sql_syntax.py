"""What stands between SQL text and its tree: sqlglot, its errors, and the text of its nodes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import InvalidArgument

if TYPE_CHECKING:
    from sqlglot.errors import ParseError, TokenError
    from sqlglot.expressions import Expr
    from sqlglot.tokenizer_core import Token

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
"""Characters of the text that an error repeats."""

_MAX_SUBSCRIPTS = 200

_EXAMPLE = "Give a condition such as id = 42 AND kind IN ('a', 'b')."


def read_sql(text: str) -> Expr:
    """Parse the condition of a WHERE clause; its WHERE may be there.

    Raises:
        InvalidArgument: If it is not one, or more than one.
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
    """Whether no other argument of a node is set: one that is not known may change its meaning."""
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
        tokens = dialect.tokenize(text)
        _refuse_hexadecimal(tokens, text)
        _refuse_subscripts(tokens, text)
        parser = dialect.parser(error_message_context=len(text) + 1)
        return [one for one in parser.parse_into(exp.Condition, tokens, text) if one is not None]
    except TokenError as error:
        raise _unclosed(error, text) from error
    except ParseError as error:
        raise _unexpected(error, text) from error


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
    """Refuse subscripts without end: sqlglot takes time by the square of those in a row."""
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
    """Compose the error: sqlglot tells what stands before the token it stopped at."""
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
    """Say where: the character, 1-based, and what stands there."""
    rest = " ".join(text[start:].split())
    shown = rest if len(rest) <= _SHOWN else f"{rest[:_SHOWN]}..."
    return f"at character {start + 1}: {shown}"
