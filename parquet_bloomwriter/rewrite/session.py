"""The session in which one file is rewritten: opened, read, written anew, verified, put in place.

A verb reads `source` and `layout`, makes a plan, and calls `carry_out`; or, if it writes while it
still builds filters, `begin` and the methods of the new version; or `keep`, if nothing has to be
written. What is not committed is thrown away at the end of the session, and nothing has changed.
`versions` has the old and the new version of a file on disk and of a buffer, `objects` and
`whole_files` have those on stores.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from parquet_bloomwriter.arguments import remedy_for
from parquet_bloomwriter.errors import FileProblem, InvalidArgument
from parquet_bloomwriter.filters.stored import heads_at_once
from parquet_bloomwriter.rewrite.old_layout import layout_of
from parquet_bloomwriter.rewrite.report import RewriteFacts
from parquet_bloomwriter.rewrite.versions import (
    Destination,
    NewBuffer,
    NewOnDisk,
    RewrittenFile,
    open_on_disk,
)
from parquet_bloomwriter.source.filesystems import check_local, is_far
from parquet_bloomwriter.source.identity import FileIdentity
from parquet_bloomwriter.source.open import is_buffer, read_footer
from parquet_bloomwriter.source.read_ahead import read_blocks
from parquet_bloomwriter.values import is_near

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from parquet_bloomwriter.metadata import Footer
    from parquet_bloomwriter.rewrite.old_layout import Layout
    from parquet_bloomwriter.rewrite.plan import Plan
    from parquet_bloomwriter.rewrite.versions import Input
    from parquet_bloomwriter.source import Source


@contextmanager
def rewrite_session(
    source: Input,
    destination: Destination | None = None,
    *,
    progress: Callable[[int], None] | None = None,
) -> Iterator[RewriteSession]:
    """Open a file, an object or a buffer for rewriting, and view its footer; errors get the path.

    `RewriteSession.layout` is found out when it is first needed: a file that needs nothing is not
    asked for it.

    Args:
        source: A path, a URL (`s3://...`), or the file's bytes.
        destination: Where the new version goes; by default in place.
        progress: Called with the number of bytes as they are written; not for buffers.

    Raises:
        FileProblem: If the file cannot be worked on.
        InvalidArgument: If an output is named for a buffer, or a URL is of another kind.
    """
    destination = destination or Destination()
    with _versions(source, destination, progress) as new, ExitStack() as resources:
        try:
            old = new.old.source
            yield RewriteSession(new, read_footer(old, check_head=is_near(old)), resources)
        except FileProblem as error:
            error.path = error.path or new.old.path
            raise


@contextmanager
def _versions(
    source: Input, destination: Destination, progress: Callable[[int], None] | None
) -> Iterator[RewrittenFile]:
    """Open the old version, and prepare the new one.

    Raises:
        As `rewrite_session`.
    """
    if is_buffer(source):
        _refuse_keep_time(destination)
        yield NewBuffer(source, destination)
        return
    if not isinstance(source, str | os.PathLike):
        raise InvalidArgument(
            f"a file is named by its path, or given as bytes, not as {type(source).__name__}",
            remedy=remedy_for(source) or "Pass a path, or bytes.",
        )
    name = os.fspath(source)
    target = name if destination.output is None else os.fspath(destination.output)
    for path in {name, target}:
        if not is_far(path):
            check_local(path)
    if destination.backup_dir is not None and not is_far(target):
        check_local(destination.backup_dir)
    if is_far(name) or is_far(target):
        _refuse_keep_time(destination)
        from parquet_bloomwriter.rewrite.objects import open_far_versions

        with open_far_versions(name, target, destination, progress) as new:
            yield new
        return
    with open_on_disk(name) as old:
        yield NewOnDisk(old, destination, progress)


def _refuse_keep_time(destination: Destination) -> None:
    if destination.keep_time:
        raise InvalidArgument(
            "a time of modification can only be kept where the old and the new file are on disk",
            remedy="Leave keep_time out: stores set the times of their objects, and buffers have "
            "none.",
        )


class RewriteSession:
    """One file, object or buffer that is open for rewriting."""

    def __init__(self, new: RewrittenFile, footer: Footer, resources: ExitStack) -> None:
        """Take over the versions, the footer, and the resources to close.

        Args:
            new: The new version; it has the old one.
            footer: The footer of the old one.
            resources: What throws the new version away at the end.
        """
        self.new = new
        self.footer = footer
        self._resources = resources

    @cached_property
    def layout(self) -> Layout:
        """Layout of the old version, found out when it is first needed.

        Raises:
            As `layout_of`.
        """
        old = self.new.old
        if is_near(old.source):
            return layout_of(self.footer, old.source.read_at)
        old.hold_if_small()
        read_footer(old.source)  # which also checks the first bytes, by a request of its own
        return layout_of(
            self.footer,
            heads_at_once(old.source, self.footer, read_blocks(old.source)),
            read_ranges=old.source.read_ranges,
        )

    @property
    def source(self) -> Source:
        """Source of the bytes of the old version."""
        return self.new.old.source

    def begin(self) -> RewrittenFile:
        """Open the new version, and return it.

        Raises:
            As `RewrittenFile.begin`.
        """
        self._resources.callback(self.new.discard)
        self.new.begin(self.footer)
        return self.new

    def carry_out(self, plan: Plan, *, changes: bool, dry_run: bool) -> RewriteFacts:
        """Write a new version without new filters, read it back, and commit it.

        Args:
            plan: The new version.
            changes: Whether there is anything to write; otherwise the file is left as it is.
            dry_run: Whether nothing is written, and only the target is checked.

        Returns:
            What reports say of any rewrite.

        Raises:
            As `begin` and the methods of `RewrittenFile`.
        """
        data = None
        if changes and dry_run:
            self.new.check_target()
        elif changes:
            new = self.begin()
            new.write(plan)
            new.verify(plan, {})
            data = new.commit()
        elif not dry_run:
            data = self.keep()
        written = changes and not dry_run
        return self.facts(plan, changes=changes, written=written, dry_run=dry_run, data=data)

    def facts(
        self,
        plan: Plan | None,
        *,
        changes: bool,
        written: bool,
        dry_run: bool,
        data: bytes | None,
    ) -> RewriteFacts:
        """Return what the report of any rewrite says.

        Args:
            plan: The new version; None if there is none.
            changes: Whether the plan changes anything.
            written: Whether the new version was written.
            dry_run: Whether this was a dry run.
            data: The bytes of a buffer, or None.
        """
        size = self.source.size
        return RewriteFacts(
            path=self.new.old.path,
            output=self.new.output if written else None,
            written=written,
            dry_run=dry_run,
            size_before=size,
            size_after=plan.size if plan else size,
            pieces=plan.pieces if plan else (),
            store=self.new.store_report(plan if changes else None),
            data=data,
        )

    def keep(self) -> bytes | None:
        """Leave the file unchanged, and remove what a killed run left beside it.

        If asked for, renew the checksums that such a run left stale.

        Returns:
            The bytes of a buffer; None for a file.
        """
        self._resources.close()  # throws away a new version that was begun
        return self.new.keep()

    def check_source_unchanged(self) -> None:
        """Check that the file has the same content as when it was opened.

        Raises:
            FileChanged: If it has not.
        """
        self.new.old.check_unchanged(FileIdentity.same_content)
