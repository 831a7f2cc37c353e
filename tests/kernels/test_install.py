"""The package as it is built and installed, with a C compiler and without one."""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.shares

ROOT = Path(__file__).resolve().parents[2]
TREE = (
    *("parquet_bloomwriter", "cli", "pyproject.toml", "setup.py"),
    *("MANIFEST.in", "README.md", "LICENSE"),
)
EXTENSION = "parquet_bloomwriter/kernels/_compiled.abi3.so"

USE = """
import sys
import pyarrow as pa
import pyarrow.parquet as pq
from parquet_bloomwriter import kernels, bloomify, probe
pq.write_table(pa.table({"id": range(1000)}), "file.parquet")
bloomify("file.parquet", ["id"])
print(kernels.COMPILED, kernels.__file__.startswith(sys.prefix))
print(probe("file.parquet", "id = 5").num_row_groups)
"""


SOURCE = "https://forge.example/team/project"
"""An address of the repository."""


def run(*command: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def copy_project(folder: Path) -> Path:
    """Copy what a wheel is built from to the folder `src` in an empty folder."""
    ignored = shutil.ignore_patterns("__pycache__", "*.so")
    for name in TREE:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / "src" / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, folder / "src" / name)
    return folder / "src"


def build(project: Path, **environment: str) -> Path:
    """Build a wheel of a copy of the project, with these variables; return its path."""
    pip = (sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check")
    dist = project.parent / "dist"
    options = ("--no-deps", "--no-build-isolation", "-w", str(dist))
    run(*pip, *options, ".", cwd=project, **environment)
    (wheel,) = dist.iterdir()
    return wheel


def use(wheel: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Install a wheel into an environment that has only the libraries; make and probe a file.

    They are linked from this environment: what is tried is the wheel, not the network.
    """
    run(sys.executable, "-m", "venv", "--without-pip", str(folder / "venv"), cwd=folder)
    python = str(folder / "venv" / "bin" / "python")
    line = "import sysconfig; print(sysconfig.get_path('purelib'))"
    target = Path(run(python, "-c", line, cwd=folder).stdout.strip())
    here = Path(run(sys.executable, "-c", line, cwd=folder).stdout.strip())
    for name in ("numpy", "numpy.libs", "pyarrow", "click", "thrift", "sqlglot"):
        if (here / name).exists():
            (target / name).symlink_to(here / name)
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps")
    run(*pip, "--disable-pip-version-check", str(wheel), cwd=folder)
    version = run(str(folder / "venv" / "bin" / "bloomify"), "--version", cwd=folder)
    assert version.stdout.startswith("bloomify ")
    return run(python, "-c", USE, cwd=folder)


def names(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


def page_of(wheel: Path) -> str:
    """Return what a package index shows of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = email.message_from_bytes(archive.read(name))
    assert metadata["Description-Content-Type"].startswith("text/markdown")
    return str(metadata.get_payload())


def test_with_a_compiler(tmp_path: Path) -> None:
    wheel = build(copy_project(tmp_path))
    assert "-cp311-abi3-" in wheel.name
    assert EXTENSION in names(wheel)
    assert {"bloomify/main.py", "parquet_bloomwriter/py.typed"} <= names(wheel)
    assert not any(name.endswith((".c", ".h")) for name in names(wheel))
    assert wheel.stat().st_size < 1_300_000
    assert not re.search(r"\]\((?!https://)", page_of(wheel))
    assert "`bloomify` adds Bloom filters to files" in page_of(wheel)
    done = use(wheel, tmp_path)
    assert (done.stdout, done.stderr) == ("True True\n1\n", "")


@pytest.mark.parametrize("environment", [{"CC": "/bin/false"}, {"CC": "", "PATH": "{bin}"}])
def test_without_a_compiler(tmp_path: Path, environment: dict[str, str]) -> None:
    empty = tmp_path / "bin"
    empty.mkdir()
    given = {name: value.format(bin=empty) for name, value in environment.items()}
    project = copy_project(tmp_path)
    with (project / "pyproject.toml").open("a") as file:
        file.write(f'\n[project.urls]\nSource = "{SOURCE}"\n')
    wheel = build(project, **given)
    assert wheel.name.endswith("-py3-none-any.whl")
    assert f"]({SOURCE}/blob/main/docs/start.md)" in page_of(wheel)
    assert not re.search(r"\]\((?!https://)", page_of(wheel))
    assert EXTENSION not in names(wheel)
    done = use(wheel, tmp_path)
    assert done.stdout == "False True\n1\n"
    assert done.stderr.count("the C kernels are not compiled") == 1


def build_editable(folder: Path, **environment: str) -> None:
    line = "from setuptools import build_meta; build_meta.build_editable('dist')"
    run(sys.executable, "-c", line, cwd=folder, **environment)


def test_no_older_extension_is_taken_where_compiling_fails(tmp_path: Path) -> None:
    folder = copy_project(tmp_path)
    build_editable(folder)
    assert (folder / EXTENSION).exists()
    with (folder / "parquet_bloomwriter/kernels/c/sbbf.c").open("a") as file:
        file.write("mistake")
    build_editable(folder)
    assert not (folder / EXTENSION).exists()
    wheel = build(folder)
    assert EXTENSION not in names(wheel)
    assert wheel.name.endswith("-py3-none-any.whl")


def test_what_the_source_distribution_contains(tmp_path: Path) -> None:
    usual = shutil.ignore_patterns(".*", "dist", "*.egg-info", "*.so")
    large = {str(ROOT): {"build"}, str(ROOT / "benchmarks"): {"data"}}

    def ignored(folder: str, names: list[str]) -> set[str]:
        return usual(folder, names) | large.get(folder, set())

    shutil.copytree(ROOT, tmp_path / "src", ignore=ignored)
    line = "from setuptools import build_meta; build_meta.build_sdist('dist')"
    run(sys.executable, "-c", line, cwd=tmp_path / "src")
    (path,) = (tmp_path / "src" / "dist").iterdir()
    with tarfile.open(path) as archive:
        found = {name.partition("/")[2] for name in archive.getnames()}
    expected = {
        str(file.relative_to(ROOT))
        for folder in (
            "parquet_bloomwriter",
            "cli",
            "docs",
            "tests",
            "campaigns",
            "fixtures",
            "benchmarks",
        )
        for file in (ROOT / folder).rglob("*")
        if file.suffix in {".py", ".c", ".h", ".java", ".md", ".css", ".parquet"}
        and not {"data", "__pycache__"} & set(file.parts)
    }
    assert expected | {"Makefile", "README.md", "setup.py", "pyproject.toml", "LICENSE"} <= found
    assert not any(name.endswith((".so", ".pyc")) for name in found)
