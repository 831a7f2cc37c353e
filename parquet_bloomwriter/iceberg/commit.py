"""A snapshot of operation `replace` that puts new files in the place of equal old ones.

    the branch's head was S     manifests are written for a snapshot on S, and the catalog swaps it
    the catalog says no         another snapshot came first: the table is loaded anew, replacements
                                that no longer hold are dropped, and the commit is tried on the rest
    no answer, or an odd one    the table is loaded anew, and its snapshots are searched for our id

Each snapshot of ours has a random id of the attempt in its summary. One id serves all tries of a
commit, and each try asks the catalog to swap the very snapshot that was looked at. So at most one
try can succeed: if an answer was lost, trying again is safe, and what is found with our id is ours.
If nothing answers in the end, it is unknown whether the commit was made; nothing is deleted then.

Deletes and sequence numbers: a data file has a data sequence number, by which deletes apply to it,
and a file sequence number, which says when it was added. A new file gets the data sequence number
of the old one, so that equality deletes go on to apply, and inherits the file sequence number of
the new snapshot. Position deletes name files by location: a file that they name is never replaced
(`DataFileEntry.why_kept`). Partition, spec, metrics, bounds and sort order are carried over.

Manifests without replaced files are kept as they are. The others are written anew: files that stay
are EXISTING with their snapshot ids and sequence numbers, the replaced are DELETED by our
snapshot. The new files stand in a manifest for each partition spec.

A changed schema or partition spec does not matter: the new files hold the same rows and field ids.
If the table got a format version that gives rows ids, the commit is refused.

Source: Iceberg specification, "Snapshots", "Manifests", "Sequence Number Inheritance", "Optimistic
Concurrency"; Iceberg's `BaseRewriteFiles` and `MergingSnapshotProducer`.
"""

from __future__ import annotations

import logging
import random
import time
import uuid
from collections import defaultdict
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.errors import (
    BloomwriterError,
    OutcomeUnknown,
    TableChanged,
    TableProblem,
    Unfinished,
    UnsupportedTable,
)
from parquet_bloomwriter.iceberg.catalog import metadata_errors, one_line
from parquet_bloomwriter.iceberg.snapshot import MAIN, check_replaceable, read_again, reload

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyiceberg.manifest import DataFile, ManifestEntry, ManifestFile, ManifestWriter
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot, Summary
    from pyiceberg.table.update import TableRequirement, TableUpdate

    from parquet_bloomwriter.iceberg.snapshot import DataFileEntry, IcebergSnapshot

ATTEMPT = "bloomify.attempt"
"""Key of a snapshot's summary: random id of the commit."""

COMMITTED = "committed"
"""Attribute of an interruption that came after the commit: what the commit came to."""

_TRIES = 100
"""Snapshots that are tried before it is said that others are always quicker."""

_UNCLEAR_TRIES = 4
"""Answers of one commit that may be lost or unclear."""

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 2.0
_READ_BACK_AFTER_S = (0.0, 0.5, 2.0, 5.0)
"""Seconds before each try to load the table after an unclear answer."""

_PATH, _SIZE, _SPLIT_OFFSETS = 1, 5, 13
"""Positions of fields in pyiceberg's `DataFile`."""

_COMPRESSION = "write.avro.compression-codec"
_CODECS = {"gzip": "gzip", "zstd": "zstd", "uncompressed": "null"}
"""Values of the property that pyiceberg can write anywhere, and its names for them."""

_PARTITION_LIMIT = "write.summary.partition-limit"


@dataclass(frozen=True, kw_only=True)
class Replacement:
    """A file of the table, and the one that takes its place."""

    old: DataFileEntry
    path: str
    """Location of the new file, as manifests will have it."""

    size: int
    """Bytes of the new file."""

    split_offsets: tuple[int, ...] | None
    """Where row groups of the new file begin, bytes, ascending; None to leave them out."""


@dataclass(frozen=True, kw_only=True)
class Committed:
    """What a commit came to."""

    snapshot: IcebergSnapshot
    """The branch as it is afterwards."""

    snapshot_id: int | None
    """Of the snapshot that was made; None if none was."""

    dropped: tuple[tuple[Replacement, str], ...] = ()
    """Replacements that no longer hold, and why; their new files are in no snapshot of ours."""


