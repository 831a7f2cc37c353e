"""Literals of predicates compared with columns: of a Parquet file, or of an Arrow type."""
