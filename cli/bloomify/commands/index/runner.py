"""The frame of commands on indexes: one call of the library, one report, one exit code.

No command touches a data file. A command that fails or is interrupted leaves the last stable
version of the index in force.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NoReturn, Protocol, TypeVar

import click

from bloomify.console.console import Console
from bloomify.console.interruption import interruptible, interruption_code
from bloomify.console.messages import describe
from bloomify.exits import ExitCode, exit_code_of
from bloomify.runner import guarded, note_passed_over
from bloomify.views.base import document_of, failure_document, json_text
from bloomify.views.index import command_line, partition_hint
from parquet_bloomwriter.errors import (
    BloomwriterError,
    ColumnNotFound,
    InvalidArgument,
    Way,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from bloomify.options import Options
    from bloomify.views.base import Document
    from parquet_bloomwriter.index.engine import Progress
    from parquet_bloomwriter.index.report import IndexInfo, IndexReport

R = TypeVar("R")

_NO_ROOM = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT})
_ELSEWHERE = "An index can also be created elsewhere, with --home."
_PASS_OVER_DELETED = frozenset({"refresh", "show", "optimize"})
"""Commands that choose the only index that is not deleted, as they do no harm to others."""


class Action(Protocol):
    """A function of the library that changes one index."""

    def __call__(self, table: str, /, *, name: str, home: str | None) -> IndexReport:
        """Change the index."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown(Generic[R]):
    """The functions that show the report of one command."""

    text: Callable[[R], str]
    """Function that returns the text; "" prints nothing."""

    document: Callable[[R], Document] = document_of
    """Function that returns the facts for the JSON."""

    code: Callable[[R], ExitCode] = lambda _: ExitCode.OK
    complaint: Callable[[R], str] = lambda _: ""
    """Function that returns the reason of the exit code for standard error; "" for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRun:
    """One run of one command on the indexes of one table."""

    ctx: click.Context
    table: str
    """Table as the command line names it."""

    name: str | None
    """Name of the index on the command line; None without one."""

    options: Options
    console: Console

    @classmethod
    def of(
        cls, ctx: click.Context, table: str, options: Options, *, default: str | None = None
    ) -> IndexRun:
        """Return a new run, with open streams.

        Args:
            ctx: The command.
            table: Its table.
            options: Its options.
            default: The index that is meant if `--name` is not given.
        """
        name = options.get("name")
        return cls(
            ctx=ctx,
            table=table,
            name=default if name is None else name,
            options=options,
            console=Console.open(options),
        )

    @property
    def progress(self) -> Progress:
        """The progress bar."""
        return self.console.bar

    def attempt(self, work: Callable[[], R], *, changes: str | None = None) -> R:
        """Call a function; an error is printed as one line and ends the command.

        Args:
            work: What to do.
            changes: The name of the index that is changed; None if none is.
        """
        try:
            with interruptible(self.console.bar):
                return guarded(work, path=self.table)
        except KeyboardInterrupt as error:
            after = f" {self._what_is_left(changes)}" if changes is not None else ""
            self.console.error(f"interrupted.{after}")
            self.ctx.exit(interruption_code(error))
        except (BloomwriterError, OSError) as error:
            self._fail(error, changes)

    def show(self, report: R, shown: Shown[R]) -> NoReturn:
        """Print a report and exit."""
        if complaint := shown.complaint(report):
            self.console.error(complaint)
        if self.options["as_json"]:
            self._print_json({**shown.document(report), "failed": []})
        elif not self.console.is_quiet:
            text = shown.text(report)
            if text:
                self.console.result(text)
        self.ctx.exit(shown.code(report))

    def how_to_create(self) -> str:
        """Return a sentence with the command that creates the named index, or any index."""
        words = command_line("create", self.table, name=self.name, home=self.options["home"])
        return f"Type: {words} --columns ..."

    def _fail(self, error: BloomwriterError | OSError, changes: str | None) -> NoReturn:
        code, message = exit_code_of(error), self._message(error, changes)
        self.console.error(message)
        if self.options["as_json"] and code is not ExitCode.USAGE:
            self._print_json(
                {"failed": [failure_document(error, path=self.table, message=message)]}
            )
        self.ctx.exit(code)

    def _message(self, error: BloomwriterError | OSError, changes: str | None) -> str:
        if changes is not None and isinstance(error, InvalidArgument):
            hint = self._hint_of_folders(error)
            message = describe(error, reads_only=True, has_remedy=not hint) + hint
            return message if self._is_named(error) else f"{self.table}: {message}"
        message = describe(error, reads_only=True)
        ways = error.ways if isinstance(error, BloomwriterError) else frozenset()
        if changes is not None and Way.CANCEL in ways:
            return f"{message} {self._how_to_cancel(changes)}"
        if Way.CREATE_INDEX in ways:
            return f"{message} {self.how_to_create()}"
        if changes is not None and isinstance(error, OSError) and error.errno in _NO_ROOM:
            return f"{message} {_ELSEWHERE}"
        return message

    def _hint_of_folders(self, error: InvalidArgument) -> str:
        """Return a sentence on a column name that only folders have, as in `year=2026`; or ""."""
        if not isinstance(error, ColumnNotFound) or error.name is None:
            return ""
        return partition_hint([error.name], self.table)

    def _is_named(self, error: InvalidArgument) -> bool:
        """Return whether an error names the table."""
        names = (self.table, os.path.abspath(self.table))  # noqa: PTH100  as the library spells it
        return error.path is not None or any(f'"{name}"' in error.problem for name in names)

    def _print_json(self, facts: Document) -> None:
        command, seconds = f"index {self.ctx.info_name}", self.console.seconds
        self.console.result(json_text(command, seconds=seconds, **facts))

    def _what_is_left(self, name: str) -> str:
        """Return which version of the index is in use, and what to do."""
        from parquet_bloomwriter import index

        try:
            info = index.index(self.table, name=name, home=self.options["home"])
        except (BloomwriterError, OSError):
            return "No index was made."
        if info.busy is not None:
            left = f"The index was left {info.busy}; its last stable version is in force."
            return f"{left} {self._how_to_cancel(name)}"
        is_there = info.state == "ACTIVE"
        return "The last stable version is in force." if is_there else "No index was made."

    def _how_to_cancel(self, name: str) -> str:
        words = command_line("cancel", self.table, name=name, home=self.options["home"])
        return f"Type: {words}"


def index_document(report: IndexReport | IndexInfo) -> Document:
    """Return the facts of one index for the JSON."""
    return {"index": document_of(report)}


def change(run: IndexRun, action: Action) -> NoReturn:
    """Change the chosen index, print the report, and exit."""
    from bloomify.views.index.action import ActionText, complaint, report_code

    name, home = name_of(run), run.options["home"]
    text = ActionText(table=run.table, home=home, columns=run.console.columns)
    report = run.attempt(lambda: action(run.table, name=name, home=home), changes=name)
    note_passed_over(report.passed_over, run.console)
    shown = Shown(text=text.of, document=index_document, code=report_code, complaint=complaint)
    run.show(report, shown)


def name_of(run: IndexRun) -> str:
    """Return the name of the chosen index: the named one, or the only possible one.

    That is the table's only index, or, for some commands, the only one that is not deleted.

    Raises:
        click.UsageError: If no name is given, and the table has no index or several.
    """
    if run.name is not None:
        return run.name
    from parquet_bloomwriter.index.describe import names_with_states
    from parquet_bloomwriter.index.handle import indexes_meant
    from parquet_bloomwriter.index.table.ref import TableRef

    passes = run.ctx.info_name in _PASS_OVER_DELETED
    meant = run.attempt(
        lambda: indexes_meant(
            TableRef.of(run.table), run.options["home"], passes_over_deleted=passes
        )
    )
    if not meant:
        how = run.how_to_create()
        raise click.UsageError(f"the table has no index. {how}", run.ctx)
    if len(meant) > 1:
        names = names_with_states(meant)
        raise click.UsageError(f"say which index with --name; there are {names}", run.ctx)
    return meant[0].name
