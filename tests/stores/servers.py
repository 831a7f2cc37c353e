"""Object stores to test with: SeaweedFS, which honours conditions, and moto, which ignores them.

A test asks for the fixture `store` (SeaweedFS, one for all processes of a run), `bucket` (a new one
there), `private_store` (a server of its own, to be killed) or `careless_store` (moto). All listen
on 127.0.0.1 only, on ports that were free, and keep their data below pytest's temporary folder.

The shared server belongs to a process of its own, `python -m tests.stores.servers FOLDER`. It ends
when nobody holds the lock of that folder any more, also where all who held it were killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import http.client
import json
import logging
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Client: TypeAlias = Any
"""boto3 has no types."""

ROOT = Path(__file__).resolve().parents[2]

_SERVICES = ("s3", "master", "volume", "filer", "admin")
"""Each has a port for HTTP, and one for gRPC that is greater by 10,000."""

_SWITCHED_OFF = ("-webdav=false", "-admin.ui=false", "-s3.port.lance=0")
TABLES = "tables"
"""The bucket of a server's catalog of Iceberg tables, where it has one."""

_FIRST_PORT, _LAST_PORT = 12_000, 22_000
"""These, and those 10,000 above, are below the ports that Linux gives to clients."""

_START_SECONDS = 60
_ATTEMPTS = 5
"""Starts, each with other ports: one may be taken between being found free and being used."""

GUARDED = '{ "$@"; kill -9 0; } & read -r _; kill -9 0'
"""Ends its process group when the server ends, or when whoever started it ends in whatever way."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Store:
    """How to reach an object store."""

    endpoint: str
    """URL without a slash at its end."""

    access_key: str
    secret_key: str
    region: str = "us-east-1"

    @property
    def environment(self) -> dict[str, str]:
        """Variables by which boto3, pyarrow and fsspec find the store, and nothing of this user."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def client(self, *, attempts: int = 1, read_seconds: float = 60) -> Client:
        """Return a client of boto3.

        Args:
            attempts: How often a request is tried, the first time included.
            read_seconds: How long it waits for bytes of an answer.
        """
        import boto3
        from botocore.config import Config

        _share_models()
        return boto3.session.Session().client(
            "s3",
            endpoint_url=self.endpoint,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            region_name=self.region,
            config=Config(
                retries={"total_max_attempts": attempts, "mode": "standard"},
                read_timeout=read_seconds,
                s3={"addressing_style": "path"},
            ),
        )

    def new_bucket(self, *, versioned: bool = False) -> str:
        """Make a bucket; return its name."""
        name = f"bucket-{secrets.token_hex(6)}"
        client = _client_for_buckets(self)
        client.create_bucket(Bucket=name)
        if versioned:
            switch = {"Status": "Enabled"}
            client.put_bucket_versioning(Bucket=name, VersioningConfiguration=switch)
        return name

    def delete_bucket(self, name: str) -> None:
        """Delete a bucket and all that is in it: SeaweedFS takes one that is not empty."""
        _client_for_buckets(self).delete_bucket(Bucket=name)


@cache
def _client_for_buckets(store: Store) -> Client:
    """Return one client for all buckets of a store: to make a client takes longer than a bucket."""
    return store.client()


@cache
def _share_models() -> None:
    """Let all sessions of boto3 in this process share what they read of S3: 2 MB of JSON, 50 ms."""
    from botocore import session

    session.create_loader = cache(session.create_loader)


