"""What stands in docs/compatibility.md between the tables."""

from __future__ import annotations

from typing import Final

HEAD: Final = """
# Compatibility

Which types each writer stores and what filters they get, and what each engine makes of them. This
page is written by `make torture TORTURE_ARGS="--only types"`; [reliability.md](reliability.md) says
how it is tried. The tables are measured: a type counts as read if the engine counted rows rightly,
and a filter as used if the engine lost rows when the filter was made to lie.

One question is asked of every engine: how many rows have this value? It is asked of the file as
the writer left it and of the same file with filters, with the engine's push-down on and off. The
answers before and after are the same, except where `‼` stands.
"""

WRITTEN: Final = """
## What writers store

Physical and logical type in the file, per writer (FLBA is FIXED_LEN_BYTE_ARRAY). `-`: the writer
has no such type, or fails on it. `†`: the column gets no filters, for the reason below the table.
All others do. No writer is made to store BSON, decimals as BYTE_ARRAY, GEOMETRY or VARIANT here.
"""

DELTA: Final = """
## Which readers of Delta tables use the filters

Asked of a table that `bloomify TABLE` gave filters, and whose data pages were then overwritten: a
value that is absent, but lies between minimum and maximum, is answered only by who reads no page.
Tried by `tests/tables/test_engines.py`.

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
| ◐ | in some files the engine fails or counts wrongly, filters or not; see below |
| ◐ ● | the same, and filters are used |
| ✗ | the engine fails on the column, filters or not; see below |
| - | it has no words for the question |
| ‼ | filters change the answer; see below |
"""

LINES: Final = """
## Which Spark the index works with

`make test-sparks` runs the tests of the Spark part, each line of Spark in an environment of its own
with the newest release. The rules are compiled against the Spark that runs.

| Spark | Scala | create, refresh, `bloomify_table` | `where` | both rules, `explain`, `why_not` |
|---|---|---|---|---|
| 3.5.9 | 2.12 | yes | yes | yes |
| 4.0.5 | 2.13 | yes | yes | yes |
| 4.1.4 | 2.13 | yes | yes | yes |
| 4.2.1 | 2.13 | yes | yes | yes |
| 4.3.0 | 2.13 | yes | yes | yes |

With other versions `enable()` raises an error of one line where the rules do not compile; `where`
needs no rules. On 3.5, `where` leaves no files out of tables with CHAR columns. PySpark 4.2 and 4.3
warn of pandas 3, so the extra `spark` asks for an earlier one.
"""

NOTES: Final = {
    "duckdb": """
Uses filters. Push-down is switched off by `disabled_optimizers`. It reads FLOAT16 as FLOAT and
looks up the four bytes of a FLOAT where the filter has those of FLOAT16, which loses rows: so
columns of FLOAT16 get no filters. INTERVAL it looks up normalized: no filters either.
""",
    "datafusion": """
Uses filters. Push-down is switched off by `datafusion.execution.parquet.pruning`,
`bloom_filter_on_read` and `enable_page_index`. Before version 55 it looks up INT96 and decimals of
fixed length with another hash.
""",
    "chdb": """
Uses filters. Push-down is switched off by `input_format_parquet_bloom_filter_push_down`,
`..._filter_push_down`, `..._page_filter_push_down` and `..._dictionary_filter_push_down`. A column
with a single day outside of Date32 cannot be read at all.
""",
    "spark": """
Uses filters, but not of unsigned integers, timestamps without a zone, INT96 and bytes of fixed
length. Push-down is switched off by `spark.sql.parquet.filterPushdown` and
`parquet.filter.bloom.enabled`.
""",
    "pyarrow": """
`pyarrow.dataset` uses no filters; the verbs of this package add that. Without push-down the whole
table is filtered in memory.
""",
    "polars": """
Uses no filters. Push-down is switched off by `use_statistics=False` and
`QueryOptFlags(predicate_pushdown=False)`.
""",
    "fastparquet": """
Uses no filters, and leaves it to pandas to compare: decimals become floating-point numbers. Without
push-down the whole column is compared.
""",
}
"""What is to be known of each engine."""

REASONS: Final = """
## What writers fail on
"""
