"""What a disk can hold after the power went: every way that POSIX permits, and then some.

The power goes after the first k operations. What was synced is there. Of what was not,

    a write            is there, is not, or is torn (see `Torn`); others do not matter to it
    a size             may be there without the bytes
    mode, owner, ...   is there or not
    a name             is there or not, in any subset of a folder's names and removals,
                       whether the file's bytes are there or not; a renaming is one change, and
                       so is an exchange of two names

A state that an ordering journal would leave is among them, and so are those of file systems that
keep no order at all. The names of what was done to a folder become lasting by syncing that folder,
never by syncing the file, although many file systems do so.
"""

from __future__ import annotations

import enum
import itertools
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import TYPE_CHECKING, TypeAlias

import xxhash

from campaigns.power.disk import (
    Attribute,
    Disk,
    Exchange,
    File,
    Mode,
    Name,
    OnFile,
    OnFolder,
    Owner,
    Rename,
    Resize,
    SyncFile,
    SyncFolder,
    Unname,
    Write,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from campaigns.power.recording import Record

SECTOR = 512
"""Bytes that a disk writes as a whole."""

_REMEMBERED = 2000
"""Contents of files that are kept in memory."""

_ALL_SUBSETS = 5
"""Up to so many open changes of names, all their subsets are tried."""


class Torn(enum.StrEnum):
    """What may become of a write beside all and nothing."""

    FIRST = "the first half, to a sector"
    LAST = "the last half, and zeros before it"
    ZEROS = "the size, and zeros"
    GARBAGE = "the size, and what was on the disk before"
    SECTORS = "every other sector, and zeros between"

    def of(self, write: Write) -> Write:
        """What is written."""
        data, middle = write.data, len(write.data) // 2 // SECTOR * SECTOR
        match self:
            case Torn.FIRST:
                data = data[:middle]
            case Torn.LAST:
                data = bytes(middle) + data[middle:]
            case Torn.ZEROS:
                data = bytes(len(data))
            case Torn.GARBAGE:
                data = Random(write.offset).randbytes(len(data))  # noqa: S311
            case Torn.SECTORS:
                sectors = range(0, len(data), SECTOR)
                parts = (data[start : start + SECTOR] for start in sectors)
                data = b"".join(p if i % 2 else bytes(len(p)) for i, p in enumerate(parts))
        return replace(write, data=data)


Fate: TypeAlias = bool | Torn
"""Of an operation that was not synced: whether it is there, or how it is torn."""

Fates: TypeAlias = tuple[Fate, ...]


@dataclass(frozen=True)
class Crash:
    """The power goes after some operations of a run."""

    record: Record
    after: int
    """Operations that were done, or begun."""

    @property
    def has_returned(self) -> bool:
        """Whether the run may have ended, so that its caller counts on it."""
        return self.after == len(self.record.operations)

    @cached_property
    def synced(self) -> frozenset[int]:
        """Numbers of the operations that are on the disk for sure."""
        synced: set[int] = set()
        for sync in self.record.operations[: self.after]:
            if isinstance(sync, SyncFile | SyncFolder):
                earlier = range(sync.covers)
                synced.update(i for i in earlier if _covers(sync, self.record.operations[i]))
        return frozenset(synced)

    @cached_property
    def open_to_files(self) -> tuple[int, ...]:
        """Numbers of the operations on files whose fate is open."""
        return self._open(Write | Resize | Mode | Owner | Attribute)

    @cached_property
    def open_to_folders(self) -> tuple[int, ...]:
        """Numbers of the operations on folders whose fate is open."""
        return self._open(OnFolder)

    def _open(self, kind: type | object) -> tuple[int, ...]:
        done = enumerate(self.record.operations[: self.after])
        return tuple(
            i
            for i, one in done
            if isinstance(one, kind) and i not in self.synced  # type: ignore[arg-type]
        )

    def fates(self, seed: int) -> Iterator[tuple[Fates, Fates]]:
        """Fates of the operations on files, and of those on folders; the telling ones first."""
        of_files, of_folders = list(self._fates_of_files()), list(self._fates_of_folders())
        for folders in of_folders:
            for files in of_files[:2]:
                yield files, folders
        for folders in of_folders[:2]:
            for files in of_files[2:]:
                yield files, folders
        random = Random(f"{seed}:{self.record.name}:{self.after}")  # noqa: S311
        while self.open_to_files:
            yield self._random_fates(random), random.choice(of_folders)

    def _fates_of_files(self) -> Iterator[Fates]:
        """All, none, one of each kind, all but one."""
        operations = [self.record.operations[i] for i in self.open_to_files]
        count = len(operations)
        yield (True,) * count
        yield (False,) * count
        for at, operation in enumerate(operations):
            torn: Sequence[Fate] = tuple(Torn) if isinstance(operation, Write) else ()
            for others, fate in itertools.product((True, False), (False, True, *torn)):
                if others is not fate:
                    yield (*(others,) * at, fate, *(others,) * (count - at - 1))

    def _fates_of_folders(self) -> Iterator[Fates]:
        """All, none, then all subsets, or each first part, each one alone, all but each one."""
        count = len(self.open_to_folders)
        yield (True,) * count
        yield (False,) * count
        if count <= _ALL_SUBSETS:
            yield from itertools.islice(itertools.product((True, False), repeat=count), 1, None)
            return
        for at in range(count):
            yield tuple(i < at for i in range(count))
            yield tuple(i == at for i in range(count))
            yield tuple(i != at for i in range(count))

    def _random_fates(self, random: Random) -> Fates:
        choices: tuple[Fate, ...] = (True, True, False, *Torn)
        return tuple(
            random.choice(
                choices if isinstance(self.record.operations[i], Write) else (True, False)
            )
            for i in self.open_to_files
        )


class States:
    """Makes the states of one run's crashes; remembers the files that come again and again."""

    def __init__(self, record: Record) -> None:
        """Of this run."""
        self._record = record
        self._files: dict[tuple[int, tuple[tuple[int, Fate], ...]], tuple[File, int]] = {}
        self._by_inode: dict[int, list[int]] = defaultdict(list)
        for number, operation in enumerate(record.operations):
            if isinstance(operation, Write | Resize | Mode | Owner | Attribute):
                self._by_inode[operation.inode].append(number)

    def state(self, crash: Crash, fates: tuple[Fates, Fates]) -> tuple[Disk, int]:
        """The disk that these fates lead to, and a number that is equal for equal disks.

        It holds only files that a name leads to.
        """
        files = dict(zip(crash.open_to_files, fates[0], strict=True))
        folders = dict(zip(crash.open_to_folders, fates[1], strict=True))
        disk = self._folders(crash, folders)
        digest = xxhash.xxh64()
        for path, inode in disk.walk():
            digest.update(f"{path}\0{inode}\0".encode())
            if inode not in disk.folders:
                disk.files[inode], known = self._file(crash, inode, files)
                digest.update(known.to_bytes(8, "little"))
        return disk, digest.intdigest()

    def _folders(self, crash: Crash, fates: dict[int, Fate]) -> Disk:
        before = self._record.before
        disk = Disk(folders={key: dict(names) for key, names in before.folders.items()})
        for inode in self._record.after.folders:
            disk.folders.setdefault(inode, {})
        for number, operation in enumerate(self._record.operations[: crash.after]):
            if isinstance(operation, OnFolder) and fates.get(number, True):
                operation.on(disk.folders[operation.folder])
        return disk

    def _file(self, crash: Crash, inode: int, fates: dict[int, Fate]) -> tuple[File, int]:
        done = (number for number in self._by_inode[inode] if number < crash.after)
        key = (inode, tuple((number, fates.get(number, True)) for number in done))
        if key not in self._files:
            if len(self._files) > _REMEMBERED:
                self._files.clear()
            file = self._record.before.files.get(inode) or self._record.births[inode]
            for number, fate in key[1]:
                file = _with(file, self._record.operations[number], fate)  # type: ignore[arg-type]
            text = f"{file.mode}{file.owner}{file.attributes}".encode()
            self._files[key] = file, xxhash.xxh64_intdigest(text + file.data)
        return self._files[key]


def _with(file: File, operation: OnFile, fate: Fate) -> File:
    if fate is False:
        return file
    if isinstance(fate, Torn) and isinstance(operation, Write):
        operation = fate.of(operation)
    return operation.on(file)


def _covers(sync: SyncFile | SyncFolder, operation: object) -> bool:
    """Whether a sync makes an earlier operation last."""
    match operation:
        case Write() | Resize():
            return isinstance(sync, SyncFile) and sync.inode == operation.inode
        case Mode() | Owner() | Attribute():
            is_whole = isinstance(sync, SyncFile) and not sync.data_only
            return is_whole and sync.inode == operation.inode  # type: ignore[union-attr]
        case Name() | Unname() | Rename() | Exchange():
            return isinstance(sync, SyncFolder) and sync.folder == operation.folder
    return False
