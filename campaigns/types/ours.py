"""What this package says of a sample: `probe`, `read_table` and `BloomFile` against the rows."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from parquet_bloomwriter import BloomFile, Verdict, probe, read_table
from tests.readers.engines import PyArrow
from tests.readers.engines.face import brief

if TYPE_CHECKING:
    from collections.abc import Iterator

    from campaigns.types.cases import Value
    from campaigns.types.samples import Sample, Version

_PYARROW = PyArrow()


@dataclass(frozen=True, slots=True, kw_only=True)
class Own:
    """The package's answers about one sample."""

    sample: str
    """The writer's name, the layout and the type."""

    tried: int
    ruled_out: int
    """Absent values that no row group can hold, by the package."""

    num_absent: int
    problems: tuple[str, ...]


def judge_ours(sample: Sample, present: int, absent: int) -> Own:
    """Ask for so many values that are there, and that are not."""
    rows = sample.rows
    there = list(zip(rows.present, rows.counts, strict=True))[:present]
    missing = rows.absent[:absent]
    column = pq.read_metadata(sample.paths["after"]).schema.column(0).path
    problems: list[str] = []
    for value, count in there:
        try:
            problems += _present(sample, column, value, count)
        except Exception as error:  # noqa: BLE001  whatever it is, the package must not raise it
            problems.append(f"{value}: {type(error).__name__}: {brief(error)}")
    ruled_out = sum(_is_ruled_out(sample, column, value) for value in missing)
    return Own(
        sample=sample.name,
        tried=len(there) + len(missing),
        ruled_out=ruled_out,
        num_absent=len(missing),
        problems=tuple(problems),
    )


def _present(sample: Sample, column: str, value: Value, count: int) -> Iterator[str]:
    path = sample.paths["after"]
    versions: tuple[Version, ...] = ("before", "after")
    for version in versions:
        report = probe(sample.paths[version], _filters(sample, column, value))
        if report.verdict is not Verdict.MIGHT_MATCH:
            yield f"probe({version}): {value} is there, and cannot match"
    if not sample.no_filter:
        with BloomFile(path) as file:
            if not file.might_contain(column, value):
                yield f"BloomFile: {value} is there, and is not found"
    condition = _PYARROW.equal_to("c", sample.case.kind, value, sample.case.shape)
    if condition is None:
        return
    try:
        expected = pq.read_table(path, filters=condition).num_rows
    except pa.ArrowException:
        return  # pyarrow has no comparison for the type
    rows = read_table(path, filters=condition).num_rows
    if rows != expected:
        yield f"read_table: {value} is in {expected} rows for pyarrow, not in {rows}"
    if expected != count:
        yield f"pyarrow: {value} is in {expected} rows, not in {count}"


def _is_ruled_out(sample: Sample, column: str, value: Value) -> bool:
    report = probe(sample.paths["after"], _filters(sample, column, value))
    return report.verdict is Verdict.CANNOT_MATCH


def _filters(sample: Sample, column: str, value: Value) -> list[tuple[str, str, Value]]:
    """INT96 is of points in time: a literal without a zone would mean nothing."""
    zoned = value.replace(tzinfo=dt.UTC) if sample.case.name == "INT96" else value
    return [(column, "=", zoned)]
