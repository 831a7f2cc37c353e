"""The requests to a bucket of S3, or of a store that speaks its language.

Each request is made once by boto3, whose own retries are off, and repeated here:

- Requests that may be repeated without harm, reads and parts of an upload, are repeated while the
  store is busy, breaks the connection, or sends fewer bytes than it promised.
- A conditional request (`publish`) is not blindly repeated. If its answer was lost, the repetition
  would be refused because the first one was carried out. So each new object carries a random id of
  the attempt, and whenever the answer is not plain success, the object is looked at first: if it
  carries our id, we won.

Errors name the object, and for a request that is forbidden the permission that it needs.

Source: Amazon S3 API Reference; "Conditional writes" of the S3 User Guide.
"""

from __future__ import annotations

import base64
import errno
import hashlib
import random
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from http import HTTPStatus
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from parquet_bloomwriter.caches import register
from parquet_bloomwriter.errors import (
    FileChanged,
    InvalidArgument,
    OutcomeUnknown,
    StoreProblem,
    UnsupportedFile,
)
from parquet_bloomwriter.source.base import not_found
from parquet_bloomwriter.source.filesystems import without_secrets
from parquet_bloomwriter.stores.s3.settings import settings_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from parquet_bloomwriter.stores.s3.settings import BucketSettings

SCHEMES = ("s3://", "s3a://", "s3n://")
ATTEMPT = "bloomify-attempt"
"""Key of the user metadata that holds the id of the attempt that wrote an object."""

_TRIES = 6
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0
_CONNECTIONS = 64
_TIMEOUT_S = 60
_SERVER_ERRORS = HTTPStatus.INTERNAL_SERVER_ERROR
_BUSY = frozenset(
    ("SlowDown", "RequestTimeout", "Throttling", "ThrottlingException", "TooManyRequestsException")
)
_FORBIDDEN = frozenset(("AccessDenied", "403", "AllAccessDisabled", "Forbidden"))
_UNKNOWN_CALLER = frozenset(
    (
        "SignatureDoesNotMatch",
        "InvalidAccessKeyId",
        "ExpiredToken",
        "InvalidToken",
        "TokenRefreshRequired",
    )
)
_SKEWED = frozenset(("RequestTimeTooSkewed", "RequestExpired"))
_ABSENT = frozenset(("NoSuchKey", "404", "NotFound", "NoSuchVersion"))
_PRECONDITION = frozenset(("PreconditionFailed", "412"))
_CONFLICT = frozenset(("ConditionalRequestConflict", "OperationAborted", "409"))
_TELLING = {
    "get_object": "ETag",
    "head_object": "ETag",
    "put_object": "ETag",
    "create_multipart_upload": "UploadId",
    "upload_part": "ETag",
    "upload_part_copy": "CopyPartResult",
    "complete_multipart_upload": "ETag",
}
"""What an answer has if the request was carried out."""

_PERMISSIONS = {
    "get_object": "s3:GetObject (or s3:ListBucket, if there is no such object)",
    "head_object": "s3:GetObject (or s3:ListBucket, if there is no such object)",
    "put_object": "s3:PutObject",
    "create_multipart_upload": "s3:PutObject",
    "upload_part": "s3:PutObject",
    "upload_part_copy": "s3:PutObject, and s3:GetObject of what is copied",
    "complete_multipart_upload": "s3:PutObject",
    "abort_multipart_upload": "s3:AbortMultipartUpload",
    "list_objects_v2": "s3:ListBucket",
    "list_multipart_uploads": "s3:ListBucketMultipartUploads",
    "delete_object": "s3:DeleteObject",
    "get_object_tagging": "s3:GetObjectTagging",
    "get_object_acl": "s3:GetObjectAcl",
}


_have_acls: dict[tuple[str, str], bool] = {}
"""By endpoint and bucket."""
register(_have_acls.clear)


class ObjectPath(NamedTuple):
    """Where an object is."""

    bucket: str
    key: str

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.key}"


