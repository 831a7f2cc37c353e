"""Files on a server of SFTP: replaced by a rename, whatever request fails."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import paramiko
import pytest
from fsspec.implementations.sftp import SFTPFileSystem

from parquet_bloomwriter import (
    FileChanged,
    InvalidArgument,
    UnsafeTarget,
    bloomify,
    clear_cache,
    for_each_file,
    strip,
)
from parquet_bloomwriter.errors import OutcomeUnknown, StoreProblem
from tests.stores.whole.outcome import error_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.stores.whole.sftp_server import Sshd


@pytest.fixture
def url(sftp_url: str) -> str:
    """Return the URL of a file, which is not there yet."""
    return sftp_url


def names(folder: Path) -> list[str]:
    """All names in a folder."""
    return sorted(one.name for one in folder.iterdir())


def test_filters_come_and_go(sshd: Sshd, url: str, plain: bytes, with_filters: bytes) -> None:
    file = sshd.root / "a.parquet"
    file.write_bytes(plain)
    file.chmod(0o640)
    report = bloomify(url, ["id"])
    assert report.written
    assert file.read_bytes() == with_filters
    assert file.stat().st_mode & 0o777 == 0o640
    assert report.store is not None
    assert report.store.up == len(with_filters)
    assert strip(url).written
    assert file.read_bytes() == plain
    assert names(sshd.root) == ["a.parquet"]
    assert "secret-word" not in str(report)


def test_a_folder_named_metadata_is_no_summary(sshd: Sshd, url: str, plain: bytes) -> None:
    for folder in ("_metadata", "sub"):
        (sshd.root / folder).mkdir()
    (sshd.root / "sub" / "a.parquet").write_bytes(plain)
    below = url.replace("a.parquet", "sub/a.parquet")
    assert bloomify(below, ["id"]).written
    (sshd.root / "_metadata").rmdir()
    (sshd.root / "_metadata").write_bytes(b"PAR1")
    clear_cache()
    with pytest.raises(UnsafeTarget, match="_metadata"):
        strip(below)


def test_folders_other_names_and_other_places(
    sshd: Sshd, url: str, plain: bytes, with_filters: bytes, tmp_path: Path
) -> None:
    (sshd.root / "a.parquet").write_bytes(plain)
    other = url.replace("a.parquet", "b.parquet")
    bloomify(url, ["id"], output=other)
    assert (sshd.root / "b.parquet").read_bytes() == with_filters
    with pytest.raises(UnsafeTarget, match="exists already"):
        strip(other, output=url)
    strip(other, output=url, overwrite=True)
    assert (sshd.root / "a.parquet").read_bytes() == plain
    bloomify(url, ["id"], output=tmp_path / "here.parquet", placement="end")
    assert (tmp_path / "here.parquet").read_bytes() == with_filters
    strip(tmp_path / "here.parquet", output=url.replace("a.parquet", "c.parquet"))
    assert (sshd.root / "c.parquet").read_bytes() == plain

    def add(path: str, output: str | None, jobs: int) -> object:
        return bloomify(path, ["id"], output=output, jobs=jobs)

    folder = url.removesuffix("a.parquet")
    outcomes = list(for_each_file([folder], add, output=f"{folder}new/deep"))
    assert [one.error for one in outcomes] == [None] * 3
    assert names(sshd.root / "new" / "deep") == ["a.parquet", "b.parquet", "c.parquet"]
    shutil.rmtree(sshd.root / "new")
    outcomes = list(for_each_file(folder, add))
    assert [one.error for one in outcomes] == [None] * 3
    assert {one.read_bytes() for one in sshd.root.iterdir()} == {with_filters}


def test_folders_that_somebody_else_makes_at_the_same_time(
    sshd: Sshd, url: str, plain: bytes, with_filters: bytes
) -> None:
    (sshd.root / "a.parquet").write_bytes(plain)
    theirs = iter([sshd.root / "new", sshd.root / "new" / "deep"])

    def make(operation: str) -> None:
        if operation == "mkdir":
            next(theirs).mkdir()

    sshd.before = make
    bloomify(url, ["id"], output=url.replace("a.parquet", "new/deep/a.parquet"))
    assert (sshd.root / "new" / "deep" / "a.parquet").read_bytes() == with_filters
    assert next(theirs, None) is None


def test_links_stay_links(sshd: Sshd, url: str, plain: bytes, with_filters: bytes) -> None:
    folder = sshd.root / "deep"
    folder.mkdir()
    (folder / "b.parquet").write_bytes(plain)
    (sshd.root / "a.parquet").symlink_to("deep/b.parquet")
    bloomify(url, ["id"])
    assert (sshd.root / "a.parquet").is_symlink()
    assert (folder / "b.parquet").read_bytes() == with_filters
    assert names(folder) == ["b.parquet"]
    (folder / "b.parquet").unlink()
    (folder / "b.parquet").symlink_to("b.parquet")
    with pytest.raises((StoreProblem, FileNotFoundError)):
        bloomify(url, ["id"])


def test_what_changed_meanwhile_stays(sshd: Sshd, url: str, plain: bytes) -> None:
    file = sshd.root / "a.parquet"

    def write(operation: str) -> None:
        if operation == "chattr":
            file.write_bytes(b"theirs")

    file.write_bytes(plain)
    sshd.before = write
    with pytest.raises(FileChanged):
        bloomify(url, ["id"])
    assert file.read_bytes() == b"theirs"
    assert names(sshd.root) == ["a.parquet"]


def test_a_new_name_is_never_taken_from_another_program(sshd: Sshd, url: str, plain: bytes) -> None:
    new = sshd.root / "new.parquet"
    (sshd.root / "a.parquet").write_bytes(plain)

    def write(operation: str) -> None:
        if operation == "rename":
            new.write_bytes(b"theirs")

    sshd.before = write
    with pytest.raises(FileChanged):
        bloomify(url, ["id"], output=url.replace("a.parquet", "new.parquet"))
    assert new.read_bytes() == b"theirs"
    assert names(sshd.root) == ["a.parquet", "new.parquet"]


@pytest.mark.parametrize("kind", ["fail", "cut", "lost"])
def test_whatever_fails_the_file_is_the_old_one_or_the_new_one(
    sshd: Sshd, url: str, plain: bytes, with_filters: bytes, kind: str
) -> None:
    file = sshd.root / "a.parquet"
    file.write_bytes(plain)
    bloomify(url, ["id"], force=True)
    number = len(sshd.log)
    for first in range(number):
        for sticky in (False, True) if kind == "cut" else (False,):
            sshd.fault = lambda _number, _operation: ""
            file.write_bytes(plain)
            SFTPFileSystem.clear_instance_cache()
            sshd.log.clear()
            sshd.fault = lambda n, _operation, first=first, sticky=sticky: (  # type: ignore[misc]
                kind if n == first or (sticky and n > first) else ""
            )
            error = error_of(lambda: bloomify(url, ["id"], force=True))
            found = file.read_bytes()
            left = set(names(sshd.root)) - {"a.parquet"}
            if error is None:
                assert found == with_filters, (first, sticky)
                assert not left
                continue
            is_unknown = isinstance(error, OutcomeUnknown)
            assert found == plain or (found == with_filters and is_unknown), (first, sticky, error)
            assert "secret-word" not in str(error)
            assert sticky or not left, (first, error)
            for name in left:
                assert name in str(error), (first, error)
                (sshd.root / name).unlink()


def test_passwords_have_no_place_in_urls(sshd: Sshd) -> None:
    with pytest.raises(InvalidArgument, match="given with a password") as caught:
        bloomify(f"sftp://ada:secret-word@127.0.0.1:{sshd.port}/a.parquet", ["id"])
    assert "secret-word" not in str(caught.value)
    with pytest.raises(FileNotFoundError):
        bloomify(f"sftp://ada@127.0.0.1:{sshd.port}/nothing.parquet", ["id"])
    with pytest.raises(StoreProblem, match="the store cannot be opened"):
        bloomify(f"sftp://eve@127.0.0.1:{sshd.port}/a.parquet", ["id"])


def test_a_server_with_another_key_is_refused(
    sshd: Sshd, url: str, plain: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (sshd.root / "a.parquet").write_bytes(plain)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    known = tmp_path / ".ssh" / "known_hosts"
    host = f"[127.0.0.1]:{sshd.port}"
    for key, is_right in ((sshd.key, True), (paramiko.ECDSAKey.generate(), False)):
        known.write_text(f"{host} {key.get_name()} {key.get_base64()}\n")
        error = error_of(lambda: bloomify(url, ["id"], dry_run=True))
        assert (error is None) == is_right
    assert "known_hosts" in str(error)


def test_a_connection_that_the_server_has_ended_is_opened_anew(
    sshd: Sshd, url: str, plain: bytes
) -> None:
    file = sshd.root / "a.parquet"
    file.write_bytes(plain)
    bloomify(url, ["id"])
    for one in SFTPFileSystem._cache.values():  # noqa: SLF001
        transport = one.client.get_transport()
        transport.sock.close()
        transport.join(10)
    assert strip(url).written
    assert file.read_bytes() == plain


def test_a_host_is_known_by_any_kind_of_key_and_checked_again(
    sshd: Sshd, url: str, plain: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = sshd.root / "a.parquet"
    file.write_bytes(plain)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    known = tmp_path / ".ssh" / "known_hosts"
    host = f"[127.0.0.1]:{sshd.port}"
    other = paramiko.RSAKey.generate(1024)
    line = f"{host} {other.get_name()} {other.get_base64()}\n"

    def turn_up(operation: str) -> None:
        if operation == "posix_rename":
            known.write_text(line)

    sshd.before = turn_up
    sshd.fault = lambda _number, operation: "cut" if operation == "posix_rename" else ""
    assert isinstance(error_of(lambda: bloomify(url, ["id"])), OutcomeUnknown)
    assert file.read_bytes() == plain
    known.write_text(line)
    sshd.fault = lambda _number, _operation: ""
    sshd.before = lambda _operation: None
    with pytest.raises(StoreProblem, match="known_hosts"):
        bloomify(url, ["id"])
    known.write_text(f"{line}{host} {sshd.key.get_name()} {sshd.key.get_base64()}\n")
    assert bloomify(url, ["id"]).written


def test_another_user_s_path_is_another_file(
    sshd: Sshd, url: str, plain: bytes, with_filters: bytes
) -> None:
    file = sshd.root / "a.parquet"
    file.write_bytes(plain)
    with pytest.raises(UnsafeTarget, match="exists already"):
        bloomify(url, ["id"], output=url.replace("ada@", "bob@"))
    assert file.read_bytes() == plain
    bloomify(url, ["id"], output=url)
    assert file.read_bytes() == with_filters


def test_a_private_file_is_private_on_its_way(sshd: Sshd, url: str, plain: bytes) -> None:
    file = sshd.root / "a.parquet"
    file.write_bytes(plain)
    file.chmod(0o600)
    modes: set[int] = set()

    def look(operation: str) -> None:
        if operation == "write":
            modes.update(one.stat().st_mode & 0o777 for one in sshd.root.iterdir())

    sshd.before = look
    assert bloomify(url, ["id"]).written
    assert modes == {0o600}
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["a.parquet#", "a\n.parquet", "a\t.parquet"])
def test_names_that_fsspec_would_change_are_refused(
    sshd: Sshd, url: str, plain: bytes, name: str
) -> None:
    (sshd.root / "a.parquet").write_bytes(plain)
    (sshd.root / name).write_bytes(b"theirs")
    with pytest.raises(InvalidArgument, match="characters that fsspec leaves out"):
        bloomify(url.replace("a.parquet", name), ["id"])
    assert (sshd.root / "a.parquet").read_bytes() == plain
