"""Filters that read less without optimizer rules: a condition, and the names of files to leave out.

    df = spark.read.parquet("/data/events").transform(hs.where("id = 42"))

is `df.filter("id = 42")`, followed by a filter on `_metadata` that is false for the rows of files
that hold no such row. Spark leaves these files out when it plans the scan, also on Connect, and
nothing needs to be installed. The second filter names files to leave out, never files to read:
Spark reads a file that the index does not know, or that has changed. Spark evaluates the second
filter for each row, too, so it stands after the first, which most rows do not pass.

This module never makes a query fail or lose a row. If a DataFrame is not plainly a read of files
(`relations`), or if Spark may understand the condition in another way (`read_sql`,
`safe_predicate`), only the condition is applied, and `explain` says why.
"""

from __future__ import annotations

import logging
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parquet_bloomwriter.index.report import Code, Reason
from parquet_bloomwriter.predicate import parse
from parquet_bloomwriter.predicate.to_sql import to_text
from parquet_bloomwriter.spark.connect.file_keys import leaving_out
from parquet_bloomwriter.spark.connect.prune import Exclusion, Question, exclude, no_exclusion
from parquet_bloomwriter.spark.connect.read_sql import NotUnderstood, read_condition
from parquet_bloomwriter.spark.connect.safe_predicate import Columns, safe_part
from parquet_bloomwriter.spark.connect.write_sql import write_condition
from parquet_bloomwriter.spark.plan.relations import METADATA, Relation, relation_of
from parquet_bloomwriter.spark.store_urls import use_settings_of
from parquet_bloomwriter.text import safe

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from parquet_bloomwriter.predicate.expression import Expression
    from parquet_bloomwriter.spark.rules.explain import Decision

_STRICT_SETTINGS = ("spark.sql.caseSensitive", "spark.sql.parquet.fieldId.read.enabled")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """A condition for `df.transform`, which uses the indexes of the files that `df` reads."""

    filters: object
    """SQL text, or filters as for `parquet_bloomwriter.probe`, except expressions of pyarrow."""

    homes: tuple[str, ...] = ()
    """Folders of indexes that do not lie beside their tables."""

    name: str | None = None
    """The only index to use; None: all."""

    def __call__(self, df: DataFrame) -> DataFrame:
        """Filter a DataFrame, and leave out files.

        Raises:
            InvalidArgument: If the filters are malformed. Spark itself reports errors in SQL text.
        """
        found = df.filter(self._text(df))
        keys = self.exclusion(df).keys
        return found.filter(leaving_out(keys)) if keys else found

    def decisions(self, df: DataFrame) -> tuple[Decision, ...]:
        """Return the decisions about all indexes, or why no index is used."""
        return self.exclusion(df).decisions

    def explain(self, df: DataFrame, *, verbose: bool = False) -> str:
        """Print and return which indexes leave out files, and why others do not."""
        from parquet_bloomwriter.spark.rules.explain import explanation

        text = explanation(self.decisions(df), verbose=verbose)
        print(text)  # noqa: T201  as Hyperspace does
        return text

    def _text(self, df: DataFrame) -> str:
        if isinstance(self.filters, str):
            return self.filters
        return write_condition(parse(self.filters), df.columns)

    def exclusion(self, df: DataFrame) -> Exclusion:
        """Return the files of a DataFrame that indexes exclude, and the decisions about them."""
        try:
            relation = relation_of(df)
            if isinstance(relation, Reason):
                return no_exclusion(self._shown, (), relation)
            use_settings_of(df.sparkSession, (*relation.locations, *self.homes))
            question = self._question(df, relation)
            if isinstance(question, Reason):
                return no_exclusion(self._shown, relation.locations, question)
            return exclude(question, homes=self.homes, name=self.name)
        except Exception as error:  # noqa: BLE001  see the head of the module
            _log.warning("no index is used: %s", safe(str(error)))
            _log.debug("%s", safe(traceback.format_exc()))
            reason = Reason(code=Code.INTERNAL_ERROR, text=f"{type(error).__name__}: {error}")
            return no_exclusion(self._shown, (), reason)

    def _question(self, df: DataFrame, relation: Relation) -> Question | Reason:
        """Read the condition as Spark does, or return why that is not certain."""
        schema = df.schema
        if any(name.casefold() == METADATA for name in schema.names):
            text = f"the table has a column {METADATA} of its own, which hides the files' names"
            return Reason(code=Code.COL_SCHEMA_MISMATCH, text=text)
        for setting in _STRICT_SETTINGS:
            if df.sparkSession.conf.get(setting, "false") != "false":
                text = f"{setting} is set, and then it is not certain which column a name means"
                return Reason(code=Code.COL_SCHEMA_MISMATCH, text=text)
        try:
            tree = self._tree(schema.names)
        except NotUnderstood as error:
            text = f"the condition is read only as far as it means the same everywhere: {error}"
            return Reason(code=Code.NO_USABLE_CONDITION, text=text)
        columns = Columns(schema=schema, is_stored=relation.is_stored)
        locations = relation.locations
        return Question(
            tree=safe_part(tree, columns),
            columns=columns,
            locations=locations,
            scheme=relation.scheme,
        )

    def _tree(self, columns: list[str]) -> Expression:
        if isinstance(self.filters, str):
            return read_condition(self.filters, columns)
        return parse(self.filters)

    @property
    def _shown(self) -> str:
        return self.filters if isinstance(self.filters, str) else to_text(parse(self.filters))
