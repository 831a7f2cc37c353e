"""Rewriting of objects on S3: their old versions, and the targets of new ones.

    old          new          how
    object       in place     the store copies what stays, filters and footer are sent
    object       other key    likewise, from bucket to bucket of one store too
    file         object       all is sent
    object       file         all is read

A new version is visible as soon as it is there, so it is proved before: what the plan makes of the
old bytes and the new ones is read as if it were a file, and checked like one. What the store has
put together is read back afterwards, as far as that is cheap: the footer, every filter, and the
first bytes of column chunks and of the parts it is made of.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from parquet_bloomwriter.errors import (
    FileChanged,
    FileProblem,
    InvalidArgument,
    Proposal,
    Unfinished,
    UnsafeTarget,
    VerificationFailed,
    Way,
)
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.replace.external_references import refuse_references
from parquet_bloomwriter.replace.target import output_exists
from parquet_bloomwriter.rewrite.plan import Copy, Emit, EmitFilter, length_of
from parquet_bloomwriter.rewrite.report import StoreReport
from parquet_bloomwriter.rewrite.versions import (
    REMOTE_JOBS,
    NewOnDisk,
    OldVersion,
    open_on_disk,
)
from parquet_bloomwriter.rewrite.whole_files import (
    NewOnAnyStore,
    NewOnStore,
    object_path,
    open_on_store,
)
from parquet_bloomwriter.rewrite.write import digest_of, footer_of, prove, tail_of
from parquet_bloomwriter.source.filesystems import is_far
from parquet_bloomwriter.stores.open import open_bucket
from parquet_bloomwriter.stores.references import find_references
from parquet_bloomwriter.stores.s3.answers import UNVERSIONED, kept_version
from parquet_bloomwriter.stores.s3.attributes import Attributes, attributes_of, check_writable
from parquet_bloomwriter.stores.s3.conditions import Abilities, abilities_of
from parquet_bloomwriter.stores.s3.journal import abort_abandoned, foreign_uploads
from parquet_bloomwriter.stores.s3.new_object import NewObject
from parquet_bloomwriter.stores.s3.parts import SMALLEST, NewBytes, OldBytes, cost_of
from parquet_bloomwriter.stores.s3.store import S3Source
from parquet_bloomwriter.stores.s3.urls import ObjectPath, is_s3, parse_url
from parquet_bloomwriter.text import words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from parquet_bloomwriter.rewrite.plan import Chunk, Plan
    from parquet_bloomwriter.rewrite.versions import Destination, RewrittenFile
    from parquet_bloomwriter.rewrite.write import ExpectedFilter, NewFile, Readable
    from parquet_bloomwriter.stores.s3.answers import ObjectState
    from parquet_bloomwriter.stores.s3.parts import Segment
    from parquet_bloomwriter.stores.s3.store import S3Store

_COMPARED_BYTES = 64
_COMPARED_PLACES = 8
"""Most places whose first bytes are read back."""


@contextmanager
def open_far_versions(
    name: str, target: str, destination: Destination, progress: Callable[[int], None] | None
) -> Iterator[RewrittenFile]:
    """Open the old version, and prepare the new one, where one of them or both are on a store.

    Args:
        name: Path or URL of the old version.
        target: Path or URL of the new version.
        destination: What is allowed.
        progress: As for `RewrittenFile`.

    Raises:
        InvalidArgument: If a library is missing, or an option is only for disks.
        UnsupportedFile: If the object is of a kind that must not be rewritten.
        OSError, FileProblem: What opening raises.
    """
    kind: type[NewOnDisk | NewOnS3 | NewOnStore] = NewOnDisk
    if is_far(target):
        kind = NewOnS3 if is_s3(target) else NewOnStore
        kind.check_options(destination)
    if not is_far(name):
        opened: AbstractContextManager[OldVersion] = open_on_disk(name)
    elif is_s3(name) and kind is not NewOnStore:
        opened = _open_on_s3(name)
    else:
        opened = open_on_store(name)
    with opened as old:
        yield kind(old, destination, progress)


@contextmanager
def _open_on_s3(url: str) -> Iterator[OldOnS3]:
    place = object_path(url)
    with open_bucket(place.bucket).opened(place.key) as source:
        yield OldOnS3(source, url)


class OldOnS3(OldVersion):
    """An object on S3, which is read by ranges; each request is for the version that was opened."""

    source: S3Source
    jobs = REMOTE_JOBS

    def hold_if_small(self) -> None:
        """Read an object whole that is too small to be put together of parts."""
        if self.source.size < SMALLEST:
            self.source.hold_all()

    def store_report(self) -> StoreReport:
        """Return the requests and bytes that reading has needed."""
        traffic = self.source.bucket.traffic
        return StoreReport(
            requests=dict(traffic.requests),
            down=traffic.down,
            up=traffic.up,
            copied=0,
            planned=None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _ObjectTarget:
    """The bucket of a new object, and the conditions under which it is written."""

    bucket: S3Store
    replaces: ObjectState | None
    attributes: Attributes
    abilities: Abilities


class NewOnS3(NewOnAnyStore):
    """The new version of a file, as an object on S3."""

    why_no_backup = (
        "Let the bucket keep versions: then the old version stays, and the report names it."
    )

    def __init__(
        self, old: OldVersion, destination: Destination, progress: Callable[[int], None] | None
    ) -> None:
        """Prepare a new version, as `RewrittenFile`."""
        super().__init__(old, destination, progress)
        self._path = parse_url(self.output)
        self._target: _ObjectTarget | None = None
        self._new: NewObject | None = None
        self._plan: Plan | None = None
        self._filters: Mapping[Chunk, ExpectedFilter] = {}
        self._samples: list[tuple[int, bytes]] = []
        self._state: ObjectState | None = None
        """State of the new version, once it is in place."""

    @property
    def _original(self) -> ObjectState | None:
        return self.old.source.state if isinstance(self.old, OldOnS3) else None

    def choose_target(self) -> None:
        """Choose the target of the new version. Nothing is written.

        Raises:
            UnsafeTarget: If writing there would break or overwrite something.
        """
        self._target = self._choose()

    def check_target(self) -> None:
        """Check that the object may be replaced, without a trial of what the store can do."""
        self._replaced()

    def _open(self) -> NewFile:
        self._target = target = self._target or self._choose()
        self.old.fetch()
        self._notes += target.attributes.notes
        self._new = NewObject(
            target.bucket,
            self._path.key,
            old=self.old.source,
            copied_from=self._original if target.abilities.copies else None,
            replaces=None if target.replaces is None else target.replaces.etag,
            attributes=target.attributes.arguments,
            unconditional=not target.abilities.conditions,
            progress=self._progress,
        )
        return self._new

    @property
    def _begun(self) -> NewObject:
        assert self._new is not None  # noqa: S101  set by `begin`
        return self._new

    def discard(self) -> None:
        """Abort the upload, unless it was published."""
        if self._new is not None:
            self._new.give_up()

    def store_report(self, plan: Plan | None) -> StoreReport:
        """Return the requests and bytes that were needed, or would be needed to write."""
        target, state, source = self._target, self._state, self.old.source
        stores = [source.bucket] if isinstance(source, S3Source) else []
        if target is not None and target.bucket not in stores:
            stores.append(target.bucket)
        requests: Counter[str] = Counter()
        for store in stores:
            requests.update(store.traffic.requests)
        copies = self._original is not None and (target is None or target.abilities.copies)
        cost = None if plan is None else cost_of(segments_of(plan), copies=copies)
        is_small = isinstance(source, S3Source) and source.size < SMALLEST
        return StoreReport(
            requests=dict(requests),
            down=sum(store.traffic.down for store in stores),
            up=sum(store.traffic.up for store in stores),
            copied=0 if cost is None else cost.copied,
            planned=(
                None
                if cost is None or state is not None
                else (cost.requests, 0 if is_small else cost.down, cost.up)
            ),
            old_version=kept_version(None if target is None else target.replaces, state),
            new_version=None if state is None or state.version == UNVERSIONED else state.version,
            notes=tuple(self._notes),
        )

    def _replaced(self) -> ObjectState | None:
        """Return the object that will be replaced, or None; refuse one that must not be replaced.

        Raises:
            UnsafeTarget: If writing there would break or overwrite something.
        """
        path, options, original = self._path, self._destination, self._original
        if original is not None and path == original.path:
            replaces: ObjectState | None = original
        else:
            if not path.key or path.key.endswith("/"):
                raise InvalidArgument(f'"{self.output}" is no object', remedy="Name its key, too.")
            replaces = self._bucket(path).state(path.key)
            if replaces is not None and not options.overwrite:
                raise output_exists(self.output)
        if replaces is not None:
            check_writable(replaces)
            if not options.force:
                bucket = self._bucket(path)
                refuse_references(find_references(bucket, path.key), path=self.output)
        return replaces

    def _choose(self) -> _ObjectTarget:
        path, options, original = self._path, self._destination, self._original
        replaces, bucket = self._replaced(), self._bucket(path)
        abilities = abilities_of(bucket, path.key)
        if not (abilities.conditions or options.force):
            raise UnsafeTarget(
                "the store ignores conditions (If-Match), so that what another program writes "
                "meanwhile would be lost",
                path=self.output,
                remedy=("Write elsewhere, or, if nobody else writes there, ", _INSIST, "."),
            )
        model = replaces or original
        attributes = (
            _NEW if model is None else attributes_of(self._bucket(model.path), model, target=bucket)
        )
        if _clean_up_once(bucket):
            foreign = foreign_uploads(bucket, path.key.rpartition("/")[0])
            self._notes += [foreign] if foreign else []
        return _ObjectTarget(
            bucket=bucket,
            replaces=replaces,
            attributes=attributes,
            abilities=abilities,
        )

    def _bucket(self, path: ObjectPath) -> S3Store:
        source = self.old.source
        if isinstance(source, S3Source) and source.bucket.name == path.bucket:
            return source.bucket
        if self._target is not None and self._target.bucket.name == path.bucket:
            return self._target.bucket
        return open_bucket(path.bucket)

    def verify(self, plan: Plan, filters: Mapping[Chunk, ExpectedFilter]) -> None:
        """Send the last part, and prove the plan by positions; nothing is visible yet."""
        new = self._begun
        new.complete()
        prove(self._before.footer, footer_of(plan), plan)
        self._plan, self._filters = plan, filters
        if new.has_parts:
            self._samples = samples(self._before, plan, new.boundaries)

    def commit(self) -> None:
        """Publish the new version, and read it back as far as that is cheap."""
        self.old.check_unchanged()
        plan = self._plan
        if plan is None:
            raise AssertionError("committed before it was verified")
        self._state = state = self._begun.publish()
        try:
            self._read_back(state, plan)
        except VerificationFailed:
            raise
        except Exception as error:  # whatever it is: the new version is there
            raise self._unproved(state, error) from error
        except KeyboardInterrupt as error:
            error.add_note(f"{self.output}: the new version is in place, and was not read")
            raise

    def _unproved(self, state: ObjectState, error: Exception) -> FileProblem:
        """Return the error for a new version that could not be read back."""
        path = self.output
        problem = error.problem if isinstance(error, FileProblem) else words_of(error)
        if isinstance(error, FileNotFoundError):
            problem = "there is no object"
        try:
            bucket, attempt = self._bucket(self._path), state.attempt or ""
            found = bucket.look_for(self._path.key, attempt=attempt, etag=None)
        except (FileProblem, OSError) as worse:
            problem = worse.problem if isinstance(worse, FileProblem) else words_of(worse)
        else:
            if found is None or found.attempt != state.attempt:
                gone = FileChanged(
                    "another program wrote or removed the object right after us",
                    path=path,
                    remedy="Run the command again.",
                )
                gone.outcome = "Our version was replaced."
                return gone
        return Unfinished(
            f"it could not be read back: {problem}",
            path=path,
            remedy="Verify it when the store answers again.",
        )

    def _read_back(self, state: ObjectState, plan: Plan) -> None:
        bucket, key = self._bucket(self._path), self._path.key
        tail, found = bucket.read(key, None, S3Source.tail_bytes, if_match=state.etag)
        new = S3Source(bucket, found, tail)
        expected = tail_of(plan)
        if new.size != plan.size:
            raise self._failed(f"it has {new.size} bytes, not {plan.size}")
        if new.read_at(plan.size - len(expected), plan.size) != expected:
            raise self._failed("its footer is not the one that was sent")
        ranges, checks = self._checks(plan)
        for data, (is_right, what) in zip(new.read_ranges(ranges), checks, strict=True):
            if not is_right(data):
                raise self._failed(what)

    def _checks(
        self, plan: Plan
    ) -> tuple[list[tuple[int, int]], list[tuple[Callable[[bytes], bool], str]]]:
        """Return the ranges to read back, and for each the function that checks its bytes."""
        ranges: list[tuple[int, int]] = []
        checks: list[tuple[Callable[[bytes], bool], str]] = []
        budget = _READ_BACK_BYTES + self.old.source.traffic.bytes // 16
        names = self._before.footer.leaves
        for place in plan.filters:
            if place.length > budget:
                continue
            budget -= place.length
            digest = self._filters[place.row_group, place.column].digest
            ranges.append((place.offset, place.offset + place.length))
            whose = f"{names[place.column].name}, row group {place.row_group}"
            problem = f"the filter of {whose}, did not read back as it was built"
            checks.append((partial(_has_digest, digest), problem))
        for start, sample in self._samples:
            ranges.append((start, start + len(sample)))
            checks.append((sample.__eq__, f"byte {start} is not what the old version has there"))
        return ranges, checks

    def _failed(self, problem: str) -> VerificationFailed:
        error = VerificationFailed(
            f"the store has put the new version together wrongly: {problem}",
            path=self.output,
        )
        kept = kept_version(None if self._target is None else self._target.replaces, self._state)
        error.outcome = "The new version is in place."
        error.remedy = (
            "Bring the old version back from a copy."
            if kept is None
            else f"Bring the old version back: it is kept as {kept}."
        )
        return error


_INSIST = Proposal(Way.FORCE, "force it (force=True)")
_NEW = Attributes(arguments={"ContentType": "application/vnd.apache.parquet"})
_cleaning = Lock()
_cleaned: set[tuple[str, str]] = set()


def _clean_up_once(bucket: S3Store) -> bool:
    """Abort the uploads that dead processes of this machine left in a bucket; once per process.

    Returns:
        Whether this was the first time in this process.
    """
    place = (bucket.endpoint, bucket.name)
    with _cleaning:
        is_first = place not in _cleaned
        _cleaned.add(place)
    if is_first:
        abort_abandoned(bucket)
    return is_first


_READ_BACK_BYTES = 256 * 1024
"""Most bytes of filters that are read back, besides a sixteenth of the bytes read before."""


def _has_digest(digest: int, data: bytes) -> bool:
    return digest_of(data) == digest


def segments_of(plan: Plan) -> list[Segment]:
    """Return a plan as segments for the store: bytes of the old object, and new bytes."""
    segments: list[Segment] = []
    for piece in plan.pieces:
        match piece:
            case Copy(start, stop):
                segments.append(OldBytes(start, stop))
            case Emit(data):
                segments.append(NewBytes(len(data)))
            case EmitFilter(length=length):
                segments.append(NewBytes(length))
    return segments


def samples(old: Readable, plan: Plan, boundaries: Sequence[int]) -> list[tuple[int, bytes]]:
    """Read the first bytes of column chunks, and of parts that the store copies.

    Returns:
        Position in the new version, and the bytes that must be there, of a number of places that is
        bounded.
    """
    starts = old.footer.chunk_starts()
    sizes = old.footer.chunks.value(ChunkField.TOTAL_COMPRESSED_SIZE)
    chunks = sorted(set(starts[(starts > 0) & (sizes >= _COMPARED_BYTES)].ravel().tolist()))
    step = max(1, -(-len(chunks) // _COMPARED_PLACES))
    places = []
    at = 0
    wanted = chunks[::step]
    for piece in plan.pieces:
        if isinstance(piece, Copy):
            shift = at - piece.start
            end = at + piece.stop - piece.start
            inner = [boundary - shift for boundary in boundaries if at <= boundary < end]
            places += [
                (start + shift, start)
                for start in sorted({*inner[:_COMPARED_PLACES], *wanted})
                if piece.start <= start and start + _COMPARED_BYTES <= piece.stop
            ]
        at += length_of(piece)
    ranges = [(start, start + _COMPARED_BYTES) for _, start in places]
    return [
        (new, data) for (new, _), data in zip(places, old.source.read_ranges(ranges), strict=True)
    ]
