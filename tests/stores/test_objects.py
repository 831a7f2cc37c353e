"""Objects on a store get filters as files do, and keep what they have beside their bytes."""

from __future__ import annotations

import io
import json
import os
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquet_bloomwriter import bloomify, for_each_file, inspect, repair, strip, verify
from parquet_bloomwriter.errors import (
    FileChanged,
    InvalidArgument,
    NotParquet,
    StoreProblem,
    UnsafeTarget,
    UnsupportedFile,
)
from parquet_bloomwriter.rewrite import objects
from parquet_bloomwriter.stores.open import open_bucket
from parquet_bloomwriter.stores.s3 import client as s3
from parquet_bloomwriter.stores.s3.answers import ObjectState
from parquet_bloomwriter.stores.s3.attributes import check_writable
from parquet_bloomwriter.stores.s3.bucket import ATTEMPT, S3Bucket
from parquet_bloomwriter.stores.s3.journal import Entry, journal_folder
from parquet_bloomwriter.stores.s3.urls import ObjectPath
from tests.stores.faults import Fault, Rule
from tests.stores.proxy import Proxy
from tests.support.foreign_folders import FOREIGN_FOLDERS, ORDINARY_FOLDERS
from tests.verbs.files import without_length

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloomwriter.rewrite.plan import Placement
    from tests.stores.conftest import Use
    from tests.stores.servers import Client, Store


pytestmark = pytest.mark.usefixtures("homes")


