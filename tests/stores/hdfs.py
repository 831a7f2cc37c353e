"""A real HDFS to test with: a name node and a data node of Hadoop 2.7, on this machine only.

Their jars are in PySpark 2.4.8, the last release on PyPI that has them; they are fetched once, into
build/hdfs, and run on Java 17.

    python -m tests.stores.hdfs FOLDER      runs one until its standard input ends
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tests.stores.servers import GUARDED
from tests.support.spark_session import QUICK

if TYPE_CHECKING:
    from typing import Self

ROOT = Path(__file__).resolve().parents[2]
JARS = ROOT / "build" / "hdfs"

_PACKAGE = "pyspark==2.4.8"
_NEEDED = (
    *("hadoop-annotations", "hadoop-auth", "hadoop-common", "hadoop-hdfs"),
    *("commons-", "guava", "protobuf-java", "log4j-1", "slf4j-", "htrace-core", "jackson-"),
    *("jersey-", "javax.", "jetty-", "jsp-api", "netty-", "leveldbjni", "xercesImpl", "xml-apis"),
    *("curator-", "zookeeper", "apacheds-", "api-", "avro-1", "gson", "paranamer", "activation"),
    *("stax-api", "jsr305", "jaxb-api", "snappy-java", "httpc"),
)
"""How the names of jars begin that the servers load."""

_OPENED = ("java.lang", "sun.nio.ch", "java.net")
_START_SECONDS = 60
_WEB = ("hdfs", "datanode", "secondary")


def jars() -> Path:
    """Return the folder of the jars, fetched when they are first asked for."""
    stamp = JARS / ".complete"
    JARS.mkdir(parents=True, exist_ok=True)
    with (JARS / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists():
            _fetch()
            stamp.touch()
    return JARS


def _fetch() -> None:
    with tempfile.TemporaryDirectory(dir=JARS) as folder:
        pip = (sys.executable, "-m", "pip", "download", "-qq", "--disable-pip-version-check")
        # What it says of itself is made by the setuptools that are here.
        subprocess.run(
            [*pip, "--no-deps", "--no-build-isolation", "-d", folder, _PACKAGE], check=True
        )
        with tarfile.open(next(Path(folder).glob("*.tar.gz"))) as archive:
            for one in archive:
                name = one.name.rpartition("/")[2]
                if "/jars/" in one.name and name.startswith(_NEEDED):
                    data = archive.extractfile(one)
                    assert data is not None
                    (JARS / name).write_bytes(data.read())


class Hdfs:
    """A name node with one data node. `with Hdfs(folder) as server:` starts and ends it."""

    def __init__(self, folder: Path) -> None:
        """Nothing is started yet.

        Args:
            folder: Where it keeps data, configuration and logs; made if missing.
        """
        self._folder = folder
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._port = 0

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._port = _free_port()
        self._configure()
        formatting = self._command("NameNode", "-format", "-force")
        subprocess.run(formatting, check=True, cwd=self._folder, capture_output=True)
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def url(self) -> str:
        """`hdfs://` and the address of the name node; the same after a restart."""
        return f"hdfs://127.0.0.1:{self._port}"

    @property
    def configuration(self) -> Path:
        """Folder of Hadoop's configuration files."""
        return self._folder / "conf"

    def start(self, *names: str) -> None:
        """Start the nodes, and wait until files can be written.

        Args:
            names: "NameNode" or "DataNode"; both if none is named.
        """
        for name in names or ("NameNode", "DataNode"):
            with (self._folder / f"{name}.log").open("ab") as log:
                self._processes[name] = subprocess.Popen(
                    ("/bin/sh", "-c", GUARDED, "sh", *self._command(name)),
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    cwd=self._folder,
                    start_new_session=True,
                )
        deadline = time.monotonic() + _START_SECONDS
        while not self._takes_files():
            if time.monotonic() > deadline:
                raise RuntimeError(f"HDFS does not start: {self._logs()[-2000:]}")
            time.sleep(0.1)

    def kill(self, *names: str) -> None:
        """End nodes with `kill -9`. Their data stay."""
        for name in names or tuple(self._processes):
            process = self._processes.pop(name)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            assert process.stdin is not None
            process.stdin.close()

    def _takes_files(self) -> bool:
        from hdfs_native import Client, WriteOptions

        with suppress(Exception), closing(socket.create_connection(("127.0.0.1", self._port))):
            client = Client(self.url)
            with client.create("/.started", WriteOptions(overwrite=True)) as file:
                file.write(b"x")
            return bool(client.read("/.started").read() == b"x")
        return False

    def _logs(self) -> str:
        return "".join(one.read_text(errors="replace") for one in self._folder.glob("*.log"))

    def _command(self, name: str, *arguments: str) -> list[str]:
        home = os.environ.get("JAVA_HOME")
        package = "datanode.DataNode" if name == "DataNode" else f"namenode.{name}"
        opened = [f"--add-opens=java.base/{one}=ALL-UNNAMED" for one in _OPENED]
        return [
            str(Path(home) / "bin" / "java") if home else "java",
            *QUICK,
            "-Xmx256m",
            *opened,
            "-cp",
            f"{self.configuration}:{jars()}/*",
            f"org.apache.hadoop.hdfs.server.{package}",
            *arguments,
        ]

    def _configure(self) -> None:
        for name in _WEB:
            inner = self.configuration / "webapps" / name / "WEB-INF"
            inner.mkdir(parents=True)
            (inner / "web.xml").write_text("<web-app/>")
        (self.configuration / "webapps" / "static").mkdir()
        (self.configuration / "log4j.properties").write_text(
            "log4j.rootLogger=WARN,A\nlog4j.appender.A=org.apache.log4j.ConsoleAppender\n"
            "log4j.appender.A.layout=org.apache.log4j.SimpleLayout\n"
        )
        self._write("core-site.xml", {"fs.defaultFS": self.url})
        nowhere = "127.0.0.1:0"
        self._write(
            "hdfs-site.xml",
            {
                "dfs.namenode.name.dir": f"file://{self._folder}/names",
                "dfs.datanode.data.dir": f"file://{self._folder}/blocks",
                "dfs.namenode.http-address": nowhere,
                "dfs.datanode.address": nowhere,
                "dfs.datanode.ipc.address": nowhere,
                "dfs.datanode.http.address": nowhere,
                "dfs.replication": "1",
                "dfs.namenode.fs-limits.min-block-size": "0",
                "dfs.webhdfs.enabled": "false",
                "dfs.namenode.acls.enabled": "true",
                "dfs.namenode.safemode.extension": "0",
            },
        )

    def _write(self, name: str, settings: dict[str, str]) -> None:
        inner = "".join(
            f"<property><name>{one}</name><value>{value}</value></property>"
            for one, value in settings.items()
        )
        (self.configuration / name).write_text(f"<configuration>{inner}</configuration>")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    with Hdfs(Path(sys.argv[1])) as server:
        print(server.url, flush=True)  # noqa: T201
        sys.stdin.read()
