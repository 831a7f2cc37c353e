"""The report: Markdown tables, the machine, the versions."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from benchmarks.measure import Figure

_LIBRARIES = ("pyarrow", "numpy", "duckdb", "datafusion", "polars", "pyspark")
_HEAD = """# Benchmarks

Written by `make bench`. {machine}

The reference file has 10 M rows x 13 columns in ten row groups, zstd, {size} MB. Filters of 1 % are
built for an unsorted unique INT64 `id` and an e-mail address of 20 to 24 bytes. Files are in the
disk cache. Programs that are compared run in turn; figures are of the shortest of several runs, of
whole processes unless the line says otherwise. `bloomify` flushes its output to disk and verifies
it; the other writers do neither. "What filters save" is the mean of 20 queries in one process.

Looking up, reading and queries on Spark are timed within one process, after first runs. "The first
time" means that no footers are kept from before. Spark runs with two cores, 3 GB and default
settings. "Rules on" and "off" take turns, and must give the same rows. Ids lie between minimum and
maximum of every file, and are not dictionary-encoded.

The object store is SeaweedFS on the same machine, behind a proxy that counts requests and bytes.
"One after the other" is the length of the longest chain of requests in which each request began
after the answer to the request before.
"""


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def machine() -> str:
    """Return one paragraph about processor, memory, Python and libraries."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    libraries = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in _LIBRARIES)
    return (
        f"Machine: {os.cpu_count()} cores of {_cpu()}, {memory:.0f} GB of memory, "
        f"{platform.system()}; Python {platform.python_version()}, {libraries}."
    )


def table(figures: Iterable[Figure]) -> str:
    """Return the Markdown table of some figures; what neighbours begin with is a row of its own."""
    rows = ["| what | figure | target |", "|---|---|---|"]
    for head, group in groupby(
        figures, key=lambda one: one.what.partition(": ")[0] if ": " in one.what else ""
    ):
        some = list(group)
        is_shared = head != "" and len(some) > 1
        rows += [f"| **{head}** | | |"] if is_shared else []
        for one in some:
            what = one.what.partition(": ")[2] if is_shared else one.what
            target = one.target + (", **not met**" if one.met is False else "")
            rows.append(f"| {what} | {one.figure} | {target} |")
    return "\n".join([*rows, ""])


def document(sections: Mapping[str, Sequence[Figure]], *, kernels: str, size: int) -> str:
    """Return the whole page.

    Args:
        sections: Figures under their headings.
        kernels: The table of the kernels, Markdown.
        size: Of the reference file, bytes.
    """
    parts = [_HEAD.format(machine=machine(), size=round(size / 1e6))]
    parts += [f"## {heading}\n\n{table(figures)}" for heading, figures in sections.items()]
    parts.append(f"## Kernels\n\n{kernels}")
    return "\n".join(parts)
