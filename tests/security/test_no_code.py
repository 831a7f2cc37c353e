"""Nothing in a file is run: no shell, no evaluation, no unpickling, no format string of its making.

The first half reads the source of the package; the second gives it files that would run something.
"""

from __future__ import annotations

import ast
import json
import os
import pickle
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from campaigns.security.commands import run
from parquet_bloomwriter import (
    advise,
    bloomify,
    dataset,
    index,
    inspect,
    iter_batches,
    probe,
    read_table,
    strip,
    verify,
)

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(
    path
    for folder in ("parquet_bloomwriter", "cli/bloomify")
    for path in (ROOT / folder).rglob("*.py")
)

_FORBIDDEN = frozenset(
    """
    eval exec compile breakpoint input __import__
    os.system os.popen os.execv os.execve os.execvp os.spawnv os.spawnl os.startfile os.posix_spawn
    tempfile.mktemp os.tempnam pty.spawn runpy.run_path runpy.run_module
    pickle.load pickle.loads pickle.Unpickler marshal.load marshal.loads shelve.open dill.loads
    yaml.load yaml.unsafe_load numpy.load np.load joblib.load
    ctypes.CDLL ctypes.cdll.LoadLibrary ctypes.util.find_library
    """.split()  # noqa: SIM905  a list of them would fill a page
)
_FORBIDDEN_MODULES = frozenset(
    """
    subprocess commands shelve marshal dill cloudpickle joblib yaml xml lxml pty runpy code
    """.split()  # noqa: SIM905  likewise
)
_KNOWN = Counter(
    {
        ("parquet_bloomwriter/spark/jobs.py", "pickle.loads"): 2,
        ("parquet_bloomwriter/replace/names.py", "ctypes.CDLL"): 1,
    }
)
"""Between Spark's driver and its workers, about what the driver itself has sent; and the C library
that the process has loaded already."""

_KNOWN_MODULES = {
    "parquet_bloomwriter/spark/worker_python.py": {"subprocess"},
    "parquet_bloomwriter/verbs/engines/queries.py": {"subprocess"},
}
"""One asks the Python for its version that Spark is about to start. The other asks engines, by its
own scripts or the caller's command, in which nothing of a file stands that means anything to a
shell."""

_LOOKED_AT = (ast.Call, ast.Import, ast.ImportFrom, ast.keyword, ast.BinOp)
_LOGGING = frozenset({"debug", "info", "warning", "error", "exception", "critical", "log"})


@cache
def _nodes() -> tuple[tuple[str, ast.AST], ...]:
    return tuple(
        (str(path.relative_to(ROOT)), node)
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, _LOOKED_AT)
    )


def _dotted(node: ast.AST) -> str:
    """Return a name as it stands, such as `os.system`; "" for what is no name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (owner := _dotted(node.value)):
        return f"{owner}.{node.attr}"
    return ""


@pytest.mark.xdist_group("sources")
def test_nothing_is_evaluated_unpickled_or_given_to_a_shell() -> None:
    found = Counter(
        (name, called)
        for name, node in _nodes()
        if isinstance(node, ast.Call) and (called := _dotted(node.func)) in _FORBIDDEN
    )
    assert found == _KNOWN


@pytest.mark.xdist_group("sources")
def test_no_module_is_imported_that_would() -> None:
    for name, node in _nodes():
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        forbidden = {module.partition(".")[0] for module in modules} & _FORBIDDEN_MODULES
        assert forbidden <= _KNOWN_MODULES.get(name, set()), name


@pytest.mark.xdist_group("sources")
def test_no_shell_is_asked_for() -> None:
    for name, node in _nodes():
        if isinstance(node, ast.keyword) and node.arg == "shell":
            pytest.fail(f"{name}: shell=")


@pytest.mark.xdist_group("sources")
def test_format_strings_are_literals() -> None:
    for name, node in _nodes():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            is_format = node.func.attr in {"format", "format_map"}
            is_log = node.func.attr in _LOGGING and _dotted(node.func.value) in {"_log", "log"}
            literal = node.func.value if is_format else node.args[0] if is_log else None
            assert literal is None or _is_literal(literal), f"{name}: {ast.unparse(node)}"
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            assert not _is_literal(node.left), f"{name}: {ast.unparse(node)}"


def _is_literal(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


@pytest.mark.xdist_group("sources")
def test_the_search_finds_something() -> None:
    assert len(SOURCES) > 200
    assert sum(isinstance(node, ast.Call) for _, node in _nodes()) > 5_000


class _Runs:
    """Leaves a trace if somebody unpickles it."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.trace),)


@pytest.fixture
def booby_trap(tmp_path: Path) -> tuple[Path, Path]:
    """Return a file that names pickled types and formulas, and the folder they would make."""
    trace, path = tmp_path / "trace", tmp_path / "table" / "file.parquet"
    path.parent.mkdir()
    packed = pickle.dumps(_Runs(trace))
    extension = {
        b"ARROW:extension:name": b"arrow.py_extension_type",
        b"ARROW:extension:metadata": packed,
    }
    command = f"mkdir {trace}"
    schema = pa.schema(
        [pa.field("id", pa.int64(), metadata=extension), pa.field(f"$({command})", pa.string())],
        metadata={b"pandas": packed, b"org.apache.spark.version": packed, packed: packed},
    )
    values = [f"`{command}`", f"; {command};", f"__import__('os').mkdir({str(trace)!r})"]
    pq.write_table(pa.table([[1, 2, 3], values], schema=schema), path)
    return path, trace


def test_a_file_runs_nothing(booby_trap: tuple[Path, Path]) -> None:
    path, trace = booby_trap
    column = f"$(mkdir {trace})"
    condition = [(column, "=", f"`mkdir {trace}`")]
    bloomify(path, ["id", column])
    inspect(path)
    verify(path)
    advise(path)
    probe(path, condition)
    assert read_table(path, filters=condition).num_rows == 1
    assert sum(batch.num_rows for batch in iter_batches(path, filters=condition)) == 1
    dataset(path, filters=condition).to_table()
    index.create(path.parent, [column], name="ids")
    index.lookup(path.parent, condition)
    index.refresh(path.parent, name="ids", mode="full")
    index.optimize(path.parent, name="ids")
    strip(path)
    assert not trace.exists()


def test_the_trap_works(booby_trap: tuple[Path, Path]) -> None:
    path, trace = booby_trap
    packed = pq.read_schema(path).metadata[b"pandas"]
    pickle.loads(packed)  # noqa: S301  our own
    assert trace.exists()


@pytest.mark.parametrize("name", ["[ab].parquet", "*.parquet", "?.parquet", "{a,b}.parquet", "~"])
def test_a_name_that_is_there_is_no_pattern(tmp_path: Path, name: str) -> None:
    for one in ("a.parquet", "b.parquet", name):
        pq.write_table(pa.table({"id": [1, 2, 3]}), tmp_path / "plain")
        (tmp_path / "plain").rename(tmp_path / one)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert run(["add", str(tmp_path / name), "--columns", "id"]).status == 0
    changed = {path.name for path, data in before.items() if path.read_bytes() != data}
    assert changed == {name}
    found = run(["probe", str(tmp_path / name), "--eq", "id=7", "--json"], is_terminal=False)
    assert [one["path"] for one in json.loads(found.out)["files"]] == [str(tmp_path / name)]
