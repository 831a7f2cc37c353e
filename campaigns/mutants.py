"""Change the code in one place and see whether a test fails: `make mutants`.

Places are drawn at random from the packages of `GUARDS`, and at each place one of cosmic-ray's
changes, so the same seed draws the same mutants of the same code. A copy of the project is changed,
never the project. The tests that bear or import the name of the changed module run first, then the
others that guard its package, until one fails: the mutant is killed, if that test passes without
the change. A mutant that survives needs a test, or a reason why nothing can tell it from the code.

A mutant costs seconds: its tests run in a fork of this process, which has imported the libraries,
but nothing of the project. What only a type checker reads (annotations, imports for them) is not
changed. Of kernels, the reference in Python is changed, which the tests hold against the C.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import importlib
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "parquet_bloomwriter"
SURVIVED = "SURVIVED"
LIBRARIES = (
    "numpy",
    "pyarrow.dataset",
    "pyarrow.parquet",
    "hypothesis",
    "sqlglot",
    "thrift",
    "xxhash",
)
SECONDS = 900
"""A mutant that takes longer counts as killed: it hangs. One test has `TEST_SECONDS`."""

TEST_SECONDS = 120
NODES = {
    "ReplaceBinaryOperator": {"operator"},
    "ReplaceComparisonOperator": {"comparison"},
    "ReplaceUnaryOperator": {"factor", "not_test"},
}
"""The kinds of nodes that cosmic-ray's most numerous operators look for."""

GUARDS: dict[str, tuple[str, ...]] = {
    "sbbf": ("sbbf", "verbs/test_bloom_file.py", "verbs/test_verify.py"),
    "hashing": ("hashing", "verbs/test_bloomify.py"),
    "compact": ("compact", "metadata"),
    "metadata": ("metadata", "rewrite", "verbs/test_bloomify.py", "cli/test_inspect.py", "iceberg"),
    "filters": (
        *("filters", "verbs/test_inspect.py", "verbs/test_verify.py", "verbs/test_bloomify.py"),
        "probing",
    ),
    "rewrite": (
        *("rewrite", "verbs/test_bloomify.py", "verbs/test_strip.py", "cli/test_add.py"),
        *("cli/test_strip.py", "stores"),
    ),
    "replace": (
        *("replace", "verbs/test_bloomify.py", "verbs/test_strip.py", "delta/test_place_local.py"),
        "failure/races",
    ),
    "values": ("values", "verbs/test_bloomify.py", "verbs/test_verify.py", "verbs/test_advise.py"),
    "predicate": (
        *("predicate/literals", "predicate/test_bind.py", "predicate/test_sql.py"),
        *("predicate", "verbs/test_probe.py", "verbs/test_read.py", "verbs/test_read_literals.py"),
    ),
    "probing": ("probing", "verbs/test_probe.py", "verbs/test_bloom_file.py", "cli/test_probe.py"),
    "index": (
        *("index/test_changes.py", "index/query", "index/test_broken.py", "index/format"),
        *("index/actions/test_changing.py", "index/test_files.py", "index/build"),
        *("index/actions/test_actions.py", "index"),
    ),
}
"""By package: files and folders of `tests/` that guard it."""

INDEX_QUERIES = ("changes", "format/filter_file", "format/part_reader", "query/")
"""What of `index` answers queries; the modules that build an index are not changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the code can be changed, and by which of cosmic-ray's operators."""

    module: str
    """Path from the root of the project."""

    line: int
    """1-based."""

    column: int
    """0-based."""

    changes: tuple[tuple[str, int], ...]
    """Names of operators, each with its 0-based ordinal in the module."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One change of one module."""

    module: str
    line: int
    operator: str
    code: str
    """The whole module as changed."""

    diff: str


def main() -> int:
    """Draw mutants and try them; exit status 1 if any survives."""
    options = _options()
    mutants = list(_drawn(random.Random(options.seed), options.count))  # noqa: S311  not a secret
    for library in LIBRARIES:
        importlib.import_module(library)
    survivors = 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        copy = _copy(Path(scratch))
        if (failure := _tried(copy, [str(copy / "tests" / "test_text.py")])) != SURVIVED:
            sys.exit(f"no test passes in a copy without a change: {failure}")
        for number, mutant in enumerate(mutants, start=1):
            if options.only and number not in options.only:
                continue
            began = time.monotonic()
            tests = _tests_of(copy, mutant.module)
            outcome = _outcome(copy, mutant, tests[:1] if options.quick else tests)
            seconds = time.monotonic() - began
            head = f"{number} {mutant.module}:{mutant.line} {mutant.operator}"
            print(f"{head}: {outcome} ({seconds:.0f} s)\n{mutant.diff}", flush=True)  # noqa: T201
            survivors += outcome == SURVIVED
    return int(survivors > 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m campaigns.mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=11, help="of the draw (default: 11)")
    parser.add_argument("--count", type=int, default=150, help="how many (default: 150)")
    parser.add_argument(
        "--only", type=int, nargs="*", metavar="N", help="of those drawn, try these (from 1)"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="run the others only for modules whose name no test bears",
    )
    return parser.parse_args()


def _drawn(rng: random.Random, count: int) -> Iterator[Mutant]:
    places = [place for module in _modules() for place in _places(module)]
    rng.shuffle(places)
    for place in places:
        if count == 0:
            return
        mutant = _mutant(place, *rng.choice(place.changes))
        if mutant is not None:
            count -= 1
            yield mutant


def _modules() -> list[Path]:
    folders = (ROOT / PACKAGE / package for package in GUARDS)
    found = (path for folder in folders for path in sorted(folder.rglob("*.py")))
    return [path for path in found if "index" not in path.parts or _answers_queries(path)]


