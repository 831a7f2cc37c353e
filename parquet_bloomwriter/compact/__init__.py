"""The Thrift compact protocol of Parquet's metadata: where each field lies. No I/O."""
