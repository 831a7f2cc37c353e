"""The optimizer rules of a session: `enable`, `disable`, `is_enabled`, `trace`, `problem_of`.

    from parquet_bloomwriter.spark import rules

    rules.enable(spark)

The rules are Java in Spark's optimizer (`..adaptor`), which asks Python (`bridge`) by the messages
of `protocol`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parquet_bloomwriter.spark.rules.session import (
        clear_caches,
        disable,
        enable,
        is_enabled,
        problem_of,
        trace,
    )

__all__ = ["clear_caches", "disable", "enable", "is_enabled", "problem_of", "trace"]


def __getattr__(name: str) -> object:
    """Import a function of `session` when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.session"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