def is_s3(path: str) -> bool:
    """Whether a path is the URL of an object, a prefix or a pattern on S3."""
    return path.lower().startswith(SCHEMES)


def parse_url(url: str) -> ObjectPath:
    """Split the URL of an object, `s3://bucket/key`; the key stands as it is, without escapes.

    Raises:
        InvalidArgument: If it names no bucket, or has a user, a password or parameters, which
            would end up in messages and process lists.
    """
    bucket, _, key = url.partition("://")[2].partition("/")
    if not bucket or "@" in bucket:
        problem = "has a user or a password in it" if "@" in bucket else "names no bucket"
        raise InvalidArgument(
            f"the URL {problem}",
            remedy="Name the object as s3://bucket/key; boto3 finds credentials in the environment "
            "(AWS_PROFILE, AWS_ACCESS_KEY_ID), its files, or from the machine.",
        )
    return ObjectPath(bucket, key)


@dataclass(slots=True)
class StoreTraffic:
    """Requests and bytes, counted by all threads together.

    Attributes:
        requests: Number of requests by operation, as boto3 spells it.
        down: Bytes of objects that were received.
        up: Bytes of objects that were sent.
    """

    requests: Counter[str] = field(default_factory=Counter)
    down: int = 0
    up: int = 0
    _lock: Any = field(default_factory=Lock, repr=False)

    @property
    def num_requests(self) -> int:
        """Requests of all kinds, those that failed included."""
        return sum(self.requests.values())

    def add(self, operation: str, *, down: int = 0, up: int = 0) -> None:
        """Count a request."""
        with self._lock:
            self.requests[operation] += 1
            self.down += down
            self.up += up

    def add_down(self, num_bytes: int) -> None:
        """Count bytes that came with a request counted before."""
        with self._lock:
            self.down += num_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectState:
    """An object as a request has seen it."""

    path: ObjectPath
    size: int
    """Bytes."""

    etag: str
    """With its quotes."""

    version: str | None
    """Id of the version, where the bucket keeps versions."""

    attempt: str | None
    """Id of the attempt that wrote it, if it was one of ours."""

    headers: Mapping[str, Any] = field(repr=False)
    """The answer: content type, metadata, encryption and so on, as boto3 names them."""


class Listed(NamedTuple):
    """What a listing says of an object."""

    key: str
    size: int
    """Bytes."""

    etag: str
    changed_ns: int
    """Last change, nanoseconds since 1970 UTC."""


class NoAnswer(Exception):
    """The store did not say whether it carried out a request; `__cause__` says how it failed."""


class Refusal(Exception):
    """The store answered that it did not carry out a request.

    Attributes:
        code: The error code of S3's.
        status: The HTTP status.
        text: What the store says.
    """

    def __init__(self, code: str, status: int, text: str) -> None:
        super().__init__(f"{code}: {text}" if text and text != code else code)
        self.code = code
        self.status = status
        self.text = text

    @property
    def is_precondition(self) -> bool:
        """Whether a condition of the request did not hold."""
        return self.code in _PRECONDITION

    @property
    def is_conflict(self) -> bool:
        """Whether another request for the same object was under way."""
        return self.code in _CONFLICT

    @property
    def is_busy(self) -> bool:
        """Whether the store did nothing, because it has too much to do."""
        return self.code in _BUSY

    @property
    def is_final(self) -> bool:
        """Whether the store did nothing, and would not if it were asked again."""
        return not self.is_busy and (
            self.status < _SERVER_ERRORS or self.status == HTTPStatus.NOT_IMPLEMENTED
        )

    @property
    def is_absent(self) -> bool:
        """Whether there is no such object."""
        return self.code in _ABSENT


