"""Files, paths and command lines of random dangerous text."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from campaigns.security.commands import EVIL, INDEX, commands, lines_of, run, takes_json
from campaigns.security.hostile import MARK, PAYLOADS
from campaigns.security.limits import no_hang
from campaigns.security.tables import Table
from parquet_bloomwriter import index
from parquet_bloomwriter.errors import BloomwriterError

_PIECES = (
    *PAYLOADS.values(),
    *map(chr, [*range(1, 33), *range(127, 161), 0x61C, 0xAD, 0x180E, *range(0x200B, 0x2010)]),
    *map(chr, [*range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xFEFF, 0xFFFE, 0xE0001, 0xE0041]),
    *(
        "a",
        "id",
        ".",
        ",",
        "=",
        "#",
        "-",
        "--",
        "'",
        '"',
        "`",
        "\\",
        "$",
        "{",
        "}",
        "%",
        "*",
        "[",
        "]",
        "?",
        "~",
    ),
    *(f"\n{MARK}", f"\r\n{MARK}", f"\x1b[31m\n{MARK}", "\udc80", "\udcff", "\ud800"),
)
_COLUMNS = 4
_LINES = 12
"""Command lines of each try."""


def attempt(seed: int, scratch: Path) -> list[str]:
    """Make a table, and run some commands on it; returns what is wrong, one line each."""
    choice = random.Random(seed)  # noqa: S311  not for secrets
    table = _table(choice, scratch)
    here = Path.cwd()
    (table.folder.parent / "empty").mkdir()
    os.chdir(table.folder.parent / "empty")
    try:
        return [f"seed {seed}: {wrong}" for wrong in _wrong(choice, table)]
    finally:
        os.chdir(here)
        shutil.rmtree(table.folder.parent)


def _wrong(choice: random.Random, table: Table) -> list[str]:
    every = commands()
    wrong = []
    for _ in range(_LINES):
        words = choice.choice(sorted(every))
        line = choice.choice(list(lines_of(words, every[words], table)))
        line = [_stray(text(choice)) if word.startswith(EVIL[:8]) else word for word in line]
        takes_more = {"--files", "--"}.isdisjoint(line)
        as_json = takes_json(every[words]) and takes_more and choice.random() < 0.2
        with no_hang():
            shown = run([*line, "--json"] if as_json else line, is_terminal=not as_json)
        wrong += [f"{line!r}: {fault}" for fault in shown.faults(as_json=as_json)]
        if shown.status == 70 or shown.status is None:
            wrong.append(f"{line!r}: {shown.err!r}")
    return wrong


def text(choice: random.Random) -> str:
    """Some pieces, one after the other."""
    return "".join(choice.choices(_PIECES, k=choice.randint(1, 6)))


def _table(choice: random.Random, scratch: Path) -> Table:
    folder = Path(tempfile.mkdtemp(dir=scratch)) / _segment(choice)
    folder.mkdir()
    names = list({_unicode(text(choice)): None for _ in range(_COLUMNS)})
    values = [_unicode(text(choice)) for _ in range(20)]
    arrays = {name: pa.array(values) for name in names} | {"id": pa.array(range(20))}
    path = folder / f"{_segment(choice)}.parquet"
    plain = scratch / "plain"
    pq.write_table(pa.table(arrays), plain, row_group_size=10)
    plain.rename(path)
    shutil.copy2(path, folder / f"{_segment(choice)}2.parquet")
    (folder / f"{_segment(choice)}.broken.parquet").write_text(_unicode(text(choice)) + "PAR1")
    with contextlib.suppress(BloomwriterError):  # of files whose names are no Unicode there is none
        index.create(folder, ["id"], name=INDEX)
    return Table(folder=folder, file=path, column=names[0], value=values[0])


def _segment(choice: random.Random) -> str:
    """A segment of a path."""
    data = os.fsencode(_stray(text(choice)).replace("/", "_").replace("\0", "_"))[:100]
    name = os.fsdecode(data)
    return "dots" if name.strip(".") == "" else name


def _stray(some: str) -> str:
    """The same text, with only such surrogates as stand for bytes."""
    return (
        some.encode("utf-16", "surrogatepass")
        .decode("utf-16", "replace")
        .replace("\ufffd", "\udcff")
    )


def _unicode(some: str) -> str:
    return some.encode("utf-8", "replace").decode()
