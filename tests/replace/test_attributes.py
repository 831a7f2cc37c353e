"""Owner, mode and extended attributes of the new file: never more than the old one gave."""

from __future__ import annotations

import os
import shutil
import stat
import struct
import tempfile
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from parquet_bloomwriter.replace.attributes import RightsLost
from parquet_bloomwriter.replace.target import choose_target
from parquet_bloomwriter.replace.temporary import find_temporaries
from parquet_bloomwriter.source.local import open_file
from tests.support.replacing import replacing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ACL = "system.posix_acl_access"
DEFAULT_ACL = "system.posix_acl_default"
NOBODY = 65534

is_root = hasattr(os, "geteuid") and os.geteuid() == 0
as_root = pytest.mark.skipif(not is_root, reason="only root can give files away")
not_on_windows = pytest.mark.skipif(not hasattr(os, "fchown"), reason="the platform has no owners")
pytestmark = not_on_windows


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder where everybody can make files and rename them."""
    made = Path(tempfile.mkdtemp())
    made.chmod(0o777)
    yield made
    shutil.rmtree(made)


@contextmanager
def _as_nobody() -> Iterator[None]:
    groups, gid = os.getgroups(), os.getegid()
    os.setgroups([])
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(gid)
        os.setgroups(groups)


@contextmanager
def _umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def _make(folder: Path, mode: int, *, uid: int = -1, gid: int = -1) -> Path:
    path = folder / "a"
    path.write_bytes(b"old")
    os.chown(path, uid, gid)
    path.chmod(mode)
    return path


def _rewrite(path: Path, output: Path | None = None, **options: Any) -> None:  # noqa: ANN401
    with open_file(path) as source:
        target = choose_target(source, output, **options)
        with replacing(source, target, verify=lambda _: None) as new:
            new.write(b"new")


def _state(path: Path) -> tuple[bytes, int, int, int]:
    """Bytes, owner, group and mode."""
    found = path.stat()
    with path.open("rb") as file:
        return file.read(), found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)


def _acl(*entries: tuple[int, int, int]) -> bytes:
    """Make an access control list, version 2, of (tag, rights, id) each."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


OWNER, USER, GROUP, MASK, OTHERS, NO_ID = 0x01, 0x02, 0x04, 0x10, 0x20, 0xFFFFFFFF
NOBODY_READS = _acl(
    (OWNER, 6, NO_ID),
    (USER, 4, NOBODY),
    (GROUP, 0, NO_ID),
    (MASK, 4, NO_ID),
    (OTHERS, 0, NO_ID),
)


def _set_attribute(path: Path, name: str, value: bytes) -> None:
    try:
        os.setxattr(path, name, value)
    except (OSError, AttributeError):
        pytest.skip(f"the file system keeps no {name}")


def _attributes(path: Path) -> dict[str, bytes]:
    found = {name: os.getxattr(path, name) for name in os.listxattr(path)}
    return {name: value for name, value in found.items() if not name.startswith("security.")}


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o777])
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o666, 0o604, 0o440, 0o000, 0o4755, 0o2750])
def test_the_mode_is_kept_whatever_the_umask(folder: Path, mode: int, mask: int) -> None:
    if not mode & 0o400 and not is_root:
        pytest.skip("nobody but root can read it")
    path = _make(folder, mode)
    with _umask(mask):
        _rewrite(path)
    assert _state(path) == (b"new", os.geteuid(), os.getegid(), mode)


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o777])
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o666, 0o4755])
def test_a_new_name_gets_what_the_source_and_the_umask_allow(
    folder: Path,
    mode: int,
    mask: int,
) -> None:
    path = _make(folder, mode)
    with _umask(mask):
        _rewrite(path, folder / "b")
        (folder / "c").touch(0o777)
    assert stat.S_IMODE((folder / "b").stat().st_mode) == mode & 0o777 & ~mask
    assert stat.S_IMODE((folder / "c").stat().st_mode) == 0o777 & ~mask  # the umask is as it was


