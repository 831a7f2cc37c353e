"""Conditions on the elements of lists, and keys and values of maps, as pyarrow expressions.

No function of pyarrow 26 finds an element in a list of an expression (`map_lookup` finds a key in
a map). So this module registers a function of its own, written in Python:

    any_element(list or map, what of it, condition)    is the condition true of some element?

The condition is the number of an expression of the field `element`, which this module keeps. It is
evaluated on the elements of a whole batch in one thread: pyarrow's threads wait for the function,
and there may be no other thread to evaluate it. The function returns true or false; `holds` adds
the nulls of SQL, see `expression.Holding`.

pyarrow looks functions up by the exact type of arguments, so each type of lists and maps gets a
function. An expression with such a function can be evaluated in this process only.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.caches import make_room
from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.predicate.arrow_columns import type_of_part
from parquet_bloomwriter.predicate.arrow_comparison import compare, joined

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc

    from parquet_bloomwriter.metadata.elements import Part
    from parquet_bloomwriter.predicate.arrow_columns import Column
    from parquet_bloomwriter.predicate.expression import Holds

_ELEMENT, _ROW = "element", "row"


def holds(column: Column, node: Holds, *, is_negated: bool) -> pc.Expression:
    """Return an expression true where a list or map holds a value; or, negated, does not.

    Args:
        column: The list or the map.
        node: The condition.
        is_negated: Whether to select the opposite.

    Raises:
        InvalidArgument: If the column is no list or no map, or SQL does not compare the literal
            with its elements.
    """
    import pyarrow.compute as pc

    elements = _Elements(column=column, part=node.part, type=type_of_part(column, node.part))
    nothing = pc.scalar(value=False)
    condition = compare(elements, "=", node.value, is_negated=False)  # which checks types
    if node.value is None:
        return nothing
    found = nothing if condition.equals(nothing) else elements.any(condition)
    if not is_negated:
        return found
    parts = [~found]
    if node.function != "ANY":
        parts.append(column.field.is_valid())
    if node.function in {"ANY", "array_contains"} and node.part != "key":
        parts.append(~elements.any(elements.field.is_null()))
    return joined(parts, by_and=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Elements:
    """The elements of a list, or the keys or values of a map, as one side of a comparison."""

    column: Column
    part: Part
    type: pa.DataType

    @property
    def name(self) -> str:
        """Name of the list or map, for messages."""
        return self.column.name

    @property
    def field(self) -> pc.Expression:
        """The elements, as an expression for `any`."""
        import pyarrow.compute as pc

        return pc.field(_ELEMENT)

    def any(self, condition: pc.Expression) -> pc.Expression:
        """Return an expression true of lists with an element for which a condition is true."""
        import pyarrow.compute as pc

        name = _registered(self.column.type)
        arguments = [self.column.field, pc.scalar(self.part), pc.scalar(_kept(condition))]
        return pc.Expression._call(name, arguments)  # noqa: SLF001  no other way to call it


_functions: dict[pa.DataType, str] = {}
"""Names of the registered functions, by the type of lists or maps."""

_conditions: dict[int, pc.Expression] = {}
"""Conditions that were used last, by their numbers."""

_MOST_CONDITIONS = 10_000
"""Most conditions that are kept, about 10 MB; evaluating an older one fails."""

_numbers = itertools.count()
_lock = Lock()


def _kept(condition: pc.Expression) -> int:
    """Keep a condition, and return its number."""
    make_room(_conditions, most=_MOST_CONDITIONS)
    number = next(_numbers)
    _conditions[number] = condition
    return number


def _registered(type_: pa.DataType) -> str:
    """Return the name of the function for lists or maps of a type."""
    import pyarrow as pa
    import pyarrow.compute as pc

    with _lock:
        if type_ not in _functions:
            name = f"parquet_bloomwriter.any_element_{len(_functions)}"
            text = "Whether a condition is true of an element of a list or a map"
            arguments = {"container": type_, "part": pa.string(), "condition": pa.int64()}
            about = {"summary": text, "description": f"{text}: see predicate.arrow_elements."}
            pc.register_scalar_function(_any_element, name, about, arguments, pa.bool_())
            _functions[type_] = name
        return _functions[type_]


def _any_element(context: Any, container: Any, part: Any, condition: Any) -> pa.Array:  # noqa: ANN401  pyarrow calls it
    import numpy as np
    import pyarrow as pa
    from pyarrow import acero

    if isinstance(container, pa.Scalar):  # of a file without the column, or with it in its path
        container = pa.repeat(container, context.batch_length)
    elements, rows = _flattened(container, _constant(part))
    table = pa.table({_ELEMENT: elements, _ROW: rows})
    asked = _conditions.get(_constant(condition))
    if asked is None:
        raise InvalidArgument("the condition is not of this process, or too old")
    steps = [
        acero.Declaration("table_source", acero.TableSourceNodeOptions(table)),
        acero.Declaration("filter", acero.FilterNodeOptions(asked)),
    ]
    found = acero.Declaration.from_sequence(steps).to_table(use_threads=False)
    holds_it = np.zeros(len(container), np.bool_)
    holds_it[found[_ROW].to_numpy()] = True
    return pa.array(holds_it & container.is_valid().to_numpy(zero_copy_only=False))


def _constant(argument: Any) -> Any:  # noqa: ANN401  of arrow
    """Return the value of a constant argument.

    pyarrow passes arrays of one value if all arguments are constants: of a file without the column,
    whose lists are null, before it reads the file.
    """
    import pyarrow as pa

    return (argument if isinstance(argument, pa.Scalar) else argument[0]).as_py()


def _flattened(container: Any, part: Part) -> tuple[pa.Array, Any]:  # noqa: ANN401  arrays without stubs
    """Return the elements of all lists, and the row of each element; null lists may have elements.

    Arrays may be slices: offsets are those of the slice, values those of the whole array.
    """
    import numpy as np
    import pyarrow as pa

    count = np.arange(len(container))
    if pa.types.is_fixed_size_list(container.type):
        size = container.type.list_size
        values = container.values.slice(container.offset * size, len(container) * size)
        return values, np.repeat(count, size)
    offsets = container.offsets.to_numpy()
    values = {"element": "values", "key": "keys", "value": "items"}[part]
    first, last = (int(offsets[0]), int(offsets[-1])) if len(offsets) else (0, 0)
    return getattr(container, values).slice(first, last - first), np.repeat(count, np.diff(offsets))
