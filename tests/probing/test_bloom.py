"""Filters that are in order say what `Sbbf` says; those that are not say nothing, and why."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parquet_bloomwriter.errors import MalformedFilter
from parquet_bloomwriter.hashing import hash_array, xxh64
from parquet_bloomwriter.kernels.layout import BINARY, I32, LIST, STRUCT
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.probing.batch_reader import BatchReader
from parquet_bloomwriter.probing.bloom import FilterLookups, probe_filters
from parquet_bloomwriter.probing.footer_cache import DISTRUSTED, FileBatch
from parquet_bloomwriter.probing.hashes import Hashes
from parquet_bloomwriter.probing.verdict import Evidence, Verdict
from parquet_bloomwriter.sbbf import Sbbf, block_index, encode_header
from parquet_bloomwriter.source import BufferSource, open_for_reading
from parquet_bloomwriter.verbs.bloom_file import BloomFile
from parquet_bloomwriter.verbs.probe import probe
from tests.compact.structs import encode_struct
from tests.metadata.synthetic import plain
from tests.support import asking, compact
from tests.support.asking import asked, batch_of, check_of, known, random_bits
from tests.verbs.broken_filters import bitset_span, with_filter, with_zeros
from tests.verbs.files import (
    filter_bytes,
    footer_of,
    people,
    with_filter_at,
    with_number,
    without_length,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

FILTERED = {"id": {"ndv": 500, "fpp": 0.01}}
PRESENT, ABSENT_VALUE = 123, 77_777


@pytest.fixture(autouse=True, params=["in memory", "local"])
def _way(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have files asked in one way or another."""
    if request.param == "in memory":
        return
    numbers = count()

    def written_to_disk(data: bytes) -> Path:
        path = tmp_path / f"{next(numbers)}.parquet"
        path.write_bytes(data)
        return path

    monkeypatch.setattr(asking, "given_as", written_to_disk)


def plain_file() -> bytes:
    """Two row groups of 500; a filter on `id` in each, but no statistics and no dictionary."""
    return written(bloom_filter_options=FILTERED, write_statistics=False, use_dictionary=["city"])


FILE = plain_file()
FILTER = filter_bytes(FILE, (0, 0))
BITSET = FILTER[15 if FILTER[2] == 0x1C else 16 if FILTER[3] == 0x1C else 17 :]


def says_nothing(data: bytes, reason: str) -> None:
    """The filter of the first row group is not trusted; that of the second still is."""
    for value in (PRESENT, ABSENT_VALUE):
        check = check_of(data, [("id", "=", value)])
        assert (check.verdict, check.evidence) == (Verdict.MIGHT_MATCH, Evidence.NONE)
        assert check.reason.startswith("its filter is not trusted: ")
        assert reason in check.reason
    many = check_of(data, [("id", "in", list(range(PRESENT - 100, PRESENT)))])
    assert (many.verdict, reason in many.reason) == (Verdict.MIGHT_MATCH, True)
    other = check_of(data, [("id", "=", ABSENT_VALUE)], row_group=1)
    assert (other.verdict, other.evidence) == (Verdict.CANNOT_MATCH, Evidence.BLOOM)


def is_used(data: bytes) -> None:
    """The filter of the first row group answers."""
    check = check_of(data, [("id", "=", PRESENT)])
    assert (check.verdict, check.evidence, check.reason) == (
        Verdict.MIGHT_MATCH,
        Evidence.BLOOM,
        "",
    )
    check = check_of(data, [("id", "=", ABSENT_VALUE)])
    assert (check.verdict, check.evidence) == (Verdict.CANNOT_MATCH, Evidence.BLOOM)


def with_length(difference: int) -> bytes:
    return with_number(FILE, ChunkField.BLOOM_FILTER_LENGTH, len(FILTER) + difference)


def test_the_file_itself_is_in_order() -> None:
    assert len(BITSET) in (512, 1024)
    assert encode_header(len(BITSET)) + BITSET == FILTER
    is_used(FILE)
    assert asked(FILE, [("id", "=", PRESENT)]).surviving == (0,)
    assert asked(FILE, [("id", "=", PRESENT + 500)]).surviving == (1,)


