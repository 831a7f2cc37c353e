"""SECURITY.md lists every library that is used at run time; the locked versions are such as fit."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[2]
OURS = frozenset({"parquet_bloomwriter", "bloomify"})
BROUGHT = {"py4j": "pyspark", "google": "pyspark", "botocore": "boto3", "urllib3": "boto3"}
"""Packages that come with others, and are used by us as well."""

BY_CALLERS = frozenset({"polars"})
"""Packages that are there if a caller uses them."""

_ROW = re.compile(r"^\| ([a-z0-9-]+) \| `([^`]+)` \| (.+) \| (.+) \|$", re.MULTILINE)


def _asked_for() -> dict[str, str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [one for name, asked in extras.items() if name != "dev" for one in asked]
    return dict(map(_split, [*project["dependencies"], *wanted]))


def _split(requirement: str) -> tuple[str, str]:
    found = re.fullmatch(r"([A-Za-z0-9_.-]+?)([<>=!~].*)", requirement)
    assert found is not None, requirement
    return found[1], found[2]


def _listed() -> dict[str, str]:
    text = (ROOT / "SECURITY.md").read_text()
    return {found[1]: found[2] for found in _ROW.finditer(text)}


def _imported() -> set[str]:
    """Names of the packages that the library and the command import, wherever they do."""
    found: set[str] = set()
    for folder in ("parquet_bloomwriter", "cli/bloomify"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Import):
                    found |= {alias.name.partition(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and not node.level:
                    found.add((node.module or "").partition(".")[0])
    return found - set(sys.stdlib_module_names) - OURS - BY_CALLERS - {"_typeshed"}


def test_every_library_is_listed_with_its_versions() -> None:
    assert _listed() == _asked_for()


def test_extras_can_be_installed_in_the_locked_versions() -> None:
    """The demos do, and so the tests run with what users get."""
    lines = (ROOT / "requirements-dev.lock").read_text().splitlines()
    locked = dict(line.split("==") for line in lines if "==" in line)
    for package, versions in _asked_for().items():
        assert locked[package] in SpecifierSet(versions), package


def test_every_import_is_of_a_listed_library() -> None:
    distributions = packages_distributions()
    known = _listed()
    for name in _imported():
        package = BROUGHT.get(name, name)
        assert package.replace("_", "-") in known, name
        assert package in distributions, name


def test_extras_of_developers_are_no_part_of_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(project["optional-dependencies"]) == {
        "delta",
        "spark",
        "s3",
        "fsspec",
        "iceberg",
        "stores",
        "hdfs",
        "sftp",
        "dev",
    }


def test_the_command_that_audits_is_documented() -> None:
    text = (ROOT / "SECURITY.md").read_text()
    assert "python -m pip_audit" in text
    assert "private security advisory" in text
