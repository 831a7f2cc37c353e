"""Find leaf columns of files and tables by the names that callers give, and values by column."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from parquet_bloomwriter.arguments import names_of
from parquet_bloomwriter.errors import ColumnNotFound, InvalidArgument
from parquet_bloomwriter.text import near_pattern, safe, suggestion

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from parquet_bloomwriter.metadata import Footer, Leaf, Schema


class Column(Protocol):
    """A leaf column of a file or a table, which can be a key of a dictionary."""

    @property
    def name(self) -> str:
        """Dotted path of the column."""
        ...

    @property
    def ordinal(self) -> int:
        """Position among the leaf columns, 0-based."""
        ...


T = TypeVar("T")
C = TypeVar("C", bound=Column)

EVERY_COLUMN = "*"
"""Name that stands for all columns that are not named."""

LEAVE_OUT = "Leave it out."
_MAX_KNOWN = 64
"""Maximum number of file schemas that are cached; the files of a table have few."""

_ORDINAL = "#"
_LEAST_MATCHED = 3
"""Least names that a proposed pattern stands for."""

_WILD = re.compile(r"[*?]")


def select_columns(leaves: Sequence[C], names: str | Iterable[str]) -> tuple[C, ...]:
    """Return the leaf columns of one name or several, each once, in the order of the names.

    A name is a leaf's dotted path, the dotted path of a group (for all leaves in it), or `#` and a
    0-based leaf ordinal, which is unambiguous where paths are not. If no column has the name, it is
    a pattern of dotted paths, where `*` stands for any letters, dots among them, and `?` for one.

    Raises:
        ColumnNotFound: If a name matches nothing, or two leaves of the same path.
        InvalidArgument: If a name is not text.
    """
    check_is_one_name(names, [leaf.name for leaf in leaves])
    return tuple(dict.fromkeys(leaf for name in names_of(names) for leaf in _select(leaves, name)))


def check_is_one_name(given: object, known: Sequence[str]) -> None:
    """Check that the name of one column is not a list of several columns.

    Raises:
        ColumnNotFound: If there is no such column, but commas separate names of columns in it.
    """
    if not isinstance(given, str) or "," not in given or given in known:
        return
    parts = [part.strip() for part in given.split(",")]
    if set(parts) <= set(known):
        listed = ", ".join(f'"{part}"' for part in parts)
        raise ColumnNotFound(
            f'there is no column "{given}"', name=given, remedy=f"Give a list: [{listed}]."
        )


def choose_columns(
    leaves: Sequence[C], names: str | Iterable[str] | None, exclude: str | Iterable[str] = ()
) -> tuple[C, ...]:
    """Return the leaf columns that are named (None for all), without those that are excluded.

    Raises:
        ColumnNotFound: If a name, in either list, matches nothing, or two leaves of the same path.
        InvalidArgument: If all that are named are excluded.
    """
    chosen = tuple(leaves) if names is None else select_columns(leaves, names)
    excluded = set(select_columns(leaves, exclude))
    kept = tuple(leaf for leaf in chosen if leaf not in excluded)
    if chosen and not kept:
        raise InvalidArgument(
            "all columns that are chosen are excluded, too", remedy="Exclude fewer."
        )
    return kept


def divide_names(
    leaves: Sequence[Column], names: str | Iterable[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names that match a column, and those that match none.

    Raises:
        ColumnNotFound: If a name matches two leaves of the same path.
        InvalidArgument: If a name is not text.
    """
    present, absent = [], []
    for name in names_of(names):
        try:
            select_columns(leaves, name)
        except ColumnNotFound as error:
            if error.column is not None:
                raise
            absent.append(name)
        else:
            present.append(name)
    return tuple(present), tuple(absent)