def written(rows: int = 1000, row_groups: int = 2) -> bytes:
    chance = np.random.default_rng(rows)
    table = pa.table(
        {
            "id": chance.integers(0, 1 << 62, rows),
            "v": chance.integers(0, 1 << 62, rows),
            "name": [f"n{n % 50}" for n in range(rows)],
        }
    )
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=-(-rows // row_groups))
    return sink.getvalue()


SMALL, LARGE = written(), written(500_000)


def body(client: Client, bucket: str, key: str) -> bytes:
    return bytes(client.get_object(Bucket=bucket, Key=key)["Body"].read())


def test_a_column_is_downloaded_once(client: Client, bucket: str) -> None:
    """All that comes besides are the new filters, which are read back, footers and samples."""
    chance = np.random.default_rng(1)
    table = pa.table({name: chance.integers(0, 1 << 62, 400_000) for name in ("id", "v", "w")})
    for use_dictionary in (False, True):  # With dictionaries, pages of both kinds.
        sink = io.BytesIO()
        pq.write_table(
            table,
            sink,
            row_group_size=40_000,
            use_dictionary=use_dictionary,
            dictionary_pagesize_limit=1000,
            compression="none",
        )
        client.put_object(Bucket=bucket, Key="x.parquet", Body=sink.getvalue())
        report = bloomify(f"s3://{bucket}/x.parquet", ["id"])
        metadata = pq.read_metadata(sink)
        of_column = sum(
            metadata.row_group(n).column(0).total_compressed_size
            for n in range(metadata.num_row_groups)
        )
        (note,) = report.columns[0].notes
        assert note.startswith(
            "ClickHouse 26.1 to 26.3 loses rows of columns whose filters lie next"
        )
        of_filters = sum(chunk.length for chunk in report.columns[0].chunks)
        assert report.store is not None
        assert of_column < report.store.down <= of_column + of_filters + 300_000


@pytest.mark.parametrize(
    ("data", "placement"),
    [(SMALL, "column-chunk"), (LARGE, None), (LARGE, "row-group")],
    ids=["small, column-chunk", "large", "large, row-group"],
)
def test_the_same_bytes_as_on_disk(
    client: Client, bucket: str, data: bytes, placement: Placement | None
) -> None:
    client.put_object(Bucket=bucket, Key="a b/ü+%.parquet", Body=data)
    url = f"s3://{bucket}/a b/ü+%.parquet"
    planned = bloomify(url, ["id", "name"], placement=placement, dry_run=True)
    assert body(client, bucket, "a b/ü+%.parquet") == data
    report = bloomify(url, ["id", "name"], placement=placement)
    is_advised = any("placement `end`" in note for note in report.columns[0].notes)
    assert is_advised == (placement is not None)
    local = bloomify(data, ["id", "name"], placement=placement or "end")
    assert body(client, bucket, "a b/ü+%.parquet") == local.data
    assert (report.written, report.output, report.placement) == (True, url, local.placement)
    assert report.columns == planned.columns
    assert [one.chunks for one in report.columns] == [one.chunks for one in local.columns]
    assert verify(url).passed
    idle = bloomify(url, ["id", "name"], dry_run=True).store
    assert idle is not None
    assert (idle.up, idle.copied, idle.planned) == (0, 0, None)
    stripped = strip(url)
    assert stripped.num_filters == 4
    assert body(client, bucket, "a b/ü+%.parquet") == data
    assert not client.list_multipart_uploads(Bucket=bucket).get("Uploads")
    assert not list(journal_folder().glob("*"))


def test_lengths_are_repaired(client: Client, bucket: str) -> None:
    new = bloomify(LARGE, ["id"], placement="end").data or b""
    client.put_object(Bucket=bucket, Key="x.parquet", Body=without_length(new, (0, 0), (1, 0)))
    assert repair(f"s3://{bucket}/x.parquet").num_repaired == 2
    assert body(client, bucket, "x.parquet") == new


def test_a_dry_run_tells_what_writing_costs(store: Store, bucket: str, use: Use) -> None:
    with Proxy(store) as proxy:
        use(proxy.store)
        url = f"s3://{bucket}/x.parquet"
        store.client().put_object(Bucket=bucket, Key="x.parquet", Body=LARGE)
        bloomify(url, ["id"], dry_run=True)
        proxy.forget()
        plan = bloomify(url, ["id"], dry_run=True).store
        assert plan is not None
        assert plan.planned is not None
        read = proxy.requests
        assert {one.operation for one in read} == {"GetObject"}
        assert plan.num_requests == len(read)
        assert plan.down == sum(one.bytes_down for one in read)
        proxy.forget()
        done = bloomify(url, ["id"]).store
        assert done is not None
        assert done.num_requests == len(proxy.requests)
        assert done.up == plan.planned[2] + sum(
            one.bytes_up
            for one in proxy.requests
            if "_bloomify-scratch" in one.key and one.operation in ("PutObject", "UploadPart")
        )
        sent = [one for one in proxy.requests if one.key == "x.parquet"]
        up = sum(one.bytes_up for one in sent if one.operation == "UploadPart")
        assert up == plan.planned[2]
        assert plan.copied == len(LARGE) - len(LARGE[footer_start(LARGE) :])


def test_objects_that_have_their_filters_take_one_or_two_requests(
    store: Store, bucket: str, use: Use
) -> None:
    """One for the end of the object; one for the filters, if these do not lie in it.

    Large filters lie far apart, and take a request each, at the same time.
    """
    use(store)
    several = written(300_000, row_groups=6)  # filters of 64 KiB
    keys = [f"lake/{number}.parquet" for number in range(4)]
    client = store.client()
    for key, data in zip(keys, (SMALL, SMALL, LARGE, several), strict=True):
        client.put_object(Bucket=bucket, Key=key, Body=data)
        bloomify(f"s3://{bucket}/{key}", ["id", "v"], fpp=0.02)
    with Proxy(store) as proxy:
        use(proxy.store)
        proxy.forget()
        outcomes = list(
            for_each_file(
                f"s3://{bucket}/lake/", lambda path: bloomify(path, ["id", "v"], fpp=0.02)
            )
        )
        assert [outcome.report and outcome.report.written for outcome in outcomes] == [False] * 4
        counts = Counter(one.key for one in proxy.requests if one.operation != "ListObjectsV2")
        assert counts == dict(zip(keys, (1, 1, 1 + 4, 2), strict=True))
        assert all(one.bytes_down < 1 << 20 for one in proxy.requests)


def footer_start(data: bytes) -> int:
    return len(data) - 8 - int.from_bytes(data[-8:-4], "little")


@pytest.mark.parametrize("data", [SMALL, LARGE], ids=["small", "large"])
def test_what_an_object_has_beside_its_bytes_is_kept(
    client: Client, bucket: str, data: bytes
) -> None:
    given = {
        "Metadata": {"owner": "me", "colour": "blue"},
        "ContentType": "application/x-parquet",
        "CacheControl": "max-age=7",
        "ContentDisposition": "attachment",
        "ContentEncoding": "identity",
        "ContentLanguage": "de",
        "StorageClass": "STANDARD_IA",
    }
    client.put_object(Bucket=bucket, Key="x.parquet", Body=data, Tagging="a=b%20c&d=%26", **given)
    bloomify(f"s3://{bucket}/x.parquet", ["id"])
    now = client.head_object(Bucket=bucket, Key="x.parquet")
    attempt = now["Metadata"].pop(ATTEMPT)
    assert len(attempt) == 32
    assert {name: now.get(name) for name in given} == given
    tags = client.get_object_tagging(Bucket=bucket, Key="x.parquet")["TagSet"]
    assert sorted((one["Key"], one["Value"]) for one in tags) == [("a", "b c"), ("d", "&")]
    strip(f"s3://{bucket}/x.parquet")
    again = client.head_object(Bucket=bucket, Key="x.parquet")["Metadata"]
    assert again.pop(ATTEMPT) != attempt
    assert again == given["Metadata"]


def test_the_old_version_is_named(store: Store, use: Use) -> None:
    use(store)
    client, bucket = store.client(), store.new_bucket(versioned=True)
    old = client.put_object(Bucket=bucket, Key="x.parquet", Body=LARGE)["VersionId"]
    done = bloomify(f"s3://{bucket}/x.parquet", ["id"]).store
    assert done is not None
    assert done.old_version == old
    assert done.new_version == client.head_object(Bucket=bucket, Key="x.parquet")["VersionId"]
    kept = client.get_object(Bucket=bucket, Key="x.parquet", VersionId=old)["Body"].read()
    assert kept == LARGE
    keys = {one["Key"] for one in client.list_object_versions(Bucket=bucket)["Versions"]}
    assert keys == {"x.parquet"}


def test_what_is_older_than_the_buckets_versioning_is_kept_as_null(store: Store, use: Use) -> None:
    use(store)
    client, bucket = store.client(), store.new_bucket()
    url = f"s3://{bucket}/x.parquet"

    def keep_versions(status: Literal["Enabled", "Suspended"]) -> None:
        client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": status})

    client.put_object(Bucket=bucket, Key="x.parquet", Body=LARGE)
    keep_versions("Enabled")
    done = bloomify(url, ["id"]).store
    assert done is not None
    assert done.old_version == "null"
    kept = client.get_object(Bucket=bucket, Key="x.parquet", VersionId="null")["Body"].read()
    assert kept == LARGE
    keep_versions("Suspended")
    client.put_object(Bucket=bucket, Key="x.parquet", Body=LARGE)
    again = bloomify(url, ["id"]).store
    assert again is not None
    assert again.old_version is None
    assert again.new_version is None


def test_a_trial_leaves_no_marker_where_versioning_is_suspended(store: Store, use: Use) -> None:
    use(store)
    client, bucket = store.client(), store.new_bucket()
    suspended: Any = {"Status": "Suspended"}
    client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration=suspended)
    client.put_object(Bucket=bucket, Key="x.parquet", Body=SMALL)
    bloomify(f"s3://{bucket}/x.parquet", ["id"])
    listed = client.list_object_versions(Bucket=bucket)
    assert [one["Key"] for one in listed["Versions"]] == ["x.parquet"]
    assert not listed.get("DeleteMarkers")


