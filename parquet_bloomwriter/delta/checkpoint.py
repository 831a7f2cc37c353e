"""Checkpoints: the actions that make up a table's state at a version, from Parquet or JSON.

In Parquet, each action is a struct column, and all but one of a row's columns are null. A V2
checkpoint may be JSON instead, and may name sidecars, which hold its files.

A checkpoint can have 100,000 files and more. So the columns are kept as Arrow arrays, and the
fields of an action are converted when they are asked for. An action has the fields that an entry in
JSON would have: all fields, known or unknown, that are not null. `partitionValues_parsed` and
`stats_parsed` only repeat other fields as columns, and are left out of actions; a missing `stats`
is rebuilt from `stats_parsed`.

Source: Delta protocol, "Checkpoint Schema", "V2 Spec", "Sidecar Files".
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from parquet_bloomwriter.delta.actions import Add, parse_actions
from parquet_bloomwriter.delta.statistics import stats_of
from parquet_bloomwriter.errors import TableProblem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parquet_bloomwriter.delta.log import Checkpoint
    from parquet_bloomwriter.delta.place import TablePlace

FILES_AT_ONCE = 8
"""Number of threads that read parts and sidecars: they mostly wait for stores."""

SIDECARS = "_sidecars"

_KEYS = {"protocol": "minReaderVersion", "metaData": "schemaString", "sidecar": "path"}
"""The field of each action that is never null, by name of the action."""

_REPEATED = frozenset({"stats_parsed", "partitionValues_parsed"})
_REMEDY = "Restore it from a backup, or remove the checkpoint if all entries are there still."
_BLOCK = 1024
"""Number of rows whose statistics are rebuilt at a time."""


@dataclass(kw_only=True)
class CheckpointState:
    """The actions of a checkpoint that a snapshot needs."""

    protocol: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] | None = None
    adds: list[Add] = field(default_factory=list)
    sidecars: list[str] = field(default_factory=list)
    """Names of the sidecars, as files of the log."""


def read_checkpoint(place: TablePlace, checkpoint: Checkpoint) -> CheckpointState:
    """Read the actions of a checkpoint.

    Raises:
        TableProblem: If it is damaged, or a file of it is missing.
        StoreProblem, OSError: If it cannot be read.
    """
    state = CheckpointState()
    for part in _read_files(place, checkpoint.names):
        state.protocol = part.protocol or state.protocol
        state.metadata = part.metadata or state.metadata
        state.adds += part.adds
        state.sidecars += part.sidecars
    for sidecar in _read_files(place, state.sidecars):
        state.adds += sidecar.adds
    return state


def _read_files(place: TablePlace, names: Sequence[str]) -> Iterator[CheckpointState]:
    def read(name: str) -> CheckpointState:
        try:
            data = place.read_log(name)
        except FileNotFoundError:
            raise TableProblem(
                f"the checkpoint's file {name} is missing",
                path=place.root,
                remedy=_REMEDY,
            ) from None
        if name.endswith(".json"):
            return _of_json(data, name, place.root)
        try:
            return _of_parquet(data)
        except (pa.ArrowException, OSError, KeyError, ValueError) as error:
            raise TableProblem(
                f"the checkpoint's file {name} is damaged: {error}",
                path=place.root,
                remedy=_REMEDY,
            ) from error

    if len(names) < 2:  # noqa: PLR2004  one needs no threads
        yield from map(read, names)
        return
    with ThreadPoolExecutor(FILES_AT_ONCE, thread_name_prefix="checkpoint") as pool:
        yield from pool.map(read, names)


def _of_json(data: bytes, name: str, root: str) -> CheckpointState:
    state = CheckpointState()
    for kind, fields in parse_actions(data, name=name, root=root):
        if kind == "protocol":
            state.protocol = fields
        elif kind == "metaData":
            state.metadata = fields
        elif kind == "add":
            state.adds.append(Add(fields))
        elif kind == "sidecar":
            state.sidecars.append(_sidecar(fields["path"]))
    return state


def _sidecar(path: str) -> str:
    """Return the name of a sidecar as a file of the log, in the log's folder for sidecars."""
    return f"{SIDECARS}/{unquote(path).rpartition('/')[2]}"


def _of_parquet(data: bytes) -> CheckpointState:
    file = pq.ParquetFile(pa.BufferReader(data), coerce_int96_timestamp_unit="us")
    state = CheckpointState()
    schema = file.schema_arrow
    kinds = [kind for kind in ("protocol", "metaData", "sidecar") if kind in schema.names]
    if kinds:
        others = file.read(columns=kinds)
        for kind in kinds:
            found = as_json(_present(others.column(kind), _KEYS[kind]))
            if kind == "sidecar":
                state.sidecars = [_sidecar(one["path"]) for one in found]
            elif found and kind == "protocol":
                state.protocol = found[-1]
            elif found:
                state.metadata = found[-1]
    if "add" in schema.names:
        state.adds = _adds(file, schema.field("add").type)
    return state


