"""The frame of all commands on an index: one verb of the library, one report, one exit code.

An index never stands in the way of the data: no command touches a data file, and one that fails or
is interrupted leaves the last stable version of the index in force.
"""

from __future__ import annotations

import errno
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar, cast

import click

from bloomify.console.console import Console
from bloomify.console.interruption import Terminated, interruptible
from bloomify.console.messages import describe
from bloomify.exits import ExitCode, exit_code_of
from bloomify.runner import guarded
from bloomify.views.documents import VERSION, failure_document
from bloomify.views.index_hints import command_line
from parquet_bloomwriter.errors import (
    BloomwriterError,
    ColumnNotFound,
    InvalidArgument,
    Way,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from bloomify.commands.index.options import IndexOptions, NamedOptions
    from bloomify.views.documents import Document
    from parquet_bloomwriter.index.engine import Progress
    from parquet_bloomwriter.index.report import IndexInfo, IndexReport

R = TypeVar("R")

_NO_ROOM = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT})
_ELSEWHERE = "An index can also be created elsewhere, with --home."
_LISTED = 12
"""Indexes that are named to somebody who has named none."""

_OF_THOSE_THERE = frozenset({"refresh", "show", "optimize"})
"""Commands that mean no deleted index, where another is there, and do no harm to that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown(Generic[R]):
    """How one command shows its report."""

    text: Callable[[R], str]
    """For people; "" if standard output is to stay empty."""

    document: Callable[[R], Document]
    code: Callable[[R], ExitCode] = lambda _: ExitCode.OK


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRun:
    """One run of one command on the indexes of one table."""

    ctx: click.Context
    table: str
    options: IndexOptions
    console: Console

    @classmethod
    def of(cls, ctx: click.Context, table: str, options: IndexOptions) -> IndexRun:
        """Open the streams."""
        console = Console.open(is_quiet=options["quiet"])
        return cls(ctx=ctx, table=table, options=options, console=console)

    @property
    def progress(self) -> Progress:
        """Where verbs report to."""
        return self.console.bar

    def attempt(self, work: Callable[[], R], *, changes: str | None = None) -> R:
        """Do the work; an error becomes one line and the end of the command.

        Args:
            work: What to do.
            changes: The index that is changed; None if nothing is.
        """
        try:
            with interruptible(self.console.bar):
                return guarded(work, path=self.table)
        except KeyboardInterrupt as error:
            self._leave_interrupted(error, changes)
        except (BloomwriterError, OSError) as error:
            self._fail(error, changes)

    def show(self, report: R, shown: Shown[R]) -> NoReturn:
        """Print a report and leave."""
        if self.options["as_json"]:
            self._print_document({**shown.document(report), "failed": []})
        elif not self.console.is_quiet:
            text = shown.text(report)
            if text:
                self.console.result(text)
        self.ctx.exit(shown.code(report))

    def _fail(self, error: BloomwriterError | OSError, changes: str | None) -> NoReturn:
        code, message = exit_code_of(error), self._message(error, changes)
        self.console.error(message)
        if self.options["as_json"] and code is not ExitCode.USAGE:
            failed = failure_document(self.table, None, error, message=message, exit_code=code)
            self._print_document({"failed": [failed]})
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
        """Return what to say of a column that is a name of folders, as in `year=2026`; or ""."""
        from bloomify.views.index_hints import partition_hint

        if not isinstance(error, ColumnNotFound) or error.name is None:
            return ""
        return partition_hint([error.name], self.table)

    def _is_named(self, error: InvalidArgument) -> bool:
        """Whether an error says which table it is about."""
        names = (self.table, os.path.abspath(self.table))  # noqa: PTH100  as the library spells it
        return error.path is not None or any(f'"{name}"' in error.problem for name in names)

    def _print_document(self, facts: Document) -> None:
        whole = {"version": VERSION, "command": f"index {self.ctx.info_name}", **facts}
        self.console.result(json.dumps(whole, allow_nan=False))

    def _leave_interrupted(self, error: KeyboardInterrupt, changes: str | None) -> NoReturn:
        after = f" {self._what_is_left(changes)}" if changes is not None else ""
        self.console.error(f"interrupted.{after}")
        terminated = isinstance(error, Terminated)
        self.ctx.exit(ExitCode.TERMINATED if terminated else ExitCode.INTERRUPTED)

    def _what_is_left(self, name: str) -> str:
        """Say which version of the index is in force now, and what to do."""
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

    def how_to_create(self) -> str:
        """Spell the command that makes the index that was asked for, or any."""
        name = cast("str | None", self.options.get("name"))
        words = command_line("create", self.table, name=name, home=self.options["home"])
        return f"Type: {words} --columns ..."

    def _how_to_cancel(self, name: str) -> str:
        words = command_line("cancel", self.table, name=name, home=self.options["home"])
        return f"Type: {words}"


def change(
    ctx: click.Context,
    table: str,
    options: NamedOptions,
    work: Callable[[IndexRun, str], IndexReport],
) -> NoReturn:
    """Do what changes an index, given its name, and print the report."""
    from bloomify.views.index import IndexText, report_code, report_document

    run = IndexRun.of(ctx, table, options)
    name = name_of(run, options)
    text = IndexText(table=table, home=options["home"], columns=run.console.columns)
    report = run.attempt(lambda: work(run, name), changes=name)
    run.show(report, Shown(text=text.of, document=report_document, code=report_code))


def name_of(run: IndexRun, options: NamedOptions) -> str:
    """Return the name of the index that is meant: the one given, or the only one there can be.

    That is the table's only index, or, for some commands, the only one that is not deleted.

    Raises:
        click.UsageError: If no name is given, and the table has no index or several.
    """
    if options["name"] is not None:
        return options["name"]
    infos = run.attempt(lambda: _of_table(run))
    if not infos:
        how = run.how_to_create()
        raise click.UsageError(f"the table has no index. {how}", run.ctx)
    there = [info for info in infos if info.state != "DELETED"]
    meant = there if run.ctx.info_name in _OF_THOSE_THERE and there else infos
    if len(meant) == 1:
        return meant[0].name
    names = [f"{info.name} ({info.state})" for info in infos[:_LISTED]]
    raise click.UsageError(f"say which index with --name; there are {', '.join(names)}", run.ctx)


def _of_table(run: IndexRun) -> list[IndexInfo]:
    """List the indexes of the table, but not those of others that are kept in the same folder."""
    from parquet_bloomwriter import index
    from parquet_bloomwriter.index.layout import table_root

    root = table_root(run.table)
    infos = index.indexes(run.table, home=run.options["home"])
    return [info for info in infos if info.root in ("", root)]
