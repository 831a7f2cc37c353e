"""The manifest of the corpus."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("BLOOMIFY_CORPUS", ROOT / "../shared/corpus")).resolve()


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One file of the corpus."""

    path: str
    """Relative to the folder `files`."""

    kind: str
    """normal, malformed or fuzz."""

    num_bytes: int

    hazard: str
    """What is hard about it; "" for all but the hand-picked ones."""

    expected: str
    """What a careful tool does with it, in a few words."""

    pyarrow_reads: bool

    @property
    def file(self) -> Path:
        """Where it lies."""
        return FOLDER / "files" / self.path


def entries() -> tuple[Entry, ...]:
    """Every file, or none if there is no corpus."""
    manifest = FOLDER / "manifest.csv"
    if not manifest.is_file():
        return ()
    with manifest.open(newline="", encoding="utf-8") as rows:
        return tuple(
            Entry(
                path=row["path"],
                kind=row["class"],
                num_bytes=int(row["bytes"]),
                hazard=row["hazard"],
                expected=row["expected"],
                pyarrow_reads=row["pyarrow"] == "y",
            )
            for row in csv.DictReader(rows)
        )
