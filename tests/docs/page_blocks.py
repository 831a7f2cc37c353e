"""The blocks of code of a page: which are run, and which show what a run prints."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
NOT_RUN = "# Not run by the tests: "
"""The first line of a block that is not run; the reason stands behind it."""

_FENCE = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_WRITTEN_BY_RUNS = ("benchmarks.md", "compatibility.md", "reliability.md")


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """A fenced block."""

    page: str
    """Relative to docs/."""

    line: int
    """Of its first line of text, from 1."""

    language: str
    text: str

    @property
    def is_code(self) -> bool:
        """Whether it is meant to be typed."""
        return self.language in ("sh", "python")

    @property
    def is_run(self) -> bool:
        """Whether the tests run it."""
        return self.is_code and not self.text.startswith(NOT_RUN)


def pages() -> list[str]:
    """Return the names of all pages that people write, relative to docs/."""
    found = (str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))
    return sorted(set(found) - set(_WRITTEN_BY_RUNS))


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page in order."""
    text = (DOCS / page).read_text("utf-8")
    return [
        Block(
            page=page,
            line=text.count("\n", 0, match.start(3)) + 1,
            language=match[2].strip(),
            text=match[3],
        )
        for match in _FENCE.finditer(text)
    ]


def without_blocks(page: str) -> str:
    """Return the rest of a page."""
    return _FENCE.sub("", (DOCS / page).read_text("utf-8"))
