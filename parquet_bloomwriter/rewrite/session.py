"""The frame that all rewriting verbs share: open, view, plan, write, verify, replace.

A verb says what to write; this module sees to where, and that it is whole.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from parquet_bloomwriter.errors import (
    BloomwriterError,
    FileProblem,
    InvalidArgument,
    Unfinished,
    VerificationFailed,
)
from parquet_bloomwriter.replace.commit import replacing
from parquet_bloomwriter.replace.external_references import (
    check_surroundings,
    crc_path,
    has_stale_crc,
    new_checksums,
    regenerate_crc,
)
from parquet_bloomwriter.replace.original import SourceFile, open_source
from parquet_bloomwriter.replace.target import Target, choose_target
from parquet_bloomwriter.replace.temporary import remove_stale
from parquet_bloomwriter.rewrite.layout import Layout, layout_of
from parquet_bloomwriter.rewrite.write import Assembler, NewFile, Readable, WrittenFilter, verify
from parquet_bloomwriter.source import BufferSource, FileSource, Source, read_footer
from parquet_bloomwriter.source.filesystems import check_local

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from parquet_bloomwriter.rewrite.plan import Chunk, Plan

StrPath: TypeAlias = "str | os.PathLike[str]"
Input: TypeAlias = "StrPath | bytes | bytearray | memoryview"


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where the new version goes, and what is allowed for it."""

    output: StrPath | None = None
    """Path of the new file; None replaces the file that is read."""

    overwrite: bool = False
    """Replace `output` if it exists."""

    force: bool = False
    """Rewrite in place although something outside refers to the file, or it has hard links."""

    backup_suffix: str | None = None
    """Keep the replaced file under its name and this suffix."""

    backup_dir: StrPath | None = None
    """Keep the replaced file under its name in this folder, which is made if it is missing."""

    regenerate_crc: bool = False
    """Renew the Hadoop checksum file beside the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a verb wrote."""

    plan: Plan
    filters: dict[Chunk, WrittenFilter]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """An input that is open, with its layout."""

    source: Source
    layout: Layout
    file: SourceFile | None
    """None for a buffer."""

    destination: Destination

    @property
    def path(self) -> str | None:
        """The path as the caller gave it; None for a buffer."""
        return self.file.name if self.file else None

    @property
    def output(self) -> str | None:
        """The path that will be written; None for a buffer."""
        if self.destination.output is not None:
            return os.fspath(self.destination.output)
        return self.path


@contextmanager
def opened(source: Input, destination: Destination) -> Iterator[Opened]:
    """Open a file or wrap a buffer, and view its footer; errors get the path.

    Raises:
        FileProblem: If it cannot be worked on.
        InvalidArgument: If an output is named for a buffer, or a URL is given.
    """
    for path in (source, destination.output, destination.backup_dir):
        if isinstance(path, str | os.PathLike):
            check_local(path)
    if isinstance(source, bytes | bytearray | memoryview):
        if destination.output is not None:
            raise InvalidArgument(
                "the new version of a buffer is a buffer, not a file",
                remedy="Take `data` from the report.",
            )
        buffer = BufferSource(source)
        yield Opened(
            source=buffer,
            layout=layout_of(read_footer(buffer), buffer.read_at),
            file=None,
            destination=destination,
        )
        return
    if not isinstance(source, str | os.PathLike):
        raise InvalidArgument(
            f"a file is named by its path, or given as bytes, not as {type(source).__name__}",
            remedy="for_each_file applies a verb to several files.",
        )
    with open_source(source) as file:
        try:
            on_disk = FileSource(file.path, file.fd, file.identity.size)
            layout = layout_of(read_footer(on_disk), on_disk.read_at)
            yield Opened(source=on_disk, layout=layout, file=file, destination=destination)
        except FileProblem as error:
            error.path = error.path or file.name
            raise


