"""Column chunks -> their values as Parquet stores them, by pyarrow."""

from parquet_bloomwriter.values.stream import LeafReader, floating_dtype

__all__ = ["LeafReader", "floating_dtype"]