@as_root
def test_root_keeps_owner_group_and_mode(folder: Path) -> None:
    path = _make(folder, 0o6754, uid=1234, gid=2345)
    _rewrite(path)
    assert _state(path) == (b"new", 1234, 2345, 0o6754)


@as_root
def test_the_folder_s_group_does_not_matter(folder: Path) -> None:
    path = _make(folder, 0o640, gid=2345)
    os.chown(folder, -1, NOBODY)
    folder.chmod(0o2777)
    _rewrite(path)
    assert _state(path) == (b"new", 0, 2345, 0o640)


@as_root
@pytest.mark.parametrize(
    ("mode", "gid", "expected"),
    [
        (0o6755, NOBODY, 0o755),  # the group is ours too
        (0o2775, NOBODY, 0o775),
        (0o6775, 2345, 0o755),  # neither is: what group and others both had
        (0o644, 2345, 0o644),
        (0o664, 2345, 0o644),
        (0o674, 2345, 0o644),
        (0o607, 2345, 0o600),
        (0o626, 2345, 0o622),
    ],
)
def test_whoever_cannot_keep_the_owner_gives_nobody_more(
    folder: Path,
    mode: int,
    gid: int,
    expected: int,
) -> None:
    path = _make(folder, mode, uid=1234, gid=gid)
    with _as_nobody():
        _rewrite(path)
    assert _state(path) == (b"new", NOBODY, NOBODY, expected)


@as_root
def test_a_group_of_ours_is_kept_where_the_owner_is_not(folder: Path) -> None:
    path = _make(folder, 0o640, uid=1234, gid=NOBODY)
    folder.chmod(0o2777)  # new files get the folder's group, not ours
    with _as_nobody():
        _rewrite(path)
    assert _state(path) == (b"new", NOBODY, NOBODY, 0o640)


@as_root
def test_a_folder_that_we_may_not_write_to(folder: Path) -> None:
    path = _make(folder, 0o666, uid=NOBODY)
    folder.chmod(0o755)
    with _as_nobody(), pytest.raises(PermissionError):
        _rewrite(path)
    assert _state(path) == (b"old", NOBODY, 0, 0o666)
    assert [found.name for found in folder.iterdir()] == ["a"]


@as_root
def test_a_folder_that_we_may_write_to_but_not_list(folder: Path) -> None:
    path = _make(folder, 0o644, uid=NOBODY, gid=NOBODY)
    folder.chmod(0o733)
    with _as_nobody():
        _rewrite(path)
    assert _state(path) == (b"new", NOBODY, NOBODY, 0o644)
    assert [found.name for found in folder.iterdir()] == ["a"]


def test_the_user_s_attributes_and_the_access_control_list_are_kept(folder: Path) -> None:
    path = _make(folder, 0o600)
    _set_attribute(path, "user.empty", b"")
    _set_attribute(path, "user.origin", b"\0\xff")
    _set_attribute(path, ACL, NOBODY_READS)
    _rewrite(path)
    assert _attributes(path) == {"user.empty": b"", "user.origin": b"\0\xff", ACL: NOBODY_READS}
    assert _state(path) == (b"new", os.geteuid(), os.getegid(), 0o640)  # the mask, as before


def test_the_folder_s_default_access_control_list_gives_nobody_more(folder: Path) -> None:
    path = _make(folder, 0o640)
    _set_attribute(folder, DEFAULT_ACL, NOBODY_READS)
    with (
        open_file(path) as source,
        replacing(source, choose_target(source), verify=lambda _: None) as new,
    ):
        new.write(b"new")
        (temporary,) = find_temporaries(str(path))
        assert ACL in os.listxattr(temporary)  # the system put it there
    assert _attributes(path) == {}
    assert _state(path) == (b"new", os.geteuid(), os.getegid(), 0o640)


@as_root
def test_with_the_group_lost_an_access_control_list_leaves_only_the_owner(folder: Path) -> None:
    path = _make(folder, 0o644, uid=1234, gid=2345)
    group_may_not = _acl(
        (OWNER, 6, NO_ID),
        (USER, 4, 4567),
        (GROUP, 0, NO_ID),
        (MASK, 4, NO_ID),
        (OTHERS, 4, NO_ID),
    )
    _set_attribute(path, ACL, group_may_not)
    with _as_nobody():
        _rewrite(path)
    assert _attributes(path) == {}
    assert _state(path) == (b"new", NOBODY, NOBODY, 0o600)


