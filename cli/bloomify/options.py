"""Options that several verbs share, and the parsing of their values."""

from __future__ import annotations

import sys
from functools import reduce
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click

from bloomify.console.console import LINES, OBJECT, PrintingOptions
from bloomify.console.help import OTHER_OPTIONS, TABLES, check_no_command, complete_path, section
from parquet_bloomwriter.arguments import parse_size

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.shell_completion import CompletionItem

    from parquet_bloomwriter.hashing import Dialect
    from parquet_bloomwriter.index.actions.refresh import Mode
    from parquet_bloomwriter.index.contract import Contract
    from parquet_bloomwriter.index.engine import Origin
    from parquet_bloomwriter.predicate.expression import Expression
    from parquet_bloomwriter.rewrite.plan import Placement
    from parquet_bloomwriter.sbbf import Sizing
    from parquet_bloomwriter.table_files.find import AsOf

T = TypeVar("T", bound=float)


def parse_rate(text: str) -> float:
    """Parse a false positive probability.

    Raises:
        ValueError: If the number is not between 0 and 1, both excluded.
    """
    from parquet_bloomwriter.arguments import rate_of
    from parquet_bloomwriter.errors import InvalidArgument

    try:
        return rate_of(text)
    except InvalidArgument:
        problem = f"{text!r} is not a probability between 0 and 1, both excluded"
        raise ValueError(problem) from None


def parse_count(text: str) -> int:
    """Parse a positive whole number; underscores and commas may group its digits.

    Raises:
        ValueError: If the text is no such number.
    """
    digits = text.replace("_", "").replace(",", "")
    if not (digits.isascii() and digits.isdecimal() and int(digits)):
        raise ValueError(f"{text!r} is not a positive whole number")
    return int(digits)


def parse_filter_size(text: str) -> int:
    """Parse the number of bytes of a filter.

    Raises:
        ValueError: If the text is no size, or 2 GiB or more, which no filter can have.
    """
    size = parse_size(text)
    if size >= 1 << 31:
        raise ValueError(f"{text!r} is more than a filter can have; it must be below 2 GiB")
    return size


def parse_sample(text: str) -> int | float:
    """Parse a number of row groups, or a share of them: 3, 10%.

    Raises:
        ValueError: If the text is neither a count nor a percentage above 0 and up to 100.
    """
    if not text.endswith("%"):
        return parse_count(text)
    try:
        share = float(text[:-1]) / 100
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise ValueError(f"{text!r} is not a share between 0 % and 100 %")
    return share


