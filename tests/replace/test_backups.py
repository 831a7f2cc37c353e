"""Backups in another folder, on this disk and on another, whatever fails and whenever."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from typing import TYPE_CHECKING, Any

import pytest

from parquet_bloomwriter.errors import InvalidArgument, Unfinished, UnsafeTarget
from parquet_bloomwriter.replace import commit
from parquet_bloomwriter.replace.names import exchange
from parquet_bloomwriter.replace.target import choose_target
from parquet_bloomwriter.source.local import open_file
from tests.support.replacing import replacing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OLD, NEW = b"PAR1old bytesPAR1", b"PAR1new bytes, and morePAR1"
CALLS = ("write", "fsync", "mkdir", "link", "replace", "copy_file_range", "utime", "fchmod")
KEPT = "kept/a/b/a.parquet"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Write a file in a folder of its own, which few may enter."""
    path = tmp_path / "data/a.parquet"
    path.parent.mkdir(mode=0o750)
    path.write_bytes(OLD)
    path.chmod(0o640)
    return path


@pytest.fixture(params=["one disk", "two disks"])
def disks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let hard links to other folders fail, or not."""
    real = os.link

    def link(source: str, target: str) -> None:
        if os.path.dirname(source) != os.path.dirname(target):  # noqa: PTH120
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), target)
        real(source, target)

    if request.param == "two disks":
        monkeypatch.setattr(os, "link", link)
    return str(request.param)


def rewrite(old: Path, backup_dir: Path | None = None, **options: Any) -> None:  # noqa: ANN401
    kept = old.parents[1] / "kept/a/b" if backup_dir is None else backup_dir
    with open_file(old) as source:
        target = choose_target(source, backup_dir=kept, **options)
        with replacing(source, target, verify=lambda _: None) as new:
            new.write(NEW)


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.usefixtures("disks")
def test_the_old_file_is_kept_in_the_folder(old: Path) -> None:
    os.utime(old, (1, 1))
    before = old.stat()
    rewrite(old)
    root = old.parents[1]
    assert files(root) == {"data/a.parquet": NEW, KEPT: OLD}
    kept = (root / KEPT).stat()
    assert (kept.st_mode, kept.st_mtime) == (before.st_mode, before.st_mtime)
    for folder in ("kept", "kept/a", "kept/a/b"):
        assert stat.S_IMODE((root / folder).stat().st_mode) == 0o750, folder


TEMPORARY = "kept/a/b/.a.parquet.bloomify-0123456789abcdef.tmp"


def claim(root: Path, data: bytes = b"") -> None:
    """Leave what a run leaves that claims the backup's name for its copy, when the power goes."""
    (root / KEPT).parent.mkdir(parents=True)
    (root / KEPT).write_bytes(data)
    (root / TEMPORARY).write_bytes(OLD)


@pytest.mark.usefixtures("disks")
def test_a_claim_that_a_run_left_when_the_power_went_is_no_backup(old: Path) -> None:
    root = old.parents[1]
    claim(root)
    rewrite(old)
    assert files(root) == {"data/a.parquet": NEW, KEPT: OLD}


def test_a_claim_that_a_run_left_is_no_output(old: Path) -> None:
    root = old.parents[1]
    claim(root)
    with open_file(old) as source:
        target = choose_target(source, root / KEPT)
        with replacing(source, target, verify=lambda _: None) as new:
            new.write(NEW)
    assert files(root) == {"data/a.parquet": OLD, KEPT: NEW}
    assert stat.S_IMODE((root / KEPT).stat().st_mode) == 0o640


def test_a_file_that_may_be_anybody_s_is_no_claim(old: Path) -> None:
    root = old.parents[1]
    claim(root, b"theirs")
    with pytest.raises(UnsafeTarget, match="the backup exists already"):
        rewrite(old)
    (root / KEPT).write_bytes(b"")
    with (root / TEMPORARY).open("rb") as live:
        fcntl.flock(live, fcntl.LOCK_EX)
        with pytest.raises(UnsafeTarget, match="the backup exists already"):
            rewrite(old)
    (root / TEMPORARY).unlink()
    with pytest.raises(UnsafeTarget, match="the backup exists already"):
        rewrite(old)
    assert files(root) == {"data/a.parquet": OLD, KEPT: b""}


