"""A file's statistics as JSON, where a checkpoint has them only as columns (`stats_parsed`).

The text is that which writers of entries make: numbers as they are, decimals as numbers, text, dates
as 2024-01-31, timestamps as 2024-01-31T10:20:30.123Z with milliseconds (those without a time zone
without the Z). A timestamp is cut to milliseconds: a minimum stays below its values, and readers of
Delta know that a maximum may be up to a millisecond too small.

Source: Delta protocol, "Per-file Statistics".
"""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

_NUMBER = "\0"
_QUOTED = re.compile(r'"\\u0000(-?[0-9.]+)\\u0000"')


def stats_json(
    parsed: pa.StructArray, given: Sequence[str | None] | None, count: int
) -> list[str | None]:
    """Return the statistics of files as JSON.

    Args:
        parsed: As columns, of as many files.
        given: As JSON, as far as the checkpoint has them; these are kept as they are.
        count: Number of files.
    """
    found = list(given) if given is not None else [None] * count
    if None not in found:
        return found
    rows = parsed.to_pylist()
    return [
        text if text is not None or row is None else _text(row)
        for text, row in zip(found, rows, strict=True)
    ]


def _text(row: dict[str, Any]) -> str | None:
    kept = _spelled(row)
    # JSON's numbers have all digits of a decimal, which Python's do not.
    return _QUOTED.sub(r"\1", json.dumps(kept, separators=(",", ":"))) if kept else None


def _spelled(value: Any) -> Any:  # noqa: ANN401  whatever columns have
    if isinstance(value, dict):
        spelled = {name: _spelled(one) for name, one in value.items()}
        return {name: one for name, one in spelled.items() if one is not None}
    if isinstance(value, Decimal):
        return f"{_NUMBER}{value:f}{_NUMBER}"
    if isinstance(value, datetime):
        zone = "" if value.tzinfo is None else "Z"
        moment = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        return moment.isoformat(timespec="milliseconds") + zone
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float) and value != value:  # noqa: PLR0124  NaN is no JSON
        return None
    if isinstance(value, bytes):
        return None
    return value