def replace_files(
    snapshot: IcebergSnapshot,
    replacements: Sequence[Replacement],
    *,
    parameters: Mapping[str, str],
    attempt: str | None = None,
) -> Committed:
    """Put new files in the place of old ones, by one snapshot of the branch.

    Args:
        snapshot: The branch, as the replacements were made for.
        replacements: Of different files.
        parameters: What the snapshot's summary says of the work, by key.
        attempt: Random id of the commit; by default a new one.

    Raises:
        UnsupportedTable: If the table has a format version by now that must not be touched.
        TableChanged: If another table has its name by now, or the branch is gone.
        TableProblem: If the catalog refuses or does not answer, or others commit all the time;
            nothing was committed.
        OutcomeUnknown: If it cannot be found out whether the commit was made.
        Unfinished: If it was made, and the table cannot be read afterwards.
        KeyboardInterrupt, SystemExit: At any time. If the commit was made all the same, the
            exception has the attribute `COMMITTED`, a `Committed`.
    """
    return _Commit(snapshot, replacements, parameters, attempt or str(uuid.uuid4())).run()


def set_properties(snapshot: IcebergSnapshot, properties: Mapping[str, str]) -> IcebergSnapshot:
    """Set properties of the table; all others stay as they are. No snapshot is made.

    Returns:
        The branch, with the properties.

    Raises:
        TableChanged: If another table has the name by now.
        TableProblem: If the catalog refuses or does not answer.
    """
    from pyiceberg.exceptions import CommitFailedException
    from pyiceberg.table.update import AssertTableUUID, SetPropertiesUpdate

    name = snapshot.name
    for pause in _pauses():
        time.sleep(pause)
        table = reload(snapshot)
        if not properties.items() <= table.metadata.properties.items():
            with metadata_errors(name):
                try:
                    table._do_commit(  # noqa: SLF001  as pyiceberg's own transactions
                        (SetPropertiesUpdate(updates=dict(properties)),),
                        (AssertTableUUID(uuid=table.metadata.table_uuid),),
                    )
                except CommitFailedException:
                    continue
        return read_again(snapshot, table)
    raise _always_late(name)