class Fault:
    """Lets the n-th system call fail, 1-based, before or after it is done."""

    def __init__(self, number: int, error: BaseException, *, after: bool = False) -> None:
        self.number, self.error, self.after = number, error, after
        self.seen: list[str] = []

    def watched(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a system call."""

        def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            self.seen.append(name)
            hit = len(self.seen) == self.number
            if hit and not self.after:
                raise self.error
            try:
                return real(*args, **kwargs)
            finally:
                if hit and self.after:
                    raise self.error

        return call

    def run(self, old: Path) -> BaseException | None:
        """Rewrite, and return what reached the caller."""
        with pytest.MonkeyPatch.context() as patch:
            for name in CALLS:
                patch.setattr(os, name, self.watched(name, getattr(os, name)))
            patch.setattr(commit, "exchange", self.watched("exchange", exchange))
            try:
                rewrite(old)
            except BaseException as error:  # noqa: BLE001
                return error
        return None


@pytest.fixture
def trial(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Return a function that writes the old file in a new folder."""

    def make() -> Path:
        path = tmp_path_factory.mktemp("fault") / "data/a.parquet"
        path.parent.mkdir()
        path.write_bytes(OLD)
        return path

    return make


@pytest.mark.usefixtures("disks")
def test_a_fault_at_any_call(trial: Callable[[], Path]) -> None:
    counting = Fault(0, OSError())
    assert counting.run(trial()) is None
    assert {"mkdir", "link", "exchange", "fsync"} <= set(counting.seen)
    for number, name in enumerate(counting.seen, 1):
        old = trial()
        error = Fault(number, OSError(errno.EIO, "bad disk")).run(old)
        is_new = error is None or isinstance(error, Unfinished)
        expected = {"data/a.parquet": NEW, KEPT: OLD} if is_new else {"data/a.parquet": OLD}
        assert files(old.parents[1]) == expected, name


@pytest.mark.usefixtures("disks")
@pytest.mark.parametrize("after", [False, True])
def test_an_interruption_at_any_call(trial: Callable[[], Path], *, after: bool) -> None:
    counting = Fault(0, OSError())
    assert counting.run(trial()) is None
    old_state, new_state = {"data/a.parquet": OLD}, {"data/a.parquet": NEW, KEPT: OLD}
    for number, name in enumerate(counting.seen, 1):
        old = trial()
        error = Fault(number, KeyboardInterrupt(), after=after).run(old)
        states = [old_state, new_state]
        if after and name == "link":
            states.append(old_state | {KEPT: OLD})  # made, not yet known
        assert isinstance(error, KeyboardInterrupt)
        assert files(old.parents[1]) in states, name


@pytest.mark.usefixtures("disks")
def test_folders_are_synced_before_the_exchange(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A backup whose folders are lost in a power failure is none."""
    done: list[str] = []
    fsync = os.fsync

    def sync(fd: int) -> None:
        done.append(os.path.relpath(os.readlink(f"/proc/self/fd/{fd}"), old.parents[1]))  # noqa: PTH115
        fsync(fd)

    def change(one: str, other: str) -> None:
        done.append("exchange")
        exchange(one, other)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(commit, "exchange", change)
    rewrite(old)
    before = done[: done.index("exchange")]
    assert [one for one in before if not one.endswith((".tmp", ".parquet"))] == [
        ".", "kept", "kept/a", "kept/a/b",
    ]  # fmt: skip


@pytest.mark.parametrize("spelling", ["data", "data/../data", "link", "data/"])
def test_a_backup_is_never_the_file_itself(
    old: Path, spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the old bytes would be lost, and with a fault before the exchange the file."""
    (old.parents[1] / "link").symlink_to(old.parent)
    monkeypatch.setattr(commit, "_exchange", lambda *_: pytest.fail("the file is replaced"))
    with pytest.raises(UnsafeTarget, match="the backup would be the file itself"):
        rewrite(old, old.parents[1] / spelling)
    assert files(old.parent) == {"a.parquet": OLD}


def test_a_backup_of_a_run_that_died_stays_if_this_one_fails(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = old.parents[1] / KEPT
    kept.parent.mkdir(parents=True)
    kept.hardlink_to(old)

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "I/O error")

    monkeypatch.setattr(commit, "_exchange", fail)
    with pytest.raises(OSError, match="I/O error"):
        rewrite(old)
    assert (old.read_bytes(), kept.read_bytes()) == (OLD, OLD)


@pytest.mark.parametrize(
    ("file", "options"),
    [
        ("t/p=1/x.parquet", {"backup_suffix": ".old"}),
        ("t/p=1/x.parquet", {"backup_dir": "t/kept"}),
        ("t/p=1/q=2/x.parquet", {"backup_dir": "t/p=1/kept"}),
        ("t/p=1/x.parquet", {"backup_dir": "t/p=1/kept"}),
    ],
)
def test_no_reader_of_the_table_finds_a_backup(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, options: dict[str, str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_bytes(OLD)
    with open_file(path) as source, pytest.raises(UnsafeTarget, match="would read the backup"):
        choose_target(source, **options)  # type: ignore[arg-type]
    assert files(tmp_path) == {file: OLD}


def test_what_cannot_be_a_folder_of_backups(old: Path) -> None:
    root = old.parents[1]
    (root / "file").write_bytes(b"")
    (root / "full").mkdir()
    (root / "full/a.parquet").write_bytes(b"precious")
    (old.parent / "b.PARQ").write_bytes(OLD)
    before = files(root)
    with pytest.raises(InvalidArgument, match="this is none"):
        rewrite(old, root / "file")
    with pytest.raises(UnsafeTarget, match="the backup exists already"):
        rewrite(old, root / "full")
    for inside in (old.parent, old.parent / "kept", old.parent / "x/../y"):
        with pytest.raises(UnsafeTarget, match=r"the file itself|would read the backup"):
            rewrite(old, inside)
    with pytest.raises(InvalidArgument, match="exclude each other"):
        rewrite(old, root / "kept", backup_suffix="~")
    assert files(root) == before
