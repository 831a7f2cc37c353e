"""Files on a real HDFS: replaced by a rename, whatever call fails."""

from __future__ import annotations

import secrets
import threading
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import deltalake
import pyarrow as pa
import pytest
from hdfs_native import AclEntry, Client

from parquet_bloomwriter import (
    FileChanged,
    InvalidArgument,
    UnsafeTarget,
    bloomify,
    bloomify_table,
    for_each_file,
    probe,
    read_table,
    strip,
)
from parquet_bloomwriter.errors import StoreProblem
from parquet_bloomwriter.source.hdfs import open_version, split_url
from parquet_bloomwriter.source.settings import HdfsConnection
from parquet_bloomwriter.stores.hdfs import HdfsStore
from tests.stores.whole.outcome import error_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.stores.hdfs import Hdfs

NAME = "a b #1;é%20?.parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder of its own on the server."""

    store: HdfsStore
    path: str

    @property
    def url(self) -> str:
        """Without a slash at its end."""
        return self.store.spell(self.path)

    @property
    def client(self) -> Client:
        """The store's own."""
        return self.store._client  # noqa: SLF001

    def put(self, name: str, data: bytes) -> str:
        """Write a file, in place of what is there; return its URL."""
        self.store.remove(f"{self.path}/{name}")
        self.store.create(f"{self.path}/{name}", data, attempt="")
        return f"{self.url}/{name}"

    def get(self, name: str) -> bytes:
        """Read a file."""
        return self.client.read(f"{self.path}/{name}").read()

    def names(self) -> list[str]:
        """All files in the folder and below it."""
        return [
            one.key.removeprefix(f"{self.path[1:]}/") for one in self.store.objects(f"{self.path}/")
        ]


