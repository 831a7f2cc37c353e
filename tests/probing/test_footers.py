"""Footers are read once for each state of a file, within a bound, by many threads at once."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pytest

from parquet_bloomwriter.caches import clear_cache
from parquet_bloomwriter.predicate import parse
from parquet_bloomwriter.predicate.bind import domains_of
from parquet_bloomwriter.probing.footer_cache import CACHE, FooterCache, cached_footer
from parquet_bloomwriter.source import BufferSource, open_for_reading
from parquet_bloomwriter.verbs.probe import probe
from tests.support.asking import known
from tests.verbs.files import people, written

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from parquet_bloomwriter.probing.report import FileProbe

FILTERED = {"id": {"ndv": 500, "fpp": 0.001}}
DATA = written(bloom_filter_options=FILTERED, write_statistics=False, use_dictionary=False)
LONG_AGO_NS = 1_600_000_000 * 10**9


@pytest.fixture(autouse=True)
def empty_cache() -> Iterator[None]:
    clear_cache()
    yield
    clear_cache()


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are taken to have been written long ago."""
    monkeypatch.setattr("parquet_bloomwriter.source.identity._TICK_NS", -(2**62))


def ask(path: Path, value: int) -> FileProbe:
    (found,) = probe(path, [("id", "=", value)]).files
    return found


def test_what_is_kept_is_found_until_it_is_forgotten() -> None:
    cache = FooterCache()
    files = [known(DATA, 0), known(DATA, 0)]
    assert cache.get("a") is None
    cache.put("a", files[0])
    cache.put("b", files[1])
    assert (cache.get("a"), cache.get("b"), len(cache)) == (files[0], files[1], 2)
    cache.put("a", files[1])
    assert (cache.get("a"), len(cache)) == (files[1], 2)
    cache.clear()
    assert (cache.get("a"), cache.get("b"), len(cache)) == (None, None, 0)


def test_those_used_least_recently_go_first() -> None:
    file = known(DATA, 0)
    cache = FooterCache(3 * file.weight)
    for name in "abc":
        cache.put(name, file)
    assert cache.get("a") is file
    cache.put("d", file)
    assert [cache.get(name) is not None for name in "abcd"] == [True, False, True, True]
    for _ in range(10):
        cache.put("d", file)
    assert [cache.get(name) is not None for name in "abcd"] == [True, False, True, True]


def test_what_is_larger_than_the_bound_is_not_kept() -> None:
    file = known(DATA, 0)
    cache = FooterCache(file.weight - 1)
    cache.put("a", file)
    assert len(cache) == 0
    small = FooterCache(file.weight)
    small.put("a", file)
    small.put("b", file)
    assert [small.get(name) is not None for name in "ab"] == [False, True]


def test_the_weight_grows_with_the_footer_and_its_row_groups() -> None:
    many = written(people(1000), row_group_size=10)
    assert known(many).weight > known(DATA).weight > len(known(DATA).data)


def test_threads_share_a_cache() -> None:
    file = known(DATA, 0)
    cache = FooterCache(5 * file.weight)

    def work(seed: int) -> None:
        for key in np.random.default_rng(seed).integers(0, 20, 500).tolist():
            cache.put(key, file)
            assert cache.get(key) in (file, None)
            assert len(cache) <= 6

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    cache.put("last", file)
    assert len(cache) == 5
    cache.clear()
    cache.put("a", file)
    assert len(cache) == 1


@pytest.mark.usefixtures("settled")
def test_a_second_question_reads_one_block_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(DATA)
    first, second, third = ask(path, 5), ask(path, 5), ask(path, 77_777)
    footer_bytes = len(known(DATA).data) + 8
    assert first.bytes_read - footer_bytes == 2 * (32 + 32)
    assert first.requests == 2 + 4
    assert (second.requests, second.bytes_read) == (2, 64)
    assert (third.requests, third.bytes_read) == (2, 64)
    assert (first.surviving, second.surviving, third.surviving) == ((0,), (0,), ())


def test_a_file_that_was_just_written_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(DATA)
    assert ask(path, 5).bytes_read == ask(path, 5).bytes_read > len(known(DATA).data)
    assert len(CACHE) == 0


