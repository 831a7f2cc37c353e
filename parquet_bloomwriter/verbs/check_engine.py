"""The verb `check_engine`: proof that an engine uses Bloom filters, or does not.

Two copies of a file are made, in which every data page is destroyed. One has the filters, the other
has none. The engine is asked for a value that is in no row, although it lies between minimum and
maximum of some row group, so that the filter alone can exclude it:

    asked of        the file      the copy with filters      the copy without filters
    uses them       0 rows        0 rows                     fails
    does not        0 rows        fails
    undecided       0 rows        0 rows                     0 rows

Dictionaries are destroyed as well, and the copies' footers say that not all values are in
dictionaries: readers that trust them must not answer by them. A copy is sparse, where the file
system can: it takes the room of footer, indexes and filters.

Source: parquet.thrift, PageEncodingStats; the released specification, BloomFilter.md.
"""

from __future__ import annotations

import os
import re
import tempfile
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from parquet_bloomwriter.column_names import select_columns
from parquet_bloomwriter.errors import InvalidArgument, Proposal, UnsupportedFile, Way
from parquet_bloomwriter.metadata.encodings import without_dictionaries
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.metadata.patch import apply_edits, bloom_edit
from parquet_bloomwriter.metadata.schema import PhysicalType
from parquet_bloomwriter.reports.engines import EngineCheck, EngineReport, Use
from parquet_bloomwriter.source.filesystems import check_local
from parquet_bloomwriter.source.open import opened_with_footer
from parquet_bloomwriter.verbs.engine_queries import ENGINES, Engine, ask, ask_command, engine_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    from parquet_bloomwriter.metadata.footer import Footer
    from parquet_bloomwriter.metadata.patch import Edit
    from parquet_bloomwriter.metadata.schema import Leaf
    from parquet_bloomwriter.source.base import Range, Source
    from parquet_bloomwriter.source.filesystems import StrPath
    from parquet_bloomwriter.verbs.engine_queries import Reply

    Asking: TypeAlias = Callable[[str, str, int | str], Reply]

_TYPES = (PhysicalType.INT32, PhysicalType.INT64, PhysicalType.BYTE_ARRAY)
_VALUES = 512
"""Values of a row group near which an absent one is looked for."""

_MOST_TRIED = 10_000
"""Values that are tried until one is found that only filters exclude."""

_ENOUGH = 16
"""Such values of which one is taken that the filters of most row groups exclude."""

_PLAIN = re.compile(r"[A-Za-z0-9 @._~:/+-]+")
"""What a command of the shell may have in it that comes from a file."""

_READS_PAGES = (
    "it tried to read data pages, which are destroyed in the copy that was asked (your file is "
    "untouched)"
)

_PIECE_BYTES = 8 << 20
_MAGIC_BYTES = 4


def check_engine(  # noqa: PLR0913  all but two by keyword
    source: StrPath,
    engines: str | Sequence[str] | None = None,
    *,
    column: str | None = None,
    command: str | None = None,
    timeout_s: float = 300.0,
    progress: Callable[[EngineCheck], None] | None = None,
) -> EngineReport:
    """Find out which engines use the Bloom filters of a file.

    Args:
        source: Path of a Parquet file that has filters.
        engines: duckdb, datafusion, clickhouse, spark, polars, pyarrow, pandas or bloomify; None,
            if no command is given, for those of the first four that are installed.
        column: A column with filters, of integers or text; None for the first that will do.
        command: A command of the shell that asks another engine. `{file}`, `{column}` and `{value}`
            in it stand for a path, the name, and a literal of SQL, without characters that shells
            know; it must fail if the query does.
        timeout_s: Seconds for one answer.
        progress: Called with what became of each engine.

    Raises:
        InvalidArgument: If an engine is not known or not installed, or no column will do.
        ColumnNotFound: If there is no such column.
        FileProblem: If the file cannot be read.
        OSError: If reading fails, or there is no room for the copies.
    """
    check_local(source)
    path = os.path.abspath(os.fsdecode(source))  # noqa: PTH100  a string
    if os.path.isdir(path):  # noqa: PTH112  a string
        raise InvalidArgument("this is a folder", path=path, remedy="Name one of its files.")
    asked = _askings(engines, command, timeout_s)
    with (
        opened_with_footer(path) as (file, footer),
        tempfile.TemporaryDirectory(prefix="bloomify-") as folder,
    ):
        if footer.is_signed or footer.encrypted.any():
            raise UnsupportedFile("the file is encrypted", path=path)
        name, value, num_row_groups = _question(path, footer, column, for_shell=command is not None)
        plain, with_filters, without = (
            Path(folder, f"{one}.parquet") for one in ("plain", "with", "without")
        )
        plain.symlink_to(path)
        _write_copy(file, footer, with_filters, edits=[])
        _write_copy(file, footer, without, edits=list(_without_filters(footer)))
        files = str(plain), str(with_filters), str(without)
        checks = []
        for who, asking in asked.items():
            checks.append(_checked(who, asking, files, (name, value)))
            if progress is not None:
                progress(checks[-1])
    return EngineReport(
        path=path, column=name, value=value, num_row_groups=num_row_groups, checks=tuple(checks)
    )


