"""All scenarios, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.failure.power.indexes import INDEX_SCENARIOS
from tests.failure.power.scenarios import SCENARIOS

if TYPE_CHECKING:
    from tests.failure.power.indexes import IndexScenario
    from tests.failure.power.scenarios import Scenario

EVERY: dict[str, Scenario | IndexScenario] = {**SCENARIOS, **INDEX_SCENARIOS}