def _present(column: pa.ChunkedArray, key: str) -> pa.StructArray:
    """Return the rows that have the action, as one array. Some writers make only fields null."""
    kept = column.drop_null().combine_chunks()
    rows = kept if isinstance(kept, pa.Array) else pa.concat_arrays(kept.chunks)
    keys = rows.field(key)
    return rows.filter(keys.is_valid()) if keys.null_count else rows


def _adds(file: pq.ParquetFile, kind: pa.StructType) -> list[Add]:
    names = [one.name for one in kind]
    if not {"path", "size", "modificationTime"} <= set(names):
        raise KeyError("files have no path, size or time")
    rows = _present(
        file.read(columns=[f"add.{name}" for name in names if name not in _REPEATED]).column("add"),
        "path",
    )
    columns: dict[str, _Column] = {
        one.name: _Column(values) for one, values in zip(rows.type, rows.flatten(), strict=True)
    }
    has_all_stats = "stats" in columns and not rows.field("stats").null_count
    if "stats_parsed" in names and len(rows) and not has_all_stats:
        # The path tells which rows are no files: a column on its own cannot be null there.
        both = _present(file.read(columns=["add.path", "add.stats_parsed"]).column("add"), "path")
        columns["stats"] = _Stats(columns.get("stats"), both.field("stats_parsed"))
    return [Add(_Fields(columns, row)) for row in range(len(rows))]


class _Fields(Mapping[str, Any]):
    """The fields of one action, converted when they are asked for.

    Equal to a `dict` of the fields.
    """

    __slots__ = ("_columns", "_row")

    def __init__(self, columns: Mapping[str, _Column], row: int) -> None:
        self._columns = columns
        self._row = row

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  as JSON
        value = self._columns[name][self._row]
        if value is None:
            raise KeyError(name)
        return value

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401  as JSON
        column = self._columns.get(name)
        value = None if column is None else column[self._row]
        return default if value is None else value

    def __iter__(self) -> Iterator[str]:
        row = self._row
        return (name for name, column in self._columns.items() if column[row] is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return repr(dict(self))

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        return dict, (dict(self),)


class _Column:
    """A field of all actions of one kind; values are converted to those of JSON."""

    def __init__(self, values: pa.Array) -> None:
        self._values: pa.Array | None = values
        self._made: list[Any] = []

    def __getitem__(self, row: int) -> Any:  # noqa: ANN401  as JSON
        values = self._values
        if values is not None:
            self._made = as_json(values)
            self._values = None
        return self._made[row]


class _Stats(_Column):
    """The statistics of all files; missing ones are rebuilt in blocks of rows."""

    def __init__(self, given: _Column | None, parsed: pa.StructArray) -> None:
        self._given = given
        self._parsed = parsed
        self._blocks: dict[int, list[str | None]] = {}

    def __getitem__(self, row: int) -> Any:  # noqa: ANN401  as JSON
        given = None if self._given is None else self._given[row]
        if given is not None:
            return given
        start = row - row % _BLOCK
        block = self._blocks.get(start)
        if block is None:
            block = self._blocks[start] = stats_of(self._parsed.slice(start, _BLOCK))
        return block[row - start]


def as_json(values: pa.Array) -> list[Any]:
    """Return Arrow values as values of JSON; null fields of structs are left out."""
    kind = values.type
    if pa.types.is_struct(kind):
        return _structs(values)
    if pa.types.is_map(kind):
        return _maps(values)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = as_json(values.values)
        ends = values.offsets.to_pylist()
        valid = values.is_valid().to_pylist()
        return [
            inner[start:stop] if is_valid else None
            for start, stop, is_valid in zip(ends, ends[1:], valid, strict=False)
        ]
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return [
            None if one is None else base64.b64encode(one).decode() for one in values.to_pylist()
        ]
    if pa.types.is_temporal(kind) or pa.types.is_decimal(kind):
        return [None if one is None else str(one) for one in values.to_pylist()]
    found: list[Any] = values.to_pylist()
    return found


def _structs(values: pa.StructArray) -> list[Any]:
    names = [one.name for one in values.type]
    if values.null_count == len(values):
        return [None] * len(values)
    columns = [as_json(column) for column in values.flatten()]
    rows = zip(*columns, strict=True) if columns else ((),) * len(values)
    return [
        {name: one for name, one in zip(names, row, strict=True) if one is not None}
        if is_valid
        else None
        for is_valid, row in zip(values.is_valid().to_pylist(), rows, strict=True)
    ]


def _maps(values: pa.MapArray) -> list[Any]:
    if values.null_count == len(values):
        return [None] * len(values)
    keys, items = as_json(values.keys), as_json(values.items)
    ends = values.offsets.to_pylist()
    return [
        dict(zip(keys[start:stop], items[start:stop], strict=True)) if is_valid else None
        for start, stop, is_valid in zip(
            ends, ends[1:], values.is_valid().to_pylist(), strict=False
        )
    ]
