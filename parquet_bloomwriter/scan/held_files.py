"""A file system for scans of pyarrow: it opens files in the versions that were probed.

pyarrow opens files whenever a scan begins, and looks at the footers that it finds then. Surviving
row groups are named by ordinals, which mean nothing in another version of a file: such a scan fails
(`FileChanged`), instead of returning other rows. A file that is read as a whole may have changed;
but its new metadata are compared with its schema first, because pyarrow would hang, or end the
process (`metadata.contradictions`).

A dataset outlives its files. So each file of which it reads a part is kept open from the start: a
scan finds that version even if another file has taken its name. There is no such version if a
program wrote into the file itself, if the dataset was sent to another process, or if more files are
read in part than `_MOST_FILES`.

A store gives its newest version only. So a scan of a dataset compares, whenever it opens a file,
what the store says of it with what it said when the file was probed, and fails if that differs
(`FileChanged`). Where a store says nothing that tells versions, no row group is left out.
"""

from __future__ import annotations

import os
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa
import pyarrow.fs as pafs

from parquet_bloomwriter.scan.snapshots import (
    file_changed,
    is_local,
    open_file,
    without_footer,
)
from parquet_bloomwriter.scan.survivors import check_comparable

if TYPE_CHECKING:
    from typing import Self

    import pyarrow.dataset as ds

    from parquet_bloomwriter.errors import FileChanged
    from parquet_bloomwriter.scan.snapshots import FileStates
    from parquet_bloomwriter.scan.survivors import Piece, Survivors
    from parquet_bloomwriter.scan.table import TableFiles

_MOST_FILES = 100
"""Most files that one dataset keeps open; processes may open 256 to 1,024 files, by default."""


class _ReadOnlyFiles(pafs.FileSystemHandler):  # type: ignore[misc]
    """A read-only view of another file system's files, for pyarrow."""

    def __init__(self, filesystem: pafs.FileSystem, states: FileStates) -> None:
        self._filesystem = filesystem
        self._states = states

    def __eq__(self, other: object) -> bool:
        """Return whether both are views of the same files."""
        return (
            isinstance(other, _ReadOnlyFiles)
            and self._filesystem == other._filesystem
            and self._states == other._states
        )

    __hash__ = None  # type: ignore[assignment]

    def open_input_file(self, path: str) -> pa.NativeFile:
        """Open the version of a file that was probed."""
        raise NotImplementedError

    def open_input_stream(self, path: str) -> pa.NativeFile:
        """Open the version of a file that was probed."""
        return self.open_input_file(path)

    def get_type_name(self) -> str:
        """Return the name of this kind of file system."""
        return "parquet_bloomwriter"

    def normalize_path(self, path: str) -> str:
        """Return the path unchanged."""
        return path

    def get_file_info(self, paths: list[str]) -> list[pafs.FileInfo]:
        """Return the file system's information on files."""
        found: list[pafs.FileInfo] = self._filesystem.get_file_info(paths)
        return found

    def get_file_info_selector(self, selector: pafs.FileSelector) -> list[pafs.FileInfo]:
        """Return the file system's information on the files of a folder."""
        found: list[pafs.FileInfo] = self._filesystem.get_file_info(selector)
        return found

    def _refuse(self, *_: object) -> NoReturn:
        raise OSError("the files of this dataset can only be read")

    create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = _refuse
    delete_file = move = copy_file = open_output_stream = open_append_stream = _refuse


class CheckedObjects(_ReadOnlyFiles):
    """A read-only view of files on a store, in the versions that were probed."""

    def open_input_file(self, path: str) -> pa.NativeFile:
        """Open the version of a file that was probed.

        Raises:
            FileChanged: If the store has another version now.
        """
        file = self._filesystem.open_input_file(path)
        if not self._states.may_be_current(path, file):
            raise _changed(path)
        return file


class HeldFiles(_ReadOnlyFiles):
    """A read-only view of files on disk, in the states in which they were probed."""

    def __init__(
        self, states: FileStates, parts: frozenset[str], *, memory_map: bool, has_keys: bool
    ) -> None:
        """Prepare to open files; none is open yet.

        Args:
            states: Of all files, before they were probed.
            parts: Paths of the files of which only one version will do.
            memory_map: Whether pyarrow maps files into memory.
            has_keys: Whether pyarrow has keys of encrypted columns.
        """
        super().__init__(pafs.LocalFileSystem(), states)
        self._parts = parts
        self._memory_map = memory_map
        self._has_keys = has_keys
        self._fds: dict[str, int] = {}

    def hold(self) -> Self:
        """Keep files that are read in part open, if they are unchanged."""
        for path in filter(self._parts.__contains__, self._states.states):
            if len(self._fds) >= _MOST_FILES:
                break
            with suppress(OSError):
                fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                weakref.finalize(self, os.close, fd)
                if self._states.is_of(path, fd):
                    self._fds[path] = fd
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the open files: their numbers mean nothing in another process."""
        return _unpickled, (self._states, self._parts, self._memory_map, self._has_keys)

    def open_input_file(self, path: str) -> pa.NativeFile:
        """Open the version of a file that was probed.

        Raises:
            FileChanged: If there is no such version any more.
            MalformedFile, UnsupportedFile: If another version will do, but pyarrow cannot compare
                its statistics.
        """
        fd = self._fds.get(path)
        opened = open_file(path if fd is None else f"/dev/fd/{fd}", memory_map=self._memory_map)
        if self._states.is_of(path, opened.source.fd):
            return opened.file
        if path in self._parts and not self._states.is_content_of(path, opened.source.fd):
            raise _changed(path)
        check_comparable(opened.source, has_keys=self._has_keys)
        return opened.file


def held_fragments(
    table: TableFiles, survivors: Survivors, *, keeps_open: bool
) -> tuple[ds.ParquetFileFragment, ...]:
    """Return the fragments for pyarrow to scan.

    Args:
        table: The table.
        survivors: What to scan of it.
        keeps_open: Whether files are kept open, and objects compared with those that were probed,
            for a scan that may come much later.
    """
    local, states = survivors.probed, survivors.states
    held = HeldFiles(
        local,
        frozenset(states.states),
        memory_map=bool(table.options.get("memory_map")),
        has_keys=table.has_keys,
    )
    on_disk = pafs.PyFileSystem(held.hold() if keeps_open else held)
    on_store = states.store and pafs.PyFileSystem(CheckedObjects(states.store, states))

    def one(fragment: ds.ParquetFileFragment, piece: Piece) -> ds.ParquetFileFragment:
        if fragment.path in local.states:
            return without_footer(fragment, piece.row_groups, filesystem=on_disk)
        if not keeps_open or table.is_open or is_local(fragment):
            return fragment
        if states.objects.get(fragment.path) is not None:
            return without_footer(fragment, piece.row_groups, filesystem=on_store)
        return without_footer(piece.fragment, None)

    return tuple(map(one, survivors.fragments, survivors.pieces))


def _changed(path: str) -> FileChanged:
    return file_changed(path, "after the dataset was made", "Make the dataset anew.")


def _unpickled(
    states: FileStates,
    parts: frozenset[str],
    memory_map: bool,  # noqa: FBT001  as pickled
    has_keys: bool,  # noqa: FBT001  as pickled
) -> HeldFiles:
    return HeldFiles(states, parts, memory_map=memory_map, has_keys=has_keys)
