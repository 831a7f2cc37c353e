"""The loops over many values, hashes and bytes: compiled from C, or the reference in Python.

The reference has the same functions, with the same arguments, checks and results, but for those
that read files: without them, callers go the way that they go for files on stores. The tests hold
one against the other. `c/` is compiled when the package is installed; where that was not possible,
`reference/` does the work, up to 20 times slower. `COMPILED` says which one is in use, and
`MISSING` what to do about it.

Rules for kernels:

- Arrays come by the buffer protocol, contiguous, and every size and bound is checked against the
  buffers. What does not fit raises ValueError or TypeError: a mistake of the caller. Outputs may
  be larger than needed; what lies behind the results means nothing. A schema must not share memory
  with outputs: it is checked once, and trusted from then on.
- Nothing is known here of files, schemas and errors of Parquet; what can be wrong with bytes is
  returned as a number (`layout.PROBLEMS`).
- In C, the interpreter lock is released around the loops.

| kernel | what it does |
|---|---|
| `xxh64` | the hash of one value |
| `xxh64_fixed`, `xxh64_variable`, `xxh64_views` | hashes of the valid slots of an Arrow array |
| `insert`, `check`, `fold`, `unite`, `count_bits`, `sum_products` | blocks of filters |
| `scan` | Thrift structs |
| `walk_file`, `read_pieces` | page headers, pieces of local files: if `HAS_PREAD`, as the next |
| `probe_usual`, `probe_groups` | lookups in filters in local files, without and with checksums |
"""

from __future__ import annotations

import os
import shlex
import warnings
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

CHOICE = "PARQUET_BLOOMWRITER_KERNELS"
"""Environment variable: `reference` takes the Python reference even where the C is there, without a
warning; `compiled` fails at import where it is not. For tests and reports of bugs."""

_HOME = Path(__file__).parents[2]
"""Folder that contains the package: a checkout, or the folder of installed packages."""


class SlowKernels(RuntimeWarning):
    """The kernels of this installation are not compiled: all results are right, but take longer."""


def _chosen() -> tuple[ModuleType, str | None]:
    """Import the compiled kernels or the reference; return it with the value of `MISSING`."""
    choice = os.environ.get(CHOICE, "")
    if choice not in {"", "compiled", "reference"}:
        raise ImportError(f'{CHOICE} must be "compiled" or "reference", not "{choice}"')
    missing = None
    if choice != "reference":
        try:
            compiled = import_module("parquet_bloomwriter.kernels._compiled")
            _require_fresh(str(compiled.__file__))
        except ImportError as error:
            if choice:
                raise
            missing = why_missing(_HOME, is_stale=isinstance(error, _StaleError))
        else:
            return compiled, None
    return import_module("parquet_bloomwriter.kernels.reference"), missing


def why_missing(home: Path, *, is_stale: bool = False) -> str:
    """Return the sentence on kernels that are not compiled, or older than their sources.

    Args:
        home: The folder that holds the package.
        is_stale: Whether there are compiled kernels.
    """
    state = "older than their sources" if is_stale else "not compiled"
    what = f"the C kernels are {state}, so filters take far longer."
    if not (home / "pyproject.toml").exists():
        return f"{what} Install a C compiler, and then the package again."
    return (
        f"Python has taken the package from {home}, where {what} Change to another folder, or "
        f"type: pip install -e {shlex.quote(str(home))}"
    )


class _StaleError(ImportError):
    """The compiled kernels are older than their sources."""


def _require_fresh(path: str) -> None:
    """Raise `_StaleError` if C sources beside the compiled kernels, in a checkout, are newer."""
    sources = Path(__file__).parent / "c"
    if sources.is_dir():
        compiled_ns = Path(path).stat().st_mtime_ns
        if any(source.stat().st_mtime_ns > compiled_ns for source in sources.iterdir()):
            raise _StaleError("the C kernels are older than their sources")


_found, MISSING = _chosen()
"""Sentence to be said once if the kernels were to be compiled and are not; else None."""

COMPILED = _found.__name__.endswith("_compiled")
"""Whether the kernels in use are compiled."""

if MISSING is not None:
    warnings.warn(MISSING, SlowKernels, stacklevel=2)

if TYPE_CHECKING:
    from parquet_bloomwriter.kernels import _compiled
    from parquet_bloomwriter.kernels import reference as _kernels
else:
    _kernels = _compiled = _found

xxh64 = _kernels.xxh64
xxh64_fixed = _kernels.xxh64_fixed
xxh64_variable = _kernels.xxh64_variable
xxh64_views = _kernels.xxh64_views
insert = _kernels.insert
check = _kernels.check
fold = _kernels.fold
unite = _kernels.unite
count_bits = _kernels.count_bits
sum_products = _kernels.sum_products
scan = _kernels.scan

HAS_PREAD = hasattr(_kernels, "probe_usual")
"""Whether the kernels that read files themselves are there: in C, and not on Windows."""

if HAS_PREAD:
    walk_file = _compiled.walk_file
    read_pieces = _compiled.read_pieces
    probe_usual = _compiled.probe_usual
    probe_groups = _compiled.probe_groups
