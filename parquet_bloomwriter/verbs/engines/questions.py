"""The questions of `check_engine`: values that are absent from a file, and values in it."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
import uuid
from itertools import islice
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.column_names import select_columns
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.filters.columns import why_not_looked_up
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.metadata.schema import PhysicalType
from parquet_bloomwriter.verbs.engines.queries import Question

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    import pyarrow.parquet as pq

    from parquet_bloomwriter.metadata.footer import Footer
    from parquet_bloomwriter.metadata.schema import Leaf
    from parquet_bloomwriter.verbs.engines.queries import Value

_TYPES = (
    PhysicalType.INT32,
    PhysicalType.INT64,
    PhysicalType.BYTE_ARRAY,
    PhysicalType.FIXED_LEN_BYTE_ARRAY,
)
_VALUES = 512
"""Values of a row group near which an absent value is looked for, or from which some are taken."""

_MOST_TRIED = 10_000
"""Most values that are tried until one is found that only filters exclude."""

_ENOUGH = 16
"""Number of such values among which the one is chosen that most row groups' filters exclude."""

_ROW_GROUPS = 4
"""Number of row groups from which present values are taken, spread over the file."""

_PLAIN = re.compile(r"[A-Za-z0-9 @._~:/+-]+")
"""Text from a file that is safe in a shell command."""

_SORTS = (int, float, str, bytes, decimal.Decimal, dt.date, dt.time, uuid.UUID)


def columns_with_filters(footer: Footer, column: str | None) -> list[Leaf]:
    """Return the leaf columns with filters: all, or the named one.

    Raises:
        InvalidArgument: If there is none.
        ColumnNotFound: If there is no column of that name.
    """
    chosen = footer.leaves if column is None else select_columns(footer.leaves, column)
    offsets = footer.chunks.values[:, :, ChunkField.BLOOM_FILTER_OFFSET]
    found = [leaf for leaf in chosen if (offsets[:, leaf.ordinal] > 0).any()]
    if not found:
        what = "the file" if column is None else f'the column "{column}"'
        raise InvalidArgument(
            f"{what} has no Bloom filters", remedy="Add some first: bloomify FILE --columns NAME."
        )
    return found


def absent_question(
    path: str, footer: Footer, leaves: Sequence[Leaf], *, for_shell: bool
) -> tuple[Question, int]:
    """Return a question about a value that only filters exclude, and the number of row groups.

    The text for a shell has no characters with a meaning there: it comes from the file.

    Raises:
        InvalidArgument: If there is none.
    """
    can_ask = [leaf for leaf in leaves if len(leaf.path) == 1 and leaf.physical_type in _TYPES]
    if for_shell:
        can_ask = [leaf for leaf in can_ask if _PLAIN.fullmatch(leaf.name)]
    for leaf in can_ask:
        absent = _absent_values(path, footer, leaf)
        safe = (one for one in absent if not for_shell or _is_plain(one))
        values = islice(safe, _MOST_TRIED)
        tried = ((_excluded_by_filters(path, leaf, value), value) for value in values)
        good = islice(((n, value) for n, value in tried if n), _ENOUGH)
        num_row_groups, value = max(good, key=lambda pair: pair[0], default=(0, 0))
        if num_row_groups:
            width = leaf.type_length or 0
            question = Question(path=path, column=leaf.path, values=(value,), width=width)
            return question, num_row_groups
    names = ", ".join(leaf.name for leaf in leaves)
    raise InvalidArgument(
        f"no question is found that only filters can answer, for: {names}",
        remedy="It takes a column of integers, text or bytes that is within no struct or list, "
        "with gaps between its values: ids in order, one after the other, are excluded by minimum "
        "and maximum alone.",
    )


