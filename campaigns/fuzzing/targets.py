"""What is fuzzed: functions of any bytes, which return, or raise what should not be.

- `footer`: bytes as a footer, and all that is derived from it; scanner and reference agree.
- `header`: bytes as a filter, read in the common and in the general way.
- `probe`: a small file with some bytes changed, asked by every verb that reads filters.
- `sql`: text as a predicate, asked of a file with columns of every kind, and as a string in one.

Errors of the package are what is expected; they must be of one line.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, get_args

import numpy as np

from campaigns.fuzzing.files import base_files, mixed_file
from parquet_bloomwriter.compact import scan
from parquet_bloomwriter.errors import BloomwriterError
from parquet_bloomwriter.kernels import reference
from parquet_bloomwriter.metadata import parse_footer
from parquet_bloomwriter.metadata.fields import FOOTER
from parquet_bloomwriter.metadata.page_index import parse_offset_index
from parquet_bloomwriter.predicate import parse, to_text
from parquet_bloomwriter.predicate.expression import Comparison, IsIn, IsNull, Or
from parquet_bloomwriter.probing.footer_cache import CachedFooter, FileBatch
from parquet_bloomwriter.sbbf import Dialect, Sbbf, decode_header
from parquet_bloomwriter.sbbf import header as header_module
from parquet_bloomwriter.verbs.bloom_file import BloomFile
from parquet_bloomwriter.verbs.inspect import inspect
from parquet_bloomwriter.verbs.probe import probe as probe_verb

if TYPE_CHECKING:
    from collections.abc import Callable

    from parquet_bloomwriter.compact.scan import StructSchema

compiled: Any = import_module("parquet_bloomwriter.kernels._compiled")
_START = 100_000
"""Where a fuzzed footer is said to begin in its file, bytes."""

_VALUES = (0, -1, 2**40, 1.5, math.nan, "a", "", b"\xff", True)
_EDIT_BYTES = 3
"""An edit: two bytes say where, counted from the end of the file, and one what."""


class Wrong(AssertionError):
    """Something that must not be."""


def footer(data: bytes) -> None:
    """View any bytes as a footer, and derive from it what probing needs."""
    same_scan(data, FOOTER)
    try:
        view = parse_footer(data, start=_START)
        known = CachedFooter.of(view)
        known.learn(range(len(view.leaves)), view)
        view.chunk_starts()
        str(known.num_bytes)
        for leaf in view.leaves[:50]:
            str(FileBatch.of([known]).column(leaf).has_no_values)
    except BloomwriterError as error:
        _one_line(error)
    try:
        parse_offset_index(data, start=_START).moved(lambda offsets: offsets + 1)
    except BloomwriterError as error:
        _one_line(error)


def same_scan(data: bytes, grammar: StructSchema) -> None:
    """The scanner in C finds the same as the reference, whatever the bytes.

    Raises:
        Wrong: If it does not.
    """
    one, other = _scanned(reference.scan, data, grammar), _scanned(compiled.scan, data, grammar)
    if one[0] != other[0]:
        raise Wrong(f"the reference says {one[0]}, the compiled scanner {other[0]}")
    for name, mine, theirs in zip(("kinds", "values", "spans"), one[1], other[1], strict=True):
        if not np.array_equal(mine, theirs):
            raise Wrong(f"the reference finds other {name} than the compiled scanner")


def _scanned(scan: Any, data: bytes, grammar: StructSchema) -> tuple[Any, tuple[Any, ...]]:  # noqa: ANN401  a kernel
    """Return the problem, the position and the number of rows, and the arrays."""
    capacity, width = 16 + len(data), grammar.width
    table = (
        np.zeros(capacity, np.int64),
        np.zeros((capacity, width), np.int64),
        np.zeros((capacity, width, 3), np.int32),
    )
    return scan(data, 0, grammar.words, width, *table), table


def header(data: bytes) -> None:
    """Read any bytes as a filter."""
    common = header_module._usual_header(data)  # noqa: SLF001  the point is to compare
    try:
        table = scan.scan(data, header_module._HEADER)  # noqa: SLF001
        found = decode_header(data)
        if common is not None and (found, found.length) != (common, table.stop):
            raise Wrong(f"{common} in the common way, {found} in the general one")
        str(found.unsupported)
    except BloomwriterError as error:
        _one_line(error)
        if common is not None:
            raise Wrong(f"{common} in the common way: {error}") from error
    for dialect in get_args(Dialect):
        try:
            bits = Sbbf.from_bytes(data, dialect)
            bits.exact_fpp()
            bits.check_hash(2**63)
        except BloomwriterError as error:
            _one_line(error)


def probe(data: bytes) -> None:
    """Ask a file of which some bytes are others."""
    if not data:
        return
    files = base_files()
    mutated = bytearray(files[data[0] % len(files)])
    edits = data[1:]
    for at in range(0, len(edits) - _EDIT_BYTES + 1, _EDIT_BYTES):
        back = int.from_bytes(edits[at : at + 2], "little") % len(mutated)
        mutated[-1 - back] = edits[at + 2]
    _ask(bytes(mutated), data[0] // len(files))


def _ask(file: bytes, which: int) -> None:
    """Use every verb that reads filters, on a third of the columns."""
    try:
        with BloomFile(file) as opened:
            count = min(len(opened.columns), 12)
            names = [f"#{ordinal}" for ordinal in range(which % 3, count, 3)]
            rows = min(opened.num_row_groups, 2)
            for name in names:
                _filters_of(opened, name, rows)
        conditions = [Comparison(name, "=", value) for name in names for value in _VALUES]
        others = [one for name in names for one in (IsNull(name), IsIn(name, (1, "a")))]
        if conditions:
            for one in probe_verb(file, Or((*conditions, *others))).files:
                str(one.row_groups)
        str(inspect(file))
    except BloomwriterError as error:
        _one_line(error)


def _filters_of(opened: BloomFile, name: str, rows: int) -> None:
    for row_group in range(rows):
        try:
            opened.might_contain(name, ["a"] * 70, row_group=row_group)
            opened.filter(row_group, name)
        except BloomwriterError as error:
            _one_line(error)


def sql(data: bytes) -> None:
    """Parse any text as a predicate, and ask a file; as a string, it stays what it is."""
    text = data.decode("utf-8", "surrogateescape")
    quoted = text.replace("'", "''")
    if parse(f"b = '{quoted}'") != Comparison("b", "=", text):
        raise Wrong("a string literal is not read as it is written")
    name = text.replace('"', '""')
    if text and parse(f'"{name}" = 1') != Comparison(text, "=", 1):
        raise Wrong("a name is not read as it is written")
    try:
        tree = parse(text)
        parse(to_text(tree))
    except BloomwriterError as error:
        _one_line(error)
        return
    try:
        for one in probe_verb(mixed_file(), tree).files:
            str(one.row_groups)
    except BloomwriterError as error:
        _one_line(error)


def _one_line(error: BloomwriterError) -> None:
    if "\n" in str(error):
        raise Wrong(f"an error of several lines: {error}") from error


TARGETS: Final[dict[str, Callable[[bytes], None]]] = {
    "footer": footer,
    "header": header,
    "probe": probe,
    "sql": sql,
}
