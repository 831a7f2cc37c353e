"""Column chunks -> their values as Parquet stores them, by pyarrow."""

from parquet_bloomwriter.values.stream import LeafReader, floating_dtype, has_odd_instants

__all__ = ["LeafReader", "floating_dtype", "has_odd_instants"]
