"""Find out which files a DataFrame reads, if that is certain.

Filters by file name may be added to a DataFrame only if its columns are those of the files: if `id`
were another column renamed, an index of the files' `id` would lose rows. So a DataFrame counts as a
relation only if it is one read of plain Parquet files below nothing but filters, aliases and, where
it is known which columns they pass on unchanged, selections.

    classic session   the analyzed plan, by way of the JVM
    Spark Connect     the plan that the client sends: a read of paths with the format "parquet"

The server resolves views and tables, so a Connect client cannot know what they read.

An index is made of a `Table`: the folder that a DataFrame reads, and the files in it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from posixpath import dirname
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.index.layout import are_mixed, common_folder
from parquet_bloomwriter.index.report import Code, Reason
from parquet_bloomwriter.index.storage.base import storage_of
from parquet_bloomwriter.index.table.ref import TableRef
from parquet_bloomwriter.spark.settings import is_connect
from parquet_bloomwriter.spark.store_urls import from_hadoop, from_uri, scheme_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

METADATA = "_metadata"

_DATASOURCES = "org.apache.spark.sql.execution.datasources"
_SOURCE = f"{_DATASOURCES}.HadoopFsRelation"
_FORMAT = f"{_DATASOURCES}.parquet.ParquetFileFormat"
_READ = f"{_DATASOURCES}.LogicalRelation"
_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"
_ALIAS = f"{_LOGICAL}.SubqueryAlias"
_SEEN_THROUGH = (f"{_LOGICAL}.Filter", f"{_LOGICAL}.Project", _ALIAS)
_CLIENT_SEEN_THROUGH = ("filter", "subquery_alias")
_GLOB = "*?[{\\"
_ELSEWHERE = (
    "its files are neither on a local or mounted disk nor on S3, GCS, Azure (abfss) or HDFS"
)
_HAS_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """One read of Parquet files."""

    locations: tuple[str, ...]
    """Paths or our URLs of the folders or files that are read; for a glob, the folder before the
    glob."""

    scheme: str
    """Scheme of the files' URIs in Spark: "file", "s3a" ..."""

    is_exact: bool
    """Whether no path is a glob."""

    is_whole: bool
    """Whether nothing above the read drops rows or columns."""

    is_stored: Callable[[int], bool]
    """Function: whether the DataFrame's column of an ordinal, 0-based, is an unchanged column of
    the read, and not known to come from the names of folders."""


def relation_of(df: DataFrame) -> Relation | Reason:
    """Return the relation that a DataFrame reads, or why it is not certain."""
    return _by_client_plan(df) if is_connect(df.sparkSession) else _by_analyzed_plan(df)


def files_of(df: DataFrame) -> tuple[str, ...] | Reason:
    """Return the paths or URLs of the files that a DataFrame reads, sorted. Spark lists them."""
    found = [from_uri(one) for one in df.inputFiles()]
    known = {one for one in found if one is not None}
    return tuple(sorted(known)) if all(found) else _refused(_ELSEWHERE)


def _refused(clause: str) -> Reason:
    text = f"The DataFrame is not a plain read of Parquet files: {clause}"
    return Reason(code=Code.COL_SCHEMA_MISMATCH, text=text)


# Classic sessions.


def _by_analyzed_plan(df: DataFrame) -> Relation | Reason:
    top = plan = _java(df).queryExecution().analyzed()
    is_whole = True
    while (name := _class_name(plan)) in _SEEN_THROUGH:
        is_whole = is_whole and name == _ALIAS
        plan = plan.child()
    if name != _READ or plan.isStreaming():
        return _refused(f"there is a {plan.nodeName()} in its plan")
    source = plan.relation()
    if _class_name(source) != _SOURCE or _class_name(source.fileFormat()) != _FORMAT:
        return _refused("it reads another format")
    if METADATA not in _names(top.metadataOutput()):
        return _refused(f"the column {METADATA} is not available")
    roots = source.location().rootPaths().mkString("\n").split("\n")
    locations = _paths_of(roots)
    if isinstance(locations, Reason):
        return locations
    return Relation(
        locations=locations,
        scheme=scheme_of(roots[0]),
        is_exact=True,
        is_whole=is_whole,
        is_stored=_stored_by(top, plan),
    )


def _stored_by(top: Any, read: Any) -> Callable[[int], bool]:  # noqa: ANN401  objects of the JVM
    """Return the test for stored columns: in Catalyst, a changed column has a new id.

    Names are compared as well, because columns of partitions are among the read's columns.
    """
    stored, output = read.outputSet(), top.output()
    partitioned = {one.casefold() for one in read.relation().partitionSchema().fieldNames()}

    def is_stored(ordinal: int) -> bool:
        attribute = output.apply(ordinal)
        return bool(stored.contains(attribute)) and attribute.name().casefold() not in partitioned

    return is_stored


def _paths_of(paths: list[str]) -> tuple[str, ...] | Reason:
    """Return our names for paths of Hadoop, which have a scheme and no escapes."""
    found = [from_hadoop(path) for path in paths]
    known = tuple(one for one in found if one is not None)
    if len(known) < len(found) or len({scheme_of(path) for path in paths}) != 1:
        return _refused(_ELSEWHERE)
    return known


