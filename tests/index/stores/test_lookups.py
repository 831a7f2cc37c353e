"""Lookups on a store: round trips, what is kept on this machine, and objects that changed."""

from __future__ import annotations

import os
import shutil
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from parquet_bloomwriter import index
from parquet_bloomwriter.caches import clear_cache
from parquet_bloomwriter.errors import IndexProblem, InvalidArgument
from parquet_bloomwriter.index.build import file_filters
from parquet_bloomwriter.index.files import location
from parquet_bloomwriter.index.format import slice_file
from parquet_bloomwriter.index.format.filter_file import might_hold, read_global, write_filter
from parquet_bloomwriter.index.layout import relative_path
from parquet_bloomwriter.index.storage import object_file
from parquet_bloomwriter.index.table.data_files import list_files
from parquet_bloomwriter.kernels.layout import CHECK_BYTES
from parquet_bloomwriter.sbbf import Sbbf
from parquet_bloomwriter.sbbf.block import BYTES_PER_BLOCK
from parquet_bloomwriter.sbbf.header import decode_header
from parquet_bloomwriter.stores import object_cache
from parquet_bloomwriter.stores.base import Listed
from parquet_bloomwriter.stores.object_cache import default_cache
from parquet_bloomwriter.stores.s3.answers import S3Refusal
from parquet_bloomwriter.stores.s3.bucket import S3Bucket
from tests.index.stores.support import data_of, ids
from tests.stores.traffic import round_trips

if TYPE_CHECKING:
    from pathlib import Path

    from tests.index.stores.support import Twins
    from tests.stores.proxy import Proxy
    from tests.stores.traffic import Request


def _requests(proxy: Proxy, operation: str) -> list[Request]:
    return [one for one in proxy.requests if one.operation == operation]


def _two_groups(twins: Twins) -> None:
    """Write files of two sizes of filters, the larger ones of 128 KiB."""
    for n in range(24):
        rows = 4 if n % 2 else 50_000
        values = pa.array(range(n * 100_000, n * 100_000 + rows), pa.int64())
        twins.write(f"f{n:02}.parquet", pa.table({"id": values}))


