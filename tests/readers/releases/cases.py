"""The files of the matrix of releases, and the questions about them.

Each file has a column `c` of one type, and two neighbours, whose filters lie beside those of `c`
where the placement has it so. It is written without filters, and with filters in each placement. A
question about a file is also put about its three copies; only the four answers are compared.
"""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

import pyarrow as pa
import pyarrow.parquet as pq

from campaigns.types.cases import CASES
from campaigns.types.rows import rows_of
from campaigns.types.writers import GROUP_ROWS, PyArrow
from parquet_bloomwriter import bloomify
from parquet_bloomwriter.filters.hazards import Reading
from parquet_bloomwriter.rewrite.plan import Placement
from parquet_bloomwriter.source.open import opened_with_footer
from parquet_bloomwriter.verbs.engines.queries import Form, Question

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from campaigns.types.cases import Case
    from parquet_bloomwriter.metadata.schema import Leaf

PLACEMENTS: tuple[Placement, ...] = get_args(Placement)
LAYOUTS = ("plain", "required")
NEIGHBOURS = "small filters, many row groups"
"""A layout of a file of its own: ClickHouse 26.1 loses rows if filters of 2 KiB are neighbours."""

_MANY_ROWS, _MANY_GROUP_ROWS = 20_000, 2_000
TYPES = tuple(
    name
    for name, case in CASES.items()
    if case.shape in ("flat", "struct")
    and name not in ("BOOLEAN", "FLOAT16", "INTERVAL", "ENUM", "JSON", "DECIMAL(76, 2)")
)

Predicate: TypeAlias = tuple[Form, tuple[Any, ...]]

