"""What all tests share: the Hypothesis profile and where the sample files lie."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

import pytest
from hypothesis import core, settings

ROOT = Path(__file__).resolve().parent.parent

# Hypothesis's own profile for CI has the same examples in each run: here they are new ones.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=False, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

SPARK_SECONDS = 1200
"""Time limit of a test on Spark, which may have to wait for a JVM to start."""


def pytest_configure(config: pytest.Config) -> None:
    """Choose the seed of Hypothesis in CI: one for all processes of the run.

    Elsewhere each failing test prints its own seed, and Hypothesis keeps the failing examples.
    """
    config.addinivalue_line("markers", "xdist_group: see pytest-xdist, which may be switched off")
    seed: int | None = getattr(config, "workerinput", {}).get("hypothesis_seed")
    if seed is None and os.environ.get("CI") and core.global_force_seed is None:
        seed = secrets.randbelow(2**32)
    if seed is not None:
        core.global_force_seed = seed  # type: ignore[assignment]  # its type is taken to be None


@pytest.hookimpl(optionalhook=True)  # pytest-xdist calls it
def pytest_configure_node(node: Any) -> None:  # noqa: ANN401  pytest-xdist has no types
    """Tell a worker the seed of the run."""
    node.workerinput["hypothesis_seed"] = core.global_force_seed


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist starts its workers
def pytest_sessionstart(session: pytest.Session) -> None:
    """Print the seed where a log begins."""
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and core.global_force_seed is not None:
        terminal.write_line(f"to repeat these examples: --hypothesis-seed={core.global_force_seed}")


@pytest.hookimpl(tryfirst=True)  # before the groups are read
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give markers; run all tests on one Spark in one process, with more time to start a JVM."""
    for item in items:
        used = {*getattr(item, "fixturenames", ()), *_parameters(item)}
        if "spark" in used:
            item.add_marker(pytest.mark.xdist_group("spark"))
        if "spark" in {*used, *item.path.parts}:
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.timeout(SPARK_SECONDS))
        if "browser" in used:
            item.add_marker(pytest.mark.browser)
        if "readers" in item.path.parts:
            item.add_marker(pytest.mark.engines)
        if "failure" in item.path.parts:
            item.add_marker(pytest.mark.failure)


def _parameters(item: pytest.Item) -> list[str]:
    """The parameters of a test that are text, such as the name of an engine."""
    call = getattr(item, "callspec", None)
    return [value for value in call.params.values() if isinstance(value, str)] if call else []


@pytest.fixture(scope="session")
def fixtures_dir() -> Path:
    """Return the folder of the project's own sample files, `<writer>/<name>.parquet`."""
    return ROOT / "fixtures"


@pytest.fixture(scope="session")
def corpus_dir() -> Path:
    """Return the folder of other projects' Parquet files, which is not part of the project.

    Tests that need it are skipped where it is missing; `BLOOMIFY_CORPUS` says where it is.
    """
    folder = Path(os.environ.get("BLOOMIFY_CORPUS", ROOT / "../shared/corpus")).resolve()
    if not folder.is_dir():
        pytest.skip("BLOOMIFY_CORPUS names no folder of Parquet files")
    return folder
