"""Write docs/api.md, the public API of the library, from its docstrings.

    python -m docs.api

The source is parsed, not imported: so that fields come with the strings below them, and Spark need
not start.
"""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/api.md"

_WIDTH = 96
"""Characters of a signature that stays in one line."""

Definition = ast.FunctionDef | ast.ClassDef
Alias = ast.Assign | ast.AnnAssign


@dataclass(frozen=True, kw_only=True)
class Package:
    """A public package, and its names in the order in which the page has them."""

    name: str
    groups: Mapping[str, Sequence[str]]
    """By the heading of the group."""

    heads: Mapping[str, str] = field(default_factory=dict)
    """Modules whose docstrings stand at the head of a group."""

    related: Sequence[str] = ()
    """Classes that are not exported, but that users meet, as in `reports.advice.ColumnAdvice`."""


PACKAGES = (
    Package(
        name="parquet_bloomwriter",
        groups={
            "Filters into files, and out of them": ("bloomify", "strip", "repair", "for_each_file"),
            "Tables": ("bloomify_table", "strip_table", "find_files"),
            "Reading less": (
                *("probe", "read_table", "iter_batches", "dataset", "scan_polars", "prune_scan"),
                "BloomFile",
                "clear_cache",
            ),
            "Looking at filters": ("inspect", "verify", "advise", "merge_advice"),
            "The filter alone": ("Sbbf",),
            "Reports": (
                *("AddReport", "ColumnReport", "ChunkReport", "Status", "StripReport"),
                *("RepairReport", "FileOutcome", "ProbeReport", "FileProbe", "RowGroupVerdict"),
                *("Check", "Verdict", "Evidence", "InspectReport", "FileFilters", "FilterFacts"),
                *("VerifyReport", "AdviseReport", "TableReport"),
            ),
            "Errors": (
                *("BloomwriterError", "InvalidArgument", "ColumnNotFound", "FileProblem"),
                *("NotParquet", "MalformedFile", "UnsupportedFile", "UnsafeTarget", "FileChanged"),
                *("VerificationFailed", "Unfinished", "MalformedFilter"),
                *("TableProblem", "UnsupportedTable", "TableChanged"),
            ),
        },
        heads={"Errors": "errors"},
        related=(
            *("errors.NoFileMatches", "verbs.add.Progress", "reports.inspection.ColumnFilters"),
            *("reports.inspection.FilterPlace", "reports.verification.FilterCheck"),
            *("reports.verification.CheckStatus", "reports.verification.MissingValue"),
            *("reports.advice.ColumnAdvice", "reports.advice.Advice"),
            "probing.report.Explanation",
        ),
    ),
    Package(
        name="parquet_bloomwriter.index",
        groups={
            "Changing an index": (
                *("create", "refresh", "optimize", "delete", "restore", "vacuum", "cancel"),
            ),
            "Asking an index": ("lookup", "indexes", "index"),
            "What they return": (
                *("IndexReport", "IndexColumn", "Unindexed", "LeftOut", "LookupReport"),
                *("IndexUse", "Reason", "Code", "IndexInfo", "State", "plain"),
            ),
            "Other machines": ("Engine", "Progress"),
        },
        related=("errors.IndexProblem", "errors.IndexNotFound", "errors.IndexBusy"),
    ),
    Package(
        name="parquet_bloomwriter.spark",
        groups={
            "Indexes in queries": ("Hyperspace", "BFIndexConfig"),
            "Filters into a table's files": ("bloomify_table",),
            "Jobs": ("SparkEngine", "JobLine"),
        },
    ),
)

_HEAD = """\
# The library

What `parquet_bloomwriter`, `parquet_bloomwriter.index` and `parquet_bloomwriter.spark` offer. All
other modules are internals and may change at any time. [probing.md](probing.md),
[filter.md](filter.md) and [index.md](index.md) show how the parts are used together, and
[glossary.md](glossary.md) explains the words.

This page is made from the docstrings by `python -m docs.api`; a test holds it up to date.
"""


@dataclass(frozen=True, kw_only=True)
class Module:
    """One parsed module."""

    name: str
    tree: ast.Module

    @classmethod
    def read(cls, name: str) -> Module:
        """Parse a module of the library by its dotted name."""
        path = ROOT / Path(*name.split("."))
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        return cls(name=name, tree=ast.parse(file.read_text("utf-8")))

    @property
    def doc(self) -> str:
        """The module's docstring."""
        return ast.get_docstring(self.tree) or ""

    def find(self, name: str) -> tuple[Module, Definition | Alias] | None:
        """Find what a name means: defined here, or imported from another of our modules."""
        for node in _flat(self.tree.body):
            if isinstance(node, Definition) and node.name == name and not _is_overload(node):
                return self, node
            if isinstance(node, Alias) and name in _targets(node) and node.value is not None:
                return self, node
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("parquet_"):
                for imported in node.names:
                    if (imported.asname or imported.name) == name:
                        return Module.read(node.module or "").find(imported.name)
        return None


