# ruff: noqa: D102  the names of tests say what they test
"""What every store does: one suite, which each store subclasses.

A store is given by `opened`, which returns it and a folder of its own on it, and by `break_next`,
which lets a request that creates a file fail: "never sent" is before it is carried out, "lost" is
after; with `always`, whatever asks the store what is there fails, too. `is_exclusive` and
`has_tables` say what it can. The tests skip silently what it cannot; they do not prove that
commands find the store by its URL.
"""

from __future__ import annotations

import secrets
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from parquet_bloomwriter.errors import FileChanged, OutcomeUnknown, StoreProblem
from parquet_bloomwriter.source.settings import HdfsConnection
from parquet_bloomwriter.stores import log_entries
from parquet_bloomwriter.stores.base import LocalFile, TableStore, WholeStore, is_forbidden
from parquet_bloomwriter.stores.hdfs import HdfsStore
from parquet_bloomwriter.stores.log_entries import create_entry
from parquet_bloomwriter.stores.open import normal_url, open_any, open_place, open_store
from parquet_bloomwriter.stores.s3 import bucket as s3
from parquet_bloomwriter.stores.sftp import SftpStore
from tests.stores.faults import Fault, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parquet_bloomwriter.stores.base import Store
    from tests.stores.conftest import Use
    from tests.stores.hdfs import Hdfs
    from tests.stores.proxy import Proxy
    from tests.stores.whole.cloud import Cloud
    from tests.stores.whole.sftp_server import Sshd

FIRST, SECOND, THIRD = (f"{number:020}.json" for number in range(3))
NAMES = ("a b/#1.json", "a b/2.json", "a b/c/3.json", "a bc/4.txt")
DATA = b'{"commitInfo":{"txnId":"attempt-1"}}\n'


def write(store: Store, path: str, data: bytes = b"data") -> None:
    store.create(path, data, attempt=secrets.token_hex(8))


def local(data: bytes) -> LocalFile:
    file = LocalFile(len(data))
    file.append(data)
    return file


