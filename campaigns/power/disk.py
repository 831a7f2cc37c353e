"""A disk as a run sees it, and what the run asks of it.

A file or folder is an inode, a number. A file has its bytes, mode, owner and attributes; a folder
has names that lead to inodes. Every operation changes one inode, or promises something about one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = 0
"""The inode of the folder that is looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """What an inode holds that is no folder."""

    data: bytes = b""
    mode: int
    """Permission bits."""

    owner: tuple[int, int]
    """User and group; -1 for whoever runs the tests."""

    attributes: tuple[tuple[str, bytes], ...] = ()
    """Extended attributes, sorted."""


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes are put into a file."""

    inode: int
    offset: int
    data: bytes = field(repr=False)

    def on(self, file: File) -> File:
        """The file afterwards; a gap before the bytes is zeros."""
        before = file.data[: self.offset].ljust(self.offset, b"\0")
        return replace(file, data=before + self.data + file.data[self.offset + len(self.data) :])


@dataclass(frozen=True, slots=True)
class Resize:
    """A file is cut, or extended with zeros."""

    inode: int
    size: int

    def on(self, file: File) -> File:
        """The file afterwards."""
        return replace(file, data=file.data[: self.size].ljust(self.size, b"\0"))


@dataclass(frozen=True, slots=True)
class Mode:
    """A file gets permission bits."""

    inode: int
    mode: int

    def on(self, file: File) -> File:
        """The file afterwards."""
        return replace(file, mode=self.mode)


@dataclass(frozen=True, slots=True)
class Owner:
    """A file gets an owner."""

    inode: int
    owner: tuple[int, int]

    def on(self, file: File) -> File:
        """The file afterwards."""
        return replace(file, owner=self.owner)


@dataclass(frozen=True, slots=True)
class Attribute:
    """A file gets an extended attribute, or loses it."""

    inode: int
    name: str
    value: bytes | None

    def on(self, file: File) -> File:
        """The file afterwards."""
        others = {name: value for name, value in file.attributes if name != self.name}
        if self.value is not None:
            others[self.name] = self.value
        return replace(file, attributes=tuple(sorted(others.items())))


@dataclass(frozen=True, slots=True)
class SyncFile:
    """What was done to a file is on the disk."""

    inode: int
    covers: int
    """Operations that had ended when this one began; later ones are not promised."""

    data_only: bool = False
    """Bytes and size, but not mode, owner and attributes."""


@dataclass(frozen=True, slots=True)
class SyncFolder:
    """The names in a folder are on the disk."""

    folder: int
    covers: int
    """As for a file."""


@dataclass(frozen=True, slots=True)
class Name:
    """A folder gets a name: of a new file or folder, or another one of an old file."""

    folder: int
    name: str
    inode: int

    def on(self, names: dict[str, int]) -> None:
        """Change the folder."""
        names[self.name] = self.inode


@dataclass(frozen=True, slots=True)
class Unname:
    """A name is taken away."""

    folder: int
    name: str
    inode: int

    def on(self, names: dict[str, int]) -> None:
        """Change the folder, if the name leads to the inode."""
        if names.get(self.name) == self.inode:
            del names[self.name]


@dataclass(frozen=True, slots=True)
class Rename:
    """A name becomes another one within the folder, both at once."""

    folder: int
    name: str
    new_name: str
    inode: int

    def on(self, names: dict[str, int]) -> None:
        """Change the folder."""
        if names.get(self.name) == self.inode:
            del names[self.name]
        names[self.new_name] = self.inode


@dataclass(frozen=True, slots=True)
class Exchange:
    """Two names within the folder come to lead to each other's inode, both at once."""

    folder: int
    name: str
    inode: int
    """To which this name leads afterwards."""

    other: str
    other_inode: int

    def on(self, names: dict[str, int]) -> None:
        """Change the folder."""
        names[self.name], names[self.other] = self.inode, self.other_inode


OnData: TypeAlias = Write | Resize
OnFile: TypeAlias = Write | Resize | Mode | Owner | Attribute
OnFolder: TypeAlias = Name | Unname | Rename | Exchange
Operation: TypeAlias = OnFile | OnFolder | SyncFile | SyncFolder


@dataclass(slots=True, kw_only=True)
class Disk:
    """Files and folders, by inode."""

    files: dict[int, File] = field(default_factory=dict)
    folders: dict[int, dict[str, int]] = field(default_factory=lambda: {ROOT: {}})

    def copy(self) -> Disk:
        """Another one, that changes by itself."""
        return Disk(
            files=dict(self.files),
            folders={key: dict(names) for key, names in self.folders.items()},
        )

    def do(self, operation: Operation) -> None:
        """Carry out an operation."""
        match operation:
            case Name() | Unname() | Rename() | Exchange():
                operation.on(self.folders[operation.folder])
            case SyncFile() | SyncFolder():
                pass
            case _:
                self.files[operation.inode] = operation.on(self.files[operation.inode])

    def walk(self, folder: int = ROOT, above: str = "") -> Iterator[tuple[str, int]]:
        """Every path that leads somewhere, and the inode; folders before what is in them."""
        for name, inode in sorted(self.folders[folder].items()):
            yield above + name, inode
            if inode in self.folders:
                yield from self.walk(inode, f"{above}{name}/")
