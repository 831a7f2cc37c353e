"""Rewriting of files on disk and of buffers: their old versions, and the targets of new ones."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.errors import BloomwriterError, InvalidArgument, Unfinished
from parquet_bloomwriter.replace.commit import new_version
from parquet_bloomwriter.replace.external_references import check_surroundings, crc_path
from parquet_bloomwriter.replace.hadoop_checksum import (
    has_stale_crc,
    new_checksums,
    regenerate_crc,
)
from parquet_bloomwriter.replace.target import choose_target
from parquet_bloomwriter.replace.temporary import remove_stale
from parquet_bloomwriter.rewrite.place import Place, Rewrite
from parquet_bloomwriter.source.base import not_found
from parquet_bloomwriter.source.identity import FileIdentity
from parquet_bloomwriter.source.listing import is_pattern
from parquet_bloomwriter.source.local import FileSource, open_file
from parquet_bloomwriter.source.stream import BufferSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from parquet_bloomwriter.replace.commit import NewVersion
    from parquet_bloomwriter.replace.hadoop_checksum import NewChecksums
    from parquet_bloomwriter.replace.target import Target
    from parquet_bloomwriter.rewrite.place import Destination, StrPath
    from parquet_bloomwriter.rewrite.plan import Chunk, Plan
    from parquet_bloomwriter.rewrite.write import ExpectedFilter, Readable
    from parquet_bloomwriter.source import Source
    from parquet_bloomwriter.source.local import OpenedFile


REMOTE_JOBS = 8
"""Column chunks of a file on a store that are read at the same time: waiting for the store takes
longer than decoding."""


@contextmanager
def open_place(
    path: StrPath, destination: Destination, progress: Callable[[int], None] | None
) -> Iterator[Place]:
    """Open a file on disk that is to be rewritten.

    Raises:
        UnsupportedFile: If it is a directory, FIFO, socket or device.
        OSError: What opening raises.
    """
    if is_pattern(os.fspath(path)):
        raise not_found(os.fspath(path))
    with open_file(path) as file:
        yield _FilePlace(file, destination, progress)


class _FilePlace(Place):
    """A file on disk whose new version is written to disk."""

    def __init__(
        self, file: OpenedFile, destination: Destination, progress: Callable[[int], None] | None
    ) -> None:
        """Use an open file.

        Args:
            file: The old version.
            destination: Where the new one goes.
            progress: Called after each write with the number of bytes.
        """
        self.source = FileSource(file.path, file.fd, file.identity.size)
        self._file = file
        self._destination = destination
        self._progress = progress
        self._target: Target | None = None

    @property
    def path(self) -> str:
        return self._file.name

    @property
    def output(self) -> str:
        output = self._destination.output
        return self.path if output is None else os.fspath(output)

    def choose_target(self) -> None:
        self._target = target_of(self._file, self._destination)

    def begin(self, old: Readable) -> Rewrite:
        target = self._target or target_of(self._file, self._destination)
        return FileRewrite(
            old,
            self._file,
            target,
            progress=self._progress,
            destination=self._destination,
        )

    def check_source_unchanged(self) -> None:
        self._file.check_unchanged(FileIdentity.same_content)

    def keep(self) -> None:
        if self._destination.output is not None:
            return
        path = self._file.path
        with suppress(OSError):  # it is a courtesy
            remove_stale(path)
        if self._destination.regenerate_crc and _checksum_file(path) and has_stale_crc(path):
            regenerate_crc(path)


def buffer_place(data: Any, destination: Destination) -> Place:  # noqa: ANN401  of pyarrow, too
    """Return the place of a buffer that is to be rewritten in memory.

    Args:
        data: Bytes, or a buffer of pyarrow's.
        destination: Names no output.

    Raises:
        InvalidArgument: If an output is named.
    """
    if destination.output is not None:
        raise InvalidArgument(
            "the new version of a buffer is a buffer, not a file",
            remedy="Take `data` from the report.",
        )
    return _BufferPlace(data)


class _BufferPlace(Place):
    """A buffer whose new version is another buffer."""

    path = None
    output = None

    def __init__(self, data: Any) -> None:  # noqa: ANN401  as above
        self.source = BufferSource(data)
        self._data = data

    def begin(self, old: Readable) -> Rewrite:
        return _BufferRewrite(old)

    def keep(self) -> bytes:
        return bytes(self._data)


class DownloadPlace(Place):
    """A file on a store whose new version is written to disk."""

    jobs = REMOTE_JOBS

    def __init__(
        self,
        source: Source,
        name: str,
        destination: Destination,
        progress: Callable[[int], None] | None,
    ) -> None:
        """Use an open file.

        Args:
            source: The old version.
            name: Its URL, as the caller gave it.
            destination: Where the new one goes.
            progress: Called after each write with the number of bytes.
        """
        self.source = source
        self._name = name
        self._destination = destination
        self._progress = progress

    @property
    def path(self) -> str:
        """URL of the file as the caller gave it."""
        return self._name

    @property
    def output(self) -> str:
        """Path of the new file."""
        return os.fspath(self._destination.output or "")

    def choose_target(self) -> None:
        """Choose the path of the new version on disk."""
        target_of(None, self._destination)

    def begin(self, old: Readable) -> Rewrite:
        """Open the new version."""
        return FileRewrite(
            old,
            self.source,
            target_of(None, self._destination),
            progress=self._progress,
            destination=self._destination,
        )


class FileRewrite(Rewrite):
    """The new version of a file, on disk."""

    def __init__(
        self,
        old: Readable,
        source: OpenedFile | Source,
        target: Target,
        *,
        progress: Callable[[int], None] | None,
        destination: Destination,
    ) -> None:
        """Open the new version.

        Args:
            old: The old version.
            source: The file or the object that has it.
            target: Where the new version goes.
            progress: Called after each write with the number of bytes.
            destination: Whether the Hadoop checksum file is renewed, and the old time kept.
        """
        self._resources = ExitStack()
        self._new: NewVersion = self._resources.enter_context(
            new_version(source, target, keeps_time=destination.keep_time, progress=progress)
        )
        super().__init__(old, self._new)
        self._target = target
        self._regenerates_crc = destination.regenerate_crc

    def discard(self) -> None:
        """Remove the temporary file, unless it was committed."""
        self._resources.close()

    def verify(self, plan: Plan, filters: Mapping[Chunk, ExpectedFilter]) -> None:
        """Sync the new version to disk, and read it back."""
        self._new.complete()
        with open_file(self._new.path) as file:
            self._check(FileSource(file.path, file.fd, file.identity.size), plan, filters)

    def commit(self) -> None:
        """Rename the new version to its target, and renew the Hadoop checksum file if asked for."""
        path = self._target.path
        crc = _checksum_file(path) if self._regenerates_crc else None
        if crc is None:
            self._new.commit()
            return
        with ExitStack() as stack:
            with open_file(self._new.path) as data:
                checksums = stack.enter_context(new_checksums(path, data))
            self._new.commit(contradicted=crc)
            _renew_checksums(checksums, name=self._target.name)


class _BufferRewrite(Rewrite):
    """The new version of a buffer, in memory."""

    def __init__(self, old: Readable) -> None:
        self._new = _NewBuffer(old.source)
        super().__init__(old, self._new)

    def verify(self, plan: Plan, filters: Mapping[Chunk, ExpectedFilter]) -> None:
        self._check(BufferSource(self._new.data), plan, filters)

    def commit(self) -> bytes:
        return bytes(self._new.data)


class _NewBuffer:
    """The new version of a buffer, in memory."""

    def __init__(self, old: Source) -> None:
        self._old = old
        self.data = bytearray()

    def copy(self, start: int, stop: int) -> None:
        self.data += self._old.read_at(start, stop)

    def write(self, data: bytes) -> None:
        self.data += data


def target_of(file: OpenedFile | None, options: Destination) -> Target:
    """Choose the target of the new version on disk.

    Args:
        file: The old version; None if it is not on disk.
        options: What the caller asked for.

    Raises:
        UnsafeTarget: If writing there would break or overwrite something.
    """
    target = choose_target(
        file,
        options.output,
        overwrite=options.overwrite,
        permit_hard_links=options.force,
        backup_suffix=options.backup_suffix,
        backup_dir=options.backup_dir,
    )
    if target.replaces is not None:
        check_surroundings(target.name, force=options.force, regenerates_crc=options.regenerate_crc)
    return target


def _checksum_file(path: str) -> str | None:
    """Return the path of a file's Hadoop checksum file, or None; remove leftovers of it."""
    crc = crc_path(path)
    remove_stale(os.fspath(crc))
    return os.fspath(crc) if crc.exists() else None


def _renew_checksums(checksums: NewChecksums, *, name: str) -> None:
    try:
        checksums.commit()
    except (BloomwriterError, OSError) as error:
        reason = error.problem if isinstance(error, BloomwriterError) else error.strerror
        raise Unfinished(
            f"the Hadoop checksum file could not be renewed: {reason}",
            path=name,
            remedy="Hadoop and Spark read the file all the same, without checking it.",
        ) from error
