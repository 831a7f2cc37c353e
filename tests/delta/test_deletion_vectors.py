"""Deletion vectors: every way to store them, and damage that must not pass for deleted rows."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_bloomwriter.delta import deletion_vectors
from parquet_bloomwriter.delta.deletion_vectors import read_deletion_vector
from parquet_bloomwriter.delta.roaring import MalformedBitmap, parse_bitmap
from parquet_bloomwriter.errors import TableProblem
from tests.support.delta_vectors import bitmap, inline, vector, vector_file, z85

NOWHERE = Path("nowhere")
UUID_ = UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")


@dataclass(frozen=True)
class Folder:
    """A table's place, as far as vectors need one."""

    root: Path

    def locate(self, uri: str) -> str:
        """Return the path of a file."""
        return str(self.root / unquote(uri))


def rows_of(
    descriptor: dict[str, Any], root: Path = NOWHERE, *, num_rows: int = 1 << 40
) -> list[int]:
    found = read_deletion_vector(Folder(root), descriptor, num_rows=num_rows)  # type: ignore[arg-type]
    assert found.dtype == np.int64
    return list(map(int, found))


few = st.sets(st.integers(0, (1 << 63) - 1), max_size=40)
near = st.sets(st.integers(0, 1 << 19), max_size=40)
stretch = st.builds(
    lambda first, count: set(range(first, first + count)),
    st.integers(0, 1 << 34),
    st.integers(0, 150_000),
)


@settings(max_examples=20)
@given(few | near | stretch | st.builds(set.union, near, stretch), st.booleans())
def test_any_set_of_rows(values: set[int], with_runs: bool) -> None:  # noqa: FBT001  drawn
    data = bitmap(values, with_runs=with_runs)
    assert parse_bitmap(data, count=len(values)).tolist() == sorted(values)


@pytest.mark.parametrize("count", [1, 4096, 4097, 65535, 65536, 65537, 4 * 65536])
@pytest.mark.parametrize("with_runs", [False, True])
def test_containers_at_their_limits(count: int, *, with_runs: bool) -> None:
    values = range(3, 3 + count)
    data = bitmap(values, with_runs=with_runs)
    assert parse_bitmap(data, count=count).tolist() == list(values)


@settings(max_examples=20)
@given(near | stretch, st.booleans(), st.data())
def test_mutated_bitmaps_are_refused_or_read(
    values: set[int],
    with_runs: bool,  # noqa: FBT001  drawn
    data: st.DataObject,
) -> None:
    whole = bytearray(bitmap(values, with_runs=with_runs))
    head = min(len(whole), 64)
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, head - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.just(len(whole)) | st.integers(0, len(whole)))
    try:
        found = parse_bitmap(bytes(whole[:cut]), count=len(values))
    except MalformedBitmap:
        return
    assert len(found) == len(values)
    assert (np.diff(found) > 0).all()
    assert not len(found) or found[0] >= 0


def test_numbers_that_would_take_all_memory_are_refused_first() -> None:
    runs = struct.pack("<HHH", 1, 0, 0xFFFF)
    bucket = struct.pack("<HH", 12347, 0xFFFF) + b"\xff" * 8192
    bucket += b"".join(struct.pack("<HH", key, 0xFFFF) for key in range(1 << 16))
    bucket += bytes(4 << 16) + runs * (1 << 16)
    data = struct.pack("<QI", 1, 0) + bucket
    with pytest.raises(MalformedBitmap, match="it has 4294967296 values, not 7"):
        parse_bitmap(data, count=7)
    with pytest.raises(MalformedBitmap, match="cannot have"):
        parse_bitmap(b"\xff" * 100, count=7)


@pytest.mark.parametrize("with_runs", [False, True])
def test_a_vector_in_the_log(*, with_runs: bool) -> None:
    assert rows_of(inline([3, 4, 7, 11, 18, 29], with_runs=with_runs)) == [3, 4, 7, 11, 18, 29]


