"""Reports as values for JSON: the names that a class lists, in this order."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import ClassVar

from parquet_bloomwriter.reports.summary import picked, plain


class _Kind(StrEnum):
    SHOWN = "as text"


class _Use(Enum):
    USED = "by name"


@dataclass(frozen=True, kw_only=True)
class _Part:
    use: _Use = _Use.USED
    value: bytes = b"\x00\xff"
    ndv: float = math.inf


@dataclass(frozen=True, kw_only=True)
class _Report:
    JSON: ClassVar = ("total", "*", "store?", "plan?", "all=parts")
    kind: _Kind = _Kind.SHOWN
    parts: tuple[_Part, ...] = (_Part(),)
    cost: dict[str, int] = field(default_factory=lambda: {"get": 2})
    evidence: object = field(default=None, compare=False)
    """No field of this kind is among all fields."""

    store: None = field(default=None, compare=False)

    @property
    def total(self) -> int:
        return len(self.parts)

    @property
    def plan(self) -> tuple[int, ...]:
        return (1, 2)


def test_a_report_has_the_names_that_its_class_lists() -> None:
    part = {"use": "USED", "value": "00ff", "ndv": None}
    assert plain(_Part()) == part
    expected = {
        "total": 1,
        "kind": "as text",
        "parts": [part],
        "cost": {"get": 2},
        "plan": [1, 2],
        "all": [part],
    }
    text = json.dumps(plain(_Report()), allow_nan=False)
    assert text == json.dumps(expected)
    assert picked(_Report(), "store", "size=total") == {"store": None, "size": 1}
