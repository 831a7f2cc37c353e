"""The slices of a column: its filters, transposed, so that a lookup reads 8 rows of bits.

A part has the filters one after the other, and a lookup of one value reads 32 bytes of each. In
slices, the same bits are transposed: one row for each bit of a filter, with one bit for each
filter. A value has 8 bits in one block, so a lookup reads 8 rows and joins them by AND: n bytes for
n filters instead of 32 n, in 8 requests instead of n. Parts stay the source of truth.

Only filters of one size and one type can be transposed together: they are a *group*.

    _slices-<uuid>.bfslice

    | "BFSLICE1" | id, 16 bytes | 8 zeros |                        header, 32 bytes
    | page | page | ... |                                          matrix of group 0
    | page | page | ... |                                          matrix of group 1 ...
    | owners | row groups |                                        of group 0, then of group 1 ...
    | file ids | files without slices | places of records |
    | records | records | ... |                                    paths and sizes, by 64 files
    | directory |                                                  JSON
    | length of the directory, 8 bytes | "BFSLICE1" |              trailer

    row (b * 8 + w) * 32 + j of a matrix     bit j of word w of block b of each of the n filters;
                                             filter k is bit k % 8 of byte k // 8; zeros up to a
                                             multiple of 64 bits
    page                                     as many whole rows as 4 KiB hold, a power of two from
                                             1 to 256, with a checksum
    owners int32                             the file of each filter, an ordinal among `file ids`
    row groups int32                         -1: the whole file. Left out if all are -1
    file ids int64                           all files that the version knew, ascending
    files without slices int32               ordinals, ascending: files of which some filter is in
                                             no group, or that have no filter to rely on
    records                                  for up to 64 files: size int64 and modificationTime
                                             int64 of each; int32: where the path of each ends among
                                             the paths; the paths in UTF-8; and a checksum

All numbers are little-endian. A group has at least `MIN_FILTERS` filters. Filters without values
are a group of their own for each type, of any number and without a matrix: nothing is found in it.

What is read is checked, and no more is read than what is needed. The log's entry has the SHA-256 of
the directory. The directory has the id, and place, length and CRC-32 of each array. Pages and
records end with 8 bytes: a CRC-32 and four zeros. The CRC-32 begins with the id and the number of
the page (counted through all groups), or of the record, so that a page of another file or from
another place is noticed.

The directory names the parts that the slices were made of, by path and size. A path has a random
id, and is given once. Slices are used as long as the column still has all these parts. File ids
below `stop` are those of the file; newer files, and those without slices, are looked up in their
parts.

Sources: Bradley et al., "Ultra-fast search of all deposited bacterial and viral genomic data",
2019 (BIGSI); Bingmann et al., "COBS: a Compact Bit-Sliced Signature Index", arXiv 1905.09624.
"""

# ruff: noqa: PTH118  paths are strings, as in the entries
from __future__ import annotations

import hashlib
import json
import os
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from parquet_bloomwriter.errors import IndexProblem
from parquet_bloomwriter.index.files import FileId
from parquet_bloomwriter.index.storage.base import open_file, prefetch, storage_of
from parquet_bloomwriter.sbbf.block import BITS_PER_WORD, WORDS_PER_BLOCK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parquet_bloomwriter.index.entry import SliceFile
    from parquet_bloomwriter.index.format.manifest import FileTable
    from parquet_bloomwriter.index.storage.base import IndexSource

MAGIC = b"BFSLICE1"
HEADER_BYTES = 32
TRAILER_BYTES = 16
ID_BYTES = 16
CHECK_BYTES = 8
"""Size of the checksum after each page and record, bytes."""

MIN_FILTERS = 1000
"""Minimum number of filters in a group. Slices of 1,000 filters of 4 KiB need 1.04 times the bytes
of their part and are looked up in a fifth of the time, 0.1 instead of 0.4 ms; of 300 filters, 1.08
times."""

