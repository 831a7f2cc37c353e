"""SFTP as a store, by fsspec and paramiko: a rename puts a new file in the old one's place.

`posix-rename@openssh.com` does so at one instant. There is no condition: size and time of the old
file are looked at just before, and what another program writes between that look and the rename is
lost. `file_systems.NewNameStore` does all but the rename, and says what becomes of lost answers.
"""

from __future__ import annotations

import errno
import os
import posixpath
import stat
from contextlib import suppress
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.errors import StoreProblem
from parquet_bloomwriter.stores.base import FileState
from parquet_bloomwriter.stores.file_systems import FsspecStore, NewNameStore, temporary_beside

if TYPE_CHECKING:
    from parquet_bloomwriter.source.filesystems import ResolvedPath
    from parquet_bloomwriter.stores.base import LocalFile

_TIMEOUT_S = 60
_SSH_PORT = 22
_MAX_LINKS = 40


class SftpStore(FsspecStore, NewNameStore):
    """An SFTP server, through fsspec and paramiko; one thread at a time uses it."""

    kind = "SFTP"
    why_not = ""
    is_replacing = True

    def __init__(self, place: ResolvedPath) -> None:
        super().__init__(place)
        self.kind = "SFTP"
        self._lock = RLock()
        self._notes: list[str] = []
        self._limit_waiting()
        self._reconnect_if_lost()  # fsspec keeps connections, which servers end
        self._check_host()
        # One path may be another file for another user, whose root is another folder.
        self.endpoint = f"{self.kind} {self._fs.client.get_transport().get_username()}"

    def notes(self) -> tuple[str, ...]:
        """Return the attributes of old files that new ones could not get, a clause each."""
        return tuple(self._notes)

    def _check_host(self) -> None:
        """Check that the server's key is the one in `~/.ssh/known_hosts`, if it has one.

        Raises:
            StoreProblem: If it is another one.
        """
        import paramiko

        known = paramiko.HostKeys()
        with suppress(OSError, paramiko.SSHException):
            known.load(str(Path.home() / ".ssh" / "known_hosts"))
        transport = self._fs.client.get_transport()
        key = transport.get_remote_server_key()
        host, port = self._fs.host, transport.getpeername()[1]
        entry = known.lookup(host if port == _SSH_PORT else f"[{host}]:{port}") or {}
        if entry and entry.get(key.get_name()) != key:
            raise StoreProblem(
                "the server's key is not the one in ~/.ssh/known_hosts",
                path=self._base,
                remedy="Find out why, before you do anything else there.",
            )

    def _limit_waiting(self) -> None:
        self._fs.ftp.get_channel().settimeout(_TIMEOUT_S)

    def _publish(
        self, path: str, data: LocalFile, replaces: FileState | None, like: FileState | None
    ) -> FileState:
        """Write a file to the target of symbolic links, since a rename would replace the link."""
        with self.named(path):
            path = self._followed(path)
        return super()._publish(path, data, replaces, like)

    def _followed(self, path: str) -> str:
        for _ in range(_MAX_LINKS):
            try:
                found = self._fs.ftp.lstat(path)
            except FileNotFoundError:
                return path
            if not stat.S_ISLNK(found.st_mode or 0):
                return path
            path = posixpath.join(posixpath.dirname(path), self._fs.ftp.readlink(path))
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))

    def _look(self, path: str) -> tuple[str, Any]:
        try:
            info = self._fs.ftp.stat(path)
        except FileNotFoundError:
            return "nothing", None
        return "directory" if stat.S_ISDIR(info.st_mode or 0) else "file", info

    def _state(self, info: Any) -> FileState:  # noqa: ANN401  paramiko's
        return FileState(
            size=info.st_size,
            token=(info.st_size, info.st_mtime),
            attributes={"mode": info.st_mode, "owner": (info.st_uid, info.st_gid)},
        )

    def _create(self, path: str, like: FileState | None = None) -> Any:  # noqa: ANN401  a file object
        del like
        return self._fs.ftp.open(path, "wx")

    def _send(self, data: LocalFile, file: Any) -> None:  # noqa: ANN401  a file of paramiko's
        """Write all bytes without waiting for answers, then check all answers.

        By itself paramiko drops the errors among the answers.
        """
        answers = getattr(file, "_reqs", None)
        file.set_pipelined(answers is not None)
        super()._send(data, file)
        while answers:
            self._fs.ftp._read_response(answers.popleft())  # noqa: SLF001  raises the error

    def _hide(self, temporary: str, like: FileState) -> None:
        if like.attributes.get("mode") is not None:
            self._fs.ftp.chmod(temporary, 0o600)

    def _carry_over(self, temporary: str, like: FileState) -> None:
        ftp = self._fs.ftp
        mode, owner = like.attributes.get("mode"), like.attributes.get("owner")
        if mode is None:
            return
        found = ftp.stat(temporary)
        if owner is not None and (found.st_uid, found.st_gid) != owner:
            try:
                ftp.chown(temporary, *owner)
            except OSError:
                self._notes.append("owner and group could not be kept")
        ftp.chmod(temporary, stat.S_IMODE(mode))

    def _rename(self, temporary: str, path: str, *, replaces: bool) -> None:
        if replaces:
            self._fs.ftp.posix_rename(temporary, path)
        else:
            self._fs.ftp.rename(temporary, path)  # fails if there is a file

    def why_not_exclusive(self, folder: str) -> str:
        """Try whether a rename fails if the new name exists, as the protocol says."""
        names = [temporary_beside(posixpath.join(folder, "scratch")) for _ in range(2)]
        try:
            with self.named(folder):
                for name in names:
                    with self._fs.ftp.open(name, "wx") as file:
                        file.write(name.encode())
                with suppress(OSError):
                    self._fs.ftp.rename(*names)
                with self._fs.ftp.open(names[1], "r") as file:
                    is_left = file.read() == names[1].encode()
        finally:
            for name in names:
                with suppress(StoreProblem):
                    self.remove(name)
        return "" if is_left else "its server lets a rename replace a file"

    def _reconnect(self) -> None:
        with self._lock:
            with suppress(Exception):
                self._fs.client.close()
            self._fs._connect()  # noqa: SLF001  there is no other way
            self._limit_waiting()
            self._check_host()

    def _reconnect_if_lost(self) -> None:
        try:
            self._fs.ftp.stat("/")
        except Exception:  # noqa: BLE001  whatever it was
            self._reconnect()
