"""A Python that cannot do the work of tasks is named before Spark starts it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from parquet_bloomwriter.errors import BloomwriterError
from parquet_bloomwriter.spark import jobs
from parquet_bloomwriter.spark.worker_python import check_worker_python

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession


def session(
    command: str,
    *,
    master: str = "local[2]",
    includes: tuple[str, ...] = (),
    environment: Mapping[str, str] = MappingProxyType({}),
) -> Any:  # noqa: ANN401  stands for a SparkSession
    context = SimpleNamespace(
        master=master,
        pythonExec=command,
        _python_includes=list(includes),
        environment=dict(environment),
    )
    return SimpleNamespace(sparkContext=context)


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def problem_of(spark: Any) -> str:  # noqa: ANN401  as above
    with pytest.raises(BloomwriterError) as caught:
        check_worker_python(spark)
    text = str(caught.value)
    assert sys.executable in text
    assert "PYSPARK_PYTHON" in text
    assert "\n" not in text
    return caught.value.problem


def test_the_drivers_python_is_fine() -> None:
    check_worker_python(session(sys.executable))


def test_a_python_that_is_missing(tmp_path: Path) -> None:
    assert problem_of(session(str(tmp_path / "python9"))).endswith(
        "python9 for its tasks, which is not found"
    )


def test_a_python_of_another_version(tmp_path: Path) -> None:
    old = script(tmp_path / "old", "echo '[[3, 8], []]'")
    ours = ".".join(map(str, sys.version_info[:2]))
    assert problem_of(session(old)).endswith(f"which is Python 3.8, while the driver's is {ours}")


def test_a_python_without_our_packages(tmp_path: Path) -> None:
    bare = script(tmp_path / "bare", f'exec {Path(sys.executable).resolve()} -I -S "$@"')
    assert problem_of(session(bare)).endswith("which lacks parquet_bloomwriter and pyarrow")
    check_worker_python(session(bare, includes=("parquet_bloomwriter.zip",)))


def test_a_python_that_does_not_answer(tmp_path: Path) -> None:
    assert "does not answer" in problem_of(session(script(tmp_path / "mute", "exit 3")))


def test_a_python_that_answers_later(tmp_path: Path) -> None:
    slow = script(tmp_path / "slow", "exit 3")
    assert "does not answer" in problem_of(session(slow))
    script(tmp_path / "slow", f'exec {sys.executable} "$@"')
    check_worker_python(session(slow))


def test_packages_that_executors_find_by_a_variable(tmp_path: Path) -> None:
    bare = script(tmp_path / "bare", f'exec {Path(sys.executable).resolve()} -S "$@"')
    for name in ("parquet_bloomwriter", "pyarrow"):
        (tmp_path / "packages" / name).mkdir(parents=True)
    assert "lacks" in problem_of(session(bare))
    environment = {"PYTHONPATH": str(tmp_path / "packages")}
    check_worker_python(session(bare, environment=environment))


def test_the_python_of_a_cluster_is_on_other_machines(tmp_path: Path) -> None:
    check_worker_python(session(str(tmp_path / "none"), master="yarn"))


def test_no_job_begins_with_a_wrong_python(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(tmp_path / "none"))
    monkeypatch.setattr(jobs, "_tasks", lambda *_: pytest.fail("a job was made"))
    with pytest.raises(BloomwriterError, match="is not found"):
        list(jobs.run(spark, str, [1], description="a test"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ModuleNotFoundError: No module named 'pyarrow'", "cannot import pyarrow"),
        ("[PYTHON_VERSION_MISMATCH] Python in worker", "have a different version"),
        ('java.io.IOException: Cannot run program "python7": error=2', "there is no python7"),
    ],
)
def test_what_executors_say_of_their_python_is_told_in_one_line(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, text: str, expected: str
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError(f"Job aborted\n\tat org.apache.spark\n{text}")

    monkeypatch.setattr(jobs, "_collected", fail)
    with pytest.raises(BloomwriterError, match=expected) as caught:
        list(jobs.run(spark, str, [1], description="a test"))
    assert "\n" not in str(caught.value)
