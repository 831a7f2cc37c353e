"""Hadoop's checksum files: read and written as Hadoop does."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from parquet_bloomwriter.errors import FileChanged
from parquet_bloomwriter.replace import hadoop_checksum
from parquet_bloomwriter.replace.external_references import crc_path
from parquet_bloomwriter.replace.hadoop_checksum import regenerate_crc

if TYPE_CHECKING:
    from pathlib import Path

SPARK_TEXT = b"spark" + b"x" * 600 + b"\n"
SPARK_CRC = bytes.fromhex("637263000000020098675ab21f2b5629")
"""A text file and its checksum file as Spark 4.3 wrote them."""


def _listing(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*")}


def test_the_checksum_file_that_spark_wrote(tmp_path: Path) -> None:
    """Its `_SUCCESS` is empty and has no checksums."""
    (tmp_path / "_SUCCESS").write_bytes(b"")
    crc_path(tmp_path / "_SUCCESS").write_bytes(b"stale")
    regenerate_crc(tmp_path / "_SUCCESS")
    assert crc_path(tmp_path / "_SUCCESS").read_bytes() == bytes.fromhex("6372630000000200")
    (tmp_path / "part").write_bytes(SPARK_TEXT)
    crc_path(tmp_path / "part").write_bytes(b"")
    regenerate_crc(tmp_path / "part")
    assert crc_path(tmp_path / "part").read_bytes() == SPARK_CRC


@given(data=st.binary(max_size=300), run=st.integers(1, 100))
@example(data=bytes(range(250)), run=60)
def test_one_checksum_per_run_of_bytes(
    tmp_path_factory: pytest.TempPathFactory,
    data: bytes,
    run: int,
) -> None:
    """The pieces that are read at a time leave no trace."""
    folder = tmp_path_factory.mktemp("crc")
    (folder / "a").write_bytes(data)
    (folder / ".a.crc").write_bytes(b"crc\0" + struct.pack(">i", run) + b"stale")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hadoop_checksum, "_READ", 100)
        regenerate_crc(folder / "a")
    sums = b"".join(
        zlib.crc32(data[start : start + run]).to_bytes(4, "big")
        for start in range(0, len(data), run)
    )
    expected = b"crc\0" + run.to_bytes(4, "big") + sums
    assert _listing(folder) == {"a": data, ".a.crc": expected}


@pytest.mark.parametrize(
    "stale",
    [b"", b"crc\0\0\0\2", b"CRC\0\0\0\1\0", b"crc\0\0\0\0\0", b"crc\0\xff\xff\xff\xff"],
)
def test_an_unsound_checksum_file_is_replaced_by_one_of_512_bytes_a_run(
    tmp_path: Path,
    stale: bytes,
) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / ".a.crc").write_bytes(stale)
    (tmp_path / ".a.crc").chmod(0o640)
    regenerate_crc(tmp_path / "a")
    expected = b"crc\0\0\0\2\0" + zlib.crc32(b"abc").to_bytes(4, "big")
    assert _listing(tmp_path) == {"a": b"abc", ".a.crc": expected}
    assert (tmp_path / ".a.crc").stat().st_mode & 0o777 == 0o640


def test_nothing_is_made_where_there_is_no_checksum_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    with pytest.raises(FileNotFoundError):
        regenerate_crc(tmp_path / "a")
    assert _listing(tmp_path) == {"a": b"abc"}


def test_a_file_that_changes_under_the_checksums(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / ".a.crc").write_bytes(b"stale")
    real = zlib.crc32

    def meddle(data: bytes) -> int:
        (tmp_path / "a").write_bytes(b"abcd")
        return real(data)

    monkeypatch.setattr(zlib, "crc32", meddle)
    with pytest.raises(FileChanged):
        regenerate_crc(tmp_path / "a")
    assert _listing(tmp_path) == {"a": b"abcd", ".a.crc": b"stale"}
