"""Which column chunks contradict the schema, and what follows for a filter on the column."""

from __future__ import annotations

import pyarrow as pa

from campaigns.hostile.fields import fields_of
from campaigns.hostile.replacing import Part, replaced, varint, zigzag
from parquet_bloomwriter.metadata.contradictions import Consequence, find_contradictions
from parquet_bloomwriter.metadata.footer import parse_footer
from tests.verbs.files import footer_of, written

REFUSE, SKIP = Consequence.REFUSE, Consequence.SKIP_STATISTICS
TYPE, MAX_VALUE = (4, 1, 3, 1), (4, 1, 3, 12, 5)
DEFINITION_LEVELS = (4, 1, 3, 16, 3)


def consequences(footer: bytes) -> list[Consequence]:
    leaves = parse_footer(footer, start=4).leaves
    return [one.consequence for one in find_contradictions(footer, leaves, start=4).values()]


def with_field(footer: bytes, shape: tuple[int, ...], value: bytes) -> bytes:
    """The footer with other bytes in the last field of a shape."""
    field = fields_of(footer).by_shape[shape][-1]
    return replaced(footer, [Part(field.start, field.stop, value)])


def test_what_follows_from_each_contradiction() -> None:
    numbers = footer_of(written(pa.table({"a": [1, 2, 3]}))).data
    texts = footer_of(written(pa.table({"a": ["b", "c"]}))).data
    fixed = footer_of(written(pa.table({"a": pa.array([b"abcd"], pa.binary(4))}))).data
    for footer in (numbers, texts, fixed):
        assert consequences(footer) == []
    assert consequences(with_field(numbers, TYPE, zigzag(1))) == [REFUSE]
    assert consequences(with_field(numbers, TYPE, zigzag(-(2**63)))) == [REFUSE]
    assert consequences(with_field(numbers, DEFINITION_LEVELS, b"\x36\x02\x02\x02")) == [REFUSE]
    assert consequences(with_field(numbers, DEFINITION_LEVELS, b"\x06")) == []
    assert consequences(with_field(numbers, MAX_VALUE, varint(7) + b"\0" * 7)) == [REFUSE]
    assert consequences(with_field(numbers, MAX_VALUE, varint(9) + b"\0" * 9)) == []
    assert consequences(with_field(numbers, MAX_VALUE, varint(0))) == [SKIP]
    assert consequences(with_field(fixed, MAX_VALUE, varint(3) + b"abc")) == [SKIP]
    assert consequences(with_field(texts, MAX_VALUE, varint(0))) == []
    counted = fields_of(texts).by_shape[TYPE][-1]
    schema = fields_of(texts).by_shape[2, 1][-1]
    as_fixed = [Part(one.start, one.stop, zigzag(2)) for one in (schema, counted)]
    assert consequences(replaced(texts, as_fixed)) == [REFUSE]
