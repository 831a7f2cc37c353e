"""Parse pyarrow expressions into trees.

pyarrow has no way to walk an expression, but pickles it as Arrow C++ serializes it: an Arrow IPC
file with one record batch of one row. The metadata of its schema lists the tree in the order of
writing:

    call NAME, arguments, [options COLUMN], end NAME
    field_ref NAME                      a column
    nested_field_ref N, field_ref * N   a field of a struct
    literal COLUMN                      the one value of a column of the batch

Keys repeat. pyarrow's dictionary of the metadata would keep one of each, so the pairs are read
through the Arrow C data interface (struct ArrowSchema, "metadata"). This format is internal to
Arrow and may change; `take_apart` raises ValueError for anything else.

Parts that are not understood become `Opaque`, and nothing is pruned for them: positions instead of
names, casts, functions, literals of unknown kinds, and any surprise in the format.

Nulls follow pyarrow: `is_in` is never null. That makes no difference to the rows selected, except
under a NOT: there the tree says what becomes of nulls.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from parquet_bloomwriter.predicate.dnf import membership, non_membership
from parquet_bloomwriter.predicate.expression import (
    And,
    Comparison,
    Constant,
    Expression,
    Holds,
    IsIn,
    IsNull,
    Not,
    Opaque,
    Operator,
    Or,
    UnknownKind,
    is_deep,
)
from parquet_bloomwriter.predicate.literals.python_values import plain_value, plain_values

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    import pyarrow.compute as pc

Pair: TypeAlias = tuple[str, str]

_NOT_TAKEN_APART = (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError)
"""Errors that `take_apart` may raise for an expression of unknown form."""


@dataclass(frozen=True, slots=True)
class Call:
    """A function call in a pyarrow expression."""

    function: str
    arguments: tuple[Node, ...]
    options: Any
    """Options of the function, a struct scalar; None if it has none."""


@dataclass(frozen=True, slots=True)
class Field:
    """A column in a pyarrow expression."""

    path: str
    """Dotted path of the column."""

    names: tuple[str, ...]
    """From the top level down."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal in a pyarrow expression."""

    scalar: Any
    """Value of the literal, a scalar of pyarrow."""


Node: TypeAlias = Call | Field | Literal


def columns_in(expression: pc.Expression) -> list[str] | None:
    """Return the dotted paths of the columns in a pyarrow expression; None if not known."""
    fields = fields_in(expression)
    return None if fields is None else [field.path for field in fields]


def fields_in(expression: pc.Expression) -> list[Field] | None:
    """Return the columns in a pyarrow expression; None if not known."""
    import pyarrow as pa

    try:
        waiting = [take_apart(expression)]
    except (*_NOT_TAKEN_APART, pa.ArrowException):
        return None
    fields = []
    while waiting:
        node = waiting.pop()
        if isinstance(node, Field):
            fields.append(node)
        elif isinstance(node, Call):
            waiting.extend(node.arguments)
    return fields


def take_apart(expression: object) -> Node:
    """Return the tree of a pyarrow expression.

    Raises:
        ValueError: If the format is not the one described above.
        pyarrow.ArrowException: If the expression cannot be serialized (columns by position).
    """
    import pyarrow as pa

    arguments: Any = expression.__reduce__()[1]
    with pa.ipc.open_file(arguments[0]) as file:
        pairs, batch = _metadata(file.schema), file.get_batch(0)
    if batch.num_rows != 1:
        raise ValueError("there is not one row of literals")
    return _tree(iter(pairs), [batch.column(index)[0] for index in range(batch.num_columns)])


def nesting_of(expression: object) -> int:
    """Return the depth of nested calls of a pyarrow expression; 0 if it is not known."""
    import pyarrow as pa

    try:
        root = take_apart(expression)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, pa.ArrowException):
        return 0
    depth, level = 0, [root]
    while level := [part for one in level if isinstance(one, Call) for part in one.arguments]:
        depth += 1
    return depth


def _tree(pairs: Iterator[Pair], scalars: list[pa.Scalar]) -> Node:
    """Build the tree without recursion: a disjunction of 10,000 nests as deeply."""
    open_calls: list[tuple[str, list[Node]]] = []
    options: Any = None
    for key, text in pairs:
        if key == "call":
            open_calls.append((text, []))
            continue
        if key == "options":
            options = scalars[int(text)]
            continue
        if key == "end":
            function, arguments = open_calls.pop()
            node: Node = Call(function, tuple(arguments), options)
            options = None
        else:
            node = _leaf(key, text, pairs, scalars)
        if not open_calls:
            _expect_end(pairs)
            return node
        open_calls[-1][1].append(node)
    raise ValueError("the tree has no end")


def _leaf(key: str, text: str, pairs: Iterator[Pair], scalars: list[pa.Scalar]) -> Node:
    if key == "literal":
        return Literal(scalars[int(text)])
    if key == "field_ref":
        return Field(text, (text,))
    if key != "nested_field_ref":
        raise ValueError(f"an element of the tree is {key!r}")
    names = [next(pairs, ("", "")) for _ in range(int(text))]
    if any(key != "field_ref" for key, _ in names):
        raise ValueError("a field of a struct has no name")
    parts = tuple(name for _, name in names)
    return Field(".".join(parts), parts)


def _expect_end(pairs: Iterator[Pair]) -> None:
    if next(pairs, None) is not None:
        raise ValueError("something follows the tree")