# ---------------------------------------------------------------- lengths and places


@pytest.mark.parametrize("length", [-1, 1, 32, -32, 32 * 2**20])
def test_a_length_that_is_not_the_header_s(length: int) -> None:
    says_nothing(with_length(length), f"the footer gives it {len(FILTER) + length} bytes")


@pytest.mark.parametrize("length", [0, -1, -(2**31), 2**31 - 1, 15, 1, 47])
def test_lengths_that_cannot_be(length: int) -> None:
    data = with_number(FILE, ChunkField.BLOOM_FILTER_LENGTH, length)
    says_nothing(data, f"the footer gives it {length} bytes")


@pytest.mark.parametrize(
    "offset", [0, -1, -(2**63) + 1, 10**9, 2**63 - 1, len(FILE), len(FILE) - 8]
)
def test_offsets_outside_the_data(offset: int) -> None:
    data = with_number(FILE, ChunkField.BLOOM_FILTER_OFFSET, offset)
    says_nothing(data, "is outside the file's data")


def test_an_offset_into_the_footer() -> None:
    start = footer_of(FILE).start
    data = with_filter_at(FILE, (0, 0), (start + 4, len(FILTER)))
    says_nothing(data, "is outside the file's data")


@pytest.mark.parametrize("back", [1, 10, 14])
def test_a_header_that_is_cut_by_the_footer(back: int) -> None:
    data = with_filter(FILE, (0, 0), FILTER[:back], length=len(FILTER))
    says_nothing(data, "the Bloom filter header")


@pytest.mark.parametrize("kept", [16, 100, -1])
def test_a_bitset_that_reaches_into_the_footer(kept: int) -> None:
    data = with_filter(FILE, (0, 0), FILTER[:kept], length=len(FILTER))
    says_nothing(data, "reaches into the footer")


@pytest.mark.parametrize("field", [ChunkField.DATA_PAGE_OFFSET, ChunkField.DICTIONARY_PAGE_OFFSET])
def test_an_offset_into_pages(field: ChunkField) -> None:
    page = int(footer_of(FILE).chunks.value(field)[1, 2])
    data = with_filter_at(FILE, (0, 0), (page, len(FILTER)))
    says_nothing(data, "the Bloom filter header")


def test_an_offset_into_the_bitset() -> None:
    start, _ = bitset_span(FILE, (0, 0))
    says_nothing(with_filter_at(FILE, (0, 0), (start, len(FILTER))), "the Bloom filter header")


def test_missing_lengths_are_no_obstacle() -> None:
    data = without_length(FILE, (0, 0))
    assert compact.filters_of(compact.footer_of(data))[0, 0][1] is None
    is_used(data)


def test_a_filter_right_before_the_footer() -> None:
    is_used(with_filter(FILE, (0, 0), FILTER))


# ---------------------------------------------------------------- headers


def header(
    num_bytes: int | None = len(BITSET),
    *,
    members: tuple[int | None, int | None, int | None] = (1, 1, 1),
    more: tuple[tuple[int, int, Any], ...] = (),
    long_form: bool = False,
) -> bytes:
    """A header: the size, and the members of the three unions."""
    fields: list[tuple[int, int, Any]] = [] if num_bytes is None else [(1, I32, num_bytes)]
    for number, member in enumerate(members, start=2):
        if member is not None:
            fields.append((number, STRUCT, [(member, STRUCT, [], long_form)]))
    return encode_struct([(*field, long_form) for field in [*fields, *more]])


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (header(len(BITSET) - 32), "its header "),
        (header(len(BITSET) + 32), "reaches into the footer"),
        (header(0), "numBytes = 0"),
        (header(-32), "numBytes = -32"),
        (header(len(BITSET) - 1), f"numBytes = {len(BITSET) - 1}"),
        (header(2**31 - 32), "reaches into the footer"),
        (header(None), "no numBytes"),
        (header(members=(2, 1, 1)), "unknown (2)"),
        (header(members=(1, 2, 1)), "unknown (2)"),
        (header(members=(1, 1, 7)), "unknown (7)"),
        (header(members=(None, 1, 1)), "no algorithm"),
        (header(members=(1, None, 1)), "no hash"),
        (header(members=(1, 1, None)), "draft"),
        (bytes(16), "no numBytes"),
        (b"\xff" * 16, "cannot be read"),
        (b"PAR1" * 4, "cannot be read"),
    ],
)
@pytest.mark.parametrize("has_length", [True, False])
def test_headers_that_say_something_else(head: bytes, reason: str, *, has_length: bool) -> None:
    data = with_filter(FILE, (0, 0), head + BITSET)
    if not has_length:
        data = without_length(data, (0, 0))
        if head == header(len(BITSET) - 32):
            reason = "nothing begins where its header says that it ends"
    says_nothing(data, reason)