def _answers_queries(path: Path) -> bool:
    inside = path.relative_to(ROOT / PACKAGE / "index").as_posix()
    return inside.startswith(INDEX_QUERIES)


def _places(path: Path) -> list[Place]:
    nodes = list(ast_nodes(get_ast(path.read_text(encoding="utf-8"))))
    changes: dict[tuple[int, int], list[tuple[str, int]]] = {}
    for name in operator_names():
        if get_operator(name).arguments():
            continue  # such an operator needs names to choose from
        operator = get_operator(name)()
        kinds = NODES.get(name.removeprefix("core/").split("_")[0])
        found = (node for node in nodes if kinds is None or node.type in kinds)
        starts = (start for node in found for start, _ in operator.mutation_positions(node))
        for ordinal, start in enumerate(starts):
            changes.setdefault(start, []).append((name, ordinal))
    module = str(path.relative_to(ROOT))
    return [
        Place(module=module, line=line, column=column, changes=tuple(changes[line, column]))
        for line, column in sorted(changes)
    ]


def _mutant(place: Place, operator: str, ordinal: int) -> Mutant | None:
    """Return the changed module, or None if it cannot differ when it runs."""
    code = (ROOT / place.module).read_text(encoding="utf-8")
    changed = mutate_code(code, get_operator(operator)(), ordinal)
    if changed is None or _meaning(changed) in (None, _meaning(code)):
        return None
    lines = (code.splitlines(), changed.splitlines())
    names = (f"a/{place.module}", f"b/{place.module}")
    diff = "\n".join(difflib.unified_diff(*lines, *names, lineterm="", n=1))
    return Mutant(
        module=place.module,
        line=place.line,
        operator=operator.removeprefix("core/"),
        code=changed,
        diff=diff,
    )


def _meaning(code: str) -> str | None:
    """Return the syntax tree without what only a type checker reads; None if it is no Python."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = [ast.Pass()]
    return ast.dump(tree)


def _copy(folder: Path) -> Path:
    """Copy the files of the working tree that git tracks, and the compiled kernels."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z"]
    listed = subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout
    for name in filter(None, listed.split("\0")):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_file():
            target.write_bytes((ROOT / name).read_bytes())
    kernels = Path(PACKAGE, "kernels", "_compiled.abi3.so")
    (folder / kernels).write_bytes((ROOT / kernels).read_bytes())
    return folder


def _tests_of(copy: Path, module: str) -> list[list[str]]:
    """The tests that bear or import the module's name, and the others that guard its package."""
    path = Path(module)
    guards = [copy / "tests" / name for name in (*GUARDS[path.parts[1]], "test_dataclasses.py")]
    files = dict.fromkeys(
        file
        for guard in guards
        for file in (sorted(guard.rglob("test_*.py")) if guard.is_dir() else [guard])
    )
    imported = re.compile(rf"\b{path.parent.name}(\.| import (.*\b)?){path.stem}\b")
    own = [
        file
        for file in files
        if file.stem.startswith(f"test_{path.stem}")
        or imported.search(file.read_text(encoding="utf-8"))
    ]
    rest = [file for file in files if file not in own]
    return [[str(file) for file in group] for group in (own, rest) if group]


def _outcome(copy: Path, mutant: Mutant, tests: list[list[str]]) -> str:
    module = copy / mutant.module
    original = module.read_bytes()
    module.write_text(mutant.code, encoding="utf-8")
    try:
        outcomes = (_tried(copy, files) for files in tests)
        outcome = next((outcome for outcome in outcomes if outcome != SURVIVED), SURVIVED)
    finally:
        module.write_bytes(original)
    killer = re.search(r"\btests/\S+?\.py(::\w+)*", outcome)
    if killer and (failure := _tried(copy, [str(copy / killer[0])])) != SURVIVED:
        return f"NOT TRIED, a test fails without a change: {failure}"
    return outcome


def _tried(copy: Path, files: list[str]) -> str:
    """Run tests in a fork of this process."""
    output = copy / "output.txt"
    child = os.fork()
    if child == 0:
        status = -1
        try:
            status = _run(copy, files, output)
        except BaseException:  # noqa: BLE001  this process must end here
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status)
    deadline = time.monotonic() + SECONDS
    ended, code = 0, 0
    while not ended and time.monotonic() < deadline:
        time.sleep(0.1)
        ended, code = os.waitpid(child, os.WNOHANG)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # it may have left processes behind
    if not ended:
        os.waitpid(child, 0)
        return f"killed: more than {SECONDS} s"
    if code == 0:
        return SURVIVED
    text = output.read_text(encoding="utf-8", errors="replace").strip()
    failed = re.search(r"(?m)^(?:FAILED|ERROR) (\S+)", text)
    return f"killed by {failed[1] if failed else text.splitlines()[-1:]}"


def _run(copy: Path, files: list[str], output: Path) -> int:
    """Make this process one that runs the tests of the copy, and run some."""
    os.setsid()
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.chdir(copy)
    places = [str(copy), str(copy / "cli")]
    sys.path[:0] = places
    os.environ |= {"PYTHONPATH": os.pathsep.join(places), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True  # two changes of a module may have the same time and size
    for name in [name for name in sys.modules if name.partition(".")[0] in {"campaigns", "tests"}]:
        del sys.modules[name]
    options = [
        "-x",
        "-q",
        "--tb=no",
        "--assert=plain",
        "--hypothesis-seed=0",
        "-o",
        f"timeout={TEST_SECONDS}",
    ]
    options += ["-p", "no:xdist", "-p", "no:cacheprovider", f"--rootdir={copy}"]
    return int(pytest.main([*options, "-c", str(copy / "pyproject.toml"), *files]))


if __name__ == "__main__":
    sys.exit(main())
