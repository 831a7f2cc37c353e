"""What all tests share: the Hypothesis profile and where the sample files lie."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from parquet_bloomwriter import native

ROOT = Path(__file__).resolve().parent.parent

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.hookimpl(tryfirst=True)  # before the groups are read
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run all tests on one Spark in one process: a JVM takes minutes to become quick."""
    for item in items:
        used = {*getattr(item, "fixturenames", ()), *_parameters(item)}
        if "spark" in used:
            item.add_marker(pytest.mark.xdist_group("spark"))


def _parameters(item: pytest.Item) -> list[str]:
    """The parameters of a test that are text, such as the name of an engine."""
    call = getattr(item, "callspec", None)
    return [value for value in call.params.values() if isinstance(value, str)] if call else []


@pytest.fixture(scope="session", autouse=True)
def kernels() -> None:
    """Compile the kernels first: otherwise whichever test is first is told about it."""
    native.warm_up()


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
