"""Thrift compact protocol, as far as Parquet's metadata needs it: where each field lies. No I/O."""
