"""File systems for datasets that outlive their files: they open the versions that were probed.

A dataset of surviving row groups names them by ordinals, which mean nothing in another version of a
file. pyarrow opens files whenever a scan begins, so each file of which a dataset reads a part is
kept open from the start: a scan finds that version even if another file has taken its name. There
is no such version if a program wrote into the file itself, if the dataset was sent to another
process, or if more files are read in part than `_MOST_FILES`: then a scan of a changed file fails
(`FileChanged`), instead of returning other rows.

A store gives its newest version only. So a scan compares, whenever it opens a file, what the store
says of it with what it said when the file was probed, and fails if that differs (`FileChanged`).
Where a store says nothing that tells versions, no row group is left out.
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

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    import pyarrow.dataset as ds

    from parquet_bloomwriter.errors import FileChanged
    from parquet_bloomwriter.scan.snapshots import FileStates
    from parquet_bloomwriter.scan.survivors import Piece, Survivors
    from parquet_bloomwriter.scan.table import TableFiles

_MOST_FILES = 100
"""Files that one dataset keeps open; processes may open 256 to 1,024 files, by default."""


class _ReadOnlyFiles(pafs.FileSystemHandler):  # type: ignore[misc]
    """Files of another file system that can be read only."""

    def __init__(self, filesystem: pafs.FileSystem, states: FileStates) -> None:
        self._filesystem = filesystem
        self._states = states

    def __eq__(self, other: object) -> bool:
        """Whether both are the same files."""
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
        """Return what the file system says of files."""
        found: list[pafs.FileInfo] = self._filesystem.get_file_info(paths)
        return found

    def get_file_info_selector(self, selector: pafs.FileSelector) -> list[pafs.FileInfo]:
        """Return what the file system says of the files of a folder."""
        found: list[pafs.FileInfo] = self._filesystem.get_file_info(selector)
        return found

    def _refuse(self, *_: object) -> NoReturn:
        raise OSError("the files of this dataset can only be read")

    create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = _refuse
    delete_file = move = copy_file = open_output_stream = open_append_stream = _refuse


class CheckedObjects(_ReadOnlyFiles):
    """Files on a store that are read only, in the versions that were probed."""

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
    """Files on disk that are read only, in the state that they had."""

    def __init__(self, states: FileStates, *, memory_map: bool) -> None:
        super().__init__(pafs.LocalFileSystem(), states)
        self._memory_map = memory_map
        self._fds: dict[str, int] = {}

    def hold(self, paths: Iterable[str]) -> Self:
        """Keep files open that are still in their state, as long as this object is used."""
        for path in paths:
            if len(self._fds) >= _MOST_FILES:
                break
            with suppress(OSError):
                fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                weakref.finalize(self, os.close, fd)
                if self._states.is_of(path, fd):
                    self._fds[path] = fd
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave open files behind: their numbers mean nothing in another process."""
        return _unpickled, (self._states, self._memory_map)

    def open_input_file(self, path: str) -> pa.NativeFile:
        """Open the version of a file that was probed.

        Raises:
            FileChanged: If there is no such version any more.
        """
        fd = self._fds.get(path)
        opened = open_file(path if fd is None else f"/dev/fd/{fd}", memory_map=self._memory_map)
        if not self._states.is_content_of(path, opened.source.fd):
            raise _changed(path)
        return opened.file


def held_fragments(
    table: TableFiles, survivors: Survivors, *, memory_map: bool
) -> tuple[ds.ParquetFileFragment, ...]:
    """Return the fragments to scan; those of which only one version will do open this version."""
    states = survivors.states
    on_disk = pafs.PyFileSystem(HeldFiles(states, memory_map=memory_map).hold(states.states))
    on_store = states.store and pafs.PyFileSystem(CheckedObjects(states.store, states))

    def one(fragment: ds.ParquetFileFragment, piece: Piece) -> ds.ParquetFileFragment:
        if fragment.path in states.states:
            return without_footer(fragment, piece.row_groups, filesystem=on_disk)
        if states.objects.get(fragment.path) is not None:
            return without_footer(fragment, piece.row_groups, filesystem=on_store)
        if table.is_open or is_local(fragment):
            return fragment
        return without_footer(piece.fragment, None)

    return tuple(map(one, survivors.fragments, survivors.pieces))


def _changed(path: str) -> FileChanged:
    return file_changed(path, "after the dataset was made", "Make the dataset anew.")


def _unpickled(states: FileStates, memory_map: bool) -> HeldFiles:  # noqa: FBT001  as pickled
    return HeldFiles(states, memory_map=memory_map)
