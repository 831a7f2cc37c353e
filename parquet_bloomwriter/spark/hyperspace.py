"""The indexes of a session's tables, by the verbs of Hyperspace.

    hs = Hyperspace(spark)
    hs.create_index(spark.read.parquet("events/"), BFIndexConfig("ids", ["id", "email"]))
    hs.enable()
    spark.read.parquet("events/").filter("id = 42").show()      # opens one file
    hs.explain(spark.read.parquet("events/").filter("id = 42"))

An index lies beside its table, in `_bloom_index`, or in the folder of the setting
`spark.bloomwriter.index.path`. Verbs take its name, and `table=` where that means several or an
index of a table that this object has not seen. Hyperspace's own names are there too: `createIndex`.
"""

# ruff: noqa: N815  Hyperspace's names, beside ours
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

from parquet_bloomwriter.errors import BloomwriterError
from parquet_bloomwriter.index import api
from parquet_bloomwriter.index.config import MAX_FILE_BYTES, MAX_TOTAL_BYTES
from parquet_bloomwriter.index.layout import table_root
from parquet_bloomwriter.index.log.entry import KIND
from parquet_bloomwriter.spark import rules
from parquet_bloomwriter.spark.connect.where import Where
from parquet_bloomwriter.spark.index_frames import frame_of_details, frame_of_indexes
from parquet_bloomwriter.spark.plan.catalog import KnownHomes
from parquet_bloomwriter.spark.plan.tables import Table, list_table, table_of
from parquet_bloomwriter.spark.progress import JobLine
from parquet_bloomwriter.spark.rules.explain import explanation, reasons
from parquet_bloomwriter.spark.settings import INDEX_PATH, check_settings, setting_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeAlias

    from pyspark.sql import DataFrame, SparkSession

    from parquet_bloomwriter.index.contract import Contract
    from parquet_bloomwriter.index.engine import Origin
    from parquet_bloomwriter.index.report import IndexReport
    from parquet_bloomwriter.spark.config import BFIndexConfig
    from parquet_bloomwriter.spark.rules.decision import Decision

    StrPath: TypeAlias = str | os.PathLike[str]
    Mode: TypeAlias = Literal["full", "incremental", "quick"]