@pytest.mark.parametrize(
    "head",
    [
        header(),
        header(long_form=True),
        header(more=((5, BINARY, b"more"), (6, LIST, (I32, [1, 2])))),
        header(more=((-3, I32, 17),)),
        header(more=((5, BINARY, bytes(64)),)),
        encode_struct(
            plain(
                *((number, STRUCT, plain((1, STRUCT, []))) for number in (4, 3, 2)),
                (1, I32, len(BITSET)),
            )
        ),
    ],
)
def test_headers_spelled_in_other_ways_are_used(head: bytes) -> None:
    data = with_filter(FILE, (0, 0), head + BITSET)
    is_used(data)
    if head == header():
        is_used(without_length(data, (0, 0)))
    else:
        says_nothing(without_length(data, (0, 0)), "its header is unusual")


def test_two_column_chunks_do_not_share_a_filter() -> None:
    offset, _ = compact.filters_of(compact.footer_of(FILE))[1, 0]
    data = with_filter_at(FILE, (0, 0), (offset, len(filter_bytes(FILE, (1, 0)))))
    check = check_of(data, [("id", "=", PRESENT)])
    assert check.reason.endswith("its offset is that of another column chunk's filter, too")
    assert asked(data, [("id", "in", [PRESENT, PRESENT + 500])]).surviving == (0, 1)
    with BloomFile(data) as file, pytest.raises(MalformedFilter, match="another column chunk"):
        file.filter(1, "id")


@settings(max_examples=20)
@given(
    st.binary(max_size=80), st.integers(-(2**31), 2**31 - 1) | st.integers(0, 200), st.booleans()
)
def test_any_bytes_at_all_lose_no_row(head: bytes, length: int, at_end: bool) -> None:  # noqa: FBT001  Hypothesis
    data = with_filter(FILE, (0, 0), head if at_end else head + bytes(600), length=length)
    assert check_of(data, [("id", "=", PRESENT)]).verdict is Verdict.MIGHT_MATCH


# ---------------------------------------------------------------- bitsets


def test_a_bitset_without_a_bit() -> None:
    says_nothing(with_zeros(FILE, (0, 0)), "all its bits are zero")


@pytest.mark.parametrize("num_bytes", [32, 4096, 4128, 2**20])
@pytest.mark.parametrize("at", [0, -1])
def test_one_bit_is_found_wherever_it_is(num_bytes: int, at: int) -> None:
    bitset = bytearray(num_bytes)
    bitset[at] = 0x80
    is_sure = check_of(
        with_filter(FILE, (0, 0), encode_header(num_bytes) + bitset), [("id", "=", PRESENT)]
    )
    assert (is_sure.verdict, is_sure.evidence) == (Verdict.CANNOT_MATCH, Evidence.BLOOM)
    empty = with_filter(FILE, (0, 0), encode_header(num_bytes) + bytes(num_bytes))
    says_nothing(empty, "all its bits are zero")