def page() -> str:
    """Return the whole page."""
    parts = [_HEAD]
    for package in PACKAGES:
        parts += _package(package)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).rstrip() + "\n"


def public_names(package: str) -> list[str]:
    """Return the names in `__all__` of a package."""
    found = Module.read(package).find("__all__")
    if found is None or not isinstance(found[1], Alias) or found[1].value is None:
        raise LookupError(package)
    return [str(name) for name in ast.literal_eval(found[1].value)]


def _package(package: Package) -> Iterator[str]:
    module = Module.read(package.name)
    yield f"\n## {package.name}\n"
    yield module.doc + "\n"
    homes: list[tuple[Module, Definition]] = []
    for heading, names in package.groups.items():
        yield f"\n### {heading}\n"
        if heading in package.heads:
            yield Module.read(f"{package.name}.{package.heads[heading]}").doc + "\n"
        for name in names:
            home, node = _definition(module, name)
            homes.append((home, node))
            yield from _entry(node)
    related = [_related(path) for path in package.related]
    if related:
        yield "\n### Related types\n"
        yield "These types occur in reports and arguments, or are raised; they are not exported.\n"
        for _, node in related:
            yield from _entry(node)
    aliases = dict(_aliases([*homes, *related]))
    if aliases:
        yield "\n### Names in signatures\n"
        yield from (f"- `{name}`: {text}" for name, text in sorted(aliases.items()))


def _definition(module: Module, name: str) -> tuple[Module, Definition]:
    found = module.find(name)
    if found is None or not isinstance(found[1], Definition):
        raise LookupError(f"{module.name}.{name}")
    return found[0], found[1]


def _related(path: str) -> tuple[Module, Definition]:
    home, _, name = path.rpartition(".")
    return _definition(Module.read(f"parquet_bloomwriter.{home}"), name)


def _entry(node: Definition) -> Iterator[str]:
    """Yield the section of one public name."""
    if isinstance(node, ast.FunctionDef):
        yield f"\n#### `{node.name}`\n"
        yield _signature(node, node.name) + "\n"
        yield _docstring(node)
        return
    yield f"\n#### `{node.name}`\n"
    bases = [ast.unparse(base) for base in node.bases]
    shown = [base for base in bases if base not in ("Protocol", "ABC")]
    if shown:
        yield f"Based on {', '.join(f'`{base}`' for base in shown)}.\n"
    init = next((one for one in _functions(node) if one.name == "__init__"), None)
    if init is not None and ast.get_docstring(init):
        yield _signature(init, node.name) + "\n"
    if ast.get_docstring(node):
        yield _docstring(node)
    if init is not None and ast.get_docstring(init):
        yield _docstring(init)
    fields = list(_fields(node))
    if fields:
        has_head = "\nAttributes:\n" in (ast.get_docstring(node) or "")
        yield ("" if has_head else "Attributes:\n\n") + "\n".join(fields) + "\n"
    for function in _functions(node):
        if not function.name.startswith("_") and not _is_property(function):
            yield f"\n**`{node.name}.{function.name}`**\n"
            yield _signature(function, f"{_receiver(node, function)}.{function.name}") + "\n"
            yield _docstring(function)


def _receiver(node: ast.ClassDef, function: ast.FunctionDef) -> str:
    is_class_method = any(ast.unparse(one) == "classmethod" for one in function.decorator_list)
    if is_class_method:
        return node.name
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", node.name).lower()


def _fields(node: ast.ClassDef) -> Iterator[str]:
    """Yield a line for each field, member of an enumeration, and property."""
    for statement, following in _with_next(node.body):
        text = _string(following)
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            name, type_ = statement.target.id, ast.unparse(statement.annotation)
            if not name.startswith("_") and not type_.startswith("ClassVar"):
                yield _field(name, type_, text)
        elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            names = [name for name in _targets(statement) if not name.startswith("_")]
            for name in names:
                yield _field(name, ast.unparse(statement.value), text)
        elif isinstance(statement, ast.FunctionDef) and _is_property(statement):
            type_ = "" if statement.returns is None else ast.unparse(statement.returns)
            yield _field(statement.name, type_, ast.get_docstring(statement) or "")


def _field(name: str, type_: str, text: str) -> str:
    joined = " ".join(text.split())
    return f"- `{name}` (`{type_}`)" + (f": {joined}" if joined else "")


