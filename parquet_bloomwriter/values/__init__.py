"""Column chunks -> their values as Parquet stores them, by pyarrow."""

from parquet_bloomwriter.values.stream import LeafReader

__all__ = ["LeafReader"]
