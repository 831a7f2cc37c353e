"""A file of one type by one writer: as it was written, with filters, and with filters that lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import pyarrow.parquet as pq

from campaigns.types.rows import rows_of
from campaigns.types.writers import PyArrow
from parquet_bloomwriter import bloomify
from parquet_bloomwriter.rewrite.plan import Placement
from tests.support import compact

if TYPE_CHECKING:
    from pathlib import Path

    from campaigns.types.cases import Case
    from campaigns.types.rows import Rows
    from campaigns.types.writers import Writer

Version = Literal["before", "after", "lying"]

_PLACEMENTS: tuple[Placement, ...] = get_args(Placement)
_BLOCK_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One file in three versions."""

    writer: str
    layout: str
    """How it was written: of pyarrow's layouts one, with "edges" the special values."""

    rows: Rows
    paths: dict[Version, Path]
    stored: str
    """The physical type, and the logical one."""

    no_filter: str
    """Why there are no filters; empty if there are."""

    @property
    def case(self) -> Case:
        """The type."""
        return self.rows.case

    @property
    def name(self) -> str:
        """Writer, layout and type."""
        return f"{self.writer}/{self.layout}/{self.case.name}"


def sample_of(writer: Writer, case: Case, folder: Path, layout: str = "plain") -> Sample:
    """Have a file written, and add filters.

    Args:
        writer: Who writes.
        case: The type.
        folder: Where the versions go.
        layout: "plain", one of pyarrow's, or "edges" for the special values.

    Raises:
        Cannot: If the writer has no such type.
        Exception: Whatever the writer raises.
    """
    rows = rows_of(case, writer.group_rows, edges=layout == "edges")
    stem = f"{writer.name}-{layout}-{case.name}".translate(str.maketrans(" (),", "____"))
    old, new, lying = (folder / f"{stem}-{version}.parquet" for version in get_args(Version))
    chosen = PyArrow(layout) if layout in PyArrow.layouts and writer.name == "pyarrow" else writer
    chosen.write(rows, old)
    placement = _PLACEMENTS[len(stem) % len(_PLACEMENTS)]
    report = bloomify(old, output=new, placement=placement, overwrite=True)
    lying.write_bytes(with_lies(new.read_bytes()))
    reasons = [reason for column in report.columns for reason in column.reasons]
    return Sample(
        writer=writer.name,
        layout=layout,
        rows=rows,
        paths={"before": old, "after": new, "lying": lying},
        stored=_stored(old),
        no_filter="" if report.num_built else (reasons or ["no values"])[0],
    )


def with_lies(data: bytes) -> bytes:
    """The file with filters that rule everything out: one bit in each block, of the eight asked."""
    lies = bytearray(data)
    for offset, length in compact.filters_of(compact.footer_of(data)).values():
        assert length is not None
        _, header = compact.decode(data[offset : offset + length])
        num_blocks = (length - header) // _BLOCK_BYTES
        lies[offset + header : offset + length] = bytes([1, *[0] * (_BLOCK_BYTES - 1)]) * num_blocks
    return bytes(lies)


def _stored(path: Path) -> str:
    column = pq.read_metadata(path).schema.column(0)
    physical = str(column.physical_type)
    if physical == "FIXED_LEN_BYTE_ARRAY":
        physical = f"FLBA({column.length})"
    logical = str(column.logical_type).split("(")[0]
    return physical if logical == "None" else f"{physical} {logical}"
