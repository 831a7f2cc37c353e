"""Filters held against their values: each broken one is found out, and no sound one is blamed."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from parquet_bloomwriter import (
    ColumnNotFound,
    InvalidArgument,
    Sbbf,
    Status,
    bloomify,
    read_table,
    strip,
)
from parquet_bloomwriter.hashing import xxh64
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.reports.verification import CheckStatus, FilterCheck, VerifyReport
from parquet_bloomwriter.sbbf.header import encode_header
from parquet_bloomwriter.verbs.inspect import ALL_ZERO
from parquet_bloomwriter.verbs.verify import verify
from tests.support.manifest import file_of
from tests.support.split_block import ReferenceFilter
from tests.verbs.broken_filters import (
    with_bytes,
    with_filter,
    with_zeros,
    without_bit,
)
from tests.verbs.files import (
    filter_bytes,
    footer_of,
    listing,
    with_number,
    without_length,
    written,
)
from tests.verbs.test_inspect import WRITERS

if TYPE_CHECKING:
    from pathlib import Path

OK, FAILED, UNCHECKED = CheckStatus
DISTRUSTED = {"duckdb/types": {"gap"}, "spark/bloom": {"flag"}, "spark/bloom_dictionary": {"flag"}}
"""Columns of our own sample files whose filters nobody can trust."""


DRAFT_OF_96 = encode_header(96).replace(b"\x1c\x1c\x00\x00", b"", 1)
"""A header of three fields, of a size that the drafts do not have."""


def numbers(rows: int = 1000) -> pa.Table:
    return pa.table({"n": np.arange(rows, dtype=np.int64) * 7})


def with_numbers(**options: object) -> bytes:
    """A file whose two row groups have a filter on `n`."""
    return bloomify(written(numbers(), use_dictionary=False, **options), ["n"]).data or b""


def filter_of(*plain: bytes) -> bytes:
    """A filter of exactly these values, by their PLAIN bytes."""
    bits = Sbbf.empty(8)
    for value in plain:
        bits.insert_hash(xxh64(value))
    return bits.to_bytes()


def first(report: VerifyReport) -> FilterCheck:
    return report.checks[0]


def statuses(report: VerifyReport) -> list[CheckStatus]:
    return [check.status for check in report.checks]


# ---------------------------------------------------------------- sound filters pass


@pytest.mark.parametrize("name", WRITERS)
def test_filters_of_every_writer(fixtures_dir: Path, name: str) -> None:
    path = fixtures_dir / f"{name}.parquet"
    report = verify(path)
    distrusted = DISTRUSTED.get(name, set())
    assert {check.column for check in report.failed} == distrusted
    assert report.passed is not bool(distrusted)
    assert report.unchecked == ()
    for check in report.checks:
        assert check.num_missing == 0
        assert check.rates_agree
        assert check.measured_fpp == pytest.approx(check.fpp, abs=0.003)
        assert (check.num_looked_up > 0) is (check.status is OK)


def test_every_value_is_looked_up(fixtures_dir: Path) -> None:
    path = fixtures_dir / "spark/bloom.parquet"
    file = pq.ParquetFile(path)
    for check in verify(path, ["id", "email", "number"]).checks:
        column = file.read_row_group(check.row_group, columns=[check.column]).column(0)
        assert check.num_looked_up == len(column) - column.null_count
    assert verify(with_numbers()).num_looked_up == 1000


def test_columns_that_are_dictionary_encoded_are_looked_up_by_their_dictionaries() -> None:
    report = verify(written(bloom_filter_options={"city": {}}))
    assert [check.num_looked_up for check in report.checks] == [3, 3]


def test_our_own_filters_pass_with_any_type(fixtures_dir: Path) -> None:
    for name in ("every_type", "decimals", "int96", "nested", "odd_floats", "odd_names"):
        new = bloomify((fixtures_dir / f"pyarrow/{name}.parquet").read_bytes()).data
        report = verify(new or b"")
        assert report.checks
        assert {check.warnings for check in report.checks} == {()}
        assert set(statuses(report)) == {OK}


def test_nothing_is_modified(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(with_zeros(with_numbers(), (0, 0)))
    before, times = listing(tmp_path), path.stat()
    path.chmod(0o400)
    assert not verify(path).passed
    assert listing(tmp_path) == before
    assert path.stat().st_mtime_ns == times.st_mtime_ns


def test_a_file_without_filters_passes() -> None:
    report = verify(written())
    assert (report.passed, report.checks, report.num_looked_up) == (True, (), 0)


def test_threads_change_nothing(fixtures_dir: Path) -> None:
    path = fixtures_dir / "spark/bloom.parquet"
    assert verify(path, jobs=1) == verify(path, jobs=8)


# ---------------------------------------------------------------- missing values


@given(which=st.integers(0, 10**6), row_group=st.integers(0, 1))
@settings(max_examples=20)
def test_every_cleared_bit_is_noticed(which: int, row_group: int) -> None:
    data = without_bit(with_numbers(), (row_group, 0), which)
    reference = ReferenceFilter.parse(filter_bytes(data, (row_group, 0)))
    values = range(3500 * row_group, 3500 * (row_group + 1), 7)
    missing = [n for n in values if not reference.contains(n.to_bytes(8, "little"))]
    report = verify(data, absent=0)
    broken, sound = report.checks[row_group], report.checks[1 - row_group]
    assert (broken.status, sound.status) == (FAILED, OK)
    assert broken.num_missing == len(missing) > 0
    assert [value.text for value in broken.missing] == [str(n) for n in missing[:5]]
    assert broken.reason == f"{len(missing)} of 500 values are missing from it"
    assert not report.passed
    assert (report.num_missing, report.count(FAILED), report.failed) == (len(missing), 1, (broken,))


def test_missing_values_are_counted_over_all_batches() -> None:
    rows = 300_000
    file = written(numbers(rows), row_group_size=rows, use_dictionary=False)
    check = first(verify(with_filter(file, (0, 0), filter_of(b"something else"))))
    assert check.num_missing == check.num_looked_up == rows
    assert [value.text for value in check.missing] == ["0", "7", "14", "21", "28"]


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (pa.int32(), -5, "-5"),
        (pa.float64(), 1.5, "1.5"),
        (pa.string(), "it's", "'it''s'"),
        (pa.string(), "", "''"),
        (pa.string(), "ä" * 30, f"'{'ä' * 20}'..."),
        (pa.string(), "x" + "ä" * 30, f"'x{'ä' * 19}'..."),
        (pa.string(), "a\x1b[1m", "x'611b5b316d'"),
        (pa.binary(), b"\x00\xff", "x'00ff'"),
        (pa.binary(2), b"\xff\x01", "x'ff01'"),
    ],
)
def test_missing_values_are_shown(kind: pa.DataType, value: object, text: str) -> None:
    file = written(pa.table({"x": pa.array([value, None, value], kind)}), use_dictionary=False)
    other = Sbbf.empty(2)
    other.insert_hash(1)
    check = first(verify(with_filter(file, (0, 0), other.to_bytes())))
    assert (check.num_missing, check.num_looked_up) == (2, 2)
    assert [missing.text for missing in check.missing] == [text]
    assert [len(missing.hash) for missing in check.missing] == [16]


def test_a_cleared_filter_fails_even_where_its_values_are_not_looked_up() -> None:
    data = with_zeros(with_numbers(), (0, 0))
    for report in (verify(data), verify(data, sample=1)):
        assert (first(report).status, first(report).reason) == (FAILED, ALL_ZERO)
    assert first(verify(data, sample=1)).row_group not in (
        verify(data, sample=1).sampled_row_groups or ()
    )
    unknown = with_zeros(with_numbers(write_statistics=False), (0, 0))
    check = first(verify(unknown))
    assert (check.status, check.num_missing) == (FAILED, 500)


def test_an_empty_filter_is_right_where_there_are_no_values() -> None:
    nothing = written(pa.table({"n": pa.nulls(10, pa.int64())}))
    assert statuses(verify(with_filter(nothing, (0, 0), Sbbf.empty(2).to_bytes()))) == [OK]


# ---------------------------------------------------------------- broken positions


@pytest.mark.parametrize(
    ("field", "change", "says"),
    [
        (ChunkField.BLOOM_FILTER_LENGTH, -1, "the footer gives it"),
        (ChunkField.BLOOM_FILTER_LENGTH, 1, "the footer gives it"),
        (ChunkField.BLOOM_FILTER_OFFSET, 1, "header"),
        (ChunkField.BLOOM_FILTER_OFFSET, 1 << 40, "outside the file"),
    ],
)
def test_wrong_positions_fail(field: ChunkField, change: int, says: str) -> None:
    data = with_numbers()
    number = int(footer_of(data).chunks.value(field)[0, 0]) + change
    report = verify(with_number(data, field, number))
    assert statuses(report) == [FAILED, OK]
    assert says in first(report).reason


def test_a_bitset_that_reaches_into_the_footer_fails() -> None:
    data = with_filter(with_numbers(), (0, 0), encode_header(4096) + bytes(64))
    check = first(verify(data))
    assert (check.status, check.length, check.fpp) == (FAILED, None, None)
    assert (check.num_absent, check.measured_fpp, check.rates_agree) == (0, None, None)


def test_a_missing_length_is_a_warning() -> None:
    check = first(verify(without_length(with_numbers(), (0, 0))))
    assert (check.status, check.warnings) == (OK, ("the footer does not give its length",))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Altinity__clickhouse-regression/parquet/data/bloom/boolean_bloom.gz", "BOOLEAN"),
        ("duckdb__duckdb/data/parquet-testing/bloom_filter_short_numbytes", "the footer gives it"),
        ("duckdb__duckdb/data/parquet-testing/bloom_filter_bad_numbytes", "numBytes"),
        ("duckdb__duckdb/data/parquet-testing/bloom_filter_bad_length_range", "numBytes"),
    ],
)
def test_broken_filters_of_other_projects(corpus_dir: Path, name: str, says: str) -> None:
    report = verify(file_of(corpus_dir, f"{name}.parquet"))
    assert set(statuses(report)) == {FAILED}
    assert says in first(report).reason


# ---------------------------------------------------------------- equal, but not the same bytes


def test_the_other_zero_is_a_warning_and_a_stored_one_a_failure() -> None:
    def holding(*floats: float) -> bytes:
        return filter_of(*(struct.pack("<d", value) for value in floats))

    file = written(pa.table({"x": [0.0, 1.5]}))
    one_zero = first(verify(with_filter(file, (0, 0), holding(0.0, 1.5))))
    assert one_zero.status is OK
    assert one_zero.warnings == ("0.0 and -0.0 are equal, but only one of them is in it",)
    both = first(verify(with_filter(file, (0, 0), holding(0.0, -0.0, 1.5))))
    assert (both.status, both.warnings) == (OK, ())
    wrong = first(verify(with_filter(file, (0, 0), holding(-0.0, 1.5))))
    assert (wrong.status, wrong.num_missing, wrong.missing[0].text) == (FAILED, 1, "0.0")
    without = first(verify(with_filter(written(pa.table({"x": [1.5]})), (0, 0), holding(1.5))))
    assert (without.status, without.warnings) == (OK, ())


@pytest.mark.parametrize(("kind", "bits"), [("f4", 0xFFC00001), ("f8", 0xFFF8000000000001)])
def test_a_missing_canonical_nan_is_a_warning(kind: str, bits: int) -> None:
    odd = np.array([bits], f"<u{kind[1]}").view(f"<{kind}")
    file = written(pa.table({"x": odd}))
    check = first(verify(with_filter(file, (0, 0), filter_of(odd.tobytes()))))
    assert check.status is OK
    assert check.warnings == ("there are NaNs, but the canonical one is not in it",)


@pytest.mark.parametrize("use_dictionary", [False, True])
def test_timestamps_of_another_day_than_they_say(*, use_dictionary: bool) -> None:
    """Readers make the next day of them, and look up other bytes."""
    day = 86_400 * 10**9
    table = pa.table({"t": pa.array([0, 5000, day], pa.timestamp("ns"))})
    file = written(
        table,
        use_deprecated_int96_timestamps=True,
        use_dictionary=use_dictionary,
        compression="none",
    )
    usual, odd = struct.pack("<qI", 5000, 2_440_588), struct.pack("<qI", day + 5000, 2_440_587)
    assert file.count(usual) == 1
    file = bloomify(file, ["t"]).data or b""
    check = first(verify(with_filter(file.replace(usual, odd), (0, 0), filter_of(odd))))
    assert "INT96 timestamps have nanoseconds that are not of their day" in check.warnings[0]
    reason = "INT96 timestamps have nanoseconds that are not of their day"
    for old, more in ((file, "; the filter that was there is taken out"), (strip(file).data, "")):
        report = bloomify((old or b"").replace(usual, odd), ["t"])
        skipped = report.columns[0].chunks[0]
        assert (skipped.status, skipped.reason) == (Status.SKIPPED, reason + more)
        assert report.written == bool(more)
    again = bloomify(file.replace(usual, odd), ["t"], replace=True).data
    assert again == (strip(file).data or b"").replace(usual, odd)
    wanted = [("t", "=", table["t"][1].as_py())]
    assert read_table(again, filters=wanted).num_rows == 1


# ---------------------------------------------------------------- what cannot be checked


def test_unreadable_chunks_leave_their_filters_unchecked() -> None:
    data = with_numbers(write_page_checksum=True)
    starts = footer_of(data).chunk_starts()
    at = int(starts[1, 0]) + 1000
    report = verify(with_bytes(data, at, bytes([data[at] ^ 1])))
    assert statuses(report) == [OK, UNCHECKED]
    check = report.checks[1]
    assert check.reason.startswith("its column chunk cannot be read: ")
    assert (check.num_looked_up, check.missing) == (0, ())
    assert check.rates_agree
    assert (report.passed, report.unchecked) == (True, (check,))


def test_drafts_are_checked_when_asked_for() -> None:
    draft = bloomify(written(numbers()), ["n"], dialect="murmur3").data or b""
    report = verify(draft)
    assert statuses(report) == [UNCHECKED, UNCHECKED]
    assert "draft" in first(report).reason
    assert first(report).rates_agree
    assert statuses(verify(draft, dialect="murmur3")) == [OK, OK]
    broken = verify(without_bit(draft, (0, 0), 50), dialect="murmur3")
    assert statuses(broken) == [FAILED, OK]
    assert statuses(verify(with_numbers(), dialect="murmur3")) == [OK, OK]


def test_a_draft_of_an_impossible_size_fails() -> None:
    data = with_filter(with_numbers(), (0, 0), DRAFT_OF_96 + b"\x01" * 96)
    assert first(verify(data)).status is UNCHECKED
    assert first(verify(data, dialect="murmur3")).status is FAILED


def test_a_draft_with_a_wrong_length_fails() -> None:
    draft = encode_header(64, "murmur3") + b"\xff" * 64
    data = with_filter(with_numbers(), (0, 0), draft, length=len(draft) + 1)
    for dialect in ("xxhash", "murmur3"):
        assert first(verify(data, dialect=dialect)).status is FAILED


def test_boolean_drafts_fail(fixtures_dir: Path) -> None:
    data = (fixtures_dir / "pyarrow/every_type.parquet").read_bytes()
    broken = with_filter(data, (0, 0), encode_header(64, "murmur3") + b"\xff" * 64)
    check = first(verify(broken, dialect="murmur3"))
    assert (check.column, check.status) == ("boolean", FAILED)


def test_unknown_hashes_stay_unchecked() -> None:
    header = encode_header(64).replace(b"\x1c\x1c\x00\x00\x00", b"\x1c\x2c\x00\x00\x00")
    data = with_filter(with_numbers(), (0, 0), header + b"\xff" * 64)
    for dialect in ("xxhash", "murmur3"):
        check = first(verify(data, dialect=dialect))
        assert (check.status, "unknown" in check.reason) == (UNCHECKED, True)


# ---------------------------------------------------------------- samples


@pytest.mark.parametrize(
    ("sample", "row_groups"),
    [
        (1, (5,)),
        (2, (2, 7)),
        (5, (1, 3, 5, 7, 9)),
        (10, tuple(range(10))),
        (99, tuple(range(10))),
        (0.2, (2, 7)),
        (0.01, (5,)),
        (1.0, tuple(range(10))),
    ],
)
def test_samples_are_spread(sample: float, row_groups: tuple[int, ...]) -> None:
    report = verify(with_numbers(row_group_size=100), sample=sample)
    assert report.sampled_row_groups == row_groups
    assert report.num_looked_up == 100 * len(row_groups)
    expected = [OK if i in row_groups else UNCHECKED for i in range(10)]
    assert statuses(report) == expected
    reasons = {check.reason for check in report.unchecked}
    assert reasons <= {"its row group is not in the sample"}
    assert all(check.rates_agree for check in report.checks)


def test_samples_are_taken_of_row_groups_that_have_filters() -> None:
    data = with_numbers(row_group_size=100)
    only = with_filter(written(numbers(), row_group_size=100), (3, 0), filter_bytes(data, (3, 0)))
    report = verify(only, sample=1)
    assert (report.sampled_row_groups, statuses(report)) == ((3,), [OK])


def test_without_a_sample_all_are_checked() -> None:
    assert verify(with_numbers()).sampled_row_groups is None


# ---------------------------------------------------------------- rates


def test_rates_are_measured_as_often_as_asked_for() -> None:
    check = first(verify(with_numbers(), absent=5000))
    assert check.num_absent == 5000
    assert 0 < 5000 * (check.measured_fpp or 0) == round(5000 * (check.measured_fpp or 0))
    none = first(verify(with_numbers(), absent=0))
    assert (none.num_absent, none.measured_fpp, none.rates_agree) == (0, None, None)
    assert none.fpp == check.fpp


@given(load=st.sampled_from([0, 1, 5, 30, 200, 5000]), seed=st.integers(0, 2**32))
def test_sound_rates_agree(load: int, seed: int) -> None:
    bits = Sbbf.empty(8)
    ours = np.random.default_rng((seed, 1))  # never the series of absent hashes
    bits.insert_hashes(ours.integers(0, 2**64, load, np.uint64))
    data = with_filter(with_numbers(), (0, 0), bits.to_bytes())
    assert first(verify(data, absent=2000)).rates_agree


@pytest.mark.parametrize("factor", [0.5, 0.8, 1.25, 2.0])
def test_rates_that_are_off_do_not_agree(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = Sbbf.exact_fpp
    monkeypatch.setattr(Sbbf, "exact_fpp", lambda self: factor * exact(self))
    assert first(verify(with_numbers(), absent=2_000_000)).rates_agree is False


# ---------------------------------------------------------------- options


@pytest.mark.parametrize(
    "options",
    [
        {"sample": 0},
        {"sample": -1},
        {"sample": 0.0},
        {"sample": 1.5},
        {"sample": float("nan")},
        {"absent": -1},
        {"jobs": 0},
        {"dialect": "md5"},
    ],
)
def test_impossible_options(options: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument):
        verify(with_numbers(), **options)  # type: ignore[arg-type]


def test_columns() -> None:
    data = bloomify(written()).data or b""
    assert {check.column for check in verify(data, ["city"]).checks} == {"city"}
    order = [(check.column, check.row_group) for check in verify(data).checks]
    assert order == [(name, i) for name in ("id", "email", "city") for i in range(2)]
    with pytest.raises(ColumnNotFound):
        verify(data, ["nosuch"])


def test_files_on_file_systems(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(with_numbers())
    folder = SubTreeFileSystem(str(tmp_path), LocalFileSystem())
    on_folder = verify("a.parquet", filesystem=folder)
    local = verify(tmp_path / "a.parquet")
    assert on_folder.checks == local.checks != ()
