"""DataFrames that describe indexes; their columns are named as in Hyperspace."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from parquet_bloomwriter.index.contract import contract_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

    from parquet_bloomwriter.index.report import IndexInfo

_INDEXES = """
    name STRING, kind STRING, indexedColumns ARRAY<STRING>, fpp ARRAY<DOUBLE>, state STRING,
    busy STRING, root STRING, indexLocation STRING, numFiles BIGINT, sourceBytes BIGINT,
    indexBytes BIGINT, version INT, logId INT, action STRING, modified TIMESTAMP, problem STRING,
    contract STRING
"""
_DETAILS = """
    name STRING, state STRING, root STRING, indexLocation STRING, indexedColumn STRING, fpp DOUBLE,
    expectedNumItems BIGINT, numParts INT, partBytes BIGINT, globalNdv BIGINT, globalFpp DOUBLE,
    globalBytes BIGINT, globalBFPath STRING, noGlobal STRING, numFiles BIGINT, sourceBytes BIGINT,
    appendedFiles BIGINT, appendedBytes BIGINT, deletedFiles BIGINT, deletedBytes BIGINT,
    version INT, logId INT, problem STRING, contract STRING, sliceBytes BIGINT
"""


def frame_of_indexes(spark: SparkSession, infos: Iterable[IndexInfo], *, kind: str) -> DataFrame:
    """Return a DataFrame with one row for each index."""
    rows = [
        (
            info.name,
            kind,
            [column.name for column in info.columns],
            [column.fpp for column in info.columns],
            None if info.state is None else str(info.state),
            None if info.busy is None else str(info.busy),
            info.root,
            info.folder,
            info.num_files,
            info.source_bytes,
            info.index_bytes,
            info.version,
            info.log_id,
            info.action,
            datetime.fromtimestamp(info.created_ms / 1000, UTC),
            info.problem or None,
            _contract(info),
        )
        for info in infos
    ]
    return spark.createDataFrame(rows, _INDEXES)


def frame_of_details(spark: SparkSession, info: IndexInfo) -> DataFrame:
    """Return a DataFrame with one row for each column of an index.

    Figures about files are figures of the whole index, and the same in every row.
    """
    state = None if info.state is None else str(info.state)
    rows = [
        (
            *(info.name, state, info.root, info.folder),
            *(column.name, column.fpp, column.expected_num_items),
            *(column.num_parts, column.part_bytes),
            *(column.global_ndv, column.global_fpp, column.global_bytes, column.global_path),
            column.no_global or None,
            *(info.num_files, info.source_bytes, info.appended, info.appended_bytes),
            *(info.deleted, info.deleted_bytes, info.version, info.log_id, info.problem or None),
            *(_contract(info), column.slice_bytes),
        )
        for column in info.columns
    ]
    return spark.createDataFrame(rows, _DETAILS)


def _contract(info: IndexInfo) -> str | None:
    """Return the contract of an index, or None if its log cannot be read."""
    return None if info.state is None else contract_of(info.options)