def test_a_vector_that_the_reference_wrote() -> None:
    text = "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"
    one = {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": 44, "cardinality": 6}
    assert rows_of(one) == [3, 4, 7, 11, 18, 29]


@pytest.mark.parametrize("prefix", ["", "ab", "a b%41"])
def test_a_vector_in_a_file(tmp_path: Path, prefix: str) -> None:
    first, second = vector([1, 2]), vector(range(100, 200), with_runs=True)
    data, offsets = vector_file(first, second)
    folder = tmp_path / prefix
    folder.mkdir(exist_ok=True)
    path = folder / f"deletion_vector_{UUID_}.bin"
    path.write_bytes(data)
    letters = z85(UUID_.bytes)
    for one, offset, rows in zip(
        (first, second), offsets, ([1, 2], [*range(100, 200)]), strict=True
    ):
        facts = {"offset": offset, "sizeInBytes": len(one), "cardinality": len(rows)}
        relative = {"storageType": "u", "pathOrInlineDv": prefix + letters, **facts}
        absolute = {"storageType": "p", "pathOrInlineDv": str(path).replace("%", "%25"), **facts}
        assert rows_of(relative, tmp_path) == rows
        assert rows_of(absolute, tmp_path) == rows


def test_the_uri_of_the_protocol_s_example() -> None:
    one = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^"}
    uri = deletion_vectors._uri(deletion_vectors._Descriptor.of(one))  # noqa: SLF001
    assert uri == f"ab/deletion_vector_{UUID_}.bin"


def stored(root: Path, data: bytes, **changes: object) -> dict[str, Any]:
    """Write a file with one vector of rows 1 and 2, and describe it."""
    path = root / f"deletion_vector_{UUID_}.bin"
    path.write_bytes(data)
    size = len(vector([1, 2]))
    facts = {"offset": 1, "sizeInBytes": size, "cardinality": 2}
    return {"storageType": "u", "pathOrInlineDv": z85(UUID_.bytes), **facts, **changes}


def test_every_changed_byte_of_a_file_is_noticed(tmp_path: Path) -> None:
    data, _ = vector_file(vector([1, 2]))
    assert rows_of(stored(tmp_path, data), tmp_path) == [1, 2]
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 1
        with pytest.raises(TableProblem):
            rows_of(stored(tmp_path, bytes(changed)), tmp_path)
        with pytest.raises(TableProblem):
            rows_of(stored(tmp_path, data[:place]), tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"storageType": "x"}, "unknown way"),
        ({"storageType": None}, "unknown way"),
        ({"pathOrInlineDv": 7}, "unknown way"),
        ({"offset": -1}, "unknown way"),
        ({"offset": True}, "unknown way"),
        ({"sizeInBytes": "30"}, "unknown way"),
        ({"cardinality": 2.0}, "unknown way"),
        ({"cardinality": 3}, "has 2 values, not 3"),
        ({"cardinality": None}, "has 2 values, not 0"),
        ({"sizeInBytes": 10}, "by the log"),
        ({"sizeInBytes": 1 << 60}, "beyond the end"),
        ({"offset": 1 << 60}, "beyond the end"),
        ({"pathOrInlineDv": "short"}, "letters"),
        ({"pathOrInlineDv": "é" * 20}, "Z85"),
        ({"pathOrInlineDv": "#" * 20}, "Z85"),
        ({"pathOrInlineDv": "0" * 20}, "missing"),
    ],
)
def test_descriptors_that_contradict(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    data, _ = vector_file(vector([1, 2]))
    with pytest.raises(TableProblem, match=message):
        rows_of(stored(tmp_path, data, **changes), tmp_path)


def test_rows_that_the_file_has_not() -> None:
    assert rows_of(inline([0, 9]), num_rows=10) == [0, 9]
    with pytest.raises(TableProblem, match="row 9 of a file with 9 rows"):
        rows_of(inline([0, 9]), num_rows=9)
    with pytest.raises(TableProblem, match="2 rows of a file with 1"):
        rows_of(inline([0, 9]), num_rows=1)


def test_another_magic_number() -> None:
    one = inline([1])
    data = struct.pack("<I", 1681511376) + bitmap([1], with_runs=False)
    with pytest.raises(TableProblem, match="unknown format"):
        rows_of({**one, "pathOrInlineDv": z85(data)})