class SeaweedFS:
    """A server of its own, which can be killed and started again over the same data.

    `with SeaweedFS(folder) as server:` starts it, kills it, and removes its data.
    """

    def __init__(self, folder: Path, *, with_catalog: bool = False) -> None:
        """Nothing is started yet.

        Args:
            folder: Where it keeps its data and its log, `weed.log`; made if missing.
            with_catalog: Whether it has a REST catalog of Iceberg tables, too.
        """
        self._folder = folder
        self._with_catalog = with_catalog
        self._ports: dict[str, int] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._access_key, self._secret_key = "access-key-of-tests", "secret-key-of-tests"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def store(self) -> Store:
        """How to reach it; the same after a restart. May read, write, and change buckets."""
        return Store(
            endpoint=f"http://127.0.0.1:{self._ports['s3']}",
            access_key=self._access_key,
            secret_key=self._secret_key,
        )

    @property
    def catalog(self) -> dict[str, str]:
        """What pyiceberg needs to open the server's REST catalog."""
        return {
            "type": "rest",
            "uri": f"http://127.0.0.1:{self._ports['iceberg']}",
            "warehouse": f"s3://{TABLES}",
            "credential": f"{self._access_key}:{self._secret_key}",
            "oauth2-server-uri": f"http://127.0.0.1:{self._ports['iceberg']}/v1/oauth/tokens",
            "s3.endpoint": self.store.endpoint,
            "s3.access-key-id": self._access_key,
            "s3.secret-access-key": self._secret_key,
            "s3.region": self.store.region,
        }

    @property
    def reader(self) -> Store:
        """The same store for somebody who may read and list, and nothing else."""
        return Store(
            endpoint=self.store.endpoint,
            access_key="reader-" + self._access_key,
            secret_key="reader-" + self._secret_key,
        )

    def start(self) -> None:
        """Start it, on the ports it had before if there are any, and wait until it answers.

        Raises:
            RuntimeError: If it does not start; the message has the end of its log.
        """
        kept = bool(self._ports)
        for _ in range(_ATTEMPTS):
            if not kept:
                self._ports = _free_ports((*_SERVICES, *["iceberg"] * self._with_catalog))
            if self._started():
                return
            self.kill()
        log = (self._folder / "weed.log").read_text(errors="replace")
        raise RuntimeError(f"SeaweedFS does not start: {log[-2000:]}")

    def kill(self) -> None:
        """End it with `kill -9`, and wait until its ports are closed. Its data stay."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process = None
        deadline = time.monotonic() + _START_SECONDS
        while any(not _is_free(port) for port in self._all_ports()):
            if time.monotonic() > deadline:
                raise RuntimeError("SeaweedFS was killed, and still holds a port")
            time.sleep(0.02)
        for service, port in self._ports.items():  # it makes these, and nothing tells it not to
            Path(f"/tmp/seaweedfs-{service}-grpc-{port + 10_000}.sock").unlink(missing_ok=True)  # noqa: S108

    def _all_ports(self) -> Iterator[int]:
        for port in self._ports.values():
            yield from (port, port + 10_000)

    def _started(self) -> bool:
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / "data").mkdir(exist_ok=True)
        (self._folder / "s3.json").write_text(json.dumps(self._identities()))
        with (self._folder / "weed.log").open("ab") as log:
            self._process = subprocess.Popen(
                ("/bin/sh", "-c", GUARDED, "sh", *self._command()),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **_SETTINGS},
                cwd=self._folder,
                start_new_session=True,
            )
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            if _is_healthy(self._ports["s3"]) and (not self._with_catalog or self._has_tables()):
                return True
            time.sleep(0.05)
        return False

    def _has_tables(self) -> bool:
        """Whether the catalog answers, and its bucket is made."""
        from pyiceberg.catalog import load_catalog

        with contextlib.suppress(Exception):
            load_catalog("tables", **self.catalog).list_namespaces()
            return True
        return False

    def _command(self) -> Iterator[str]:
        yield from (str(Path(sys.executable).with_name("weed")), "mini", "-dir=data")
        yield from ("-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.telemetry=false")
        yield from ("-s3.config=s3.json", "-filer.localSocket=f.sock", "-s3.localSocket=s3.sock")
        yield from ("-master.volumeSizeLimitMB=1000", "-volume.max=2000", "-s3.cacheCapacityMB=0")
        for service in _SERVICES:
            port = self._ports[service]
            yield from (f"-{service}.port={port}", f"-{service}.port.grpc={port + 10_000}")
        yield from _SWITCHED_OFF
        yield f"-s3.port.iceberg={self._ports.get('iceberg', 0)}"
        if self._with_catalog:
            yield f"-tableBucket={TABLES}"

    def _identities(self) -> dict[str, Any]:
        rights = {
            "": ("Admin", "Read", "Write", "List", "Tagging"),
            "reader-": ("Read", "List"),
        }
        return {
            "identities": [
                {
                    "name": prefix + "tests",
                    "credentials": [
                        {
                            "accessKey": prefix + self._access_key,
                            "secretKey": prefix + self._secret_key,
                        }
                    ],
                    "actions": actions,
                }
                for prefix, actions in rights.items()
            ]
        }


_SETTINGS = {"WEED_MASTER_VOLUME_GROWTH_COPY_1": "1", "GOGC": "50"}
"""One volume for a bucket to begin with, not seven; less memory for some more work."""


def _free_ports(services: Sequence[str]) -> dict[str, int]:
    chosen = random.SystemRandom().sample(range(_FIRST_PORT, _LAST_PORT), 1000)
    free = (port for port in chosen if _is_free(port) and _is_free(port + 10_000))
    return {service: next(free) for service in services}


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _is_healthy(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("GET", "/healthz")
        return connection.getresponse().status == http.client.OK
    return False


@contextlib.contextmanager
def shared_seaweedfs(folder: Path) -> Iterator[tuple[Store, Store]]:
    """Use the one server of a folder, which the first to come starts and the last ends.

    Args:
        folder: The same for all processes that share a server.

    Yields:
        The store for one who may do everything, and for one who may only read and list.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "users.lock").open("w") as users:
        with (folder / "start.lock").open("w") as starting:
            fcntl.flock(starting, fcntl.LOCK_EX)
            fcntl.flock(users, fcntl.LOCK_SH)  # waits for a server that is about to end
            description = folder / "server.json"
            if not description.exists():
                _start_shared(folder)
            found = json.loads(description.read_text())
        yield Store(**found["store"]), Store(**found["reader"])


def _start_shared(folder: Path) -> None:
    with (folder / "server.log").open("ab") as log:
        process = subprocess.Popen(
            (sys.executable, "-m", "tests.stores.servers", str(folder)),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=ROOT,
            start_new_session=True,
        )
    while not (folder / "server.json").exists():
        if process.poll() is not None:
            raise RuntimeError((folder / "server.log").read_text(errors="replace")[-2000:])
        time.sleep(0.02)
    process.returncode = 0  # it outlives this process, and nobody waits for it


def _keep_shared(folder: Path) -> None:
    """Run the shared server until no process holds the lock of its users."""
    description, written = folder / "server.json", folder / "server.json.new"
    with SeaweedFS(folder / "seaweedfs") as server, (folder / "users.lock").open("w") as users:
        pair = {"store": asdict(server.store), "reader": asdict(server.reader)}
        written.write_text(json.dumps(pair))
        written.rename(description)
        try:
            fcntl.flock(users, fcntl.LOCK_EX)
        finally:
            description.unlink()
            server.kill()


@contextlib.contextmanager
def moto_server() -> Iterator[Store]:
    """Run moto in this process: a store that knows no conditions on uploads in parts and copies."""
    from moto.moto_server.threaded_moto_server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # else a line for each request
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        anyone = "anyone"
        yield Store(endpoint=f"http://{host}:{port}", access_key=anyone, secret_key=anyone)
    finally:
        server.stop()


if __name__ == "__main__":
    _keep_shared(Path(sys.argv[1]))
