"""Reading less without rules in the optimizer: a condition, and the names of files to leave out.

    df = spark.read.parquet("/data/events").transform(hs.where("id = 42"))

is `df.filter("id = 42")`, followed by a filter on `_metadata` that is false for the rows of files
which cannot hold any. Spark leaves such files out when it plans the scan, on Connect as well, and
nothing needs to be installed. The second filter names files to leave out, never files to read: one
that the index does not know, or that was changed, is read. It stands behind the first, which most
rows do not pass, as Spark asks it for each row too.

Nothing here makes a query fail or lose a row: if a DataFrame is not plainly a read of files
(`relations`), or if Spark may understand the condition in another way (`reading_sql`, `certain`),
only the condition is applied, and `explain` says why.
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
from parquet_bloomwriter.text import safe

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from parquet_bloomwriter.predicate.expression import Expression
    from parquet_bloomwriter.spark.rules.decision import Decision

_STRICT_SETTINGS = ("spark.sql.caseSensitive", "spark.sql.parquet.fieldId.read.enabled")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """A condition to be applied by `df.transform`, with the indexes of what `df` reads."""

    filters: object
    """SQL text, or what `parquet_bloomwriter.probe` takes but expressions of pyarrow."""

    homes: tuple[str, ...] = ()
    """Folders of indexes that do not lie beside their tables."""

    name: str | None = None
    """The one index to ask; None: all."""

    def __call__(self, df: DataFrame) -> DataFrame:
        """Filter, and leave files out.

        Raises:
            InvalidArgument: If the filters make no sense. What Spark makes of SQL text, it says.
        """
        found = df.filter(self._text(df))
        keys = self.exclusion(df).keys
        return found.filter(leaving_out(keys)) if keys else found

    def decisions(self, df: DataFrame) -> tuple[Decision, ...]:
        """What the indexes say, or why they are not asked."""
        return self.exclusion(df).decisions

    def explain(self, df: DataFrame, *, verbose: bool = False) -> str:
        """Print, and return, which files are left out by which index, and why others are not."""
        from parquet_bloomwriter.spark.rules.explain import explanation

        text = explanation(self.decisions(df), verbose=verbose)
        print(text)  # noqa: T201  as Hyperspace does
        return text

    def _text(self, df: DataFrame) -> str:
        if isinstance(self.filters, str):
            return self.filters
        return write_condition(parse(self.filters), df.columns)

    def exclusion(self, df: DataFrame) -> Exclusion:
        """Which files of a DataFrame are left out, and what each index says."""
        try:
            relation = relation_of(df)
            if isinstance(relation, Reason):
                return no_exclusion(self._told, (), relation)
            question = self._question(df, relation)
            if isinstance(question, Reason):
                return no_exclusion(self._told, relation.locations, question)
            return exclude(question, homes=self.homes, name=self.name)
        except Exception as error:  # noqa: BLE001  see the head of the module
            _log.warning("no index is used: %s", safe(str(error)))
            _log.debug("%s", safe(traceback.format_exc()))
            reason = Reason(code=Code.INTERNAL_ERROR, text=f"{type(error).__name__}: {error}")
            return no_exclusion(self._told, (), reason)

    def _question(self, df: DataFrame, relation: Relation) -> Question | Reason:
        """Read the condition as Spark does, or say why not."""
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
        return Question(tree=safe_part(tree, columns), columns=columns, locations=locations)

    def _tree(self, columns: list[str]) -> Expression:
        if isinstance(self.filters, str):
            return read_condition(self.filters, columns)
        return parse(self.filters)

    @property
    def _told(self) -> str:
        return self.filters if isinstance(self.filters, str) else to_text(parse(self.filters))
