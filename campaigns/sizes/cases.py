"""What is large, how large, and what is done with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from campaigns.sizes.shapes import (
    write_columns,
    write_row_groups,
    write_rows,
    write_wide_footer,
)
from campaigns.sizes.sparse import write_sparse
from parquet_bloomwriter import (
    Verdict,
    advise,
    bloomify,
    inspect,
    probe,
    read_table,
    strip,
    verify,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NEW = "new.parquet"
"""Name of the file with filters, beside the one without."""

VALUE = 1
"""What is looked up; it is in the first row group."""

_ALL = ("bloomify", "verify", "inspect", "probe", "advise", "read_table", "strip")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One kind of large file."""

    name: str
    unit: str
    """What is counted."""

    largest: float
    """So many of them; tried are a quarter, a half, and all."""

    make: Callable[[Path, Any], object]
    column: str
    num_filters: Callable[[float], int]
    """Of the column `column`, or of all columns, at a size."""

    columns: tuple[str, ...] | None = None
    """Which get filters; None for all."""

    options: dict[str, Any] = field(default_factory=dict)
    """Of `bloomify`."""

    min_filter_bytes: float = 0
    """Of every filter, for each unit."""

    verbs: tuple[str, ...] = _ALL


def run(case: Case, verb: str, path: Path, size: float) -> None:
    """Run a verb on a file of this case, and check what comes of it.

    Raises:
        AssertionError: If it is wrong.
    """
    new = path.with_name(NEW)
    columns = None if case.columns is None else list(case.columns)
    if verb == "bloomify":
        report = bloomify(path, columns, output=new, overwrite=True, **case.options)
        chunks = [chunk for column in report.columns for chunk in column.chunks]
        assert len(chunks) == case.num_filters(size), len(chunks)
        assert all((c.num_bytes or 0) >= case.min_filter_bytes * size for c in chunks)
        return
    _CHECKS[verb](case, path, new, size)


def _verify(case: Case, _: Path, new: Path, size: float) -> None:
    report = verify(new)
    assert report.passed
    assert len(report.checks) == case.num_filters(size)


def _inspect(case: Case, _: Path, new: Path, size: float) -> None:
    assert len(inspect(new).filters) == case.num_filters(size)


def _probe(case: Case, _: Path, new: Path, __: float) -> None:
    (found,) = probe(new, f"{case.column} = {VALUE}").files
    kept = [one.row_group for one in found.row_groups if one.verdict is Verdict.MIGHT_MATCH]
    assert kept[:1] == [0], kept
    assert len(kept) <= 1 + len(found.row_groups) // 20


def _advise(case: Case, path: Path, _: Path, __: float) -> None:
    assert advise(path, [case.column]).columns


def _read_table(case: Case, _: Path, new: Path, __: float) -> None:
    table = read_table(new, filters=f"{case.column} = {VALUE}", columns=[case.column])
    assert table[case.column].to_pylist() == [VALUE]


def _strip(_: Case, path: Path, new: Path, __: float) -> None:
    back = path.with_name("back.parquet")
    strip(new, output=back, overwrite=True)
    assert back.stat().st_size == path.stat().st_size


_CHECKS = {
    "verify": _verify,
    "inspect": _inspect,
    "probe": _probe,
    "advise": _advise,
    "read_table": _read_table,
    "strip": _strip,
}

CASES = {
    case.name: case
    for case in (
        Case(
            name="sparse",
            unit="GiB",
            largest=17,
            make=write_sparse,
            column="id",
            columns=("id",),
            num_filters=lambda _: 2,
        ),
        Case(
            name="columns",
            unit="columns",
            largest=10_000,
            make=lambda path, size: write_columns(path, round(size)),
            column="c0",
            num_filters=round,
        ),
        Case(
            name="row groups",
            unit="row groups",
            largest=5_000,
            make=lambda path, size: write_row_groups(path, round(size)),
            column="c0",
            num_filters=lambda size: 2 * round(size),
        ),
        Case(
            name="footer",
            unit="row groups of 1,000 columns, 0.1 MB of footer each",
            largest=500,
            make=lambda path, size: write_wide_footer(path, round(size)),
            column="c0",
            columns=("c0",),
            num_filters=round,
        ),
        Case(
            name="filter",
            unit="MiB of filter",
            largest=128,
            make=lambda path, size: write_rows(path, round(size * 8192)),
            column="c0",
            num_filters=lambda _: 1,
            options={"fpp": 1e-14},
            min_filter_bytes=1 << 20,
            verbs=("bloomify", "verify", "inspect", "probe", "read_table", "strip"),
        ),
        Case(
            name="rows",
            unit="rows in a row group",
            largest=50_000_000,
            make=lambda path, size: write_rows(path, round(size)),
            column="c0",
            num_filters=lambda _: 1,
            verbs=("bloomify", "verify", "probe", "advise", "read_table", "strip"),
        ),
    )
}
