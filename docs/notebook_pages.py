"""The notebooks of docs/notebooks as pages of the site: text, code, and what the code shows.

Outputs are those that `python -m docs.notebooks.run` wrote; nothing is run here. Tables of reports
are HTML, and stay as they are; plain text stands in a box.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER = Path(__file__).resolve().parent / "notebooks"

_BACKTICKS = re.compile(r"`{3,}")
_STYLE = re.compile(r"<style.*?</style>", re.DOTALL)
_PLAIN_TABLE = re.compile(r"<table(?![^>]*\sclass=)")
_BLANK_LINES = re.compile(r"\n\s*\n")


def page_of(name: str) -> str:
    """Return the Markdown of a notebook's page."""
    notebook = json.loads((FOLDER / f"{name}.ipynb").read_text("utf-8"))
    parts = [part for cell in notebook["cells"] for part in _cell(cell)]
    return "\n\n".join(["---\nhide: [toc]\n---", *parts, _source(name)]) + "\n"


def _source(name: str) -> str:
    return f"*This page is the notebook `docs/notebooks/{name}.ipynb`; a test runs it.*"


def _cell(cell: dict[str, Any]) -> Iterator[str]:
    """Yield a cell, and what it shows."""
    text = _joined(cell["source"])
    if cell["cell_type"] == "markdown":
        yield text
        return
    yield _fenced(text, "python")
    for output in cell["outputs"]:
        kinds = output.get("data", {})
        if "text/html" in kinds:
            yield _html(_joined(kinds["text/html"]))
        else:
            yield _fenced(_joined(output.get("text", kinds.get("text/plain", ""))), "text")


def _html(source: str) -> str:
    """Return an output as one block of HTML, which an empty line would end.

    Tables without a class would look like those of the site's own pages.
    """
    quiet = _BLANK_LINES.sub("\n", _STYLE.sub("", source)).strip()
    quiet = _PLAIN_TABLE.sub('<table class="report"', quiet)
    return f'<div class="output">{quiet}</div>'


def _fenced(text: str, language: str) -> str:
    longest = max((len(found) for found in _BACKTICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _joined(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)
