"""Doubles of sources, whose reads go wrong at will: file objects, and stores of both libraries."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.fs as pafs

from tests.source.stores import AsyncStore, CountingHandler, Misbehaving

if TYPE_CHECKING:
    from collections.abc import Callable

LIES: Final = ("short", "one short", "fails", "fails for ever", "ends", "larger", "smaller")
"""What goes wrong; where the size is wrong, every read is honest."""

RUDE: Final = ("too much", "nothing ready")
"""What no interface allows. pyarrow, where it reads from Python itself, crashes on these."""

_SIZES = {"larger": 100, "smaller": -100}
_PATH = "file.parquet"


@dataclass(slots=True, kw_only=True)
class Trouble:
    """Counts reads, and lets one of them go wrong."""

    lie: str
    at: int
    """The read that goes wrong, from 1."""

    count: int = 0
    """Reads so far."""

    def change(self, data: bytes, wanted: int) -> Any:  # noqa: ANN401  the point is to be wrong
        """What is returned in place of `data`."""
        self.count += 1
        is_now, is_past = self.count == self.at, self.count >= self.at
        if self.lie == "short" and is_past:
            return data[: max(1, len(data) // 2)]
        if (self.lie == "fails" and is_now) or (self.lie == "fails for ever" and is_past):
            raise OSError(errno.EIO, "the disk is on fire")
        if self.lie == "ends" and is_past:
            return b""
        if self.lie == "too much" and is_now:
            return data + bytes(3)
        if self.lie == "nothing ready" and is_now:
            return None
        if self.lie == "one short" and is_now:
            return data[: wanted // 3]
        return data

    def size_of(self, data: bytes) -> int:
        """What the source says of its size."""
        return max(0, len(data) + _SIZES.get(self.lie, 0))


class _Sized(Misbehaving):
    """A stream that says it ends elsewhere."""

    def __init__(self, data: bytes, trouble: Trouble) -> None:
        super().__init__(data, trouble.change)
        self._end = trouble.size_of(data)

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Move; the end is where it says."""
        return super().seek(self._end + offset) if whence == 2 else super().seek(offset, whence)


class _Handler(CountingHandler):
    def __init__(self, data: bytes, trouble: Trouble) -> None:
        super().__init__({_PATH: data})
        self.trouble = trouble

    def open_input_file(self, path: str) -> pa.PythonFile:
        """Open a stream that lies."""
        return pa.PythonFile(_Sized(self.files[path], self.trouble), mode="r")

    open_input_stream = open_input_file


class _Store(AsyncStore):
    def __init__(self, data: bytes, trouble: Trouble) -> None:
        super().__init__({_PATH: data}, ETag="same")
        self.trouble = trouble

    def _entry(self, path: str) -> dict[str, Any]:
        return super()._entry(path) | {"size": self.trouble.size_of(self.files[path])}

    async def _cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **_: object
    ) -> bytes:
        data = self.files[path][start:end]
        found: bytes = self.trouble.change(data, len(data))
        return found


def _stream(data: bytes, trouble: Trouble) -> dict[str, Any]:
    return {"source": _Sized(data, trouble)}


def _arrow(data: bytes, trouble: Trouble) -> dict[str, Any]:
    return {"source": _PATH, "filesystem": pafs.PyFileSystem(_Handler(data, trouble))}


def _fsspec(data: bytes, trouble: Trouble) -> dict[str, Any]:
    return {"source": _PATH, "filesystem": _Store(data, trouble)}


WAYS: Final[dict[str, Callable[[bytes, Trouble], dict[str, Any]]]] = {
    "stream": _stream,
    "arrow": _arrow,
    "fsspec": _fsspec,
}
"""Arguments of a verb, by how the source is given."""
