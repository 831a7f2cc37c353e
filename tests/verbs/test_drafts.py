"""Filters of the Murmur3 drafts: asked only on request, and then as whoever wrote them meant it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_bloomwriter import (
    BloomFile,
    InvalidArgument,
    MalformedFilter,
    Status,
    bloomify,
    dataset,
    iter_batches,
    probe,
    read_table,
    verify,
)
from parquet_bloomwriter.metadata.fields import ChunkField
from parquet_bloomwriter.reports.verification import CheckStatus
from parquet_bloomwriter.sbbf import encode_header
from tests.sbbf.test_vectors import MURMUR_BYTES, MURMUR_SEED, NUM_BYTES, VALUES, bitset
from tests.support.asking import found_in
from tests.verbs.broken_filters import with_bytes, with_filter, without_bit
from tests.verbs.files import filter_bytes, footer_of, read, with_filter_at, written
from tests.verbs.test_verify import DRAFT_OF_96

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloomwriter.rewrite.report import AddReport

OK, FAILED, UNCHECKED = CheckStatus
MURMUR3: Any = {"dialect": "murmur3"}
SEEDED: Any = {"dialect": "murmur3", "murmur3_seed": MURMUR_SEED}
FEW, MANY = 5, 300
"""Values that are looked up block by block, and in whole filters."""

GROUPS = 4
ROWS = 4000


def interleaved(values: list[int]) -> list[int]:
    """Spread values over the row groups so that each spans them all."""
    return [value for group in range(GROUPS) for value in values[group::GROUPS]]


def numbers(**options: Any) -> AddReport:  # noqa: ANN401  of bloomify
    """Add filters to a file of four row groups; group g has the ids that are 7 (4 k + g)."""
    table = pa.table({"id": interleaved([7 * i for i in range(ROWS)])})
    data = written(
        table, row_group_size=ROWS // GROUPS, use_dictionary=False, write_statistics=False
    )
    return bloomify(data, ["id"], **options)


def draft(**options: Any) -> bytes:  # noqa: ANN401  of bloomify
    """Return a file with filters of the drafts."""
    return numbers(**{**MURMUR3, **options}).data or b""


def group_of(number: int) -> int:
    """Row group that holds an id."""
    return number // 7 % GROUPS


@pytest.mark.parametrize("options", [MURMUR3, SEEDED])
def test_the_matching_reader_finds_what_was_written(options: dict[str, Any]) -> None:
    data = draft(**options)
    for i in range(0, ROWS, 37):
        surviving = probe(data, f"id = {7 * i}", **options).files[0].surviving
        assert group_of(7 * i) in surviving
    pruned = [probe(data, f"id = {7 * i + 3}", **options).files[0].surviving for i in range(200)]
    assert sum(map(len, pruned)) <= 0.03 * GROUPS * 200


@pytest.mark.parametrize("options", [MURMUR3, SEEDED])
@pytest.mark.parametrize("count", [FEW, MANY])
def test_open_files_look_up_single_blocks_and_whole_filters(
    options: dict[str, Any], count: int
) -> None:
    data = draft(**options)
    present = np.arange(count) * 7
    with BloomFile(data, **options) as file:
        assert found_in(file, "id", present).all()
        assert found_in(file, "id", present.tolist()).all()
        assert not found_in(file, "id", present + 3).all()
        for group in range(GROUPS):
            found = found_in(file, "id", present, row_group=group)
            assert found[present // 7 % GROUPS == group].all()
            assert not found.all()
        bits = file.filter(0, "id")
        assert bits is not None
        assert (bits.dialect, bits.murmur3_seed) == ("murmur3", options.get("murmur3_seed", 0))
        assert all(bits.check(7 * i, "INT64") for i in range(0, ROWS, GROUPS))


@pytest.mark.parametrize("count", [FEW, MANY])
def test_without_the_option_drafts_decide_nothing(tmp_path: Path, count: int) -> None:
    """Also where the same process asked them before, whose footers are kept."""
    path = tmp_path / "x.parquet"
    path.write_bytes(draft())
    absent = np.arange(count) * 7 + 3
    for options, pruned in [({}, False), (MURMUR3, True)] * 2:
        surviving = probe(path, f"id = {absent[1]}", **options).files[0].surviving
        assert (len(surviving) < GROUPS) is pruned
        with BloomFile(path, **options) as file:
            assert (not found_in(file, "id", absent).all()) is pruned
    check = probe(path, f"id = {absent[1]}").files[0].row_groups[0].checks[0]
    assert (check.evidence, "draft" in check.reason) == ("none", True)
    with BloomFile(path) as file, pytest.raises(MalformedFilter, match="draft"):
        file.filter(0, "id")


def test_the_seed_must_be_the_writer_s() -> None:
    data = draft(murmur3_seed=1)
    statuses = {check.status for check in verify(data, **MURMUR3).checks}
    assert statuses == {FAILED}
    right = verify(data, dialect="murmur3", murmur3_seed=1)
    assert {check.status for check in right.checks} == {OK}
    assert sum(check.num_looked_up for check in right.checks) == ROWS


def test_the_published_filter_in_a_file() -> None:
    words = [value.decode() for value in VALUES]
    data = written(pa.table({"word": words}), write_statistics=False, use_dictionary=False)
    published = encode_header(NUM_BYTES, "murmur3") + bitset(MURMUR_BYTES)
    data = with_filter(data, (0, 0), published)
    for word in words:
        assert probe(data, f"word = '{word}'", **SEEDED).might_match
        assert not probe(data, f"word = '{word[::-1]}'", **SEEDED).might_match
    assert verify(data, **SEEDED).checks[0].status is OK
    assert verify(data, **MURMUR3).checks[0].status is FAILED
    with BloomFile(data, **SEEDED) as file:
        assert file.filter(0, "word").to_bytes() == published  # type: ignore[union-attr]


def test_values_are_absent_at_the_rate_of_the_filter() -> None:
    report = numbers(dialect="murmur3", fpp=0.05, ndv=200_000)
    assert report.data is not None
    random = np.random.default_rng(5).integers(10**6, 2**62, 40_000)
    with BloomFile(report.data, **MURMUR3) as file:
        for group, chunk in enumerate(report.columns[0].chunks):
            assert chunk.fpp is not None
            rate = found_in(file, "id", random, row_group=group).mean()
            spread = 5 * (chunk.fpp * (1 - chunk.fpp) / len(random)) ** 0.5
            assert chunk.fpp <= 0.05
            assert rate == pytest.approx(chunk.fpp, abs=spread)


@pytest.mark.parametrize(
    "name",
    ["pyarrow/every_type", "pyarrow/decimals", "pyarrow/int96", "pyarrow/nested", "spark/legacy"],
)
def test_values_of_every_type_are_found(fixtures_dir: Path, name: str) -> None:
    report = bloomify((fixtures_dir / f"{name}.parquet").read_bytes(), replace=True, **SEEDED)
    assert report.data is not None
    checks = verify(report.data, **SEEDED).checks
    assert checks
    assert {check.status for check in checks} == {OK}
    assert all(check.num_missing == 0 for check in checks)
    assert all(check.rates_agree for check in checks)
    table = read(report.data)
    with BloomFile(report.data, **SEEDED) as file:
        for column in report.columns:
            if column.name not in table.column_names or not column.chunks[0].length:
                continue
            values = table[column.name].drop_null().unique().to_pylist()
            for some in (values[:FEW], values * (1 + MANY // len(values))):
                assert found_in(file, column.name, some).all(), column.name


VALUES_OF = {
    "int": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "short": (pa.int16(), st.integers(-(2**15), 2**15 - 1)),
    "unsigned": (pa.uint32(), st.integers(0, 2**32 - 1)),
    "double": (pa.float64(), st.floats(allow_nan=False)),
    "float": (pa.float32(), st.floats(width=32, allow_nan=False)),
    "text": (pa.string(), st.text(st.characters(codec="utf-8"), max_size=40)),
    "bytes": (pa.binary(), st.binary(max_size=40)),
    "uuid": (pa.binary(16), st.binary(min_size=16, max_size=16)),
    "wide": (pa.binary(33), st.binary(min_size=33, max_size=33)),
    "day": (pa.date32(), st.dates()),
    "decimal": (pa.decimal128(30, 2), st.decimals(-(10**9), 10**9, places=2)),
    "small": (pa.decimal128(9, 2), st.decimals(-(10**6), 10**6, places=2)),
}


@given(st.data(), st.sampled_from(sorted(VALUES_OF)), st.sampled_from([0, 1, 2**32 - 1]))
@settings(max_examples=15)
def test_every_value_is_found_whatever_it_is(data: st.DataObject, kind: str, seed: int) -> None:
    arrow, drawn = VALUES_OF[kind]
    values = data.draw(st.lists(drawn, min_size=1, max_size=30))
    table = pa.table({"x": pa.array(values, arrow)})
    file = bloomify(
        written(table, row_group_size=7, write_statistics=False),
        ["x"],
        dialect="murmur3",
        murmur3_seed=seed,
    ).data
    assert file is not None
    options: Any = {"dialect": "murmur3", "murmur3_seed": seed}
    for place, value in enumerate(table["x"].to_pylist()):
        report = probe(file, [("x", "=", value)], **options)
        assert place // 7 in report.files[0].surviving
        assert report.num_filters > 0
        rows = read_table(file, filters=[("x", "=", value)], **options)
        assert value in rows["x"].to_pylist()


def test_files_may_have_filters_of_both_kinds() -> None:
    table = pa.table({name: interleaved([7 * i for i in range(ROWS)]) for name in ("a", "b")})
    data = written(table, row_group_size=ROWS // GROUPS, use_dictionary=False)
    data = bloomify(bloomify(data, ["a"]).data or b"", ["b"], **SEEDED).data or b""
    options: Any
    for options in ({}, SEEDED):
        for column in ("a", "b"):
            surviving = probe(data, f"{column} = 21", **options).files[0].surviving
            assert 3 in surviving
            is_asked = column == "a" or options
            assert (len(surviving) < GROUPS) is bool(is_asked)
    with BloomFile(data, **SEEDED) as file:
        released, of_draft = file.filter(0, "a"), file.filter(0, "b")
        assert released is not None
        assert of_draft is not None
        assert (released.dialect, of_draft.dialect) == ("xxhash", "murmur3")
        for column in ("a", "b"):
            for count in (FEW, MANY):
                assert found_in(file, column, np.arange(count) * 7).all()
                assert not found_in(file, column, np.arange(count) * 7 + 1).all()
    assert {check.status for check in verify(data, **SEEDED).checks} == {OK}


def test_one_column_may_have_filters_of_both_kinds() -> None:
    """In one row group each; several hashes are looked up at once."""
    data, released = draft(), numbers().data or b""
    data = with_filter(data, (1, 0), filter_bytes(released, (1, 0)))
    listed = ", ".join(str(7 * i) for i in range(1, ROWS, 100 * GROUPS))
    assert probe(data, f"id IN ({listed})", **MURMUR3).files[0].surviving == (1,)
    for i in range(0, ROWS, 50):
        assert group_of(7 * i) in probe(data, f"id = {7 * i}", **MURMUR3).files[0].surviving
    assert {check.status for check in verify(data, **MURMUR3).checks} == {OK}


def test_many_values_at_once() -> None:
    """So many that whole filters are read."""
    data = numbers(fpp=1e-5, **SEEDED).data or b""
    absent = [7 * i + 3 for i in range(100)]
    assert not probe(data, [("id", "in", absent)], **SEEDED).might_match
    for i in range(0, ROWS, 487):
        (file,) = probe(data, [("id", "in", [*absent, 7 * i])], **SEEDED).files
        assert file.surviving == (group_of(7 * i),)


def test_drafts_that_hold_every_value_are_kept() -> None:
    data = draft()
    for options, kept in [
        (MURMUR3, GROUPS),
        (SEEDED, 0),
        ({}, 0),
        ({**MURMUR3, "replace": True}, 0),
    ]:
        report = bloomify(data, ["id"], **options)
        (column,) = report.columns
        assert [chunk.status for chunk in column.chunks].count(Status.KEPT) == kept
        assert len(column.built) == GROUPS - kept
        assert report.written is (kept == 0)
    (chunk, *_) = bloomify(data, ["id"], **MURMUR3).columns[0].chunks
    assert chunk.length == len(filter_bytes(data, (0, 0)))
    lacking = without_bit(data, (2, 0), 7)
    (column,) = bloomify(lacking, ["id"], **MURMUR3).columns
    assert [chunk.row_group for chunk in column.built] == [2]


@pytest.mark.parametrize("size", [32, 96])
def test_drafts_of_other_sizes_are_replaced(size: int) -> None:
    header = encode_header(size).replace(b"\x1c\x1c\x00\x00", b"", 1)
    data = with_filter(draft(), (0, 0), header + b"\xff" * size)
    (column,) = bloomify(data, ["id"], **MURMUR3).columns
    assert [chunk.row_group for chunk in column.built] == [0]
    assert "a power of two above 32" in column.built[0].reason


def test_folders_of_both_kinds(tmp_path: Path) -> None:
    for number, options in enumerate([{}, MURMUR3, {}, MURMUR3]):
        (tmp_path / f"{number}.parquet").write_bytes(numbers(**options).data or b"")
    for _ in range(2):
        for i in (0, 1, 1001, 3999):
            report = probe(tmp_path, f"id = {7 * i}", **MURMUR3)
            assert all(group_of(7 * i) in file.surviving for file in report.files)
        absent = probe(tmp_path, "id = 10", **MURMUR3).files
        assert sum(len(file.surviving) for file in absent) <= 1
        without = probe(tmp_path, "id = 10").files
        assert [len(file.surviving) == GROUPS for file in without] == [False, True, False, True]


def test_reading_verbs_read_only_what_survives() -> None:
    """Row groups without the id are damaged: whoever decodes them fails."""
    data = draft()
    chunks = footer_of(data).chunk_starts()
    for group in (0, 1, 2):
        data = with_bytes(data, int(chunks[group, 0]), b"\xff" * 40)
    condition = f"id = {7 * 3}"
    with pytest.raises((OSError, pa.ArrowException)):
        read_table(data, filters=condition)
    assert read_table(data, filters=condition, **MURMUR3)["id"].to_pylist() == [21]
    batches = iter_batches(data, filters=condition, **MURMUR3)
    assert pa.Table.from_batches(batches)["id"].to_pylist() == [21]
    assert dataset(data, filters=condition, **MURMUR3).to_table()["id"].to_pylist() == [21]


@pytest.mark.parametrize(
    "header", [DRAFT_OF_96, encode_header(32).replace(b"\x1c\x1c\x00\x00", b"", 1)]
)
def test_sizes_that_the_drafts_do_not_have_are_not_trusted(header: bytes) -> None:
    size = 96 if header is DRAFT_OF_96 else 32
    data = with_filter(draft(), (0, 0), header + b"\x01" + bytes(size - 1))
    check = probe(data, "id = 10", **MURMUR3).files[0].row_groups[0].checks[0]
    assert (check.verdict, check.evidence) == ("MIGHT_MATCH", "none")
    assert f"numBytes = {size}, but the Murmur3 drafts ask for a power of two" in check.reason
    with BloomFile(data, **MURMUR3) as file:
        assert file.might_contain("id", 10, row_group=0)
        assert found_in(file, "id", np.arange(MANY) * 7 + 1, row_group=0).all()
        with pytest.raises(MalformedFilter, match="a power of two above 32"):
            file.filter(0, "id")


def test_drafts_are_distrusted_for_the_same_reasons_as_others() -> None:
    data = draft()
    raw = filter_bytes(data, (0, 0))
    place = footer_of(data).chunks.values[1, 0, ChunkField.BLOOM_FILTER_OFFSET]
    second = (int(place), len(raw))
    size = len(raw) // 32 * 32
    broken = {
        "the footer gives it": with_filter(data, (0, 0), raw, length=len(raw) + 1),
        "all its bits are zero": with_filter(data, (0, 0), raw[:-size] + bytes(size)),
        "another column chunk's filter": with_filter_at(data, (0, 0), second),
    }
    for reason, file in broken.items():
        check = probe(file, "id = 10", **MURMUR3).files[0].row_groups[0].checks[0]
        assert (check.verdict, check.evidence) == ("MIGHT_MATCH", "none")
        assert reason in check.reason


@pytest.mark.parametrize(
    "options",
    [
        {"dialect": "md5"},
        {"murmur3_seed": 5},
        {"dialect": "murmur3", "murmur3_seed": -1},
        {"dialect": "murmur3", "murmur3_seed": 2**32},
        {"dialect": "murmur3", "murmur3_seed": "5"},
    ],
)
def test_dialects_and_seeds_that_there_are_not(options: dict[str, Any]) -> None:
    data = written()
    asking: Any = {"filters": "id = 1", **options}
    for call in (
        lambda: bloomify(data, ["id"], **options),
        lambda: verify(data, **options),
        lambda: BloomFile(data, **options),
        lambda: probe(data, **asking),
        lambda: read_table(data, **asking),
        lambda: iter_batches(data, **asking),
        lambda: dataset(data, **asking),
    ):
        with pytest.raises(InvalidArgument):
            call()
    with pytest.raises(InvalidArgument, match="powers of two"):
        bloomify(data, ["id"], dialect="murmur3", sizing="exact")