class _Commit:
    """One commit, tried on one head of the branch after the other."""

    def __init__(
        self,
        snapshot: IcebergSnapshot,
        replacements: Sequence[Replacement],
        parameters: Mapping[str, str],
        attempt: str,
    ) -> None:
        self._base = snapshot
        self._current = snapshot
        self._branch = snapshot.branch or MAIN
        self._replacements = replacements
        self._parameters = parameters
        self._attempt = attempt
        self._num_unclear = 0
        self._unclear_parents: set[int] = set()
        self._was_asked = False
        """Whether the catalog was asked to make the commit."""

        self._is_unread = False
        """Whether it was asked, and the table not seen since."""

    def run(self) -> Committed:
        """See `replace_files`."""
        try:
            return self._run()
        except (KeyboardInterrupt, SystemExit) as error:
            if self._was_asked:
                with suppress(BloomwriterError):
                    table = reload(self._base)
                    found = self._found_in(table)
                    if found is not None:
                        error.__dict__[COMMITTED] = self._settled(table, found)
            raise

    def _run(self) -> Committed:
        for pause in _pauses():
            time.sleep(pause)
            try:
                table = self._reload()
                found = self._found_in(table)
                if found is not None:
                    return self._settled(table, found)
                self._forget_hopeless(table)
                draft = self._draft(table)
            except UnsupportedTable:
                raise  # the table was read: no earlier try was made, and none can be by now
            except TableProblem as error:
                # A table that is not found may have another name by now, and our snapshot.
                if self._unclear_parents or self._is_unread:
                    raise self._unknown() from error
                raise
            if isinstance(draft, Committed):
                return draft
            committed = self._try(table, draft)
            if committed is not None:
                return committed
        if self._unclear_parents:
            raise self._unknown()
        raise _always_late(self._base.name)

    def _reload(self) -> Table:
        """Load the table; after an unclear answer, wait for the catalog a little."""
        problem: TableProblem | None = None
        for pause in _READ_BACK_AFTER_S if self._unclear_parents else (0.0,):
            time.sleep(pause)
            try:
                return reload(self._base)
            except TableChanged:
                raise
            except TableProblem as error:
                problem = error
        raise problem or TableProblem("the catalog does not answer", path=self._base.name)

    def _found_in(self, table: Table) -> Snapshot | None:
        """Return the snapshot that this commit made, if one of its tries did."""
        for one in reversed(table.metadata.snapshots):
            if one.summary is not None and one.summary.get(ATTEMPT) == self._attempt:
                return one
        return None

    def _forget_hopeless(self, table: Table) -> None:
        """Forget unclear tries on a snapshot that is no longer the head: none can succeed."""
        self._is_unread = False
        head = table.metadata.snapshot_by_name(self._branch)
        self._unclear_parents &= set() if head is None else {head.snapshot_id}

    def _draft(self, table: Table) -> _Draft | Committed:
        """Return the commit of what holds on the branch's head; what it came to if nothing does."""
        current = self._current = read_again(self._current, table)
        check_replaceable(current)
        if self._was_asked and any(one.path in current.files for one in self._replacements):
            raise self._made("its snapshot has expired already")
        kept: dict[str, Replacement] = {}
        dropped: list[tuple[Replacement, str]] = []
        for one in self._replacements:
            why = _why_not(one, current)
            if why is None:
                kept[one.old.path] = one
            else:
                dropped.append((one, why))
        if not kept or current.snapshot is None:
            return Committed(snapshot=current, snapshot_id=None, dropped=tuple(dropped))
        return _Draft(current, kept, dropped, self._summary_of())

    def _summary_of(self) -> dict[str, str]:
        from importlib.metadata import PackageNotFoundError, version

        program = {"engine-name": "bloomify"}
        with suppress(PackageNotFoundError):
            program["engine-version"] = version("parquet-bloomwriter")
        return {**self._parameters, **program, ATTEMPT: self._attempt}

    def _try(self, table: Table, draft: _Draft) -> Committed | None:
        """Write metadata and ask the catalog; None if another try is due."""
        from pyiceberg.exceptions import CommitFailedException

        name = self._base.name
        try:
            with metadata_errors(name):
                updates, requirements = draft.write(self._branch)
        except BaseException:
            draft.remove()  # the catalog was not asked
            raise
        self._was_asked = self._is_unread = True
        try:
            table._do_commit(updates, requirements)  # noqa: SLF001  as pyiceberg's transactions
        except CommitFailedException:
            # Refused, unless a layer in between asked twice: the next round looks for our id first.
            self._is_overtaken(draft)
            return None
        except Exception as error:  # noqa: BLE001
            # pyiceberg raises what its catalogs' libraries raise.
            if _is_refusal(error) or type(error) is ValueError:
                # A number of sequence that a commit to another branch took is a request that makes
                # no sense to some catalogs, and to pyiceberg.
                if self._is_overtaken(draft):
                    return None
                if _is_refusal(error):
                    return self._after_refusal(error)
            self._num_unclear += 1
            self._unclear_parents.add(draft.parent_id)
            if self._num_unclear < _UNCLEAR_TRIES:
                return None
            return self._last_look(error)
        try:
            after = read_again(self._current, table)
        except BloomwriterError as error:
            raise self._made("the table cannot be read afterwards") from error
        return Committed(
            snapshot=after, snapshot_id=draft.snapshot_id, dropped=tuple(draft.dropped)
        )

    def _is_overtaken(self, draft: _Draft) -> bool:
        """Whether another commit came first, so that a refused try can no longer be made.

        What the try wrote is removed then. Else it stays: it may be in a snapshot.
        """
        from pyiceberg.table.metadata import TableMetadataV1

        with suppress(BloomwriterError):
            table = reload(self._base)
            metadata = table.metadata
            head = metadata.snapshot_by_name(self._branch)
            has_moved = head is None or head.snapshot_id != draft.parent_id
            if not isinstance(metadata, TableMetadataV1):
                has_moved = has_moved or metadata.last_sequence_number >= draft.sequence_number
            if has_moved and self._found_in(table) is None:
                draft.remove()
                return True
        return False

    def _after_refusal(self, error: Exception) -> Committed:
        """Raise a refusal of the catalog; but first see that no earlier try was made after all."""
        try:
            table = self._reload()
        except TableProblem:
            if self._unclear_parents:
                raise self._unknown() from error
        else:
            found = self._found_in(table)
            if found is not None:
                return self._settled(table, found)
            self._forget_hopeless(table)
        if self._unclear_parents:
            raise self._unknown() from error
        raise TableProblem(
            f"the catalog refuses the commit: {one_line(error)}", path=self._base.name
        ) from error

    def _last_look(self, error: Exception) -> Committed:
        try:
            table = self._reload()
            found = self._found_in(table)
        except TableProblem:
            raise self._unknown() from error
        if found is None:
            raise self._unknown() from error
        return self._settled(table, found)

    def _settled(self, table: Table, found: Snapshot) -> Committed:
        """Return what a commit came to whose snapshot was found in the table."""
        try:
            with metadata_errors(self._base.name):
                added = {
                    entry.data_file.file_path
                    for manifest in found.manifests(table.io)
                    if manifest.added_snapshot_id == found.snapshot_id
                    for entry in manifest.fetch_manifest_entry(table.io)
                    if entry.snapshot_id == found.snapshot_id
                }
            after = read_again(self._current, table)
        except BloomwriterError as error:
            raise self._made("the table cannot be read afterwards") from error
        why = "it did not hold when the commit was made"
        return Committed(
            snapshot=after,
            snapshot_id=found.snapshot_id,
            dropped=tuple((one, why) for one in self._replacements if one.path not in added),
        )

    def _made(self, but: str) -> Unfinished:
        """Return the error for a commit that was made, of which no more can be found out."""
        return Unfinished(
            f"the commit {self._attempt} was made, but {but}",
            path=self._base.name,
            remedy="Run the command again: it goes on where this run ended.",
        )

    def _unknown(self) -> OutcomeUnknown:
        return OutcomeUnknown(
            f"the catalog did not say whether it made the commit {self._attempt}",
            path=self._base.name,
            remedy=f'If a snapshot of the table has {ATTEMPT} = "{self._attempt}" in its summary, '
            "it was made. Run the command again when the catalog answers.",
        )


