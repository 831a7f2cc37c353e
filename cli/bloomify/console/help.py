"""Help pages with sections, and the group of commands, whose default is `add`.

Each command has two help pages. The first, of `--help`, fits a screen of 40 lines: it leaves out
options that are rare, and those of tables, and says the others in a line each where that is enough.
The second, of `--help-all`, has everything, as the site has.
"""

from __future__ import annotations

import builtins
import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

import click

from bloomify.console.console import complain
from bloomify.console.interruption import interruption_code, interruption_text
from bloomify.console.messages import BUG_HINT, DEBUG, describe
from bloomify.exits import ExitCode, exit_code_of
from parquet_bloomwriter.text import nearest, safe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from click.shell_completion import CompletionItem

OTHER_OPTIONS = "Other options"
TABLES = "Tables"
"""Section of the options of Delta and Iceberg tables, which no first page has."""

TOPIC = TABLES.lower()
"""The word after `help` that shows the options of tables."""

ALL = "--help-all"
_HELP = ("--help", "-h", ALL)
_OWN_OPTIONS = (*_HELP, "--version", "-V")

_START = """\
bloomify adds Bloom filters to existing Parquet files, and uses them.

  bloomify advise FILE                      says which columns deserve filters
  bloomify FILE --columns id --dry-run      says what would be added
  bloomify FILE --columns id                adds filters, and changes no data
  bloomify probe FILE --where "id = 42"     says which row groups might match
  bloomify --help                           says the rest

FILE may be a folder, a pattern, a Delta or Iceberg table, or a URL on a store."""
_FIRST = "bloomify.first"
"""Key in click's context for the first argument, if it names no command."""

_SHOWS_ALL = "bloomify.help_all"
"""Key in click's context, which is set for the second help page."""


class Option(click.Option):
    """An option that knows its place on the help pages."""

    def __init__(
        self,
        *args: Any,  # noqa: ANN401  click's
        section: str = OTHER_OPTIONS,
        brief: str | None = None,
        is_rare: bool = False,
        **attributes: Any,  # noqa: ANN401  click's
    ) -> None:
        """Make an option.

        Args:
            args: Those of click.
            section: Title of its section.
            brief: Its text on the first help page; None takes the whole text.
            is_rare: Whether only the second help page has it.
            attributes: Those of click.
        """
        super().__init__(*args, **attributes)
        self.section = section
        self.brief = brief
        self.is_rare = is_rare or section == TABLES

    def get_help_extra(self, ctx: click.Context) -> click.types.OptionHelpExtra:
        """Return the default, without the range of numbers: [x>=0] explains nothing."""
        extra = super().get_help_extra(ctx)
        extra.pop("range", None)
        return extra


def show_all(ctx: click.Context) -> None:
    """Let help pages have everything from now on."""
    ctx.meta[_SHOWS_ALL] = True


