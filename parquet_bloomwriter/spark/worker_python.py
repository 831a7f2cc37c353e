"""The check of the Python that Spark starts for tasks, which may differ from the driver's Python.

`PYSPARK_PYTHON` names this Python; without it, Spark starts the first `python3` of the `PATH`. If
its version differs from the driver's, or packages are missing, the first task fails with a long
stack of Java. A local Spark starts the Python on this machine, so it is checked before the first
job.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.errors import BloomwriterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

REMEDY = (
    f"Set the environment variable PYSPARK_PYTHON to {sys.executable} before Spark starts, or to "
    "another Python of that version that has parquet-bloomwriter."
)
_LOCAL = re.compile(r"local(\[|$)")
_MODULES = ("parquet_bloomwriter", "pyarrow")
_QUESTION = """
import importlib.util, json, sys
missing = [name for name in sys.argv[1:] if importlib.util.find_spec(name) is None]
print(json.dumps([list(sys.version_info[:2]), missing]))
"""
_PATIENCE_S = 60


def check_worker_python(spark: SparkSession) -> None:
    """Check that the Python of a local classic session's tasks can run our code.

    Raises:
        BloomwriterError: If this Python is not found, has another version, or lacks packages.
    """
    context: Any = spark.sparkContext
    if not _LOCAL.match(context.master):
        return
    # Packages that Spark itself brings to its tasks are not found by other processes.
    modules = () if context._python_includes else _MODULES  # noqa: SLF001  no public way
    problem = _problem(context.pythonExec, modules, _environment(context))
    if problem:
        raise BloomwriterError(
            f"Spark would start the Python {context.pythonExec} for its tasks, which {problem}",
            remedy=REMEDY,
        )


def _problem(command: str, modules: tuple[str, ...], environment: Mapping[str, str]) -> str:
    """Return what makes a Python unfit for tasks, or ""."""
    executable = shutil.which(command)
    if executable is None:
        return "is not found"
    if Path(executable).absolute() == Path(sys.executable):
        return ""
    try:
        version, missing = _answer(executable, modules, tuple(sorted(environment.items())))
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        return f"does not answer: {error}"
    if tuple(version) != sys.version_info[:2]:
        theirs, ours = (".".join(map(str, one[:2])) for one in (version, sys.version_info))
        return f"is Python {theirs}, while the driver's is {ours}"
    return f"lacks {' and '.join(missing)}" if missing else ""


@functools.cache
def _answer(
    executable: str, modules: tuple[str, ...], environment: tuple[tuple[str, str], ...]
) -> tuple[list[int], list[str]]:
    """Return the version of a Python and the modules that it lacks; errors are not cached."""
    printed = subprocess.run(  # noqa: S603  what Spark would run as well
        [executable, "-c", _QUESTION, *modules],
        capture_output=True,
        check=True,
        timeout=_PATIENCE_S,
        env=dict(environment),
    ).stdout
    version, missing = json.loads(printed)
    return version, missing


def _environment(context: Any) -> dict[str, str]:  # noqa: ANN401  a SparkContext
    """Return the environment of the Python that a local Spark starts for tasks."""
    given: dict[str, str] = context.environment
    paths = [one.get("PYTHONPATH") for one in (given, os.environ)]
    return {**os.environ, **given, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
