"""The C compiles for AArch64, and its loops find there what they find here."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
C = HERE.parents[1] / "parquet_bloomwriter" / "kernels" / "c"
STRICT = ("-std=c11", "-O3", "-Wall", "-Wextra", "-Wconversion", "-Werror")
AARCH64 = "aarch64-linux-gnu-gcc"

pytestmark = pytest.mark.shares
needs_aarch64 = pytest.mark.skipif(shutil.which(AARCH64) is None, reason=f"needs {AARCH64}")
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")


@pytest.mark.parametrize(
    "compiler", [pytest.param("gcc", marks=needs_gcc), pytest.param(AARCH64, marks=needs_aarch64)]
)
def test_the_extension_compiles_without_a_warning(tmp_path: Path, compiler: str) -> None:
    include = f"-I{sysconfig.get_path('include')}"
    for source in sorted(C.glob("*.c")):
        target = str(tmp_path / f"{source.stem}.o")
        command = (compiler, *STRICT, "-fPIC", "-DPy_LIMITED_API=0x030B0000", include)
        subprocess.run([*command, "-c", str(source), "-o", target], check=True)


def loops(folder: Path, compiler: str, *runner: str) -> list[str]:
    sources = [str(path) for path in C.glob("*.c") if path.name != "module.c"]
    program = str(folder / compiler)
    command = (compiler, *STRICT, "-static", str(HERE / "loops.c"), *sources, "-o", program)
    subprocess.run(command, check=True)
    done = subprocess.run([*runner, program], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@needs_gcc
@needs_aarch64
@pytest.mark.skipif(shutil.which("qemu-aarch64") is None, reason="needs qemu-aarch64")
def test_the_loops_find_the_same_on_aarch64(tmp_path: Path) -> None:
    here = loops(tmp_path, "gcc")
    assert len(set(here)) > 130
    assert loops(tmp_path, AARCH64, "qemu-aarch64") == here