def _print_all(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:  # noqa: FBT001  click's
    if wanted and not ctx.resilient_parsing:
        show_all(ctx)
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


_HELP_ALL = Option(
    [ALL],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_all,
    help="Show all options and exit.",
)


class Paged(click.Command):
    """A command with two help pages, which have sections."""

    def __init__(self, *args: Any, brief_epilog: str | None = None, **attributes: Any) -> None:  # noqa: ANN401  click's
        """Make a command.

        Args:
            args: Those of click.
            brief_epilog: The text at the end of the first page; None takes that of the second.
            attributes: Those of click.
        """
        super().__init__(*args, **attributes)
        self.brief_epilog = brief_epilog

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, with the option that shows the second page."""
        return [*super().get_params(ctx), _HELP_ALL]

    def get_listed(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters that the help pages list."""
        return self.get_params(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options; `--help-all` stands for `--help` where it shows more."""
        options = [one for one in self.get_listed(ctx) if isinstance(one, click.Option)]
        has_more = self.brief_epilog or any(map(_is_rare, options))
        sections: dict[str, list[click.Option]] = {}
        for one in options:
            is_left_out = _is_rare(one) or ("--help" if has_more else ALL) in one.opts
            if ctx.meta.get(_SHOWS_ALL) or not is_left_out:
                title = one.section if isinstance(one, Option) else OTHER_OPTIONS
                sections.setdefault(title, []).append(one)
        for title in sorted(sections, key=lambda title: title == OTHER_OPTIONS):
            write_options(title, sections[title], ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the text at the end of the page."""
        is_brief = self.brief_epilog and not ctx.meta.get(_SHOWS_ALL)
        epilog = self.brief_epilog if is_brief else self.epilog
        if epilog:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(epilog)


class Verb(Paged):
    """A command that names itself in errors, so that they can name its help page."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; errors get their command."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise


class Reading(Verb):
    """A command that changes no file."""


class LazyGroup(Paged, click.Group):
    """A group of commands that are imported when they are used."""

    def __init__(self, *args: Any, modules: Mapping[str, str], **attributes: Any) -> None:  # noqa: ANN401  click's
        """Make a group of these commands.

        Args:
            args: Those of click.
            modules: The module of each command, in the order of the help page. The command is its
                attribute of the same name, or, for names of Python's own, of that name and "_".
            attributes: Those of click.
        """
        super().__init__(*args, **attributes)
        self.modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's
        """List the commands in the order of the help page."""
        return list(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  click's
        """Import and return a command."""
        if cmd_name not in self.modules:
            return None
        module = import_module(self.modules[cmd_name])
        name = cmd_name.replace("-", "_")
        attribute = f"{name}_" if hasattr(builtins, name) else name
        return cast("click.Command", getattr(module, attribute))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, then the options."""
        self.format_commands(ctx, formatter)
        super().format_options(ctx, formatter)


class Verbs(LazyGroup):
    """The group of all commands, with `add` as default if the first word names no command.

    The first word is a command or an input: a file named like a command is given as ./NAME.
    """

    default = "add"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the default command before arguments that do not begin with a command.

        `--help COMMAND` becomes `help COMMAND`. Without any argument, print how to begin.
        """
        if not args and not ctx.resilient_parsing:
            click.echo(_START, err=True)
            ctx.exit(ExitCode.USAGE)
        if args[1:] and args[0] in _HELP and args[1] in (*self.modules, TOPIC):
            words = [word for word in args[1:] if word[:1] != "-"]
            args = ["help", *words, *([ALL] if ALL in args else [])]
        if args and args[0] not in self.modules and args[0] not in _OWN_OPTIONS:
            ctx.meta[_FIRST] = args[0]
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def get_listed(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters of the default command, and `--version`."""
        version = [own for own in self.params if own.name == "version"]
        return self._default(ctx).get_params(ctx) + version

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; an error becomes one line and an exit code."""
        try:
            _check_input(ctx.meta.get(_FIRST, "-"), ctx)
            return super().invoke(ctx)
        except click.UsageError as error:
            self._leave(ctx, _usage(error), ExitCode.USAGE)
        except click.exceptions.Exit:
            raise
        except KeyboardInterrupt as error:
            reads_only = self._reads_only(ctx)
            notes = [f" {note}." for note in getattr(error, "__notes__", ())]
            others = "Other files" if notes else "Files"
            left = f" {others} that are not reported as done were left unchanged."
            known = "".join(notes) + ("" if reads_only else left)
            self._leave(ctx, interruption_text(error) + known, interruption_code(error))
        except Exception as error:
            if os.environ.get(DEBUG):
                raise
            code = exit_code_of(error)
            hint = f". {BUG_HINT}" if code is ExitCode.BUG else ""
            message = describe(error, reads_only=self._reads_only(ctx))
            self._leave(ctx, message + hint, code)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a command, an option of the default one, or else the name of an input."""
        commands = super().shell_complete(ctx, incomplete)
        options = self._default(ctx).shell_complete(ctx, incomplete)
        return commands + options or complete_path(ctx, None, incomplete)

    def _reads_only(self, ctx: click.Context) -> bool:
        return isinstance(self.get_command(ctx, ctx.invoked_subcommand or ""), Reading)

    def _default(self, ctx: click.Context) -> click.Command:
        command = self.get_command(ctx, self.default)
        if command is None:
            raise LookupError(self.default)
        return command

    def _leave(self, ctx: click.Context, message: str, code: ExitCode) -> NoReturn:
        complain(message)
        ctx.exit(code)


def _check_input(given: str, ctx: click.Context) -> None:
    """Refuse a first argument that is probably a mistyped command.

    Raises:
        click.UsageError: If no file has that name, and it looks like a command.
    """
    if given.startswith("-") or os.sep in given or _names_something(given):
        return
    near = _nearest_command(given, ctx)
    if near or not Path(given).suffix:
        raise NoCommand(given, near, ctx, kinds="neither a command nor a file")


def check_no_command(given: str, ctx: click.Context) -> None:
    """Refuse a later argument that is probably a command, which must be the first.

    Raises:
        click.UsageError: If no command was named, no file has that name, and the input looks like a
            command.
    """
    is_file = os.sep in given or Path(given).suffix or _names_something(given)
    if is_file or _FIRST not in ctx.meta:
        return
    root = ctx.find_root()
    near = _nearest_command(given, root)
    if near:
        problem = f'there is no file of the name "{safe(given)}"'
        raise click.UsageError(f"{problem}. Commands stand first: bloomify {near} ...", root)


def _nearest_command(given: str, ctx: click.Context) -> str | None:
    """Return the command that was probably meant, as it is typed: `index lookup`."""
    group = ctx.command
    typed: dict[str, str] = {}
    if isinstance(group, click.Group):
        names = group.list_commands(ctx)
        for outer in names:
            command = group.get_command(ctx, outer)
            if isinstance(command, click.Group):
                typed |= {inner: f"{outer} {inner}" for inner in command.list_commands(ctx)}
        typed |= {outer: outer for outer in names}
    near = nearest(given, typed)
    return None if near is None else typed[near]


class NoCommand(click.UsageError):
    """The error for a first word that names no command."""

    def __init__(
        self, given: str, near: str | None, ctx: click.Context, *, kinds: str = "no command"
    ) -> None:
        meant = f" Did you mean {near}?" if near else ""
        super().__init__(f'there is {kinds} of the name "{safe(given)}".{meant}', ctx)


def _names_something(given: str) -> bool:
    from parquet_bloomwriter.source.listing import is_pattern

    return os.path.lexists(given) or is_pattern(given)


def complete_path(
    _context: click.Context, _parameter: click.Parameter | None, incomplete: str
) -> list[CompletionItem]:
    """Return completions of the path of a file or a folder, for the shell."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def section(title: str) -> Callable[..., Callable[[Any], Any]]:
    """Return a `click.option` whose options are in one section of the help page."""

    def option(*names: str, **attributes: Any) -> Callable[[Any], Any]:  # noqa: ANN401  click's
        return click.option(*names, cls=Option, section=title, **attributes)

    return option


def write_options(
    title: str,
    options: Iterable[click.Option],
    ctx: click.Context,
    formatter: click.HelpFormatter,
) -> None:
    """Write the options of one section."""
    with formatter.section(title):
        formatter.write_dl([_record(one, ctx) for one in options], col_max=26)


def _is_rare(option: click.Option) -> bool:
    return isinstance(option, Option) and option.is_rare


def _record(option: click.Option, ctx: click.Context) -> tuple[str, str]:
    """Return the names of an option, and its text for the page."""
    names, text = option.get_help_record(ctx) or ("", "")
    brief = option.brief if isinstance(option, Option) else None
    return names, (text if ctx.meta.get(_SHOWS_ALL) else brief or text)


_LETTERS = 3
"""Number of first letters that a mistyped option has in common with the right one."""

_NUMBERS = {
    "integer range": "whole number",
    "integer": "whole number",
    "float range": "number",
}
"""Names for people of click's kinds of numbers."""


def _usage(error: click.UsageError) -> str:
    message = error.format_message()
    if isinstance(error, click.NoSuchOption):
        given = error.option_name.lstrip("-")
        names = [one.lstrip("-") for one in error.possibilities or ()]
        begun = (one for one in names if one.startswith(given[:_LETTERS]))
        near = nearest(given, names) or next(begun, None)
        near = f" Did you mean --{near}?" if near else ""
        message = f"{error.message}{near}"
    for name, plain in _NUMBERS.items():
        message = message.replace(f"is not a valid {name}.", f"is not a {plain}.")
    command = error.ctx.command_path if error.ctx else "bloomify"
    stop = "" if message.endswith((".", "?")) else "."
    return f"{message[:1].lower()}{message[1:]}{stop} See {command} --help."
