"""Small inputs that would take much memory, much time, or the process: refused with a reason."""

from __future__ import annotations

import functools
import io
import operator
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from campaigns.hostile.fields import fields_of
from campaigns.hostile.replacing import Part, replaced, varint
from parquet_bloomwriter import (
    InvalidArgument,
    Status,
    advise,
    bloomify,
    index,
    iter_batches,
    probe,
    read_table,
    verify,
)
from parquet_bloomwriter.reports.verification import CheckStatus
from tests.support import compact
from tests.verbs.files import people, written

if TYPE_CHECKING:
    from parquet_bloomwriter.predicate import Filters

MANY = 3_000
"""More than what is refused, of levels and of conditions."""
COLUMN = pc.field("id")


def nested(opened: str, inner: str, closed: str) -> str:
    return opened * MANY + inner + closed * MANY


def chain(join: Any, *, number: int = MANY) -> pc.Expression:  # noqa: ANN401  an operator
    return functools.reduce(join, [one != COLUMN for one in range(number)])


REFUSED: dict[str, Filters] = {
    "sums": "id = " + "+".join(["1"] * 300),
    "texts": "city = " + "||".join(["'x'"] * 300),
    "NOT": nested("NOT (", "id = 1", ")"),
    "parentheses": nested("(", "id = 1", ")"),
    "functions": nested("ABS(", "id", ")") + " = 1",
    "AND and OR": "(id = 1 AND (id = 2 OR " * 60 + "id = 3" + "))" * 60,
    "many OR": " OR ".join(f"id < {one}" for one in range(MANY)),
    "alternatives": [[("id", "<", one)] for one in range(MANY)],
    "conjunction": [("id", "!=", one) for one in range(MANY)],
    "or_": chain(operator.or_),
    "invert": functools.reduce(lambda inner, _: ~inner, range(MANY), COLUMN == 1),
    "abs": functools.reduce(lambda inner, _: pc.abs(inner), range(MANY), COLUMN) == 1,
}
TOO_MUCH = re.compile("nested too deeply|more than pyarrow can evaluate")


def test_conditions_that_would_overflow_a_stack_are_refused() -> None:
    data = written()
    for filters in REFUSED.values():
        with pytest.raises(InvalidArgument, match=TOO_MUCH):
            read_table(data, filters=filters)
    with pytest.raises(InvalidArgument, match=TOO_MUCH):
        iter_batches(data, filters=REFUSED["alternatives"])
    assert read_table(data, filters=[("id", "in", range(MANY))]).num_rows == 1000
    assert read_table(data, filters=chain(operator.and_, number=500)).num_rows == 500


def test_a_probe_takes_conditions_of_any_length() -> None:
    data = written()
    for filters in (REFUSED["many OR"], REFUSED["or_"]):
        assert probe(data, filters).files[0].surviving == (0, 1)


LOOKUPS = """
import sys
from parquet_bloomwriter import InvalidArgument, index
from tests.failure.hostile.test_bombs import REFUSED

for name, filters in REFUSED.items():
    try:
        found = len(index.lookup(sys.argv[1], filters).paths)
    except InvalidArgument as error:
        found = "nested too deeply" in str(error)
    print(name, found, sep="=", flush=True)
"""


def test_lookups_in_an_index_end_no_process(tmp_path: Path) -> None:
    (tmp_path / "one.parquet").write_bytes(written())
    index.create(tmp_path, ["id"], name="ids")
    found = subprocess.run(
        [sys.executable, "-c", LOOKUPS, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[3],
    )
    assert (found.returncode, found.stderr) == (0, "")
    answers = dict(line.split("=") for line in found.stdout.splitlines())
    assert answers.keys() == REFUSED.keys()
    assert set(answers.values()) <= {"1", "True"}, answers


def test_a_reference_to_no_entry_of_a_dictionary_is_refused() -> None:
    """References out of range would lead to other memory; pyarrow does not check them."""
    rows = pa.table({"city": [("Bern", "Lima", "Oslo")[i % 3] for i in range(8)]})
    data = written(rows, compression="none", write_statistics=False)
    bloomed = bloomify(data, ["city"]).data
    assert bloomed is not None
    references = bytes((2, 3, 0b00100100, 0b01001001))  # bit width, run of 8, values 0, 1, 2 ...
    assert bloomed.count(references) == 1
    broken = bloomed.replace(references, bytes((2, 3, 0xFF, 0xFF)))
    (check,) = verify(broken).checks
    assert check.status is CheckStatus.UNCHECKED
    assert "a page refers to entries that its dictionary of 3 lacks" in check.reason
    (column,) = advise(broken, ["city"]).columns
    assert column.reason


def test_advice_does_not_unpack_a_bomb() -> None:
    values = ["x" * (4 << 20) + str(number) for number in range(16)]
    bomb = written(
        pa.table({"a": values}), compression="zstd", dictionary_pagesize_limit=1 << 30,
        write_statistics=False, store_schema=False,
    )  # fmt: skip
    assert len(bomb) < 16_384
    del values
    pool = pa.default_memory_pool()
    before = pool.max_memory()
    (column,) = advise(bomb, jobs=1).columns
    assert pool.max_memory() == before
    assert re.search(
        r"a page of [\d,]+ bytes unpacks to [\d,]+, too many for a sample", column.reason
    )


def test_column_chunks_that_share_bytes_are_not_read_again_and_again() -> None:
    data = written(people(), compression="none", row_group_size=1000)
    start = compact.footer_start(data)
    footer = data[start:-8]
    (groups,) = (one for one in fields_of(footer).lists if one.shape == (4,))
    first = footer[slice(*groups.items[0])]
    many = b"\xfc" + varint(50) + first * 50
    footer = replaced(footer, [Part(groups.start, groups.items[-1][1], many)])
    crowded = data[:start] + footer + len(footer).to_bytes(4, "little") + b"PAR1"
    for column in bloomify(crowded).columns:
        assert {one.status for one in column.chunks} == {Status.SKIPPED}
        assert "overlap" in str(column.chunks[0].reason)
    assert pq.read_metadata(io.BytesIO(crowded)).num_row_groups == 50
