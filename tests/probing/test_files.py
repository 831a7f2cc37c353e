"""A predicate is bound once for each schema, and files are opened one by one or many at a time."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import get_ident
from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter import probe
from parquet_bloomwriter.errors import ColumnNotFound, FileChanged
from parquet_bloomwriter.predicate import parse
from parquet_bloomwriter.predicate.bound import InSet
from parquet_bloomwriter.probing import files, footer_cache
from parquet_bloomwriter.probing.bindings import Bindings
from parquet_bloomwriter.probing.files import probe_locations
from parquet_bloomwriter.source import BufferSource
from tests.support.asking import known
from tests.support.delta_tables import make_table
from tests.verbs.files import people, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from parquet_bloomwriter.probing.footer_cache import CachedFooter
    from parquet_bloomwriter.source import Source

DATA = written(people(10))


@dataclass
class Store:
    """Files that take their time, and count how many are open."""

    data: bytes = DATA
    seconds: float = 0.0
    num_open: int = 0
    most_open: int = 0
    errors: list[Exception] = field(default_factory=list)
    threads: set[int] = field(default_factory=set)
    """Those that opened files."""

    @contextmanager
    def open(self) -> Iterator[BufferSource]:
        """Open one; the next error is raised instead."""
        time.sleep(self.seconds)
        self.threads.add(get_ident())
        if self.errors:
            raise self.errors.pop()
        self.num_open += 1
        self.most_open = max(self.most_open, self.num_open)
        yield BufferSource(self.data)
        self.num_open -= 1

    def __str__(self) -> str:
        return "store"


def test_a_schema_is_bound_once() -> None:
    bindings = Bindings.of(parse("id = 5 AND city = 'x'"))
    schema = known(DATA).schema
    assert bindings.columns == ("id", "city")
    assert bindings.to(schema).bound is bindings.to(schema).bound
    assert bindings.to(schema).ordinals == (0, 2)
    other = known(written(people(10).select(["city"]))).schema
    assert bindings.to(other).ordinals == (0,)
    assert len(bindings.seen) == 2


def test_values_are_hashed_once() -> None:
    bindings = Bindings.of(parse("id IN (5, 6)"))
    atom = bindings.to(known(DATA).schema).bound
    assert isinstance(atom, InSet)
    assert bindings.hashes(atom) is bindings.hashes(atom)
    assert len(bindings.hashes(atom).hashes) == 2


@pytest.mark.parametrize(
    ("condition", "paths", "missing"),
    [
        ("id = 5", [], None),
        ("other = 5", [], "other"),
        ("other = 5", ["a/other=5/x.parquet"], None),
        ("other = 5", ["a/x.parquet"], "other"),
        ("id = 5 OR more = 3", [], "more"),
    ],
)
def test_missing_columns(condition: str, paths: list[str], missing: str | None) -> None:
    bindings = Bindings.of(parse(condition))
    bindings.check_columns(paths)  # No schema was seen: nothing is known to be missing.
    bindings.to(known(DATA).schema)
    if missing is None:
        bindings.check_columns(paths)
        return
    with pytest.raises(ColumnNotFound, match=f'no column "{missing}"'):
        bindings.check_columns(paths)


@pytest.mark.parametrize("count", [0, 1, 3, 64, 65, 130])
@pytest.mark.parametrize("seconds", [0.0, 0.002])
def test_batches_are_closed_before_the_next(
    count: int, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_MOST_FILES", 64)
    store = Store(seconds=seconds)
    report = probe_locations([store] * count, Bindings.of(parse("id = 5")))
    assert len(report.files) == count
    assert [one.surviving for one in report.files] == [(0,)] * count
    assert store.num_open == 0
    assert store.most_open <= 64


def test_slow_files_are_waited_for_together() -> None:
    store = Store(seconds=0.01)
    probe_locations([store] * 60, Bindings.of(parse("id = 5")))
    assert len(store.threads) > 1


def test_errors_belong_to_their_files() -> None:
    error = FileChanged("the file became shorter")
    store = Store(errors=[error, OSError("no")])
    report = probe_locations([store] * 4, Bindings.of(parse("id = 5")))
    assert [type(one.error) for one in report.files[:3]] == [OSError, FileChanged, type(None)]
    assert str(error) == "store: the file became shorter."
    assert report.failed == report.files[:2]


def test_other_errors_are_not_swallowed() -> None:
    store = Store(errors=[ZeroDivisionError()])
    with pytest.raises(ZeroDivisionError):
        probe_locations([store], Bindings.of(parse("id = 5")))


@pytest.mark.parametrize(("seconds", "num_alone"), [(-1.0, 3), (1e9, 20)])
def test_files_are_opened_one_by_one_until_three_were_slow(
    monkeypatch: pytest.MonkeyPatch, seconds: float, num_alone: int
) -> None:
    """The first may be slow for other reasons."""
    monkeypatch.setattr(files, "_SLOW_SECONDS", seconds)
    threads: list[int] = []

    class Noting(Store):
        """Notes the thread of every opening."""

        @contextmanager
        def open(self) -> Iterator[BufferSource]:
            """Note, and open."""
            threads.append(get_ident())
            with super().open() as source:
                yield source

    probe_locations([Noting()] * 20, Bindings.of(parse("id = 5")))
    assert len(threads) == 20
    assert threads[:num_alone] == [get_ident()] * num_alone
    assert get_ident() not in threads[num_alone:]


def test_a_table_knows_its_columns_without_a_look_at_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_table(tmp_path / "t", num_files=2, rows=10)
    opened: list[object] = []
    footer = footer_cache.cached_footer

    def watched(source: Source, wanted: Callable[[CachedFooter], Sequence[int]]) -> CachedFooter:
        opened.append(source.name)
        return footer(source, wanted)

    monkeypatch.setattr(files, "cached_footer", watched)
    for where in ("idd = 3", "id = 3 AND list_contains(tags, 'x')", "place.cty = 'a'"):
        with pytest.raises(ColumnNotFound):
            probe(str(tmp_path / "t"), where)
    assert opened == []
    assert len(probe(str(tmp_path / "t"), "place.city = 'c9'").files) == len(opened) == 2
