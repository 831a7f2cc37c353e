"""The command `bloomify help`: the help page of a command, or of tables."""

from __future__ import annotations

import click

from bloomify.console.help import ALL, TABLES, TOPIC, NoCommand, section, show_all, write_options
from parquet_bloomwriter.text import nearest

_TEXT = """\
A TABLE is a Delta table, by its folder or URL, or an Iceberg table, as
iceberg://CATALOG/NAMESPACE.TABLE. Files of a table get new versions by commits. Without --columns,
`add` takes the columns that properties of the table name; `bloomify advise TABLE --write` sets
these properties.
"""


@click.command("help", short_help="Show the page of a command, or of tables: 'help tables'.")
@click.argument("words", metavar="[COMMAND]", nargs=-1)
@section("Which page")(ALL, "shows_all", is_flag=True, help="Show all options of the command.")
@click.pass_context
def help_(ctx: click.Context, /, words: tuple[str, ...], shows_all: bool) -> None:  # noqa: FBT001  click's
    """Show the page of a COMMAND, as in `help index create`, or of tables, by `help tables`."""
    page = ctx.find_root()
    if words == (TOPIC,):
        click.echo(_tables(page))
        return
    if shows_all:
        show_all(ctx)
    for word in words:
        if not isinstance(page.command, click.Group):
            break
        command = page.command.get_command(page, word)
        if command is None:
            near = nearest(word, (*page.command.list_commands(page), TOPIC))
            raise NoCommand(word, near, page)
        page = click.Context(command, info_name=word, parent=page)
    click.echo(page.get_help())


def _tables(root: click.Context) -> str:
    """Return the page of the options of tables, which several commands have."""
    show_all(root)
    formatter = root.make_formatter()
    formatter.write_usage(root.command_path, "[COMMAND] TABLE [OPTIONS]")
    formatter.write_paragraph()
    with formatter.indentation():
        formatter.write_text(_TEXT)
    for name, title in (("add", "Commands that write"), ("verify", "Commands that read")):
        command = root.command.get_command(root, name)  # type: ignore[attr-defined]
        page = click.Context(command, info_name=name, parent=root)
        own = [one for one in command.params if getattr(one, "section", None) == TABLES]
        write_options(title, own, page, formatter)
    return formatter.getvalue().rstrip("\n")