def target_of(opened: Opened) -> Target | None:
    """Decide where the new version of a file goes; None for a buffer. Nothing is written.

    Raises:
        UnsafeTarget: If writing there would break or overwrite something.
    """
    if opened.file is None:
        return None
    options = opened.destination
    target = choose_target(
        opened.file,
        options.output,
        overwrite=options.overwrite,
        permit_hard_links=options.force,
        backup_suffix=options.backup_suffix,
        backup_dir=options.backup_dir,
    )
    if target.replaces is not None:
        check_surroundings(target.name, force=options.force, regenerates_crc=options.regenerate_crc)
    return target


def write_new_version(
    opened: Opened,
    target: Target | None,
    write: Callable[[NewFile], Written],
    *,
    progress: Callable[[int], None] | None = None,
) -> bytes | None:
    """Let `write` write the new version, read it back, and put it in its place.

    Returns:
        The new version if the input is a buffer without an output path.

    Raises:
        FileChanged: If somebody else changed a file meanwhile.
        VerificationFailed: If the new version does not read back as planned.
        OSError: If writing fails. In all these cases nothing has changed.
        Unfinished: If the new version is in place, but its folder could not be synced, or its
            checksum file not renewed.
    """
    if opened.file is None or target is None:
        buffer = _NewBuffer(opened.source)
        written = write(buffer)
        _verify(opened, BufferSource(buffer.data), written)
        return bytes(buffer.data)
    done: list[Written] = []
    crc = _checksum_file(opened.destination, target.path)
    with ExitStack() as stack:
        publish: list[Callable[[], None]] = []

        def verify_file(path: str) -> None:
            with open_source(path) as file:
                _verify(opened, FileSource(path, file.fd, file.identity.size), done[0])
                if crc is not None:
                    publish.append(stack.enter_context(new_checksums(target.path, file)))

        with replacing(
            opened.file, target, verify=verify_file, progress=progress, contradicted=crc
        ) as new:
            done.append(write(new))
        for put_in_place in publish:
            _renew_checksums(target, put_in_place)
    return None


def _checksum_file(options: Destination, path: str) -> str | None:
    """Find the Hadoop checksum file that is to be renewed; remove what killed runs left of it."""
    if not options.regenerate_crc:
        return None
    crc = crc_path(path)
    remove_stale(os.fspath(crc))
    return os.fspath(crc) if crc.exists() else None


def keep_file(opened: Opened) -> None:
    """Leave the file as it is, and remove what a killed run left beside it.

    If asked for, checksums are renewed that such a run left stale.
    """
    options = opened.destination
    if opened.file is None or options.output is not None:
        return
    with suppress(OSError):  # it is a courtesy
        remove_stale(opened.file.path)
    if _checksum_file(options, opened.file.path) and has_stale_crc(opened.file.path):
        regenerate_crc(opened.file.path)


def write_plan(plan: Plan) -> Callable[[NewFile], Written]:
    """A writer for plans without new filters."""

    def write(new: NewFile) -> Written:
        Assembler(new, _no_filters).complete(plan)
        return Written(plan=plan, filters={})

    return write


def _renew_checksums(target: Target, put_in_place: Callable[[], None]) -> None:
    try:
        put_in_place()
    except (BloomwriterError, OSError) as error:
        reason = error.problem if isinstance(error, BloomwriterError) else error.strerror
        raise Unfinished(
            f"the Hadoop checksum file could not be renewed: {reason}",
            path=target.name,
            remedy="Hadoop and Spark read the file all the same, without checking it.",
        ) from error


def _no_filters(chunk: Chunk) -> bytes:
    raise AssertionError(f"no filter was built for {chunk}")


def _verify(opened: Opened, new: Source, written: Written) -> None:
    try:
        footer = read_footer(new)
    except FileProblem as error:
        raise VerificationFailed(f"the new footer does not parse: {error.problem}") from error
    old = Readable(opened.source, opened.layout.footer)
    verify(old, Readable(new, footer), written.plan, written.filters)


class _NewBuffer:
    """A new file in memory."""

    def __init__(self, old: Source) -> None:
        self._old = old
        self.data = bytearray()

    def copy(self, start: int, stop: int) -> None:
        self.data += self._old.read_at(start, stop)

    def write(self, data: bytes) -> None:
        self.data += data