def _names(attributes: Any) -> set[str]:  # noqa: ANN401  an object of the JVM
    return {attributes.apply(i).name() for i in range(attributes.size())}


def _class_name(java_object: Any) -> str:  # noqa: ANN401  an object of the JVM
    return str(java_object.getClass().getName())


def _java(df: DataFrame) -> Any:  # noqa: ANN401  an object of the JVM
    return df._jdf  # noqa: SLF001  pyspark has no public name for it


# Spark Connect.


def reads_named_table(df: DataFrame) -> bool:
    """Return whether the plan of a Connect client is only the name of a table or a view."""
    if not is_connect(df.sparkSession):
        return False
    message = _message(df)
    is_read = message.WhichOneof("rel_type") == "read"
    return bool(is_read and message.read.WhichOneof("read_type") == "named_table")


def _by_client_plan(df: DataFrame) -> Relation | Reason:
    node, is_whole = _message(df), True
    while (kind := node.WhichOneof("rel_type")) in _CLIENT_SEEN_THROUGH:
        is_whole = is_whole and kind == "subquery_alias"
        node = getattr(node, kind).input
    if kind != "read" or node.read.WhichOneof("read_type") != "data_source":
        return _refused("only the server knows what it reads; read it by spark.read.parquet(path)")
    source = node.read.data_source
    if source.format.lower() != "parquet" or source.predicates or node.read.is_streaming:
        return _refused("it reads another format")
    if not _resolves_metadata(df):
        return _refused(f"the column {METADATA} is not available")
    paths = tuple(source.paths)
    locations = _locations(df, paths)
    if isinstance(locations, Reason):
        return locations
    return Relation(
        locations=locations,
        scheme=scheme_of(paths[0]),
        is_exact=not any(one in path for path in paths for one in _GLOB),
        is_whole=is_whole,
        is_stored=lambda _: True,
    )


def _message(df: DataFrame) -> Any:  # noqa: ANN401  a message of the protocol
    """Return the relation that the client sends; PySpark has no public name for it."""
    return df._plan.plan(df.sparkSession.client)  # type: ignore[operator]  # noqa: SLF001


def _locations(df: DataFrame, paths: tuple[str, ...]) -> tuple[str, ...] | Reason:
    """Return our names for arguments of `read`, with or without a scheme, and with globs.

    A relative path is relative to the server's working directory, so the server is asked.
    """
    if any(not _HAS_SCHEME.match(path) and not path.startswith("/") for path in paths):
        files = files_of(df)
        return files if isinstance(files, Reason) else tuple({dirname(file) for file in files})
    found = _paths_of([path if _HAS_SCHEME.match(path) else f"file:{path}" for path in paths])
    return found if isinstance(found, Reason) else tuple(_before_glob(one) for one in found)


def _before_glob(path: str) -> str:
    first = min((at for at in map(path.find, _GLOB) if at >= 0), default=None)
    return path if first is None else path[: path.rindex("/", 0, first)] or "/"


def _resolves_metadata(df: DataFrame) -> bool:
    """Ask the server whether `_metadata` is the one of files: another column has other fields."""
    from pyspark.errors import PySparkException

    fields = ("file_path", "file_size", "file_modification_time")
    try:
        types = df.select(*(f"{METADATA}.{field}" for field in fields)).schema.simpleString()
    except PySparkException:
        return False
    return types == ("struct<file_path:string,file_size:bigint,file_modification_time:timestamp>")


_SPECIAL = re.compile(r"([\\*?\[\]{}])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table and the files that Spark lists for it."""

    root: str
    """Absolute path of the folder, or our URL of the prefix."""

    files: tuple[str, ...] | None
    """Absolute paths or URLs of the files, sorted; None: the store lists them."""


def table_of(df: DataFrame) -> Table:
    """Find the table that a DataFrame reads.

    The root is the folder that is read. For several folders or files, it is the folder above all of
    them, and above folders of partitions such as `year=2024`.

    Raises:
        InvalidArgument: If the DataFrame is no plain read of Parquet files on disks or stores,
            or reads no files.
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
    if are_mixed(files):
        raise InvalidArgument("its files are on a disk and on a store", remedy=_REMEDY)
    if isinstance(relation, Relation) and relation.is_exact and len(relation.locations) == 1:
        return Table(root=TableRef.of(relation.locations[0]).root, files=files)
    root = common_folder(files)
    if root is None:
        raise InvalidArgument("the files are in several buckets", remedy=_REMEDY)
    while "=" in os.path.basename(root):  # noqa: PTH119  a string
        root = os.path.dirname(root)  # noqa: PTH120  as above
    return Table(root=root, files=files)


def list_table(spark: SparkSession, root: str) -> tuple[str, ...] | None:
    """Return the absolute paths of a table's files, of any suffix, sorted.

    A table on a store is not listed by Spark, whose listing lacks the ETags: None.

    Raises:
        InvalidArgument: If Spark lists files that are not local.
    """
    if storage_of(root).is_remote:
        return None
    escaped = _SPECIAL.sub(r"\\\1", root)
    reader = spark.read.schema("x INT").option("recursiveFileLookup", "true")  # reads no footer
    files = files_of(reader.parquet(f"file:{escaped}"))
    if isinstance(files, Reason):
        raise InvalidArgument(files.text)
    return files


_REMEDY = 'Give a plain read, as spark.read.parquet("/data/events") is.'
