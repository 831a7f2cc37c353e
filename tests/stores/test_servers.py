"""What the stores promise that other tests build on, and how the servers begin and end."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from tests.stores.servers import ROOT, shared_seaweedfs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.stores.servers import Client, SeaweedFS, Store

_PART = 5 << 20
"""Bytes: the least that S3 takes for a part that is not the last."""

_OTHER = '"00000000000000000000000000000000"'
"""An ETag that no object has."""


def status_of(call: Callable[[], Any]) -> int:
    """Return the HTTP status with which a call of boto3 ends."""
    try:
        return int(call()["ResponseMetadata"]["HTTPStatusCode"])
    except ClientError as error:
        return int(error.response["ResponseMetadata"]["HTTPStatusCode"])


def begin_upload(client: Client, bucket: str) -> dict[str, str]:
    """Begin an upload to the key `new`; return the arguments that name it."""
    where = {"Bucket": bucket, "Key": "new"}
    return {**where, "UploadId": client.create_multipart_upload(**where)["UploadId"]}


CONDITIONS = {
    "put, if there is none": 412,
    "put, if it matches": 412,
    "complete, if it matches": 412,
    "complete, if there is none": 412,
    "copy of a part, if it matches": 412,
}
"""What a store that honours conditions answers where they are not met."""


def answers(store: Store, bucket: str) -> dict[str, int]:
    """Try requests whose conditions are not met, on a key that is there; return their statuses."""
    client = store.client()
    client.put_object(Bucket=bucket, Key="new", Body=b"old")

    def complete(**condition: str) -> int:
        upload = begin_upload(client, bucket)
        etag = client.upload_part(**upload, PartNumber=1, Body=b"x")["ETag"]
        parts = {"Parts": [{"PartNumber": 1, "ETag": etag}]}
        return status_of(
            lambda: client.complete_multipart_upload(**upload, MultipartUpload=parts, **condition)
        )

    def put(**condition: str) -> int:
        return status_of(
            lambda: client.put_object(Bucket=bucket, Key="new", Body=b"x", **condition)
        )

    def copy() -> int:
        upload = begin_upload(client, bucket)
        source = {"CopySource": f"{bucket}/new", "CopySourceIfMatch": _OTHER}
        return status_of(lambda: client.upload_part_copy(**upload, PartNumber=1, **source))

    return {
        "put, if there is none": put(IfNoneMatch="*"),
        "put, if it matches": put(IfMatch=_OTHER),
        "complete, if it matches": complete(IfMatch=_OTHER),
        "complete, if there is none": complete(IfNoneMatch="*"),
        "copy of a part, if it matches": copy(),
    }


def test_seaweedfs_honours_conditions(store: Store, bucket: str) -> None:
    assert answers(store, bucket) == CONDITIONS
    assert store.client().get_object(Bucket=bucket, Key="new")["Body"].read() == b"old"


def test_moto_ignores_conditions_on_parts(careless_store: Store) -> None:
    found = answers(careless_store, careless_store.new_bucket())
    ignored = {"complete, if it matches": 200, "copy of a part, if it matches": 200}
    assert found == {**CONDITIONS, **ignored}


@pytest.mark.parametrize("which", ["store", "careless_store"])
def test_a_small_part_is_the_last(request: pytest.FixtureRequest, which: str) -> None:
    store: Store = request.getfixturevalue(which)
    client, bucket = store.client(), store.new_bucket()
    upload = begin_upload(client, bucket)
    parts = [
        {
            "PartNumber": number,
            "ETag": client.upload_part(**upload, PartNumber=number, Body=body)["ETag"],
        }
        for number, body in ((1, b"small"), (2, b"last"))
    ]
    with pytest.raises(ClientError, match="EntityTooSmall"):
        client.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts})


def test_a_range_is_copied_by_the_store(store: Store, bucket: str) -> None:
    client = store.client()
    old = bytes(range(256)) * (2 * _PART // 256)
    etag = client.put_object(Bucket=bucket, Key="old", Body=old)["ETag"]
    upload = begin_upload(client, bucket)
    source = {"CopySource": f"{bucket}/old", "CopySourceIfMatch": etag}
    copied = client.upload_part_copy(
        **upload, **source, PartNumber=1, CopySourceRange=f"bytes=10-{_PART + 9}"
    )["CopyPartResult"]
    last = client.upload_part(**upload, PartNumber=2, Body=b"tail")
    parts = [
        {"PartNumber": number, "ETag": part["ETag"]} for number, part in ((1, copied), (2, last))
    ]
    client.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts}, IfNoneMatch="*")
    new = client.get_object(Bucket=bucket, Key="new")["Body"].read()
    assert new == old[10 : _PART + 10] + b"tail"


def test_a_signature_is_verified(store: Store, bucket: str) -> None:
    stranger = dataclasses.replace(store, secret_key=store.secret_key + "x")
    with pytest.raises(ClientError, match="SignatureDoesNotMatch"):
        stranger.client().list_objects_v2(Bucket=bucket)


def test_who_may_only_read_cannot_write(store: Store, read_only_store: Store, bucket: str) -> None:
    store.client().put_object(Bucket=bucket, Key="a", Body=b"a")
    client = read_only_store.client()
    assert client.get_object(Bucket=bucket, Key="a")["Body"].read() == b"a"
    with pytest.raises(ClientError, match="AccessDenied"):
        client.put_object(Bucket=bucket, Key="a", Body=b"b")


def test_old_versions_stay(store: Store, versioned_bucket: str) -> None:
    client = store.client()
    where = {"Bucket": versioned_bucket, "Key": "a"}
    old = client.put_object(**where, Body=b"old")["VersionId"]
    client.put_object(**where, Body=b"new")
    assert client.get_object(**where, VersionId=old)["Body"].read() == b"old"


def test_a_killed_server_keeps_what_it_had(private_store: SeaweedFS) -> None:
    bucket = private_store.store.new_bucket()
    client = private_store.store.client()
    client.put_object(Bucket=bucket, Key="a", Body=b"a" * 100_000)
    private_store.kill()
    with pytest.raises(EndpointConnectionError):
        client.head_object(Bucket=bucket, Key="a")
    private_store.start()
    client = private_store.store.client(attempts=10)  # it may answer 500 for some seconds
    assert client.get_object(Bucket=bucket, Key="a")["Body"].read() == b"a" * 100_000


_USER = """
import sys, time
from pathlib import Path
from tests.stores.servers import shared_seaweedfs
with shared_seaweedfs(Path(sys.argv[1])) as (store, reader):
    print(store.endpoint, flush=True)
    sys.stdin.read()
"""


def test_a_server_is_shared_and_ends_with_its_last_user(tmp_path: Path) -> None:
    def use() -> subprocess.Popen[str]:
        return subprocess.Popen(
            (sys.executable, "-c", _USER, str(tmp_path)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    with use() as one, use() as other:
        assert one.stdout is not None
        assert other.stdout is not None
        first = one.stdout.readline()
        assert first.startswith("http://127.0.0.1:")
        assert other.stdout.readline() == first
        other.kill()  # it cannot say that it goes
        assert (tmp_path / "server.json").exists()
        one.kill()
    while (tmp_path / "server.json").exists():  # else the server before may be shared once more
        time.sleep(0.02)
    with shared_seaweedfs(tmp_path) as (store, _):
        assert store.endpoint != first.strip()
        store.new_bucket()
