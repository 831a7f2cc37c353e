"""The Python end of the rules: which files does a condition exclude, which filter has a join?

`protocol` describes requests and answers. A request never fails: an error here is logged, and the
answer is that no index helps, which leaves the plan unchanged.
"""

from __future__ import annotations

import hashlib
import logging
import traceback
import weakref
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.caches import make_room
from parquet_bloomwriter.index.report import Code, Reason
from parquet_bloomwriter.spark.plan.catalog import column_for, column_of, matching_indexes
from parquet_bloomwriter.spark.rules.catalyst import expression_of
from parquet_bloomwriter.spark.rules.explain import Decision
from parquet_bloomwriter.spark.rules.joins import Joins, unpacked
from parquet_bloomwriter.spark.rules.protocol import (
    FilesAnswer,
    FilesRequest,
    JoinAnswer,
    JoinCandidate,
    JoinFilterAnswer,
    JoinFilterRequest,
    JoinRequest,
    NoAnswer,
    PruneAnswer,
    PrunedIndex,
    PruneRequest,
    Report,
    Request,
    SettingAnswer,
    SettingRequest,
    UnchangedAnswer,
    UnchangedRequest,
    read_request,
    write_answer,
)
from parquet_bloomwriter.spark.settings import read_setting
from parquet_bloomwriter.spark.store_urls import use_settings_of
from parquet_bloomwriter.text import safe

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import SparkSession

    from parquet_bloomwriter.index.query.snapshot import Snapshot
    from parquet_bloomwriter.spark.rules.protocol import Answer

_log = logging.getLogger(__name__)
_MAX_KEPT = 32
_HARMLESS: dict[type[Request], Answer] = {
    PruneRequest: PruneAnswer(),
    JoinRequest: JoinAnswer(),
    JoinFilterRequest: JoinFilterAnswer(),
    UnchangedRequest: UnchangedAnswer(),
}
"""Answers that leave a plan unchanged, by kind of request."""


class Trace:
    """The decisions about one traced query."""

    def __init__(self) -> None:
        self.decisions: tuple[Decision, ...] = ()

    def add(self, decision: Decision) -> None:
        """Add a decision, unless it is known: Spark applies a rule until the plan is stable."""
        if not any(_are_alike(decision, other) for other in self.decisions):
            self.decisions += (decision,)


