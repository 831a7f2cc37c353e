"""The requests to a bucket of S3, or of a store that speaks its language.

Each request is made once by boto3, whose own retries are off, and repeated here:

- Requests that may be repeated without harm, reads and parts of an upload, are repeated while the
  store is busy, breaks the connection, or sends other bytes than it was asked for. No answer is
  believed that cannot be true, whatever its status (`answers`), and none may take any memory or
  time (`limits`).
- A conditional request (`publish`) is not blindly repeated. If its answer was lost, the repetition
  would be refused because the first one was carried out. So each new object carries a random id of
  the attempt, and whenever the answer is not plain success, the object is looked at first: if it
  carries our id, we won.

Source: Amazon S3 API Reference; "Conditional writes" of the S3 User Guide.
"""

from __future__ import annotations

import base64
import hashlib
import random
import time
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.caches import register
from parquet_bloomwriter.errors import FileChanged, OutcomeUnknown, StoreProblem
from parquet_bloomwriter.stores.base import StoreTraffic, quoted
from parquet_bloomwriter.stores.lost_answers import NoAnswer, Refusal, publish_once
from parquet_bloomwriter.stores.s3.answers import (
    ObjectState,
    S3Refusal,
    error_of,
    listed,
    no_answers,
    size_of,
    sizes_of,
)
from parquet_bloomwriter.stores.s3.urls import ObjectPath
from parquet_bloomwriter.text import words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from parquet_bloomwriter.stores.base import Listed

ATTEMPT = "bloomify-attempt"
"""Key of the user metadata that holds the id of the attempt that wrote an object."""

_TRIES = 6
_FEW_TRIES = 2
_PATIENCE_S = 60
"""Seconds after which a request gets no third try."""

_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0
_TELLING = {
    "head_object": "ETag",
    "put_object": "ETag",
    "create_multipart_upload": "UploadId",
    "upload_part": "ETag",
    "upload_part_copy": "CopyPartResult.ETag",
    "complete_multipart_upload": "ETag",
    "list_objects_v2": "IsTruncated",
    "list_multipart_uploads": "IsTruncated",
    "get_object_tagging": "TagSet",
    "get_object_acl": "Grants",
    "get_bucket_ownership_controls": "OwnershipControls.Rules",
}
"""Field that an answer has if the request was carried out; get_object has a body to close."""

_MARKERS = {
    "list_objects_v2": {"ContinuationToken": "NextContinuationToken"},
    "list_multipart_uploads": {
        "KeyMarker": "NextKeyMarker",
        "UploadIdMarker": "NextUploadIdMarker",
    },
}
"""For each listing, the arguments of the next page by fields of the page before."""

_ENTRIES = ("Contents", "CommonPrefixes", "Uploads")
_MOST_EMPTY_PAGES = 1_000
_SENSELESS = (*(ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError),)
"""Errors of boto3 on answers that no correct store gives."""

