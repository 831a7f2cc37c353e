"""The log: entries are there as a whole or not at all, and one writer gets each id."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloomwriter import durable
from parquet_bloomwriter.errors import IndexProblem
from parquet_bloomwriter.index.entry import (
    STABLE,
    Entry,
    GlobalFilter,
    IndexedColumn,
    IndexFile,
    OtherFormat,
    SliceFile,
    State,
    from_json,
    to_json,
)
from parquet_bloomwriter.index.log.log import IndexLog
from parquet_bloomwriter.replace.temporary import temporary_beside

texts = st.text(max_size=12)
counts = st.integers(min_value=0, max_value=1 << 62)
rates = st.floats(min_value=0, max_value=1)
segments = st.text(min_size=1, max_size=9).filter(
    lambda x: not {"/", "\0"} & set(x) and x not in {".", ".."}
)
files = st.builds(
    IndexFile, path=st.lists(segments, min_size=1, max_size=3).map("/".join), size=counts
)
columns = st.builds(
    IndexedColumn,
    name=texts,
    fpp=rates,
    expected_num_items=st.none() | counts,
    parts=st.lists(files, max_size=3).map(tuple),
    global_filter=st.none()
    | st.builds(GlobalFilter, file=files, fpp=rates, ndv=counts, stop=counts),
    no_global=texts,
    slices=st.none() | st.builds(SliceFile, file=files, digest=texts),
)
entries = st.builds(
    Entry,
    id=counts,
    name=texts,
    state=st.sampled_from(State),
    version=st.integers(min_value=-1, max_value=1 << 40),
    root=st.none() | texts,
    columns=st.lists(columns, max_size=3).map(tuple),
    manifest=st.none() | files,
    next_file_id=counts,
    num_files=counts,
    source_bytes=counts,
    action=texts,
    created_ms=st.integers(min_value=0, max_value=253_402_300_799_999),
    attempt=texts,
    options=st.dictionaries(texts, texts, max_size=3),
    kind=st.just("BloomFilterIndex"),
)


def entry(entry_id: int, state: State = State.ACTIVE, **others: object) -> Entry:
    plain = Entry(id=entry_id, name="ids", state=state, version=0, root=None, columns=())
    return replace(plain, **others)  # type: ignore[arg-type]


@pytest.fixture
def log(tmp_path: Path) -> IndexLog:
    (tmp_path / "_log").mkdir()
    return IndexLog(str(tmp_path))


def names(log: IndexLog) -> list[str]:
    return sorted(path.name for path in Path(log.log_folder).iterdir())


@given(entries)
def test_an_entry_reads_back_as_it_was(one: Entry) -> None:
    assert from_json(to_json(one), path="x") == one


@given(entries, st.data())
def test_a_part_of_an_entry_is_no_entry(one: Entry, data: st.DataObject) -> None:
    whole = to_json(one)
    length = data.draw(st.integers(min_value=0, max_value=len(whole) - 3))
    with pytest.raises(IndexProblem, match="cannot be read"):
        from_json(whole[:length], path="x")


def as_before(one: Entry) -> dict[str, Any]:
    """Return an entry as older versions wrote it, without a checksum."""
    found: dict[str, Any] = json.loads(to_json(one))
    del found["crc"]
    return found


def changed(**values: object) -> bytes:
    column = IndexedColumn(
        name="id",
        fpp=0.01,
        parts=(IndexFile(path="v__=0/a", size=1),),
        global_filter=GlobalFilter(file=IndexFile(path="v__=0/g", size=1), fpp=0.1, ndv=3, stop=2),
        slices=SliceFile(file=IndexFile(path="v__=0/s", size=1), digest="00"),
    )
    found = as_before(entry(0, columns=(column,)))
    for name, value in values.items():
        *parents, last = name.split("__")
        place: Any = found
        for parent in parents:
            place = place[int(parent) if parent.isdigit() else parent]
        place[last] = value
    return json.dumps(found).encode()


@pytest.mark.parametrize(
    "values",
    [
        {"id": -1},
        {"id": True},
        {"id": "0"},
        {"name": None},
        {"state": "ASLEEP"},
        {"version": -2},
        {"root": 7},
        {"columns": None},
        {"columns": {}},
        {"columns": [3]},
        {"options": []},
        {"options": {"a": 1}},
        {"attempt": 3},
        {"manifest": {"path": "/etc/passwd", "size": 1}},
        {"manifest": {"path": "v__=0/../../x", "size": 1}},
        {"manifest": {"path": "", "size": 1}},
        {"manifest": {"path": "a", "size": -1}},
        {"manifest": {"path": "a"}},
        {"columns__0__fpp": 2},
        {"columns__0__parts": "abc"},
        {"columns__0__expected_num_items": 1.5},
        {"columns__0__global_filter__stop": None},
        {"columns__0__slices": "v__=0/s"},
        {"columns__0__slices__digest": 7},
        {"columns__0__slices__file": {"path": "../s", "size": 1}},
    ],
)
def test_values_of_other_kinds_are_refused(values: dict[str, object]) -> None:
    assert from_json(changed(), path="x").columns[0].name == "id"
    with pytest.raises(IndexProblem, match="cannot be read"):
        from_json(changed(**values), path="x")


@pytest.mark.parametrize("name", ["id", "name", "state", "columns", "created_ms", "format"])
def test_a_missing_name_is_refused(name: str) -> None:
    found = json.loads(changed())
    del found[name]
    with pytest.raises(IndexProblem, match="cannot be read"):
        from_json(json.dumps(found).encode(), path="x")


def test_an_entry_of_an_older_version_names_no_attempt() -> None:
    found = as_before(entry(0, attempt="mine"))
    assert from_json(json.dumps(found).encode(), path="x").attempt == "mine"
    del found["attempt"]
    assert from_json(json.dumps(found).encode(), path="x") == entry(0, attempt="")


def test_an_entry_of_an_older_version_names_no_slices() -> None:
    found = json.loads(changed())
    assert from_json(json.dumps(found).encode(), path="x").columns[0].slices is not None
    del found["columns"][0]["slices"]
    assert from_json(json.dumps(found).encode(), path="x").columns[0].slices is None


def test_no_flipped_bit_makes_another_entry() -> None:
    """Nor an entry without checksums, though names that are not known are passed over."""
    manifest = IndexFile(path="v__=0/m", size=1, crc=5)
    one = entry(0, manifest=manifest, attempt="mine")
    data = to_json(one)
    for place in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[place // 8] ^= 1 << place % 8
        try:
            found = from_json(bytes(flipped), path="x")
        except OtherFormat:
            pytest.fail(f"cancel would leave this entry alone: {bytes(flipped)!r}")
        except IndexProblem:
            continue
        assert found == one, (place, bytes(flipped))
    without = json.loads(data)
    del without["crc"]
    with pytest.raises(IndexProblem, match="lost its checksum"):
        from_json(json.dumps(without).encode(), path="x")


def test_an_equal_entry_of_another_attempt_is_not_held(log: IndexLog) -> None:
    mine, other = entry(0, attempt="mine"), entry(0, attempt="other")
    assert log.write(other)
    assert (log.write(mine), log.holds(mine), log.holds(other)) == (False, False, True)


def test_names_that_are_not_known_are_passed_over() -> None:
    assert from_json(changed(colour="blue"), path="x") == from_json(changed(), path="x")


@pytest.mark.parametrize("values", [{"format": 2}, {"kind": "CoveringIndex"}])
def test_an_entry_of_another_version_is_left_to_that(
    log: IndexLog, values: dict[str, object]
) -> None:
    assert log.write(entry(0))
    Path(log.log_folder, "1").write_bytes(changed(id=1, **values))
    with pytest.raises(IndexProblem, match="another version of this package"):
        log.latest()
    with pytest.raises(IndexProblem, match="another version of this package"):
        log.latest_stable()


def test_a_log_that_is_not_there_has_no_entries(tmp_path: Path) -> None:
    log = IndexLog(str(tmp_path / "none"))
    assert (log.ids(), log.latest(), log.latest_stable(), list(log.entries())) == (
        [],
        None,
        None,
        [],
    )


def test_an_id_is_given_once(log: IndexLog) -> None:
    first, second = entry(0), entry(0, State.CREATING)
    assert (log.write(first), log.write(second), log.write(first)) == (True, False, False)
    assert (log.get(0), log.holds(first), log.holds(second)) == (first, True, False)
    assert names(log) == ["0"]


def test_ids_are_ordered_as_numbers_and_other_names_do_not_count(log: IndexLog) -> None:
    for number in range(12):
        assert log.write(entry(number))
    for name in ("00", "-1", "x", ".12.bloomify-0123456789abcdef.tmp", "13.tmp"):
        Path(log.log_folder, name).write_bytes(b"")
    latest = log.latest()
    assert latest is not None
    assert (log.ids(), latest.id) == (list(range(12)), 11)


@given(st.lists(st.sampled_from(State), max_size=8))
def test_the_newest_stable_entry_counts(
    tmp_path_factory: pytest.TempPathFactory, states: list[State]
) -> None:
    log = IndexLog(str(tmp_path_factory.mktemp("log")))
    Path(log.log_folder).mkdir()
    written = [entry(number, state) for number, state in enumerate(states)]
    assert all(log.write(one) for one in written)
    stable = [one for one in written if one.state in STABLE]
    assert log.latest_stable() == (stable[-1] if stable else None)
    assert log.latest() == (written[-1] if written else None)
    assert list(log.entries()) == written


def test_only_the_newest_entries_are_read(log: IndexLog) -> None:
    for number in range(20):
        Path(log.log_folder, str(number)).write_bytes(b"nobody reads this")
    assert log.write(entry(20))
    assert log.write(entry(21, State.REFRESHING))
    assert log.latest_stable() == entry(20)


@pytest.mark.parametrize("data", [b"", b"\0" * 700, b"[]", b'{"id": 1}', b"\xff"])
def test_a_torn_entry_is_passed_over_by_queries_and_named_by_all_others(
    log: IndexLog, data: bytes
) -> None:
    assert log.write(entry(0))
    path = Path(log.log_folder, "1")
    path.write_bytes(data)
    assert log.latest_stable() == entry(0)
    for read in (log.latest, lambda: log.get(1), lambda: list(log.entries())):
        with pytest.raises(IndexProblem) as caught:
            read()
        assert caught.value.path == str(path)
    assert not log.write(entry(1))
    assert path.read_bytes() == data


def test_a_log_with_torn_entries_only_does_not_pass_for_an_empty_one(log: IndexLog) -> None:
    Path(log.log_folder, "0").write_bytes(b"{")
    with pytest.raises(IndexProblem, match="cannot be read"):
        log.latest_stable()


def test_an_entry_that_says_another_id_is_refused(log: IndexLog) -> None:
    Path(log.log_folder, "3").write_bytes(to_json(entry(2)))
    with pytest.raises(IndexProblem, match="says that it is number 2"):
        log.get(3)


def fail(number: int) -> OSError:
    return OSError(number, os.strerror(number))


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS])
def test_without_hard_links_an_id_is_given_once_too(
    log: IndexLog, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def no_link(*_: object) -> None:
        raise fail(number)

    monkeypatch.setattr(os, "link", no_link)
    assert (log.write(entry(0)), log.write(entry(0, State.CREATING))) == (True, False)
    assert (log.get(0), names(log)) == (entry(0), ["0"])


def test_without_hard_links_a_failed_writer_gives_the_id_back(
    log: IndexLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise fail(errno.EPERM)

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError):
        log.write(entry(0))
    assert names(log) == []


@pytest.mark.parametrize("step", ["fsync", "fchmod", "link", "write"])
def test_a_failure_before_the_name_is_given_leaves_nothing(
    log: IndexLog, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def refuse(*_: object) -> None:
        raise fail(errno.EIO)

    monkeypatch.setattr(os, step, refuse)
    with pytest.raises(OSError, match="Input/output"):
        log.write(entry(0))
    monkeypatch.undo()
    assert names(log) == []


def test_a_link_that_was_made_but_is_said_to_exist_counts(
    log: IndexLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def twice(one: str, other: str) -> None:
        link(one, other)
        link(one, other)

    monkeypatch.setattr(os, "link", twice)
    assert log.write(entry(0))
    assert (log.get(0), names(log)) == (entry(0), ["0"])


def test_what_killed_writers_left_is_removed_and_nothing_else(log: IndexLog) -> None:
    assert log.write(entry(0))
    folder = Path(log.log_folder)
    linked, stale = (folder / f".{n}.bloomify-0123456789abcde{n}.tmp" for n in (0, 1))
    linked.hardlink_to(folder / "0")
    stale.write_bytes(b"{")
    (folder / "notes.txt").write_text("mine")
    with temporary_beside(str(folder / "2"), permissions=0o600) as living:
        durable.remove_leftovers(log.log_folder)
        assert names(log) == sorted(["0", "notes.txt", Path(living.path).name])
    assert names(log) == ["0", "notes.txt"]
    assert log.get(0) == entry(0)


def test_what_cannot_be_looked_at_is_no_reason_to_fail(
    log: IndexLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some network file systems answer "stale file handle" for what another machine removed."""
    stale = Path(log.log_folder) / ".0.bloomify-0123456789abcdef.tmp"
    lstat = os.lstat

    def refuse(path: str) -> os.stat_result:
        if Path(path).name == "0":
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), path)
        return lstat(path)

    stale.parent.mkdir(parents=True, exist_ok=True)
    stale.write_bytes(b"{")
    monkeypatch.setattr(os, "lstat", refuse)
    durable.remove_leftovers(log.log_folder)
    monkeypatch.undo()
    assert names(log) == []
