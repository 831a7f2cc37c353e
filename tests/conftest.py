"""What all tests share: the Hypothesis profile and where the sample files lie."""

from __future__ import annotations

import gc
import os
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from _pytest.assertion import rewrite
from hypothesis import core, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.stores.hdfs import Hdfs
    from tests.stores.proxy import Proxy
    from tests.stores.servers import SeaweedFS, Store
    from tests.support.iceberg_tables import Warehouse

ROOT = Path(__file__).resolve().parent.parent

# Hypothesis's own profile for CI has the same examples in each run: here they are new ones. Only a
# quarter as many as usual, since each run draws others; the campaigns of `campaigns` search
# deeper.
settings.register_profile("default", deadline=None, max_examples=25)
settings.register_profile("ci", deadline=None, max_examples=25, derandomize=False, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

SPARK_SECONDS = 1200
"""Time limit of a test on Spark, which may have to wait for a JVM to start."""


_NEW_OBJECTS = 100_000
"""Objects that are made before Python looks for cycles among them: as the command has it."""


SERVERS = {"shared_stores", "private_store", "careless_store", "hdfs"}
"""Fixtures that run programs of others, beside Spark and Chromium."""


def pytest_configure(config: pytest.Config) -> None:
    """Choose the seed of Hypothesis in CI: one for all processes of the run.

    Elsewhere each failing test prints its own seed, and Hypothesis keeps the failing examples.
    """
    gc.set_threshold(_NEW_OBJECTS, 20, 100)
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


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Rewrite the asserts of a part of the tests, if each process of pytest-xdist collects them.

    That takes longer than to run a tenth of the tests. Otherwise, in the first run of a clone,
    every process would do it for all of them.
    """
    worker: dict[str, Any] | None = getattr(session.config, "workerinput", None)
    is_whole = session.config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if worker is None or not is_whole or sys.dont_write_bytecode:
        return
    state = session.config.stash[rewrite.assertstate_key]
    number = int(worker["workerid"].removeprefix("gw"))
    for path in sorted((ROOT / "tests").rglob("test_*.py"))[number :: worker["workercount"]]:
        kept = rewrite.get_cache_dir(path) / (path.stem + rewrite.PYC_TAIL)
        kept.parent.mkdir(exist_ok=True)
        if not kept.exists():
            source, code = rewrite._rewrite_test(path, session.config)  # noqa: SLF001
            rewrite._write_pyc(state, code, source, kept)  # noqa: SLF001


def pytest_collection_finish() -> None:
    """Let no search for cycles look at what was collected: it is there until the end."""
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Let Python find everything at its exit, where some libraries report what is left."""
    gc.unfreeze()


@pytest.hookimpl(tryfirst=True)  # before the groups are read
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give markers; run tests on one Spark, HDFS or browser in one process; give a JVM time."""
    for item in items:
        used = {*getattr(item, "fixturenames", ()), *_parameters(item)}
        if {"spark", "spark_files"} & used:
            item.add_marker(pytest.mark.xdist_group("spark"))
        elif "hdfs" in used:
            item.add_marker(pytest.mark.xdist_group("hdfs"))
        if "spark" in {*used, *item.path.parts}:
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.timeout(SPARK_SECONDS))
        if SERVERS & used:
            item.add_marker(pytest.mark.servers)
        if "browser" in used:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.xdist_group("browser"))
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


@pytest.fixture
def old_duckdb(tmp_path: Path) -> Path:
    """Write a Python whose DuckDB loses rows of BLOB columns that have filters."""
    from tests.support.old_duckdb import write_python

    (tmp_path / "bin").mkdir()
    return write_python(tmp_path / "bin")


@pytest.fixture
def warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    """Make an empty catalog of Iceberg tables, which pyiceberg finds by the name `ground`."""
    from tests.support.iceberg_tables import make_warehouse

    return make_warehouse(tmp_path / "ground", monkeypatch)


@pytest.fixture(scope="session")
def shared_stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Store]]:
    """Run one SeaweedFS for all processes of the run; see `tests/stores/servers.py`."""
    from tests.stores.servers import shared_seaweedfs

    base = tmp_path_factory.getbasetemp()
    is_worker = "PYTEST_XDIST_WORKER" in os.environ
    with shared_seaweedfs((base.parent if is_worker else base) / "shared-store") as pair:
        yield pair


@pytest.fixture(scope="session")
def store(shared_stores: tuple[Store, Store]) -> Store:
    """Return a store that honours conditions, for somebody who may do everything there."""
    return shared_stores[0]


@pytest.fixture(scope="session")
def read_only_store(shared_stores: tuple[Store, Store]) -> Store:
    """Return the same store for somebody who may only read and list."""
    return shared_stores[1]


@pytest.fixture
def bucket(store: Store) -> Iterator[str]:
    """Make a bucket for one test; yield its name."""
    name = store.new_bucket()
    yield name
    store.delete_bucket(name)


@pytest.fixture
def versioned_bucket(store: Store) -> Iterator[str]:
    """Make a bucket that keeps old versions, for one test; yield its name."""
    name = store.new_bucket(versioned=True)
    yield name
    store.delete_bucket(name)


@pytest.fixture
def proxy(store: Store) -> Iterator[Proxy]:
    """Put a proxy before the store for one test: it counts, and lets requests fail."""
    from tests.stores.proxy import Proxy

    with Proxy(store) as opened:
        yield opened


@pytest.fixture
def private_store(tmp_path: Path) -> Iterator[SeaweedFS]:
    """Run a server for one test, which may kill it and start it again."""
    from tests.stores.servers import SeaweedFS

    with SeaweedFS(tmp_path / "private-store") as server:
        yield server


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    """Run a name node and a data node of HDFS; this user may do everything there."""
    from tests.stores.hdfs import Hdfs

    with Hdfs(tmp_path_factory.mktemp("hdfs") / "server") as server:
        yield server


@pytest.fixture(scope="session")
def careless_store() -> Iterator[Store]:
    """Run a store that ignores conditions."""
    from tests.stores.servers import moto_server

    with moto_server() as store:
        yield store