class Bridge:
    """Answers the requests of one session's rules."""

    def __init__(self, spark: SparkSession) -> None:
        self.homes: set[str] = set()
        self._snapshots: dict[tuple[str, str], Snapshot] = {}
        """Snapshots by two keys: the digest of the list of files, and the index's folder."""

        self._keys: weakref.WeakKeyDictionary[Snapshot, str] = weakref.WeakKeyDictionary()
        self._joins = Joins(spark)
        self._spark = weakref.ref(spark)
        self._trace: Trace | None = None

    def apply(self, text: str) -> str:
        """Answer one request; both are JSON."""
        request = Request()
        try:
            request = read_request(text)
            answer = self._answer(request)
        except BaseException as error:  # noqa: BLE001  a query never fails for an index
            _log.warning("no index is used: %s", safe(str(error)))
            _log.debug("%s", safe(traceback.format_exc()))
            self._note(request, None, Reason(code=Code.INTERNAL_ERROR, text=str(error)))
            answer = _HARMLESS.get(type(request), NoAnswer())
        return write_answer(answer)

    @contextmanager
    def traced(self) -> Iterator[Trace]:
        """Collect the decisions about traced queries; one thread at a time."""
        self._trace = trace = Trace()
        try:
            yield trace
        finally:
            self._trace = None

    def clear(self) -> None:
        """Forget snapshots and filters."""
        self._snapshots.clear()
        self._joins.clear()

    def _answer(self, request: Request) -> Answer:  # noqa: PLR0911  one for each kind
        self._use_settings((*request.roots, *self.homes))
        match request:
            case PruneRequest():
                return self._prune(request)
            case FilesRequest():
                snapshot = self._with_files(request.snapshot)
                return FilesAnswer(root=snapshot.root, files=_listed(snapshot))
            case UnchangedRequest():
                return self._unchanged(request)
            case JoinRequest():
                return self._join(request)
            case JoinFilterRequest():
                return self._join_filter(request)
            case SettingRequest():
                return SettingAnswer(value=read_setting(request.name, request.text))
            case Report():
                self._report(request)
        return NoAnswer()

    def _prune(self, request: PruneRequest) -> PruneAnswer:
        indexes = []
        for name, snapshot in matching_indexes(request.roots, self.homes):
            if isinstance(snapshot, Reason):
                self._note(request, name, snapshot)
                continue
            name_of = partial(column_for, snapshot, case_sensitive=request.case_sensitive)
            expression = expression_of(request.condition, name_of)
            if not snapshot.could_exclude(expression):
                text = "no column of the index is compared for equality"
                unusable = Reason(code=Code.NO_USABLE_CONDITION, text=text)
                self._note(request, name, snapshot.problem or unusable)
                continue
            excluded = ~snapshot.might_match(expression)
            if not excluded.any():
                text = "every file that the index knows might hold such rows"
                useless = Reason(code=Code.NOTHING_EXCLUDED, text=text)
                self._note(request, name, snapshot.problem or useless)
                continue
            indexes.append(
                PrunedIndex(
                    name=name,
                    snapshot=self._keep(snapshot),
                    checked=snapshot.entry.contract == "checked",
                    excluded=_packed(excluded),
                )
            )
        return PruneAnswer(indexes=tuple(indexes))

    def _unchanged(self, request: UnchangedRequest) -> UnchangedAnswer:
        import numpy as np

        snapshot = self._with_files(request.snapshot)
        self._use_settings((snapshot.root, snapshot.folder))
        asked = unpacked(request.present, len(snapshot.files.sizes))
        places = np.flatnonzero(asked)
        asked[places] = snapshot.are_unchanged(places)
        return UnchangedAnswer(unchanged=_packed(asked))

    def _use_settings(self, paths: Iterable[str]) -> None:
        """Apply the session's settings of stores in this process; see `use_settings_of`."""
        spark = self._spark()
        if spark is not None:
            use_settings_of(spark, paths)

    def _join(self, request: JoinRequest) -> JoinAnswer:
        candidates = []
        for name, snapshot in matching_indexes(request.roots, self.homes):
            if isinstance(snapshot, Reason):
                self._note(request, name, snapshot)
                continue
            sensitive = request.case_sensitive
            column = column_of(snapshot, request.column, case_sensitive=sensitive)
            if column is None:
                text = f"the index has no column {'.'.join(request.column)}"
                self._note(request, name, Reason(code=Code.MISSING_INDEXED_COL, text=text))
                continue
            candidates.append(
                JoinCandidate(
                    name=name,
                    index=snapshot.folder,
                    snapshot=self._keep(snapshot),
                    checked=snapshot.entry.contract == "checked",
                    column=column,
                )
            )
        return JoinAnswer(candidates=tuple(candidates))

    def _join_filter(self, request: JoinFilterRequest) -> JoinFilterAnswer:
        snapshot = self._snapshots[request.snapshot, request.index]
        found = self._joins.filter_of(snapshot, request)
        if isinstance(found, Reason):
            self._note(request, snapshot.entry.name, found)
            return JoinFilterAnswer()
        return JoinFilterAnswer(filter=found)

    def _report(self, report: Report) -> None:
        reason = None if report.code is None else Reason(code=Code(report.code), text=report.why)
        names: list[str | None] = [None]
        if report.indexes is not None:
            names = list(report.indexes)
        elif report.roots:
            names = [name for name, _ in matching_indexes(report.roots, self.homes)]
        for name in names:
            self._note(report, name, reason)

    def _keep(self, snapshot: Snapshot) -> str:
        """Keep a snapshot for later requests, and return the digest of its list of files.

        The rules keep lists of files by this digest.
        """
        key = self._keys.get(snapshot)
        if key is None:
            text = f"{snapshot.root}\0{_listed(snapshot)}{_etags(snapshot)}"
            key = self._keys[snapshot] = hashlib.sha256(text.encode()).hexdigest()
        make_room(self._snapshots, most=_MAX_KEPT)
        self._snapshots[key, snapshot.folder] = snapshot
        return key

    def _with_files(self, key: str) -> Snapshot:
        """Return a snapshot with this list of files.

        Raises:
            KeyError: If none is kept.
        """
        for (digest, _), snapshot in list(self._snapshots.items()):
            if digest == key:
                return snapshot
        raise KeyError(key)

    def _note(self, request: Request, index: str | None, reason: Reason | None) -> None:
        """Record a decision if it is about a traced query."""
        if self._trace is None or not request.traced:
            return
        decision = Decision(
            rule=request.rule,
            relation=", ".join(request.roots),
            index=index,
            condition=request.text,
            reason=reason,
        )
        if isinstance(request, Report):
            decision = replace(
                decision,
                num_files=request.num_files,
                num_kept=request.num_kept,
                num_bytes=request.num_bytes,
                bytes_kept=request.bytes_kept,
            )
        self._trace.add(decision)


def _are_alike(one: Decision, other: Decision) -> bool:
    """Return whether two decisions are equal in what they say."""
    same = (one.rule, one.relation, one.index) == (other.rule, other.relation, other.index)
    if one.reason is None or other.reason is None:
        return same and one.reason is other.reason and one.condition == other.condition
    return same and one.reason == other.reason


def _listed(snapshot: Snapshot) -> str:
    """Return the files of a snapshot in the format of `FilesAnswer`."""
    files = snapshot.files
    lines = zip(
        files.sizes.tolist(), files.modified_ms.tolist(), files.paths.to_pylist(), strict=True
    )
    return "".join(f"{size} {modified} {path}\0" for size, modified, path in lines)


def _etags(snapshot: Snapshot) -> str:
    """Return the ETags of all objects: two states of a table may have the same sizes and times."""
    etags = snapshot.files.etags
    return "" if etags is None else "\0".join(etags.to_pylist())


def _packed(flags: Any) -> bytes:  # noqa: ANN401  an array of NumPy
    """Return flags as bits, the lowest bit of the first byte first."""
    import numpy as np

    return np.packbits(flags, bitorder="little").tobytes()
