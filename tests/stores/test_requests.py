"""What is made of the answers of a store: one that is played, request by request."""

# ruff: noqa: ANN401  arguments and answers as boto3 has them
from __future__ import annotations

import io
import json
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from parquet_bloomwriter.errors import FileChanged, OutcomeUnknown, StoreProblem
from parquet_bloomwriter.stores.s3 import bucket as s3
from parquet_bloomwriter.stores.s3 import conditions
from parquet_bloomwriter.stores.s3.answers import ObjectState, kept_version
from parquet_bloomwriter.stores.s3.attributes import attributes_of
from parquet_bloomwriter.stores.s3.bucket import ATTEMPT, S3Bucket
from parquet_bloomwriter.stores.s3.conditions import Abilities
from parquet_bloomwriter.stores.s3.urls import ObjectPath

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Answer: TypeAlias = dict[str, Any] | Exception
    Answering: TypeAlias = Callable[..., Answer]

pytestmark = pytest.mark.usefixtures("homes")
OLD = '"old"'
HEAD = {"ETag": OLD, "ContentLength": 3, "Metadata": {}, "ResponseMetadata": {}}
LOST = ReadTimeoutError(endpoint_url="http://user:secret@store.example/")


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3, "_FIRST_PAUSE_S", 0.0)


def refusal(code: str, status: int, text: str = "") -> ClientError:
    answer: Any = {
        "Error": {"Code": code, "Message": text},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    return ClientError(answer, "of a test")


class Client:
    """Answers each operation by a list, whose last entry is repeated, or by a function."""

    def __init__(self, **answers: list[Answer] | Answering) -> None:
        self._answers = answers
        self.asked: list[tuple[str, Mapping[str, Any]]] = []

    def __getattr__(self, operation: str) -> Answering:
        def ask(**arguments: Any) -> Answer:
            self.asked.append((operation, arguments))
            answers = self._answers[operation]
            if callable(answers):
                answer = answers(**arguments)
            else:
                answer = answers.pop(0) if len(answers) > 1 else answers[0]
            if isinstance(answer, Exception):
                raise answer
            return answer

        return ask

    @property
    def operations(self) -> list[str]:
        """What was asked for, in order."""
        return [operation for operation, _ in self.asked]


def bucket_of(client: Client) -> S3Bucket:
    return S3Bucket(client, "bucket", endpoint="http://store.example")


def state(**headers: Any) -> ObjectState:
    path = ObjectPath("bucket", "key")
    return ObjectState(path=path, size=3, etag=OLD, version="v1", attempt=None, headers=headers)


def test_a_refusal_after_a_lost_answer_leaves_the_outcome_unknown() -> None:
    denied = refusal("AccessDenied", 403)
    bucket = bucket_of(Client(put_object=[LOST, denied], head_object=[HEAD]))
    with pytest.raises(OutcomeUnknown) as caught:
        bucket.put("key", b"new", attempt="a", replaces=OLD)
    assert "secret" not in str(caught.value)
    bucket = bucket_of(Client(put_object=[denied], head_object=[HEAD]))
    with pytest.raises(StoreProblem, match="forbids it"):
        bucket.put("key", b"new", attempt="a", replaces=OLD)


def test_an_upload_is_begun_again_only_if_the_store_was_busy() -> None:
    busy, broken = refusal("SlowDown", 503), refusal("InternalError", 500)
    client = Client(create_multipart_upload=[busy, busy, {"UploadId": "u"}])
    assert bucket_of(client).begin_upload("key") == "u"
    for problem in (broken, LOST):
        client = Client(create_multipart_upload=[problem, {"UploadId": "u"}])
        with pytest.raises(StoreProblem):
            bucket_of(client).begin_upload("key")
        assert len(client.asked) == 1


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (refusal("403", 403), r"s3:GetObject \(or s3:ListBucket, if there is no such object\)"),
        (
            refusal("AccessDenied", 403, "Not authorized to perform: kms:Decrypt."),
            "it says: Not authorized to perform: kms:Decrypt",
        ),
        (refusal("RequestTimeTooSkewed", 403, "The difference is too large."), "clock"),
    ],
)
def test_what_is_forbidden_is_said_as_the_store_says_it(answer: ClientError, said: str) -> None:
    with pytest.raises(StoreProblem, match=said):
        bucket_of(Client(head_object=[answer])).state("key")


