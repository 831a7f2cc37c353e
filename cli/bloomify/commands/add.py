"""The command `bloomify add`, which is also `bloomify` without a command."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, cast

import click
from click.core import ParameterSource

from bloomify.console.console import Console
from bloomify.console.help import Verb, section
from bloomify.options import (
    all_of,
    destination_options,
    dialect_options,
    inputs_argument,
    names_option,
    one,
    parse_count,
    parse_filter_size,
    parse_rate,
    per_column,
    running_options,
)
from bloomify.runner import rewrite_files
from bloomify.table_runner import (
    budget_options,
    commit_options,
    limits_of,
    table_among,
    write_table,
)
from parquet_bloomwriter.errors import BloomwriterError, InvalidArgument
from parquet_bloomwriter.text import safe

if TYPE_CHECKING:
    from collections.abc import Callable

    from bloomify.exits import ExitCode
    from bloomify.options import DestinationOptions, Options
    from parquet_bloomwriter import AddReport, TableReport
    from parquet_bloomwriter.progress import Bar, FileProgress
    from parquet_bloomwriter.verbs.folder_file import FolderOptions

_which = section("Which filters")
_MURMUR3 = (
    "warning: --dialect murmur3 follows drafts of the specification that never were in a release: "
    "DuckDB fails on such files, and other readers ignore the filters."
)

_filter_options = all_of(
    names_option(
        "-c",
        "--columns",
        section_="Which filters",
        help_="Columns by dotted path, groups for all columns in them, patterns as in '*_id', or "
        "#N for the N-th column from 0. Repeatable.",
        brief="Columns by name, or patterns as in '*_id'.",
    ),
    _which("--all-columns", is_flag=True, help="All columns that can have filters."),
    names_option(
        "--exclude",
        section_="Which filters",
        help_="Columns that get no filters, named as for --columns. Repeatable.",
        brief="Columns that get no filters.",
    ),
    _which(
        "--skip-missing",
        is_flag=True,
        help="Pass over columns that a file lacks, and patterns that match none in it. They are "
        "counted at the end.",
        brief="Pass over columns that a file lacks.",
    ),
    _which(
        "--fpp",
        metavar="[NAME=]P",
        multiple=True,
        callback=per_column(parse_rate),
        help="False positive probability, as 0.01 or 1%, of all columns or of one: of the row "
        "groups that lack a value, the share that is read all the same. Repeatable.  "
        "[default: 0.01]",
        brief="False positive probability.  [default: 0.01]",
    ),
    _which(
        "--ndv",
        metavar="[NAME=]N",
        multiple=True,
        callback=per_column(parse_count),
        is_rare=True,
        help="Distinct values per row group, if known. It saves memory while building, and "
        "changes nothing else. Repeatable.  [default: the number of values]",
    ),
    _which(
        "--max-bytes",
        metavar="SIZE",
        default="128MiB",
        show_default=True,
        callback=one(parse_filter_size),
        is_rare=True,
        help="Largest filter, as in 65536, 512K or 1MiB. It wins over --fpp.",
    ),
    _which(
        "--sizing",
        type=click.Choice(["pow2", "exact"]),
        is_rare=True,
        default="pow2",
        show_default=True,
        help="Powers of two, which every reader takes, or exact sizes, which save 28 % on "
        "average. Spark, DuckDB, DataFusion and ClickHouse 26 read exact sizes; Arrow C++, Velox "
        "and older ClickHouse refuse them, and Impala reads them wrongly.",
    ),
    _which(
        "--placement",
        type=click.Choice(["column-chunk", "row-group", "end"]),
        is_rare=True,
        help="Where filters lie: before their column chunk, behind their row group, or before the "
        "footer. With 'end' no data moves: take it for files that others are reading.  "
        "[default: column-chunk; end on stores]",
    ),
    dialect_options(
        "Which filters",
        help_="The hash: of the released specification, or of its Murmur3 drafts. DuckDB fails on "
        "files with filters of the drafts, and other readers ignore these filters; 'probe' and "
        "'verify' read them with the same options.",
    ),
    _which(
        "--replace",
        is_flag=True,
        is_rare=True,
        help="Build existing filters anew. Without this option, filters are kept if header, length "
        "and place are right, and the rate is at most twice --fpp; 'verify' looks up every value. "
        "'strip' does not bring the old ones back.",
    ),
)


@click.command("add", cls=Verb, short_help="Add filters; meant where no command is named.")
@inputs_argument
@_filter_options
@destination_options
@commit_options
@budget_options
@running_options
@click.pass_context
def add(ctx: click.Context, /, inputs: tuple[str, ...], **options: Unpack[Options]) -> None:
    """Add Bloom filters to each INPUT without touching its data.

    An INPUT is a Parquet file, a folder or a glob pattern, here or on a store
    (s3://bucket/key, gs://bucket/key, sftp://host/path). Or it is a table, of Delta by its folder,
    of Iceberg as iceberg://CATALOG/NAMESPACE.TABLE: its files get new versions by commits. Without
    --columns, the folder's file _bloomify.toml names the columns, or the table's own properties.
    """
    from bloomify.views.add import AddView

    _check_words(ctx, inputs, options["columns"])
    console = Console.open(options)
    table = table_among(inputs, options)
    if table is not None:
        ctx.exit(_add_to_table(ctx, table, options, console))
    choose = _choice(ctx, inputs, options, console)
    if options["dialect"] == "murmur3":
        console.note(_MURMUR3)

    from parquet_bloomwriter import bloomify

    def build(
        path: str,
        progress: FileProgress,
        jobs: int,
        /,
        **destination: Unpack[DestinationOptions],
    ) -> AddReport:
        return bloomify(
            path,
            **choose(path),
            ndv=options["ndv"],
            dialect=options["dialect"],
            murmur3_seed=options["murmur3_seed"],
            replace=options["replace"],
            jobs=jobs,
            progress=progress,
            **destination,
        )

    view = AddView(with_plan=options["plan"])
    code = rewrite_files(inputs, build, view, options, console)
    for name in view.in_no_file:
        console.error(f'warning: no file has a column "{safe(name)}".')
    ctx.exit(code)


def _add_to_table(ctx: click.Context, table: str, options: Options, console: Console) -> ExitCode:
    """Add filters to the files of a table.

    Raises:
        click.UsageError: If options make no sense there.
    """
    if options["columns"] and options["all_columns"]:
        raise click.UsageError("--columns and --all-columns exclude each other", ctx)
    if options["placement"] not in {None, "end"}:
        raise click.UsageError("new files of a table have their filters at the end", ctx)
    if options["dialect"] != "xxhash":
        raise click.UsageError("the filters of a table are those of the specification", ctx)
    ndv = options["ndv"]
    if ndv.keys() - {"*"}:
        raise click.UsageError("--ndv of a table is one number for all columns", ctx)
    limits = limits_of(options["commit_every"])
    is_given = ctx.get_parameter_source("max_bytes") is not ParameterSource.DEFAULT
    max_bytes = options["max_bytes"] if is_given else None

    def add_all(bar: Bar) -> TableReport:
        from parquet_bloomwriter import bloomify_table

        return bloomify_table(
            table,
            "*" if options["all_columns"] else options["columns"] or None,
            exclude=options["exclude"],
            branch=options["branch"],
            fpp=options["fpp"] or None,
            ndv=ndv.get("*"),
            max_bytes=max_bytes,
            sizing=options["sizing"],
            replace=options["replace"],
            limits=limits,
            max_files=options["max_files"],
            max_bytes_rewritten=options["max_bytes_rewritten"],
            newest_first=options["newest_first"],
            jobs=options["jobs"],
            dry_run=options["dry_run"],
            progress=bar,
        )

    return write_table(table, add_all, "add", options, console)


def _check_words(ctx: click.Context, inputs: tuple[str, ...], columns: tuple[str, ...]) -> None:
    """Refuse `--columns id email` and `id email`: columns would be reported as missing files."""
    words = [one for one in inputs if one.isidentifier() and not Path(one).exists()]
    if not words:
        return
    from bloomify.commands.columns import read_leaves

    names: set[str] = set()
    with suppress(StopIteration, BloomwriterError, OSError):
        leaves = read_leaves(next(one for one in inputs if Path(one).is_file()))
        names.update(leaf.name for leaf in leaves)
    meant = [word for word in words if word in names]
    if meant:
        choice = ",".join((*columns, *meant))
        what = "commas separate columns" if columns else "to name columns"
        raise click.UsageError(f'there is no file "{meant[0]}"; {what}: --columns {choice}', ctx)


def _choice(
    ctx: click.Context, inputs: tuple[str, ...], options: Options, console: Console
) -> Callable[[str], FolderOptions]:
    """Return the function from a file's path to its filters: by options, and by its folder's file.

    Raises:
        click.UsageError: If columns are chosen in two ways. If columns are chosen in no way for an
            input, its columns are shown.
    """
    from parquet_bloomwriter.verbs.folder_file import FILE, find_folder_file

    if options["columns"] and options["all_columns"]:
        raise click.UsageError("--columns and --all-columns exclude each other", ctx)
    given = _given(ctx, options)
    by_folder: list[tuple[tuple[str, str], FolderOptions]] = []
    for name in inputs:
        file = find_folder_file(name)
        found = given if file is None else file.combined(given)
        if "columns" not in found:
            from bloomify.commands.columns import show_columns
            from parquet_bloomwriter.verbs.for_each_file import find_files

            show_columns(ctx, find_files([name])[0].path, words=["bloomify", name])
        if file is not None:
            keys = [key for key in file.options if key in found and key not in given]
            words = ", ".join(keys).replace("_", "-") or "nothing"
            console.note(f"{file.path} gives {words}.")
            by_folder.append(((file.path.removesuffix(FILE), f"{name.rstrip('/')}/"), found))

    def choose(path: str) -> FolderOptions:
        for starts, found in by_folder:
            if len(inputs) == 1 or path.startswith(starts):
                return found
        if "columns" not in given:
            raise InvalidArgument("its folder is not clear", remedy="Name one folder at a time.")
        return given

    return choose


def _given(ctx: click.Context, options: Options) -> FolderOptions:
    """Return the filters that the command line asks for, without defaults."""
    names = {"exclude", "fpp", "max_bytes", "sizing", "placement", "skip_missing"}
    given = {
        name: value
        for name, value in options.items()
        if name in names and ctx.get_parameter_source(name) is not ParameterSource.DEFAULT
    }
    if options["columns"] or options["all_columns"]:
        given["columns"] = options["columns"] or None
    return cast("FolderOptions", given)
