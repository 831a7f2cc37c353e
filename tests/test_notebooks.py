"""The notebooks of docs/notebooks run, and show what is committed."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from docs.notebooks.run import FOLDER, NAMES, read, run

if TYPE_CHECKING:
    from nbformat import NotebookNode

_FIGURE = re.compile(r"\d[\d.,]*( [KMG]i?B)?")
"""Sizes differ by the version of pyarrow that writes the files."""

_TEXT_ENDS = re.compile(r'"}, {"name": "stdout", "output_type": "stream", "text": "')


def _outputs(notebook: NotebookNode) -> list[str]:
    """Return what each cell shows, without figures and spaces.

    Texts that follow each other are one: where they part is a matter of time.
    """
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    shown = (_TEXT_ENDS.sub("", json.dumps(cell.outputs, sort_keys=True)) for cell in code)
    return [re.sub(r"[\s+-]+", " ", _FIGURE.sub("#", text)) for text in shown]


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.shares] * ("spark" in name)) for name in NAMES],
)
def test_a_notebook_shows_what_is_committed(name: str) -> None:
    assert _outputs(run(name)) == _outputs(read(name))


def test_all_notebooks_are_run() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(NAMES)
