"""The manifest of the corpus."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


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

    num_filters: int
    """Bloom filters that its footer points to."""


def entries(corpus: Path) -> tuple[Entry, ...]:
    """Every file of the corpus, in the order of the manifest."""
    with (corpus / "manifest.csv").open(newline="", encoding="utf-8") as rows:
        return tuple(
            Entry(
                path=row["path"],
                kind=row["class"],
                num_bytes=int(row["bytes"]),
                hazard=row["hazard"],
                expected=row["expected"],
                pyarrow_reads=row["pyarrow"] == "y",
                num_filters=int(row["bloom_filters"] or 0),
            )
            for row in csv.DictReader(rows)
        )


def file_of(corpus: Path, path: str) -> Path:
    """Where a file of the manifest lies."""
    return corpus / "files" / path
