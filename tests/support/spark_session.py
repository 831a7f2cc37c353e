"""One local Spark for all tests of a process: a JVM takes seconds to start.

Every fixture has a session of its own on it: SQL settings, temporary views and rules of the
optimizer are not shared. The last fixture that lets go stops the whole.
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

PROJECT = Path(__file__).resolve().parent.parent.parent

WORKERS = {
    "PYSPARK_PYTHON": sys.executable,
    "PYSPARK_DRIVER_PYTHON": sys.executable,
    "SPARK_LOCAL_IP": "127.0.0.1",
}
"""Environment in which Spark's Python workers are those of this Python, with its packages."""


QUICK = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-BytecodeVerificationRemote",
)
"""Options of a JVM for a short life.

Of code that runs a few times, most is not worth compiling well; and a quarter of Spark's start is
spent on checks of its classes.
"""


def quiet(folder: str, *, master: str = "local[2]") -> dict[str, str]:
    """Settings of a Spark without web server, that leaves nothing outside of a folder.

    Days of the old calendar are read as Spark reads them since 4.0; before, it fails on them.
    """
    return {
        "spark.master": master,
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": " ".join((*QUICK, "-XX:ReservedCodeCacheSize=256m")),
        "spark.driver.host": "127.0.0.1",
        "spark.executor.extraJavaOptions": " ".join(QUICK),
        "spark.local.dir": folder,
        "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
        "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def home_in(folder: Path) -> str:
    """Make a home of Spark in a folder: workers of a local cluster write below it."""
    from importlib.util import find_spec

    found = find_spec("pyspark")
    assert found is not None
    for path in Path(str(found.origin)).parent.iterdir():
        (folder / path.name).symlink_to(path)
    return str(folder)


@contextmanager
def local_session(settings: Mapping[str, str]) -> Iterator[SparkSession]:
    """Yield a session of its own with these SQL settings, on the Spark of this process."""
    with _users:
        session = _started().newSession()
        for name, value in settings.items():
            session.conf.set(name, value)
        yield session


class _Users:
    """Counts who uses Spark, and stops it when nobody does."""

    def __init__(self) -> None:
        self.count = 0
        self.at_end = ExitStack()

    def __enter__(self) -> None:
        self.count += 1

    def __exit__(self, *_: object) -> None:
        self.count -= 1
        if not self.count:
            self.at_end.close()


_users = _Users()


def _started() -> SparkSession:
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    os.environ.update(WORKERS)
    folder = _users.at_end.enter_context(
        tempfile.TemporaryDirectory(prefix="spark-", ignore_cleanup_errors=True)
    )
    builder = SparkSession.builder.appName("tests")
    for name, value in quiet(folder).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    _users.at_end.callback(session.stop)
    return session
