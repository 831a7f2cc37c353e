"""Run the notebooks of this folder, and write their outputs anew.

    python -m docs.notebooks.run

What is kept is what a reader sees: tables and text, with the folder of the run named `/data`.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
from nbclient import NotebookClient

if TYPE_CHECKING:
    from nbformat import NotebookNode

FOLDER = Path(__file__).resolve().parent
NAMES = ("first_steps", "which_columns", "index_and_spark")
"""In the order in which they are to be read."""

_SECONDS = 600
"""Of one cell; Spark has to start."""


def read(name: str) -> NotebookNode:
    """Return a notebook as it is committed."""
    found: NotebookNode = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    return found


def run(name: str) -> NotebookNode:
    """Run a notebook in an empty folder; return it with its new outputs.

    Raises:
        nbclient.exceptions.CellExecutionError: If a cell raises.
    """
    notebook = read(name)
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        client = NotebookClient(
            notebook, timeout=_SECONDS, resources=resources, record_timing=False
        )
        asyncio.run(client.async_execute())
        for cell in notebook.cells:
            if cell.cell_type == "code":
                cell.outputs = [
                    _shown(output, folder) for output in cell.outputs if _is_kept(output)
                ]
    return notebook


def _is_kept(output: NotebookNode) -> bool:
    """Tell whether an output says something; what programs log on the way does not."""
    return not (output.output_type == "stream" and output.name == "stderr")


def _shown(output: NotebookNode, folder: str) -> NotebookNode:
    if "text" in output:
        output.text = output.text.replace(folder, "/data")
    if "data" in output:
        kinds = {kind: text.replace(folder, "/data") for kind, text in output.data.items()}
        if "text/html" in kinds:
            kinds.pop("text/plain", None)
        output.data = kinds
    return output


def main() -> None:
    """Write all notebooks anew."""
    for name in NAMES:
        nbformat.write(run(name), FOLDER / f"{name}.ipynb")  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