class StoreContract:
    """The contract; see the head of the module."""

    is_exclusive: ClassVar = True
    has_tables: ClassVar = True
    breaks: ClassVar[tuple[str, ...]] = ("lost", "never sent")
    threads: ClassVar = 8
    """How many may use it at the same time."""

    @pytest.fixture
    def opened(self) -> tuple[Store, str]:
        """Return a store, and a folder on it, without a slash at its end."""
        raise NotImplementedError

    def break_next(self, how: str, *, always: bool = False) -> None:
        """Let the next request that creates a file fail, or all of them and what asks about it."""
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _short_pauses(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(log_entries, "_LOOKS_S", (0.0, 0.01))
        monkeypatch.setattr(s3, "_FIRST_PAUSE_S", 0.001)

    def test_files_come_and_go(self, opened: tuple[Store, str]) -> None:
        store, folder = opened
        path = f"{folder}/a b/#1é.json"
        assert store.state(path) is None
        for read in (store.read_whole, lambda one: store.opened(one).__enter__()):
            with pytest.raises(FileNotFoundError) as caught:
                read(path)
            assert caught.value.filename == store.spell(path)
        write(store, path, b"0123456789")
        state = store.state(path)
        assert state is not None
        assert state.size == 10
        assert store.read_whole(path) == b"0123456789"
        assert store.traffic.up >= 10
        with store.opened(path) as source:
            assert source.read_ranges([(8, 10), (0, 2)]) == [b"89", b"01"]
        store.remove(path)
        store.remove(path)
        assert store.state(path) is None
        for size in (0, 1, 70_000):
            write(store, f"{folder}/{size}", bytes(size))
            assert store.read_whole(f"{folder}/{size}") == bytes(size)

    def test_folders_are_listed(self, opened: tuple[Store, str]) -> None:
        store, folder = opened
        for name in NAMES:
            write(store, f"{folder}/{name}", name.encode())

        def names(start: str = "") -> list[tuple[str, int]]:
            found = store.files_in(f"{folder}/a b", start=start)
            return [(one.key.rpartition("/")[2], one.size) for one in found]

        assert names() == [("#1.json", 11), ("2.json", 10)]
        assert names("2") == [("2.json", 10)]
        assert names("z") == []
        with pytest.raises(FileNotFoundError):
            list(store.files_in(f"{folder}/nowhere"))
        questions: list[tuple[str, str | tuple[str, ...], bool]] = [
            ("a b/2.json", "", True), ("a b/2", "", store.kind == "S3"), ("a b/c/", "", True),
            ("a b/", ".json", True), ("a b/", (".x", ".json"), True), ("a bc/", ".json", False),
            ("nowhere/", "", False),
        ]  # fmt: skip
        for prefix, suffix, answer in questions:
            assert store.has_prefix(f"{folder}/{prefix}", suffix=suffix) is answer, prefix

    def test_prefixes_are_listed_with_etags(self, opened: tuple[Store, str]) -> None:
        store, folder = opened
        if not isinstance(store, TableStore):
            assert not self.has_tables
            return
        for name in NAMES:
            write(store, f"{folder}/{name}", name.encode())
        start = f"{folder}/".lstrip("/")

        def keys(prefix: str, after: str = "") -> list[str]:
            after = after and start + after
            found = store.objects(start + prefix, start_after=after)
            return [one.key.removeprefix(start) for one in found]

        assert keys("") == list(NAMES)
        assert keys("a b/") == list(NAMES[:3])
        assert keys("a b") == list(NAMES)
        assert keys("a b/", NAMES[0]) == list(NAMES[1:3])
        assert keys("nowhere/") == []
        assert list(store.folders(f"{folder}/")) == ["a b", "a bc"]
        for one in store.objects(start):
            state = store.state(one.key)
            assert state is not None
            assert (one.size, one.etag) == (state.size, state.etag)
            assert one.etag[0] == one.etag[-1] == '"'
            assert one.changed_ns // 10**9 == state.changed_ns // 10**9
        assert store.look(f"{folder}/{NAMES[1]}") == (10, False)
        assert store.look(f"{folder}/a b") == (None, True)
        assert store.look(f"{folder}/a") == (None, False)

    def test_a_url_leads_to_the_store_that_spells_it(self, opened: tuple[Store, str]) -> None:
        store, folder = opened
        if not isinstance(store, TableStore):
            return
        url = store.spell(f"{folder}/a b")
        assert normal_url(url) == url
        place = open_place(url)
        assert place.store.spell(place.path) == url
        assert (place.store.endpoint, place.store.name) == (store.endpoint, store.name)

    def test_reads_are_of_one_version(self, opened: tuple[Store, str]) -> None:
        store, folder = opened
        if not isinstance(store, TableStore):
            return
        path = f"{folder}/a.json"
        write(store, path, b"0123456789" * 20_000)
        data, state = store.read(path, 2, 4)
        assert (data, state.size) == (b"23", 200_000)
        assert store.read(path, 2, 4, if_match=state.etag)[0] == b"23"
        with store.opened(path) as source:
            store.remove(path)
            write(store, path, b"other" * 20_000)
            with pytest.raises(FileChanged):
                store.read(path, 2, 4, if_match=state.etag)
            if store.kind != "HDFS":  # HDFS still reads the old blocks
                with pytest.raises(FileChanged):
                    source.read_at(0, 10)

    def test_a_file_is_created_once(self, opened: tuple[Store, str]) -> None:
        store, folder = opened
        assert (store.why_not_exclusive(folder) == "") is self.is_exclusive
        write(store, f"{folder}/{FIRST}", b"theirs")
        with pytest.raises(FileChanged, match="another program wrote"):
            write(store, f"{folder}/{FIRST}", b"ours")
        assert store.read_whole(f"{folder}/{FIRST}") == b"theirs"
        if self.is_exclusive:

            def write_one(number: int) -> bool:
                attempt = f"by {number:02}"  # none is a part of another one
                return create_entry(store, f"{folder}/{SECOND}", attempt.encode(), attempt=attempt)

            with ThreadPoolExecutor(self.threads) as pool:
                won = list(pool.map(write_one, range(8)))
            assert sum(won) == 1
            found = store.read_whole(f"{folder}/{SECOND}")
            assert found == f"by {won.index(True):02}".encode()
        names = [one.key.rpartition("/")[2] for one in store.files_in(folder)]
        assert names == [FIRST, SECOND][: 1 + self.is_exclusive]

    def test_open_files_are_sent(self, opened: tuple[Store, str]) -> None:
        store, folder = opened
        if not isinstance(store, TableStore):
            return
        for data in (b"", b"x" * 100_000):
            with tempfile.TemporaryFile() as file:
                file.write(data)
                file.flush()
                state = store.create_file(f"{folder}/{len(data)}", file.fileno(), len(data))
            assert state.size == len(data)
            assert store.read_whole(f"{folder}/{len(data)}") == data

    def test_a_version_is_replaced_if_it_is_still_there(self, opened: tuple[Store, str]) -> None:
        store, folder = opened
        if not isinstance(store, WholeStore) or store.why_not:
            return
        path = f"{folder}/a.json"
        write(store, path, b"first")
        first = store.state(path)
        assert first is not None
        second = store.publish(path, local(b"second one"), replaces=first, like=first)
        assert second.token == store.state(path).token  # type: ignore[union-attr]
        for before in (first, None):
            with pytest.raises(FileChanged):
                store.publish(path, local(b"third"), replaces=before, like=first)
        assert store.read_whole(path) == b"second one"
        assert len(list(store.files_in(folder))) == 1

    def test_a_lost_answer_is_no_conflict(self, opened: tuple[Store, str]) -> None:
        """The entry is there once, or another writer's, whichever request failed how."""
        store, folder = opened
        if not self.is_exclusive:
            return
        for number, how in enumerate(self.breaks):
            ours, theirs = f"{folder}/{number:020}.json", f"{folder}/{100 + number:020}.json"
            self.break_next(how)
            try:
                is_there = create_entry(store, ours, DATA, attempt="attempt-1")
            except StoreProblem:  # the store is sure, and says so
                assert how == "never sent"
                is_there = create_entry(store, ours, DATA, attempt="attempt-1")
            assert is_there, how
            assert store.read_whole(ours) == DATA, how
            write(store, theirs, b"others")
            self.break_next(how)
            assert not create_entry(store, theirs, DATA, attempt="attempt-1"), how
            assert store.read_whole(theirs) == b"others", how

    def test_an_answer_that_never_comes(self, opened: tuple[Store, str]) -> None:
        store, folder = opened
        if not self.is_exclusive:
            return
        self.break_next("lost", always=True)
        with pytest.raises(OutcomeUnknown):
            create_entry(store, f"{folder}/{THIRD}", DATA, attempt="attempt-1")

    def test_the_text_tells_where_the_attempt_is_lost(self, opened: tuple[Store, str]) -> None:
        """A gateway that drops metadata answers a repeated request by a conflict."""
        store, folder = opened
        write(store, f"{folder}/{THIRD}", DATA)
        assert create_entry(store, f"{folder}/{THIRD}", DATA, attempt="attempt-1")
        assert not create_entry(store, f"{folder}/{THIRD}", DATA, attempt="attempt-2")


class TestS3(StoreContract):
    """SeaweedFS."""

    breaks = (
        *("CUT_AFTER", "ERROR_AFTER", "TRUNCATED"),
        *("CUT_BEFORE", "ERROR", "SLOW_DOWN", "CONFLICT", "PRECONDITION"),
    )

    @pytest.fixture
    def opened(self, proxy: Proxy, bucket: str, homes: None, use: Use) -> tuple[Store, str]:  # noqa: ARG002
        use(proxy.store)
        self.proxy = proxy
        store, path = open_any(f"s3a://{bucket}/a folder")
        store.why_not_exclusive(path)  # it is tried now, and not when requests fail
        return store, path

    def break_next(self, how: str, *, always: bool = False) -> None:
        fault = Fault.CUT_AFTER if how == "lost" else Fault[how]
        rules = [Rule(fault=fault, operation="PutObject")]
        if always:
            asked = ("HeadObject", "GetObject")
            rules += [Rule(fault=Fault.ERROR, operation=one, sticky=True) for one in asked]
        self.proxy.play(*rules)

    def test_a_second_look_is_enough(self, opened: tuple[Store, str]) -> None:
        store, folder = opened
        self.proxy.play(
            Rule(fault=Fault.CUT_AFTER, operation="PutObject"),
            Rule(fault=Fault.ERROR, operation="HeadObject", sticky=True),
        )
        assert create_entry(store, f"{folder}/{THIRD}", DATA, attempt="attempt-1")

    def test_what_is_forbidden_is_named(self, opened: tuple[Store, str]) -> None:
        store, folder = opened
        self.proxy.play(Rule(fault=Fault.DENIED, operation="PutObject", sticky=True))
        with pytest.raises(StoreProblem, match="s3:PutObject") as caught:
            create_entry(store, f"{folder}/{THIRD}", DATA, attempt="attempt-1")
        assert is_forbidden(caught.value)


class TestGoogle(StoreContract):
    """obstore, and the tests' server."""

    url: ClassVar = "gs://bucket/a folder"
    breaks = ("lost", "never sent", "500", "503")

    @pytest.fixture
    def opened(self, cloud: Cloud) -> tuple[Store, str]:
        self.cloud = cloud
        return open_place(self.url)

    def break_next(self, how: str, *, always: bool = False) -> None:
        puts: list[int] = []

        def fault(number: int, method: str, _path: str) -> str:
            if method == "PUT":
                puts.append(number)
                is_one = len(puts) == 1 or always
                return ("cut" if how == "never sent" else how) if is_one else ""
            return "cut" if always and puts else ""

        self.cloud.fault = fault

    def test_what_is_forbidden_is_named(self, opened: tuple[Store, str]) -> None:
        store, folder = opened
        self.cloud.fault = lambda *_: "403"
        for ask in (
            lambda: write(store, f"{folder}/a"),
            lambda: store.read_whole(f"{folder}/a"),
            lambda: list(store.files_in(folder)),
        ):
            with pytest.raises(StoreProblem, match="this needs the permission") as caught:
                ask()
            assert is_forbidden(caught.value)

    def test_an_entry_says_what_it_is(self, opened: tuple[Store, str]) -> None:
        store, folder = opened
        create_entry(store, f"{folder}/a", DATA, attempt="a", content_type="application/json")
        (stored,) = self.cloud.objects.values()
        said = {"content-type", "x-ms-blob-content-type"} & stored.headers.keys()
        assert "application/json" in {stored.headers[one] for one in said}


class TestAzure(TestGoogle):
    """obstore, and the tests' server."""

    url: ClassVar = "az://bucket/a folder"


class _Renaming(StoreContract):
    """A store whose rename fails if there is a file, and whose answers to it are broken here."""

    kind: type[WholeStore]

    @pytest.fixture(autouse=True)
    def _patches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("parquet_bloomwriter.stores.file_systems._PAUSES_S", (0.0, 0.0))
        self.patches = monkeypatch

    def break_next(self, how: str, *, always: bool = False) -> None:
        rename = self.kind._rename  # type: ignore[attr-defined]  # noqa: SLF001

        def broken(store: WholeStore, *paths: str, replaces: bool) -> None:
            self.patches.setattr(self.kind, "_rename", rename)
            if how == "lost":
                rename(store, *paths, replaces=replaces)
            if always:
                self.patches.setattr(self.kind, "_look", silent)
            raise ConnectionError("told to fail")

        def silent(*_: object) -> None:
            raise StoreProblem("told to fail")

        self.patches.setattr(self.kind, "_rename", broken)


class TestSftp(_Renaming):
    """A server in this process."""

    kind = SftpStore
    has_tables = False
    threads = 1

    @pytest.fixture
    def opened(self, sshd: Sshd) -> tuple[Store, str]:
        store, path = open_store(f"sftp://ada@127.0.0.1:{sshd.port}/a folder/x")
        write(store, path)  # makes the folder, where `why_not_exclusive` has its files
        store.remove(path)
        return store, path.removesuffix("/x")


class TestHdfs(_Renaming):
    """A name node and a data node."""

    kind = HdfsStore

    @pytest.fixture
    def opened(self, hdfs: Hdfs) -> tuple[Store, str]:
        return HdfsStore(hdfs.url, HdfsConnection()), f"/t{secrets.token_hex(4)}"


class TestMemory(StoreContract):
    """Files in memory stand for all that can neither rename nor create a file once."""

    is_exclusive = False
    has_tables = False

    @pytest.fixture
    def opened(self) -> Iterator[tuple[Store, str]]:
        store, path = open_store("memory://contract/x")
        yield store, path.removesuffix("/x")
        with suppress(FileNotFoundError):
            MemoryFileSystem().rm("/contract", recursive=True)
