"""Kernels are compiled once, loaded without numba, and never from a file that does not fit."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.shares

ROOT = Path(__file__).resolve().parent.parent.parent

SINGLE_VALUES = """
import sys
from parquet_bloomwriter.hashing import hash_plain, plain_bytes
from parquet_bloomwriter.sbbf import Sbbf, num_blocks_for
built = Sbbf.empty(num_blocks_for(1000, 0.01))
h = hash_plain(plain_bytes(5, "INT64"))
built.insert_hash(h)
print(Sbbf.from_bytes(built.fold_to_target_fpp(0.01).to_bytes()).check_hash(h))
print(sorted({"numba", "llvmlite", "pyarrow"} & sys.modules.keys()))
"""

WARM_UP = """
import sys
from parquet_bloomwriter import native
before = native.are_compiled()
native.warm_up()
print(before, native.are_compiled(), "numba" in sys.modules)
"""

HASHES = """
import pyarrow as pa, xxhash
from parquet_bloomwriter.hashing import hash_array
hashes = hash_array(pa.array([b"one", b"two"])).tolist()
print(hashes == [xxhash.xxh64_intdigest(text) for text in (b"one", b"two")])
"""


DRAFTS = """
import sys
import mmh3, pyarrow as pa
from parquet_bloomwriter import native
from parquet_bloomwriter.hashing import HashKind, hash_array
before = native.are_compiled(*native.modules(drafts=True))
(found,) = hash_array(pa.array([b"one"]), HashKind("murmur3", 5)).tolist()
print(before, found & 0xFFFFFFFF == mmh3.hash64(b"one", 5, signed=False)[0] & 0xFFFFFFFF)
print("numba" in sys.modules)
"""

FOOTERS = """
import io, sys
import pyarrow as pa, pyarrow.parquet as pq
from parquet_bloomwriter import native
from parquet_bloomwriter.metadata import parse_footer
native.kernels("compact.kernels")
for columns in (1, 3, 30, 300, 3000):
    buffer = io.BytesIO()
    pq.write_table(pa.table({f"c{i}": [1] for i in range(columns)}), buffer)
    data = buffer.getvalue()
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    footer = parse_footer(data[start:-8], start=start)
    print(len(footer.leaves) == columns and footer.chunks.values.shape[:2] == (1, columns))
print("numba" in sys.modules)
"""


LOADED = """
import sys
print("numba" in sys.modules)
"""


def run(script: str, **environment: str) -> list[str]:
    """Run a script in a process of its own and return its words."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which all kernels were compiled."""
    folder = tmp_path_factory.mktemp("cache")
    assert run(WARM_UP, PARQUET_BLOOMWRITER_CACHE=str(folder)) == ["False", "True", "True"]
    return folder


def copied(folder: Path, to: Path) -> Path:
    """Copy the files of kernels, with their modes."""
    for file in folder.iterdir():
        (to / file.name).write_bytes(file.read_bytes())
        (to / file.name).chmod(file.stat().st_mode)
    return to


def test_single_values_load_neither_compiler_nor_pyarrow() -> None:
    assert run(SINGLE_VALUES) == ["True", "[]"]


def test_kernels_are_loaded_without_numba_once_they_are_compiled(compiled: Path) -> None:
    assert run(WARM_UP, PARQUET_BLOOMWRITER_CACHE=str(compiled)) == ["True", "True", "False"]
    assert sorted(file.name.split("-")[0] for file in compiled.iterdir()) == [
        "compact.kernels",
        "hashing.kernels",
        "probing.kernels",
        "sbbf.kernels",
    ]


def test_loaded_kernels_scan_footers_of_any_size(compiled: Path) -> None:
    """What a loop over more memory calls, LLVM must not have taken from the C library."""
    assert run(FOOTERS, PARQUET_BLOOMWRITER_CACHE=str(compiled)) == ["True"] * 5 + ["False"]


def test_no_kernel_calls_the_c_library(compiled: Path) -> None:
    for file in compiled.iterdir():
        kernels = json.loads(file.read_bytes().split(b"\n", 1)[1])
        for _, _, code in kernels.values():
            names = base64.b64decode(code)
            assert not any(b"\0%b\0" % name in names for name in (b"memset", b"memcpy", b"memmove"))


def test_loaded_kernels_compute_what_they_should(compiled: Path) -> None:
    assert run(HASHES, PARQUET_BLOOMWRITER_CACHE=str(compiled)) == ["True"]


def test_kernels_of_drafts_are_compiled_when_they_are_needed(
    compiled: Path, tmp_path: Path
) -> None:
    folder = copied(compiled, tmp_path)
    assert run(DRAFTS, PARQUET_BLOOMWRITER_CACHE=str(folder)) == ["False", "True", "True"]
    assert run(DRAFTS, PARQUET_BLOOMWRITER_CACHE=str(folder)) == ["True", "True", "False"]
    (new,) = {file.name for file in folder.iterdir()} - {file.name for file in compiled.iterdir()}
    assert new.startswith("hashing.murmur3_kernels-")
    test_no_kernel_calls_the_c_library(folder)


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_a_damaged_file_is_compiled_anew(compiled: Path, tmp_path: Path, damage: str) -> None:
    folder = copied(compiled, tmp_path)
    for file in folder.iterdir():
        data = bytearray(file.read_bytes())
        if damage == "flipped":
            data[len(data) // 2] ^= 1
        file.write_bytes(bytes({"cut": data[:-1], "flipped": data, "empty": b""}[damage]))
    assert run(HASHES + LOADED, PARQUET_BLOOMWRITER_CACHE=str(folder)) == ["True", "True"]
    assert run(HASHES + LOADED, PARQUET_BLOOMWRITER_CACHE=str(folder)) == ["True", "False"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_a_file_that_others_may_write_is_not_loaded(compiled: Path, tmp_path: Path) -> None:
    folder = copied(compiled, tmp_path)
    for file in folder.iterdir():
        file.chmod(0o666)
    assert run(WARM_UP, PARQUET_BLOOMWRITER_CACHE=str(folder))[2] == "True"


def test_kernels_work_where_nothing_can_be_kept(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    words = run(WARM_UP + HASHES, PARQUET_BLOOMWRITER_CACHE=str(blocked))
    assert words == ["False", "True", "True", "True"]
    assert blocked.read_text() == "not a folder"


ELSEWHERE = """
from numba.core.codegen import CodeLibrary
del CodeLibrary._get_compiled_object
"""


def test_kernels_work_where_numba_keeps_its_machine_code_elsewhere(tmp_path: Path) -> None:
    words = run(ELSEWHERE + WARM_UP + HASHES, PARQUET_BLOOMWRITER_CACHE=str(tmp_path))
    assert words == ["False", "True", "True", "True"]
    assert list(tmp_path.iterdir()) == []
