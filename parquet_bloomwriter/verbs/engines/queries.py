"""Queries to engines for the number of rows that have a value, each engine in its own process.

`program` is the program that such a process runs. An engine is asked as its users ask it:
with its own settings, none of them changed.
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
import os
import shlex
import subprocess
import sys
import tempfile
import uuid
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from parquet_bloomwriter.errors import InvalidArgument, Proposal, Way
from parquet_bloomwriter.text import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

Value: TypeAlias = (
    int | float | str | bytes | decimal.Decimal | dt.date | dt.time | dt.datetime | uuid.UUID
)
"""A constant in a question."""

Form: TypeAlias = Literal["=", "IN", "join"]

_PROGRAM = Path(__file__).with_name("program.py")
_FIND = "import sys; from importlib.util import find_spec; print(*filter(find_spec, sys.argv[1:]))"


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """An engine that can be called from Python."""

    name: str
    """Name of the engine, as users write it."""

    package: str
    """Name of its package for pip."""

    module: str
    """Name of its module in Python."""

    is_asked: bool = True
    """Whether the engine is asked if the caller names none: engines that use no filters by
    themselves, and this library, are not."""


_ALL = (
    Engine(name="duckdb", package="duckdb", module="duckdb"),
    Engine(name="datafusion", package="datafusion", module="datafusion"),
    Engine(name="clickhouse", package="chdb", module="chdb"),
    Engine(name="spark", package="pyspark", module="pyspark"),
    Engine(name="polars", package="polars", module="polars", is_asked=False),
    Engine(name="pyarrow", package="pyarrow", module="pyarrow", is_asked=False),
    Engine(name="pandas", package="pandas", module="pandas", is_asked=False),
    Engine(
        name="bloomify",
        package="parquet-bloomwriter",
        module="parquet_bloomwriter",
        is_asked=False,
    ),
)
ENGINES = {one.name: one for one in _ALL}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question for the number of rows in a file that have one of some values in a column."""

    path: str
    """Absolute path of the file."""

    column: tuple[str, ...]
    """Names on the path to the column, from the top."""

    values: tuple[Value, ...]
    """Values that are looked for; one value, if the form is "="."""

    form: Form = "="
    """The predicate: "join" is a subquery, `IN (SELECT ...)`."""

    unit: str = "us"
    """Unit of a column of times: ms, us or ns."""

    width: int = 0
    """Length of a value of a FIXED_LEN_BYTE_ARRAY column, bytes; 0 for other columns."""

    digits: int = 0
    """Precision of a column of decimals."""

    schema_of: str | None = None
    """Path of a file whose schema the engine reads by; None for the file's own schema."""

    def document(self) -> dict[str, object]:
        """Return the question as a JSON object for `program`."""
        return {
            "path": self.path,
            "column": self.column,
            "values": [self._coded(value) for value in self.values],
            "form": self.form,
            "schema_of": self.schema_of,
        }

    def _coded(self, value: Value) -> object:
        if isinstance(value, int | float | str):
            return value
        if isinstance(value, bytes):
            return {"type": "binary", "text": value.hex(), "width": self.width}
        if isinstance(value, decimal.Decimal):
            return {"type": "decimal", "text": f"{value:f}", "digits": self.digits}
        if isinstance(value, uuid.UUID):
            return {"type": "uuid", "text": str(value)}
        kind = {dt.datetime: "timestamp", dt.date: "date", dt.time: "time"}[type(value)]
        return {"type": kind, "text": value.isoformat(), "unit": self.unit}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The answer of an engine to a question."""

    count: int | None
    """Number of rows; None if the engine failed, or if a command succeeded without a number."""

    has_failed: bool
    version: str = ""
    problem: str = ""
    """Last line of the engine's output if it failed; otherwise ""."""


def engine_of(name: str) -> Engine:
    """Return the engine of a name.

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


def missing_engine(name: str, python: str | None) -> str:
    """Return the clause that says that an engine is not installed, and how to install it."""
    package = ENGINES[name].package
    where = "here" if python is None else f"beside {python}"
    pip = "pip" if python is None else f"{python} -m pip"
    return f"{package} is not installed {where} (type: {pip} install {package})"


def nothing_to_ask(missing: Mapping[str, str], python: str | None) -> InvalidArgument:
    """Return the error for engines of which none is installed.

    Args:
        missing: Reasons of the engines that were named, by name.
        python: As for `installed_engines`.
    """
    if missing:
        names = ", ".join(f'"{one}"' for one in missing)
        return InvalidArgument(f"{names} cannot be asked: {next(iter(missing.values()))}")
    where = "beside bloomify" if python is None else f"beside {python}"
    return InvalidArgument(
        f"no engine that uses filters is installed {where}",
        remedy=("Type: pip install duckdb; or ", Proposal(Way.COMMAND, "give a command")),
    )


def installed_engines(python: str | None = None) -> Collection[str]:
    """Return the names of the engines that are installed in an environment, in `ENGINES` order.

    Args:
        python: Path of the environment's Python; None for the running one.

    Raises:
        InvalidArgument: If `python` cannot be run.
    """
    modules = [one.module for one in _ALL]
    if python is None:
        return [one.name for one in _ALL if find_spec(one.module) is not None]
    done = _run([python, "-c", _FIND, *modules], timeout_s=60.0)
    if done.problem:
        raise InvalidArgument(
            f"{python} does not run as a Python: {done.problem}",
            remedy="Name the Python of an environment, as in: ENV/bin/python.",
        )
    found = done.stdout.split()
    return [one.name for one in _ALL if one.module in found]


def ask(
    engine: Engine, questions: Sequence[Question], *, timeout_s: float, python: str | None = None
) -> list[Reply]:
    """Ask an engine, in a process of its own that is killed after a time limit.

    Args:
        engine: The engine.
        questions: What is asked, in order. If the process breaks, the questions that it did not
            come to have failed, too.
        timeout_s: Seconds for one answer.
        python: Path of the Python that runs the engine; None for the running one.
    """
    program = _PROGRAM.read_text(encoding="utf-8")
    done = _run(
        [python or sys.executable, "-c", program, engine.name],
        timeout_s * len(questions),
        given=json.dumps([one.document() for one in questions]),
    )
    version, *answers = _parsed(done.stdout)
    rest = len(questions) - len(answers)
    problem = done.problem or "it printed no number of rows"
    missing = Reply(count=None, has_failed=True, version=str(version), problem=problem)
    return [*(_reply(one, str(version)) for one in answers), *([missing] * rest)]


MEASURED = ("duckdb", "datafusion", "clickhouse", "spark", "polars", "bloomify")
"""Engines that take a condition in SQL, and so can be measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """What a process measured of an engine."""

    version: str
    runs: Sequence[Mapping[str, Any]]
    """Measurements of each run: of the first folder, of the second, of the first again ..."""

    row_groups: Sequence[Sequence[int] | None]
    """Numbers of row groups read and of all, by folder; None where the engine does not tell."""

    problem: str
    """Why it failed; "" if it did not."""


