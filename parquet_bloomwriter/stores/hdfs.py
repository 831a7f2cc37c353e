"""HDFS as a store: files are written beside their place, and renamed by the name node.

    a new file          the rename fails if there is a file of that name
    in place of one     the rename replaces it at one instant. There is no condition: size and time
                        of the old file are looked at just before, and what another program writes
                        between that look and the rename is lost

A new version gets permissions, owner and group, replication, size of blocks and access list of the
old one. Changing the owner needs a superuser; what could not be kept, the report says.

Source: Hadoop, "The Hadoop FileSystem API Definition", `rename`; HDFS, `FSDirRenameOp`.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.errors import StoreProblem
from parquet_bloomwriter.source.hdfs import (
    Version,
    cluster_of,
    naming,
    open_client,
    open_version,
)
from parquet_bloomwriter.stores.base import FileState, Listed, LocalFile, TableStore
from parquet_bloomwriter.stores.file_systems import NewNameStore
from parquet_bloomwriter.stores.reader import PIECE_BYTES

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    import hdfs_native

    from parquet_bloomwriter.source.hdfs import HdfsSource
    from parquet_bloomwriter.source.settings import HdfsConnection

_TRIES = 3
_PRIVATE = 0o600
_TO_ALL = 0o644
_ACTIONS = (
    "---",
    "--x",
    "-w-",
    "-wx",
    "r--",
    "r-x",
    "rw-",
    "rwx",
)
_NO_ACCESS_LISTS = ("AclException", "UnsupportedOperationException", "RpcNoSuchMethodException")
"""Errors of a name node that keeps no access lists."""


class HdfsStore(NewNameStore, TableStore):
    """The file system of one or several name nodes; paths may begin with a slash or not."""

    why_not = ""
    is_replacing = True
    reads_name_version = True

    def __init__(self, base: str, settings: HdfsConnection) -> None:
        """Use the file system at a URL; no request is made yet.

        Args:
            base: `hdfs://host:port` or `hdfs://nameservice`.
            settings: Override Hadoop's configuration on this machine.

        Raises:
            InvalidArgument: If `hdfs-native` is missing.
        """
        super().__init__()
        self._client = open_client(base, settings)
        self._base = base
        self._notes: list[str] = []
        self.kind = "HDFS"
        self.endpoint = cluster_of(base, settings)
        self.name = base

    def spell(self, path: str) -> str:
        """Return the URL of a file."""
        return self._base + _rooted(path)

    def place(self, path: str) -> Hashable:
        """Return a key of the file's location."""
        return self.endpoint, self.name, _rooted(path)

    def notes(self) -> tuple[str, ...]:
        """Return the attributes of old files that new ones could not get, a clause each."""
        return tuple(dict.fromkeys(self._notes))

    @contextmanager
    def named(self, path: str) -> Iterator[None]:
        """Turn errors of hdfs-native into errors that name the file."""
        with naming(self.spell(path)):
            yield

    # ------------------------------------------------------------ reading

    @contextmanager
    def open(self, path: str, state: FileState) -> Iterator[HdfsSource]:
        """Open a file for reading, in the given state."""
        source = self._opened_as(path)
        if source.version.etag != state.token:
            raise self.changed(path)
        yield source

    def _opened_as(self, path: str) -> HdfsSource:
        self.traffic.add("open")
        source = open_version(self._client, _rooted(path), name=self.spell(path))
        source.count = self.traffic.add_down
        return source

    @contextmanager
    def _opened(self, path: str) -> Iterator[HdfsSource]:
        yield self._opened_as(path)

    def read(
        self, path: str, start: int, stop: int, *, if_match: str | None = None
    ) -> tuple[bytes, FileState]:
        """Return the bytes [start, stop) of a file, and its state."""
        source = self._opened_as(path)
        version = source.version
        if if_match is not None and if_match != version.etag:
            raise self.changed(path)
        data = source.read_at(start, min(stop, source.size)) if start < source.size else b""
        return data, _state_of_version(version)

    def objects(self, prefix: str, *, start_after: str = "") -> Iterator[Listed]:
        """Yield the files whose paths begin with a prefix; paths are without a leading slash."""
        found = (_listed(one) for one in self._walk(prefix.rpartition("/")[0]))
        yield from sorted(
            one for one in found if one.key > start_after and one.key.startswith(prefix.lstrip("/"))
        )

    def look(self, path: str) -> tuple[int | None, bool]:
        """Return the size of a file in bytes, or None; see `TableStore`."""
        if self._look(path)[0] == "directory":
            return None, self.has_prefix(f"{path}/")
        return super().look(path)

    def _walk(self, folder: str) -> list[hdfs_native.FileStatus]:
        """Return the files in a folder and in the folders below it, as of one moment."""
        root = _rooted(folder)
        self.traffic.add("list")
        for _ in range(_TRIES):
            try:
                with self.named(folder):
                    listed = list(self._client.list_status(root, recursive=True))
            except FileNotFoundError:
                if not self._exists(folder):
                    return []
                continue  # a folder below it went meanwhile
            return [one for one in listed if not one.isdir and one.path != root]
        raise StoreProblem(
            "folders in it are being removed, again and again, while it is listed",
            path=self.spell(folder),
            remedy="Run the command again when that has ended.",
        )

    def folders(self, prefix: str) -> Iterator[str]:
        """Yield the names of the folders directly in a folder."""
        yield from sorted(_name(one) for one in self._entries(prefix) if one.isdir)

    def _entries(self, folder: str) -> list[hdfs_native.FileStatus]:
        self.traffic.add("list")
        try:
            with self.named(folder):
                return list(self._client.list_status(_rooted(folder)))
        except FileNotFoundError:
            return []

    def has_prefix(self, prefix: str, *, suffix: str | tuple[str, ...] = "") -> bool:
        """Return whether the file exists, or a folder that is not empty."""
        if prefix and not prefix.endswith("/"):
            return self._look(prefix)[0] == "file"
        return any(_name(one).endswith(suffix) for one in self._entries(prefix))

    def _look(self, path: str) -> tuple[str, Any]:
        try:
            with self.named(path):
                info = self._client.get_file_info(_rooted(path))
        except FileNotFoundError:
            return "nothing", None
        return "directory" if info.isdir else "file", info

    def _state(self, info: Any) -> FileState:  # noqa: ANN401  of hdfs-native
        attributes = {
            "owner": (info.owner, info.group),
            "permission": info.permission,
            "block_size": info.blocksize,
            "replication": info.replication,
        }
        return replace(_state_of_version(Version.of(info)), attributes=attributes)

    def _listed(self, folder: str) -> Iterator[Listed]:
        return map(_listed, self._client.list_status(_rooted(folder)))

    # ------------------------------------------------------------ writing

    def remove_empty(self, folder: str) -> None:
        """Remove a folder if it is empty."""
        with suppress(Exception):
            self._client.delete(_rooted(folder), recursive=False)

    def create_file(self, path: str, fd: int, size: int) -> FileState:
        """Write the bytes of an open file under a name that no file has."""
        file = LocalFile(size)
        try:
            for start in range(0, size, PIECE_BYTES):
                file.append(os.pread(fd, min(PIECE_BYTES, size - start), start))
            return self.publish(path, file, replaces=None, like=None)
        finally:
            file.close()

    def why_not_exclusive(self, folder: str) -> str:  # noqa: ARG002
        """Return "": a rename fails if there is a file."""
        return ""

    def _make_folder(self, folder: str) -> None:
        self._client.mkdirs(_rooted(folder), create_parent=True)

    def _publish(
        self, path: str, data: LocalFile, replaces: FileState | None, like: FileState | None
    ) -> FileState:
        """Write a file, and give it the access list of the file that it replaces."""
        if replaces is not None and like is not None:
            with self.named(path):
                access = self._access(path)
            like = replace(like, attributes={**like.attributes, "access": access})
        return super()._publish(path, data, replaces, like)

    def _access(self, path: str) -> list[hdfs_native.AclEntry]:
        """Return the access list of a file: its entries besides the permissions."""
        try:
            found: list[hdfs_native.AclEntry] = self._client.get_acl_status(_rooted(path)).entries
        except Exception as error:
            if any(word in str(error) for word in _NO_ACCESS_LISTS):
                return []
            raise
        return found

    def _create(self, path: str, like: FileState | None = None) -> Any:  # noqa: ANN401  a file object
        from hdfs_native import WriteOptions

        options = WriteOptions(overwrite=False, create_parent=True)
        if like is not None:
            options.permission = _PRIVATE
            options.block_size = like.attributes.get("block_size")
            options.replication = like.attributes.get("replication")
        return self._client.create(_rooted(path), options)

    def _carry_over(self, temporary: str, like: FileState) -> None:
        path, attributes = _rooted(temporary), like.attributes
        found = self._client.get_file_info(path)
        owner, group = attributes.get("owner", (found.owner, found.group))
        if found.owner != owner:
            with self._noting("the owner could not be kept"):
                self._client.set_owner(path, owner, None)
        if found.group != group:
            with self._noting("the group could not be kept"):
                self._client.set_owner(path, None, group)
        permission = attributes.get("permission", _TO_ALL)
        if entries := attributes.get("access"):
            self._client.set_acl(path, _whole_list(entries, permission))
        elif self._access(temporary):  # what a new file inherits from its folder
            self._client.remove_acl(path)
        self._client.set_permission(path, permission)

    @contextmanager
    def _noting(self, note: str) -> Iterator[None]:
        try:
            yield
        except Exception:  # noqa: BLE001  whatever it was
            self._notes.append(note)

    def _rename(self, temporary: str, path: str, *, replaces: bool) -> None:
        self._client.rename(_rooted(temporary), _rooted(path), overwrite=replaces)

    def _remove(self, path: str) -> None:
        self._client.delete(_rooted(path))