def test_what_a_store_does_not_know_is_asked_once() -> None:
    client = Client(get_bucket_ownership_controls=[refusal("NotImplemented", 501)])
    assert bucket_of(client).has_acls()
    assert len(client.asked) == 1


def test_a_source_that_changed_is_named() -> None:
    client = Client(upload_part_copy=[refusal("PreconditionFailed", 412)])
    with pytest.raises(FileChanged) as caught:
        bucket_of(client).copy_part("output", "u", 1, of=state(), start=0, stop=1)
    assert caught.value.path == "s3://bucket/key"


def test_copying_needs_no_permission_for_versions() -> None:
    client = Client(upload_part_copy=[{"CopyPartResult": {"ETag": OLD}}])
    bucket_of(client).copy_part("key", "u", 1, of=state(), start=0, stop=1)
    ((_, arguments),) = client.asked
    assert arguments["CopySource"] == {"Bucket": "bucket", "Key": "key"}
    assert arguments["CopySourceIfMatch"] == OLD


def test_a_store_that_knows_no_conditions_ignores_them() -> None:
    def put(**arguments: Any) -> Answer:
        conditional = {"IfMatch", "IfNoneMatch"} & arguments.keys()
        return refusal("NotImplemented", 501) if conditional else HEAD

    client = Client(put_object=put, head_object=[refusal("404", 404)], delete_object=[HEAD])
    found = conditions.abilities_of(bucket_of(client), "folder/key")
    assert found == Abilities(conditions=False, copies=False)


def test_a_store_that_ignores_conditions_is_tried_again_by_the_next_run() -> None:
    client = Client(put_object=[HEAD], head_object=[HEAD], delete_object=[HEAD])
    assert not conditions.abilities_of(bucket_of(client), "key").conditions
    assert not conditions._file().exists()  # noqa: SLF001  what the next run reads


def test_a_store_that_does_not_answer_a_trial_has_not_touched_the_object() -> None:
    client = Client(put_object=[LOST], head_object=[LOST], delete_object=[LOST])
    with pytest.raises(StoreProblem, match="did not answer"):
        conditions.abilities_of(bucket_of(client), "key")


def test_no_scratch_object_is_left_where_the_answer_was_lost() -> None:
    """The first put is carried out, and Ctrl-C comes before its answer."""
    keys: dict[str, str] = {}

    def put(**arguments: Any) -> Answer:
        keys[arguments["Key"]] = arguments["Metadata"][ATTEMPT]
        raise KeyboardInterrupt

    def delete(**arguments: Any) -> Answer:
        assert arguments["VersionId"] == "v7"
        del keys[arguments["Key"]]
        return HEAD

    client = Client(put_object=put, head_object=[{**HEAD, "VersionId": "v7"}], delete_object=delete)
    with pytest.raises(KeyboardInterrupt):
        conditions.abilities_of(bucket_of(client), "key")
    assert "delete_object" in client.operations
    assert not keys


def test_tags_that_are_hidden_are_not_taken_for_none() -> None:
    client = Client(
        get_object_tagging=[refusal("AccessDenied", 403)],
        get_bucket_ownership_controls=[
            {
                "OwnershipControls": {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]},
                "IsTruncated": False,
                "ResponseMetadata": {},
            }
        ],
    )
    with_rights = Client(get_object_tagging=[{"TagSet": [], "ResponseMetadata": {}}])
    bucket = bucket_of(client)
    assert not attributes_of(bucket_of(with_rights), state(), target=bucket).notes
    for _ in range(2):
        found = attributes_of(bucket, state(), target=bucket)
        (note,) = found.notes
        assert "s3:GetObjectTagging" in note
    assert client.operations.count("get_object_tagging") == 1