ROWS_PER_BLOCK = WORDS_PER_BLOCK * BITS_PER_WORD
RECORD_FILES = 64
"""Number of data files in one record; the last record may have fewer."""

_CHECKED_FILES = 1 << 16
"""Number of data files whose records are read in one step."""

_PAGE_BYTES = 4096
"""Size of a page, bytes; a longer row is a page of its own."""

_RUN_BYTES = 4 << 20
"""Approximate size of the records that are read at once, bytes."""

_GAP_BYTES = 16 * 1024
"""Largest gap between two records that are read together, bytes."""

_PAGES, _RECORDS = 0, 1
"""The kinds of bytes that a checksum covers; see `checksum`."""

_NUMBER_BITS = 64
_MAX_DIRECTORY_BYTES = 1 << 28


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """The position of an array in the file."""

    start: int
    """Absolute position, bytes."""

    length: int
    """Length, bytes."""

    crc: int
    """CRC-32 of the array."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A group: the n filters of one type and size."""

    column_type: str
    """Type of the column, as `column_type` in parts."""

    num_blocks: int
    """Number of blocks of each filter, z; 0 for filters without values."""

    num_filters: int
    start: int
    """Absolute position of the first page, bytes."""

    first_page: int
    """Number of the first page."""

    owners: Section
    row_groups: Section | None

    @property
    def row_bytes(self) -> int:
        """Size of one row of the matrix, bytes."""
        return row_bytes(self.num_filters)

    @property
    def rows_per_page(self) -> int:
        """Number of rows in each page."""
        return rows_per_page(self.row_bytes)

    @property
    def page_bytes(self) -> int:
        """Size of a page with its checksum, bytes."""
        return self.rows_per_page * self.row_bytes + CHECK_BYTES

    @property
    def num_pages(self) -> int:
        """Number of pages of the matrix."""
        return self.num_blocks * ROWS_PER_BLOCK // self.rows_per_page

    def page_start(self, row: int) -> int:
        """Return the absolute position of the page that holds a row of the matrix, bytes."""
        return self.start + row // self.rows_per_page * self.page_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePart:
    """A part whose filters are in the slices."""

    path: str
    size: int
    has_others: bool
    """Whether the part also has filters of data files without slices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """The directory of a file of slices: its groups, sections and source parts."""

    id: bytes
    """Random id of this file."""

    stop: int
    """File ids that were given later are not below this number."""

    units: str
    """SHA-256 of `stop`, file ids, and the owner and row group of each filter in ascending order.
    Two columns with the same digest have slices of the same row groups of the same files."""

    num_files: int
    parts: tuple[SourcePart, ...]
    groups: tuple[Group, ...]
    file_ids: Section
    without_slices: Section
    records: Section
    """Absolute positions of the records, int64, and the end of the last record."""

    def to_json(self) -> bytes:
        """Return the directory as JSON."""
        found = {name: _plain(getattr(self, name)) for name in self.__slots__}
        return json.dumps(found, separators=(",", ":")).encode("ascii")

    @classmethod
    def from_json(cls, data: bytes) -> Self:
        """Parse a directory as `to_json` returned it.

        Raises:
            ValueError, KeyError, TypeError: If the data is anything else.
        """
        found = json.loads(data)
        sections = {name: Section(**found[name]) for name in _SECTIONS}
        return cls(
            id=bytes.fromhex(found["id"]),
            stop=found["stop"],
            units=found["units"],
            num_files=found["num_files"],
            parts=tuple(SourcePart(**one) for one in found["parts"]),
            groups=tuple(map(_group, found["groups"])),
            **sections,
        )


_SECTIONS = ("file_ids", "without_slices", "records")


def row_bytes(num_filters: int) -> int:
    """Return the size of a row with one bit for each of `num_filters` filters, bytes."""
    return -(-num_filters // _NUMBER_BITS) * (_NUMBER_BITS // 8)


def rows_per_page(row_bytes_: int) -> int:
    """Return the number of rows in a page, from the size of a row."""
    fitting = max(1, _PAGE_BYTES // row_bytes_)
    return int(min(1 << (fitting.bit_length() - 1), ROWS_PER_BLOCK))


def page_seed(file_id: bytes, number: int) -> int:
    """Return the start value for the CRC-32 of a page."""
    return zlib.crc32(file_id + bytes([_PAGES]) + number.to_bytes(8, "little"))


def record_seed(file_id: bytes, number: int) -> int:
    """Return the start value for the CRC-32 of a record."""
    return zlib.crc32(file_id + bytes([_RECORDS]) + number.to_bytes(8, "little"))


def check_bytes(crc: int) -> bytes:
    """Return the bytes of the checksum that follow a page or record."""
    return crc.to_bytes(CHECK_BYTES, "little")


def units_digest(
    stop: int,
    file_ids: NDArray[np.int64],
    owners: Iterable[NDArray[np.int32]],
    row_groups: Iterable[NDArray[np.int32] | None],
) -> str:
    """Return the digest for `Directory.units`."""
    keys = [unit_keys(one, groups) for one, groups in zip(owners, row_groups, strict=True)]
    joined = np.sort(np.concatenate([np.zeros(0, np.int64), *keys]))
    digest = hashlib.sha256(stop.to_bytes(8, "little"))
    digest.update(file_ids.astype("<i8").tobytes())
    digest.update(joined.astype("<i8").tobytes())
    return digest.hexdigest()


def unit_keys(owners: NDArray[np.int32], row_groups: NDArray[np.int32] | None) -> NDArray[np.int64]:
    """Return a number for each filter that stands for its file and row group; see `owner_of`."""
    keys = owners.astype(np.int64) << _KEY_BITS
    return keys if row_groups is None else keys | (row_groups.astype(np.int64) + 1)


def owner_of(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ordinals of the files that are in numbers of `unit_keys`."""
    return keys >> _KEY_BITS


