"""What is asked of rows: from SQL and from pyarrow to one tree, and back to pyarrow."""

from parquet_bloomwriter.predicate.evaluation import to_arrow
from parquet_bloomwriter.predicate.parsing import Filters, parse
from parquet_bloomwriter.predicate.spelling import columns_of, to_text

__all__ = ["Filters", "columns_of", "parse", "to_arrow", "to_text"]