@pytest.mark.parametrize("num_blocks", [1, 3, 7, 100, 4097])
def test_sizes_that_are_no_power_of_two(num_blocks: int) -> None:
    filter_ = Sbbf.empty(num_blocks)
    filter_.insert_hashes(hash_array(people()["id"].combine_chunks().slice(0, 500)))
    data = with_filter(FILE, (0, 0), filter_.to_bytes())
    conditions = [[("id", "=", number)] for number in range(0, 500, 29)]
    assert all(check_of(data, condition).verdict is Verdict.MIGHT_MATCH for condition in conditions)
    absent = np.arange(10_000, 10_030)
    expected = filter_.check_hashes(hash_array(pa.array(absent)))
    for number, might in zip(absent.tolist(), expected.tolist(), strict=True):
        verdict = check_of(data, [("id", "=", number)]).verdict
        assert verdict is (Verdict.MIGHT_MATCH if might else Verdict.CANNOT_MATCH)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Sbbf], list[list[int]]]:
    """Filters, and for each the ordinals of the hashes that are looked up in it."""
    num_files = draw(st.integers(1, 4))
    filters = [
        Sbbf(
            random_bits(
                draw(st.integers(0, 2**32)),
                draw(st.sampled_from([1, 2, 3, 8, 150, 700])),
                draw(st.sampled_from([0.0, 0.0002, 0.3, 0.9])),
            )
        )
        for _ in range(num_files)
    ]
    begins = [draw(st.integers(0, 100)) for _ in range(num_files)]
    return filters, [[begin, draw(st.integers(begin + 1, 101))] for begin in begins]


@settings(max_examples=20)
@given(worlds(), st.integers(0, 2**32), st.booleans())
@example(([Sbbf(random_bits(1, 700, 0.0002))], [[0, 64]]), 5, False)  # noqa: FBT003  Hypothesis
@example(([Sbbf(random_bits(1, 700, 0.0002))], [[0, 65]]), 5, False)  # noqa: FBT003  Hypothesis
def test_answers_are_those_of_the_filter_read_whole(
    world: tuple[list[Sbbf], list[list[int]]],
    seed: int,
    has_lengths: bool,  # noqa: FBT001  Hypothesis
) -> None:
    filters, spans = world
    hashes = np.random.default_rng(seed).integers(0, 2**64, 101, np.uint64)
    files = [with_filter(ONE, (0, 0), filter_.to_bytes()) for filter_ in filters]
    files = files if has_lengths else [without_length(data, (0, 0)) for data in files]
    batch, reader = batch_of(*files)
    expected = [
        not filter_.blocks.any()
        or any(filter_.check_hash(int(one)) for one in hashes[begin:end].tolist())
        for filter_, (begin, end) in zip(filters, spans, strict=True)
    ]
    for _ in range(2):  # The second time with what was learned.
        found = ask(batch, hashes, spans, reader)
        assert found.tolist() == expected


ONE = written(people(10), row_group_size=10, bloom_filter_options={"id": {"ndv": 9}})


def ask(
    batch: FileBatch, hashes: NDArray[np.uint64], spans: list[list[int]], reader: BatchReader
) -> NDArray[np.bool_]:
    """Ask the filters of the first column."""
    leaf = batch.files[0].leaves[0]
    begins, ends = np.array(spans, np.int64).T
    places = batch.places(leaf)
    lookups = FilterLookups(np.arange(batch.num_row_groups), begins, ends)
    found = probe_filters(batch, batch.column(leaf), hashes, lookups, reader, places)
    batch.remember(leaf, places)
    return found


@pytest.mark.parametrize(("each", "has_lengths"), [(1, False), (20, True), (65, False)])
def test_local_files_say_the_same(each: int, *, has_lengths: bool, tmp_path: Path) -> None:
    sizes = (1, 2, 3, 4, 5, 255, 256, 32_768, 33_000)
    filters = [Sbbf(random_bits(z, z, density)) for z in sizes for density in (0.0, 0.002, 0.6)]
    files = [with_filter(ONE, (0, 0), filter_.to_bytes()) for filter_ in filters]
    files = files if has_lengths else [without_length(data, (0, 0)) for data in files]
    hashes = np.random.default_rng(0).integers(0, 2**64, 400, np.uint64)
    paths = [tmp_path / f"filter {number}.parquet" for number in range(len(files))]
    for path, data in zip(paths, files, strict=True):
        path.write_bytes(data)
    batch, _ = batch_of(*files)
    with ExitStack() as stack:
        sources = [stack.enter_context(open_for_reading(path)) for path in paths]
        for begin in range(0, 300, 50):
            spans = [[begin + i, begin + i + each] for i in range(len(files))]
            expected = [
                not filter_.blocks.any() or bool(filter_.check_hashes(hashes[first:last]).any())
                for filter_, (first, last) in zip(filters, spans, strict=True)
            ]
            assert ask(batch, hashes, spans, BatchReader(sources)).tolist() == expected


