"""A process that has loaded the package, and forks a child for each program that a page runs.

    python -m tests.docs.warm SOCKET

The programs are `bloomify` and `session` (the blocks of a page, `session.py`). In their places, the
tests put `CLIENT`, which hands its arguments, variables, folder and streams to this process, and
ends with the exit code of the child. So a command of a page takes 0.1 s, and no start of its own.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import socket
import sys
import traceback
from pathlib import Path
from typing import NoReturn

import bloomify.main
from campaigns.races.server import LOADED
from tests.docs import session

CLIENT = """#!{python} -IS
import os, socket, sys
variables = [f"{{name}}={{value}}" for name, value in os.environ.items()]
words = [os.getcwd(), str(len(sys.argv)), *sys.argv, *variables]
with socket.socket(socket.AF_UNIX) as server:
    server.connect({socket!r})
    socket.send_fds(server, [b"-"], [0, 1, 2])
    server.sendall(os.fsencode("\\0".join(words)))
    server.shutdown(socket.SHUT_WR)
    sys.exit(int(server.recv(9) or 70))
"""
"""Of `python` and `socket`."""

_MORE = ("pandas", "pyarrow.dataset", "parquet_bloomwriter.verbs.read")
_PROGRAMS = {"bloomify": bloomify.main.main, "session": session.main}


def main() -> None:
    """Serve until this process is ended."""
    for name in (*LOADED, *_MORE):
        importlib.import_module(name)
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(sys.argv[1])
        listener.listen()
        while True:
            connection, _ = listener.accept()
            with connection:
                if not os.fork():
                    listener.close()
                    _be_program(connection)


def _be_program(connection: socket.socket) -> NoReturn:
    """Run a program as if this process had been started for it."""
    leave = os._exit

    def tell(status: int) -> NoReturn:
        connection.sendall(str(status).encode())
        leave(status)

    code = 1
    os._exit = tell  # by which the command leaves
    try:
        _, files, *_ = socket.recv_fds(connection, 1, 3)
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115  of the process
        sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        told = b"".join(iter(lambda: connection.recv(1 << 16), b""))
        folder, count, *words = os.fsdecode(told).split("\0")
        sys.argv, variables = words[: int(count)], words[int(count) :]
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(dict(one.split("=", 1) for one in variables))
        _PROGRAMS[Path(sys.argv[0]).name]()
        code = 0
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else 1
    except BaseException:  # noqa: BLE001  what the interpreter would do with it
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        tell(code)


if __name__ == "__main__":
    main()
