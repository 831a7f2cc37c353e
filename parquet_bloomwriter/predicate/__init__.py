"""Predicates, conditions on rows: parsed from SQL, lists and expressions into one tree.

    notation        SQL text, pyarrow's lists, pyarrow expressions      sql, dnf, arrow_in
                    Polars expressions, for their source alone          polars_in
    tree            And, Or, Not, Comparison, IsIn, IsNull ...          expression
    bound to a file what to look for in each row group                  bind, bound, literals
    written again   for pyarrow, as SQL text                            arrow_out, to_sql

`parse` imports the module of a notation when a predicate is written in it. No I/O.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from parquet_bloomwriter.arguments import is_of_library
from parquet_bloomwriter.caches import register
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.lazy_names import importer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.predicate.expression import Expression
    from parquet_bloomwriter.predicate.to_sql import columns_of, to_text

__all__ = ["Filters", "columns_of", "is_arrow", "parse", "to_text"]

__getattr__ = importer(__name__, {"columns_of": "to_sql", "to_text": "to_sql"})


def __dir__() -> list[str]:
    return sorted(__all__)


Filters: TypeAlias = "Expression | str | Sequence[Any]"
"""A predicate that `parse` takes; also expressions of pyarrow, which have no type stubs."""


def parse(filters: object) -> Expression:
    """Make a tree of a predicate.

    Args:
        filters: SQL text; pyarrow's lists of tuples; a pyarrow expression; or a tree, which is
            returned as it is.

    Raises:
        InvalidArgument: If it is of another type, or malformed. Well-formed parts that do not
            compare a column with literals (functions, arithmetic) become `Opaque`.
    """
    from parquet_bloomwriter.predicate.expression import Expression

    if isinstance(filters, Expression):
        return filters
    if isinstance(filters, str):
        return _of_text(filters) if len(filters) < _KEPT_LENGTH else _parse_sql(filters)
    if isinstance(filters, list | tuple):
        from parquet_bloomwriter.predicate.dnf import parse_dnf

        return parse_dnf(filters)
    if is_arrow(filters):
        from parquet_bloomwriter.predicate.arrow_in import from_arrow

        return from_arrow(filters)
    raise InvalidArgument(
        f"a predicate cannot be of type {type(filters).__name__}",
        remedy="Give SQL text, a list of (column, operator, value) or a pyarrow expression.",
    )


def _parse_sql(text: str) -> Expression:
    from parquet_bloomwriter.predicate.sql import parse_sql

    return parse_sql(text)


_KEPT_LENGTH = 4096
"""Most characters of SQL text whose tree is cached: short conditions are often parsed again."""

_of_text = lru_cache(maxsize=64)(_parse_sql)

register(_of_text.cache_clear)


def is_arrow(filters: object) -> bool:
    """Return whether filters are a pyarrow expression; pyarrow is not imported to find out."""
    return is_of_library(filters, "pyarrow", "Expression")
