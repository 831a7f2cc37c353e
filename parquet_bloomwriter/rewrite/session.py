"""The session in which one file is rewritten: opened, read, written anew, verified, put in place.

A verb reads `source` and `layout`, makes a plan, and calls in this order:

    session.begin      open the new version, where nobody sees it yet
      rewrite.write    carry out the plan
      rewrite.verify   prove that the new version is what the plan says
      rewrite.commit   put it in its place

or `session.keep`, if nothing has to be written. What is not committed is thrown away at the end of
the session, and nothing has changed. Where versions lie is a `Place`: `files` has those of files on
disk and of buffers, whose safety `replace.commit` explains, `objects` those on stores.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING

from parquet_bloomwriter.arguments import remedy_for
from parquet_bloomwriter.errors import FileProblem, InvalidArgument
from parquet_bloomwriter.filters.stored import heads_at_once
from parquet_bloomwriter.rewrite.files import buffer_place, open_place
from parquet_bloomwriter.rewrite.layout import layout_of
from parquet_bloomwriter.rewrite.place import Destination
from parquet_bloomwriter.rewrite.write import Readable
from parquet_bloomwriter.source.filesystems import check_local, is_far
from parquet_bloomwriter.source.open import is_buffer, read_footer
from parquet_bloomwriter.source.read_ahead import read_blocks
from parquet_bloomwriter.values import is_near

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from parquet_bloomwriter.filters.stored import ReadAt
    from parquet_bloomwriter.metadata import Footer
    from parquet_bloomwriter.rewrite.layout import Layout
    from parquet_bloomwriter.rewrite.place import Input, Place, Rewrite
    from parquet_bloomwriter.rewrite.plan import Plan
    from parquet_bloomwriter.source import Source


@contextmanager
def rewrite_session(
    source: Input,
    destination: Destination | None = None,
    *,
    progress: Callable[[int], None] | None = None,
) -> Iterator[RewriteSession]:
    """Open a file, an object or a buffer for rewriting, and view its footer; errors get the path.

    Args:
        source: A path, a URL (`s3://...`), or the file's bytes.
        destination: Where the new version goes; by default in place.
        progress: Called with the number of bytes as they are written; not for buffers.

    Raises:
        FileProblem: If the file cannot be worked on.
        InvalidArgument: If an output is named for a buffer, or a URL is of another kind.
    """
    destination = destination or Destination()
    with _place(source, destination, progress) as place, ExitStack() as resources:
        try:
            footer = read_footer(place.source)
            layout = layout_of(
                footer,
                _reader(place.source, footer),
                read_ranges=None if is_near(place.source) else place.source.read_ranges,
            )
            yield RewriteSession(place, layout, resources)
        except FileProblem as error:
            error.path = error.path or place.path
            raise


def _reader(source: Source, footer: Footer) -> ReadAt:
    """Return the function that reads small pieces of the file; on a store, many at once."""
    if is_near(source):
        return source.read_at
    return heads_at_once(source, footer, read_blocks(source))


def _place(
    source: Input, destination: Destination, progress: Callable[[int], None] | None
) -> AbstractContextManager[Place]:
    if destination.keep_time and _is_not_on_disk(source, destination):
        raise InvalidArgument(
            "a time of modification can only be kept where the old and the new file are on disk",
            remedy="Leave keep_time out: stores set the times of their objects, and buffers have "
            "none.",
        )
    if is_buffer(source):
        return nullcontext(buffer_place(source, destination))
    if not isinstance(source, str | os.PathLike):
        raise InvalidArgument(
            f"a file is named by its path, or given as bytes, not as {type(source).__name__}",
            remedy=remedy_for(source) or "Pass a path, or bytes.",
        )
    output = destination.output
    far = [path for path in (source, output) if path is not None and is_far(path)]
    if far:
        from parquet_bloomwriter.rewrite.objects import open_objects
        from parquet_bloomwriter.rewrite.whole_files import open_whole
        from parquet_bloomwriter.stores.s3.urls import is_s3

        goes_to_s3 = is_s3(os.fspath(source if output is None else output))
        all_on_s3 = all(is_s3(os.fspath(path)) for path in far)
        opener = open_objects if goes_to_s3 or all_on_s3 else open_whole
        return opener(source, destination, progress)
    for path in (source, output, destination.backup_dir):
        if path is not None:
            check_local(path)
    return open_place(source, destination, progress)


def _is_not_on_disk(source: Input, destination: Destination) -> bool:
    paths = (source, destination.output)
    return is_buffer(source) or any(
        isinstance(path, str | os.PathLike) and is_far(path) for path in paths
    )


class RewriteSession:
    """One file, object or buffer that is open for rewriting."""

    def __init__(self, place: Place, layout: Layout, resources: ExitStack) -> None:
        """Take over the open place, its layout, and the resources to close.

        Args:
            place: Where the versions are.
            layout: What lies where in the old one.
            resources: What throws the new version away at the end.
        """
        self.place = place
        self.layout = layout
        self._resources = resources

    @property
    def source(self) -> Source:
        """Source of the bytes of the old version."""
        return self.place.source

    def begin(self) -> Rewrite:
        """Open the new version.

        Raises:
            As `Place.begin`.
        """
        new = self.place.begin(Readable(self.source, self.layout.footer))
        return self._resources.enter_context(new)

    def rewrite(self, plan: Plan) -> bytes | None:
        """Write a new version without new filters, read it back, and commit it.

        Returns, raises:
            As `begin` and the methods of `Rewrite`.
        """
        new = self.begin()
        new.write(plan)
        new.verify(plan, {})
        return new.commit()

    def keep(self) -> bytes | None:
        """Leave the file unchanged, and remove what a killed run left beside it.

        If asked for, renew the checksums that such a run left stale.

        Returns:
            The bytes of a buffer; None for a file.
        """
        self._resources.close()  # throws away a new version that was begun
        return self.place.keep()