def _whole_list(entries: list[hdfs_native.AclEntry], permission: int) -> list[hdfs_native.AclEntry]:
    """Return an access list with the entries that the file's permissions stand for added.

    In front of an access list, the bits of the group are the mask that limits its entries.
    """
    from hdfs_native import AclEntry

    def entry(kind: Any, bits: int) -> hdfs_native.AclEntry:  # noqa: ANN401  one of some words
        action: Any = _ACTIONS[bits & 7]
        return AclEntry(kind, "access", action)

    own, mask, others = permission >> 6, permission >> 3, permission
    return [entry("user", own), entry("mask", mask), entry("other", others), *entries]


def _state_of_version(version: Version) -> FileState:
    etag = version.etag
    return FileState(size=version.size, token=etag, etag=etag, changed_ns=version.changed_ns)


def _listed(one: hdfs_native.FileStatus) -> Listed:
    """Return the entry of a listing from a name node's status; a folder has a size below 0."""
    version = Version.of(one)
    size = -1 if one.isdir else version.size
    return Listed(one.path.strip("/"), size, version.etag, version.changed_ns)


def _rooted(path: str) -> str:
    return f"/{path.strip('/')}"


def _name(one: hdfs_native.FileStatus) -> str:
    return one.path.rstrip("/").rpartition("/")[2]
