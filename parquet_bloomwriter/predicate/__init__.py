"""Conditions on rows: SQL, lists and pyarrow expressions -> one tree; the tree -> pyarrow, or SQL.

    notation        SQL text, pyarrow's lists, pyarrow expressions     sql, dnf, arrow_in (by parse)
    tree            And, Or, Not, Comparison, IsIn, IsNull ...          expression
    bound to a file what to look for in each row group                  bind, bound, literals
    written again   for pyarrow, as SQL text                            arrow_out, to_sql

Each notation's module is imported when a predicate is written in it. No I/O.
"""

from parquet_bloomwriter.predicate.parse import Filters, parse
from parquet_bloomwriter.predicate.to_sql import columns_of, to_text

__all__ = ["Filters", "columns_of", "parse", "to_text"]