@dataclass
class _Draft:
    """A commit on one snapshot: what it replaces, and what is written for it."""

    current: IcebergSnapshot
    kept: dict[str, Replacement]
    """By the path of the old file."""

    dropped: list[tuple[Replacement, str]]
    extra: Mapping[str, str]
    """What the summary says beside numbers."""

    snapshot_id: int = field(init=False)
    parent_id: int = field(init=False)
    sequence_number: int = field(init=False)
    _id: str = field(init=False, default_factory=lambda: str(uuid.uuid4()))
    _written: list[str] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        parent = self.current.snapshot
        if parent is None:
            raise ValueError("a table without snapshots has no files to replace")
        self.snapshot_id = self.current.table.metadata.new_snapshot_id()
        self.parent_id = parent.snapshot_id
        self.sequence_number = self.current.table.metadata.next_sequence_number()

    def write(self, branch: str) -> tuple[tuple[TableUpdate, ...], tuple[TableRequirement, ...]]:
        """Write manifests and the manifest list; return what to ask of the catalog."""
        from pyiceberg.manifest import write_manifest_list
        from pyiceberg.table.refs import SnapshotRefType
        from pyiceberg.table.snapshots import Snapshot
        from pyiceberg.table.update import (
            AddSnapshotUpdate,
            AssertRefSnapshotId,
            AssertTableUUID,
            SetSnapshotRefUpdate,
        )

        metadata = self.current.table.metadata
        manifests, num_created, num_replaced = self._manifests()
        location = self._new_location(f"snap-{self.snapshot_id}-0-{self._id}.avro")
        with write_manifest_list(
            format_version=metadata.format_version,
            output_file=self.current.table.io.new_output(location),
            snapshot_id=self.snapshot_id,
            parent_snapshot_id=self.parent_id,
            sequence_number=self.sequence_number,
            avro_compression=self._compression,
        ) as writer:
            writer.add_manifests(manifests)
        made: dict[str, Any] = {
            "snapshot_id": self.snapshot_id,
            "parent_snapshot_id": self.parent_id,
            "manifest_list": location,
            "sequence_number": self.sequence_number,
            "timestamp_ms": self._now_ms(),
            "summary": self._summary(
                {
                    "manifests-created": str(num_created),
                    "manifests-replaced": str(num_replaced),
                    "manifests-kept": str(len(manifests) - num_created),
                }
            ),
            "schema_id": metadata.current_schema_id,
        }
        move: dict[str, Any] = {
            "ref_name": branch,
            "type": SnapshotRefType.BRANCH,
            "snapshot_id": self.snapshot_id,
        }
        ref = metadata.refs.get(branch)
        if ref is not None:
            # A branch keeps its own settings of retention only if they are given again.
            move |= {
                "max_ref_age_ms": ref.max_ref_age_ms,
                "max_snapshot_age_ms": ref.max_snapshot_age_ms,
                "min_snapshots_to_keep": ref.min_snapshots_to_keep,
            }
        expected: dict[str, Any] = {
            "ref": branch,
            "snapshot_id": None if ref is None else self.parent_id,
        }
        return (
            (AddSnapshotUpdate(snapshot=Snapshot(**made)), SetSnapshotRefUpdate(**move)),
            (
                AssertTableUUID(uuid=metadata.table_uuid),
                AssertRefSnapshotId(**expected),
            ),
        )

    def remove(self) -> None:
        """Remove what was written, of a commit that was not made."""
        for location in self._written:
            try:
                self.current.table.io.delete(location)
            except Exception:  # noqa: BLE001  what is left over does no harm
                _log.debug("%s is left over", location, exc_info=True)
        self._written.clear()

    def _manifests(self) -> tuple[list[ManifestFile], int, int]:
        """Write manifests; return those of the new snapshot, and how many are new and replaced."""
        added: dict[int, list[tuple[ManifestEntry, Replacement]]] = defaultdict(list)
        made: list[ManifestFile] = []
        untouched: list[ManifestFile] = []
        for manifest in self.current.manifests:
            entries = self.current.entries.get(manifest.manifest_path, ())
            touched = [one for one in entries if one.data_file.file_path in self.kept]
            if not touched:
                # As Iceberg does: a manifest that only says what was deleted is not carried on.
                if manifest.has_added_files() or manifest.has_existing_files():
                    untouched.append(manifest)
                continue
            for entry in touched:
                replacement = self.kept[entry.data_file.file_path]
                added[manifest.partition_spec_id].append((entry, replacement))
            made.append(self._without_replaced(manifest.partition_spec_id, entries))
        num_replaced = len(made)
        new = [self._of_new_files(spec_id, pairs) for spec_id, pairs in added.items()]
        return [*new, *made, *untouched], len(new) + num_replaced, num_replaced

    def _without_replaced(self, spec_id: int, entries: Sequence[ManifestEntry]) -> ManifestFile:
        with self._writer(spec_id) as writer:
            for entry in entries:
                if entry.data_file.file_path in self.kept:
                    writer.delete(entry)
                else:
                    writer.existing(entry)
        return writer.to_manifest_file()

    def _of_new_files(
        self, spec_id: int, pairs: Sequence[tuple[ManifestEntry, Replacement]]
    ) -> ManifestFile:
        from pyiceberg.manifest import ManifestEntry, ManifestEntryStatus

        with self._writer(spec_id) as writer:
            for entry, replacement in pairs:
                writer.add(
                    ManifestEntry.from_args(
                        status=ManifestEntryStatus.ADDED,
                        snapshot_id=self.snapshot_id,
                        sequence_number=entry.sequence_number,
                        data_file=_new_data_file(entry.data_file, replacement),
                    )
                )
        return writer.to_manifest_file()

    @contextmanager
    def _writer(self, spec_id: int) -> Iterator[ManifestWriter]:
        from pyiceberg.manifest import write_manifest

        metadata = self.current.table.metadata
        spec = metadata.specs()[spec_id]
        location = self._new_location(f"{self._id}-m{len(self._written)}.avro")
        with write_manifest(
            format_version=metadata.format_version,
            spec=spec,
            schema=_schema_for(self.current.table, spec),
            output_file=self.current.table.io.new_output(location),
            snapshot_id=self.snapshot_id,
            avro_compression=self._compression,
        ) as writer:
            yield writer

    def _new_location(self, name: str) -> str:
        location = self.current.table.location_provider().new_metadata_location(name)
        self._written.append(location)
        return location

    @property
    def _compression(self) -> Any:  # noqa: ANN401  one of pyiceberg's literals
        """Return the codec that the table asks for; gzip where it cannot be written here."""
        asked = self.current.properties.get(_COMPRESSION, "gzip")
        return _CODECS.get(asked.strip().lower(), "gzip")

    def _now_ms(self) -> int:
        """Return the time of the snapshot, which is later than that of all others."""
        metadata = self.current.table.metadata
        latest = max(one.timestamp_ms for one in metadata.snapshots)
        return max(time.time_ns() // 1_000_000, metadata.last_updated_ms, latest + 1)

    def _summary(self, numbers: Mapping[str, str]) -> Summary:
        """Return what the snapshot says of itself, with the totals of the branch."""
        from pyiceberg.table.snapshots import (
            Operation,
            SnapshotSummaryCollector,
            Summary,
            update_snapshot_summaries,
        )

        metadata = self.current.table.metadata
        schema, specs = metadata.schema(), metadata.specs()
        limit = int(metadata.properties.get(_PARTITION_LIMIT, "0"))
        collector = SnapshotSummaryCollector(partition_summary_limit=limit)
        for replacement in self.kept.values():
            old = replacement.old.data_file
            new = _new_data_file(old, replacement)
            spec = specs[old.spec_id]
            collector.remove_file(data_file=old, partition_spec=spec, schema=schema)
            collector.add_file(data_file=new, partition_spec=spec, schema=schema)
        fields = {**self.extra, **numbers, **collector.build()}
        previous = None if self.current.snapshot is None else self.current.snapshot.summary
        if previous is None:
            # Without the totals of the last snapshot, there are none.
            return Summary(operation=Operation.REPLACE, **fields)
        # pyiceberg adds totals up for the operations that it makes itself.
        summary = update_snapshot_summaries(
            Summary(operation=Operation.OVERWRITE, **fields),
            {**previous.additional_properties, "operation": str(previous.operation)},
        )
        return Summary(operation=Operation.REPLACE, **summary.additional_properties)


_log = logging.getLogger(__name__)


def _new_data_file(old: DataFile, replacement: Replacement) -> DataFile:
    """Return the entry of a new file: that of the old one, but for what differs."""
    new = type(old)(*(old[position] for position in range(len(old))))
    new[_PATH] = replacement.path
    new[_SIZE] = replacement.size
    offsets = replacement.split_offsets
    new[_SPLIT_OFFSETS] = None if offsets is None else list(offsets)
    new.spec_id = old.spec_id
    return new


def _why_not(one: Replacement, current: IcebergSnapshot) -> str | None:
    """Return why a replacement does not hold on the branch's head, or None."""
    now = current.files.get(one.old.path)
    if now is None:
        return "another program removed it"
    old = one.old
    if (now.size, now.num_rows, now.data_sequence_number, now.spec_id, now.partition) != (
        old.size,
        old.num_rows,
        old.data_sequence_number,
        old.spec_id,
        old.partition,
    ):
        return "another program changed its entry"
    if one.path in current.files:
        return "the new file is in the table already"
    return now.why_kept


def _schema_for(table: Table, spec: PartitionSpec) -> Schema:
    """Return a schema that has all source columns of a spec: they may be dropped by now."""
    sources = {one.source_id for one in spec.fields}
    newest = sorted(table.schemas().values(), key=lambda one: one.schema_id, reverse=True)
    for schema in (table.schema(), *newest):
        if sources <= set(schema.field_ids) | {one.field_id for one in schema.fields}:
            return schema
    return table.schema()


def _is_refusal(error: Exception) -> bool:
    """Whether a catalog said that it makes no such commit, for another reason than a conflict."""
    from pyiceberg.exceptions import (
        AuthorizationExpiredError,
        BadRequestError,
        ForbiddenError,
        NoSuchTableError,
        OAuthError,
        TooManyRequestsError,
        UnauthorizedError,
    )

    return isinstance(
        error,
        (
            AuthorizationExpiredError,
            BadRequestError,
            ForbiddenError,
            NoSuchTableError,
            NotImplementedError,  # of catalogs that pyiceberg only reads
            OAuthError,
            TooManyRequestsError,
            UnauthorizedError,
        ),
    )


def _always_late(name: str) -> TableProblem:
    return TableProblem(
        f"other programs have committed {_TRIES} times while this one tried to commit",
        path=name,
        remedy="Run the command again when there is less going on.",
    )


def _pauses() -> Iterator[float]:
    """Yield seconds to wait before each try: none at first, then longer and longer, by chance."""
    yield 0.0
    for number in range(_TRIES - 1):
        yield random.uniform(0.5, 1) * min(_FIRST_PAUSE_S * 2**number, _LONGEST_PAUSE_S)  # noqa: S311
