"""How engines count the rows of a file that have a value, each in a process of its own.

A script is given path, column and value as JSON, and prints `{"version": ..., "count": ...}`. An
engine is asked as its users ask it: with its own settings, none of them changed.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.text import nearest

_HEAD = """\
import json, sys
from importlib.metadata import version
path, column, value = json.loads(sys.argv[1])
text = str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"
quoted = '"' + column.replace('"', '""') + '"'
ticked = "`" + column.replace("`", "``") + "`"
"""
_TAIL = """
print(json.dumps({"version": version(PACKAGE), "count": int(count)}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """An engine that Python reaches."""

    name: str
    """As users write it."""

    package: str
    """As pip installs it."""

    module: str
    """As Python imports it."""

    script: str
    """Sets `count`."""

    is_asked: bool = True
    """Whether it is asked if no engine is named: those that are not use no filters by themselves,
    or are this library."""

    @property
    def is_installed(self) -> bool:
        """Whether it is installed beside this library."""
        return find_spec(self.module) is not None


_ALL = (
    Engine(
        name="duckdb",
        package="duckdb",
        module="duckdb",
        script="""\
import duckdb
query = f"SELECT count(*) FROM read_parquet(?) WHERE {quoted} = {text}"
(count,) = duckdb.execute(query, [path]).fetchone()
""",
    ),
    Engine(
        name="datafusion",
        package="datafusion",
        module="datafusion",
        script="""\
import datafusion
context = datafusion.SessionContext()
context.register_parquet("t", path)
found = context.sql(f"SELECT count(*) AS n FROM t WHERE {quoted} = {text}").collect()
count = found[0].column(0)[0].as_py()
""",
    ),
    Engine(
        name="clickhouse",
        package="chdb",
        module="chdb",
        script="""\
import chdb
file = path.replace("\\\\", "\\\\\\\\").replace("'", "\\\\'")
literal = text.replace("\\\\", "\\\\\\\\")
query = f"SELECT count() FROM file('{file}', Parquet) WHERE {quoted} = {literal}"
count = str(chdb.query(query, "CSV"))
""",
    ),
    Engine(
        name="spark",
        package="pyspark",
        module="pyspark",
        script="""\
from pyspark.sql import SparkSession, functions
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.config("spark.log.level", "OFF").getOrCreate()
count = spark.read.parquet(path).where(functions.col(ticked) == value).count()
spark.stop()
""",
    ),
    Engine(
        name="polars",
        package="polars",
        module="polars",
        is_asked=False,
        script="""\
import polars
count = polars.scan_parquet(path).filter(polars.col(column) == value).collect().height
""",
    ),
    Engine(
        name="pyarrow",
        package="pyarrow",
        module="pyarrow",
        is_asked=False,
        script="""\
import pyarrow.parquet
count = pyarrow.parquet.read_table(path, columns=[column], filters=[(column, "==", value)]).num_rows
""",
    ),
    Engine(
        name="pandas",
        package="pandas",
        module="pandas",
        is_asked=False,
        script="""\
import pandas
count = len(pandas.read_parquet(path, columns=[column], filters=[(column, "==", value)]))
""",
    ),
    Engine(
        name="bloomify",
        package="parquet-bloomwriter",
        module="parquet_bloomwriter",
        is_asked=False,
        script="""\
from parquet_bloomwriter import read_table
count = read_table(path, columns=[column], filters=[(column, "==", value)]).num_rows
""",
    ),
)
ENGINES = {one.name: one for one in _ALL}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What an engine said to a question."""

    count: int | None
    """Rows; None if it failed, or if a command said nothing but that it went well."""

    has_failed: bool
    version: str = ""
    problem: str = ""
    """The last line of what it printed, if it failed."""


def engine_of(name: str) -> Engine:
    """Return an engine by its name.

    Raises:
        InvalidArgument: If there is none of that name here.
    """
    found = ENGINES.get(name)
    if found is None:
        near = nearest(name, ENGINES)
        raise InvalidArgument(
            f'"{name}" is no engine that is known here',
            remedy=f'Did you mean "{near}"?'
            if near
            else f"There are {', '.join(ENGINES)}; ask others by --command.",
        )
    return found


def ask(engine: Engine, path: str, column: str, value: int | str, *, timeout_s: float) -> Reply:
    """Ask an engine, in a process that may break and is ended after some time."""
    script = f"PACKAGE = {engine.package!r}\n{_HEAD}{engine.script}{_TAIL}"
    question = json.dumps([path, column, value])
    done = _run([sys.executable, "-c", script, question], timeout_s)
    if isinstance(done, Reply):
        return done
    try:
        said = json.loads(done.stdout.splitlines()[-1])
        return Reply(count=int(said["count"]), has_failed=False, version=str(said["version"]))
    except (IndexError, ValueError, KeyError, TypeError):
        return Reply(count=None, has_failed=True, problem="it printed no number of rows")


def ask_command(
    command: str, path: str, column: str, value: int | str, *, timeout_s: float
) -> Reply:
    """Ask an engine by a command of the shell, which fails if the engine does.

    Args:
        command: With `{file}`, `{column}` and `{value}` in it, which are put in without quotation
            marks: text is a literal of SQL already.
        path: Of the file.
        column: The column.
        value: Its value.
        timeout_s: Seconds that it may take.
    """
    literal = str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"
    text = command
    for word, meaning in (("{file}", path), ("{column}", column), ("{value}", literal)):
        text = text.replace(word, meaning)
    done = _run(["/bin/sh", "-c", text], timeout_s)
    if isinstance(done, Reply):
        return done
    last = done.stdout.split()[-1:]
    is_number = bool(last) and last[0].isdecimal()
    return Reply(count=int(last[0]) if is_number else None, has_failed=False)


def _run(command: list[str], timeout_s: float) -> subprocess.CompletedProcess[str] | Reply:
    with tempfile.TemporaryDirectory(prefix="bloomify-") as folder:  # what engines leave behind
        environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
        try:
            done = subprocess.run(  # noqa: S603  the user's own command, or ours
                command,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                timeout=timeout_s,
            )
        except subprocess.TimeoutExpired:
            problem = f"it did not answer within {timeout_s:g} s"
            return Reply(count=None, has_failed=True, problem=problem)
        except OSError as error:
            return Reply(
                count=None, has_failed=True, problem=f"{shlex.join(command[:1])}: {error.strerror}"
            )
    if done.returncode:
        return Reply(count=None, has_failed=True, problem=_last_words(done))
    return done


def _last_words(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    if done.returncode < 0:
        return f"it was ended by signal {-done.returncode}"
    return lines[-1] if lines else f"it ended with exit code {done.returncode}"