class S3Bucket:
    """One bucket; safe in threads.

    Every method raises, beside what it says, FileNotFoundError if there is no such object or
    bucket, and StoreProblem if the store refuses or does not answer.
    """

    def __init__(self, client: Any, name: str, *, endpoint: str = "") -> None:  # noqa: ANN401  boto3 has no types
        """Use a client of boto3's, made by `open_bucket`.

        Args:
            client: Whose retries are off.
            name: The bucket.
            endpoint: URL of the store, which tells stores apart.
        """
        self.client = client
        self.name = name
        self.endpoint = endpoint
        self.traffic = StoreTraffic()

    # ------------------------------------------------------------ reading

    def head(self, key: str) -> ObjectState | None:
        """Return the state of an object; None if there is none."""

        def look() -> ObjectState:
            answer = self._once("head_object", Key=key)
            if answer.get("ContentLength") is None:
                raise NoAnswer  # The head of the answer was cut off.
            return self._state(key, answer, int(answer["ContentLength"]))

        try:
            found: ObjectState = self._again("head_object", key, look)
        except FileNotFoundError:
            return None
        return found

    def read(
        self, key: str, start: int | None, stop: int, *, if_match: str | None = None
    ) -> tuple[bytes, ObjectState]:
        """Return the bytes [start, stop) of an object, and its state.

        Args:
            key: Of the object.
            start: First byte; None for the last `stop` bytes.
            stop: Past the last byte.
            if_match: ETag that the object must have.

        Raises:
            FileChanged: If it has another one.
        """
        condition: dict[str, Any] = {} if if_match is None else {"IfMatch": if_match}
        wanted = f"bytes=-{stop}" if start is None else f"bytes={start}-{stop - 1}"

        def get() -> tuple[bytes, ObjectState]:
            answer = self._once("get_object", Key=key, Range=wanted, **condition)
            if answer.get("ContentLength") is None:
                raise NoAnswer
            try:
                with answer["Body"] as body:
                    data = body.read()
            except _no_answers() as error:
                raise NoAnswer from error
            self.traffic.add_down(len(data))
            if len(data) != int(answer["ContentLength"]):
                raise NoAnswer
            total = str(answer.get("ContentRange", "")).rpartition("/")[2]
            return data, self._state(key, answer, int(total) if total.isdigit() else len(data))

        data, state = self._again("get_object", key, get)
        if if_match is not None and state.etag != if_match:
            raise self._changed(key)
        return data, state

    def objects(self, prefix: str, *, start_after: str = "") -> Iterator[Listed]:
        """Yield the objects whose keys begin with a prefix, in the order of their keys."""
        more: dict[str, Any] = {"StartAfter": start_after} if start_after else {}
        while True:
            answer = self._repeat("list_objects_v2", prefix, Prefix=prefix, **more)
            for one in answer.get("Contents", ()):
                changed = round(one["LastModified"].timestamp() * 1_000_000_000)
                yield Listed(one["Key"], int(one["Size"]), one["ETag"], changed)
            if not answer.get("IsTruncated"):
                return
            more = {"ContinuationToken": answer["NextContinuationToken"]}

    def has_prefix(self, prefix: str, *, suffix: str = "") -> bool:
        """Whether any key begins so, and ends with `suffix`."""
        if not suffix:
            answer = self._repeat("list_objects_v2", prefix, Prefix=prefix, MaxKeys=1)
            return bool(answer.get("Contents"))
        return any(one.key.endswith(suffix) for one in self.objects(prefix))

    def folders(self, prefix: str) -> Iterator[str]:
        """Yield the names between a prefix and the next slash of keys, each once, in order."""
        more: dict[str, Any] = {}
        while True:
            answer = self._repeat("list_objects_v2", prefix, Prefix=prefix, Delimiter="/", **more)
            for one in answer.get("CommonPrefixes", ()):
                yield one["Prefix"].removeprefix(prefix).removesuffix("/")
            if not answer.get("IsTruncated"):
                return
            more = {"ContinuationToken": answer["NextContinuationToken"]}

    def uploads(self, prefix: str) -> Iterator[tuple[str, str]]:
        """Yield key and id of each unfinished upload whose key begins with a prefix."""
        more: dict[str, Any] = {}
        while True:
            answer = self._repeat("list_multipart_uploads", prefix, Prefix=prefix, **more)
            for one in answer.get("Uploads", ()):
                yield one["Key"], one["UploadId"]
            if not answer.get("IsTruncated"):
                return
            more = {
                "KeyMarker": answer["NextKeyMarker"],
                "UploadIdMarker": answer["NextUploadIdMarker"],
            }

    def has_acls(self) -> bool:
        """Whether objects of the bucket may have grants of their own; asked once."""
        place = (self.endpoint, self.name)
        if place not in _have_acls:
            try:
                answer = self._repeat("get_bucket_ownership_controls", "")
            except StoreProblem:  # forbidden, not known to this store, or none are set
                _have_acls[place] = True
            else:
                rules = answer.get("OwnershipControls", {}).get("Rules", ())
                enforced = [rule["ObjectOwnership"] for rule in rules] == ["BucketOwnerEnforced"]
                _have_acls[place] = not enforced
        return _have_acls[place]

    # ------------------------------------------------------------ writing

    def put(
        self,
        key: str,
        data: bytes,
        *,
        attempt: str,
        replaces: str | None,
        unconditional: bool = False,
        **attributes: Any,  # noqa: ANN401  as boto3 takes them
    ) -> ObjectState:
        """Write an object, if it is still what it was.

        Args:
            key: Of the object.
            data: Its bytes.
            attempt: Random id, by which the object is told from those of others.
            replaces: ETag of the object that is there; None if there must be none.
            unconditional: The store ignores conditions: look at the object just before, and send
                none.
            attributes: Content type, metadata and so on.

        Raises:
            FileChanged: If another object is there, or there is one.
            OutcomeUnknown: If it cannot be found out whether the object was written.
        """
        metadata = {**attributes.pop("Metadata", {}), ATTEMPT: attempt}
        if unconditional:
            self.check_still(key, replaces)

        def send() -> ObjectState:
            answer = self._once(
                "put_object",
                up=len(data),
                Key=key,
                Body=data,
                ContentMD5=md5_of(data),
                Metadata=metadata,
                **({} if unconditional else _condition(replaces)),
                **attributes,
            )
            return self._written(key, answer, len(data), attempt)

        return self.publish("put_object", key, send, attempt=attempt, replaces=replaces)

    def publish(
        self,
        operation: str,
        key: str,
        send: Callable[[], ObjectState],
        *,
        attempt: str,
        replaces: str | None,
    ) -> ObjectState:
        """Make a conditional request, and find out what became of it.

        Args:
            operation: As boto3 spells it.
            key: Of the object that it makes.
            send: Makes the request once.
            attempt: The id that the new object carries.
            replaces: ETag of the object that is there; None if there must be none.

        Raises:
            FileChanged: If another object is there.
            StoreProblem: If the store refuses for another reason.
            OutcomeUnknown: If it cannot be found out.
        """
        doubt: BaseException | None = None
        answer: Refusal | None = None
        for pause in _pauses():
            time.sleep(pause)
            answer = None
            try:
                return send()
            except NoAnswer as error:
                doubt = error.__cause__ or error
            except Refusal as error:
                answer = error
                if error.is_busy:
                    continue
                if not error.is_final:
                    doubt, answer = error, None
            won = self._ours(operation, key, attempt, replaces, doubt=doubt, answer=answer)
            if won is not None:
                return won
        if doubt is None and answer is not None:
            raise self._refused(operation, key, answer) from answer
        raise self._unknown(key, doubt or answer)

    def _ours(  # noqa: PLR0913  what is known of the request
        self,
        operation: str,
        key: str,
        attempt: str,
        replaces: str | None,
        *,
        doubt: BaseException | None,
        answer: Refusal | None,
    ) -> ObjectState | None:
        """Return the object if our attempt wrote it; None if the request may be made again.

        Raises:
            FileChanged: If the object is neither ours nor the one before.
            StoreProblem: If the store refused for another reason than a condition.
            OutcomeUnknown: If the object cannot be looked at.
        """
        try:
            found = self.look_for(key, attempt=attempt, etag=replaces)
        except StoreProblem as error:
            if doubt is None and answer is not None and not answer.is_precondition:
                raise self._refused(operation, key, answer) from error
            raise self._unknown(key, doubt or error) from error
        if found is not None and found.attempt == attempt:
            return found
        if (None if found is None else found.etag) != replaces:
            raise self._changed(key) from doubt
        if answer is not None and not (answer.is_precondition or answer.is_conflict):
            if doubt is not None:  # A request before this one may yet be carried out.
                raise self._unknown(key, doubt) from answer
            raise self._refused(operation, key, answer) from answer
        return None

    def look_for(self, key: str, *, attempt: str, etag: str | None) -> ObjectState | None:
        """Return the state of an object; None if there is none.

        If it is neither of this attempt nor has this ETag, it is looked at twice. The head of an
        answer may be cut off without a sign, and with it the id of the attempt; so the second time
        a byte of the object is read, which comes after the head.
        """
        found = self.head(key)
        if found is None or found.attempt == attempt or found.etag == etag:
            return found
        try:
            return self.read(key, 0, 1)[1]
        except FileNotFoundError:
            return None
        except StoreProblem as error:
            if isinstance(error.__cause__, Refusal) and error.__cause__.code == "InvalidRange":
                return found  # It is empty, so it is not ours.
            raise

    def check_still(self, key: str, etag: str | None) -> None:
        """Check that an object has this ETag, or, if it is None, that there is no object.

        Raises:
            FileChanged: If it is not so.
        """
        found = self.head(key)
        if (None if found is None else found.etag) != etag:
            raise self._changed(key)

    def delete(self, key: str, *, version: str | None = None) -> None:
        """Delete an object, or one version of it. None need be there."""
        of: dict[str, Any] = {} if version is None else {"VersionId": version}
        self._repeat("delete_object", key, Key=key, **of)

    def begin_upload(self, key: str, **attributes: Any) -> str:  # noqa: ANN401  as boto3 takes them
        """Begin an upload in parts, and return its id.

        It is repeated only while the store is busy: what a lost answer has begun cannot be told
        from the uploads of others.

        Raises:
            StoreProblem: Also if the answer was lost. Nothing has changed but that an upload
                without parts may be left.
        """
        operation = "create_multipart_upload"
        refusal: Refusal | None = None
        try:
            for pause in _pauses():
                time.sleep(pause)
                try:
                    return str(self._once(operation, Key=key, **attributes)["UploadId"])
                except Refusal as error:
                    refusal = error
                    if not error.is_busy:
                        break
        except NoAnswer as error:
            raise StoreProblem(
                "the store did not answer, and may have begun an upload that nobody completes",
                path=self.spell(key),
                remedy="List what is left with `aws s3api list-multipart-uploads --bucket "
                f"{self.name}`, or let the bucket's lifecycle rule "
                "AbortIncompleteMultipartUpload end it.",
            ) from error
        assert refusal is not None  # noqa: S101  no try ended in another way
        raise self._refused(operation, key, refusal) from refusal

    def upload_part(self, key: str, upload: str, number: int, data: bytes) -> str:
        """Send one part, numbered from 1, and return its ETag."""
        answer = self._repeat(
            "upload_part",
            key,
            up=len(data),
            Key=key,
            UploadId=upload,
            PartNumber=number,
            Body=data,
            ContentMD5=md5_of(data),
        )
        return str(answer["ETag"])

    def copy_part(  # noqa: PLR0913  what the request says
        self, key: str, upload: str, number: int, *, of: ObjectState, start: int, stop: int
    ) -> str:
        """Let the store copy bytes of another object as a part, and return the part's ETag.

        Raises:
            FileChanged: If that object is another one by now.
        """
        try:
            answer = self._repeat(
                "upload_part_copy",
                key,
                Key=key,
                UploadId=upload,
                PartNumber=number,
                # Naming the version would take one more permission, s3:GetObjectVersion.
                CopySource={"Bucket": of.path.bucket, "Key": of.path.key},
                CopySourceRange=f"bytes={start}-{stop - 1}",
                CopySourceIfMatch=of.etag,
            )
        except FileChanged as error:
            error.path = str(of.path)
            raise
        return str(answer["CopyPartResult"]["ETag"])

    def complete_upload(  # noqa: PLR0913  what the request says
        self,
        key: str,
        upload: str,
        etags: list[str],
        *,
        size: int,
        attempt: str,
        replaces: str | None,
        unconditional: bool = False,
    ) -> ObjectState:
        """Make an object of the parts, if what is there is still what it was.

        Raises:
            FileChanged: If another object is there.
            OutcomeUnknown: If it cannot be found out whether the object was made.
        """
        parts = [{"PartNumber": n, "ETag": etag} for n, etag in enumerate(etags, start=1)]
        if unconditional:
            self.check_still(key, replaces)

        def send() -> ObjectState:
            answer = self._once(
                "complete_multipart_upload",
                Key=key,
                UploadId=upload,
                MultipartUpload={"Parts": parts},
                **({} if unconditional else _condition(replaces)),
            )
            return self._written(key, answer, size, attempt)

        return self.publish(
            "complete_multipart_upload", key, send, attempt=attempt, replaces=replaces
        )

    def abort_upload(self, key: str, upload: str) -> None:
        """End an upload without an object. It need not exist any more."""
        try:
            self._repeat("abort_multipart_upload", key, Key=key, UploadId=upload)
        except StoreProblem as error:
            if not (
                isinstance(error.__cause__, Refusal) and error.__cause__.code == "NoSuchUpload"
            ):
                raise

    # ------------------------------------------------------------ requests

    def call(self, operation: str, key: str, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401  boto3's
        """Make a request that may be repeated."""
        return self._repeat(operation, key, **arguments)

    def spell(self, key: str) -> str:
        """Return the URL of an object."""
        return str(ObjectPath(self.name, key))

    def _repeat(self, operation: str, key: str, *, up: int = 0, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401
        answer: dict[str, Any] = self._again(
            operation, key, lambda: self._once(operation, up=up, **arguments)
        )
        return answer

    def _again(self, operation: str, key: str, request: Callable[[], Any]) -> Any:  # noqa: ANN401
        """Make a request until the store answers it."""
        problem: BaseException | None = None
        for pause in _pauses():
            time.sleep(pause)
            try:
                return request()
            except NoAnswer as error:
                problem = error.__cause__ or error
            except Refusal as error:
                problem = error
                if error.is_final:
                    break
        if not isinstance(problem, Refusal):
            raise StoreProblem(
                f"the store does not answer: {_one_line(problem)}",
                path=self.spell(key),
                remedy="Check the network and AWS_ENDPOINT_URL, and run the command again.",
            ) from problem
        if problem.is_precondition and operation != "head_object":  # That one has no condition.
            raise self._changed(key) from problem
        raise self._refused(operation, key, problem) from problem

    def _once(self, operation: str, *, up: int = 0, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401
        """Make a request once.

        Raises:
            Refusal: If the store says no.
            NoAnswer: If it says nothing.
        """
        from botocore.exceptions import BotoCoreError, ClientError

        self.traffic.add(operation, up=up)
        try:
            answer: dict[str, Any] = getattr(self.client, operation)(Bucket=self.name, **arguments)
        except ClientError as error:
            said = error.response.get("Error", {})
            status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
            code = str(said.get("Code") or status)
            raise Refusal(code, status, str(said.get("Message", ""))) from error
        except _no_answers() as error:
            raise NoAnswer from error
        except BotoCoreError as error:  # no credentials, a region that does not exist
            raise StoreProblem(
                _one_line(error),
                path=self.spell(str(arguments.get("Key", ""))),
                remedy="boto3 finds credentials and the region in the environment (AWS_PROFILE, "
                "AWS_ACCESS_KEY_ID, AWS_REGION), its files, or from the machine.",
            ) from error
        if answer.get(_TELLING.get(operation, "ResponseMetadata")) is None:
            raise NoAnswer  # S3 may send an error under status 200
        return answer

    def _state(self, key: str, answer: Mapping[str, Any], size: int) -> ObjectState:
        metadata = answer.get("Metadata") or {}
        return ObjectState(
            path=ObjectPath(self.name, key),
            size=size,
            etag=_quoted(str(answer["ETag"])),
            version=_version(answer),
            attempt=metadata.get(ATTEMPT),
            headers=answer,
        )

    def _written(self, key: str, answer: Mapping[str, Any], size: int, attempt: str) -> ObjectState:
        return ObjectState(
            path=ObjectPath(self.name, key),
            size=size,
            etag=_quoted(str(answer["ETag"])),
            version=_version(answer),
            attempt=attempt,
            headers=answer,
        )

    def _changed(self, key: str) -> FileChanged:
        return FileChanged(
            "another program wrote the object meanwhile",
            path=self.spell(key),
            remedy="Run the command again.",
        )

    def _unknown(self, key: str, reason: BaseException | None) -> OutcomeUnknown:
        return OutcomeUnknown(
            f"the store did not answer: {_one_line(reason)}",
            path=self.spell(key),
            remedy="Run the command again: it sees which version is there.",
        )

    def _refused(self, operation: str, key: str, refusal: Refusal) -> Exception:
        """Return the error for a request that the store refuses."""
        path, code = self.spell(key), refusal.code
        if refusal.is_absent and operation in ("get_object", "head_object"):
            return not_found(path)
        if code == "NoSuchBucket":
            return FileNotFoundError(errno.ENOENT, "No such bucket", f"s3://{self.name}")
        if code == "InvalidObjectState":
            return archived(path)
        if code == "InvalidRequest" and "Server Side Encryption" in refusal.text:
            return with_own_key(path)
        problem, remedy = f"the store refuses {operation}: {refusal}", ""
        if code in _UNKNOWN_CALLER:
            problem = f"the store does not accept the credentials ({code})"
            remedy = "Check AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
        elif code in _SKEWED:
            problem = "the store refuses requests of this time of day: the clock here is wrong"
            remedy = "Set the clock of this machine."
        elif code in _FORBIDDEN or refusal.status == HTTPStatus.FORBIDDEN:
            needed = _PERMISSIONS.get(operation, operation)
            problem = f"the store forbids it; this needs the permission {needed}"
            if refusal.text.strip(".").lower() not in ("", "access denied", "forbidden"):
                problem += f"; it says: {_one_line(refusal.text.rstrip('.'))}"
            remedy = "Check the credentials in use and the bucket's policy."
        elif code == "NoSuchUpload":
            problem, remedy = "somebody ended our upload", "Run the command again."
        return StoreProblem(problem, path=path, remedy=remedy)


def with_own_key(path: str) -> UnsupportedFile:
    """Return the error for an object that only its owner's key opens."""
    return UnsupportedFile(
        "the object is encrypted by a key of its owner's (SSE-C)",
        path=path,
        remedy="Leave it out: keys are not taken here.",
    )


def archived(path: str) -> UnsupportedFile:
    """Return the error for an object that must be restored before it can be read."""
    remedy = "Restore it first, or leave it out."
    return UnsupportedFile("the object is archived", path=path, remedy=remedy)


def is_forbidden(error: BaseException) -> bool:
    """Whether an error says that the store forbids a request."""
    cause = error.__cause__
    return isinstance(cause, Refusal) and (cause.code in _FORBIDDEN or cause.status in (401, 403))


def md5_of(data: bytes) -> str:
    """Return what the store compares with what it received (RFC 1864)."""
    return base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()


@cache
def _client(
    endpoint: str | None,
    region: str | None,
    profile: str | None,
    given: BucketSettings | None = None,
) -> Any:  # noqa: ANN401  boto3 has no types
    try:
        import boto3
        from botocore import UNSIGNED
        from botocore.config import Config
    except ImportError as error:
        raise InvalidArgument(
            "files on S3 are written with boto3, which is not installed",
            remedy="Install it: pip install boto3.",
        ) from error
    from botocore.exceptions import BotoCoreError

    is_by_path = endpoint is not None if given is None else given.path_style
    config = Config(
        retries={"total_max_attempts": 1, "mode": "standard"},
        max_pool_connections=_CONNECTIONS,
        connect_timeout=_TIMEOUT_S / 6,
        read_timeout=_TIMEOUT_S,
        # Other stores than Amazon's do not know the newer checksums; MD5 goes along instead.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        **({"s3": {"addressing_style": "path"}} if is_by_path else {}),
        **({"signature_version": UNSIGNED} if given is not None and given.is_anonymous else {}),
    )
    keys: dict[str, str | None] = {}
    if given is not None and given.access_key is not None:
        keys["aws_access_key_id"] = given.access_key
        keys["aws_secret_access_key"] = given.secret_key
        keys["aws_session_token"] = given.session_token
    try:
        session = boto3.Session(profile_name=profile, region_name=region)
        return session.client("s3", endpoint_url=endpoint, config=config, **keys)
    except (BotoCoreError, ValueError) as error:
        raise InvalidArgument(
            f"boto3 cannot open S3: {_one_line(error)}",
            remedy="Check AWS_PROFILE, AWS_REGION and AWS_ENDPOINT_URL.",
        ) from error


def open_bucket(
    name: str, *, endpoint: str | None = None, region: str | None = None, profile: str | None = None
) -> S3Bucket:
    """Open a bucket, with settings that `settings` knows, or else as boto3 finds them.

    Args:
        name: The bucket.
        endpoint: URL of another store than Amazon's; by default AWS_ENDPOINT_URL.
        region: By default as boto3 finds it.
        profile: Of the configuration files; by default AWS_PROFILE.

    Raises:
        InvalidArgument: If boto3 is missing, or cannot make a client.
    """
    import os

    given = settings_of(name)
    if given is not None:
        client = _client(given.endpoint, given.region, None, given)
        return S3Bucket(client, name, endpoint=without_secrets(str(client.meta.endpoint_url)))
    endpoint = (
        endpoint or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    )
    profile = profile or os.environ.get("AWS_PROFILE")
    client = _client(endpoint or None, region, profile or None)
    return S3Bucket(client, name, endpoint=without_secrets(str(client.meta.endpoint_url)))


@cache
def _no_answers() -> tuple[type[BaseException], ...]:
    """Return what boto3 raises if a request has no answer, or only the beginning of one."""
    from botocore import exceptions
    from botocore.parsers import ResponseParserError
    from urllib3.exceptions import HTTPError

    return (
        exceptions.ConnectionError,
        exceptions.HTTPClientError,
        exceptions.IncompleteReadError,
        ResponseParserError,
        HTTPError,
        ConnectionError,
        TimeoutError,
    )


def _pauses() -> Iterator[float]:
    """Yield how long to wait before each try, seconds."""
    yield 0.0
    for n in range(_TRIES - 1):
        yield min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2**n) * random.uniform(0.5, 1.0)  # noqa: S311  no secret


def _condition(replaces: str | None) -> dict[str, Any]:
    return {"IfNoneMatch": "*"} if replaces is None else {"IfMatch": replaces}


def _quoted(etag: str) -> str:
    return etag if etag.startswith('"') else f'"{etag}"'


def _version(answer: Mapping[str, Any]) -> str | None:
    version = answer.get("VersionId")
    return None if version in (None, "", "null") else str(version)


def _one_line(error: BaseException | str | None) -> str:
    text = re.sub(r"(?<=://)[^/@\s]*@", "", str(error))  # A user and a password in a URL.
    return " ".join(text.split()) or type(error).__name__