def _askings(
    engines: str | Sequence[str] | None, command: str | None, timeout_s: float
) -> dict[str, Asking]:
    """Return what asks each engine, by its name.

    Raises:
        InvalidArgument: If one is not known or not installed.
    """
    if engines is None:
        asked = [one for one in ENGINES.values() if one.is_asked and one.is_installed]
        names = [] if command else [one.name for one in asked]
        if not (names or command):
            raise InvalidArgument(
                "no engine that uses filters is installed beside bloomify",
                remedy=("Type: pip install duckdb; or ", Proposal(Way.COMMAND, "give a command")),
            )
    else:
        names = [engines] if isinstance(engines, str) else list(engines)
    found: dict[str, Asking] = {}
    for name in names:
        engine = engine_of(name)
        if not engine.is_installed:
            raise InvalidArgument(
                f'"{name}" cannot be asked: {engine.package} is not installed here',
                remedy=f"Install it: pip install {engine.package}.",
            )
        found[name] = _asking(engine, timeout_s)
    if command is not None:
        if "{file}" not in command:
            raise InvalidArgument(
                "the command does not say where the file goes",
                remedy='Write {file}, {column} and {value} in it, as in: duckdb -c "SELECT count(*)'
                " FROM '{file}' WHERE {column} = {value}\".",
            )
        given = command
        found[command] = lambda *question: ask_command(given, *question, timeout_s=timeout_s)
    return found


def _asking(engine: Engine, timeout_s: float) -> Asking:
    return lambda *question: ask(engine, *question, timeout_s=timeout_s)


def _checked(
    who: str, asking: Asking, files: tuple[str, str, str], question: tuple[str, int | str]
) -> EngineCheck:
    """Ask one engine of the file itself, and of the copies with and without filters."""
    original, with_filters, without = files
    plain = asking(original, *question)
    use, reason, error = Use.UNDECIDED, "", ""
    if plain.has_failed:
        reason = f"it cannot read the file itself: {plain.problem}"
    elif plain.count:
        reason = f"it counts {plain.count:,} rows of the file where there is none"
    else:
        answer = asking(with_filters, *question)
        if answer.has_failed:
            use, reason, error = Use.NOT_USED, _READS_PAGES, answer.problem
        elif not asking(without, *question).has_failed:
            reason = "it answered without filters as well. Try a file with more row groups"
        else:
            use = Use.USED
    return EngineCheck(engine=who, version=plain.version, use=use, reason=reason, error=error)


# The question.


