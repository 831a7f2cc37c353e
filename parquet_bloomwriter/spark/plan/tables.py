"""Finds the table that a DataFrame reads, and the files of a table, by asking Spark."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.index.layout import table_root
from parquet_bloomwriter.index.report import Reason
from parquet_bloomwriter.spark.plan.relations import (
    Relation,
    files_of,
    reads_named_table,
    relation_of,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SPECIAL = re.compile(r"([\\*?\[\]{}])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table and the files that Spark lists for it."""

    root: str
    """Absolute path of the folder."""

    files: tuple[str, ...]
    """Absolute paths, sorted."""


def table_of(df: DataFrame) -> Table:
    """Find the table that a DataFrame reads.

    The root is the folder that is read. For several folders or files, it is the folder above all of
    them, and above folders of partitions such as `year=2024`.

    Raises:
        InvalidArgument: If the DataFrame is not a plain read of local Parquet files, or reads no
            files.
    """
    relation = relation_of(df)
    if isinstance(relation, Reason) and not reads_named_table(df):
        raise InvalidArgument(f"cannot tell which table this is: {relation.text}", remedy=_REMEDY)
    if isinstance(relation, Relation) and not relation.is_whole:
        raise InvalidArgument("the DataFrame is a part of a table", remedy=_REMEDY)
    files = files_of(df)
    if isinstance(files, Reason):
        raise InvalidArgument(files.text, remedy=_REMEDY)
    if not files:
        raise InvalidArgument("the DataFrame reads no files", remedy=_REMEDY)
    if isinstance(relation, Relation) and relation.is_exact and len(relation.locations) == 1:
        return Table(root=table_root(relation.locations[0]), files=files)
    return Table(root=_common_root(files), files=files)


def list_table(spark: SparkSession, root: str) -> tuple[str, ...]:
    """Return the absolute paths of a table's files, of any suffix, sorted.

    Raises:
        InvalidArgument: If Spark lists files that are not local.
    """
    escaped = _SPECIAL.sub(r"\\\1", root)
    reader = spark.read.schema("x INT").option("recursiveFileLookup", "true")  # reads no footer
    files = files_of(reader.parquet(f"file:{escaped}"))
    if isinstance(files, Reason):
        raise InvalidArgument(files.text)
    return files


_REMEDY = 'Give a plain read, as spark.read.parquet("/data/events") is.'


def _common_root(files: tuple[str, ...]) -> str:
    root = os.path.commonpath([os.path.dirname(file) for file in files])  # noqa: PTH120  a string
    while "=" in os.path.basename(root):  # noqa: PTH119  as above
        root = os.path.dirname(root)  # noqa: PTH120  as above
    return root
