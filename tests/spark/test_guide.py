"""The guide docs/reference/table-index.md, run from top to bottom as it stands, in one folder and one Spark."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.support.spark_children import Child

pytestmark = pytest.mark.shares

GUIDE = (Path(__file__).resolve().parents[2] / "docs/reference/table-index.md").read_text()
BLOCKS = re.findall(r"^```(sh|python)\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)

RUNNER = """
import contextlib, io, json, subprocess, sys

shown = []
for language, text in json.loads(sys.argv[1]):
    said = io.StringIO()
    if language == "python":
        with contextlib.redirect_stdout(said):
            exec(text, {"__name__": "__main__"})
    for line in text.splitlines() if language == "sh" else ():
        command = [sys.executable, "-m", *line.partition("#")[0].split('"')[0].split()]
        command += line.partition("#")[0].split('"')[1:2]
        said.write(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    shown.append(said.getvalue())
print(json.dumps(shown))
"""


def test_the_guide_works_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import json

    monkeypatch.chdir(tmp_path)
    script = tmp_path / "runner.py"
    script.write_text(RUNNER)
    shown = Child(
        script, json.dumps(BLOCKS), PATH=f"{Path(sys.executable).parent}:/usr/bin:/bin"
    ).result()
    said = "\n".join(shown)
    assert len(shown) == len(BLOCKS) == 9
    assert "part-" in said
    assert "39595" in said
