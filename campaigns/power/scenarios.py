"""What is done to a folder while the power goes: every way that the package rewrites a file."""

from __future__ import annotations

import contextlib
import errno
import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias
from unittest import mock

from campaigns.syscalls.scenarios import checksums
from parquet_bloomwriter import bloomify, repair, strip
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.replace import commit as replacing
from parquet_bloomwriter.replace.copying import WRITE_BACK
from parquet_bloomwriter.replace.external_references import crc_path
from tests.verbs.files import footer_of, people, without_length, written

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

Verb: TypeAlias = "Callable[..., object]"

FILE, OTHER, BACKUP, KEPT = "people.parquet", "other.parquet", ".before", "kept/before"
ROWS = 3000


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A verb, its options, and what it finds."""

    name: str
    verb: Verb = bloomify
    options: dict[str, Any] = field(default_factory=dict)
    """But for `output`."""

    output: str | None = None
    """Name of the new file; None if the old one is replaced."""

    has_crc: bool = False
    """A Hadoop checksum file lies beside the file."""

    without: tuple[str, ...] = ()
    """What the file system refuses: "links", "reading the folder"."""

    write_back: int = WRITE_BACK
    """Bytes between two early write-backs."""

    @property
    def target(self) -> str:
        """The name that is judged."""
        return self.output or FILE

    @property
    def backup(self) -> str | None:
        """Path of the backup."""
        if "backup_dir" in self.options:
            return f"{self.options['backup_dir']}/{self.target}"
        suffix = self.options.get("backup_suffix")
        return None if suffix is None else self.target + suffix

    @property
    def without_faults(self) -> Scenario:
        """The same on a file system that refuses nothing."""
        return replace(self, without=())

    def prepare(self, folder: Path) -> None:
        """Make what the run finds."""
        (folder / FILE).write_bytes(_content(self.verb))
        (folder / FILE).chmod(0o640)
        with contextlib.suppress(OSError):  # tmpfs of old kernels has none
            os.setxattr(folder / FILE, "user.origin", b"here")
        if self.options.get("overwrite"):
            (folder / OTHER).write_bytes(written(people(40)))
            (folder / OTHER).chmod(0o604)
        if self.has_crc:
            crc_path(folder / FILE).write_bytes(checksums((folder / FILE).read_bytes()))

    def act(self, folder: Path, **more: Any) -> None:  # noqa: ANN401  the verb's options
        """Run the verb."""
        output = {} if self.output is None else {"output": folder / self.output}
        options = {**output, **self.options, **more}
        if options.get("backup_dir") is not None:
            options["backup_dir"] = folder / options["backup_dir"]
        with contextlib.ExitStack() as stack:
            stack.enter_context(mock.patch.object(replacing, "WRITE_BACK", self.write_back))
            for what in self.without:
                stack.enter_context(WITHOUT[what]())
            self.verb(folder / FILE, **options)


def _content(verb: Verb) -> bytes:
    data = written(people(ROWS), row_group_size=ROWS // 2)
    if verb is bloomify:
        return data
    data = bloomify(data, ["id"]).data or b""
    if verb is strip:
        return data
    has = footer_of(data).chunks.has(ChunkField.BLOOM_FILTER_OFFSET)
    return without_length(data, *((int(i), int(j)) for i, j in zip(*has.nonzero(), strict=True)))


def _without_links() -> AbstractContextManager[Any]:
    refusal = PermissionError(errno.EPERM, os.strerror(errno.EPERM))
    return mock.patch.object(os, "link", side_effect=refusal)


@contextlib.contextmanager
def _without_reading_the_folder() -> Any:  # noqa: ANN401
    """What a folder without the right to read does to us; root could read it all the same."""
    really_open = os.open

    def open_(path: Any, flags: int, *more: Any, **options: Any) -> int:  # noqa: ANN401
        if flags & os.O_DIRECTORY:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return really_open(path, flags, *more, **options)

    refusal = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    with (
        mock.patch.object(os, "open", open_),
        mock.patch.object(os, "listdir", side_effect=refusal),
    ):
        yield


LINKS, READING = "links", "reading the folder"
WITHOUT = {LINKS: _without_links, READING: _without_reading_the_folder}

SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario(name="in place"),
        Scenario(name="in place, before the footer", options={"placement": "end"}),
        Scenario(name="in place, written back early", write_back=4096),
        Scenario(name="new file", output=OTHER),
        Scenario(name="over another file", output=OTHER, options={"overwrite": True}),
        Scenario(name="with a backup", options={"backup_suffix": BACKUP}),
        Scenario(
            name="over another file, with a backup",
            output=OTHER,
            options={"overwrite": True, "backup_suffix": BACKUP},
        ),
        Scenario(name="with a backup in a new folder", options={"backup_dir": KEPT}),
        Scenario(
            name="with a backup on another disk",
            options={"backup_dir": KEPT},
            without=(LINKS,),
        ),
        Scenario(name="strip", verb=strip),
        Scenario(name="repair", verb=repair),
        Scenario(name="with a checksum file", has_crc=True, options={"regenerate_crc": True}),
        Scenario(
            name="with a backup and a checksum file",
            has_crc=True,
            options={"regenerate_crc": True, "backup_suffix": BACKUP},
        ),
        Scenario(name="new file, no hard links", output=OTHER, without=(LINKS,)),
        Scenario(
            name="with a backup, no hard links",
            options={"backup_suffix": BACKUP},
            without=(LINKS,),
        ),
        Scenario(
            name="with a checksum file, no hard links",
            has_crc=True,
            options={"regenerate_crc": True},
            without=(LINKS,),
        ),
        Scenario(name="in place, folder cannot be read", without=(READING,)),
        Scenario(name="new file, folder cannot be read", output=OTHER, without=(READING,)),
    )
}