def test_an_attribute_of_the_user_that_cannot_be_kept_stops_the_work(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = _make(folder, 0o644)
    _set_attribute(path, "user.origin", b"x")

    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "setxattr", refuse)
    with pytest.raises(OSError, match="not supported"):
        _rewrite(path)
    assert _attributes(path) == {"user.origin": b"x"}
    assert [found.name for found in folder.iterdir()] == ["a"]


def test_labels_are_a_courtesy_and_signatures_of_the_content_are_dropped(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = _make(folder, 0o644)
    names = ["security.ima", "security.evm", "security.selinux", "trusted.x"]
    tried: list[str] = []

    def refuse(_: int, name: str, __: bytes) -> None:
        tried.append(name)
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "listxattr", lambda _: names, raising=False)
    monkeypatch.setattr(os, "getxattr", lambda *_: b"value", raising=False)
    monkeypatch.setattr(os, "setxattr", refuse, raising=False)
    _rewrite(path)
    assert tried == ["security.selinux", "trusted.x"]
    assert path.read_bytes() == b"new"


CAPABILITY = "security.capability"
CAP_NET_BIND = struct.pack("<5I", 0x0200_0001, 1 << 10, 0, 0, 0)
"""Revision 2, effective; permitted and inheritable sets of two words each."""


@as_root
def test_capabilities_are_kept_or_their_loss_is_told(folder: Path) -> None:
    path = _make(folder, 0o755)
    for owner in (0, NOBODY):
        os.chown(path, owner, owner)
        os.setxattr(path, CAPABILITY, CAP_NET_BIND)
        with warnings.catch_warnings(action="error"):
            _rewrite(path)
        assert _state(path) == (b"new", owner, owner, 0o755)
        assert os.getxattr(path, CAPABILITY) == CAP_NET_BIND
    with _as_nobody(), pytest.warns(RightsLost, match=f"{path}.*{CAPABILITY}.* are lost"):
        _rewrite(path)
    assert CAPABILITY not in os.listxattr(path)
    os.chown(path, 0, 0)
    os.setxattr(path, CAPABILITY, CAP_NET_BIND)
    with _as_nobody(), pytest.warns(RightsLost):  # the owner is lost, too
        _rewrite(path)
    assert CAPABILITY not in os.listxattr(path)


def test_platforms_without_extended_attributes(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("listxattr", "getxattr", "setxattr", "removexattr"):
        monkeypatch.delattr(os, name, raising=False)
    path = _make(folder, 0o640)
    _rewrite(path)
    assert _state(path) == (b"new", os.geteuid(), os.getegid(), 0o640)


def test_a_new_name_is_private_while_it_is_written(folder: Path) -> None:
    path = _make(folder, 0o644)
    with _umask(0), open_file(path) as source:  # noqa: SIM117  two steps
        with replacing(source, choose_target(source, folder / "b"), verify=lambda _: None) as new:
            new.write(b"new")
            (temporary,) = find_temporaries(str(folder / "b"))
            assert stat.S_IMODE(Path(temporary).stat().st_mode) == 0o600
    assert stat.S_IMODE((folder / "b").stat().st_mode) == 0o644


def test_nobody_can_read_more_at_any_moment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _make(folder, 0o640)
    moments: list[int] = []

    def watched(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  as the wrapped function
            found = map(Path, find_temporaries(str(path)))
            moments.extend(stat.S_IMODE(own.stat().st_mode) for own in found)
            return real(*args, **kwargs)

        return call

    for name in ("fchmod", "fchown", "write", "fsync", "setxattr", "link", "replace"):
        monkeypatch.setattr(os, name, watched(getattr(os, name)))
    with _umask(0):
        _rewrite(path, backup_suffix="~")
    assert set(moments) == {0o600, 0o640}
