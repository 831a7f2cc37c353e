"""The configuration of an index: the arguments of `create` that its log keeps for every refresh."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, cast, get_args

from parquet_bloomwriter.arguments import names_of, rates_of
from parquet_bloomwriter.errors import IndexProblem, InvalidArgument
from parquet_bloomwriter.index.contract import CONTRACTS, LISTING, OPTION
from parquet_bloomwriter.index.engine import Origin
from parquet_bloomwriter.index.entry import IndexedColumn
from parquet_bloomwriter.index.table.metadata import state_of
from parquet_bloomwriter.sbbf.sizing import check_max_bytes
from parquet_bloomwriter.text import suggestion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.arguments import Rate
    from parquet_bloomwriter.index.contract import Contract
    from parquet_bloomwriter.index.entry import Entry
    from parquet_bloomwriter.index.table.metadata import TableState

V = TypeVar("V", float, int)

DEFAULT_FPP = 0.01
"""Default false positive probability of a column."""

MAX_FILE_BYTES = 16 << 20
MAX_TOTAL_BYTES = 4 << 30

_ORIGINS: tuple[str, ...] = get_args(Origin)
_MIN_FILTER_BYTES = 64

_SLICES, _NO = "slices", "no"
"""The option of a log entry, name and value, that says that the index has no slices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexConfig:
    """The configuration of an index: how its filters are built."""

    columns: tuple[IndexedColumn, ...]
    """The configured columns: names, FPPs and expected numbers of distinct values; without
    parts."""

    origin: Origin
    max_file_bytes: int
    """Maximum size of the filter of one file and column, bytes."""

    max_total_bytes: int
    """Maximum estimated size of an index that may be built, bytes."""

    contract: Contract = "checked"
    state: TableState | None = None
    """For a Delta or Iceberg table: the version or snapshot that the index is built from."""

    slices: bool = True
    """Whether slices are written for groups of many filters."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    def field_id(self, name: str) -> int | None:
        """Return the field id of an Iceberg column in data files; None: it is found by its name."""
        return None if self.state is None else self.state.field_id(name)

    def options(self) -> dict[str, str]:
        """Return the options that a log entry stores besides the columns."""
        options = {
            "source": self.origin,
            OPTION: self.contract,
            "max_file_bytes": str(self.max_file_bytes),
            "max_total_bytes": str(self.max_total_bytes),
            **LISTING,
        }
        if self.state is not None:
            options |= self.state.options()
        return with_slices_wanted(options, wanted=self.slices)


def config_for(  # noqa: PLR0913  all by keyword
    columns: str | Sequence[str],
    *,
    fpp: Rate | Mapping[str, Rate],
    expected_num_items: int | Mapping[str, int] | None,
    origin: Origin,
    max_file_bytes: int,
    max_total_bytes: int,
    contract: Contract = "checked",
    slices: bool = True,
) -> IndexConfig:
    """Make the configuration that a caller asks for.

    Raises:
        InvalidArgument: If an argument makes no sense by itself.
    """
    columns = names_of(columns)
    if not columns:
        raise InvalidArgument("an index needs at least one column", remedy="Name one.")
    check_distinct(columns)
    if origin not in _ORIGINS:
        raise InvalidArgument(f"{origin!r} is not an origin; there are {', '.join(_ORIGINS)}")
    if contract not in CONTRACTS:
        raise InvalidArgument(f"{contract!r} is not a contract; there are {', '.join(CONTRACTS)}")
    if max_file_bytes < _MIN_FILTER_BYTES:
        raise InvalidArgument(f"a filter has at least {_MIN_FILTER_BYTES} bytes")
    rates = _by_column(columns, rates_of(fpp), "fpp")
    expected = _by_column(columns, expected_num_items, "expected_num_items")
    return IndexConfig(
        columns=tuple(
            IndexedColumn(
                name=name,
                fpp=rates.get(name, DEFAULT_FPP),
                expected_num_items=_count(expected.get(name)),
            )
            for name in columns
        ),
        origin=origin,
        max_file_bytes=check_max_bytes(max_file_bytes),
        max_total_bytes=max_total_bytes,
        contract=contract,
        slices=slices,
    )


def config_of(entry: Entry, *, path: str) -> IndexConfig:
    """Read the configuration that an entry keeps.

    Raises:
        IndexProblem: If the entry has none.
    """
    options = entry.options
    try:
        origin = _ORIGINS[_ORIGINS.index(options["source"])]
        max_file, max_total = int(options["max_file_bytes"]), int(options["max_total_bytes"])
    except (KeyError, ValueError) as error:
        problem = "the index's entry does not say how it was made"
        raise IndexProblem(problem, path=path, remedy="Delete, vacuum and create it.") from error
    return IndexConfig(
        columns=tuple(
            IndexedColumn(
                name=column.name, fpp=column.fpp, expected_num_items=column.expected_num_items
            )
            for column in entry.columns
        ),
        origin=cast("Origin", origin),
        max_file_bytes=max_file,
        max_total_bytes=max_total,
        contract=entry.contract,
        slices=are_slices_wanted(options),
        state=state_of(options),
    )


def are_slices_wanted(options: Mapping[str, str]) -> bool:
    """Return whether the options of a log entry ask for slices; the default is yes."""
    return options.get(_SLICES) != _NO


def with_slices_wanted(options: Mapping[str, str], *, wanted: bool) -> dict[str, str]:
    """Return the options of a log entry, changed to ask for slices or for no slices."""
    others = {name: value for name, value in options.items() if name != _SLICES}
    return others if wanted else others | {_SLICES: _NO}


def check_distinct(columns: Sequence[str]) -> None:
    """Check that no two names denote the same column when case is ignored.

    Raises:
        InvalidArgument: If two names do.
    """
    spelled: dict[str, list[str]] = {}
    for name in columns:
        spelled.setdefault(name.lower(), []).append(name)
    for names in spelled.values():
        if len(names) > 1:
            shown = " and ".join(f'"{name}"' for name in dict.fromkeys(names))
            problem = f"one column is named more than once, as {shown}: case does not matter here"
            raise InvalidArgument(problem, remedy="Name it once.")


def _by_column(
    columns: Sequence[str], given: V | Mapping[str, V] | None, option: str
) -> Mapping[str, V]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        return dict.fromkeys(columns, given)
    strange = [name for name in given if name not in columns]
    if strange:
        problem = f"{option} is given for {strange[0]}, which is not a column of the index"
        raise InvalidArgument(problem, remedy=suggestion(strange[0], columns))
    return given


def _count(expected: int | None) -> int | None:
    if expected is not None and expected < 1:
        raise InvalidArgument(f"{expected} is not a number of distinct values")
    return expected