_KEY_BITS = 32


def record_of(
    paths: Sequence[str], sizes: NDArray[np.int64], modified_ms: NDArray[np.int64], seed: int
) -> bytes:
    """Return the bytes of one record."""
    names = [path.encode("utf-8", "surrogatepass") for path in paths]
    ends = np.cumsum(np.array(list(map(len, names)), np.int64))
    numbers = (sizes.astype("<i8"), modified_ms.astype("<i8"), ends.astype("<i4"))
    data = b"".join((*(one.tobytes() for one in numbers), *names))
    return data + check_bytes(zlib.crc32(data, seed))


class SliceReader:
    """Reads one file of slices. Safe in threads; opened for each use, so that none stays open.

    Attributes:
        path: Absolute.
        storage: The storage of the index.
        directory: The directory of the file.
        file_ids: Ascending, shape (m,).
        without_slices: Ordinals of files to be looked up in their parts.
        owners: By group: ordinal of each filter's data file, shape (n,).
        row_groups: By group: row group of each filter, shape (n,); None: all are of whole files.
    """

    def __init__(self, folder: str, slices: SliceFile) -> None:
        """Read and check all but the matrices and the records.

        Args:
            folder: The index's folder, absolute.
            slices: As the log's entry names it.

        Raises:
            IndexProblem: If the file is not as it was written.
            OSError: If the file cannot be read.
        """
        self.path = os.path.join(folder, slices.file.path)
        self.storage = storage_of(folder)
        self._size = slices.file.size
        with self.opened(keep=True) as source:
            try:
                self.directory = _read_directory(source, slices)
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                raise self._broken(f"its directory cannot be read: {error}") from error
            found = self.directory
            prefetch(source, ((one.start, one.start + one.length) for one in _arrays(found)))
            self.file_ids = self._array(source, found.file_ids, np.int64, found.num_files)
            self.without_slices = self._array(source, found.without_slices, np.int32)
            self.owners = tuple(
                self._array(source, group.owners, np.int32, group.num_filters)
                for group in found.groups
            )
            self.row_groups = tuple(
                None
                if group.row_groups is None
                else self._array(source, group.row_groups, np.int32, group.num_filters)
                for group in found.groups
            )
            num_records = -(-found.num_files // RECORD_FILES)
            self._places = self._array(source, found.records, np.int64, num_records + 1)

    @property
    def num_bytes_held(self) -> int:
        """Size in memory, bytes."""
        arrays = (self.file_ids, self.without_slices, self._places, *self.owners, *self.row_groups)
        return sum(one.nbytes for one in arrays if one is not None)

    @contextmanager
    def opened(self, *, keep: bool = False) -> Iterator[IndexSource]:
        """Open the file, and close it at the end.

        Args:
            keep: See `open_file`.

        Raises:
            IndexProblem: If the file has another size than it was written with.
            OSError: If the file cannot be opened.
        """
        with open_file(self.path, self._size, keep=keep) as source:
            if source.size != self._size:
                problem = f"it has {source.size} bytes, and {self._size} were written"
                raise self._broken(problem)
            yield source

    def prefetch(self, source: IndexSource, rows: Mapping[int, Iterable[int]]) -> None:
        """Fetch pages from a store, all at the same time.

        Args:
            source: The file, opened.
            rows: Rows of the matrix to fetch, by ordinal of the group.

        Raises:
            IndexProblem: If the store refuses, or the file was replaced.
        """
        groups = self.directory.groups
        starts = {
            (groups[number].page_start(row), groups[number].page_bytes)
            for number, some in rows.items()
            for row in some
        }
        prefetch(source, ((start, start + length) for start, length in starts))

    def rows(
        self, source: IndexSource, group: Group, numbers: Iterable[int]
    ) -> Iterable[NDArray[np.uint64]]:
        """Read rows of a matrix, one after the other, each with its page.

        Raises:
            IndexProblem: If a page is not as it was written.
            OSError: If a page cannot be read.
        """
        stride, per_page, width = group.page_bytes, group.rows_per_page, group.row_bytes
        for number in numbers:
            page, row = divmod(number, per_page)
            start = group.start + page * stride
            data = source.read_at(start, start + stride)
            body = memoryview(data)[:-CHECK_BYTES]
            crc = zlib.crc32(body, page_seed(self.directory.id, group.first_page + page))
            if data[-CHECK_BYTES:] != check_bytes(crc):
                raise self._broken("a page of slices is not as it was written")
            yield np.frombuffer(body, "<u8", width // 8, row * width)

    def check(self) -> None:
        """Read all pages and all records, and check them.

        Raises:
            IndexProblem: If any is not as it was written.
            OSError: If any cannot be read.
        """
        with self.opened() as source:
            for group in self.directory.groups:
                self._check_pages(source, group)
        for first in range(0, self.directory.num_files, _CHECKED_FILES):
            stop = min(first + _CHECKED_FILES, self.directory.num_files)
            self.files(np.arange(first, stop))

    def _check_pages(self, source: IndexSource, group: Group) -> None:
        stride, step = group.page_bytes, max(1, _RUN_BYTES // group.page_bytes)
        for first in range(0, group.num_pages, step):
            count = min(step, group.num_pages - first)
            start = group.start + first * stride
            data = memoryview(source.read_at(start, start + count * stride))
            for number in range(count):
                page = data[number * stride : (number + 1) * stride]
                self._check_page(page, group.first_page + first + number)

    def _check_page(self, page: memoryview, number: int) -> None:
        crc = zlib.crc32(page[:-CHECK_BYTES], page_seed(self.directory.id, number))
        if page[-CHECK_BYTES:] != check_bytes(crc):
            raise self._broken("a page of slices is not as it was written")

    def files(self, ordinals: NDArray[np.int64]) -> list[FileId]:
        """Read the records of some files.

        Args:
            ordinals: Among the file ids, ascending, each once.

        Raises:
            IndexProblem: If a record is not as it was written.
            OSError: If a record cannot be read.
        """
        if not len(ordinals):
            return []
        numbers = np.unique(ordinals // RECORD_FILES)
        data, starts = self._read_records(numbers)
        record, within = np.searchsorted(numbers, ordinals // RECORD_FILES), ordinals % RECORD_FILES
        at = starts[record]
        count = np.minimum(RECORD_FILES, self.directory.num_files - RECORD_FILES * numbers)[record]
        sizes = _numbers_at(data, at + 8 * within, "<i8")
        modified_ms = _numbers_at(data, at + 8 * (count + within), "<i8")
        lengths = at + 16 * count
        stops = _numbers_at(data, lengths + 4 * within, "<i4")
        before = _numbers_at(data, lengths + 4 * np.maximum(within - 1, 0), "<i4")
        names = at + 20 * count
        first, last = names + np.where(within > 0, before, 0), names + stops
        columns = (first.tolist(), last.tolist(), sizes.tolist(), modified_ms.tolist())
        return [
            FileId(data[start:stop].decode("utf-8", "surrogatepass"), size, modified)
            for start, stop, size, modified in zip(*columns, strict=True)
        ]

    def check_files(self, files: FileTable) -> None:
        """Check that these are the files that the slices know under the same ids.

        Sizes and times are compared, as with parts. Of the records, only these are read.

        Args:
            files: Files of the manifest. Ids that the slices do not know are skipped.

        Raises:
            IndexProblem: If any is another file.
            OSError: If a record cannot be read.
        """
        place = np.searchsorted(self.file_ids, files.ids)
        place[place == len(self.file_ids)] = 0
        known = np.flatnonzero(self.file_ids[place] == files.ids)
        sizes, times = self._sizes_and_times()
        ordinals = place[known]
        same = (sizes[ordinals] == files.sizes[known]).all()
        if not same or not (times[ordinals] == files.modified_ms[known]).all():
            raise self._broken("the slices are about other files than the manifest")

    def _sizes_and_times(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Read the sizes and times of all files, without checking checksums."""
        num_files = self.directory.num_files
        found = np.empty((2, num_files), np.int64)
        with self.opened(keep=True) as source:
            prefetch(source, [(int(self._places[0]), int(self._places[-1]))])
            for start, first in zip(
                self._places.tolist(), range(0, num_files, RECORD_FILES), strict=False
            ):
                count = min(RECORD_FILES, num_files - first)
                data = source.read_at(start, start + 16 * count)
                found[:, first : first + count] = np.frombuffer(data, "<i8").reshape(2, count)
        return found[0], found[1]

    def _read_records(self, numbers: NDArray[np.int64]) -> tuple[bytes, NDArray[np.int64]]:
        """Read some records, neighbours together, and check their checksums.

        Returns:
            Bytes with all of them, and where each begins there.
        """
        starts, ends = self._places[numbers], self._places[numbers + 1]
        is_first = np.ones(len(numbers), np.bool_)
        is_first[1:] = starts[1:] - ends[:-1] > _GAP_BYTES
        is_first[1:] |= np.diff(starts // _RUN_BYTES) != 0
        firsts = np.flatnonzero(is_first)
        begins, stops = starts[firsts], ends[np.append(firsts[1:], len(numbers)) - 1]
        with self.opened() as source:
            prefetch(source, zip(begins.tolist(), stops.tolist(), strict=True))
            runs = zip(begins.tolist(), stops.tolist(), strict=True)
            data = b"".join([source.read_at(begin, stop) for begin, stop in runs])
        lengths = stops - begins
        shift = (np.cumsum(lengths) - lengths - begins)[np.cumsum(is_first) - 1]
        self._check_records(data, numbers, starts + shift, ends + shift)
        return data, starts + shift

    def _check_records(
        self,
        data: bytes,
        numbers: NDArray[np.int64],
        starts: NDArray[np.int64],
        ends: NDArray[np.int64],
    ) -> None:
        view, seed = memoryview(data), zlib.crc32(self.directory.id + bytes([_RECORDS]))
        for number, start, end in zip(
            numbers.tolist(), starts.tolist(), ends.tolist(), strict=True
        ):
            own = zlib.crc32(number.to_bytes(8, "little"), seed)
            crc = zlib.crc32(view[start : end - CHECK_BYTES], own)
            if view[end - CHECK_BYTES : end] != check_bytes(crc):
                raise self._broken("a record of files is not as it was written")

    def _array(
        self, source: IndexSource, section: Section, dtype: type[Any], count: int | None = None
    ) -> NDArray[Any]:
        data = source.read_at(section.start, section.start + section.length)
        width = np.dtype(dtype).itemsize
        if zlib.crc32(data) != section.crc:
            raise self._broken("an array is not as it was written")
        if section.length % width or count not in {None, section.length // width}:
            raise self._broken("an array has another length than it should")
        return np.frombuffer(data, np.dtype(dtype).newbyteorder("<")).astype(dtype, copy=False)

    def _broken(self, problem: str) -> IndexProblem:
        return broken(self.path, problem)


def _numbers_at(data: bytes, places: NDArray[np.int64], dtype: str) -> NDArray[np.int64]:
    """Return the numbers at some positions, which need not be aligned."""
    width = np.dtype(dtype).itemsize
    found = np.frombuffer(data, np.uint8)[places[:, None] + np.arange(width)]
    numbers: NDArray[np.int64] = found.view(dtype)[:, 0].astype(np.int64)
    return numbers


def broken(path: str, problem: str) -> IndexProblem:
    """Return the error for slices that are damaged."""
    return IndexProblem(problem, path=path, remedy="Optimize the index: it writes slices anew.")


def _arrays(directory: Directory) -> Iterator[Section]:
    """Yield the sections of the arrays that are read when slices are opened."""
    yield from (directory.file_ids, directory.without_slices, directory.records)
    for group in directory.groups:
        yield group.owners
        if group.row_groups is not None:
            yield group.row_groups


def _read_directory(source: IndexSource, slices: SliceFile) -> Directory:
    size = slices.file.size
    if size < HEADER_BYTES + TRAILER_BYTES:
        raise ValueError("the file is too short")
    prefetch(source, [(0, HEADER_BYTES), (max(0, size - source.tail_bytes), size)])
    trailer = source.read_at(size - TRAILER_BYTES, size)
    length = int.from_bytes(trailer[:8], "little")
    stop = size - TRAILER_BYTES
    if trailer[8:] != MAGIC or not 0 < length <= min(stop, _MAX_DIRECTORY_BYTES):
        raise ValueError("its trailer is malformed")
    data = source.read_at(stop - length, stop)
    if hashlib.sha256(data).hexdigest() != slices.digest:
        raise ValueError("it is not the directory that the log names")
    directory = Directory.from_json(data)
    header = source.read_at(0, HEADER_BYTES)
    if header[: len(MAGIC) + ID_BYTES] != MAGIC + directory.id:
        raise ValueError("the header is of another file")
    return directory


def _plain(value: object) -> object:
    """Return a value of a directory as a value that JSON can hold."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Section | Group | SourcePart):
        return {name: _plain(getattr(value, name)) for name in value.__slots__}
    return value


def _group(found: dict[str, Any]) -> Group:
    row_groups = found["row_groups"]
    rest = {name: value for name, value in found.items() if name not in {"owners", "row_groups"}}
    return Group(
        owners=Section(**found["owners"]),
        row_groups=None if row_groups is None else Section(**row_groups),
        **rest,
    )
