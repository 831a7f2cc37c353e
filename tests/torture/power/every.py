"""All scenarios, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.torture.power.indexes import INDEX_SCENARIOS
from tests.torture.power.scenarios import SCENARIOS

if TYPE_CHECKING:
    from tests.torture.power.indexes import IndexScenario
    from tests.torture.power.scenarios import Scenario

EVERY: dict[str, Scenario | IndexScenario] = {**SCENARIOS, **INDEX_SCENARIOS}
