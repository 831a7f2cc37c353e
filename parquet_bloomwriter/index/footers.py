"""What the footer of each file says about the columns to be indexed, read in threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from parquet_bloomwriter.index.build.file_filters import clause
from parquet_bloomwriter.index.files import location
from parquet_bloomwriter.index.indexable import find_leaf, why_unreadable
from parquet_bloomwriter.metadata.fields import ChunkField, FileField
from parquet_bloomwriter.parallel import default_jobs
from parquet_bloomwriter.source import read_footer
from parquet_bloomwriter.source.local import open_local

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parquet_bloomwriter.index.files import FileId
    from parquet_bloomwriter.metadata import Footer, Leaf

_FILES_AT_ONCE = 32
_LATENCY = 4
"""Threads for each core: a mounted disk makes them wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFacts:
    """One column in one file."""

    problem: str
    """Why it cannot be indexed, a clause; empty if it can."""

    num_values: int = 0
    """Nulls included."""

    filter_bytes: int | None = None
    """Bytes of its filters with their headers; None if not all row groups have one."""

    num_row_groups: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """One file."""

    problem: str
    """Why it cannot be read, a clause; empty if it can."""

    num_rows: int = -1
    leaves: tuple[Leaf, ...] = ()
    columns: tuple[ColumnFacts, ...] = ()
    """In the order asked for; empty if the file cannot be read."""


def facts_of(root: str, files: Sequence[FileId], columns: Sequence[str]) -> list[FileFacts]:
    """Read the footers of files, in threads; a file that cannot be read is no error.

    Args:
        root: What their paths are relative to, absolute.
        files: The files.
        columns: Names of the columns to tell about.
    """
    batches = [files[at : at + _FILES_AT_ONCE] for at in range(0, len(files), _FILES_AT_ONCE)]
    read = partial(_read_all, root, columns)
    with ThreadPoolExecutor(_LATENCY * default_jobs(), thread_name_prefix="bloomify") as pool:
        return [one for batch in pool.map(read, batches) for one in batch]


def _read_all(root: str, columns: Sequence[str], files: Sequence[FileId]) -> list[FileFacts]:
    return [_read(location(root, file), columns) for file in files]


def _read(path: str, columns: Sequence[str]) -> FileFacts:
    try:
        path.encode()
        with open_local(path) as source:
            footer = read_footer(source)
            return _facts(footer, columns)
    except UnicodeEncodeError:
        return FileFacts(problem="its name is no UTF-8")
    except Exception as error:  # noqa: BLE001  whatever it is, the others can be indexed
        return FileFacts(problem=clause(error))


def _facts(footer: Footer, columns: Sequence[str]) -> FileFacts:
    return FileFacts(
        problem="",
        num_rows=max(int(footer.file.value(FileField.NUM_ROWS)[0]), 0),
        leaves=footer.leaves,
        columns=tuple(_column(footer, name) for name in columns),
    )


def _column(footer: Footer, name: str) -> ColumnFacts:
    leaf = find_leaf(footer.leaves, name)
    if isinstance(leaf, str):
        return ColumnFacts(problem=leaf)
    problem = why_unreadable(footer, leaf)
    if problem is not None:
        return ColumnFacts(problem=problem)
    chunks = footer.chunks.values[:, leaf.ordinal]
    lengths = chunks[:, ChunkField.BLOOM_FILTER_LENGTH]
    return ColumnFacts(
        problem="",
        num_values=int(chunks[:, ChunkField.NUM_VALUES].clip(0).sum()),
        filter_bytes=int(lengths.sum()) if (lengths > 0).all() else None,
        num_row_groups=len(chunks),
    )
