"""No circles of imports, types included; and none in which threads wait for each other."""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from tests.house import COMMAND, LIBRARY, circles, inner, parsed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parent.parent
PATHS = sorted([*ROOT.glob("parquet_bloomwriter/**/*.py"), *ROOT.glob("cli/bloomify/**/*.py")])


def test_no_thread_waits_for_a_module_that_waits_for_it() -> None:
    trees = {_name(path): parsed(path) for path in PATHS}
    used = {name: set(_imported(tree, trees)) for name, tree in trees.items()}
    waits = {name: set(_imported(tree, trees, calls=False)) for name, tree in trees.items()}
    # Python locks a module before its package; within the package, the package is there already.
    for user, names in used.items():
        for name in names:
            package = name.rpartition(".")[0]
            if package in trees and not f"{user}.".startswith(f"{package}."):
                waits[name].add(package)
    assert len(trees) > 300
    assert _in_circles(waits) == []


def test_no_modules_or_packages_side_by_side_import_each_other() -> None:
    """Imports for types count, and those inside functions, too."""
    assert [*circles(LIBRARY), *circles(COMMAND)] == []


def test_packages_list_the_names_that_they_import_later() -> None:
    packages = [path for path in PATHS if "importer(" in path.read_text("utf-8")]
    later = [_name(path) for path in packages if path.name == "__init__.py"]
    assert len(later) > 5
    for name in later:
        package = import_module(name)
        assert set(package.__all__) <= set(package.__dir__()) | {"__version__"}, name


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(part for part in parts if part not in {"cli", "__init__"})


def _imported(
    tree: ast.Module, known: Mapping[str, ast.Module], *, calls: bool = True
) -> Iterator[str]:
    """Yield the modules of this project that a module imports; without `calls`, at its import."""
    nodes: list[ast.AST] = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and _is_for_types(node):
            nodes.extend(node.orelse)
        elif isinstance(node, ast.FunctionDef) and not calls:
            continue
        elif isinstance(node, ast.Import):
            yield from known.keys() & {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module in known:
            names = {one.name for one in node.names} - _taken(known[node.module])
            yield from known.keys() & {f"{node.module}.{name}" for name in names}
            yield from known.keys() & _homes(known[node.module], names)
            yield node.module
        else:
            nodes.extend(inner(node))


@cache
def _taken(package: ast.Module) -> set[str]:
    """Return the names that a package takes from its modules: one may have its module's name."""
    imports = [node for node in package.body if isinstance(node, ast.ImportFrom)]
    return {one.name for node in imports for one in node.names}


def _homes(package: ast.Module, names: set[str]) -> set[str | None]:
    """Return the modules from which a package imports names when they are first used."""
    return {module for module, some in _later(package) if names & some}


@cache
def _later(package: ast.Module) -> list[tuple[str | None, set[str]]]:
    """Return modules, and the names that the package imports from each for type checkers."""
    return [
        (one.module, {each.name for each in one.names})
        for node in package.body
        if isinstance(node, ast.If) and _is_for_types(node)
        for one in node.body
        if isinstance(one, ast.ImportFrom)
    ]


def _is_for_types(node: ast.If) -> bool:
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _in_circles(waits: Mapping[str, set[str]]) -> list[str]:
    """Return the modules that wait for themselves; those that wait for nothing go first."""
    left = dict(waits)
    while done := [name for name, others in left.items() if others.isdisjoint(left)]:
        for name in done:
            del left[name]
    return sorted(left)
