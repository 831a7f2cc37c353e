"""What filters change although they are right: engines that look up something else than is stored.

Nothing at present: types that an engine is known to look up wrongly get no filters.
"""

from __future__ import annotations

from typing import Final

KNOWN: Final[dict[tuple[str, str], str]] = {}
"""Engine and type -> what it does."""