class Hyperspace:
    """Makes indexes, keeps them up to date, and lets queries use them."""

    def __init__(
        self,
        spark: SparkSession,
        system_path: StrPath | None = None,
        *,
        tables: StrPath | Iterable[StrPath] = (),
    ) -> None:
        """Work with a session, classic or of Spark Connect.

        Args:
            spark: The session.
            system_path: Folder for indexes; by default that of `spark.bloomwriter.index.path`, and
                without that, indexes lie beside their tables.
            tables: Folders of tables whose indexes are to be found by name.
        """
        self.spark = spark
        home = system_path or setting_of(spark, INDEX_PATH) or None
        self._known = KnownHomes(None if home is None else str(home), tables)

    # Making and changing indexes.

    def create_index(  # noqa: PLR0913  all by keyword but two
        self,
        df: DataFrame | StrPath,
        config: BFIndexConfig,
        *,
        origin: Origin = "auto",
        max_file_bytes: int = MAX_FILE_BYTES,
        max_total_bytes: int = MAX_TOTAL_BYTES,
        contract: Contract = "checked",
    ) -> IndexReport:
        """Make an index of a table, by a job.

        Args:
            df: A plain read of the table, or its folder.
            config: The index's name and columns.
            origin: "values", "embedded" or "auto", as for `parquet_bloomwriter.index.create`.
            max_file_bytes: Largest filter of one file and column, bytes.
            max_total_bytes: Largest index that is begun, bytes, as estimated.
            contract: "checked" or "immutable", as for `parquet_bloomwriter.index.create`.

        Raises:
            InvalidArgument: If the DataFrame is no plain read of local Parquet files, a column
                cannot be indexed, there is such an index, or it would be too large.
        """
        table = self._table(df)
        with self._line(f"indexing {_last(table.root)}") as line:
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
                engine=self._engine(),
                progress=line,
            )
        self._known.add(table.root)
        return report

    def refresh_index(
        self, name: str, mode: Mode = "full", *, table: StrPath | None = None
    ) -> IndexReport:
        """Bring an index up to date with the files that its table has now.

        Args:
            name: The index's.
            mode: "full" builds it anew, "incremental" adds what was appended, "quick" does so
                without touching the filter of all files.
            table: The table's folder.
        """
        found = self._known.find(name, _root(table))
        files = list_table(self.spark, found.table)
        with self._line(f"refreshing {name}") as line:
            return api.refresh(
                found.table,
                name=name,
                home=found.home,
                mode=mode,
                files=files,
                engine=self._engine(),
                progress=line,
            )

    def optimize_index(self, name: str, *, table: StrPath | None = None) -> IndexReport:
        """Join the many small files of an index to few."""
        return self._do(api.optimize, name, table)

    def delete_index(self, name: str, *, table: StrPath | None = None) -> IndexReport:
        """Keep queries from using an index; `restore_index` undoes it."""
        return self._do(api.delete, name, table)

    def restore_index(self, name: str, *, table: StrPath | None = None) -> IndexReport:
        """Let queries use a deleted index again."""
        return self._do(api.restore, name, table)

    def vacuum_index(self, name: str, *, table: StrPath | None = None) -> IndexReport:
        """Remove a deleted index's files; those of older versions if it was not deleted."""
        return self._do(api.vacuum, name, table)

    def cancel(self, name: str, *, table: StrPath | None = None) -> IndexReport:
        """End what somebody has begun and not ended; the last stable version is in force again."""
        return self._do(api.cancel, name, table)

    # Looking at indexes.

    def indexes(self) -> DataFrame:
        """One row for each index that is known."""
        return frame_of_indexes(self.spark, self._known.infos(), kind=KIND)

    def index(self, name: str, *, table: StrPath | None = None) -> DataFrame:
        """One row for each column of an index, with what has changed in the table since."""
        found = self._known.find(name, _root(table))
        files = list_table(self.spark, found.table)
        info = api.index(found.table, name=name, home=found.home, files=files)
        return frame_of_details(self.spark, info)

    # Using indexes.

    def enable(self: Hyperspace | SparkSession) -> SparkSession:
        """Let the session's queries use indexes. `Hyperspace.enable(spark)` does the same.

        Raises:
            InvalidArgument: If it is a session of Spark Connect: there, use `where`. If a setting
                `spark.bloomwriter.*` is set to what it cannot mean.
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
        """Let the session's queries use no index any more."""
        spark, _ = _session(self)
        rules.disable(spark)
        return spark

    def is_enabled(self: Hyperspace | SparkSession) -> bool:
        """Whether the session's queries use indexes."""
        return rules.is_enabled(_session(self)[0])

    def where(self, filters: object, *, name: str | None = None) -> Where:
        """Make a condition for `df.transform` that leaves files out by the indexes of what is read.

        It needs no rules, and works on Spark Connect.

        Args:
            filters: The condition: SQL text, or lists of (column, operator, value).
            name: The one index to ask; None: all.
        """
        return Where(filters=filters, homes=tuple(self._known.homes()), name=name)

    def explain(
        self,
        df: DataFrame,
        verbose: bool = False,  # noqa: FBT001, FBT002  as in Hyperspace
        redirect_func: Callable[[str], object] = print,
    ) -> str:
        """Print, and return, which indexes a query uses, and how much less it reads.

        Args:
            df: The query.
            verbose: Say of indexes that are not used why, as well.
            redirect_func: Takes the text instead of `print`.

        Raises:
            InvalidArgument: On Spark Connect; there, `where(...).explain(df)` tells.
        """
        text = explanation(self._decisions(df), verbose=verbose)
        redirect_func(text)
        return text

    def why_not(
        self,
        df: DataFrame,
        index_name: str = "",
        extended: bool = False,  # noqa: FBT001, FBT002  as in Hyperspace
        redirect_func: Callable[[str], object] = print,
    ) -> str:
        """Print, and return, why indexes are not used for a query.

        Args:
            df: The query.
            index_name: The one index to tell of; "" for all.
            extended: Say for which relation and condition, and what is used, as well.
            redirect_func: Takes the text instead of `print`.

        Raises:
            InvalidArgument: On Spark Connect; there, `where(...).explain(df)` tells.
        """
        known = [info.name for info in self._known.infos()]
        text = reasons(self._decisions(df), name=index_name, known=known, extended=extended)
        redirect_func(text)
        return text

    def _decisions(self, df: DataFrame) -> tuple[Decision, ...]:
        return rules.trace(df, homes=self._known.homes())

    def _table(self, df: DataFrame | StrPath) -> Table:
        if isinstance(df, str | os.PathLike):
            root = table_root(df)
            return Table(root=root, files=list_table(self.spark, root))
        return table_of(df)

    def _do(
        self, verb: Callable[..., IndexReport], name: str, table: StrPath | None
    ) -> IndexReport:
        found = self._known.find(name, _root(table))
        return verb(found.table, name=name, home=found.home)

    def _line(self, title: str) -> JobLine:
        return JobLine(title)

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
    """The session, and the homes that its rules should know."""
    if isinstance(given, Hyperspace):
        return given.spark, given._known.homes()  # noqa: SLF001  a friend
    return given, []


def _root(table: StrPath | None) -> str | None:
    return None if table is None else table_root(table)


def _last(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2] or path