def settle_per_column(
    leaves: Sequence[C], chosen: Sequence[C], given: T | Mapping[str, T], *, default: T
) -> dict[C, T]:
    """Return the value for each chosen column, given for all columns or by name.

    Args:
        leaves: All leaf columns.
        chosen: The columns that need a value.
        given: One value for all, or values by name (as for `select_columns`; later ones win), with
            `EVERY_COLUMN` for all that are not named.
        default: For columns that get no value otherwise.

    Raises:
        ColumnNotFound: If a name matches nothing, or is ambiguous.
        InvalidArgument: If a name matches a column that is not chosen.
    """
    if not isinstance(given, Mapping):
        return dict.fromkeys(chosen, given)
    values = dict.fromkeys(chosen, given.get(EVERY_COLUMN, default))
    for name, value in given.items():
        if name == EVERY_COLUMN:
            continue
        named = select_columns(leaves, [name])
        if _is_pattern(leaves, name):
            named = tuple(leaf for leaf in named if leaf in values) or named
        for leaf in named:
            if leaf not in values:
                raise InvalidArgument(
                    f'a value is given for "{name}", which is none of the columns chosen',
                    remedy="Choose the column too.",
                )
            values[leaf] = value
    return values


def _select(leaves: Sequence[C], name: str) -> Sequence[C]:
    exact = [leaf for leaf in leaves if leaf.name == name]
    if len(exact) > 1:
        ordinals = " or ".join(f"'{_ORDINAL}{leaf.ordinal}'" for leaf in exact)
        raise ColumnNotFound(
            f'{len(exact)} columns are named "{name}"',
            name=name,
            column=name,
            remedy=f"Choose by ordinal: {ordinals}.",
        )
    if exact:
        return exact
    ordinal = name.removeprefix(_ORDINAL)
    if ordinal != name and ordinal.isdecimal() and int(ordinal) < len(leaves):
        return [leaves[int(ordinal)]]
    inside = [leaf for leaf in leaves if leaf.name.startswith(f"{name}.")]
    if inside:
        return inside
    matching = set(matching_names((leaf.name for leaf in leaves), name))
    if matching:
        return [leaf for leaf in leaves if leaf.name in matching]
    typed = {
        leaf.name: f"'{_ORDINAL}{leaf.ordinal}' ({leaf.name})"
        for leaf in leaves
        if not can_be_listed(leaf.name)
    }
    names = [leaf.name for leaf in leaves]
    near = near_pattern(name, names) if _WILD.search(name) else None
    remedy = suggestion(name, names, typed=typed, near=near)
    what = "no column matches" if _WILD.search(name) else "there is no column"
    raise ColumnNotFound(f'{what} "{name}"', name=name, remedy=remedy)


def matching_names(names: Iterable[str], pattern: str) -> tuple[str, ...]:
    """Return the names that a pattern matches; empty for text with neither `*` nor `?`.

    The time grows with the lengths of name and pattern, however many `*` there are: each part of
    the pattern between two of them is matched where it occurs first, and nowhere else.
    """
    if not _WILD.search(pattern):
        return ()
    expression, *parts = [re.escape(part).replace(r"\?", ".") for part in pattern.split("*")]
    if parts:
        expression += "".join(f"(?>.*?{part})" for part in parts[:-1]) + f".*{parts[-1]}"
    matches = re.compile(expression, re.DOTALL).fullmatch
    return tuple(name for name in names if matches(name))


def patterns_for(names: Sequence[str], others: Iterable[str]) -> tuple[str, ...]:
    """Return few patterns and names that match all of `names`, and none of `others`.

    A pattern is a beginning of names, up to their digits or their last underscore, hyphen or dot,
    or an end from there. Names that share none stand for themselves.
    """
    hidden = tuple(others)
    ends = dict.fromkeys(pattern for name in names for pattern in _ends_of(name))
    found = {
        pattern: dict.fromkeys(matching_names(names, pattern))
        for pattern in ends
        if not matching_names(hidden, pattern)
    }
    words, left = [], dict.fromkeys(names)
    while left:
        best = max(found, key=lambda pattern: len(found[pattern].keys() & left.keys()), default="")
        matched = found.get(best, {}).keys() & left.keys()
        if len(matched) < _LEAST_MATCHED:
            break
        words.append(best)
        left = {name: None for name in left if name not in matched}
    return (*words, *left)