def _signature(function: ast.FunctionDef, name: str) -> str:
    """Return the call of a function as a block of code, without `self`."""
    arguments = list(_arguments(function.args))
    returns = "" if function.returns is None else f" -> {ast.unparse(function.returns)}"
    returns = "" if function.name == "__init__" else returns
    line = f"{name}({', '.join(arguments)}){returns}"
    if len(line) > _WIDTH:
        inner = "".join(f"    {argument},\n" for argument in arguments)
        line = f"{name}(\n{inner}){returns}"
    return f"```python\n{line}\n```"


def _arguments(given: ast.arguments) -> Iterator[str]:
    positional = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)
    for place, (argument, default) in enumerate(zip(positional, defaults, strict=True)):
        if argument.arg not in ("self", "cls"):
            yield _argument(argument, default)
        if given.posonlyargs and place == len(given.posonlyargs) - 1:
            yield "/"
    if given.vararg is not None:
        yield f"*{_argument(given.vararg, None)}"
    elif given.kwonlyargs:
        yield "*"
    for argument, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield _argument(argument, default)
    if given.kwarg is not None:
        yield f"**{_argument(given.kwarg, None)}"


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    type_ = "" if argument.annotation is None else f": {ast.unparse(argument.annotation)}"
    sign = " = " if type_ else "="
    return argument.arg + type_ + ("" if default is None else sign + ast.unparse(default))


def _docstring(node: Definition) -> str:
    """Return a docstring in Google's style as Markdown."""
    text = ast.get_docstring(node) or ""
    sections = re.split(r"^(Args|Returns|Yields|Raises|Attributes):\n", text, flags=re.MULTILINE)
    parts = [sections[0].strip("\n")]
    for title, body in zip(sections[1::2], sections[2::2], strict=True):
        content, rest = _split_section(body)
        if title in ("Returns", "Yields"):
            parts.append(f"{title}: {' '.join(content.split())}")
        else:
            heading = {"Args": "Arguments"}.get(title, title)
            parts.append(f"{heading}:\n\n" + "\n".join(_items(content)))
        parts.append(rest.strip("\n"))
    return "\n\n".join(filter(None, parts)) + "\n"


def _split_section(body: str) -> tuple[str, str]:
    """Split an indented section from the text that follows it."""
    lines = body.splitlines()
    end = next((i for i, line in enumerate(lines) if line and not line.startswith(" ")), len(lines))
    return inspect.cleandoc("\n".join(lines[:end])), "\n".join(lines[end:])


def _items(content: str) -> Iterator[str]:
    """Yield the items of a section as a list: "name: text", further lines of which are indented."""
    for item in re.split(r"\n(?! )", content):
        name, sign, text = " ".join(item.split()).partition(": ")
        names = name.split(", ")
        is_code = all(re.fullmatch(r"\*{0,2}[\w.]+", one) for one in names)
        shown = ", ".join(f"`{one}`" for one in names) if is_code else name
        yield f"- {shown}: {text}" if sign else f"- {name}"


def _aliases(homes: Sequence[tuple[Module, Definition]]) -> Iterator[tuple[str, str]]:
    """Yield the aliases in annotations, and what they stand for."""
    for home, node in homes:
        for name in {one for text in _annotations(node) for one in re.findall(r"\b[A-Z]\w+", text)}:
            found = home.find(name)
            if found is not None and isinstance(found[1], Alias) and found[1].value is not None:
                yield name, f"`{ast.unparse(found[1].value)}`"


def _annotations(node: Definition) -> Iterator[str]:
    functions = [node] if isinstance(node, ast.FunctionDef) else list(_functions(node))
    for function in functions:
        if function.name == "__init__" or not function.name.startswith("_"):
            yield from _arguments(function.args)
            yield "" if function.returns is None else ast.unparse(function.returns)
    if isinstance(node, ast.ClassDef):
        yield from (
            ast.unparse(one.annotation) for one in node.body if isinstance(one, ast.AnnAssign)
        )


def _functions(node: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    functions = (one for one in node.body if isinstance(one, ast.FunctionDef))
    yield from (one for one in functions if not _is_overload(one))


def _is_overload(node: Definition) -> bool:
    return any(ast.unparse(one) == "overload" for one in node.decorator_list)


def _is_property(function: ast.FunctionDef) -> bool:
    names = {ast.unparse(one).rpartition(".")[2] for one in function.decorator_list}
    return bool(names & {"property", "cached_property"}) and not function.name.startswith("_")


def _flat(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements, and those below `if TYPE_CHECKING`."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If):
            yield from _flat(statement.body)


def _with_next(body: Sequence[ast.stmt]) -> Iterator[tuple[ast.stmt, ast.stmt]]:
    yield from zip(body, [*body[1:], ast.Pass()], strict=True)


def _targets(node: Alias) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _string(node: ast.stmt) -> str:
    """Return the string that a statement consists of, as below a field; "" for others."""
    is_string = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return inspect.cleandoc(str(node.value.value)) if is_string else ""  # type: ignore[attr-defined]


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