class _ArrowSchema(ctypes.Structure):
    """The first members of struct ArrowSchema of the Arrow C data interface."""

    _fields_ = (
        ("format", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("metadata", ctypes.c_void_p),
    )


def _metadata(schema: pa.Schema) -> list[Pair]:
    """Return all pairs, in order: a count, then keys and values, each after its size (int32)."""
    capsule = schema.__arrow_c_schema__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    at = _ArrowSchema.from_address(pointer(capsule, b"arrow_schema")).metadata
    if not at:
        raise ValueError("there is no metadata")
    texts, at_text = [], at + 4
    for _ in range(2 * ctypes.c_int32.from_address(at).value):
        size = ctypes.c_int32.from_address(at_text).value
        texts.append(ctypes.string_at(at_text + 4, size).decode())
        at_text += 4 + size
    return list(zip(texts[::2], texts[1::2], strict=True))


_COMPARISONS: dict[str, tuple[Operator, Operator]] = {
    "equal": ("=", "="),
    "not_equal": ("!=", "!="),
    "less": ("<", ">"),
    "less_equal": ("<=", ">="),
    "greater": (">", "<"),
    "greater_equal": (">=", "<="),
}
"""Operators by pyarrow's function, with the column on the left, and on the right."""

_CONNECTIVES: dict[str, type[And | Or]] = {
    "and": And,
    "and_": And,
    "and_kleene": And,
    "or": Or,
    "or_": Or,
    "or_kleene": Or,
}
"""Connectives by pyarrow's function; those without Kleene's logic are true for fewer rows, never
more."""

_MATCH, _SKIP = 0, 1
"""SetLookupOptions::NullMatchingBehavior of Arrow C++."""

_ALL = 2
"""MapLookupOptions::Occurrence of Arrow C++."""


def from_arrow(expression: object) -> Expression:
    """Make a tree of any pyarrow expression; `Opaque` if it cannot be taken apart."""
    import pyarrow as pa

    try:
        tree = _condition(take_apart(expression), is_negated=False)
        return Opaque(str(expression)) if is_deep(tree) else tree
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        return Opaque(str(expression))
    except pa.ArrowException:
        return Opaque(str(expression))


def _condition(node: Node, *, is_negated: bool) -> Expression:
    try:
        found = _of_node(node, is_negated=is_negated)
    except UnknownKind:
        found = None
    return Opaque(_text(node)) if found is None else found


def _of_node(node: Node, *, is_negated: bool) -> Expression | None:
    if isinstance(node, Field):
        return Comparison(node.path, "=", value=True)
    if isinstance(node, Literal):
        value = plain_value(node.scalar)
        return Constant(value) if isinstance(value, bool) else None
    if node.function in _CONNECTIVES:
        kind = _CONNECTIVES[node.function]
        return kind(tuple(_condition(one, is_negated=is_negated) for one in _operands(node)))
    if node.function == "invert" and len(node.arguments) == 1:
        return _negation(_condition(node.arguments[0], is_negated=True))
    return _comparison(node) if node.function in _COMPARISONS else _test(node, is_negated)


def _operands(call: Call) -> Iterator[Node]:
    """Yield the operands of a run of the same connective, in order, without recursion."""
    waiting: list[Node] = [call]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Call) and one.function == call.function:
            waiting.extend(reversed(one.arguments))
        else:
            yield one


def _comparison(call: Call) -> Expression | None:
    as_written, mirrored = _COMPARISONS[call.function]
    match call.arguments:
        case (Field(column), Literal(scalar)):
            return Comparison(column, as_written, plain_value(scalar))
        case (Literal(scalar), Field(column)):
            return Comparison(column, mirrored, plain_value(scalar))
    return None


def _test(call: Call, is_negated: bool) -> Expression | None:  # noqa: FBT001  passed on
    """Make a tree of a null test, or of `is_in`; None for anything else."""
    match call.arguments:
        case (Field(column),):
            pass
        case (Call("map_lookup") as lookup,) if call.function == "is_valid":
            return _has_key(lookup)
        case _:
            return None
    if call.function == "is_valid":
        return Not(IsNull(column))
    if call.function == "is_null" and not call.options["nan_is_null"].as_py():
        return IsNull(column)
    if call.function == "is_in":
        return _membership(column, call, is_negated)
    return None


def _has_key(lookup: Call) -> Expression | None:
    """Make a tree of `map_lookup(map, key, "all").is_valid()`; null maps have no keys.

    The first value of a key may be null, though the key is there.
    """
    match lookup.arguments:
        case (Field(column),) if lookup.options["occurrence"].as_py() == _ALL:
            key = plain_value(lookup.options["query_key"])
            return None if key is None else Holds(column, "key", key, "ANY")
    return None


def _membership(column: str, call: Call, is_negated: bool) -> Expression | None:  # noqa: FBT001
    behavior = call.options["null_matching_behavior"].as_py()
    values = plain_values(call.options["value_set"].values)
    if behavior == _SKIP:
        values = [value for value in values if value is not None]
    elif behavior != _MATCH:
        return None
    members = membership(column, values)
    if is_negated and None not in values:
        return And((members, Not(IsNull(column))))
    return members


def _negation(operand: Expression) -> Expression:
    """Negate a tree; `~field.isin(...)` becomes the same tree as `not in` of pyarrow's filters."""
    match operand:
        case And((IsIn(column, values), Not(IsNull()))):
            return non_membership(column, values)
    return Not(operand)


def _text(node: Node) -> str:
    if isinstance(node, Field):
        return node.path
    if isinstance(node, Literal):
        return str(node.scalar)
    return f"{node.function}({', '.join(_text(argument) for argument in node.arguments)})"