def split_pairs(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    """Split COLUMN=VALUE at the first sign of equality."""
    pairs = [text.partition("=") for text in given]
    for column, sign, _ in pairs:
        if not (column and sign):
            raise click.BadParameter("give a column and a value, as in id=42")
    return tuple((column, value) for column, _, value in pairs)


def split_columns(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    """Split lists at commas."""
    names = tuple(name.strip() for text in given for name in text.split(","))
    if not all(names):
        has_space = any(text.endswith(",") for text in given)
        hint = "; write no space after a comma: id,email" if has_space else ""
        raise click.BadParameter(f"an empty name is among the columns{hint}")
    return tuple(dict.fromkeys(names))


def complete_columns(
    ctx: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return completions of the last name of a list: columns of the first input, if it is local."""
    from click.shell_completion import CompletionItem

    from parquet_bloomwriter.source import find_sources
    from parquet_bloomwriter.source.open import opened_with_footer

    given = [*(ctx.params.get("inputs") or ()), ctx.params.get("table"), *ctx.args]
    before, comma, begun = incomplete.rpartition(",")
    try:
        path = next(one for one in given if one and "://" not in one)
        with opened_with_footer(find_sources(path)[0]) as (_, footer):
            names = [leaf.name for leaf in footer.leaves]
    except Exception:  # noqa: BLE001  a shell that waits for names shows no errors
        return []
    return [CompletionItem(f"{before}{comma}{name}") for name in names if name.startswith(begun)]


def one(
    parse: Callable[[str], T],
) -> Callable[[click.Context, click.Parameter, str | None], T | None]:
    """Return a click callback that parses one value by a function."""

    def callback(
        _context: click.Context, _parameter: click.Parameter, given: str | None
    ) -> T | None:
        return None if given is None else _parsed(parse, given)

    return callback


def per_column(
    parse: Callable[[str], T],
) -> Callable[[click.Context, click.Parameter, tuple[str, ...]], dict[str, T]]:
    """Return a click callback for any number of VALUE and COLUMN=VALUE; "*" means all columns."""

    def callback(
        _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
    ) -> dict[str, T]:
        pairs = [text.rpartition("=") for text in given]
        if sum(not name for name, _, _ in pairs) > 1:
            raise click.BadParameter("more than one value is for all columns")
        return {name or "*": _parsed(parse, value) for name, _, value in pairs}

    return callback


def _parsed(parse: Callable[[str], T], text: str) -> T:
    try:
        return parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


Decorator = Any
"""A decorator that adds a parameter to a function; click has no better type for it."""


def all_of(*decorators: Decorator) -> Callable[[Any], Any]:
    """Return a decorator of several, of which the first is the first on the help page."""
    return lambda function: reduce(lambda made, one: one(made), reversed(decorators), function)


_file = section("Where the result goes")
_other = section(OTHER_OPTIONS)
_table = section(TABLES)


def _files(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    """Refuse "-" among inputs."""
    for path in given:
        _check_no_stream(path, "standard input")
    return given


def _local_files(
    context: click.Context, parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    """Refuse "-", URLs with passwords, and mistyped commands, reported as missing otherwise."""
    for path in _files(context, parameter, given):
        _check_place(path)
        check_no_command(path, context)
    return given


def local_output(
    _context: click.Context, _parameter: click.Parameter, given: str | None
) -> str | None:
    """Refuse "-" and URLs as paths to write to."""
    if given is not None:
        _check_no_stream(given, "standard output")
        _check_place(given, is_local=True)
    return given


def output(_context: click.Context, _parameter: click.Parameter, given: str | None) -> str | None:
    """Refuse "-" and URLs with passwords as places of new versions."""
    if given is not None:
        _check_no_stream(given, "standard output")
        _check_place(given)
    return given


def _check_no_stream(path: str, stream: str) -> None:
    if path == "-":
        raise click.BadParameter(
            f"'-' would be {stream}, and a pipe can be neither read from its end nor verified nor "
            "replaced; name a file (./- for one of that name)"
        )


def _check_place(path: str, *, is_local: bool = False) -> None:
    from parquet_bloomwriter.errors import InvalidArgument
    from parquet_bloomwriter.source.filesystems import check_local, is_far

    try:
        if is_local or not is_far(path):
            check_local(path)
        else:
            _check_url(path)
    except InvalidArgument as error:
        raise click.BadParameter(str(error)) from None


def _check_url(url: str) -> None:
    from parquet_bloomwriter.stores.open import check_url
    from parquet_bloomwriter.stores.s3.urls import is_s3, parse_url

    if is_s3(url):
        parse_url(url)
    else:
        check_url(url)


inputs_argument = click.argument(
    "inputs",
    metavar="INPUT...",
    nargs=-1,
    required=True,
    callback=_local_files,
    shell_complete=complete_path,
)

sources_argument = click.argument(
    "inputs",
    metavar="INPUT...",
    nargs=-1,
    required=True,
    callback=_files,
    shell_complete=complete_path,
)


class Options(PrintingOptions, total=False):
    """The values of all options of all commands, by name; a command has those that it declares."""

    # Files and tables.
    output: str | None
    overwrite: bool
    backup: str | None
    backup_dir: str | None
    force: bool
    regenerate_crc: bool
    keep_time: bool
    dry_run: bool
    plan: bool
    jobs: int | None
    version: int | None
    snapshot: int | None
    branch: str | None
    commit_every: tuple[str, ...]
    max_files: int | None
    max_bytes_rewritten: int | None
    newest_first: bool
    write: bool
    # Columns and filters.
    columns: tuple[str, ...]
    all_columns: bool
    exclude: tuple[str, ...]
    fpp: dict[str, float]
    rate: float
    ndv: dict[str, int]
    max_bytes: int
    sizing: Sizing
    placement: Placement | None
    dialect: Dialect
    murmur3_seed: int
    replace: bool
    skip_missing: bool
    sample: int | float | None
    # Conditions, and what is shown.
    where: tuple[str, ...]
    eq: tuple[tuple[str, str], ...]
    limit: int | None
    repeats: int
    copy_limit: int
    copies_in: str | None
    form: str | None
    files: bool
    null: bool
    row_groups: bool
    html: str | None
    # Engines.
    engine: str
    engines: tuple[str, ...]
    command: str | None
    column: str | None
    python: str | None
    timeout: float
    # Indexes.
    name: str | None
    home: str | None
    one_writer: bool
    expected_items: dict[str, int]
    origin: Origin
    max_filter_size: int
    max_index_size: int
    contract: Contract
    slices: bool | None
    mode: Mode


class DestinationOptions(TypedDict):
    """The destination of a file's new version: arguments of the library's verbs that write."""

    output: str | None
    overwrite: bool
    backup_suffix: str | None
    backup_dir: str | None
    force: bool
    regenerate_crc: bool
    keep_time: bool
    dry_run: bool


destination_options = all_of(
    _file(
        "-o",
        "--output",
        metavar="PATH",
        callback=output,
        shell_complete=complete_path,
        help="Write here, and leave the input alone: a file, or a folder for many inputs; "
        "folders that are missing are made. "
        "Without it the file is replaced in place, atomically.",
        brief="Write here. Without it, files are replaced in place.",
    ),
    _file(
        "--overwrite", is_flag=True, is_rare=True, help="Replace what exists at PATH of --output."
    ),
    _file(
        "--backup",
        metavar="SUFFIX",
        is_rare=True,
        help="Keep the old file under its name and SUFFIX. Only for a single INPUT whose folder "
        "holds no other Parquet file.",
    ),
    _file(
        "--backup-dir",
        metavar="DIR",
        callback=local_output,
        shell_complete=complete_path,
        help="Keep the old files in DIR, under the same relative paths. DIR lies outside of the "
        "inputs.",
        brief="Keep the old files in DIR.",
    ),
    _file(
        "--force",
        is_flag=True,
        is_rare=True,
        help="Replace a file although something outside refers to it (_metadata, .crc, a "
        "table format, the log of a Spark stream) or it has hard links.",
    ),
    _file(
        "--regenerate-crc",
        is_flag=True,
        is_rare=True,
        help="Renew the Hadoop checksum file .NAME.crc beside the file.",
    ),
    _file(
        "--keep-time",
        is_flag=True,
        is_rare=True,
        help="Give the new file the old file's time of modification, for folders that a Spark "
        "stream reads. Whoever looks at times alone (some caches, backups) does not notice the "
        "change. Only on disks.",
    ),
)

jobs_option = _other(
    "--jobs",
    metavar="N",
    callback=one(parse_count),
    is_rare=True,
    help="Threads in all.  [default: all cores]",
)

_levels = all_of(
    _other("-q", "--quiet", is_flag=True, is_rare=True, help="Print errors only."),
    _other(
        "-v",
        "--verbose",
        is_flag=True,
        help="Print lists in full, and how long it took.",
    ),
)

printing_options = all_of(
    _other("--json", "as_json", flag_value=OBJECT, help="Print JSON: docs/reference/output.md."),
    _levels,
)

many_printing_options = all_of(
    _other(
        "--json",
        "as_json",
        flag_value=OBJECT,
        help="Print one JSON object: docs/reference/output.md.",
        brief="Print one JSON object; --jsonl: one for each file.",
    ),
    _other(
        "--jsonl",
        "as_json",
        flag_value=LINES,
        is_rare=True,
        help="Print a JSON object for each file as soon as it is done, in a line of its own, and "
        "one for the run at the end.",
    ),
    _levels,
)


state_options = all_of(
    _table(
        "--version",
        metavar="N",
        type=click.IntRange(0),
        help="Read version N of Delta tables.  [default: the last]",
    ),
    _table(
        "--snapshot",
        metavar="ID",
        type=int,
        help="Read this snapshot of Iceberg tables.  [default: the last]",
    ),
    _table("--branch", metavar="NAME", help="Read this branch of Iceberg tables.  [default: main]"),
)


def as_of(options: Options) -> AsOf:
    """Return the state of tables that the options ask for."""
    from parquet_bloomwriter.table_files.find import AsOf

    return AsOf(version=options["version"], snapshot=options["snapshot"], branch=options["branch"])


reading_options = all_of(jobs_option, state_options, many_printing_options)

running_options = all_of(
    _file("--dry-run", is_flag=True, help="Write nothing; say what would be done."),
    jobs_option,
    _other(
        "--plan",
        is_flag=True,
        is_rare=True,
        help="With --dry-run: print the pieces of each new file, byte by byte.",
    ),
    many_printing_options,
)


def dialect_options(section_: str, *, help_: str) -> Decorator:
    """Add `--dialect` and `--murmur3-seed`."""
    return all_of(
        section(section_)(
            "--dialect",
            is_rare=True,
            type=click.Choice(["xxhash", "murmur3"]),
            default="xxhash",
            show_default=True,
            is_eager=True,  # Known when the seed is looked at.
            help=help_,
        ),
        section(section_)(
            "--murmur3-seed",
            is_rare=True,
            metavar="N",
            type=click.IntRange(0, 0xFFFFFFFF),
            default=0,
            show_default=True,
            callback=_seed_of_drafts,
            help="With --dialect murmur3: seed of the hash. Files do not record it.",
        ),
    )


def _seed_of_drafts(context: click.Context, _parameter: click.Parameter, given: int) -> int:
    if given and context.params.get("dialect") != "murmur3":
        raise click.BadParameter("a seed goes with --dialect murmur3: XXH64 has none to choose")
    return given


def columns_option(*, help_: str, default: str, section_: str) -> Decorator:
    """Add `--columns` to a verb that works on all columns by default."""
    text = f"{help_} Repeatable.  [default: {default}]"
    return names_option("-c", "--columns", section_=section_, help_=text)


def names_option(*names: str, section_: str, help_: str, brief: str | None = None) -> Decorator:
    """Add an option of these names that takes lists of columns."""
    return section(section_)(
        *names,
        metavar="NAME,...",
        multiple=True,
        callback=split_columns,
        shell_complete=complete_columns,
        help=help_,
        brief=brief,
    )


def read_conditions(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    """Read the conditions that stand in files, "@FILE", or come from standard input, "-"."""
    if given.count("-") > 1:
        raise click.BadParameter("standard input can be read once only")
    return tuple(map(_condition, given))


def _condition(given: str) -> str:
    if given != "-" and not given.startswith("@"):
        return given
    if given == "-" and not sys.stdin:
        raise click.BadParameter("standard input is closed")
    if given == "@":
        raise click.BadParameter("the name of a file is missing after @")
    try:
        with click.open_file("-" if given == "-" else given[1:], encoding="utf-8") as stream:
            text = str(stream.read()).removeprefix("\ufeff").strip().removesuffix(";")
    except OSError as error:
        raise click.BadParameter(f"{given[1:]}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise click.BadParameter(f"the condition in {given} is not UTF-8") from None
    if not text:
        raise click.BadParameter(f"there is no condition in {given}")
    return text


_asked = section("What is asked for")

condition_options = all_of(
    _asked(
        "--where",
        metavar="SQL",
        multiple=True,
        callback=read_conditions,
        help="Condition as in a WHERE clause: \"id = 42 AND kind IN ('a', 'b')\". Of several, all "
        "must hold. @FILE reads a long one from a file, and - from standard input.",
        brief="Condition, as in \"id = 42 AND kind IN ('a', 'b')\"; @FILE and - read it.",
    ),
    _asked(
        "--eq",
        metavar="COLUMN=VALUE",
        multiple=True,
        callback=split_pairs,
        help="The same as COLUMN = 'VALUE', whatever characters are in VALUE: for scripts. "
        "Repeatable.",
        brief="The same as COLUMN = 'VALUE', for scripts.",
    ),
)


def condition_of(options: Options) -> Expression:
    """Join the conditions of `--where` and `--eq` by AND.

    Raises:
        InvalidArgument: If a condition cannot be parsed.
    """
    from parquet_bloomwriter.predicate import parse
    from parquet_bloomwriter.predicate.expression import And, Comparison

    conditions = [
        *map(parse, options["where"]),
        *(Comparison(column, "=", value) for column, value in options["eq"]),
    ]
    return conditions[0] if len(conditions) == 1 else And(tuple(conditions))


def paths_options(*, help_: str) -> Decorator:
    """Add `--files`, with this help text, and `--null`."""
    shown = section("What is printed")
    return all_of(
        shown("--files", is_flag=True, help=help_),
        shown(
            "-0",
            "--null",
            is_flag=True,
            help="With --files: end each path with a zero byte, for xargs -0.",
        ),
    )


def check_paths_options(options: Options, ctx: click.Context) -> None:
    """Check that `--files`, `--null`, `--json` and `--jsonl` can be used together.

    Raises:
        click.UsageError: If they do not.
    """
    if options["null"] and not options["files"]:
        raise click.UsageError("--null goes with --files", ctx)
    if options["files"] and options["as_json"]:
        form = "--jsonl" if options["as_json"] == LINES else "--json"
        raise click.UsageError(f"--files and {form} exclude each other", ctx)


def path_end(options: Options) -> bytes:
    """Return the byte that ends each path."""
    return b"\0" if options["null"] else b"\n"


_index = section("Which index")

table_argument = click.argument("table", metavar="DIR", shell_complete=complete_path)

home_option = _index(
    "--home",
    metavar="PATH",
    shell_complete=complete_path,
    help="Folder or URL where the indexes of this table are kept.  [default: DIR/_bloom_index]",
)

one_writer_option = _index(
    "--one-writer",
    is_flag=True,
    is_rare=True,
    help="You promise that no other process changes the index at the same time. Only needed if the "
    "index is on a store that ignores conditional requests.",
)


def name_option(
    help_: str = "Name of the index.  [default: the only one of the table]",
) -> Decorator:
    """Add `--name` with this help text."""
    return _index("--name", metavar="NAME", help=help_)


named_options = all_of(name_option(), home_option, printing_options)

change_options = all_of(name_option(), home_option, one_writer_option, printing_options)
