"""Imports that take a while, at random: what threads that import at the same time can meet."""

from __future__ import annotations

import random
import sys
import time
from importlib.abc import Loader, MetaPathFinder
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

LIBRARIES = ("parquet_bloomwriter", "pyarrow", "numpy", "sqlglot", "polars", "pyiceberg", "obstore")


def install(seed: int, libraries: Sequence[str] = LIBRARIES, *, most_s: float = 0.002) -> None:
    """Let imports of libraries pause before and after each step, from now on in this process."""
    numbers = random.Random(seed)  # noqa: S311  no secret
    sys.meta_path.insert(0, _Pauses(numbers, libraries, most_s))


class _Pauses(MetaPathFinder):
    def __init__(self, numbers: random.Random, libraries: Sequence[str], most_s: float) -> None:
        self._numbers, self._libraries, self._most_s = numbers, libraries, most_s

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] not in self._libraries:
            return None
        others = [finder for finder in sys.meta_path if finder is not self]
        found = (finder.find_spec(name, path, target) for finder in others)
        spec = next((one for one in found if one is not None), None)
        self._pause()
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module = self._slow(spec.loader)  # type: ignore[assignment, method-assign]
        return spec

    def _slow(self, loader: Loader) -> Callable[[ModuleType], None]:
        execute = loader.exec_module

        def slowly(module: ModuleType) -> None:
            self._pause()
            execute(module)
            self._pause()

        return slowly

    def _pause(self) -> None:
        time.sleep(self._numbers.random() * self._most_s)