def test_local_reads_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "counted.parquet"
    path.write_bytes(FILE)
    hashes = hash_array(pa.array([PRESENT, PRESENT + 500]))
    batch, _ = batch_of(FILE)
    with open_for_reading(path) as source:
        for spans, num_bytes in (
            ([[0, 1], [0, 1]], 128),
            ([[0, 1], [1, 2]], 64),
            ([[0, 2]] * 2, 128),
        ):
            before = source.traffic.bytes, source.traffic.requests
            ask(batch, hashes, spans, BatchReader([source]))
            assert source.traffic.bytes - before[0] == num_bytes
            assert source.traffic.requests - before[1] == num_bytes // 32


def test_hashes_of_values_that_are_stored_in_several_ways() -> None:
    found = Hashes.of([(b"a",), (), (b"b", b"c")])
    assert found.hashes.tolist() == [xxh64(b"a"), xxh64(b"b"), xxh64(b"c")]
    assert found.firsts.tolist() == [0, 1, 1, 3]


# ---------------------------------------------------------------- columns, failures


@pytest.mark.parametrize("kind", [pa.bool_(), pa.float64()])
def test_both_zeros_are_looked_up_and_booleans_never(kind: pa.DataType) -> None:
    stored = [True] if kind == pa.bool_() else [-0.0]
    data = written(pa.table({"x": pa.array(stored * 9, kind)}), write_statistics=False)
    filter_ = Sbbf.empty(1)
    filter_.insert_hash(xxh64(b"\x01" if kind == pa.bool_() else b"\0" * 7 + b"\x80"))
    data = with_filter(data, (0, 0), filter_.to_bytes())
    if kind == pa.bool_():
        for condition in ("x = true", "x = false"):
            check = check_of(data, condition)
            assert (check.verdict, check.evidence) == (Verdict.MIGHT_MATCH, Evidence.NONE)
        return
    for zero, other in ((0.0, Verdict.MIGHT_MATCH), (-0.0, Verdict.MIGHT_MATCH), (1.0, None)):
        check = check_of(data, [("x", "=", zero)])
        assert check.evidence is Evidence.BLOOM
        assert check.verdict is (other or Verdict.CANNOT_MATCH)


def test_intervals_are_never_looked_up(fixtures_dir: Path) -> None:
    data = (fixtures_dir / "duckdb/types.parquet").read_bytes()
    names = [leaf.name for leaf in footer_of(data).leaves if leaf.is_interval]
    assert names
    for literal in ("INTERVAL '1 day'", "'1 day'", "5"):
        assert asked(data, f"{names[0]} = {literal}").surviving == (0,)


def test_what_was_learned_is_kept_with_each_file() -> None:
    zero = with_zeros(FILE, (1, 0))
    batch, reader = batch_of(zero, FILE)
    hashes = hash_array(pa.array([PRESENT, ABSENT_VALUE]))
    for _ in range(2):
        found = ask(batch, hashes, [[1, 2], [1, 2], [1, 2], [0, 2]], reader)
        assert found.tolist() == [False, True, False, False]
    leaf = batch.files[0].leaves[0]
    first, second = (file.filters[leaf.ordinal, "xxhash"] for file in batch.files)
    assert first.sizes.tolist() == [len(BITSET), DISTRUSTED]
    assert second.sizes.tolist() == [len(BITSET)] * 2
    assert set(first.problems) == {1}
    assert second.problems == {}
    alone, own = FileBatch.of([known(zero, 0)]), BatchReader([BufferSource(zero)])
    alone.files[0].filters[leaf.ordinal, "xxhash"] = first
    assert ask(alone, hashes, [[1, 2], [1, 2]], own).tolist() == [False, True]