def test_an_archived_object_that_was_restored_gives_its_class_to_no_other() -> None:
    client = Client(
        get_object_tagging=[{"TagSet": [], "ResponseMetadata": {}}],
        get_bucket_ownership_controls=[refusal("404", 404)],
        get_object_acl=[{"Owner": {"ID": "me"}, "Grants": [], "ResponseMetadata": {}}],
    )
    bucket = bucket_of(client)
    found = attributes_of(bucket, state(StorageClass="GLACIER"), target=bucket)
    assert "StorageClass" not in found.arguments
    assert found.notes == ("its storage class GLACIER was not kept",)


def test_grants_are_not_given_where_there_are_none() -> None:
    enforced = {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}
    other = S3Bucket(
        Client(
            get_bucket_ownership_controls=[{"OwnershipControls": enforced, "ResponseMetadata": {}}]
        ),
        "other",
    )
    bucket = bucket_of(Client(get_object_tagging=[{"TagSet": [], "ResponseMetadata": {}}]))
    assert attributes_of(bucket, state(), target=other).notes == ()


def test_a_head_that_was_cut_off_is_not_taken_for_another_object() -> None:
    """The id of the attempt is missing, as the answer ended before it."""
    ours = {**HEAD, "ETag": '"new"', "Metadata": {ATTEMPT: "a"}}
    client = Client(
        put_object=[LOST],
        head_object=[{**HEAD, "ETag": '"new"'}],
        get_object=lambda **_: {**ours, "ContentLength": 1, "Body": io.BytesIO(b"n")},
    )
    assert bucket_of(client).put("key", b"new", attempt="a", replaces=OLD).attempt == "a"
    cut = {**HEAD, "ContentLength": None}
    assert bucket_of(Client(head_object=[cut, HEAD])).state("key") is not None


@pytest.mark.parametrize("missing", ["ETag", "ContentLength"])
def test_an_answer_whose_head_was_cut_off_keeps_no_connection_open(missing: str) -> None:
    bodies: list[io.BytesIO] = []

    def cut(**_: Any) -> Answer:
        bodies.append(io.BytesIO())
        return {name: value for name, value in HEAD.items() if name != missing} | {
            "Body": bodies[-1]
        }

    with pytest.raises(StoreProblem, match="does not answer"):
        bucket_of(Client(get_object=cut)).read("key", 0, 3)
    assert len(bodies) > 1, "not asked again"
    assert all(body.closed for body in bodies)


def test_a_date_that_was_cut_off_is_no_answer() -> None:
    cut = ValueError('Invalid timestamp "Tue, 24 N"')  # as botocore's parser says it
    found = bucket_of(Client(head_object=[cut, HEAD])).state("key")
    assert found is not None
    assert found.etag == OLD
    client = Client(put_object=[cut], head_object=[cut])
    with pytest.raises(OutcomeUnknown):
        bucket_of(client).put("key", b"new", attempt="a", replaces=OLD)


def test_a_condition_that_nobody_set_says_nothing_of_the_object() -> None:
    client = Client(head_object=[refusal("PreconditionFailed", 412)])
    with pytest.raises(StoreProblem):
        bucket_of(client).state("key")


