"""Errors, logs, explanations, representations and HTML are safe to show, too."""

from __future__ import annotations

import contextlib
import json
import logging
import re
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, cast

import pytest

from campaigns.security.commands import EVIL
from campaigns.security.hostile import PAYLOADS, faults, names
from campaigns.security.tables import Table, hostile_table
from parquet_bloomwriter import advise, bloomify, errors, inspect, probe, repair, strip, verify
from parquet_bloomwriter.errors import BloomwriterError, InvalidArgument
from parquet_bloomwriter.index.report import Code, Reason
from parquet_bloomwriter.predicate.expression import Comparison
from parquet_bloomwriter.reports.inspection import InspectReport
from parquet_bloomwriter.reports.notebook import notebook_html
from parquet_bloomwriter.reports.page import page
from parquet_bloomwriter.spark.connect import where
from parquet_bloomwriter.spark.connect.file_keys import leaving_out
from parquet_bloomwriter.spark.connect.where import Where
from parquet_bloomwriter.spark.connect.write_sql import write_condition
from parquet_bloomwriter.spark.rules.bridge import Bridge
from parquet_bloomwriter.spark.rules.explain import Decision, explanation, reasons
from tests.reports.parsing import Seen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_TAGS = frozenset(
    """
    html head meta title style body main h1 h2 p dl div dt dd table caption thead tbody tr th td
    ul li strong span bdi details summary svg g rect line circle path text b br small desc
    """.split()  # noqa: SIM905  a list of them would fill a page
)
"""Elements that reports are made of: nothing that runs, fetches, links or submits."""

_ATTRIBUTES = re.compile(r"(?!on|href$|src|action$|formaction$|srcdoc$|xlink).+")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return hostile_table(tmp_path_factory.mktemp("table"))


@pytest.fixture(scope="module")
def reports(table: Table) -> dict[str, Any]:
    """Return what every verb says of the sound file and of the damaged ones."""
    files = [path for path in table.folder.iterdir() if path.stat().st_size > 1_000]
    condition = [(table.column, "=", table.value)]
    found: dict[str, Any] = {}
    for number, path in enumerate(map(str, files)):
        found[f"inspect {number}"] = inspect(path)
        found[f"verify {number}"] = verify(path)
        found[f"advise {number}"] = advise(path)
        found[f"probe {number}"] = probe(path, condition)
        found[f"strip {number}"] = strip(path, dry_run=True)
        found[f"repair {number}"] = repair(path, dry_run=True)
        found[f"add {number}"] = bloomify(path, None, dry_run=True, replace=True)
    found["inspect all"] = InspectReport(files=tuple(inspect(str(path)) for path in files))
    found["probe all"] = probe(sorted(map(str, table.folder.iterdir())), condition)
    return found


def test_reports_represent_themselves_safely(reports: dict[str, Any]) -> None:
    for verb, report in reports.items():
        assert faults(repr(report)) == [], verb
        assert faults(str(report)) == [], verb


def test_reports_in_notebooks_are_text(reports: dict[str, Any]) -> None:
    for verb, report in reports.items():
        _check_markup(notebook_html(report), verb)


def test_pages_are_text(reports: dict[str, Any]) -> None:
    for verb in ("inspect 0", "inspect 1", "inspect all"):
        source = page(reports[verb])
        _check_markup(source, verb)
        policies = [attributes.get("content") or "" for _, attributes in Seen(source).elements]
        assert any(policy.startswith("default-src 'none';") for policy in policies)


def test_titles_are_text(reports: dict[str, Any]) -> None:
    for kind, text in PAYLOADS.items():
        _check_markup(page(reports["inspect 0"], title=text), kind)


def _check_markup(source: str, what: str) -> None:
    assert faults(source) == [], what
    for tag, attributes in Seen(source).elements:
        assert tag in _TAGS, (what, tag)
        assert all(_ATTRIBUTES.fullmatch(name) for name in attributes), (what, tag, attributes)
        assert "url(" not in (attributes.get("style") or ""), (what, tag)


def _errors() -> Iterator[type[BloomwriterError]]:
    for name in errors.__dict__.values():
        if isinstance(name, type) and issubclass(name, BloomwriterError):
            yield name


def test_errors_are_one_safe_line() -> None:
    for kind, (name, text) in product(_errors(), PAYLOADS.items()):
        problem, remedy = f"it is {text}", f"Do {text}."
        error = kind(problem, path=text, row_group=1, column=text, byte=2, remedy=remedy)
        assert faults(str(error)) == [], name
        assert "\n" not in str(error), name
        assert faults(repr(error)) == [], name
        assert (error.path, error.column) == (text, text), name


def test_errors_of_verbs_are_safe(table: Table) -> None:
    for path in map(str, table.folder.iterdir()):
        verbs: tuple[Callable[[str], object], ...] = (
            inspect,
            verify,
            advise,
            _add_what_is_not_there,
        )
        for verb in verbs:
            told = _told(partial(verb, path))
            assert faults(told) == []
            assert "\n" not in told


def _add_what_is_not_there(path: str) -> object:
    return bloomify(path, [EVIL])


def _told(work: Callable[[], object]) -> str:
    try:
        work()
    except BloomwriterError as error:
        return str(error)
    return ""


def test_explanations_are_safe() -> None:
    decisions = [
        Decision(
            rule="PushDownBFIndexRule",
            relation=text,
            index=text,
            condition=text,
            num_files=2,
            num_kept=1,
            reason=reason,
        )
        for text in (*PAYLOADS.values(), EVIL)
        for reason in (None, Reason(code=Code.INDEX_BROKEN, text=text))
    ]
    assert faults(explanation(decisions, verbose=True)) == []
    assert faults(reasons(decisions, extended=True)) == []


class _Session:
    """In the place of Spark's."""


@pytest.mark.parametrize("level", [logging.WARNING, logging.DEBUG])
def test_logs_are_safe_lines(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, level: int
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError(EVIL)

    caplog.set_level(level, logger="parquet_bloomwriter")
    monkeypatch.setattr(where, "relation_of", fail)
    assert Where(filters="id = 1").exclusion(cast("Any", None)).keys == ()
    Bridge(cast("Any", _Session())).apply(json.dumps({"ask": EVIL}))
    assert {record.levelno for record in caplog.records} >= {level}
    for record in caplog.records:
        assert faults(record.getMessage()) == []
        assert record.exc_info is None


def test_sql_for_spark_has_no_text_that_spark_would_take_for_sql() -> None:
    for text in PAYLOADS.values():
        with contextlib.suppress(UnicodeEncodeError):
            text.encode()
            check_sql(text)


def check_sql(text: str) -> None:
    for value in (text, f"{text}'", f"\\{text}", f"${{{text}}}"):
        written = write_condition(Comparison("id", "=", value), ["id"])
        assert re.fullmatch(r"`id` = (CAST\(X'[0-9a-f]*' AS STRING\)|'[^'\\$]*')", written)
    name = f"{text.replace('${', '')}`; DROP TABLE x; --"
    quoted = name.replace("`", "``")
    assert write_condition(Comparison(name, "=", 1), [name]) == f"`{quoted}` = 1"
    key = leaving_out([f"file:/{text}".replace("\\", "%5C"), "file:/') OR (TRUE"])
    assert re.sub(r"'(?:[^'\\]|\\')*'", "_", key).count("'") == 0


def test_a_name_that_spark_would_replace_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="cannot name such a column"):
        write_condition(Comparison("${env:HOME}", "=", 1), ["${env:HOME}"])


def test_all_payloads_are_names() -> None:
    assert set(names()) == set(PAYLOADS)