def test_outputs_from_disk_and_back(client: Client, bucket: str, tmp_path: Path) -> None:
    here = tmp_path / "x.parquet"
    here.write_bytes(LARGE)
    new = bloomify(LARGE, ["id"], placement="end").data
    bloomify(here, ["id"], output=f"s3://{bucket}/new.parquet")
    assert body(client, bucket, "new.parquet") == new
    with pytest.raises(UnsafeTarget, match="the output exists already"):
        bloomify(here, ["id"], output=f"s3://{bucket}/new.parquet")
    strip(f"s3://{bucket}/new.parquet", output=f"s3://{bucket}/copy.parquet")
    assert body(client, bucket, "copy.parquet") == LARGE
    strip(f"s3://{bucket}/new.parquet", output=tmp_path / "back.parquet")
    assert (tmp_path / "back.parquet").read_bytes() == LARGE
    assert here.read_bytes() == LARGE
    bloomify(here, ["v"], output=f"s3://{bucket}/new.parquet", overwrite=True)
    assert {one.name for one in inspect(f"s3://{bucket}/new.parquet").columns} == {"v"}


def test_the_bucket_of_the_output_may_be_another_one(
    store: Store, client: Client, bucket: str
) -> None:
    other = store.new_bucket()
    client.put_object(Bucket=bucket, Key="x.parquet", Body=LARGE, Metadata={"owner": "me"})
    report = bloomify(f"s3://{bucket}/x.parquet", ["id"], output=f"s3://{other}/y.parquet")
    assert report.store is not None
    assert report.store.copied > 0
    assert body(client, other, "y.parquet") == bloomify(LARGE, ["id"], placement="end").data
    assert client.head_object(Bucket=other, Key="y.parquet")["Metadata"]["owner"] == "me"
    assert body(client, bucket, "x.parquet") == LARGE