def test_a_lookup_takes_three_round_trips(
    through_proxy: Twins, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slices are read by ranges: at most 8 for each group, or one block where that is cheaper."""
    monkeypatch.setattr(slice_file, "MIN_FILTERS", 4)
    monkeypatch.setattr(object_file, "WHOLE_BYTES", 64 << 10)
    twins = through_proxy
    _two_groups(twins)
    index.create(twins.url, ["id"], name="ids", contract="immutable")
    assert twins.on_store("id = 600003") == ["f06.parquet"]  # keeps the manifest, and so on
    proxy.latency = 0.25
    for predicate, most, is_cold in (
        ("id = 800007", 16, False),
        ("id IN (1, 200001, 900001, 12, 77)", 80, False),
        ("id IN (1, 200001, 900001, 12, 77)", 80, True),
    ):
        if is_cold:
            clear_cache()  # as in a new process
        proxy.forget()
        assert twins.on_store(predicate) == twins_answer(twins, predicate)
        seen = proxy.requests
        if round_trips(seen) > 3:  # a busy machine may send one of many requests late
            seen = _seen_slowly(twins, proxy, predicate)
        assert round_trips(seen) <= 3
        ranges = _requests(proxy, "GetObject")
        slices = [one for one in ranges if one.key.endswith(".bfslice")]
        assert 1 <= len(slices) <= most
        assert all(one.range for one in ranges)
        assert not [one for one in seen if one.operation == "HeadObject"]
        listed = {one.query["prefix"] for one in _requests(proxy, "ListObjectsV2")}
        assert f"{twins.prefix}/" not in listed


def _seen_slowly(twins: Twins, proxy: Proxy, predicate: str) -> list[Request]:
    """Return the requests of a lookup of a new process, on a store that takes long to answer."""
    clear_cache()
    proxy.forget()
    proxy.latency, usual = 1.5, proxy.latency
    twins.on_store(predicate)
    proxy.latency = usual
    return list(proxy.requests)


def twins_answer(twins: Twins, predicate: str) -> list[str]:
    """Return what the table on disk answers, whose index is made at the first call."""
    if not (twins.local / "_bloom_index").exists():
        index.create(twins.local, ["id"], name="ids", contract="immutable")
    return twins.on_disk(predicate)


def test_the_contract_checked_costs_a_listing(through_proxy: Twins, proxy: Proxy) -> None:
    index.create(through_proxy.url, ["id"], name="ids")
    proxy.forget()
    assert through_proxy.on_store("id = 3") == ["day=1/f3.parquet"]
    listed = [one.query["prefix"] for one in _requests(proxy, "ListObjectsV2")]
    assert listed.count(f"{through_proxy.prefix}/") == 1
    assert not _requests(proxy, "HeadObject")


def test_parts_without_slices_are_read_by_ranges(
    through_proxy: Twins, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_file, "WHOLE_BYTES", 64 << 10)
    _two_groups(through_proxy)
    index.create(through_proxy.url, ["id"], name="ids", contract="immutable")
    predicate = "id IN (1, 200001, 900001)"
    assert through_proxy.on_store(predicate) == twins_answer(through_proxy, predicate)
    proxy.latency = 0.25
    clear_cache()
    proxy.forget()
    assert through_proxy.on_store("id = 1000001") == twins_answer(through_proxy, "id = 1000001")
    seen = proxy.requests
    if round_trips(seen) > 3:
        seen = _seen_slowly(through_proxy, proxy, "id = 1000001")
    assert round_trips(seen) <= 3
    parts = [one for one in _requests(proxy, "GetObject") if ".bfindex" in one.key]
    assert sum(one.bytes_down for one in parts) < 200_000


def test_what_was_read_is_kept_for_other_processes(through_proxy: Twins, proxy: Proxy) -> None:
    index.create(through_proxy.url, ["id"], name="ids")
    through_proxy.on_store("id = 3")
    clear_cache()
    proxy.forget()
    assert through_proxy.on_store("id = 104") == ["day=0/f4.parquet"]
    assert not _requests(proxy, "GetObject")


def test_checksums_of_a_filter_of_all_values_are_made_from_its_bits(
    through_proxy: Twins, proxy: Proxy, tmp_path: Path
) -> None:
    """Of an object with damaged bits the checksums are fetched, too, and refuse every block."""
    bits = Sbbf.empty(1024)
    present = np.arange(1, 9, dtype=np.uint64) << np.uint64(58)
    bits.insert_hashes(present)
    folder = f"{through_proxy.url}/_bloom_index/ids"
    file = write_filter(f"{folder}/v__=0", "id", bits, is_kept=True)
    key = f"_bloom_index/ids/{file.path}"
    body = through_proxy.client.get_object(
        Bucket=through_proxy.bucket, Key=f"{through_proxy.prefix}/{key}"
    )["Body"].read()
    length = decode_header(body[:64]).filter_length
    rest = len(body) - length
    assert rest == CHECK_BYTES * bits.num_blocks
    for name, damage, reads in (
        ("none", (), [length]),
        ("bits", range(length - BYTES_PER_BLOCK, 0, -BYTES_PER_BLOCK), [length, rest]),
        ("checksums", range(length, len(body)), [length]),
    ):
        data = bytearray(body)
        for byte in damage:
            data[byte] ^= 0xFF
        through_proxy.put(key, bytes(data))
        shutil.rmtree(tmp_path / "cache")
        for expected in (reads, []):  # the second lookup reads what is kept on this machine
            clear_cache()
            proxy.forget()
            if name == "bits":
                with pytest.raises(IndexProblem, match="are not as they were written"):
                    might_hold(folder, file, present)
            else:
                assert might_hold(folder, file, present).all()
                assert not might_hold(folder, file, present + np.uint64(1)).any()
            sent = [one.bytes_down for one in _requests(proxy, "GetObject")]
            assert (name, sent) == (name, expected)


def test_what_is_kept_is_checked(through_proxy: Twins, proxy: Proxy) -> None:
    index.create(through_proxy.url, ["id"], name="ids")
    through_proxy.on_store("id = 3")
    for damage in ("cut", "flipped", "emptied", "gone"):
        for path in default_cache().folder.iterdir():
            data = bytearray(path.read_bytes())
            if damage == "cut":
                del data[len(data) // 2 :]
            elif damage == "emptied":
                data.clear()
            data[10:11] = b"\xff" if data[10:11] != b"\xff" else b"\0"
            path.unlink()
            if damage != "gone":
                path.write_bytes(data)
        clear_cache()
        proxy.forget()
        assert (damage, through_proxy.on_store("id = 3")) == (damage, ["day=1/f3.parquet"])
        assert _requests(proxy, "GetObject"), damage


def test_what_is_kept_and_remembered_is_bounded(
    table: Twins, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_cache, "_MAX_CHECKED", 3)
    cache = default_cache()
    cache.max_bytes = 9_000
    for n in range(4):
        index.create(table.url, ["id"], name=f"ids-{n}")
        assert table.on_store("id = 3", name=f"ids-{n}") == ["day=1/f3.parquet"]
        sizes = [path.stat().st_size for path in cache.folder.iterdir()]
        assert sum(sizes) <= 9_000 + 2_000
    assert len(cache._checked) <= 3  # noqa: SLF001
    clear_cache()
    assert table.on_store("id = 3", name="ids-0") == ["day=1/f3.parquet"]


def test_nothing_can_be_kept(table: Twins, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is in the way; or there is no home."""

    def no_home() -> Path:
        raise RuntimeError("there is no home")

    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    clear_cache()
    index.create(table.url, ["id"], name="ids")
    assert table.on_store("id = 3") == ["day=1/f3.parquet"]
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr("pathlib.Path.home", no_home)
    clear_cache()
    assert table.on_store("id = 3") == ["day=1/f3.parquet"]


def test_an_index_made_anew_at_the_same_place_is_not_taken_for_the_old_one(table: Twins) -> None:
    index.create(table.url, ["id"], name="ids", contract="immutable")
    assert table.on_store("id = 3") == ["day=1/f3.parquet"]
    before = set(table.all_keys("_bloom_index/"))
    for key in before:
        table.client.delete_object(Bucket=table.bucket, Key=f"{table.prefix}/{key}")
    table.put("day=1/f3.parquet", data_of(ids(4)))
    table.put("day=0/f4.parquet", data_of(ids(3)))
    index.create(table.url, ["id"], name="ids", contract="immutable")
    assert table.on_store("id = 3") == ["day=0/f4.parquet"]
    clear_cache()
    assert table.on_store("id = 3") == ["day=0/f4.parquet"]
    manifests = {one for one in table.all_keys("_bloom_index/") if "manifest" in one}
    assert len(manifests) == 1
    assert not manifests & before


def test_an_object_that_changed_is_read(table: Twins) -> None:
    """A new object of the same size, in the same second as the old one."""
    for n in range(2):
        table.put("same.parquet", data_of(ids(n + 1000)))
        index.create(table.url, ["id"], name=f"ids{n}")
        table.put("same.parquet", data_of(ids(n + 2000)))
        assert "same.parquet" in table.on_store(f"id = {n + 2000}", name=f"ids{n}")
        assert index.index(table.url, name=f"ids{n}").deleted == 1
        index.refresh(table.url, name=f"ids{n}")
        assert table.on_store(f"id = {n + 1000}", name=f"ids{n}") == []


def test_an_object_that_changes_while_it_is_read_is_left_out(
    table: Twins, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = file_filters.read_filters_of

    def changed_before(path: str, *rest: object) -> object:
        if path.endswith("f3.parquet"):
            table.put("day=1/f3.parquet", data_of(ids(77)))
        return read(path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr("parquet_bloomwriter.index.build.group.read_filters_of", changed_before)
    report = index.create(table.url, ["id"], name="ids")
    assert [one.path for one in report.left_out] == ["day=1/f3.parquet"]
    assert table.on_store("id = 77") == ["day=1/f3.parquet"]


@pytest.mark.parametrize("is_table_local", [False, True])
def test_the_index_may_lie_elsewhere_than_the_table(
    table: Twins, tmp_path: Path, *, is_table_local: bool
) -> None:
    place = str(table.local) if is_table_local else table.url
    home = f"s3://{table.bucket}/homes" if is_table_local else str(tmp_path / "home")
    index.create(place, ["id"], name="ids", home=home)
    report = index.lookup(place, "id = 3", home=home)
    assert list(report.paths) == [f"{place}/day=1/f3.parquet"]
    inside = index.lookup(f"{place}/day=1", "id = 3", home=home)
    assert list(inside.paths) == [f"{place}/day=1/f3.parquet"]
    table.write("more.parquet", ids(3))
    assert index.lookup(place, "id = 3", home=home).num_kept == 2
    index.refresh(place, name="ids", home=home)
    index.optimize(place, name="ids", home=home)
    index.vacuum(place, name="ids", home=home)
    assert index.lookup(place, "id = 2", home=home).num_kept == 1
    assert not table.all_keys("_bloom_index/")
    assert not (table.local / "_bloom_index").exists()


def test_folders_and_objects_of_a_table_are_asked_about(table: Twins) -> None:
    index.create(table.url, ["id"], name="ids", contract="immutable")
    day = index.lookup(f"{table.url}/day=1/", "id = 3")
    assert list(day.paths) == [f"{table.url}/day=1/f3.parquet"]
    assert day.num_files == 3
    for contract_of_scheme in ("s3a", "S3"):
        url = f"{contract_of_scheme}{table.url[2:]}/day=1/f3.parquet"
        one = index.lookup(url, "id = 2")
        assert (one.num_files, one.num_kept) == (1, 0)
    named = index.lookup(table.url, "id = 3", files=[f"{table.url}/day=0/f2.parquet"])
    assert (named.num_files, named.num_kept) == (1, 0)


def test_what_is_not_there_is_refused(table: Twins) -> None:
    with pytest.raises(InvalidArgument, match="there is no object"):
        index.create(f"s3://{table.bucket}/nowhere", ["id"], name="ids")
    with pytest.raises(InvalidArgument, match="there is no object"):
        index.lookup(f"s3://{table.bucket}/nowhere", "id = 1")
    with pytest.raises(InvalidArgument, match="user or a password"):
        index.create("s3://me:secret@bucket/x", ["id"], name="ids")


def test_records_between_the_root_and_the_files_count(twins: Twins) -> None:
    twins.put("4/manifest/t/schema/schema-0", b"{}")
    for root, file, record, kind in (
        ("1/", "x/day=1/a.parquet", "x/_delta_log/0.json", "Delta table log"),
        ("2/metadata/x/y/", "t/data/a.parquet", "t/metadata/v1.metadata.json", "Iceberg"),
        ("3/", "x/metadata/metadata/a.parquet", "x/metadata/metadata/v1.metadata.json", "Iceberg"),
        ("4/manifest/", "t/bucket-0/a.parquet", "t/manifest/m", "Paimon"),
    ):
        twins.put(root + record, b"{}")
        twins.put(root + file, data_of(ids(1)))
        with pytest.raises(InvalidArgument, match=kind):
            index.create(f"{twins.url}/{root}", ["id"], name="more")


def test_tables_of_other_formats_are_refused(table: Twins) -> None:
    index.create(table.url, ["id"], name="ids")
    for record in ("day=0/_delta_log/0.json", "_delta_log/0.json"):
        table.put(record, b"{}")
        clear_cache()
        with pytest.raises(InvalidArgument, match="another format"):
            index.create(table.url, ["id"], name="more")
    (use,) = index.lookup(table.url, "id = 3").indexes
    assert use.reason is not None
    assert use.reason.code == "TABLE_FORMAT"


def test_a_file_of_the_index_that_is_not_as_it_was_excludes_nothing(
    table: Twins, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.create(table.url, ["id"], name="ids")
    for number, (what, damage) in enumerate(
        product(("part-", "manifest-"), ("gone", "longer", "shorter"))
    ):
        whole_bytes = (0, 1 << 20)[number % 2]
        monkeypatch.setattr(object_file, "WHOLE_BYTES", whole_bytes)
        before = {}
        for key in (one for one in table.all_keys("_bloom_index/") if what in one):
            place = {"Bucket": table.bucket, "Key": f"{table.prefix}/{key}"}
            before[key] = data = table.client.get_object(**place)["Body"].read()
            table.client.delete_object(**place)
            if damage != "gone":
                table.put(key, data + b"more" if damage == "longer" else data[:-1])
        for path in default_cache().folder.iterdir():
            path.unlink()
        clear_cache()
        report = index.lookup(table.url, "id = 3")
        reason = report.indexes[0].reason
        case = (what, damage, whole_bytes)
        assert (case, report.num_kept, reason and reason.code) == (case, 6, "INDEX_BROKEN")
        for key, data in before.items():
            table.put(key, data)
    clear_cache()
    assert table.on_store("id = 3") == ["day=1/f3.parquet"]


def test_a_large_file_of_the_index_is_sent_in_parts(through_proxy: Twins, proxy: Proxy) -> None:
    bits = Sbbf.empty(1 << 20)  # 32 MiB
    bits.insert_hashes(np.arange(1, 1000, dtype=np.uint64) << np.uint64(50))
    folder = f"{through_proxy.url}/_bloom_index/ids"
    file = write_filter(f"{folder}/v__=0", "id", bits, is_kept=True)
    assert len(_requests(proxy, "UploadPart")) > 1
    assert len(_requests(proxy, "CompleteMultipartUpload")) == 1
    assert through_proxy.all_keys("_bloom_index/") == [f"_bloom_index/ids/{file.path}"]
    assert read_global(folder, file).to_bytes() == bits.to_bytes()
    assert not _requests(proxy, "GetObject")  # what was sent is kept here
    for path in default_cache().folder.iterdir():
        path.unlink()
    assert read_global(folder, file).to_bytes() == bits.to_bytes()
    assert len(_requests(proxy, "GetObject")) > 1


def test_an_index_that_was_copied_over_itself_is_used_again(
    table: Twins, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes are the same, the ETags are not: those of uploads in parts are others."""
    monkeypatch.setattr(object_file, "WHOLE_BYTES", 0)
    index.create(table.url, ["id"], name="ids")
    assert table.on_store("id = 3") == ["day=1/f3.parquet"]
    for key in table.all_keys("_bloom_index/"):
        place = {"Bucket": table.bucket, "Key": f"{table.prefix}/{key}"}
        data = table.client.get_object(**place)["Body"].read()
        upload = {**place, "UploadId": table.client.create_multipart_upload(**place)["UploadId"]}
        etag = table.client.upload_part(**upload, PartNumber=1, Body=data)["ETag"]
        parts = {"Parts": [{"PartNumber": 1, "ETag": etag}]}
        table.client.complete_multipart_upload(**upload, MultipartUpload=parts)
    clear_cache()
    for _ in range(4):  # what was kept of a file goes when its ETag is found to be another one
        assert f"{table.url}/day=1/f3.parquet" in index.lookup(table.url, "id = 3").paths
    assert table.on_store("id = 3") == ["day=1/f3.parquet"]


def test_indexes_copied_from_a_disk_are_not_taken_for_each_other(
    table: Twins, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their manifests have the same name, and here the same size; names of files are others."""
    monkeypatch.setattr(object_file, "WHOLE_BYTES", 0)
    home, sizes = table.local / "_bloom_index", []
    for letter in "ab":
        files = [table.local / f"{letter}{n}.parquet" for n in range(3)]
        for old in table.local.rglob("*.parquet"):
            table.remove(str(old.relative_to(table.local)))
        for n, path in enumerate(files):
            table.write(path.name, ids(n))
        while True:
            for n, path in enumerate(files):
                os.utime(path, ns=(0, (1_700_000_000_000 + n) * 1_000_000))
            index.create(table.local, ["id"], name="ids", contract="immutable")
            (manifest,) = home.rglob("manifest*")
            sizes.append(manifest.stat().st_size)
            if sizes[0] == sizes[-1]:
                break
            shutil.rmtree(home)
        table.copy_indexes()
        for _ in range(2):
            assert table.on_store("id = 1") == [f"{letter}1.parquet"]
            clear_cache()
        shutil.rmtree(home)


def test_nothing_is_taken_from_where_others_can_write(through_proxy: Twins, proxy: Proxy) -> None:
    index.create(through_proxy.url, ["id"], name="ids")
    folder = default_cache().folder
    kept = sorted(folder.iterdir())
    assert kept
    for place, mode in ((folder, 0o777), (folder, 0o770), (None, 0o666)):
        for path in kept if place is None else [place]:
            path.chmod(mode)
        clear_cache()
        proxy.forget()
        assert through_proxy.on_store("id = 3") == ["day=1/f3.parquet"]
        assert _requests(proxy, "GetObject")
        folder.chmod(0o700)


def test_nothing_is_taken_from_a_folder_of_another_user(
    through_proxy: Twins, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.create(through_proxy.url, ["id"], name="ids")
    folder = default_cache().folder
    kept = sorted(folder.iterdir())
    someone = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: someone)
    clear_cache()
    proxy.forget()
    assert through_proxy.on_store("id = 3") == ["day=1/f3.parquet"]
    assert _requests(proxy, "GetObject")
    assert sorted(folder.iterdir()) == kept


@pytest.mark.parametrize("name", ["/a.parquet", "s3://other/a.parquet", "//a.parquet"])
def test_odd_names_of_keys_are_spelled_as_they_are(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    root, key = "s3://bucket/table", f"table/{name}"
    listed = [Listed(key, 9, '"e"', 0)]
    monkeypatch.setattr(S3Bucket, "objects", lambda *_, **__: iter(listed))
    (file,) = list_files(root)
    assert location(root, file) == f"s3://bucket/{key}"
    assert relative_path(root, f"s3://bucket/{key}") == file.path


def test_rights_may_be_for_the_table_alone(table: Twins, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by a policy that allows listing below one prefix."""
    once = S3Bucket._once  # noqa: SLF001

    def restricted(self: S3Bucket, operation: str, **arguments: Any) -> Any:  # noqa: ANN401
        prefix = str(arguments.get("Prefix", table.prefix))
        if operation == "list_objects_v2" and not prefix.startswith(table.prefix):
            raise S3Refusal("AccessDenied", 403, "Access Denied")
        return once(self, operation, **arguments)

    monkeypatch.setattr(S3Bucket, "_once", restricted)
    index.create(table.url, ["id"], name="ids")
    assert table.on_store("id = 3") == ["day=1/f3.parquet"]
    inside = index.lookup(f"{table.url}/day=1", "id = 3")
    assert inside.num_kept == 1
