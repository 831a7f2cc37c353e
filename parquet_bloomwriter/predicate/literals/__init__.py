"""Comparison of a predicate's literals with columns: of a Parquet file, or of an Arrow type."""