def test_tables_are_refused(client: Client, bucket: str) -> None:
    client.put_object(Bucket=bucket, Key="t/p=1/x.parquet", Body=SMALL)
    client.put_object(Bucket=bucket, Key="t/_delta_log/0.json", Body=b"{}")
    url = f"s3://{bucket}/t/p=1/x.parquet"
    with pytest.raises(UnsafeTarget, match=r"t/_delta_log \(Delta table log\)"):
        bloomify(url, ["id"])
    assert body(client, bucket, "t/p=1/x.parquet") == SMALL
    with pytest.raises(UnsafeTarget, match="The file was left unchanged"):
        strip(url, output=url)
    assert bloomify(url, ["id"], force=True).written
    for number, (kind, file, records) in enumerate(FOREIGN_FOLDERS[::4]):  # all: tests/replace
        for record in records:
            client.put_object(Bucket=bucket, Key=f"{number}/{record}", Body=b"{}")
        client.put_object(Bucket=bucket, Key=f"{number}/{file}", Body=SMALL)
        with pytest.raises(UnsafeTarget, match=kind):
            bloomify(f"s3://{bucket}/{number}/{file}", ["id"])
        assert body(client, bucket, f"{number}/{file}") == SMALL
    for number, (file, others) in enumerate(ORDINARY_FOLDERS[::4]):
        for other in others:
            client.put_object(Bucket=bucket, Key=f"plain{number}/{other}", Body=b"{}")
        client.put_object(Bucket=bucket, Key=f"plain{number}/{file}", Body=SMALL)
        assert bloomify(f"s3://{bucket}/plain{number}/{file}", ["id"]).written


def test_a_store_that_ignores_conditions_is_refused(careless_store: Store, use: Use) -> None:
    use(careless_store)
    client, bucket = careless_store.client(), "carefree"
    client.create_bucket(Bucket=bucket)
    client.put_object(Bucket=bucket, Key="t/x.parquet", Body=LARGE)
    url = f"s3://{bucket}/t/x.parquet"
    with pytest.raises(UnsafeTarget, match="the store ignores conditions"):
        bloomify(url, ["id"])
    keys = [one["Key"] for one in client.list_objects_v2(Bucket=bucket)["Contents"]]
    assert keys == ["t/x.parquet"]
    assert body(client, bucket, "t/x.parquet") == LARGE
    bloomify(url, ["id"], force=True)
    assert body(client, bucket, "t/x.parquet") == bloomify(LARGE, ["id"], placement="end").data


def test_a_missing_permission_is_named(
    store: Store, read_only_store: Store, bucket: str, use: Use
) -> None:
    store.client().put_object(Bucket=bucket, Key="x.parquet", Body=SMALL)
    use(read_only_store)
    url = f"s3://{bucket}/x.parquet"
    assert bloomify(url, ["id"], dry_run=True).num_built == 2
    with pytest.raises(
        StoreProblem, match=r"forbids it; this needs the permission s3:Put"
    ) as caught:
        bloomify(url, ["id"])
    assert bucket in str(caught.value)
    assert read_only_store.secret_key not in str(caught.value)
    assert read_only_store.access_key not in str(caught.value)


