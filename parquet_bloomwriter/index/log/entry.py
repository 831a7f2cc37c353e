"""One entry of an index's log: everything that a version of the index consists of.

    <home>/<name>/_log/<id>                 one JSON entry each, ids from 0
    <home>/<name>/v__=<N>/manifest.bfindex  the files that the version knows, one row each
    <home>/<name>/v__=<N>/column=<name>/part-<uuid>.bfindex    their filters
    <home>/<name>/v__=<N>/column=<name>/global-<uuid>.bloom    the filter of all values

All data is Parquet (the global filter: header and bitset) and is written once. The suffix is not
`.parquet`, so that nobody's `**/*.parquet` takes an index for data. A version refers to parts of
older versions as long as they hold filters of files that it knows.

File ids are given once and never again: a file that was replaced has a new one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from parquet_bloomwriter.index.contract import contract_of

if TYPE_CHECKING:
    from parquet_bloomwriter.index.contract import Contract
    from parquet_bloomwriter.index.states import State


KIND = "BloomFilterIndex"
"""As the Hyperspace proposal calls it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """One file of an index."""

    path: str
    """Relative to the index's folder, with "/"."""

    size: int
    """Bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalFilter:
    """The filter of a column's values in all files of the index."""

    file: DataFile
    fpp: float
    """Exact rate of this very filter."""

    ndv: int
    """Distinct values, estimated."""

    stop: int
    """It covers every file whose id is below."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedColumn:
    """One column of an index."""

    name: str
    """Dotted path of a leaf column."""

    fpp: float
    """False positive probability asked for, in (0, 1)."""

    expected_num_items: int | None = None
    """Distinct values expected in the whole table; None takes the number of rows."""

    parts: tuple[DataFile, ...] = ()
    global_filter: GlobalFilter | None = None
    no_global: str = ""
    """Why there is no global filter, a clause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of the log."""

    id: int
    """0-based, the name of its file."""

    name: str
    """The index's."""

    state: State
    version: int
    """N of the newest folder `v__=N`; -1 as long as there is none."""

    root: str | None
    """Folder that paths of files are relative to; None: the folder that holds the index's home."""

    columns: tuple[IndexedColumn, ...]
    manifest: DataFile | None = None
    next_file_id: int = 0
    num_files: int = 0
    """Files that the version knows."""

    source_bytes: int = 0
    """Bytes of these files."""

    action: str = ""
    """What led here: "create", "refresh incremental", ..."""

    created_ms: int = 0
    """When the entry was written, milliseconds since 1970 UTC."""

    attempt: str = ""
    """Random id of the attempt at an action that wrote the entry. Two processes may write entries
    of the same content in the same millisecond; only this tells whose entry got into the log. Empty
    in entries of older versions of this package."""

    options: dict[str, str] = field(default_factory=dict)
    """How the index was made, for the next refresh: "source" ("values", "embedded", "auto"),
    "contract" (as in `contract`), and limits."""

    kind: str = KIND

    @property
    def contract(self) -> Contract:
        """What may be taken for granted about the table's files."""
        return contract_of(self.options)

    def column(self, name: str) -> IndexedColumn | None:
        """The indexed column of this name."""
        return next((one for one in self.columns if one.name == name), None)
