"""Ctrl-C while a new version is put in its place: what is said of the file is so."""

from __future__ import annotations

import signal
import threading
import time
from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter import bloomify
from parquet_bloomwriter.errors import OutcomeUnknown, StoreProblem
from parquet_bloomwriter.stores.base import NOT_KNOWN, FileState, LocalFile, WholeStore
from parquet_bloomwriter.stores.sftp import SftpStore

if TYPE_CHECKING:
    from tests.stores.whole.cloud import Cloud
    from tests.stores.whole.sftp_server import Sshd

KEY = "bucket/a.parquet"


def interrupt() -> None:
    """Let Ctrl-C come in the main thread, and give it time."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    time.sleep(0.2)


def notes_of(url: str) -> list[str]:
    """Add filters to a file until Ctrl-C comes; return what is said of the file."""
    with pytest.raises(KeyboardInterrupt) as caught:
        bloomify(url, ["id"])
    return getattr(caught.value, "__notes__", [])


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        *(("gs://bucket/a.parquet", ""), ("gs://bucket/a.parquet", "lost")),
        *(("az://bucket/a.parquet", "cut"), ("az://bucket/a.parquet", "403")),
    ],
)
def test_a_put_on_its_way_has_an_unknown_outcome(
    cloud: Cloud, plain: bytes, url: str, fault: str
) -> None:
    cloud.put(KEY, plain)

    def come(_number: int, method: str, _path: str) -> str:
        if method == "PUT":
            interrupt()
            return fault
        return ""

    cloud.fault = come
    (note,) = notes_of(url)
    assert note.startswith(f"{url}: {NOT_KNOWN}. Run the command again")
    assert (cloud.objects[KEY].data != plain) == (fault in ("", "lost"))


@pytest.mark.parametrize("url", ["gs://bucket/a.parquet", "az://bucket/a.parquet"])
def test_an_object_that_is_read_back_is_in_place(cloud: Cloud, plain: bytes, url: str) -> None:
    cloud.put(KEY, plain)

    def come(_number: int, method: str, _path: str) -> str:
        if method == "GET" and ("PUT", KEY) in cloud.log:
            interrupt()
        return ""

    cloud.fault = come
    assert notes_of(url) == [f"{url}: the new version is in place, and was not read"]
    assert cloud.objects[KEY].data != plain


def test_before_the_put_nothing_is_said(cloud: Cloud, plain: bytes) -> None:
    cloud.put(KEY, plain)

    def come(_number: int, method: str, _path: str) -> str:
        assert method != "PUT"
        interrupt()
        return ""

    cloud.fault = come
    assert notes_of("gs://bucket/a.parquet") == []
    assert cloud.objects[KEY].data == plain


@pytest.mark.parametrize("kind", ["", "lost", "denied", "cut", "ended"])
def test_a_rename_is_settled_first(
    sshd: Sshd, sftp_url: str, plain: bytes, with_filters: bytes, kind: str
) -> None:
    file = sshd.root / "a.parquet"
    file.write_bytes(plain)
    came: list[str] = []

    def come(operation: str) -> None:
        if operation == "posix_rename" and not came:
            came.append(operation)
            interrupt()

    def fail(_number: int, operation: str) -> str:
        if kind == "ended":  # The server answers nothing from now on.
            return "cut" if came else ""
        return kind if operation == "posix_rename" else ""

    sshd.before, sshd.fault = come, fail
    notes = notes_of(sftp_url)
    assert came
    if kind == "ended":
        (note,) = notes
        assert note.startswith(f"{shown(sftp_url)}: {NOT_KNOWN}. Look whether")
        assert file.read_bytes() == plain
        return
    assert [one.name for one in sshd.root.iterdir()] == ["a.parquet"]
    is_new = file.read_bytes() == with_filters  # If the server was faster than we were.
    assert is_new or file.read_bytes() == plain
    assert notes == [f"{shown(sftp_url)}: the new version is in place"] * is_new


def test_a_rename_that_was_done_is_said_to_be_done(
    sshd: Sshd,
    sftp_url: str,
    plain: bytes,
    with_filters: bytes,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = sshd.root / "a.parquet"
    file.write_bytes(plain)
    rename = SftpStore._rename  # noqa: SLF001

    def interrupted(self: SftpStore, temporary: str, path: str, *, replaces: bool) -> None:
        rename(self, temporary, path, replaces=replaces)
        raise KeyboardInterrupt

    monkeypatch.setattr(SftpStore, "_rename", interrupted)
    assert notes_of(sftp_url) == [f"{shown(sftp_url)}: the new version is in place"]
    assert file.read_bytes() == with_filters


def shown(url: str) -> str:
    """Return a URL as messages have it, without its user."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def test_ctrl_c_is_never_taken_for_an_error_of_one_file() -> None:
    class Interrupted(WholeStore):
        raised: OutcomeUnknown | StoreProblem

        def _publish(
            self, path: str, data: LocalFile, replaces: FileState | None, like: FileState | None
        ) -> FileState:
            del path, data, replaces, like
            raise self.raised from KeyboardInterrupt()

    Interrupted.__abstractmethods__ = frozenset()
    store = Interrupted()  # type: ignore[abstract]  # only publish is called
    cases: list[tuple[OutcomeUnknown | StoreProblem, list[str]]] = [
        (StoreProblem("it did not rename", path="x://a"), []),
        (OutcomeUnknown("lost", path="x://a", remedy="Look."), [f"x://a: {NOT_KNOWN}. Look"]),
        (OutcomeUnknown("lost", path="x://a"), [f"x://a: {NOT_KNOWN}"]),
    ]
    for error, notes in cases:
        store.raised = error
        with pytest.raises(KeyboardInterrupt) as caught:
            store.publish("a", LocalFile(0), replaces=None, like=None)
        assert getattr(caught.value, "__notes__", []) == notes
