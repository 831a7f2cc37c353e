"""What is asked of rows: from SQL and from pyarrow to one tree, and back to pyarrow."""

from parquet_bloomwriter.predicate.arrow_out import to_arrow
from parquet_bloomwriter.predicate.parse import Filters, parse
from parquet_bloomwriter.predicate.to_sql import columns_of, to_text

__all__ = ["Filters", "columns_of", "parse", "to_arrow", "to_text"]
