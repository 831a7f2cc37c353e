"""Compiled loops: numba makes their machine code once, and it is loaded without numba from then on.

Importing numba and waking it up takes 0.4 s of every start; loading the same machine code with
llvmlite takes 0.04 s. So the code that numba made is kept on disk, as object files:

    <kernels module>-<digest>.kernels     one line: checksum; one line: JSON, by kernel:
                                          symbol, number of arguments, object file in base64

The digest covers the source of the kernels, llvmlite's version and the processor, so a file that
is found is one that fits. It lies in `__pycache__` beside this file, or else in the user's cache
folder; where neither can be written, kernels are compiled anew each time. A file that somebody else
could have written is not loaded.

Rules for kernels (modules named `kernels` in other packages, which import numba):

- A kernel takes int64 numbers, addresses among them, and returns one or nothing. The caller keeps
  memory alive and answers for its bounds.
- It allocates nothing, raises nothing, and runs without the interpreter lock.
- What it calls stands in its module, or in a module that `_SOURCES` names beside it.
- It has no loop that fills or copies memory: LLVM makes calls of the C library of those, which lead
  nowhere without numba. Machine code with such calls is not kept.
"""

from __future__ import annotations

import base64
import binascii
import ctypes
import errno
import hashlib
import json
import os
import stat
import sys
import tempfile
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PACKAGE = Path(__file__).parent.parent
_SOURCES = {
    "compact.kernels": ("compact/kernels.py", "compact/loop.py"),
    "hashing.kernels": ("hashing/kernels.py",),
    "hashing.murmur3_kernels": ("hashing/murmur3_kernels.py",),
    "probing.kernels": (
        "probing/kernels.py",
        "probing/kernel_abi.py",
        "sbbf/block.py",
        "sbbf/header.py",
    ),
    "sbbf.kernels": ("sbbf/kernels.py", "sbbf/block.py"),
}
"""The modules with kernels, and the files that their machine code depends on."""

_OF_DRAFTS = frozenset({"hashing.murmur3_kernels"})
"""Compiled only where filters of the Murmur3 drafts are made or checked; others need not wait."""

_SHARED_SOURCES = ("native/intrinsics.py",)
_CALLS_OF_C = (b"\0memset\0", b"\0memcpy\0", b"\0memmove\0")
_PRIVATE = 0o700
_WRITABLE_BY_OTHERS = 0o022 if hasattr(os, "getuid") else 0
_READ_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_READ_FLAGS |= getattr(os, "O_BINARY", 0)


def _digest(module: str) -> bytes:
    digest = hashlib.sha256()
    for source in (*_SOURCES[module], *_SHARED_SOURCES):
        digest.update((_PACKAGE / source).read_bytes())
    return digest.digest()


_DIGESTS = {module: _digest(module) for module in _SOURCES}
"""Of the sources as they were when this process began: if the package is replaced under a running
process, its kernels must not be those of the new version."""

_loading = Lock()
_loaded: dict[str, SimpleNamespace] = {}
_alive: list[object] = []
"""What owns machine code; must live as long as the process."""


def kernels(module: str) -> Any:  # noqa: ANN401  its attributes are the kernels
    """Load the kernels of a module, compiling them if that was never done on this machine.

    Args:
        module: A key of `_SOURCES`, such as "sbbf.kernels".

    Returns:
        A namespace with a callable for each kernel.
    """
    if module not in _loaded:
        with _loading:
            if module not in _loaded:
                _loaded[module] = _load(module)
    return _loaded[module]


def modules(*, drafts: bool = False) -> tuple[str, ...]:
    """Return the modules with kernels that filters of the released specification take.

    Args:
        drafts: Whether to include those that only filters of the Murmur3 drafts take.
    """
    return tuple(module for module in _SOURCES if drafts or module not in _OF_DRAFTS)


def is_loaded(module: str) -> bool:
    """Whether `kernels` returns at once."""
    return module in _loaded


def are_compiled(*names: str) -> bool:
    """Whether `kernels` will find these modules (`modules()` by default) compiled already."""
    return all(
        is_loaded(module)
        or any((folder / _file_name(module)).exists() for folder in cache_folders())
        for module in names or modules()
    )


def warm_up(*names: str) -> None:
    """Load or compile the kernels of these modules, `modules()` by default, now."""
    for module in names or modules():
        kernels(module)


def address(array: NDArray[np.generic]) -> int:
    """Address of the first element."""
    return int(array.__array_interface__["data"][0])


@cache
def pread_address() -> int:
    """Address of the C library's `pread`, for kernels that read files."""
    library = ctypes.CDLL(None)
    function = getattr(library, "pread64", None) or library.pread
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _load(module: str) -> SimpleNamespace:
    for folder in cache_folders():
        found = _read(folder / _file_name(module))
        if found is not None:
            return _linked(found)
    made = _made_by_numba(module)
    try:
        compiled = _object_files(made)
    except (
        AttributeError,
        RuntimeError,
    ):  # A numba that keeps its machine code elsewhere: use its own functions.
        _alive.append(made)
        return SimpleNamespace(**{name: function.ctypes for name, function in made.items()})
    if _digest(module) == _DIGESTS[module]:
        keep(_file_name(module), _as_file(compiled))
    return _linked(compiled)


