"""The optimizer rules of a session: `enable`, `disable`, `is_enabled`, `trace`, `problem_of`.

    from parquet_bloomwriter.spark import rules

    rules.enable(spark)

The rules are Java in Spark's optimizer (`..adaptor`), which asks Python (`bridge`) by the messages
of `protocol`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter.lazy_names import importer

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


__getattr__ = importer(__name__, dict.fromkeys(__all__, "session"))


def __dir__() -> list[str]:
    return sorted(__all__)
