"""File systems that count what is asked of them, and file objects that misbehave."""

from __future__ import annotations

import asyncio
import io
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.fs as pafs
from fsspec.asyn import AsyncFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LONG_AGO = 1_600_000_000
"""Seconds since 1970 UTC: no clock is coarse enough to confuse it with now."""


class CountedStream(io.BytesIO):
    """Bytes that log every read as (position, bytes asked for)."""

    def __init__(self, data: bytes, log: list[tuple[int, int]]) -> None:
        super().__init__(data)
        self.log = log

    def read(self, size: int | None = -1, /) -> bytes:
        """Log, then read."""
        self.log.append((self.tell(), -1 if size is None else size))
        return super().read(size)


class CountingHandler(pafs.FileSystemHandler):  # type: ignore[misc]  # pyarrow has no types
    """A store for `pyarrow.fs.PyFileSystem`: files in a dict, every request in a list."""

    def __init__(self, files: dict[str, bytes], *, mtime: float | None = LONG_AGO) -> None:
        self.files = files
        self.mtime = mtime
        self.log: list[Any] = []

    def get_type_name(self) -> str:
        """Its kind."""
        return "counting"

    def normalize_path(self, path: str) -> str:
        """The path as it is."""
        return path

    def _info(self, path: str) -> pafs.FileInfo:
        if path in self.files:
            size = len(self.files[path])
            return pafs.FileInfo(path, pafs.FileType.File, size=size, mtime=self.mtime)
        is_folder = any(name.startswith(f"{path}/") for name in self.files)
        kind = pafs.FileType.Directory if is_folder else pafs.FileType.NotFound
        return pafs.FileInfo(path, kind)

    def get_file_info(self, paths: Sequence[str]) -> list[pafs.FileInfo]:
        """What is at each path."""
        self.log += [("info", path) for path in paths]
        return [self._info(path) for path in paths]

    def get_file_info_selector(self, selector: pafs.FileSelector) -> list[pafs.FileInfo]:
        """List a folder."""
        self.log.append(("list", selector.base_dir, selector.recursive))
        prefix = f"{selector.base_dir}/"
        names = {name for name in self.files if name.startswith(prefix)}
        names |= {str(folder) for name in names for folder in PurePosixPath(name).parents}
        return [
            self._info(name)
            for name in names
            if name.startswith(prefix)
            and (selector.recursive or "/" not in name.removeprefix(prefix))
        ]

    def open_input_file(self, path: str) -> pa.PythonFile:
        """Open, to read at positions."""
        self.log.append(("open", path))
        return pa.PythonFile(CountedStream(self.files[path], self.log), mode="r")

    open_input_stream = open_input_file

    def _refuse(self, *_: object) -> None:
        raise AssertionError("a store that is only read was written to")

    create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = _refuse
    delete_file = move = copy_file = open_output_stream = open_append_stream = _refuse


class AsyncStore(AsyncFileSystem):  # type: ignore[misc]  # fsspec has no types
    """An asynchronous store: every request takes a while, and how many overlap is recorded."""

    protocol = "asyncstore"
    cachable = False

    def __init__(self, files: dict[str, bytes], **tags: object) -> None:
        super().__init__()
        self.files = files
        self.tags = tags
        self.log: list[Any] = []
        self.at_once = 0
        self.most_at_once = 0

    async def _info(self, path: str, **_: object) -> dict[str, Any]:
        self.log.append(("info", path))
        return self._entry(path)

    def _entry(self, path: str) -> dict[str, Any]:
        if path in self.files:
            size = len(self.files[path])
            return {"name": path, "size": size, "type": "file", **self.tags}
        if any(name.startswith(f"{path}/") for name in self.files):
            return {"name": path, "size": 0, "type": "directory"}
        raise FileNotFoundError(path)

    async def _ls(self, path: str, detail: bool = True, **_: object) -> list[Any]:  # noqa: FBT001, FBT002  as fsspec calls it
        self.log.append(("list", path))
        prefix = f"{path}/"
        below = [name for name in self.files if name.startswith(prefix)]
        names = sorted({prefix + name.removeprefix(prefix).split("/")[0] for name in below})
        markers = [{"name": prefix, "size": 0, "type": "directory"}]  # as S3 has them
        return markers + [self._entry(name) for name in names] if detail else names

    async def _cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **_: object
    ) -> bytes:
        self.log.append((start, end))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(0.01)
        self.at_once -= 1
        return self.files[path][start:end]


class Misbehaving(io.BytesIO):
    """A stream whose answers to `read` are changed by a function of (data, asked for)."""

    def __init__(self, data: bytes, change: Callable[[bytes, int], Any]) -> None:
        super().__init__(data)
        self.change = change

    def read(self, size: int | None = -1, /) -> Any:  # noqa: ANN401  the point is to be wrong
        """Read, and change what was read."""
        wanted = -1 if size is None else size
        return self.change(super().read(wanted), wanted) if wanted else b""