def test_wrong_credentials(
    store: Store, bucket: str, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(store)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret")
    with pytest.raises(StoreProblem, match="does not accept the credentials") as caught:
        bloomify(f"s3://{bucket}/x.parquet", ["id"])
    assert "a-secret" not in str(caught.value)
    for name in ("AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"):
        monkeypatch.delenv(name)
    s3._client.cache_clear()  # noqa: SLF001  it knows another endpoint
    with pytest.raises(StoreProblem, match="Unable to locate credentials"):
        bloomify(f"s3://{bucket}/x.parquet", ["id"])


def test_what_is_no_object(client: Client, bucket: str) -> None:
    client.put_object(Bucket=bucket, Key="empty.parquet", Body=b"")
    client.put_object(Bucket=bucket, Key="text.parquet", Body=b"some text, and no more")
    with pytest.raises(NotParquet, match="the object is empty"):
        bloomify(f"s3://{bucket}/empty.parquet", ["id"])
    with pytest.raises(NotParquet):
        bloomify(f"s3://{bucket}/text.parquet", ["id"])
    with pytest.raises(FileNotFoundError):
        bloomify(f"s3://{bucket}/none.parquet", ["id"])
    with pytest.raises(FileNotFoundError, match="No such bucket"):
        bloomify("s3://no-such-bucket-here/none.parquet", ["id"])
    for url in (f"s3://{bucket}", f"s3://{bucket}/", "s3:///x", "s3://u:p@b/x.parquet"):
        with pytest.raises(InvalidArgument) as caught:
            bloomify(url, ["id"])
        assert "u:p" not in str(caught.value)


@pytest.mark.parametrize(
    ("headers", "problem"),
    [
        ({"StorageClass": "DEEP_ARCHIVE"}, "archived"),
        ({"SSECustomerAlgorithm": "AES256"}, "SSE-C"),
        ({"ObjectLockMode": "COMPLIANCE"}, "Object Lock, mode COMPLIANCE"),
        ({"ObjectLockLegalHoldStatus": "ON"}, "legal hold"),
    ],
)
def test_objects_that_must_stay_as_they_are(headers: dict[str, str], problem: str) -> None:
    path = ObjectPath("bucket", "key")
    state = ObjectState(path=path, size=1, etag='"x"', version=None, attempt=None, headers=headers)
    with pytest.raises(UnsupportedFile, match=problem):
        check_writable(state)


def test_an_object_that_changes_meanwhile_is_not_mixed(
    store: Store, bucket: str, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(store)
    client = store.client()
    client.put_object(Bucket=bucket, Key="x.parquet", Body=LARGE)
    read = S3Bucket.read

    def overwriting(
        self: S3Bucket, key: str, start: int | None, stop: int, *, if_match: str | None = None
    ) -> tuple[bytes, ObjectState]:
        if start is not None:
            client.put_object(Bucket=bucket, Key="x.parquet", Body=SMALL)
        return read(self, key, start, stop, if_match=if_match)

    monkeypatch.setattr(S3Bucket, "read", overwriting)
    with pytest.raises(FileChanged, match="another program wrote the object meanwhile"):
        bloomify(f"s3://{bucket}/x.parquet", ["id"])
    assert body(client, bucket, "x.parquet") == SMALL


@pytest.mark.parametrize(
    ("data", "fault"),
    [(SMALL, Fault.CUT_AFTER), (LARGE, Fault.ERROR_AFTER)],
    ids=["small, cut", "large, error"],
)
def test_an_answer_that_was_lost_is_no_conflict(
    store: Store, bucket: str, use: Use, data: bytes, fault: Fault
) -> None:
    operation = "PutObject" if data is SMALL else "CompleteMultipartUpload"
    store.client().put_object(Bucket=bucket, Key="x.parquet", Body=data)
    with Proxy(store) as proxy:
        use(proxy.store)
        bloomify(f"s3://{bucket}/x.parquet", ["name"])  # the store has been tried
        proxy.play(Rule(fault=fault, operation=operation))
        assert bloomify(f"s3://{bucket}/x.parquet", ["id"]).written
        assert any(one.fault is fault for one in proxy.requests)
    assert not store.client().list_multipart_uploads(Bucket=bucket).get("Uploads")


def test_uploads_of_dead_runs_are_ended_and_no_others(client: Client, bucket: str) -> None:
    client.put_object(Bucket=bucket, Key="x.parquet", Body=LARGE)
    theirs = client.create_multipart_upload(Bucket=bucket, Key="theirs")["UploadId"]
    opened = open_bucket(bucket)
    dead, alive = (opened.begin_upload(key) for key in ("dead", "alive"))
    entry = Entry(opened, "dead", attempt="a")
    entry.begun(dead)
    entry.leave()
    entry = Entry(opened, "alive", attempt="b")
    entry.begun(alive)
    objects._cleaned.clear()  # noqa: SLF001  as in a process of its own
    done = bloomify(f"s3://{bucket}/x.parquet", ["id"]).store
    assert done is not None
    (note,) = done.notes
    assert note.startswith(f"1 unfinished upload below s3://{bucket}/ is of other machines")
    assert "abort-multipart-upload" in note
    left = {one["UploadId"] for one in client.list_multipart_uploads(Bucket=bucket)["Uploads"]}
    assert left == {theirs, alive}
    texts = [path.read_text("utf-8") for path in journal_folder().glob("*.json")]
    assert [json.loads(text.splitlines()[1])["upload"] for text in texts] == [alive]
    assert os.environ["AWS_SECRET_ACCESS_KEY"] not in "".join(texts)
    entry.remove()
    assert not list(journal_folder().glob("*"))
