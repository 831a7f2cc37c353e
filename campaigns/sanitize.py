"""Run tests on the C extension with gcc's sanitizers: `make sanitize`.

A copy of the project gets an extension that checks every access to memory and every operation whose
result C leaves undefined; the first finding ends the process. Python takes its memory from malloc
then, so that the extension's accesses to arrays and bytes are checked as well. Leaks are not looked
for, as the interpreter keeps memory until it ends.

    python -m campaigns.sanitize            all that gives bytes to kernels, some minutes
    python -m campaigns.sanitize --short    the kernels' own tests, mutated footers and filters
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("parquet_bloomwriter", "cli", "campaigns", "tests", "fixtures", "pyproject.toml")
FLAGS = (
    *("-std=c11", "-O1", "-g", "-fPIC", "-shared", "-fno-omit-frame-pointer"),
    *("-Wall", "-Wextra", "-Wconversion", "-Werror"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-DPy_LIMITED_API=0x030B0000"),
)
SHORT = ("tests/kernels", "tests/compact", "tests/sbbf/test_header.py", "-m", "not shares")
LONG = (
    *("tests/kernels", "tests/compact", "tests/hashing", "tests/sbbf", "tests/metadata"),
    *("tests/probing", "tests/filters", "tests/index/query", "tests/failure/fuzzing"),
)


def main() -> int:
    """Build, run, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true")
    chosen = parser.parse_args()
    compiler = os.environ.get("CC", "gcc")
    if shutil.which(compiler) is None:
        sys.exit(f"{compiler} is not there; the sanitizers need gcc")
    with tempfile.TemporaryDirectory(prefix="sanitize-") as scratch:
        folder = Path(scratch)
        copy(folder)
        build(folder, compiler)
        return run(folder, compiler, SHORT if chosen.short else LONG)


def copy(folder: Path) -> None:
    """Copy the project, without what is compiled."""
    ignored = shutil.ignore_patterns("__pycache__", "*.so", ".hypothesis")
    for name in COPIED:
        place = ROOT / name
        if place.is_dir():
            shutil.copytree(place, folder / name, ignore=ignored)
        else:
            shutil.copy(place, folder / name)


def build(folder: Path, compiler: str) -> None:
    """Compile the extension where Python looks for it."""
    kernels = folder / "parquet_bloomwriter" / "kernels"
    sources = [str(path) for path in sorted((kernels / "c").glob("*.c"))]
    include = f"-I{sysconfig.get_path('include')}"
    target = str(kernels / "_compiled.abi3.so")
    subprocess.run([compiler, *FLAGS, include, *sources, "-o", target], check=True)


def run(folder: Path, compiler: str, tests: tuple[str, ...]) -> int:
    """Run tests in the copy; return pytest's exit code."""
    library = subprocess.run(
        [compiler, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    environment = os.environ | {
        "LD_PRELOAD": library,
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
        "PARQUET_BLOOMWRITER_KERNELS": "compiled",
        "PYTHONPATH": os.pathsep.join((str(folder), str(folder / "cli"))),
    }
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)
    return subprocess.run(command, cwd=folder, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