class Failing(BufferSource):
    """Bytes of which some cannot be read."""

    def __init__(self, data: bytes, fails: Callable[[int, int], bool]) -> None:
        super().__init__(data, name="failing")
        self.fails = fails

    def _fetch(self, start: int, stop: int) -> bytes:
        if self.fails(start, stop):
            raise OSError("the store does not answer")
        return super()._fetch(start, stop)


BITSET_AT = bitset_span(FILE, (0, 0))[0]


@pytest.mark.parametrize(
    "fails",
    [
        lambda start, _: start < BITSET_AT,  # the header
        lambda start, stop: start >= BITSET_AT and stop - start == 32,  # blocks
        lambda start, stop: start >= BITSET_AT and stop - start > 32,  # all else
    ],
)
@pytest.mark.parametrize("num_values", [1, 70])
def test_what_cannot_be_read_might_match(
    fails: Callable[[int, int], bool], num_values: int
) -> None:
    values = pa.array(range(PRESENT, PRESENT + num_values))
    good, zero = FILE, with_zeros(FILE, (0, 0))
    for data in (good, zero):
        batch, _ = batch_of(data, FILE)
        reader = BatchReader([Failing(data, fails), BufferSource(FILE)])
        hashes = np.concatenate([hash_array(values), hash_array(pa.array([ABSENT_VALUE]))])
        spans = [[0, num_values], [0, 0], [0, num_values], [num_values, num_values + 1]]
        found = ask(batch, hashes, spans, reader)
        assert found[0] or 0 in reader.failures
        assert found[2:].tolist() == [True, False]
        assert set(reader.failures) <= {0}
        # What is remembered of a file that failed must not be wrong once it can be read.
        found = ask(batch, hashes, spans, BatchReader([BufferSource(data), BufferSource(FILE)]))
        assert found[[0, 2, 3]].tolist() == [True, True, False]


def test_a_failing_file_carries_its_error_and_might_match() -> None:
    offset = compact.filters_of(compact.footer_of(FILE))[0, 0][0]
    broken = Failing(FILE, lambda start, _: offset <= start < offset + 64)
    report = probe([broken, FILE], [("id", "=", ABSENT_VALUE)])
    first, second = report.files
    assert isinstance(first.error, OSError)
    assert (first.verdict, first.surviving) == (Verdict.MIGHT_MATCH, (0, 1))
    assert (second.error, second.verdict) == (None, Verdict.CANNOT_MATCH)
    assert report.failed == (first,)
    with pytest.raises(OSError, match="does not answer"):
        probe(broken, [("id", "=", ABSENT_VALUE)])


def test_many_values_read_a_filter_whole_and_once() -> None:
    source = BufferSource(FILE)
    batch, _ = batch_of(FILE)
    hashes = hash_array(pa.array(range(10_000, 10_065)))
    found = ask(batch, hashes, [[0, 65], [0, 65]], BatchReader([source]))
    assert found.tolist() == [
        Sbbf.from_bytes(filter_bytes(FILE, (row, 0))).check_hashes(hashes).any() for row in (0, 1)
    ]
    assert source.traffic.bytes == 2 * (32 + len(BITSET))


def test_a_file_that_fails_in_the_middle_might_match_throughout() -> None:
    block = block_index(xxh64(ABSENT_VALUE.to_bytes(8, "little")), len(BITSET) // 32)
    assert block != block_index(xxh64(PRESENT.to_bytes(8, "little")), len(BITSET) // 32)
    place = BITSET_AT + 32 * block
    broken = Failing(FILE, lambda start, stop: start <= place < stop)
    condition = f"id = {PRESENT} OR id = {ABSENT_VALUE}"
    (found, other) = probe([broken, FILE], condition).files
    assert (found.surviving, other.surviving) == ((0, 1), (0,))
    assert isinstance(found.error, OSError)
