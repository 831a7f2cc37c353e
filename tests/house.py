"""Figures of the code's structure: `python -m tests.house`.

Lines of code are lines with anything but comments, docstrings and blanks. A circle is a set of
modules or packages in one folder that import each other, imports for types and inside functions
included. The way of an operation is the set of modules whose functions run for it.
"""

from __future__ import annotations

import ast
import re
import shutil
import sys
import tempfile
import threading
import tokenize
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import CodeType, FrameType

ROOT = Path(__file__).resolve().parents[1]
LIBRARY, COMMAND = ROOT / "parquet_bloomwriter", ROOT / "cli" / "bloomify"
_LONG = 50
_FEW = 14

ROOMS = {
    "bytes under a path or URL": (
        *("source", "stores", "s3", "index/storage", "delta/place"),
        *("replace/external_references.py", "rewrite/places"),
    ),
    "index, without its storage": ("index",),
    "tables": ("tables", "table_files"),
    "reports": ("reports",),
    "reference kernels": ("kernels/reference",),
}
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


@cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a module."""
    return ast.parse(path.read_text("utf-8"))


def inner(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements in a statement, without expressions, which have no imports."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child


def lines_of_code(path: Path) -> int:
    """Count the lines of a module that have code."""
    with path.open("rb") as file:
        tokens = [token for token in tokenize.tokenize(file.readline) if token.type not in _NO_CODE]
    lines = {line for one in tokens for line in range(one.start[0], one.end[0] + 1)}
    return len(lines - set(_docstring_lines(parsed(path))))


def _docstring_lines(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            is_text = isinstance(node.value.value, str) and node.end_lineno is not None
            yield from range(node.lineno, (node.end_lineno or 0) + 1) if is_text else ()


def modules(folder: Path) -> list[Path]:
    """Return the modules in a folder and below it."""
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]


def long_functions(paths: Iterable[Path]) -> int:
    """Count the functions of more than 50 lines of body, docstring left out."""
    found = 0
    for path in paths:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
                body = node.body[ast.get_docstring(node) is not None :]
                found += bool(body) and node.end_lineno - body[0].lineno + 1 > _LONG
    return found


def circles(package: Path) -> list[list[str]]:
    """Return the sets of siblings that import each other, in any folder of a package."""
    used: defaultdict[Path, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path in modules(package):
        for target in _imports(path, package):
            own, other = path.with_suffix("").parts, target.with_suffix("").parts
            shared = next((i for i, (a, b) in enumerate(zip(own, other)) if a != b), None)  # noqa: B905
            if shared is not None and own[shared] != "__init__":
                used[Path(*own[:shared])][own[shared]].add(other[shared])
    return [
        [f"{folder.relative_to(package.parent)}: {', '.join(sorted(circle))}"]
        for folder, edges in sorted(used.items())
        for circle in _strong(edges)
    ]


def _imports(path: Path, package: Path) -> Iterator[Path]:
    nodes: list[ast.AST] = [parsed(path)]
    while nodes:
        node = nodes.pop()
        nodes.extend(inner(node))
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
        elif isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        else:
            continue
        known = [_file(package.parent, name) for name in names if name.startswith(package.name)]
        yield from [one for one in known if one is not None][-1:]


def _file(root: Path, name: str) -> Path | None:
    place = root / Path(*name.split("."))
    for one in (place.with_suffix(".py"), place / "__init__.py"):
        if one.is_file():
            return one
    return None


def _strong(edges: dict[str, set[str]]) -> list[set[str]]:
    """Return the strongly connected sets of more than one node."""
    reach: dict[str, set[str]] = {}
    for start in edges:
        seen, waiting = set[str](), [start]
        while waiting:
            for other in edges.get(waiting.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        reach[start] = seen
    found: list[set[str]] = []
    for one in edges:
        circle = {other for other in reach[one] if one in reach.get(other, ())}
        if len(circle) > 1 and circle not in found:
            found.append(circle)
    return found


def way(work: Callable[[], object]) -> tuple[int, int]:
    """Count the modules and functions of the library that run."""
    seen: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            seen.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    own = [one for one in seen if one.co_filename.startswith(str(LIBRARY))]
    own = [one for one in own if not one.co_name.startswith("<")]
    return len({one.co_filename for one in own}), len(own)


def ways(folder: Path) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the ways of the main operations, on disks."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from deltalake import write_deltalake

    from parquet_bloomwriter import bloomify, bloomify_table, index, probe

    rows = pa.table({"id": range(1000)})
    (lake := folder / "lake").mkdir()
    for number in range(3):
        pq.write_table(rows, lake / f"{number}.parquet", row_group_size=300)
    shutil.copy(lake / "0.parquet", single := folder / "single.parquet")
    write_deltalake(folder / "delta", rows)
    yield "bloomify", way(lambda: bloomify(single, ["id"]))
    yield "probe", way(lambda: probe(single, "id = 7"))
    yield "index.create", way(lambda: index.create(lake, ["id"], name="ids"))
    yield "index.lookup", way(lambda: index.lookup(lake, "id = 7"))
    yield "index.lookup again", way(lambda: index.lookup(lake, "id = 8"))
    yield "a commit to a Delta table", way(lambda: bloomify_table(folder / "delta", ["id"]))


def figures() -> Iterator[tuple[str, object]]:
    """Yield all figures."""
    for title, folders in (
        ("library", [LIBRARY]),
        ("command", [COMMAND]),
        ("tests and campaigns", [ROOT / "tests", ROOT / "campaigns"]),
    ):
        paths = [path for folder in folders for path in modules(folder)]
        yield f"{title}: lines of code", sum(map(lines_of_code, paths))
        yield f"{title}: modules", sum(path.name != "__init__.py" for path in paths)
    for title, places in ROOMS.items():
        inside = {path for place in places for path in modules(LIBRARY / place) if path.exists()}
        if title.startswith("index"):
            inside -= set(modules(LIBRARY / "index" / "storage"))
        yield f"{title}: lines of code", sum(map(lines_of_code, inside))
    yield "functions of more than 50 lines", long_functions(modules(LIBRARY))
    parents = {path.parent for path in modules(LIBRARY)}
    crowded = [one for one in parents if len(list(one.glob("*.py"))) - 1 > _FEW]
    yield f"folders of more than {_FEW} modules", len(crowded)
    asks = re.compile(r"(?<!def )is_on_store\(")
    asking = [path for path in modules(LIBRARY) if asks.search(path.read_text("utf-8"))]
    yield "modules that ask whether a path is on a store", len(asking)
    found = [one for package in (LIBRARY, COMMAND) for one in circles(package)]
    yield "circles", len(found)
    for (text,) in found:
        yield f"  {text}", ""
    with tempfile.TemporaryDirectory(prefix="house-") as scratch:
        for name, (files, functions) in ways(Path(scratch)):
            yield f"on the way of {name}", f"{files} modules, {functions} functions"


if __name__ == "__main__":
    for what, number in figures():
        sys.stdout.write(
            f"{what:60}{number:,}\n" if isinstance(number, int) else f"{what:60}{number}\n"
        )