def _ends_of(name: str) -> Iterator[str]:
    if _WILD.search(name):
        return
    if found := re.match(r"(.*\D)\d+$", name, re.DOTALL):
        yield f"{found[1]}*"
    if found := re.match(r"(.*[_.-])([^_.-]+)$", name, re.DOTALL):
        yield f"{found[1]}*"
        yield f"*{found[0][len(found[1]) - 1 :]}"


def _is_pattern(leaves: Sequence[Column], name: str) -> bool:
    """Return whether a name is a pattern, and no column has it."""
    return bool(_WILD.search(name)) and all(leaf.name != name for leaf in leaves)


def can_be_listed(name: str) -> bool:
    """Return whether a name can stand in a list that commas and spaces separate."""
    return bool(name) and "," not in name and name == name.strip()


def listed_name(leaf: Column) -> str:
    """Return a column's name for a list with commas: its path, or `#` and its ordinal."""
    return leaf.name if can_be_listed(leaf.name) else f"{_ORDINAL}{leaf.ordinal}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """One leaf column of a table."""

    ordinal: int
    """0-based position of the column among the leaf columns."""

    name: str
    """Dotted path of names in the table."""

    stored_name: str
    """Name of the column in files, which stays when the column is renamed."""


TC = TypeVar("TC", bound=TableColumn)


class TableColumns(ABC, Generic[TC]):
    """The leaf columns of a table, whatever its format. Safe in threads."""

    def __init__(self, columns: Iterable[TC]) -> None:
        """Take the columns; reading them may fill in `_without`."""
        self._without: dict[str, tuple[str, str]] = {}
        """The reason and the remedy, by the name of a column that cannot be selected."""

        self._known: dict[Schema, Mapping[str, Leaf]] = {}
        self.columns = tuple(columns)
        self._by_name = {column.name: column for column in self.columns}

    def select(self, names: str | Sequence[str] | None) -> tuple[str, ...]:
        """Find leaf columns by one or several names; return them in this order, without duplicates.

        Args:
            names: Dotted paths; those of structs, lists and maps stand for all leaves in them. None
                for all leaf columns.

        Returns:
            Names of the leaves in the table.

        Raises:
            ColumnNotFound: If a name matches nothing, two leaves of the same path, or a column that
                no file stores, or whose type has no values that could be looked up.
        """
        if names is None:
            return tuple(column.name for column in self.columns)
        listed = tuple(names_of(names))
        for name in listed:
            if name in self._without:
                why, remedy = self._without[name]
                raise ColumnNotFound(f'"{safe(name)}" {why}', name=name, column=name, remedy=remedy)
        return tuple(column.name for column in select_columns(self.columns, listed))

    def stored_name(self, name: str) -> str:
        """Return the name of a leaf column in files, which stays when the column is renamed.

        Args:
            name: The name of a leaf, as `select` returns it.
        """
        return self._by_name[name].stored_name

    def in_file(self, footer: Footer) -> Mapping[str, Leaf]:
        """Find the leaf columns of a file that store columns of the table.

        A leaf may be narrower than the table's type, if that was widened since.

        Returns:
            Leaves by the names of the table; those that the file lacks are missing.

        Raises:
            UnsupportedFile: If the table finds columns by their ids, and the file has none.
        """
        leaves = self._known.get(footer.schema)
        if leaves is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            leaves = self._known[footer.schema] = self._leaves_of(footer)
        return leaves

    @abstractmethod
    def _leaves_of(self, footer: Footer) -> Mapping[str, Leaf]:
        """See `in_file`."""