@pytest.fixture
def folder(hdfs: Hdfs, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.setattr("parquet_bloomwriter.stores.file_systems._PAUSES_S", (0.0, 0.0))
    return Folder(store=HdfsStore(hdfs.url, HdfsConnection()), path=f"/t{secrets.token_hex(4)}")


def test_filters_come_and_go(folder: Folder, plain: bytes, with_filters: bytes) -> None:
    url = folder.put(NAME, plain)
    path = f"{folder.path}/{NAME}"
    folder.client.set_owner(path, "somebody", "people")
    folder.client.set_permission(path, 0o640)
    report = bloomify(url, ["id"])
    assert report.written
    assert folder.get(NAME) == with_filters
    found = folder.client.get_file_info(path)
    assert (found.owner, found.group, found.permission) == ("somebody", "people", 0o640)
    assert report.store is not None
    assert report.store.up == len(with_filters)
    assert report.store.down > len(plain) / 3
    assert strip(url).written
    assert folder.get(NAME) == plain
    assert folder.names() == [NAME]


def test_access_lists_and_sizes_of_blocks_are_kept(
    hdfs: Hdfs, folder: Folder, plain: bytes
) -> None:
    from hdfs_native import WriteOptions

    folder.put("other", b"")
    path = f"{folder.path}/a.parquet"
    with folder.client.create(path, WriteOptions(block_size=1 << 20, replication=2)) as file:
        file.write(plain)
    folder.client.modify_acl_entries(path, [AclEntry("user", "access", "rw-", "bob")])
    folder.client.set_permission(path, 0o640)
    before = folder.client.get_acl_status(path)
    bloomify(f"{hdfs.url}{path}", ["id"])
    after = folder.client.get_acl_status(path)
    assert [(one.type, one.name, one.permissions) for one in after.entries] == [
        (one.type, one.name, one.permissions) for one in before.entries
    ]
    found = folder.client.get_file_info(path)
    assert (found.blocksize, found.replication, found.permission & 0o777) == (1 << 20, 2, 0o640)


@pytest.mark.parametrize("has_list", [False, True])
def test_nobody_may_read_the_new_file_who_might_not_read_the_old_one(
    hdfs: Hdfs, folder: Folder, plain: bytes, monkeypatch: pytest.MonkeyPatch, *, has_list: bool
) -> None:
    """What a folder gives to files that are new in it, is not given to one that was there."""
    url, path = folder.put("a.parquet", plain), f"{folder.path}/a.parquet"
    folder.client.set_permission(path, 0o640)
    if has_list:
        folder.client.modify_acl_entries(path, [AclEntry("user", "access", "r--", "alice")])
    folder.client.modify_acl_entries(folder.path, [AclEntry("user", "default", "r--", "bob")])
    assert bloomify(url, ["id"]).written
    assert strip(url).written
    names = [one.name for one in folder.client.get_acl_status(path).entries]
    assert names == (["alice", None] if has_list else [])
    for user in ("alice", "bob"):
        monkeypatch.setenv("HADOOP_USER_NAME", user)
        may = has_list and user == "alice"
        with nullcontext() if may else pytest.raises(StoreProblem, match="Permission denied"):
            assert HdfsStore(hdfs.url, HdfsConnection()).read(path, 0, 4)[0] == b"PAR1"


def test_a_name_node_without_access_lists(
    folder: Folder, plain: bytes, with_filters: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(words: str) -> None:
        def get_acl_status(*_: object) -> None:
            raise RuntimeError(f'RPCError("org.apache.hadoop.{words}")')

        monkeypatch.setattr(Client, "get_acl_status", get_acl_status)

    url = folder.put("a.parquet", plain)
    refuse("ipc.RetriableException: the name node is in safe mode")
    with pytest.raises(StoreProblem, match="safe mode"):
        bloomify(url, ["id"])
    assert (folder.get("a.parquet"), folder.names()) == (plain, ["a.parquet"])
    refuse("hdfs.protocol.AclException: The ACL operation has been rejected")
    assert bloomify(url, ["id"]).written
    assert folder.get("a.parquet") == with_filters


def test_a_folder_whose_folders_go_while_it_is_listed(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.put("a", b"a")
    list_status = Client.list_status
    left = [FileNotFoundError(2, "a folder below it went")] * 3

    def lose(client: Client, path: str, *, recursive: bool = False) -> object:
        if recursive and left:
            raise left.pop()
        return list_status(client, path, recursive=recursive)

    monkeypatch.setattr(Client, "list_status", lose)
    with pytest.raises(StoreProblem, match="again and again"):
        folder.names()
    assert folder.names() == ["a"]
    assert not list(folder.store.objects(f"{folder.path}/nothing/"))


def test_folders_other_names_and_other_places(
    folder: Folder, plain: bytes, with_filters: bytes, tmp_path: Path
) -> None:
    url = folder.put("a.parquet", plain)
    other = f"{folder.url}/deep/er/b.parquet"
    bloomify(url, ["id"], output=other)
    assert folder.get("deep/er/b.parquet") == with_filters
    with pytest.raises(UnsafeTarget, match="exists already"):
        strip(other, output=url)
    bloomify(url, ["id"], output=tmp_path / "here.parquet", placement="end")
    assert (tmp_path / "here.parquet").read_bytes() == with_filters
    strip(tmp_path / "here.parquet", output=f"{folder.url}/c.parquet")
    assert folder.get("c.parquet") == plain

    def add(path: str, output: str | None, jobs: int) -> object:
        return bloomify(path, ["id"], output=output, jobs=jobs)

    outcomes = list(for_each_file(folder.url, add))
    assert [one.error for one in outcomes] == [None] * 3
    assert {folder.get(name) for name in folder.names()} == {with_filters}
    assert len(probe(f"{folder.url}/*.parquet", "id = 7").files) == 2
    table = read_table(folder.url, filters=[("id", "=", 7)])
    assert table.column("id").to_pylist() == [7] * 3
    assert isinstance(table, pa.Table)


def test_what_changed_meanwhile_stays(
    folder: Folder, plain: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = folder.put("a.parquet", plain)
    check = HdfsStore._check_still  # noqa: SLF001

    def overtaken(store: HdfsStore, path: str, replaces: Any) -> None:  # noqa: ANN401
        monkeypatch.setattr(HdfsStore, "_check_still", check)
        folder.put("a.parquet", b"another")
        check(store, path, replaces)

    monkeypatch.setattr(HdfsStore, "_check_still", overtaken)
    with pytest.raises(FileChanged):
        bloomify(url, ["id"])
    assert folder.get("a.parquet") == b"another"
    assert folder.names() == ["a.parquet"]


def test_of_writers_of_one_new_name_one_wins(folder: Folder) -> None:
    for number in range(5):
        won: list[int] = []
        start = threading.Barrier(4)

        def write(who: int, number: int = number, start: Any = start, won: Any = won) -> None:  # noqa: ANN401
            start.wait()
            try:
                folder.store.create(f"{folder.path}/log/{number}", b"%d" % who, attempt="")
            except FileChanged:
                return
            won.append(who)

        threads = [threading.Thread(target=write, args=(who,)) for who in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert [b"%d" % who for who in won] == [folder.get(f"log/{number}")]
    assert len(folder.names()) == 5


def test_a_file_is_read_in_one_version(folder: Folder) -> None:
    path = f"{folder.path}/a"
    folder.put("a", b"x" * 1000)
    source = open_version(folder.client, path, name="a")
    folder.put("a", b"y" * 1000)
    with suppress(FileChanged):  # if the data node was quick to remove the old blocks
        assert source.read_at(0, 1000) == b"x" * 1000
    before = folder.store.state(path)
    assert before is not None
    assert before.token != (source.version.etag, None)
    folder.put("a", b"z" * 1000)
    with pytest.raises(FileChanged), folder.store.open(path, before):
        pass


def test_a_file_that_is_replaced_while_it_is_opened(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.put("a", b"x" * 1000)
    read = Client.read

    def read_and_lose(client: Client, path: str) -> object:
        reader = read(client, path)
        monkeypatch.setattr(Client, "read", read)
        folder.put("a", b"y" * 1000)
        return reader

    monkeypatch.setattr(Client, "read", read_and_lose)
    source = open_version(folder.client, f"{folder.path}/a", name="a")
    now = folder.store.state(f"{folder.path}/a")
    assert now is not None
    assert now.token == source.version.etag
    assert source.read_at(0, 1000) == b"y" * 1000


class Failing:
    """A client of which one call fails, before it is sent or after it was done."""

    def __init__(self, client: Client, fails: int, *, is_done: bool) -> None:
        self._client, self._left, self._is_done = client, fails, is_done
        self.has_failed = False

    def __getattr__(self, name: str) -> Callable[..., Any]:
        call = getattr(self._client, name)

        def perhaps(*args: Any, **named: Any) -> Any:  # noqa: ANN401
            self._left -= 1
            if self._left:
                return call(*args, **named)
            self.has_failed = True
            if self._is_done:
                call(*args, **named)
            raise OSError("the answer was lost")

        return perhaps


@pytest.mark.shares
@pytest.mark.parametrize(("is_done", "is_new"), [(False, True), (True, False)])
def test_whatever_fails_the_file_is_the_old_one_or_the_new_one(  # noqa: PLR0913  fixtures
    folder: Folder,
    plain: bytes,
    with_filters: bytes,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_done: bool,
    is_new: bool,
) -> None:
    url = folder.put("a.parquet", plain)
    target = f"{folder.url}/b.parquet" if is_new else url
    outcomes = set()
    for fails in range(1, 100):
        if folder.get("a.parquet") != plain:
            folder.put("a.parquet", plain)
        folder.store.remove(f"{folder.path}/b.parquet")
        failing = Failing(folder.client, fails, is_done=is_done)
        with monkeypatch.context() as patch:
            patch.setattr(
                "parquet_bloomwriter.stores.hdfs.open_client", lambda *_, one=failing: one
            )
            error = error_of(lambda: bloomify(url, ["id"], output=target if is_new else None))
        if not failing.has_failed:
            break
        names = folder.names()
        found = folder.get(target.rpartition("/")[2]) if target.rpartition("/")[2] in names else b""
        assert found in (b"" if is_new else plain, with_filters)
        assert found == with_filters or error is not None
        assert not is_new or folder.get("a.parquet") == plain
        left = [name for name in names if name.endswith(".tmp")]
        assert not left or all(name in str(error) for name in left)
        outcomes.add((error is None, found == with_filters))
    else:
        pytest.fail("it makes more calls than that")
    assert {(True, True), (False, False)} <= outcomes


def test_what_somebody_may_not_do_is_said(
    hdfs: Hdfs, folder: Folder, plain: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = folder.put("a.parquet", plain)
    folder.client.set_permission(folder.path, 0o755)
    monkeypatch.setenv("HADOOP_USER_NAME", "somebody")
    with pytest.raises(StoreProblem, match=r"HDFS forbids it: Permission denied.*HADOOP_USER_NAME"):
        bloomify(url, ["id"])
    monkeypatch.delenv("HADOOP_USER_NAME")
    assert folder.get("a.parquet") == plain
    assert folder.names() == ["a.parquet"]
    assert hdfs.url in url


def test_the_default_file_system_is_that_of_hadoop(
    hdfs: Hdfs, folder: Folder, plain: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder.put("a.parquet", plain)
    monkeypatch.delenv("HADOOP_HOME", raising=False)
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    with pytest.raises(InvalidArgument, match="names no name node"):
        bloomify(f"hdfs://{folder.path}/a.parquet", ["id"])
    (tmp_path / "core-site.xml").write_text(
        "<configuration><!-- <property><name>fs.defaultFS</name><value>hdfs://a</value></property>"
        f"--><property><value>x</value><name>io</name></property>\n<property>\n<final>true</final>"
        f"<value>\n {hdfs.url} </value><name> fs.defaultFS</name></property></configuration>"
    )
    assert split_url("hdfs:///x", HdfsConnection()) == (hdfs.url, "/x")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(hdfs.configuration))
    assert bloomify(f"hdfs://{folder.path}/a.parquet", ["id"]).written
    assert split_url("HDFS:///x", HdfsConnection()) == (hdfs.url, "/x")
    for address in (f"{hdfs.url}/folder", "hdfs://me@host"):
        given = HdfsConnection(default=address)
        with nullcontext() if "folder" in address else pytest.raises(InvalidArgument, match="user"):
            assert split_url("hdfs:///x", given) == (hdfs.url, "/x")
    with pytest.raises(InvalidArgument, match="HADOOP_USER_NAME"):
        split_url("hdfs://me@host/x", HdfsConnection())


def test_a_delta_table(folder: Folder, tmp_path: Path) -> None:
    table = pa.table({"id": range(1000)})
    deltalake.write_deltalake(tmp_path / "t", table)
    for file in (tmp_path / "t").rglob("*"):
        if file.is_file():
            folder.put(str(file.relative_to(tmp_path / "t")), file.read_bytes())
    assert bloomify_table(folder.url, ["id"]).commits
    logs = [name for name in folder.names() if "_delta_log/" in name]
    assert [name[-6:] for name in logs] == ["0.json", "1.json"]
    for name in folder.names():
        (tmp_path / "u" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "u" / name).write_bytes(folder.get(name))
    read = deltalake.DeltaTable(tmp_path / "u")
    assert read.version() == 1
    assert read.to_pyarrow_table().sort_by("id") == table
    assert not probe(folder.url, "id = 5000").might_match