_INTEGERS = (pa.int32(), pa.int64(), pa.float64())
_DECIMALS = (pa.decimal128(18, 2), pa.decimal128(38, 2))
_TIMES = (pa.timestamp("us"), pa.timestamp("ns"))
_FINE = (pa.timestamp("ns"), pa.timestamp("ns", "UTC"))
"""Python's own types have no nanoseconds, so values are whole microseconds."""
_TEXTS = (pa.string(), pa.binary())


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question about the four versions of a file."""

    type: str
    """Name of the type of the column, or of the neighbour."""

    leaf: Leaf
    layout: str
    """One of `LAYOUTS`: required columns have no nulls."""

    reading: Reading
    wider: str
    """The wider type; "" without one."""

    is_present: bool
    """Whether a value that is asked for is in the file."""

    versions: tuple[Question, ...]
    """The question about the file without filters, and with filters in each of `PLACEMENTS`."""


def asked_of(names: Iterable[str], layouts: Iterable[str], folder: Path) -> Iterator[Asked]:
    """Write the files of some types, and yield all questions about them."""
    for name in names:
        for layout in layouts:
            home = folder / f"{name}-{layout}".translate(str.maketrans(" (),", "____"))
            home.mkdir(parents=True)
            yield from _File(CASES[name], layout, home).asked()
    yield from _neighbours(folder)


def _neighbours(folder: Path) -> Iterator[Asked]:
    """Yield questions about columns whose filters are small, and many."""
    numbers = [i * 7_919 % (10 * _MANY_ROWS + 1) for i in range(_MANY_ROWS)]
    texts = [f"s{number}" for number in numbers]
    paths = [folder / f"{name}.parquet" for name in ("before", *PLACEMENTS)]
    table = pa.table({"a": numbers, "b": numbers, "c": numbers, "s": texts})
    leaves = _written(table, paths, row_group_size=_MANY_GROUP_ROWS)
    for name, values, type_ in (("b", numbers, "INT(64, signed)"), ("s", texts, "STRING")):
        some = [values[i * 777] for i in range(6)]
        for form, asked in (*(("=", (one,)) for one in some), ("IN", tuple(values[::500]))):
            yield Asked(
                type=type_,
                leaf=leaves[(name,)],
                layout=NEIGHBOURS,
                reading=Reading.OWN,
                wider="",
                is_present=True,
                versions=tuple(
                    Question(path=str(path), column=(name,), values=asked, form=form)  # type: ignore[arg-type]
                    for path in paths
                ),
            )


def _written(table: pa.Table, paths: list[Path], **options: Any) -> dict[tuple[str, ...], Leaf]:  # noqa: ANN401
    """Write a file without filters, and with them in each placement; return its columns."""
    pq.write_table(table, paths[0], **options)
    for placement, path in zip(PLACEMENTS, paths[1:], strict=True):
        bloomify(paths[0], output=path, placement=placement)
    with opened_with_footer(paths[0]) as (_, footer):
        return {leaf.path: leaf for leaf in footer.leaves}


class _File:
    """One type in one layout, in four versions."""

    def __init__(self, case: Case, layout: str, folder: Path) -> None:
        if case.kind in _FINE:
            case = replace(case, make=CASES[case.name.replace("ns", "us")].make)
        self._case, self._layout, self._folder = case, layout, folder
        self._rows = rows_of(case, GROUP_ROWS)
        table = self._rows.table
        if layout == "required":
            field = pa.field("c", table["c"].type, nullable=False)
            table = pa.table([table["c"].drop_null()], schema=pa.schema([field]))
        numbers = [i * 7 for i in range(len(table))]
        table = table.append_column("n", pa.array(numbers))
        table = table.append_column("s", pa.array([f"s{number}" for number in numbers]))
        self._paths = [folder / f"{name}.parquet" for name in ("before", *PLACEMENTS)]
        self._leaves = _written(table, self._paths, **self._options)

    @property
    def _options(self) -> dict[str, Any]:
        return {
            "row_group_size": GROUP_ROWS,
            "store_decimal_as_integer": self._case.name.endswith("as integer"),
            "use_deprecated_int96_timestamps": self._case.name == "INT96",
            **PyArrow.layouts[self._layout],
        }

    def asked(self) -> Iterator[Asked]:
        """Yield all questions about the file."""
        p, q, r, *_ = self._rows.present
        a = self._rows.absent[0]
        default = _default(p)
        defaults: list[Predicate] = [] if default is None else [("=", (default,))]
        column = ("c",) if self._case.shape == "flat" else ("c", "x")
        some: list[Predicate] = [("=", (p,)), ("=", (a,)), ("IN", (p, a, r))]
        for one in (*some, ("=", (q,)), ("join", (a, r)), *defaults):
            yield self._one(column, one)
        yield self._one(("n",), ("=", (77,)))
        yield self._one(("s",), ("IN", ("s77", "s7")))
        if self._case.shape != "flat":
            return
        if self._layout != "required":
            exact = self._schema_file(self._case.arrow, nullable=False)
            for one in (*some[:1], *defaults, *(("IN", (value, p)) for (_, (value,)) in defaults)):
                yield self._one(column, one, reading=Reading.NOT_NULL, schema_of=exact)
        for kind in _wider(self._case):
            wide = self._schema_file(kind, nullable=True)
            for one in some:
                yield self._one(column, one, reading=Reading.WIDER, wider=kind, schema_of=wide)

    def _one(
        self,
        column: tuple[str, ...],
        predicate: Predicate,
        *,
        reading: Reading = Reading.OWN,
        wider: pa.DataType | None = None,
        schema_of: str | None = None,
    ) -> Asked:
        form, values = predicate
        is_c = column[0] == "c"
        kind = wider or self._case.kind
        return Asked(
            type=self._case.name if is_c else {"n": "INT(64, signed)", "s": "STRING"}[column[0]],
            leaf=self._leaves[column],
            layout=self._layout,
            reading=reading,
            wider=str(wider or ""),
            is_present=not is_c or not {*values}.isdisjoint(self._rows.present),
            versions=tuple(
                Question(
                    path=str(path),
                    column=column,
                    values=values,
                    form=form,
                    unit=getattr(kind, "unit", "us"),
                    width=kind.byte_width if pa.types.is_fixed_size_binary(kind) else 0,
                    digits=kind.precision if pa.types.is_decimal(kind) else 0,
                    schema_of=schema_of,
                )
                for path in self._paths
            ),
        )

    def _schema_file(self, kind: pa.DataType, *, nullable: bool) -> str:
        """Write a file without rows, whose schema is given to an engine."""
        name = f"{kind}-{nullable}".translate(str.maketrans(" (),[]=/", "________"))
        path = self._folder / f"schema-{name}.parquet"
        schema = pa.schema([pa.field("c", kind, nullable=nullable)])
        pq.write_table(schema.empty_table(), path, **self._options)
        return str(path)


def _default(value: Any) -> Any:  # noqa: ANN401
    """Return what engines take a null for, if a column is declared to have none."""
    if isinstance(value, dt.datetime):
        return dt.datetime(1970, 1, 1, tzinfo=value.tzinfo)
    if isinstance(value, dt.date):
        return dt.date(1970, 1, 1)
    if isinstance(value, dt.time):
        return dt.time(0)
    if isinstance(value, uuid.UUID):
        return uuid.UUID(int=0)
    if isinstance(value, Decimal):
        return Decimal("0.00")
    return bytes(len(value)) if isinstance(value, bytes) else type(value)()


def _wider(case: Case) -> Iterator[pa.DataType]:
    """Yield the types that a file of this type is read as."""
    kind = case.arrow
    some: Iterator[pa.DataType]
    if pa.types.is_integer(kind):
        some = (one for one in _INTEGERS if one.bit_width > kind.bit_width)
    elif pa.types.is_decimal(kind):
        some = (one for one in _DECIMALS if one.precision > kind.precision)
    elif pa.types.is_date(kind):
        some = iter(_TIMES)
    elif pa.types.is_timestamp(kind):
        some = iter(pa.timestamp(unit, kind.tz) for unit in ("us", "ns") if unit != kind.unit)
    elif kind in _TEXTS or pa.types.is_fixed_size_binary(kind):
        some = (one for one in _TEXTS if one != kind)
    else:
        some = iter([pa.float64()] if kind == pa.float32() else [])
    yield from some