_have_acls: dict[tuple[str, str], bool] = {}
"""Whether objects of a bucket may have grants of their own, by endpoint and bucket."""
register(_have_acls.clear)


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
        self._is_silent = False
        self.server = ""
        """Name that the store gives in its answers (`Server`); "" before the first, or without one.
        """

    # ------------------------------------------------------------ reading

    def state(self, key: str) -> ObjectState | None:
        """Return the state of an object; None if there is none."""

        def look() -> ObjectState:
            answer = self._once("head_object", Key=key)
            return self._state(key, answer, size_of(answer))

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
            try:
                with answer["Body"] as body:
                    length, total = sizes_of(answer, start, stop)
                    data = body.read(length)
            except no_answers() as error:
                raise NoAnswer from error
            self.traffic.add_down(len(data))
            if len(data) != length:
                raise NoAnswer(f"it sends {len(data)} bytes of {length}")
            return data, self._state(key, answer, total)

        data, state = self._again("get_object", key, get)
        if if_match is not None and state.etag != if_match:
            raise self.changed(key)
        return data, state

    def objects(
        self, prefix: str, *, start_after: str = "", delimiter: str = ""
    ) -> Iterator[Listed]:
        """Yield the objects whose keys begin with a prefix, in the order of their keys.

        Args:
            prefix: What keys begin with.
            start_after: Pass over keys up to this one.
            delimiter: Pass over keys that have it after the prefix.
        """
        more: dict[str, Any] = {"StartAfter": start_after} if start_after else {}
        of: dict[str, Any] = {"Delimiter": delimiter} if delimiter else {}
        for answer in self._pages("list_objects_v2", prefix, more, **of):
            for one in answer.get("Contents", ()):
                try:
                    found = listed(one)
                except NoAnswer as error:
                    raise self._senseless(prefix, error) from error
                if not found.key.startswith(prefix):
                    outside = NoAnswer(f"its listing shows {found.key!r}, which is not there")
                    raise self._senseless(prefix, outside)
                yield found

    def has_prefix(self, prefix: str, *, suffix: str | tuple[str, ...] = "") -> bool:
        """Return whether a key has this prefix; with `suffix`, also this ending in that folder."""
        if not suffix:
            answer = self._repeat("list_objects_v2", prefix, Prefix=prefix, MaxKeys=1)
            return bool(answer.get("Contents"))
        return any(one.key.endswith(suffix) for one in self.objects(prefix, delimiter="/"))

    def folders(self, prefix: str) -> Iterator[str]:
        """Yield the distinct names between a prefix and the next slash of keys, in order."""
        for answer in self._pages("list_objects_v2", prefix, {}, Delimiter="/"):
            for one in answer.get("CommonPrefixes", ()):
                yield str(one.get("Prefix", "")).removeprefix(prefix).removesuffix("/")

    def uploads(self, prefix: str) -> Iterator[tuple[str, str]]:
        """Yield key and id of each unfinished upload whose key begins with a prefix."""
        for answer in self._pages("list_multipart_uploads", prefix, {}):
            for one in answer.get("Uploads", ()):
                if {"Key", "UploadId"} <= one.keys():
                    yield one["Key"], one["UploadId"]

    def has_acls(self) -> bool:
        """Return whether objects of the bucket may have grants of their own; asked once."""
        place = (self.endpoint, self.name)
        if place not in _have_acls:
            try:
                answer = self._repeat("get_bucket_ownership_controls", "")
            except StoreProblem:  # forbidden, not known to this store, or none are set
                _have_acls[place] = True
            else:
                rules = answer["OwnershipControls"]["Rules"]
                owners = [rule.get("ObjectOwnership") for rule in rules]
                _have_acls[place] = owners != ["BucketOwnerEnforced"]
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
        """Write an object on condition that the old version is unchanged, or that there is none.

        Args:
            key: Of the object.
            data: Its bytes.
            attempt: Random id, which no object of another program has.
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
        """Make a conditional request; if its answer is lost, find out whether it was carried out.

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
        return publish_once(
            send,
            lambda: self.look_for(key, attempt=attempt, etag=replaces),
            tries=self._tries(),
            attempt=attempt,
            is_before=lambda found: (None if found is None else found.etag) == replaces,
            changed=lambda: self.changed(key),
            refused=lambda refusal: self._refused(operation, key, refusal),
            unknown=lambda reason: self._unknown(key, reason),
        )

    def look_for(self, key: str, *, attempt: str, etag: str | None) -> ObjectState | None:
        """Return the state of an object; None if there is none.

        If it is neither of this attempt nor has this ETag, it is looked at twice. The head of an
        answer may be cut off without a sign, and with it the id of the attempt; so the second time
        a byte of the object is read, which comes after the head.
        """
        found = self.state(key)
        if found is None or found.attempt == attempt or found.etag == etag:
            return found
        try:
            return self.read(key, 0, 1)[1]
        except FileNotFoundError:
            return None
        except StoreProblem as error:
            if isinstance(error.__cause__, Refusal) and error.__cause__.code == "InvalidRange":
                return found  # The object is empty, so it is not ours.
            raise

    def check_still(self, key: str, etag: str | None) -> None:
        """Check that an object has this ETag; if `etag` is None, that there is no object.

        Raises:
            FileChanged: If it is not so.
        """
        found = self.state(key)
        if (None if found is None else found.etag) != etag:
            raise self.changed(key)

    def remove(self, key: str, *, version: str | None = None) -> None:
        """Delete an object, or a version of it; an object that does not exist is no error."""
        of: dict[str, Any] = {} if version is None else {"VersionId": version}
        self._repeat("delete_object", key, Key=key, **of)

    def begin_upload(self, key: str, **attributes: Any) -> str:  # noqa: ANN401  as boto3 takes them
        """Begin an upload in parts, and return its id.

        It is repeated only while the store is busy: an upload whose answer was lost cannot
        be distinguished from the uploads of other programs.

        Raises:
            StoreProblem: Also if the answer was lost. Nothing has changed but that an upload
                without parts may be left.
        """
        operation = "create_multipart_upload"
        refusal: Refusal | None = None
        try:
            for _ in self._tries():
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
        """Complete an upload on condition that the old object is unchanged, or that there is none.

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
        """Abort an upload; an upload that does not exist is no error."""
        try:
            self._repeat("abort_multipart_upload", key, Key=key, UploadId=upload)
        except StoreProblem as error:
            if not (
                isinstance(error.__cause__, Refusal) and error.__cause__.code == "NoSuchUpload"
            ):
                raise

    # ------------------------------------------------------------ requests

    def _pages(
        self,
        operation: str,
        prefix: str,
        more: dict[str, Any],
        **of: Any,  # noqa: ANN401  as boto3 takes it
    ) -> Iterator[dict[str, Any]]:
        """Yield the pages of a listing.

        Args:
            operation: As boto3 spells it.
            prefix: What is listed.
            more: Where the first page begins.
            of: What all pages have in common.
        """
        num_empty = 0
        while True:
            answer = self._repeat(operation, prefix, Prefix=prefix, **of, **more)
            yield answer
            if not answer["IsTruncated"]:
                return
            before, more = (
                more,
                {
                    name: answer[following]
                    for name, following in _MARKERS[operation].items()
                    if following in answer
                },
            )
            is_empty = not any(answer.get(name) for name in _ENTRIES)
            num_empty = num_empty + 1 if is_empty else 0
            if more in ({}, before) or num_empty > _MOST_EMPTY_PAGES:
                raise self._senseless(prefix, NoAnswer("its listing does not end"))

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
        """Repeat a request until the store answers it."""
        problem: BaseException | None = None
        for _ in self._tries():
            try:
                return request()
            except NoAnswer as error:
                problem = error.__cause__ or error
                if error.is_last:
                    break
            except Refusal as error:
                problem = error
                if error.is_final:
                    break
        if not isinstance(problem, Refusal):
            self._is_silent = True
            raise self._senseless(key, problem) from problem
        if problem.is_precondition and operation != "head_object":  # head_object has no condition.
            raise self.changed(key) from problem
        raise self._refused(operation, key, problem) from problem

    def _once(self, operation: str, *, up: int = 0, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401
        """Make a request without repeating it.

        Raises:
            S3Refusal: If the store says no.
            NoAnswer: If it says nothing.
        """
        from botocore.exceptions import BotoCoreError, ClientError

        self.traffic.add(operation, up=up)
        try:
            answer: dict[str, Any] = getattr(self.client, operation)(Bucket=self.name, **arguments)
        except ClientError as error:
            self._is_silent = False
            self._note_server(error.response)
            said = error.response.get("Error", {})
            status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
            code = str(said.get("Code") or status)
            raise S3Refusal(code, status, str(said.get("Message", ""))) from error
        except no_answers() as error:
            raise NoAnswer from error
        except BotoCoreError as error:  # no credentials, a region that does not exist
            raise StoreProblem(
                words_of(error),
                path=self.spell(str(arguments.get("Key", ""))),
                remedy="boto3 finds credentials and the region in the environment (AWS_PROFILE, "
                "AWS_ACCESS_KEY_ID, AWS_REGION), its files, or from the machine.",
            ) from error
        except _SENSELESS as error:  # such as a date in the head that was cut off
            raise NoAnswer from error
        content: Any = answer
        for name in _TELLING.get(operation, "ResponseMetadata").split("."):
            content = (content or {}).get(name)
        if content is None:
            # S3 may send an error under status 200, and a proxy a page.
            raise NoAnswer(f"its answer is not one to {operation}")
        self._is_silent = False
        self._note_server(answer)
        return answer

    def _tries(self) -> Iterator[int]:
        """Yield once before each try of a request, after a pause, until patience ends.

        A store that did not answer the request before gets two tries, and so does one that takes
        long for each: else a run would take many times as long as one request that hangs.
        """
        began = time.monotonic()
        for n in range(_FEW_TRIES if self._is_silent else _TRIES):
            if n >= _FEW_TRIES and time.monotonic() - began > _PATIENCE_S:
                return
            if n:
                pause = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2 ** (n - 1))
                time.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311  no secret
            yield n

    def _note_server(self, answer: Any) -> None:  # noqa: ANN401  boto3's
        headers = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
        self.server = headers.get("server", self.server)

    def _state(self, key: str, answer: Mapping[str, Any], size: int) -> ObjectState:
        """Return the state of an object from the answer to a request.

        Raises:
            StoreProblem: If the ETag is weak. Other bytes may have the same one, and no condition
                holds for it (RFC 9110, 8.8.1 and 13.1.1).
        """
        metadata = answer.get("Metadata") or {}
        etag = quoted(str(answer["ETag"]))
        if not etag.startswith('"'):
            raise StoreProblem(
                f"the store gives a weak ETag ({etag}), which does not show whether the object was "
                "changed",
                path=self.spell(key),
                remedy="Reach the store without the proxy that weakens ETags, such as one that "
                "compresses answers.",
            )
        return ObjectState(
            path=ObjectPath(self.name, key),
            size=size,
            etag=etag,
            version=_version(answer),
            attempt=metadata.get(ATTEMPT),
            headers=answer,
        )

    def _written(self, key: str, answer: Mapping[str, Any], size: int, attempt: str) -> ObjectState:
        return ObjectState(
            path=ObjectPath(self.name, key),
            size=size,
            etag=quoted(str(answer["ETag"])),
            version=_version(answer),
            attempt=attempt,
            headers=answer,
        )

    def _refused(self, operation: str, key: str, refusal: Refusal) -> Exception:
        assert isinstance(refusal, S3Refusal)  # noqa: S101  `_once` raises no other
        return error_of(refusal, operation, ObjectPath(self.name, key))

    def changed(self, key: str) -> FileChanged:
        """Return the error for an object that another program wrote."""
        return FileChanged(
            "another program wrote the object meanwhile",
            path=self.spell(key),
            remedy="Run the command again.",
        )

    def _senseless(self, key: str, problem: BaseException | None) -> StoreProblem:
        """Return the error for a store that gives no answer, or no usable one."""
        how = " as it should" if isinstance(problem, NoAnswer) else ""
        return StoreProblem(
            f"the store does not answer{how}: {words_of(problem)}",
            path=self.spell(key),
            remedy="Check the network and AWS_ENDPOINT_URL, and run the command again.",
        )

    def _unknown(self, key: str, reason: BaseException | None) -> OutcomeUnknown:
        return OutcomeUnknown(
            f"the store did not answer: {words_of(reason)}",
            path=self.spell(key),
            remedy="Run the command again: it sees which version is there.",
        )


def md5_of(data: bytes) -> str:
    """Return the MD5 of data, base64, which the store compares with what it received (RFC 1864)."""
    return base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()


def _condition(replaces: str | None) -> dict[str, Any]:
    return {"IfNoneMatch": "*"} if replaces is None else {"IfMatch": replaces}


def _version(answer: Mapping[str, Any]) -> str | None:
    version = answer.get("VersionId")
    return str(version) if version else None
