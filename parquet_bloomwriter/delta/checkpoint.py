"""The state of a table in a checkpoint: its files, schema and protocol.

A checkpoint has a row for each action, in one column for each kind: `add`, `metaData`, `protocol`
and others; version 2 may name sidecars, which have the rows of `add`. Of `add` all fields are kept,
known or not, in the form that JSON has them. Not kept are `partitionValues_parsed` and
`stats_parsed`, which say the same in columns; where a checkpoint has only these, the statistics are
rebuilt (`statistics`).

Source: Delta protocol, "Checkpoints", "Checkpoint Schema".
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from parquet_bloomwriter.delta.actions import Add, Metadata, Protocol, protocol_of, without_nulls
from parquet_bloomwriter.delta.statistics import stats_json
from parquet_bloomwriter.errors import TableProblem
from parquet_bloomwriter.source.stream import as_arrow_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from parquet_bloomwriter.delta.place import TablePlace

_PARSED = ("partitionValues_parsed", "stats_parsed")
_SIDECARS = "_sidecars"


@dataclass(kw_only=True)
class State:
    """What a checkpoint says of the table."""

    adds: list[Add] = field(default_factory=list)
    protocol: Protocol | None = None
    metadata: Metadata | None = None


def read_checkpoint(place: TablePlace, names: Sequence[str]) -> State:
    """Read the files of a checkpoint.

    Args:
        place: Of the table.
        names: Of the checkpoint's files, in the log's folder.

    Raises:
        TableProblem: If one of them cannot be understood, or a sidecar is missing.
        StoreProblem, OSError: If one cannot be read.
    """
    state, sidecars = State(), list[str]()
    for name in names:
        _read_file(place, name, state, sidecars)
    for sidecar in sidecars:
        try:
            _read_file(place, f"{_SIDECARS}/{unquote(sidecar).rpartition('/')[2]}", state, [])
        except FileNotFoundError as error:
            raise TableProblem(
                f"a checkpoint of the log names {_SIDECARS}/{sidecar}, which is not there",
                path=place.root,
            ) from error
    return state


def _read_file(place: TablePlace, name: str, state: State, sidecars: list[str]) -> None:
    try:
        if name.endswith(".json"):
            for line in place.read_log(name).splitlines():
                if line.strip():
                    _take(json.loads(line), state, sidecars)
        else:
            _read_parquet(place, name, state, sidecars)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TableProblem(
            f"{name} of the log is no checkpoint that can be read: {error}", path=place.root
        ) from error


def _take(action: Mapping[str, Any], state: State, sidecars: list[str]) -> None:
    for kind, fields in action.items():
        if fields is None:
            continue
        if kind == "add":
            state.adds.append(Add(without_nulls(fields)))
        elif kind == "protocol":
            state.protocol = protocol_of(fields)
        elif kind == "metaData":
            state.metadata = Metadata(without_nulls(fields))
        elif kind == "sidecar":
            sidecars.append(str(fields["path"]))


def _read_parquet(place: TablePlace, name: str, state: State, sidecars: list[str]) -> None:
    import pyarrow.parquet as pq

    with place.open_log(name) as source, as_arrow_file(source) as file:
        table = pq.read_table(file, partitioning=None)
    for kind in ("protocol", "metaData", "sidecar"):
        if kind in table.column_names:
            for fields in _rows(table, kind):
                _take({kind: fields}, state, sidecars)
    if "add" in table.column_names:
        state.adds += _adds(table)


def _rows(table: pa.Table, kind: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of one kind of action."""
    column = table[kind]
    rows: list[dict[str, Any]] = column.filter(column.is_valid()).to_pylist(
        maps_as_pydicts="strict"
    )
    yield from rows


def _adds(table: pa.Table) -> Iterator[Add]:
    """Yield the files, with statistics as JSON."""
    import pyarrow as pa

    column = table["add"].filter(table["add"].is_valid()).combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # of no chunks
        column = pa.array([], column.type)
    fields = [column.type.field(at) for at in range(column.type.num_fields)]
    kept = [at for at, one in enumerate(fields) if one.name not in _PARSED]
    values = {fields[at].name: column.field(at).to_pylist(maps_as_pydicts="strict") for at in kept}
    parsed = column.type.get_field_index("stats_parsed")
    if parsed >= 0:
        rebuilt = stats_json(column.field(parsed), values.get("stats"), len(column))
        values["stats"] = rebuilt
    names = tuple(values)
    for row in zip(*values.values(), strict=True):
        found = {name: value for name, value in zip(names, row, strict=True) if value is not None}
        vector = found.get("deletionVector")
        if vector is not None:
            found["deletionVector"] = without_nulls(vector)
        yield Add(found)
