"""The class `Hyperspace`: the indexes of a session's tables, with the methods of Hyperspace.

    hs = Hyperspace(spark)
    hs.create_index(spark.read.parquet("events/"), BFIndexConfig("ids", ["id", "email"]))
    hs.enable()
    spark.read.parquet("events/").filter("id = 42").show()      # opens one file
    hs.explain(spark.read.parquet("events/").filter("id = 42"))

An index lies beside its table, in `_bloom_index`, or in the folder of the setting
`spark.bloomwriter.index.path`. Methods take the name of an index. They need `table=` if several
indexes have this name, or if this object does not know the table yet. Hyperspace's own names work
as well, such as `createIndex`.
"""

# ruff: noqa: N815  Hyperspace's names, beside ours
from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from parquet_bloomwriter.arguments import names_of
from parquet_bloomwriter.errors import BloomwriterError, InvalidArgument
from parquet_bloomwriter.index import api
from parquet_bloomwriter.index.config import MAX_FILE_BYTES, MAX_TOTAL_BYTES
from parquet_bloomwriter.index.entry import KIND
from parquet_bloomwriter.index.table.ref import TableRef
from parquet_bloomwriter.spark import rules
from parquet_bloomwriter.spark.connect.where import Where
from parquet_bloomwriter.spark.index_frames import frame_of_details, frame_of_indexes
from parquet_bloomwriter.spark.plan.catalog import KnownHomes
from parquet_bloomwriter.spark.plan.relations import Table, list_table, table_of
from parquet_bloomwriter.spark.progress import JobLine
from parquet_bloomwriter.spark.rules.explain import explanation, reasons
from parquet_bloomwriter.spark.settings import INDEX_PATH, check_settings, setting_of
from parquet_bloomwriter.spark.store_urls import use_settings_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeAlias

    from pyspark.sql import DataFrame, SparkSession

    from parquet_bloomwriter.arguments import Rate
    from parquet_bloomwriter.index.contract import Contract
    from parquet_bloomwriter.index.engine import Origin
    from parquet_bloomwriter.index.report import IndexReport
    from parquet_bloomwriter.spark.plan.catalog import FoundIndex
    from parquet_bloomwriter.spark.rules.explain import Decision

    StrPath: TypeAlias = str | os.PathLike[str]
    Mode: TypeAlias = Literal["full", "incremental", "quick"]

_ALIASES = {
    "indexName": "index_name",
    "indexedColumns": "indexed_columns",
    "expectedNumItems": "expected_num_items",
}


@dataclass(frozen=True, slots=True)
class BFIndexConfig:
    """The configuration of a Bloom filter index, which has a filter for each column."""

    index_name: str
    """Name of the index: letters, digits, `_`, `.` and `-`."""

    indexed_columns: Sequence[str]
    """Dotted paths of leaf columns; a string is a single path."""

    expected_num_items: int | Mapping[str, int] | None = None
    """Number of distinct values expected in the whole table, for all columns or by column; None:
    the number of rows."""

    fpp: Rate | Mapping[str, Rate] = 0.01
    """False positive probability, for all columns or by column, in (0, 1), or as text: "1%"."""

    def __post_init__(self) -> None:
        columns = names_of(self.indexed_columns)
        if not columns:
            raise InvalidArgument(
                "indexed_columns is empty",
                remedy='For example BFIndexConfig("ids", ["id", "email"]).',
            )
        object.__setattr__(self, "indexed_columns", columns)

    @classmethod
    def of(cls, **arguments: Any) -> BFIndexConfig:  # noqa: ANN401  checked by the class
        """Make a configuration from arguments with Hyperspace's names, such as `indexName`."""
        return cls(**{_ALIASES.get(name, name): value for name, value in arguments.items()})

    @property
    def indexName(self) -> str:  # noqa: N802  Hyperspace's name
        """Return `index_name`."""
        return self.index_name

    @property
    def indexedColumns(self) -> Sequence[str]:  # noqa: N802  Hyperspace's name
        """Return `indexed_columns`."""
        return self.indexed_columns

    @property
    def expectedNumItems(self) -> int | Mapping[str, int] | None:  # noqa: N802  Hyperspace's name
        """Return `expected_num_items`."""
        return self.expected_num_items


