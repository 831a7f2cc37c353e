"""A server of SFTP on this machine that serves a folder, and fails when it is told to.

Renames are OpenSSH's: the plain one fails if there is a file, `posix-rename` replaces it.
"""

from __future__ import annotations

import io
import os
import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import paramiko

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Fault = Callable[[int, str], str]


class Sshd:
    """What is served, and what was asked."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.port = 0
        self.key = paramiko.ECDSAKey.generate()
        self.log: list[str] = []
        """Operations, such as "stat"."""
        self.fault: Fault = lambda _number, _operation: ""
        """Says what goes wrong at an operation, given its number: "" for nothing, "fail", "denied",
        "cut" before it is carried out, or "lost" afterwards."""
        self.before: Callable[[str], None] = lambda _operation: None
        """Called before each operation."""

    def local(self, path: str) -> Path:
        """Where a path of the server's is."""
        return self.root / path.lstrip("/")


def _guarded(name: str) -> Callable[..., object]:
    def method(self: _Files, *arguments: object) -> object:
        sshd = self.sshd
        number = len(sshd.log)
        sshd.log.append(name)
        sshd.before(name)
        fault = sshd.fault(number, name)
        if fault == "fail":
            return paramiko.SFTP_FAILURE
        if fault == "denied":
            return paramiko.SFTP_PERMISSION_DENIED
        if fault == "cut":
            self.transport.close()
            return paramiko.SFTP_FAILURE
        try:
            answer = getattr(self, f"_{name}")(*arguments)
        except OSError as error:
            answer = paramiko.SFTPServer.convert_errno(error.errno)
        if fault == "lost":
            self.transport.close()
        return answer

    return method


class _Handle(paramiko.SFTPHandle):  # type: ignore[misc]  # paramiko has no types
    def __init__(self, files: _Files, flags: int, file: io.FileIO) -> None:
        super().__init__(flags)
        self.files = files
        self.readfile = self.writefile = file

    def stat(self) -> object:
        return paramiko.SFTPAttributes.from_stat(os.fstat(self.readfile.fileno()))

    def write(self, offset: int, data: bytes) -> object:
        return self.files.write(lambda: super(_Handle, self).write(offset, data))

    def read(self, offset: int, length: int) -> object:
        return self.files.read(lambda: super(_Handle, self).read(offset, length))


class _Files(paramiko.SFTPServerInterface):  # type: ignore[misc]
    def __init__(self, server: _Server, *_: object, **__: object) -> None:
        self.sshd = server.sshd
        self.transport = server.transport

    def _list_folder(self, path: str) -> object:
        found = []
        for entry in os.scandir(self.sshd.local(path)):
            attributes = paramiko.SFTPAttributes.from_stat(entry.stat())
            attributes.filename = entry.name
            found.append(attributes)
        return found

    def _stat(self, path: str) -> object:
        return paramiko.SFTPAttributes.from_stat(self.sshd.local(path).stat())

    def _lstat(self, path: str) -> object:
        return paramiko.SFTPAttributes.from_stat(self.sshd.local(path).lstat())

    def _readlink(self, path: str) -> object:
        return str(self.sshd.local(path).readlink())

    def _open(self, path: str, flags: int, attributes: object) -> object:
        del attributes
        local = self.sshd.local(path)
        fd = os.open(local, flags, 0o644)
        mode = "rb" if flags & 3 == os.O_RDONLY else "wb"
        return _Handle(self, flags, io.FileIO(fd, mode))

    def _mkdir(self, path: str, attributes: object) -> object:
        del attributes
        self.sshd.local(path).mkdir()
        return paramiko.SFTP_OK

    def _remove(self, path: str) -> object:
        self.sshd.local(path).unlink()
        return paramiko.SFTP_OK

    def _rename(self, old: str, new: str) -> object:
        self.sshd.local(new).hardlink_to(self.sshd.local(old))
        self.sshd.local(old).unlink()
        return paramiko.SFTP_OK

    def _posix_rename(self, old: str, new: str) -> object:
        self.sshd.local(old).replace(self.sshd.local(new))
        return paramiko.SFTP_OK

    def _chattr(self, path: str, attributes: object) -> object:
        paramiko.SFTPServer.set_file_attr(str(self.sshd.local(path)), attributes)
        return paramiko.SFTP_OK

    def _write(self, do: Callable[[], object]) -> object:
        return do()

    _read = _write

    list_folder = _guarded("list_folder")
    stat = _guarded("stat")
    lstat = _guarded("lstat")
    readlink = _guarded("readlink")
    open = _guarded("open")
    mkdir = _guarded("mkdir")
    remove = _guarded("remove")
    rename = _guarded("rename")
    posix_rename = _guarded("posix_rename")
    chattr = _guarded("chattr")
    write = _guarded("write")
    read = _guarded("read")


class _Server(paramiko.ServerInterface):  # type: ignore[misc]
    def __init__(self, sshd: Sshd, transport: paramiko.Transport) -> None:
        self.sshd = sshd
        self.transport = transport

    def get_allowed_auths(self, _username: str) -> str:
        return "password"

    def check_auth_password(self, username: str, password: str) -> int:
        right = username in ("ada", "bob") and password == "secret-word"  # noqa: S105  no secret
        return int(paramiko.AUTH_SUCCESSFUL if right else paramiko.AUTH_FAILED)

    def check_channel_request(self, _kind: str, _number: int) -> int:
        return int(paramiko.OPEN_SUCCEEDED)


@contextmanager
def serving(root: Path) -> Iterator[Sshd]:
    """Serve a folder on a port of this machine, to the users ada and bob."""
    sshd = Sshd(root)
    listener = socket.create_server(("127.0.0.1", 0))
    sshd.port = listener.getsockname()[1]
    transports: list[paramiko.Transport] = []

    def accept() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            transport = paramiko.Transport(client)
            transports.append(transport)
            transport.add_server_key(sshd.key)
            transport.set_subsystem_handler("sftp", paramiko.SFTPServer, _Files)
            with suppress(paramiko.SSHException, EOFError, OSError):
                transport.start_server(server=_Server(sshd, transport))

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield sshd
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
        for transport in transports:
            transport.close()
            transport.join()