def answering(server: str, *, honours: bool) -> S3Bucket:
    """Return a bucket on a store that names itself in its answers."""
    said = {"ResponseMetadata": {"HTTPHeaders": {"server": server} if server else {}}}

    refused: Answer = refusal("PreconditionFailed", 412)
    absent = refusal("404", 404)
    absent.response["ResponseMetadata"].update(said["ResponseMetadata"])

    def put(**arguments: Any) -> Answer:
        if honours and ("IfMatch" in arguments or len(client.asked) > 1):
            return refused
        return {"ETag": '"e"', **said}

    def head(**arguments: Any) -> Answer:
        if "scratch" not in arguments["Key"]:
            return cast("Answer", absent)
        return {"ETag": '"e"', "ContentLength": 3, "Metadata": {}, **said}

    client = Client(
        put_object=put,
        head_object=head,
        create_multipart_upload=[{"UploadId": "u", **said}],
        upload_part=[{"ETag": '"p"', **said}],
        upload_part_copy=[refusal("NotImplemented", 501)],
        complete_multipart_upload=[refused],
        abort_multipart_upload=[said],
        delete_object=[said],
        get_object=[refused],
    )
    return S3Bucket(client, "bucket", endpoint="http://store.example")


def is_tried(bucket: S3Bucket) -> bool:
    """Ask in a new process whether a store honours conditions; return whether it was tried."""
    conditions._found.clear()  # noqa: SLF001  what a new process does not know
    conditions.abilities_of(bucket, "folder/key")
    return "put_object" in bucket.client.operations


@pytest.mark.parametrize("name", ["one", ""], ids=["named", "nameless"])
def test_what_a_store_can_do_is_remembered_for_a_day(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_800_000_000.0
    monkeypatch.setattr("time.time", lambda: now)
    assert is_tried(answering(name, honours=True))
    now += 86_399
    assert not is_tried(answering(name, honours=True))
    now += 2
    assert is_tried(answering(name, honours=True))


def test_another_store_under_the_same_endpoint_is_tried_itself() -> None:
    assert is_tried(answering("one", honours=True))
    careless = answering("another", honours=False)
    assert is_tried(careless)
    assert not conditions.abilities_of(careless, "folder/key").conditions


def test_what_an_older_version_remembered_is_not_believed() -> None:
    path = conditions._file()  # noqa: SLF001
    entry = {"conditions": True, "copies": True, "at": time.time()}
    path.write_text(json.dumps({"http://store.example bucket": entry}))
    assert is_tried(answering("one", honours=True))


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ("v1", "v2", "v1"),
        ("v1", "null", "v1"),
        ("v1", None, "v1"),
        ("null", "v2", "null"),
        ("null", "null", None),
        ("null", None, None),
        (None, None, None),
        (None, "v2", None),
    ],
)
def test_a_version_is_called_kept_only_if_it_is(
    old: str | None, new: str | None, kept: str | None
) -> None:
    before, after = replace(state(), version=old), replace(state(), version=new)
    assert kept_version(before, after) == kept
    assert kept_version(None, after) is None
    assert kept_version(before, None) is None


def test_a_weak_etag_is_refused_before_anything_is_written() -> None:
    weak = {**HEAD, "ETag": 'W/"1"'}

    def get(**_: Any) -> Answer:
        return {**weak, "Body": io.BytesIO(b"old")}

    bucket = bucket_of(Client(head_object=[weak], get_object=get))
    for ask in (lambda: bucket.state("key"), lambda: bucket.read("key", 0, 3)):
        with pytest.raises(StoreProblem, match=r'weak ETag \(W/"1"\).*without the proxy'):
            ask()


def test_a_weak_etag_of_what_was_written_is_no_error_of_writing() -> None:
    weak = {**HEAD, "ETag": 'W/"1"'}
    assert bucket_of(Client(put_object=[weak])).put(
        "key", b"new", attempt="a", replaces=OLD
    ).etag == ('W/"1"')


def test_etags_without_quotes_get_them() -> None:
    bare = {**HEAD, "ETag": "1"}
    page = {
        "Contents": [{"Key": "k", "Size": 3, "ETag": "1", "LastModified": datetime.now(UTC)}],
        "IsTruncated": False,
        "ResponseMetadata": {},
    }
    bucket = bucket_of(Client(head_object=[bare], list_objects_v2=[page]))
    found = bucket.state("k")
    assert found is not None
    assert [one.etag for one in bucket.objects("")] == ['"1"'] == [found.etag]
