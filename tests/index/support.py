"""Indexes written by hand, independently of the code that builds them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from parquet_bloomwriter.hashing import xxh64
from parquet_bloomwriter.index.entry import Entry, GlobalFilter, IndexedColumn, IndexFile, State
from parquet_bloomwriter.index.files import FileId
from parquet_bloomwriter.index.format.columns import column_type
from parquet_bloomwriter.index.log.log import IndexLog
from parquet_bloomwriter.index.query.snapshot import Snapshot, open_snapshot
from parquet_bloomwriter.metadata import Leaf, PhysicalType
from parquet_bloomwriter.predicate import parse
from parquet_bloomwriter.sbbf import Sbbf
from tests.support.binding import bare_leaf

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

INT64 = bare_leaf(PhysicalType.INT64, name="id")
INT32 = bare_leaf(PhysicalType.INT32, name="id")
TEXT = bare_leaf(PhysicalType.BYTE_ARRAY, name="id", converted_type=0)

_PART = pa.schema(
    [
        pa.field("fileName", pa.string(), nullable=False),
        pa.field("BFBinary", pa.binary(), nullable=False),
        pa.field("fileId", pa.int64(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("modificationTime", pa.int64(), nullable=False),
        pa.field("rowGroup", pa.int32(), nullable=False),
        pa.field("columnType", pa.string(), nullable=False),
        pa.field("numBytes", pa.int32(), nullable=False),
        pa.field("numValues", pa.int64(), nullable=False),
        pa.field("ndv", pa.int64(), nullable=False),
    ]
)
_MANIFEST = pa.schema(
    [
        pa.field("fileId", pa.int64(), nullable=False),
        pa.field("fileName", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("modificationTime", pa.int64(), nullable=False),
        pa.field("numRows", pa.int64(), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One filter."""

    file_id: int
    filter: Sbbf | None
    """None: there are no values."""

    row_group: int = -1
    leaf: Leaf = INT64
    ndv: int = -1

    @property
    def data(self) -> bytes:
        """Return the row's value of BFBinary."""
        return b"" if self.filter is None else self.filter.to_bytes()


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One indexed column: its parts, each of several row groups of rows."""

    parts: Sequence[Sequence[Sequence[Row]]]
    whole: Sbbf | None = None
    """The global filter."""

    stop: int = 1 << 30
    """Of the global filter."""

    ndv: int = 1000
    no_global: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """An index in a folder."""

    folder: str
    entry: Entry
    options: Mapping[str, Any] = field(default_factory=dict)

    def snapshot(self) -> Snapshot:
        """Open it."""
        found = open_snapshot(self.folder)
        assert isinstance(found, Snapshot), found
        return found

    def paths(self) -> list[str]:
        """The files of its data, absolute."""
        assert self.entry.manifest is not None
        files = [self.entry.manifest]
        for column in self.entry.columns:
            files += column.parts
            files += [column.global_filter.file] if column.global_filter else []
        return [os.path.join(self.folder, one.path) for one in files]  # noqa: PTH118


def hashes(seed: int, count: int) -> NDArray[np.uint64]:
    """Random hashes."""
    return np.random.default_rng(seed).integers(0, 1 << 64, count, dtype=np.uint64)


def filled(num_blocks: int, values: NDArray[np.uint64]) -> Sbbf:
    """A filter of some hashes."""
    filter_ = Sbbf.empty(num_blocks)
    filter_.insert_hashes(values)
    return filter_


def file_of(file_id: int) -> FileId:
    """The data file of an id; there is none on disk."""
    return FileId(f"day={file_id % 3}/part-{file_id}.parquet", 1000 + file_id, 5000 + file_id)


def part_table(rows: Sequence[Row]) -> pa.Table:
    """The rows of a part."""
    files = [file_of(row.file_id) for row in rows]
    columns = {
        "fileName": [file.path for file in files],
        "BFBinary": [row.data for row in rows],
        "fileId": [row.file_id for row in rows],
        "size": [file.size for file in files],
        "modificationTime": [file.modified_ms for file in files],
        "rowGroup": [row.row_group for row in rows],
        "columnType": [column_type(row.leaf) for row in rows],
        "numBytes": [len(row.data) for row in rows],
        "numValues": [0 if row.filter is None else max(row.ndv, 1) for row in rows],
        "ndv": [row.ndv for row in rows],
    }
    return pa.table(columns, schema=_PART)


def write_part(
    path: str,
    row_groups: Iterable[pa.Table],
    *,
    schema: pa.Schema = _PART,
    **options: Any,  # noqa: ANN401  pyarrow's own
) -> None:
    """Write a part as it must be, but for some options."""
    usual = {
        "compression": dict.fromkeys(schema.names, "zstd") | {"BFBinary": "none"},
        "use_dictionary": ["columnType"],
        "write_statistics": False,
        "data_page_size": 1 << 30,
        "write_batch_size": 1 << 20,
    }
    with pq.ParquetWriter(path, schema, **(usual | options)) as writer:
        for table in row_groups:
            writer.write_table(table.cast(schema), row_group_size=1 << 20)


def make(  # noqa: PLR0913  all by keyword but two
    folder: Path,
    columns: Mapping[str, Column],
    *,
    file_ids: Sequence[int],
    entry_id: int = 0,
    version: int = 0,
    state: State = State.ACTIVE,
) -> Made:
    """Write an index of data files that need not exist, into `<home>/<name>`."""
    base = folder / f"v__={version}"
    (folder / "_log").mkdir(parents=True, exist_ok=True)
    indexed = tuple(_column(folder, base, name, column) for name, column in columns.items())
    files = [file_of(file_id) for file_id in file_ids]
    manifest = {
        "fileId": list(file_ids),
        "fileName": [file.path for file in files],
        "size": [file.size for file in files],
        "modificationTime": [file.modified_ms for file in files],
        "numRows": [10] * len(files),
    }
    base.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(manifest, schema=_MANIFEST), base / "manifest.bfindex")
    entry = Entry(
        id=entry_id,
        name=folder.name,
        state=state,
        version=version,
        root=None,
        columns=indexed,
        manifest=_data_file(folder, base / "manifest.bfindex"),
        next_file_id=max((*file_ids, -1)) + 1,
        num_files=len(files),
    )
    assert IndexLog(str(folder)).write(entry)
    return Made(folder=str(folder), entry=entry)


def _column(folder: Path, base: Path, name: str, column: Column) -> IndexedColumn:
    place = base / f"column={name}"
    place.mkdir(parents=True, exist_ok=True)
    parts = []
    for number, row_groups in enumerate(column.parts):
        path = place / f"part-{number}.bfindex"
        write_part(str(path), [part_table(rows) for rows in row_groups])
        parts.append(_data_file(folder, path))
    whole = None
    if column.whole is not None:
        path = place / "global-0.bloom"
        path.write_bytes(column.whole.to_bytes())
        fpp = column.whole.exact_fpp()
        file = _data_file(folder, path)
        whole = GlobalFilter(file=file, fpp=fpp, ndv=column.ndv, stop=column.stop)
    return IndexedColumn(
        name=name,
        fpp=0.01,
        parts=tuple(parts),
        global_filter=whole,
        no_global=column.no_global,
    )


def _data_file(folder: Path, path: Path) -> IndexFile:
    return IndexFile(path=path.relative_to(folder).as_posix(), size=path.stat().st_size)


def of(*values: int, leaf: Leaf = INT64) -> Sbbf:
    """A filter that is next to never wrong."""
    if leaf is TEXT:
        plains: Iterable[bytes] = (str(value).encode() for value in values)
    else:
        width = 4 if leaf is INT32 else 8
        plains = (value.to_bytes(width, "little") for value in values)
    return filled(1024, np.array([xxh64(one) for one in plains], np.uint64))


def kept(index: Made, predicate: str) -> list[int]:
    """Ids of the files that might match, all being well."""
    snapshot = index.snapshot()
    might = snapshot.might_match(parse(predicate))
    assert snapshot.problem is None
    return [int(one) for one in snapshot.files.ids[might]]


def small_index(folder: Path) -> Made:
    """Files 10 to 15: 1; 2; 1 and 3; nothing; unknown; by row groups 1, 2."""
    rows = [
        [Row(file_id=12, filter=of(1, 3)), Row(file_id=10, filter=of(1))],
        [Row(file_id=11, filter=of(2)), Row(file_id=13, filter=None)],
        [
            Row(file_id=15, filter=of(2), row_group=1),
            Row(file_id=15, filter=of(1), row_group=0),
        ],
    ]
    column = Column(parts=[rows[:1], rows[1:]])
    return make(folder / "home" / "ids", {"id": column}, file_ids=range(10, 16))


def many(folder: Path, whole: Sbbf, stop: int) -> Made:
    """Enough files for the global filter to be asked; each holds its id."""
    rows = [Row(file_id=i, filter=of(i)) for i in range(40)]
    column = Column(parts=[[rows]], whole=whole, stop=stop)
    return make(folder / "ids", {"id": column}, file_ids=range(40))
