"""Any report as a table for a notebook's cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.html.advice import advised
from parquet_bloomwriter.html.inspection import inspected
from parquet_bloomwriter.html.probing import probed
from parquet_bloomwriter.html.summary import for_notebook
from parquet_bloomwriter.html.verification import verified
from parquet_bloomwriter.probing.report import ProbeReport
from parquet_bloomwriter.reports.advice import AdviseReport
from parquet_bloomwriter.reports.inspection import FileFilters, InspectReport
from parquet_bloomwriter.reports.rewriting import AddReport, RepairReport, StripReport
from parquet_bloomwriter.reports.tables import added, repaired, stripped
from parquet_bloomwriter.reports.verification import VerifyReport

if TYPE_CHECKING:
    from parquet_bloomwriter.html.summary import Summary

Report: TypeAlias = (
    AddReport
    | StripReport
    | RepairReport
    | FileFilters
    | InspectReport
    | ProbeReport
    | VerifyReport
    | AdviseReport
)


def table_of(report: Report) -> str:
    """Lay out a report as a headline, a table and remarks, for `_repr_html_`.

    The markup is one element with inline styles only. It takes its colours from the notebook, so it
    suits light and dark themes. Long tables are cut, and say so.

    Args:
        report: What a verb returned.

    Raises:
        InvalidArgument: If it is no report.
    """
    return for_notebook(_summary_of(report)).source


def _summary_of(report: Report) -> Summary:  # noqa: PLR0911  one line for each kind of report
    match report:
        case AddReport():
            return added(report)
        case StripReport():
            return stripped(report)
        case RepairReport():
            return repaired(report)
        case FileFilters():
            return inspected((report,))
        case InspectReport():
            return inspected(report.files)
        case ProbeReport():
            return probed(report)
        case VerifyReport():
            return verified(report)
        case AdviseReport():
            return advised(report)
    problem = f"{type(report).__name__} is no report"
    raise InvalidArgument(problem, remedy="Pass what one of the verbs returned.")
