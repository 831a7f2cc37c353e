"""The program of another user: `python stranger.py PORT TABLE USER` attacks py4j's callback server.

It prints what it was told, as JSON. It needs nothing but Python's own library. Started by root, it
becomes the other user before it does anything.
"""

# ruff: noqa: T201  a program
from __future__ import annotations

import json
import os
import socket
import sys

_HOST = "127.0.0.1"
_WAIT_S = 5
_PRUNE = {"ask": "prune", "text": "", "traced": False, "case_sensitive": False}
_CONDITION = {"in": ["id"], "type": "long", "values": ["5"]}
_METHODS = (
    *("apply", "_answer", "_prune", "_keep", "clear", "traced", "homes", "_snapshots", "Java"),
    *("__setattr__", "__getattribute__", "__delattr__", "__class__", "__init__", "__reduce__"),
    *("__reduce_ex__", "__dir__", "__repr__", "__str__", "__format__", "__sizeof__", "__new__"),
    *("__init_subclass__", "__subclasshook__", "__dict__", "__getstate__", "toString", "hashCode"),
    *("equals", "andThen", "compose", "", " ", "apply\u0000", "mailbox", "ask", "next", "answer"),
)


class Stranger:
    """Sends commands, and notes the answers."""

    def __init__(self, port: int, table: str) -> None:
        self._port = port
        self._table = table
        self.told: list[str] = []
        self.num_attacks = 0

    def send(self, data: bytes) -> None:
        """Send bytes on a connection of their own."""
        self.num_attacks += 1
        with socket.socket() as connection:
            connection.settimeout(_WAIT_S)
            answer = b""
            try:
                connection.connect((_HOST, self._port))
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                while more := connection.recv(1 << 16):
                    answer += more
            except OSError:
                pass
        self.told.append(answer.decode(errors="replace"))

    def call(self, target: str, method: str, *values: str) -> None:
        """Call a method of an object."""
        parts = ["c", target, method, *(f"s{one}" for one in values), "e"]
        self.send("".join(f"{part}\n" for part in parts).encode())

    def attack(self) -> None:
        """Try everything."""
        request = json.dumps({**_PRUNE, "roots": [self._table], "condition": _CONDITION})
        join = {"ask": "join", "roots": [self._table], "column": ["id"], "type": "long"}
        snapshot = {"ask": "files", "snapshot": "5f"}
        for target in ("t", *(f"p{i}" for i in range(16))):
            for one in (request, json.dumps(join), json.dumps(snapshot), "", "{", "[" * 100_000):
                self.call(target, "apply", one)
            for secret in ("", "0" * 64, "secret", "None"):
                self.call(target, "apply", secret, request)
                self.call(target, "apply", f"{secret} {request}")
            for method in _METHODS:
                self.call(target, method)
                self.call(target, method, "homes")
                self.call(target, method, "homes", "/")
                self.call(target, method, "apply", "x")
        self.garble()

    def garble(self) -> None:
        """Send what is no command, and what is very long; at last, drop all objects."""
        for data in (b"", b"\n", b"c\n", b"\0" * 1000, b"A\nsecret\n", b"s\n", b"x\ny\nz\n"):
            self.send(data)
        self.send(b"c\np0\napply\ns" + b"x" * (32 << 20) + b"\ne\n")
        self.send(b"c\np0\napply\n" + b"i1\n" * 100 + b"e\n")
        self.send(b"c\np0\napply\nq\ne\n")
        for i in range(16):
            self.send(f"g\np{i}\ne\n".encode())
            self.told.pop()  # py4j says that it has dropped the object, or that it never knew it


if __name__ == "__main__":
    if os.geteuid() != int(sys.argv[3]):
        os.setgroups([])
        os.setgid(int(sys.argv[3]))
        os.setuid(int(sys.argv[3]))
    stranger = Stranger(int(sys.argv[1]), sys.argv[2])
    stranger.attack()
    told = sorted(set(stranger.told))
    print(json.dumps({"user": os.geteuid(), "attacks": stranger.num_attacks, "told": told}))