def measure(  # noqa: PLR0913  all by keyword
    engine: Engine,
    *,
    folders: Sequence[str],
    condition: str,
    repeats: int,
    timeout_s: float,
    python: str | None = None,
) -> Runs:
    """Measure an engine that counts rows, in a process of its own.

    Args:
        engine: One of `MEASURED`.
        folders: Folders of files.
        condition: SQL in the engine's dialect, put into its query as it is.
        repeats: Runs that count, of each folder.
        timeout_s: Seconds for one run.
        python: As for `ask`.
    """
    request = {"folders": folders, "condition": condition, "repeats": repeats}
    done = _run(
        [python or sys.executable, "-c", _PROGRAM.read_text(encoding="utf-8"), engine.name],
        timeout_s * len(folders) * (2 + repeats),
        given=json.dumps(request),
    )
    version, *lines = _parsed(done.stdout)
    runs = [one for one in lines if isinstance(one, dict)]
    said = [one for one in lines if isinstance(one, str)]
    row_groups = next((one for one in lines if isinstance(one, list)), [None] * len(folders))
    is_whole = len(runs) == repeats * len(folders)
    problem = said[0] if said else "" if is_whole else done.problem or "it printed no measurements"
    return Runs(version=str(version), runs=runs, row_groups=row_groups, problem=problem)


def _parsed(stdout: str) -> Sequence[Any]:
    """Return the version and the answers from the output, whose last line may be cut off."""
    found = []
    for line in stdout.splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            break
    return found or [""]


def _reply(answer: int | str, version: str) -> Reply:
    if isinstance(answer, str):
        return Reply(count=None, has_failed=True, version=version, problem=answer)
    return Reply(count=answer, has_failed=False, version=version)


def ask_command(command: str, questions: Sequence[Question], *, timeout_s: float) -> list[Reply]:
    """Ask an engine by a shell command that fails if the engine does, once for each question.

    Args:
        command: With `{file}`, `{column}` and `{value}` in it, which are put in without quotation
            marks: text is a literal of SQL already.
        questions: Questions about integers and text. If the first one fails, so do the others.
        timeout_s: Seconds for one answer.
    """
    first = _asked_by_command(command, questions[0], timeout_s)
    if first.has_failed:
        return [first] * len(questions)
    return [first, *(_asked_by_command(command, one, timeout_s) for one in questions[1:])]


def _asked_by_command(command: str, question: Question, timeout_s: float) -> Reply:
    (value,) = question.values
    literal = str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"
    text = command
    meanings = (("{file}", question.path), ("{column}", question.column[0]), ("{value}", literal))
    for word, meaning in meanings:
        text = text.replace(word, meaning)
    done = _run(["/bin/sh", "-c", text], timeout_s)
    if done.problem:
        return Reply(count=None, has_failed=True, problem=done.problem)
    last = done.stdout.split()[-1:]
    is_number = bool(last) and last[0].isdecimal()
    return Reply(count=int(last[0]) if is_number else None, has_failed=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """The result of a process."""

    stdout: str
    problem: str
    """Why the process failed; "" if it did not."""


def _run(command: list[str], timeout_s: float, given: str = "") -> _Run:
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
                input=given,
                timeout=timeout_s,
            )
        except subprocess.TimeoutExpired as error:
            said = error.stdout or b""  # bytes, whatever was asked for
            text = said if isinstance(said, str) else said.decode(errors="replace")
            return _Run(stdout=text, problem=f"it did not answer within {timeout_s:g} s")
        except OSError as error:
            return _Run(stdout="", problem=f"{shlex.join(command[:1])}: {error.strerror}")
    return _Run(stdout=done.stdout, problem=_last_words(done) if done.returncode else "")


def _last_words(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    if done.returncode < 0:
        return f"it was ended by signal {-done.returncode}"
    return lines[-1] if lines else f"it ended with exit code {done.returncode}"
