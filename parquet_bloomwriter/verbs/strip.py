"""The verb `strip`: take Bloom filters out. `strip(bloomify(f))` is `f`, byte for byte.

That holds for an `f` without filters: nothing in a file says whose a filter is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter.column_names import select_columns
from parquet_bloomwriter.rewrite.plan import make_draft, make_plan
from parquet_bloomwriter.rewrite.report import StripReport
from parquet_bloomwriter.rewrite.session import rewrite_session
from parquet_bloomwriter.rewrite.versions import Destination, Input, StrPath

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from parquet_bloomwriter.metadata import Footer

_WRITERS_OF_FILTERS = ("DuckDB", "ClickHouse")
"""Beginnings of `created_by` of writers that add filters without being asked."""


def strip(  # noqa: PLR0913  the verb's options, all by keyword
    source: Input,
    columns: str | Sequence[str] | None = None,
    *,
    output: StrPath | None = None,
    overwrite: bool = False,
    force: bool = False,
    backup_suffix: str | None = None,
    backup_dir: StrPath | None = None,
    regenerate_crc: bool = False,
    keep_time: bool = False,
    dry_run: bool = False,
    progress: Callable[[int], None] | None = None,
) -> StripReport:
    """Take filters out of one file.

    All filters go, also those of the writer (DuckDB and Spark write some), unless `columns` names
    only those that you added: nothing in a file says whose a filter is.

    The footer fields go, and with them the bytes of every filter whose extent is certain and that
    nothing else lies in. Bytes that are not certain stay, and the report counts them.

    Args:
        source: A path, a URL (`s3://bucket/key`, `gs://...`, `sftp://...`), or the file's bytes.
        columns: Names as for `bloomify`; None takes every filter.
        output: Path or URL of the new file; None replaces the file in place, atomically. A buffer's
            new version is in the report.
        overwrite: Replace `output` if it exists.
        force: Go on although something outside refers to the file, or it has hard links.
        backup_suffix: Keep the old file under its name and this suffix. Refused if the folder holds
            other Parquet files: readers of the folder would read the backup, too.
        backup_dir: Keep the old file under its name in this folder, which is made if it is
            missing, and may be on another disk.
        regenerate_crc: Renew the Hadoop checksum file beside the file.
        keep_time: Give the new file the time of modification of the old one, in nanoseconds. Who
            looks at times alone then does not notice the change: streams of Spark, but also caches
            and backups. Only from disk to disk.
        dry_run: Write nothing.
        progress: Called after each write with the number of bytes.

    Raises:
        ColumnNotFound: If a name matches nothing, or is ambiguous.
        FileProblem: If the file cannot be worked on; it is then unchanged.
        OSError: If reading or writing fails; the file is then unchanged.
        Unfinished: If the new version is in place, but its folder could not be synced, or its
            checksum file not renewed.
    """
    destination = Destination(
        output=output,
        overwrite=overwrite,
        force=force,
        backup_suffix=backup_suffix,
        backup_dir=backup_dir,
        regenerate_crc=regenerate_crc,
        keep_time=keep_time,
    )
    with rewrite_session(source, destination, progress=progress) as session:
        layout = session.layout
        leaves = layout.footer.leaves
        chosen = set(leaves if columns is None else select_columns(leaves, columns))
        named = [f for f in layout.existing if leaves[f.column] in chosen]
        draft = make_draft(layout, (), "end", drops=named)
        drops = draft.drops
        plan = make_plan(layout, draft, {})
        changes = bool(drops) or output is not None
        facts = session.carry_out(plan, changes=changes, dry_run=dry_run)
        return StripReport(
            num_filters=len(drops),
            left_bytes=draft.left_bytes,
            columns=tuple(dict.fromkeys(leaves[f.column].name for f in drops)),
            notes=tuple(_notes(layout.footer)) if drops and columns is None else (),
            **facts,
        )


def _notes(footer: Footer) -> Iterator[str]:
    """Yield a note on the filters that go, if the file's writer may have made some."""
    created_by = footer.created_by.decode(errors="replace")
    for writer in _WRITERS_OF_FILTERS:
        if created_by.startswith(writer):
            yield (
                f"{writer} wrote the file, and writes filters by itself: some of these may be its "
                "own; name columns to take out only those that you added"
            )