Compiled = dict[str, tuple[str, int, bytes]]
"""By kernel: symbol, number of arguments, object file."""


def _made_by_numba(module: str) -> dict[str, Any]:
    """Compile a module's kernels to C functions of numba's."""
    from numba import cfunc, types

    def signature(count: int) -> Any:  # noqa: ANN401  numba has no types
        return types.int64(*[types.int64] * count)

    return {
        kernel.__name__: cfunc(signature(kernel.__code__.co_argcount))(kernel)
        for kernel in import_module(f"parquet_bloomwriter.{module}").KERNELS
    }


def _object_files(made: dict[str, Any]) -> Compiled:
    """Take the machine code out of them; numba offers no public way.

    It makes no call into Python and none into numba: see the rules above.

    Raises:
        AttributeError: If this numba keeps it elsewhere.
        RuntimeError: If it calls the C library.
    """
    compiled = {
        name: (
            function._wrapper_name,  # noqa: SLF001
            function.__wrapped__.__code__.co_argcount,
            function._library._get_compiled_object(),  # noqa: SLF001
        )
        for name, function in made.items()
    }
    for name, (_, _, code) in compiled.items():
        if any(call in code for call in _CALLS_OF_C):
            raise RuntimeError(f"the kernel {name} calls the C library")
    return compiled


def _linked(compiled: Compiled) -> SimpleNamespace:
    """Load object files into this process."""
    import llvmlite.binding as llvm

    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
    for _, _, machine_code in compiled.values():
        engine.add_object_file(llvm.ObjectFileRef.from_data(machine_code))
    engine.finalize_object()
    _alive.append(engine)
    return SimpleNamespace(
        **{
            name: ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * count)(
                engine.get_function_address(symbol)
            )
            for name, (symbol, count, _) in compiled.items()
        }
    )


def _machine() -> Any:  # noqa: ANN401  llvmlite has no types
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(jit=True)


def _read(path: Path) -> Compiled | None:
    """Read a file of kernels; None if there is none, or it is damaged or somebody else's."""
    try:
        checksum, content = read_ours(path).split(b"\n", 1)
        if hashlib.sha256(content).hexdigest().encode() != checksum:
            return None
        return {
            name: (symbol, count, base64.b64decode(code))
            for name, (symbol, count, code) in json.loads(content).items()
        }
    except (OSError, ValueError, binascii.Error):
        return None


def _as_file(compiled: Compiled) -> bytes:
    content = json.dumps(
        {
            kernel: (symbol, count, base64.b64encode(code).decode())
            for kernel, (symbol, count, code) in compiled.items()
        }
    ).encode()
    return hashlib.sha256(content).hexdigest().encode() + b"\n" + content


def keep(name: str, data: bytes) -> None:
    """Write a file to the first cache folder that takes it; for `read_ours` by later processes."""
    for folder in cache_folders():
        try:
            folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=folder)
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(temporary).replace(folder / name)
        except OSError:
            continue
        return


def read_ours(path: Path) -> bytes:
    """Read a file that nobody else could have written; what is looked at is what is read.

    Raises:
        OSError: If there is no such file, or somebody else could have written it.
    """
    with os.fdopen(os.open(path, _READ_FLAGS), "rb") as file:
        found = os.fstat(file.fileno())
        is_foreign = hasattr(os, "getuid") and found.st_uid not in (0, os.getuid())
        if is_foreign or not stat.S_ISREG(found.st_mode) or found.st_mode & _WRITABLE_BY_OTHERS:
            raise PermissionError(errno.EPERM, "somebody else could have written it", str(path))
        return file.read()


def cache_folders() -> tuple[Path, ...]:
    """Folders for what can be made again, the one to be tried first at the head."""
    chosen = os.environ.get("PARQUET_BLOOMWRITER_CACHE")
    if chosen:
        return (Path(chosen),)
    if sys.platform == "win32":
        home = Path(os.environ.get("LOCALAPPDATA", Path.home()))
    elif sys.platform == "darwin":
        home = Path.home() / "Library" / "Caches"
    else:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return (Path(__file__).parent / "__pycache__", home / "parquet-bloomwriter")


@cache
def _file_name(module: str) -> str:
    import llvmlite
    import llvmlite.binding as llvm

    digest = hashlib.sha256(llvmlite.__version__.encode())
    digest.update(llvm.get_default_triple().encode())
    digest.update(llvm.get_host_cpu_name().encode())
    digest.update(llvm.get_host_cpu_features().flatten().encode())
    digest.update(_DIGESTS[module])
    return f"{module}-{digest.hexdigest()[:32]}.kernels"
