"""The index of a table on a store answers as that of the same table on disk."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from parquet_bloomwriter import index
from parquet_bloomwriter.caches import clear_cache
from parquet_bloomwriter.index.format import slice_file
from parquet_bloomwriter.index.query import probe
from parquet_bloomwriter.index.storage import object_file
from tests.index.stores.support import ids

if TYPE_CHECKING:
    from collections.abc import Callable

    from parquet_bloomwriter.index.contract import Contract
    from tests.index.stores.support import Twins

_KINDS: dict[pa.DataType, Callable[[int], Any]] = {
    pa.int32(): int,
    pa.int64(): int,
    pa.string(): lambda number: f"value-{number}",
    pa.float64(): lambda number: number + 0.5,
    pa.date32(): int,
}


def _table(random: Random, kinds: dict[str, pa.DataType], first: int, rows: int) -> pa.Table:
    numbers = [random.randrange(first, first + 3 * rows) for _ in range(rows)]
    return pa.table(
        {
            name: pa.array(
                [None if random.random() < 0.05 else _KINDS[kind](n) for n in numbers], kind
            )
            for name, kind in kinds.items()
        }
    )


def _literal(kind: pa.DataType, number: int) -> str:
    if kind == pa.string():
        return f"'value-{number}'"
    if kind == pa.date32():
        return f"DATE '{1970 + number % 40}-01-{1 + number % 28:02}'"
    return str(number + 0.5) if kind == pa.float64() else str(number)


def _predicate(random: Random, kinds: dict[str, pa.DataType], most: int) -> str:
    def comparison() -> str:
        name, kind = random.choice(list(kinds.items()))
        values = [_literal(kind, random.randrange(most)) for _ in range(random.choice([1, 1, 12]))]
        return f"{name} = {values[0]}" if len(values) == 1 else f"{name} IN ({', '.join(values)})"

    parts = [comparison() for _ in range(random.choice([1, 1, 2, 3]))]
    return random.choice([" AND ", " OR "]).join(parts)


@pytest.mark.parametrize(
    ("seed", "contract", "few_filters", "min_filters", "whole_bytes"),
    [(0, "checked", 0, 4, 0), (1, "immutable", 16, 4, 1 << 20)],
)
def test_the_answers_are_those_of_a_table_on_disk(  # noqa: C901, PLR0913, PLR0917  one story
    twins: Twins,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    contract: Contract,
    few_filters: int,
    min_filters: int,
    whole_bytes: int,
) -> None:
    random = Random(seed)  # noqa: S311  no secret
    monkeypatch.setattr(probe, "_FEW_FILTERS", few_filters)
    monkeypatch.setattr(slice_file, "MIN_FILTERS", min_filters)
    monkeypatch.setattr(object_file, "WHOLE_BYTES", whole_bytes)
    kinds = {name: random.choice(list(_KINDS)) for name in ("a", "b")}
    sizes = [random.choice([1, 30, 30, 30, 400]) for _ in range(random.randrange(4, 8))]
    for n, rows in enumerate(sizes):
        twins.write(f"p={n % 3}/f{n}.parquet", _table(random, kinds, 50 * n, rows))
    places: list[str] = [twins.url, str(twins.local)]
    for place in places:
        index.create(place, ["a", "b"], name="ab", contract=contract, fpp=0.4)
    predicates = [_predicate(random, kinds, 60 * len(sizes)) for _ in range(4)]

    def check() -> None:
        for predicate in predicates:
            if random.random() < 0.3:
                clear_cache()
            assert twins.on_store(predicate) == twins.on_disk(predicate), predicate

    check()
    for n in range(2):
        for file in range(3):
            name = f"p=9/new{n}-{file}.parquet"
            twins.write(name, _table(random, kinds, 50 * n, 30))
        if contract == "checked":
            twins.remove(f"p={n % 3}/f{n}.parquet")
            check()
        for place in places:
            index.refresh(place, name="ab", mode="quick" if n else "incremental")
        check()
    for place in places:
        index.optimize(place, name="ab")
        index.vacuum(place, name="ab")
    check()


def test_each_verb_does_on_a_store_what_it_does_on_disk(table: Twins) -> None:
    def both(verb: Callable[..., index.IndexReport], *args: object, **options: object) -> None:
        reports = [verb(place, *args, name="ids", **options) for place in (table.url, table.local)]
        facts = [
            (
                *(one.action, one.state, one.log_id, one.version, one.num_files, one.changed),
                *(one.appended, one.deleted, one.removed_files, one.left_out, one.notes),
            )
            for one in reports
        ]
        assert facts[0] == facts[1]

    both(index.create, ["id"])
    table.write("more.parquet", ids(3, 1000))
    both(index.refresh)
    both(index.refresh)
    assert (
        table.on_store("id = 3") == table.on_disk("id = 3") == ["day=1/f3.parquet", "more.parquet"]
    )
    table.remove("day=1/f3.parquet")
    both(index.refresh, mode="full")
    both(index.optimize)
    both(index.vacuum)
    both(index.delete)
    both(index.restore)
    both(index.cancel)
    infos = [index.indexes(place, changes=True) for place in (table.url, table.local)]
    facts = [[(one.name, one.state, one.num_files, one.appended) for one in some] for some in infos]
    assert facts[0] == facts[1]
    both(index.delete)
    both(index.vacuum)
    assert not index.indexes(table.url)
    assert not [key for key in table.all_keys() if "v__=" in key]