def present_questions(path: str, leaves: Sequence[Leaf], *, for_shell: bool) -> list[Question]:
    """Return questions about values that are in the file, for every column that is looked up.

    Two values are taken from each of some row groups: the first one, and the largest one, which for
    bytes and text is the one most often mistaken. Neither NaN nor times between two microseconds
    are asked for.
    """
    import pyarrow.parquet as pq

    questions: dict[tuple[object, ...], Question] = {}
    with pq.ParquetFile(path) as file:
        for leaf in leaves:
            if why_not_looked_up(leaf) is not None:
                continue
            for value, kind in _present_values(file, leaf):
                if for_shell and not (_PLAIN.fullmatch(leaf.name) and _is_plain(value)):
                    continue
                questions[leaf.path, type(value), value] = Question(
                    path=path,
                    column=leaf.path,
                    values=(value,),
                    unit=getattr(kind, "unit", "us"),
                    width=leaf.type_length or 0,
                    digits=getattr(kind, "precision", 0),
                )
    return list(questions.values())


def _is_plain(value: Value) -> bool:
    return isinstance(value, int | str) and _PLAIN.fullmatch(str(value)) is not None


def _absent_values(path: str, footer: Footer, leaf: Leaf) -> Iterator[int | str | bytes]:
    """Yield absent values next to stored ones, between minimum and maximum of their pages, too.

    Text is changed before its end: a value that begins with the maximum is not excluded by
    statistics here (`probing.statistics`), but it is by those of engines.
    """
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for row_group in range(footer.num_row_groups):
            for value in _some_values(file, leaf, row_group).to_pylist():
                match value:
                    case str():
                        yield f"{value[:-1]}~{value[-1:]}"
                    case bytes() if value and not leaf.is_decimal:
                        yield value[:-1] + bytes([value[-1] ^ 0x80])
                    case int():
                        yield from (value + 1, value - 1)


def _present_values(file: pq.ParquetFile, leaf: Leaf) -> Iterator[tuple[Value, pa.DataType]]:
    """Yield values of row groups that are spread over the file, with their type in Arrow."""
    count = file.num_row_groups
    for row_group in sorted({count * i // _ROW_GROUPS for i in range(_ROW_GROUPS)}):
        array = _some_values(file, leaf, row_group).drop_null()
        values = [*filter(_can_be_asked, _listed(array))]
        for value in values and {values[0], max(values)}:
            yield value, array.type


def _some_values(file: pq.ParquetFile, leaf: Leaf, row_group: int) -> pa.Array:
    """Return the first values of a row group; fields of structs come without their structs."""
    import pyarrow as pa

    batches = file.iter_batches(_VALUES, row_groups=[row_group], columns=[leaf.name])
    batch = next(iter(batches), None)
    if batch is None:
        return pa.nulls(0)
    array = batch.column(0)
    for name in leaf.path[1:]:
        array = array.drop_null().field(name)
    return array


def _listed(array: pa.Array) -> list[Any]:
    """Return the values as Python objects; points in time are in UTC, without nanoseconds."""
    import pyarrow as pa

    if pa.types.is_timestamp(array.type):
        zone = array.type.tz and "UTC"
        try:
            array = array.cast(pa.timestamp("us", zone))
        except pa.ArrowInvalid:
            return []
    return list(array.to_pylist())


def _can_be_asked(value: object) -> bool:
    is_number = isinstance(value, float | decimal.Decimal)
    if isinstance(value, bool) or not isinstance(value, _SORTS):
        return False
    return not is_number or math.isfinite(value)  # type: ignore[arg-type]


def _excluded_by_filters(path: str, leaf: Leaf, value: Value) -> int:
    """Return the number of row groups that only filters exclude; 0 if any might hold the value."""
    from parquet_bloomwriter.probing.verdict import Evidence, Verdict
    from parquet_bloomwriter.verbs.probe import probe

    (file,) = probe(path, [(leaf.path[0], "==", value)]).files
    if file.verdict is not Verdict.CANNOT_MATCH:
        return 0
    return sum(one.evidence is Evidence.BLOOM for one in file.row_groups)
