"""The view of `verify`: a verdict for each column, and the reasons."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import click

from bloomify.console.table import paragraphs, remarks_text, table
from bloomify.views.base import View
from parquet_bloomwriter.reports.verification import check_remarks, check_table, outcome_of
from parquet_bloomwriter.text import safe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.reports.verification import VerifyReport


@dataclass(kw_only=True)
class VerifyView(View["VerifyReport"]):
    """The view of filters checked against the values of their files."""

    command: ClassVar[str] = "verify"
    files: list[VerifyReport] = field(default_factory=list)

    def headline(self, report: VerifyReport) -> str:
        """Return how many filters of the file passed."""
        path = click.style(f"{safe(report.path or '')}:", bold=True)
        return f"{path} {outcome_of(report.checks)}"

    def lack(self, report: VerifyReport) -> str:
        """Return that the file has no filter, if so."""
        return "" if report.checks else outcome_of(())

    def is_named(self, report: VerifyReport) -> bool:
        """Return whether a filter failed."""
        return not report.passed

    def details(self, report: VerifyReport, *, columns: int | None) -> str:
        """Return the table of columns, and the remarks on their filters."""
        return _details([report], columns=columns)

    def collect(self, report: VerifyReport) -> None:
        """Keep the report for the table of all files."""
        self.files.append(report)

    def summary(self, *, columns: int | None) -> str:
        """Return the table of all files' columns, and the remarks."""
        return _details(self.files, columns=columns)

    def tally(self) -> str:
        """Return how many filters of all files passed."""
        return outcome_of([check for file in self.files for check in file.checks])

    @property
    def passed(self) -> bool:
        """Return whether no filter failed."""
        return all(file.passed for file in self.files)


def _details(files: Sequence[VerifyReport], *, columns: int | None) -> str:
    listed = table(check_table(files), columns=columns)
    return paragraphs(listed, remarks_text(check_remarks(files), columns=columns))
