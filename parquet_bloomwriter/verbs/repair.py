"""The verb `repair`: fill in lengths of Bloom filters that their writer left out.

parquet-mr wrote no `bloom_filter_length` before 1.14, and readers from 1.14.0 to 1.15.2 lose rows
on remote stores without it. Only the footer changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parquet_bloomwriter.rewrite.plan import Draft, make_plan
from parquet_bloomwriter.rewrite.report import RepairReport
from parquet_bloomwriter.rewrite.session import rewrite_session
from parquet_bloomwriter.rewrite.versions import Destination, Input, StrPath

if TYPE_CHECKING:
    from collections.abc import Callable


def repair(  # noqa: PLR0913  the verb's options, all by keyword
    source: Input,
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
) -> RepairReport:
    """Set `bloom_filter_length` where it is missing and the filter itself is sound.

    Args:
        source: A path, a URL (`s3://bucket/key`, `gs://...`, `sftp://...`), or the file's bytes.
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
        repairs = tuple(f for f in layout.existing if f.problem is None and f.footer_length is None)
        unrepaired = tuple(
            f"row group {f.row_group}, column {layout.footer.leaves[f.column].name}: {f.problem}"
            for f in layout.existing
            if f.problem is not None
        )
        draft = Draft(
            placement="end", fallback=None, insertions=(), drops=(), skips=(), repairs=repairs
        )
        plan = make_plan(layout, draft, {})
        changes = bool(repairs) or output is not None
        facts = session.carry_out(plan, changes=changes, dry_run=dry_run)
        return RepairReport(
            num_repaired=len(repairs),
            unrepaired=unrepaired,
            **facts,
        )
