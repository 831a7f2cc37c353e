"""The command group `bloomify index`, whose commands are imported when they are used."""

from __future__ import annotations

import os

import click

from bloomify.console.help import LazyGroup, NoCommand
from bloomify.exits import ExitCode
from parquet_bloomwriter.text import nearest

VERBS = {
    "create": "create",
    "lookup": "lookup",
    "refresh": "lifecycle",
    "explain": "lookup",
    **dict.fromkeys(("list", "show"), "info"),
    **dict.fromkeys(("optimize", "delete", "restore", "vacuum", "cancel"), "lifecycle"),
}
"""Module of each command, in the order of the help page."""

_EPILOG = """\b
Examples:
  bloomify index create warehouse/ --columns id,email --name ids
  bloomify index lookup warehouse/ --where "id = 42"
  bloomify index lookup warehouse/ --eq id=42 --files -0 | xargs -0 -r ls -l
  bloomify index explain warehouse/ --where "id = 42 AND email = 'ada@mail.example'"
  bloomify index refresh warehouse/ --name ids
  bloomify index list warehouse/
  bloomify index show warehouse/ --name ids
  bloomify index optimize warehouse/ --name ids
  bloomify index vacuum warehouse/ --name ids
"""

_BRIEF_EPILOG = """\b
Examples:
  bloomify index create warehouse/ --columns id,email --name ids
  bloomify index lookup warehouse/ --where "id = 42"
  bloomify index refresh warehouse/ --name ids
"""


class IndexVerbs(LazyGroup):
    """The group of commands on indexes."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; a table in its place means that the command was left out."""
        given = args[0]
        if given not in VERBS and os.path.exists(given):  # noqa: PTH110
            example = f'"bloomify index list {given}"'
            raise click.UsageError(f"say what to do with the table, as in {example}", ctx)
        if given not in VERBS and not given.startswith("-") and not ctx.resilient_parsing:
            raise NoCommand(given, nearest(given, VERBS), ctx)
        return super().resolve_command(ctx, args)


@click.group(
    "index",
    cls=IndexVerbs,
    modules={name: f"{__name__}.{module}" for name, module in VERBS.items()},
    epilog=_EPILOG,
    brief_epilog=_BRIEF_EPILOG,
    invoke_without_command=True,
    short_help="Keep an index of a folder: which files can hold a value.",
    subcommand_metavar="COMMAND DIR [OPTIONS]",
    options_metavar="",
)
@click.pass_context
def index(ctx: click.Context) -> None:
    """Keep an index of the Parquet files of DIR, and ask it which of them can hold a value.

    The index has a Bloom filter of each indexed column of each file. It answers without opening any
    file, which pays for folders of hundreds or thousands of files. It lies in DIR/_bloom_index,
    which readers of Parquet folders skip; data files are only read. Files that were added or
    changed later are always among the answers, until `refresh` indexes them.

    DIR is a folder, on a disk or on a store (s3://bucket/prefix; gs, abfss and hdfs likewise); a
    Delta table, by its folder; or an Iceberg table, as iceberg://CATALOG/NAMESPACE.TABLE.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(ExitCode.USAGE)
