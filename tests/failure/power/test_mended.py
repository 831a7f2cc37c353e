"""Small ones of what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from campaigns.syscalls.scenarios import checksums
from parquet_bloomwriter import bloomify, index
from parquet_bloomwriter.index.entry import State
from parquet_bloomwriter.replace.external_references import crc_path
from tests.index.actions.test_killed import check_usable, log_of, prepare
from tests.verbs.files import listing, written

if TYPE_CHECKING:
    from pathlib import Path


def test_an_index_of_which_only_a_name_was_claimed_is_cancelled(tmp_path: Path) -> None:
    prepare(tmp_path, "new")
    log = log_of(tmp_path)
    (tmp_path / "_bloom_index/ids/_log").mkdir(parents=True)
    (tmp_path / "_bloom_index/ids/_log/0").touch()
    index.cancel(tmp_path, name="ids")
    newest = log.latest()
    assert newest is not None
    assert newest.state is State.DOES_NOT_EXIST
    check_usable(tmp_path)


def test_what_a_run_set_aside_when_the_power_went_is_removed(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    file.write_bytes(written())
    (tmp_path / "..a.parquet.crc.bloomify-0123456789abcdef.tmp").write_bytes(b"crc\0")
    bloomify(file, regenerate_crc=True)
    new = bloomify(written()).data
    assert listing(tmp_path) == {"a.parquet": new}
    crc_path(file).write_bytes(checksums(new or b""))
    (tmp_path / "..a.parquet.crc.bloomify-0123456789abcdef.tmp").write_bytes(b"crc\0")
    bloomify(file, regenerate_crc=True)
    assert listing(tmp_path) == {"a.parquet": new, ".a.parquet.crc": checksums(new or b"")}