class Hyperspace:
    """The indexes of a session's tables, to make, to keep up to date, and to use in queries."""

    def __init__(
        self,
        spark: SparkSession,
        system_path: StrPath | None = None,
        *,
        tables: StrPath | Iterable[StrPath] = (),
    ) -> None:
        """Use a session, classic or of Spark Connect.

        Args:
            spark: The session.
            system_path: Folder for indexes; by default the value of `spark.bloomwriter.index.path`.
                Without both, indexes lie beside their tables.
            tables: Folders of tables whose indexes can be found by name.
        """
        self.spark = spark
        use_settings_of(spark)
        home = system_path or setting_of(spark, INDEX_PATH) or None
        self._known = KnownHomes(None if home is None else str(home), tables)

    # Methods that make and change indexes.

    def create_index(  # noqa: PLR0913  all by keyword but two
        self,
        df: DataFrame | StrPath,
        config: BFIndexConfig,
        *,
        origin: Origin = "auto",
        max_file_bytes: int = MAX_FILE_BYTES,
        max_total_bytes: int = MAX_TOTAL_BYTES,
        contract: Contract = "checked",
        slices: bool = True,
    ) -> IndexReport:
        """Make an index of a table by a job of Spark.

        Args:
            df: A DataFrame that only reads the table, or the table's folder.
            config: Name and columns of the index.
            origin: "values", "embedded" or "auto", as for `parquet_bloomwriter.index.create`.
            max_file_bytes: Largest filter of one file and column, bytes.
            max_total_bytes: Largest estimated size of the index, bytes; a larger index is refused.
            contract: "checked" or "immutable", as for `parquet_bloomwriter.index.create`.
            slices: As for `parquet_bloomwriter.index.create`.

        Raises:
            InvalidArgument: If the DataFrame does more than read Parquet files on disks or stores;
                if a column cannot be indexed; if an index of this name exists; or if the index
                would be too large.
        """
        use_settings_of(self.spark)
        table = self._table(df)
        with JobLine(f"indexing {_last(table.root)}") as line:
            report = api.create(
                table.root,
                config.indexed_columns,
                name=config.index_name,
                home=self._known.system_path,
                files=table.files,
                fpp=config.fpp,
                expected_num_items=config.expected_num_items,
                origin=origin,
                max_file_bytes=max_file_bytes,
                max_total_bytes=max_total_bytes,
                contract=contract,
                slices=slices,
                engine=self._engine(),
                progress=line,
            )
        self._known.add(table.root)
        return report

    def refresh_index(
        self, name: str, mode: Mode = "incremental", *, table: StrPath | None = None
    ) -> IndexReport:
        """Bring an index up to date with the files that its table has now.

        Args:
            name: Name of the index.
            mode: "incremental" adds appended files. "quick" adds appended files without changing
                the filter of all values. "full" builds the index anew.
            table: Folder of the table. Needed if the session does not know the table: an index in
                a folder of its own names its table, but that name is not followed.

        Raises:
            InvalidArgument: If only the index names the table.
        """
        found = self._find_with_table(name, table)
        files = list_table(self.spark, found.table)
        with JobLine(f"refreshing {name}") as line:
            return api.refresh(
                found.table,
                name=name,
                home=found.home,
                mode=mode,
                files=files,
                engine=self._engine(),
                progress=line,
            )

    def optimize_index(
        self, name: str, *, table: StrPath | None = None, slices: bool | None = None
    ) -> IndexReport:
        """Join many small files of an index into few large ones; see `index.optimize`."""
        return self._do(partial(api.optimize, slices=slices), name, table)

    def delete_index(self, name: str, *, table: StrPath | None = None) -> IndexReport:
        """Delete an index, so that queries do not use it; `restore_index` restores it."""
        return self._do(api.delete, name, table)

    def restore_index(self, name: str, *, table: StrPath | None = None) -> IndexReport:
        """Let queries use a deleted index again."""
        return self._do(api.restore, name, table)

    def vacuum_index(self, name: str, *, table: StrPath | None = None) -> IndexReport:
        """Remove the files of a deleted index, or the older versions of an active index."""
        return self._do(api.vacuum, name, table)

    def cancel(self, name: str, *, table: StrPath | None = None) -> IndexReport:
        """Cancel an action that did not finish; the last stable version is in force again."""
        return self._do(api.cancel, name, table)

    # Methods that list indexes.

    def indexes(self) -> DataFrame:
        """Return a DataFrame with one row for each known index."""
        use_settings_of(self.spark)
        return frame_of_indexes(self.spark, self._known.infos(), kind=KIND)

    def index(self, name: str, *, table: StrPath | None = None) -> DataFrame:
        """Return a DataFrame with one row for each column of an index.

        The rows also have the numbers of files that were appended or deleted since the last
        refresh.
        """
        found = self._find_with_table(name, table)
        files = list_table(self.spark, found.table)
        info = api.index(found.table, name=name, home=found.home, files=files)
        return frame_of_details(self.spark, info)

    # Methods that use indexes.

    def enable(self: Hyperspace | SparkSession) -> SparkSession:
        """Let the session's queries use indexes. `Hyperspace.enable(spark)` does the same.

        Raises:
            InvalidArgument: If this is a session of Spark Connect, where `where` must be used
                instead; or if a setting `spark.bloomwriter.*` has an invalid value.
            BloomwriterError: If the rules cannot be added to this version of Spark.
        """
        spark, homes = _session(self)
        check_settings(spark)
        if not rules.enable(spark, homes=homes):
            problem = rules.problem_of(spark)
            raise BloomwriterError(
                problem.text if problem else "the rules cannot be added",
                remedy="Rules are for Spark 3.5 to 4.3; `where` needs none.",
            )
        return spark

    def disable(self: Hyperspace | SparkSession) -> SparkSession:
        """Stop the session's queries from using indexes."""
        spark, _ = _session(self)
        rules.disable(spark)
        return spark

    def is_enabled(self: Hyperspace | SparkSession) -> bool:
        """Return whether the session's queries use indexes."""
        return rules.is_enabled(_session(self)[0])

    def where(self, filters: object, *, name: str | None = None) -> Where:
        """Return a condition for `df.transform` that excludes files by the indexes of the table.

        This needs no rules, and works on Spark Connect.

        Args:
            filters: The condition: SQL text, or lists of (column, operator, value).
            name: Name of the only index to use; None: all indexes.
        """
        return Where(filters=filters, homes=tuple(self._known.homes()), name=name)

    def explain(
        self,
        df: DataFrame,
        verbose: bool = False,  # noqa: FBT001, FBT002  as in Hyperspace
        redirect_func: Callable[[str], object] = print,
    ) -> str:
        """Print and return the indexes that a query uses, with files and bytes before and after.

        Args:
            df: The query.
            verbose: Whether to add the reasons why other indexes are not used.
            redirect_func: Function that is called with the text, instead of `print`.

        Raises:
            InvalidArgument: On Spark Connect, where `where(...).explain(df)` must be used instead.
        """
        text = self._state() + explanation(self._decisions(df), verbose=verbose)
        redirect_func(text)
        return text

    def why_not(
        self,
        df: DataFrame,
        index_name: str = "",
        extended: bool = False,  # noqa: FBT001, FBT002  as in Hyperspace
        redirect_func: Callable[[str], object] = print,
    ) -> str:
        """Print and return the reasons why indexes are not used for a query.

        Args:
            df: The query.
            index_name: Name of the only index to explain; "" for all indexes.
            extended: Whether to add relations and conditions, and the indexes that are used.
            redirect_func: Function that is called with the text, instead of `print`.

        Raises:
            InvalidArgument: On Spark Connect, where `where(...).explain(df)` must be used instead.
        """
        use_settings_of(self.spark)
        known = [info.name for info in self._known.infos()]
        explanations = reasons(self._decisions(df), name=index_name, known=known, extended=extended)
        text = self._state() + explanations
        redirect_func(text)
        return text

    def _state(self) -> str:
        """Return a line that says that the rules are off; "" if they are on."""
        if self.is_enabled():
            return ""
        return "The rules are off in this session, so this is what they would do: hs.enable()\n\n"

    def _decisions(self, df: DataFrame) -> tuple[Decision, ...]:
        return rules.trace(df, homes=self._known.homes())

    def _table(self, df: DataFrame | StrPath) -> Table:
        if isinstance(df, str | os.PathLike):
            root = TableRef.of(df).root
            return Table(root=root, files=list_table(self.spark, root))
        return table_of(df)

    def _do(
        self, verb: Callable[..., IndexReport], name: str, table: StrPath | None
    ) -> IndexReport:
        found = self._find(name, table)
        return verb(found.table, name=name, home=found.home)

    def _find(self, name: str, table: StrPath | None) -> FoundIndex:
        use_settings_of(self.spark)
        return self._known.find(name, _root(table))

    def _find_with_table(self, name: str, table: StrPath | None) -> FoundIndex:
        use_settings_of(self.spark)
        return self._known.find_with_table(name, _root(table))

    def _engine(self) -> Any:  # noqa: ANN401  SparkEngine
        from parquet_bloomwriter.spark.engine import SparkEngine

        return SparkEngine(self.spark)

    createIndex = create_index
    refreshIndex = refresh_index
    optimizeIndex = optimize_index
    deleteIndex = delete_index
    restoreIndex = restore_index
    vacuumIndex = vacuum_index
    isEnabled = is_enabled
    whyNot = why_not


def _session(given: Hyperspace | SparkSession) -> tuple[SparkSession, list[str]]:
    """Return the session, and the folders of indexes that its rules must search."""
    if isinstance(given, Hyperspace):
        return given.spark, given._known.homes()  # noqa: SLF001  the class above
    return given, []


def _root(table: StrPath | None) -> str | None:
    return None if table is None else TableRef.of(table).root


def _last(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2] or path