def _question(
    path: str, footer: Footer, column: str | None, *, for_shell: bool
) -> tuple[str, int | str, int]:
    """Return a column, a value that only its filters exclude, and from how many row groups.

    What a shell is given has no characters that mean anything there: it comes from the file.

    Raises:
        InvalidArgument: If there is none.
    """
    chosen = footer.leaves if column is None else select_columns(footer.leaves, column)
    with_filters = [leaf for leaf in chosen if _has_filters(footer, leaf)]
    if not with_filters:
        what = "the file" if column is None else f'the column "{column}"'
        raise InvalidArgument(
            f"{what} has no Bloom filters", remedy="Add some first: bloomify FILE --columns NAME."
        )
    can_ask = [
        leaf for leaf in with_filters if len(leaf.path) == 1 and leaf.physical_type in _TYPES
    ]
    if for_shell:
        can_ask = [leaf for leaf in can_ask if _PLAIN.fullmatch(leaf.name)]
    for leaf in can_ask:
        absent = _absent_values(path, footer, leaf)
        safe = (one for one in absent if not for_shell or _PLAIN.fullmatch(str(one)))
        values = islice(safe, _MOST_TRIED)
        tried = ((_excluded_by_filters(path, leaf, value), value) for value in values)
        good = islice(((n, value) for n, value in tried if n), _ENOUGH)
        num_row_groups, value = max(good, key=lambda pair: pair[0], default=(0, 0))
        if num_row_groups:
            return leaf.path[0], value, num_row_groups
    names = ", ".join(leaf.name for leaf in with_filters)
    raise InvalidArgument(
        f"no question is found that only filters can answer, for: {names}",
        remedy="It takes a column of integers or text that is within no struct or list, with gaps "
        "between its values: ids in order, one after the other, are excluded by minimum and "
        "maximum alone.",
    )


def _has_filters(footer: Footer, leaf: Leaf) -> bool:
    offsets = footer.chunks.values[:, leaf.ordinal, ChunkField.BLOOM_FILTER_OFFSET]
    return bool((offsets > 0).any())


def _absent_values(path: str, footer: Footer, leaf: Leaf) -> Iterator[int | str]:
    """Yield values next to some that are there: between minimum and maximum of their pages, too.

    Text is changed before its end: a value that begins with the maximum is not excluded by
    statistics here (`probing.bounds`), but it is by those of engines.
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for row_group in range(footer.num_row_groups):
            batches = file.iter_batches(_VALUES, row_groups=[row_group], columns=[leaf.path[0]])
            batch = next(iter(batches), None)
            for value in [] if batch is None else batch.column(0).to_pylist():
                if isinstance(value, str):
                    yield f"{value[:-1]}~{value[-1:]}"
                elif isinstance(value, int):
                    yield from (value + 1, value - 1)


def _excluded_by_filters(path: str, leaf: Leaf, value: int | str) -> int:
    """Return from how many row groups only filters exclude a value; 0 if any might have it."""
    from parquet_bloomwriter.probing.verdict import Evidence, Verdict
    from parquet_bloomwriter.verbs.probe import probe

    (file,) = probe(path, [(leaf.path[0], "==", value)]).files
    if file.verdict is not Verdict.CANNOT_MATCH:
        return 0
    return sum(one.evidence is Evidence.BLOOM for one in file.row_groups)


# The copies.


def _write_copy(source: Source, footer: Footer, path: Path, *, edits: list[Edit]) -> None:
    """Write a copy without data pages, and with a footer of its own."""
    new = apply_edits(without_dictionaries(footer), sorted(edits, key=lambda edit: edit.start))
    with path.open("wb") as file:
        for start, stop in _kept(footer):
            for at in range(start, stop, _PIECE_BYTES):
                file.seek(at)
                file.write(source.read_at(at, min(at + _PIECE_BYTES, stop)))
        file.seek(footer.start)
        file.write(new)
        file.write(len(new).to_bytes(4, "little") + source.read_at(source.size - 4, source.size))


def _kept(footer: Footer) -> Iterator[Range]:
    """Yield the bytes before the footer that are in no column chunk."""
    starts = footer.chunk_starts().ravel()
    sizes = footer.chunks.value(ChunkField.TOTAL_COMPRESSED_SIZE).ravel()
    position = 0
    for start, size in sorted(zip(starts.tolist(), sizes.tolist(), strict=True)):
        if size > 0 and start >= _MAGIC_BYTES:
            if start > position:
                yield position, start
            position = max(position, start + size)
    if position < footer.start:
        yield position, footer.start


def _without_filters(footer: Footer) -> Iterator[Edit]:
    for row_group, column in zip(
        *footer.chunks.has(ChunkField.BLOOM_FILTER_OFFSET).nonzero(), strict=True
    ):
        yield bloom_edit(footer, int(row_group), int(column), None)
