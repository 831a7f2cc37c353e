"""The text of docs/compatibility.md between the tables."""

from __future__ import annotations

from typing import Final

HEAD: Final = """
# Compatibility

This page shows which types each writer stores, which types get filters, and how each engine reads
them, as measured ([reliability.md](reliability.md#types-writers-and-engines) describes the method).
A type counts as read if the engine counted rows rightly, and a filter counts as used if the engine
lost rows when the filter was made to exclude a value that is there. The answers without and with
filters are the same, except at `‼`.
"""

WRITTEN: Final = """
## What writers store

The table has the physical and logical type in the file (FLBA is FIXED_LEN_BYTE_ARRAY). Writers are
named if they store another form than the first one. `-`: the writer has no such type, or fails on
it. `†`: the column gets no filters, for the reason below the table. All other columns get filters.
BSON, decimals as BYTE_ARRAY, GEOMETRY and VARIANT are not tried here.
"""

DELTA: Final = """
## Which readers of Delta tables use the filters

The data pages of a table with filters are overwritten, so that only a reader that reads no page can
answer for an absent value between minimum and maximum (`tests/tables/test_engines.py`).

| reader | uses the filters |
|---|---|
| deltalake 1.6 (`QueryBuilder`, DataFusion) | yes |
| DuckDB 1.5 (`delta_scan`) | yes |
| `read_table` and `probe` of this package | yes |
| Polars 2.1 (`scan_delta`) | no |
| pyarrow, by `DeltaTable.to_pyarrow_table` and `to_pyarrow_dataset` | no |
| Delta on Spark, Databricks, Trino | not tried: their jars are not on PyPI |
"""

READ: Final = """
## What engines read

| sign | meaning |
|---|---|
| ● | right in every file, and filters are used to skip row groups |
| ○ | right in every file; filters are not used, or there are none |
| ◐ | in some files the engine fails or counts wrongly, with and without filters; see below |
| ◐ ● | as ◐, and filters are used to skip row groups |
| ✗ | the engine fails on the column, with and without filters; see below |
| - | the engine cannot express the question |
| ‼ | filters change the answer; see below |
"""

LINES: Final = """
## Which Spark the index works with

Spark 3.5.9 (Scala 2.12), 4.0.5, 4.1.4, 4.2.1 and 4.3.0 (Scala 2.13) pass all tests of the Spark
part (`make test-sparks`). The rules are compiled against the running version of Spark.

With other versions, `enable()` raises an error of one line if the rules do not compile; `where`
needs no rules. With Spark 3.5, `where` excludes no files of tables with CHAR columns. PySpark 4.2
and 4.3 warn of pandas 3, so the extra `spark` asks for an earlier pandas.
"""

NOTES: Final = {
    "duckdb": """
DuckDB uses filters. `disabled_optimizers` switches push-down off. DuckDB reads FLOAT16 as FLOAT,
and looks up the four bytes of a FLOAT, though the filter has the bytes of FLOAT16. This would lose
rows, so columns of FLOAT16 get no filters. DuckDB looks up normalized bytes of an INTERVAL, so
columns of INTERVAL get no filters either.
""",
    "datafusion": """
DataFusion uses filters. `datafusion.execution.parquet.pruning`, `bloom_filter_on_read` and
`enable_page_index` switch push-down off. It looks up no timestamps of INT96. Before version 55, it
looks up decimals of fixed length with another hash.
""",
    "chdb": """
chdb uses filters. `input_format_parquet_bloom_filter_push_down`, `..._filter_push_down`,
`..._page_filter_push_down` and `..._dictionary_filter_push_down` switch push-down off. chdb cannot
read a column in which a single day lies outside of Date32.
""",
    "spark": """
Spark uses filters, but not filters of unsigned integers, timestamps without a zone, INT96 and bytes
of fixed length. `spark.sql.parquet.filterPushdown` and `parquet.filter.bloom.enabled` switch
push-down off.
""",
    "pyarrow": """
`pyarrow.dataset` uses no filters; the verbs of this package use them. Without push-down, the whole
table is filtered in memory.
""",
    "polars": """
Polars uses no filters. `use_statistics=False` and `QueryOptFlags(predicate_pushdown=False)` switch
push-down off.
""",
    "fastparquet": """
fastparquet uses no filters. pandas compares the values, so decimals become floating-point numbers.
Without push-down, the whole column is compared.
""",
}
"""Facts about each engine."""

REASONS: Final = """
## What writers fail on
"""
