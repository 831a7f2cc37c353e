"""The rows that are written for a type, and what is asked of them.

Three row groups: values, nulls only, values. Values occur once or, where the type has few, several
times.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from campaigns.types.cases import Case, Value

GROUPS = 3
_NULL_EVERY = 11


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """A column and what is known of it."""

    case: Case
    table: pa.Table
    """One column, `c`."""

    group_rows: int
    """Rows of each row group."""

    present: tuple[Value, ...]
    """Values that are there, in a random order."""

    counts: tuple[int, ...]
    """How often each of them is."""

    absent: tuple[Value, ...]
    """Values that are not, in a random order."""


def rows_of(case: Case, group_rows: int, *, edges: bool = False) -> Rows:
    """Make the rows of a type.

    Args:
        case: The type.
        group_rows: Rows of each row group.
        edges: Begin with the type's special values, and end with those of which Python has none.
    """
    rng = np.random.default_rng(len(case.name))
    even = rng.permutation(np.arange(0, case.size, 2)).tolist()
    numbers = [None if i % _NULL_EVERY == 3 else even[i % len(even)] for i in range(2 * group_rows)]
    special, far = (case.special, case.far) if edges else ((), ())
    numbers = numbers[: len(numbers) - len(far)]
    numbers[: len(special)] = [None] * len(special)
    stored = Counter(n for n in numbers if n is not None)
    asked = rng.permutation(list(stored)).tolist()
    values = [None if n is None else case.make(n) for n in numbers]
    values[: len(special)] = special
    present = {case.make(n): count for n, count in stored.items()}
    for value in present.keys() & set(special):
        present[value] += special.count(value)
    absent = (case.make(n) for n in rng.permutation(np.arange(1, case.size - 1, 2)).tolist())
    return Rows(
        case=case,
        table=pa.table({"c": _column(case, values, far, group_rows)}),
        group_rows=group_rows,
        present=tuple(case.make(n) for n in asked),
        counts=tuple(present[case.make(n)] for n in asked),
        absent=tuple(value for value in absent if value not in {*present, *special}),
    )


def _column(
    case: Case, values: list[Value | None], far: tuple[int, ...], group_rows: int
) -> pa.ChunkedArray:
    parts = [values[:group_rows], [None] * group_rows, values[group_rows:]]
    arrays = [_array(case, part) for part in parts]
    if far:
        width = pa.int32() if pa.types.is_date32(case.kind) else pa.int64()
        arrays.append(pa.array(far, width).cast(case.kind))
    return pa.chunked_array(arrays)


def _array(case: Case, values: list[Value | None]) -> pa.Array:
    if case.shape == "flat":
        is_encoded = pa.types.is_dictionary(case.arrow)
        plain = pa.array(values, case.kind if is_encoded else case.arrow)
        return plain.cast(case.arrow) if is_encoded else plain
    nested = {
        "struct": pa.struct([("x", case.arrow), ("y", pa.int32())]),
        "list": pa.list_(case.arrow),
        "map": pa.map_(case.arrow, pa.int32()),
    }[case.shape]
    return pa.array([None if v is None else _wrapped(case, v) for v in values], nested)


def _wrapped(case: Case, value: Value) -> object:
    if case.shape == "struct":
        return {"x": value, "y": 7}
    return [value, value] if case.shape == "list" else [(value, 7)]
