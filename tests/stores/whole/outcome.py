"""What comes of a call that may fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter import FileProblem

if TYPE_CHECKING:
    from collections.abc import Callable


def error_of(run: Callable[[], object]) -> FileProblem | FileNotFoundError | None:
    """Return the error of a call, if it is one that a verb may raise; None if it succeeds."""
    try:
        run()
    except (FileProblem, FileNotFoundError) as error:
        return error
    return None