@pytest.mark.parametrize("in_place", [True, False])
def test_a_change_is_noticed_within_the_same_second(tmp_path: Path, *, in_place: bool) -> None:
    path = tmp_path / "x.parquet"
    for round_ in range(20):
        shifted = people(1000).set_column(0, "id", [np.arange(1000) + 10_000 * round_])
        data = written(
            shifted, bloom_filter_options=FILTERED, write_statistics=False, use_dictionary=False
        )
        if in_place:
            path.write_bytes(data)
        else:
            path.with_suffix(".new").write_bytes(data)
            path.with_suffix(".new").replace(path)
        assert ask(path, 10_000 * round_ + 3).surviving == (0,)
        assert ask(path, 10_000 * round_ + 503).surviving == (1,)
        if round_:
            assert ask(path, 10_000 * (round_ - 1) + 3).surviving == ()


@pytest.mark.usefixtures("settled")
def test_the_same_size_and_time_but_another_file(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    for offset in (0, 10_000):
        table = people(1000).set_column(0, "id", [np.arange(1000) + offset])
        data = written(table, write_statistics=True, compression="none", use_dictionary=False)
        path.with_suffix(".new").write_bytes(data)
        path.with_suffix(".new").replace(path)
        os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
        assert ask(path, offset + 3).surviving == (0,)


@pytest.mark.usefixtures("settled")
def test_the_same_file_and_size_but_another_time(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    sizes = set()
    for offset in (0, 10_000):
        table = people(1000).set_column(0, "id", [np.arange(1000) + offset])
        data = written(table, compression="none", use_dictionary=False)
        with path.open("r+b" if offset else "wb") as file:
            file.write(data)
        sizes.add(path.stat().st_size)
        assert ask(path, offset + 3).surviving == (0,)
        time.sleep(0.05)
    assert len(sizes) == 1


def test_buffers_are_not_kept() -> None:
    for _ in range(2):
        file = cached_footer(BufferSource(DATA), lambda _: ())
        assert file.columns == {}
    assert len(CACHE) == 0


@pytest.mark.usefixtures("settled")
def test_columns_are_learned_as_they_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(DATA)
    found = []
    for ordinals in ((0,), (2,), (0, 2)):
        with open_for_reading(path) as source:
            found.append(cached_footer(source, partial(_wanted, ordinals)))
        assert source.traffic.requests == (2 if ordinals == (0,) else 0)
    assert found[0] is found[1] is found[2]
    assert set(found[0].columns) == {0, 2}


def _wanted(ordinals: tuple[int, ...], _leaves: object) -> tuple[int, ...]:
    return ordinals


@pytest.mark.usefixtures("settled")
def test_many_threads_ask_the_same_files(tmp_path: Path) -> None:
    paths = []
    for number in range(6):
        shifted = people(1000).set_column(0, "id", [np.arange(1000) + 1000 * number])
        paths.append(tmp_path / f"{number}.parquet")
        paths[-1].write_bytes(
            written(
                shifted, bloom_filter_options=FILTERED, write_statistics=False, use_dictionary=False
            )
        )

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for value in rng.integers(0, 6000, 60).tolist():
            chosen = [paths[i] for i in rng.permutation(6)[: rng.integers(1, 7)].tolist()]
            chosen = [*dict.fromkeys([*chosen, paths[value // 1000]])]
            report = probe(chosen, [("id", "=", value)])
            (holder,) = [f for f in report.files if f.path == str(paths[value // 1000])]
            assert value % 1000 // 500 in holder.surviving

    for round_ in range(3):
        clear_cache()
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(work, range(6 * round_, 6 * round_ + 6)))


def test_clearing_forgets_all_that_was_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(DATA)
    with open_for_reading(path) as source:
        schema = cached_footer(source, lambda _: ()).schema
        assert cached_footer(BufferSource(DATA), lambda _: ()).schema is schema
        assert domains_of(schema) is domains_of(schema)
        tree = parse("id = 12345")
        assert parse("id = 12345") is tree
        clear_cache()
        assert len(CACHE) == 0
        assert cached_footer(source, lambda _: ()).schema is not schema
        assert parse("id = 12345") is not tree
        assert domains_of.cache_info().currsize == 0
