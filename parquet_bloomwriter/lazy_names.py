"""Lazy imports: a package imports a name from its module when the name is first used.

This keeps imports short, and safe in threads. Python locks each module while it is imported, and
takes the lock of `package.module` before that of `package`. If a package imports its modules
itself, one thread can hold the package and wait for a module while another thread holds the module
and waits for the package. Python breaks this deadlock by an error in one of the threads. So a
package does not import its own modules if other packages import these, too
(`tests/test_imports.py`).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def importer(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return the function `__getattr__` of a package.

    Args:
        package: Its name, `__name__`.
        homes: The module of each name, relative to the package.
    """

    def import_name(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = import_module(f"{package}.{homes[name]}")
        import_module(package).__dict__[name] = found = getattr(home, name)
        return found

    return import_name
