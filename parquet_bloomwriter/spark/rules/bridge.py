"""The Python that the rules ask: which files a condition rules out, which filter a join can have.

Requests and answers are JSON. A request never fails: what goes wrong here is logged, and answered
with "nothing is known", which leaves the plan as it is.
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import traceback
import weakref
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from parquet_bloomwriter.index.report import Code, Reason
from parquet_bloomwriter.spark.plan.catalog import candidates, column_for, column_of
from parquet_bloomwriter.spark.rules.catalyst import expression_of
from parquet_bloomwriter.spark.rules.decision import Decision
from parquet_bloomwriter.spark.rules.joins import Joins
from parquet_bloomwriter.spark.settings import understood
from parquet_bloomwriter.text import safe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from parquet_bloomwriter.index.query.snapshot import Snapshot
    from parquet_bloomwriter.spark.rules.decision import Rule

_log = logging.getLogger(__name__)
_MAX_KEPT = 32
_NOTHING = {"prune": {"indexes": []}, "join": {"candidates": []}, "join_filter": {"filter": None}}
"""Answers that leave a plan as it is."""


class Bridge:
    """Answers the rules of one session."""

    def __init__(self, spark: SparkSession) -> None:
        self.homes: set[str] = set()
        self._snapshots: dict[str, Snapshot] = {}
        self._keys: weakref.WeakKeyDictionary[Snapshot, str] = weakref.WeakKeyDictionary()
        self._joins = Joins(spark)
        self._decisions: list[Decision] | None = None

    def apply(self, request: str) -> str:
        """Answer one request."""
        question = json.loads(request)
        try:
            answer = getattr(self, f"_{question['ask']}")(question)
        except Exception as error:  # noqa: BLE001  a query never fails for an index
            _log.warning("no index is used: %s", safe(str(error)))
            _log.debug("%s", safe(traceback.format_exc()))
            self._note(question, None, Reason(code=Code.INTERNAL_ERROR, text=str(error)))
            answer = _NOTHING.get(question["ask"], {})
        return json.dumps(answer)

    @contextmanager
    def traced(self) -> Iterator[list[Decision]]:
        """Collect what is decided about traced queries; one thread at a time."""
        decisions: list[Decision] = []
        self._decisions = decisions
        try:
            yield decisions
        finally:
            self._decisions = None

    # What is asked.

    def _prune(self, question: dict[str, Any]) -> dict[str, Any]:
        indexes = []
        for name, snapshot in candidates(question["roots"], self.homes):
            if isinstance(snapshot, Reason):
                self._note(question, name, snapshot)
                continue
            name_of = partial(column_for, snapshot, case_sensitive=question["case_sensitive"])
            expression = expression_of(question["condition"], name_of)
            if not snapshot.could_exclude(expression):
                text = "no column of the index is compared for equality"
                unusable = Reason(code=Code.NO_USABLE_CONDITION, text=text)
                self._note(question, name, snapshot.problem or unusable)
                continue
            excluded = ~snapshot.might_match(expression)
            if not excluded.any():
                text = "every file that the index knows might hold such rows"
                useless = Reason(code=Code.NOTHING_EXCLUDED, text=text)
                self._note(question, name, snapshot.problem or useless)
                continue
            bits = _packed(excluded)
            indexes.append({**self._about(name, snapshot), "excluded": bits})
        return {"indexes": indexes, "hybrid": self._joins.is_hybrid}

    def _files(self, question: dict[str, Any]) -> dict[str, Any]:
        snapshot = self._snapshots[question["snapshot"]]
        return {"root": snapshot.root, "files": _listed(snapshot)}

    def _join(self, question: dict[str, Any]) -> dict[str, Any]:
        found = []
        for name, snapshot in candidates(question["roots"], self.homes):
            if isinstance(snapshot, Reason):
                self._note(question, name, snapshot)
                continue
            sensitive = question["case_sensitive"]
            column = column_of(snapshot, question["column"], case_sensitive=sensitive)
            if column is None:
                text = f"the index has no column {'.'.join(question['column'])}"
                self._note(question, name, Reason(code=Code.MISSING_INDEXED_COL, text=text))
                continue
            found.append({**self._about(name, snapshot), "column": column})
        return {"candidates": found}

    def _join_filter(self, question: dict[str, Any]) -> dict[str, Any]:
        snapshot = self._snapshots[question["snapshot"]]
        column = question["indexed_column"]
        filter_ = self._joins.filter_of(snapshot, column, question)
        if isinstance(filter_, Reason):
            self._note(question, snapshot.entry.name, filter_)
            return {"filter": None}
        return {"filter": filter_}

    def _setting(self, question: dict[str, Any]) -> dict[str, Any]:
        return {"value": understood(question["name"], question["text"])}

    def _report(self, report: dict[str, Any]) -> dict[str, Any]:
        reason = _reason_of(report)
        names = report.get("indexes")
        if names is None and report.get("roots"):
            names = [name for name, _ in candidates(report["roots"], self.homes)]
        for name in [None] if names is None else names:
            self._note(report, name, reason)
        return {}

    def _about(self, name: str, snapshot: Snapshot) -> dict[str, Any]:
        """What every answer says of an index."""
        is_checked = snapshot.entry.contract == "checked"
        return {"name": name, "snapshot": self._keep(snapshot), "checked": is_checked}

    def _keep(self, snapshot: Snapshot) -> str:
        """Keep a snapshot for questions to come, by what its files are; the rule keeps these."""
        key = self._keys.get(snapshot)
        if key is None:
            text = f"{snapshot.root}\0{_listed(snapshot)}"
            key = self._keys[snapshot] = hashlib.sha256(text.encode()).hexdigest()
        self._snapshots[key] = snapshot
        while len(self._snapshots) > _MAX_KEPT:
            self._snapshots.pop(next(iter(self._snapshots)), None)
        return key

    def _note(self, question: dict[str, Any], index: str | None, reason: Reason | None) -> None:
        """Remember a decision if it is about a traced query."""
        if self._decisions is None or not question.get("traced"):
            return
        is_join = question.get("ask", "").startswith("join")
        rule: Rule = "JoinBFIndexRule" if is_join else "PushDownBFIndexRule"
        decision = Decision(
            rule=question.get("rule", rule),
            relation=", ".join(question.get("roots", [])),
            index=index,
            condition=question.get("text", ""),
            num_files=question.get("num_files", 0),
            num_kept=question.get("num_kept", 0),
            num_bytes=question.get("num_bytes", 0),
            bytes_kept=question.get("bytes_kept", 0),
            reason=reason,
        )
        if not any(_are_alike(decision, other) for other in self._decisions):
            self._decisions.append(decision)

    class Java:
        """What py4j looks for."""

        implements: ClassVar = ["java.util.function.Function"]


def _reason_of(report: dict[str, Any]) -> Reason | None:
    if "error" in report:
        return Reason(code=Code.INTERNAL_ERROR, text=report["error"])
    return Reason(code=Code(report["code"]), text=report["why"]) if "code" in report else None


def _are_alike(one: Decision, other: Decision) -> bool:
    """Whether two decisions say the same; rules look at a plan until nothing changes any more."""
    same = (one.rule, one.relation, one.index) == (other.rule, other.relation, other.index)
    if one.reason is None or other.reason is None:
        return same and one.reason is other.reason and one.condition == other.condition
    return same and one.reason == other.reason


def _listed(snapshot: Snapshot) -> str:
    """The files of a snapshot, as the rule reads them."""
    files = snapshot.files
    lines = zip(
        files.sizes.tolist(), files.modified_ms.tolist(), files.paths.to_pylist(), strict=True
    )
    return "".join(f"{size} {modified} {path}\0" for size, modified, path in lines)


def _packed(flags: Any) -> str:  # noqa: ANN401  an array of NumPy
    """Bits, the lowest of the first byte first, as base64."""
    import numpy as np

    return base64.b64encode(np.packbits(flags, bitorder="little").tobytes()).decode()
