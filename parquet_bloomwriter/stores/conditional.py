"""Objects on Google Cloud Storage and Azure, which are replaced under a condition.

A `put` names the version that it replaces: the generation on GCS (`x-goog-if-generation-match`),
the ETag on Azure (`If-Match`). If another program wrote the object meanwhile, the store refuses,
and that program's version stays. An object that must be new is put under the condition that there
is none. Reads name the version, too, so that no two versions are mixed.

Each new object carries a random id of the attempt in its metadata. A `put` whose answer was lost
looks like a conflict when it is repeated; so after every answer that is not plain success the
object is looked at: if it carries our id, we won.

obstore does the requests, one library without dependencies for both stores. gcsfs would bring
twenty packages, and adlfs fifteen, for conditions that neither offers on a whole put. obstore's own
retries are off for a `put`, and on for reads.

Sources: Cloud Storage, XML API, "Preconditions"; Azure Blob Storage REST API, "Specifying
conditional headers"; obstore, `put`.
"""

from __future__ import annotations

import datetime as dt
import mmap
import os
import random
import re
import secrets
import time
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from parquet_bloomwriter.errors import (
    InvalidArgument,
    OutcomeUnknown,
    StoreProblem,
    UnsupportedFile,
)
from parquet_bloomwriter.source.filesystems import SCHEMES, without_secrets
from parquet_bloomwriter.stores.base import FileState, Listed, TableStore, WholeStore, quoted
from parquet_bloomwriter.stores.lost_answers import NoAnswer, Refusal, publish_once
from parquet_bloomwriter.stores.reader import ObjectReader
from parquet_bloomwriter.text import words_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator
    from contextlib import AbstractContextManager

    from parquet_bloomwriter.source.settings import CloudConnection
    from parquet_bloomwriter.stores.base import LocalFile

ATTEMPT = "bloomify_attempt"
"""Key of the metadata that holds the id of the attempt. Azure takes names of C# only: no hyphen."""

_GOOGLE = SCHEMES["gs"]
_AZURE = ("abfs", "abfss", "az", "azure", "adl")
_ENDPOINTS = ("GOOGLE_BASE_URL", "AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT")
_MOST_PUT = 5000 * 1024**2
"""Most bytes that Azure takes by one request ("Put Blob")."""

_TRIES = 4
_FIRST_PAUSE_S = 0.2
_READ_RETRIES = 5
_READ_TIMEOUT_S = 120
_SLOWEST = 256 * 1024
"""Slowest `put` that is waited for, bytes per second; the time limit of a read is added."""

_BLOB_HOST = re.compile(r"([a-z0-9]+)\.(?:blob|dfs)\.", re.IGNORECASE)
_MS_PER_S, _NS_PER_MS = 1000, 1_000_000
_REFUSED = re.compile(r"status code: 4(?!08|29)\d\d")
_FORBIDDEN = re.compile(r"status code: 40[13]")
_SIGNATURE = re.compile(r"\?(?:.*&)?(?:sig|x-goog-signature)=", re.IGNORECASE)
_NEW = {"Content-Type": "application/vnd.apache.parquet"}
_MAX_WORDS = 300


class ConditionalUrl(NamedTuple):
    """The URL of an object on GCS or Azure, split into bucket and key."""

    base: str
    """Scheme and bucket; `gs://bucket`, `abfss://container@account.dfs.core.windows.net`."""

    key: str

    def __str__(self) -> str:
        return f"{self.base}/{self.key}"


def is_conditional(url: str) -> bool:
    """Return whether a path is the URL of an object, a folder or a pattern on GCS or Azure."""
    scheme, found, _ = url.partition("://")
    return bool(found) and scheme.lower() in (*_GOOGLE, *_AZURE)


def split_url(url: str) -> ConditionalUrl:
    """Split the URL of an object into bucket and key; escapes in the key are left alone.

    Raises:
        InvalidArgument: If it names no bucket, or has a password or a signature in it.
    """
    scheme, _, rest = url.partition("://")
    bucket, _, key = rest.partition("/")
    if not bucket or ":" in bucket.partition("@")[0]:
        problem = "has a password in it" if bucket else "names no bucket or container"
        raise InvalidArgument(
            f"the URL {problem}",
            remedy="Name the object as gs://bucket/key or abfss://container@account.dfs.core."
            "windows.net/key; credentials are taken from the environment.",
        )
    if _SIGNATURE.search(key):
        raise InvalidArgument(
            "the URL has a signature in it, which would end up in messages and process lists",
            remedy="Leave it out, and set AZURE_STORAGE_SAS_TOKEN.",
        )
    scheme = "gs" if scheme.lower() in _GOOGLE else scheme.lower()
    return ConditionalUrl(f"{scheme}://{bucket}", key)


def place_of(base: str, key: str) -> tuple[str, ...]:
    """Return a key of an object's location: equal for all spellings and schemes of its URL.

    Args:
        base: The URL without the key: `gs://bucket`, `az://container`, which is in the account of
            the environment, `abfss://container@account.dfs.core.windows.net`, or
            `https://account.blob.core.windows.net/container`.
        key: Of the object, without escapes.
    """
    scheme, _, rest = base.partition("://")
    if scheme in _GOOGLE:
        return "Google Cloud Storage", rest, key
    host, _, container = rest.partition("/")
    if not container:
        container, _, host = rest.partition("@")
    endpoint = next((os.environ[name] for name in _ENDPOINTS[1:] if os.environ.get(name)), "")
    server = endpoint.partition("://")[2].rstrip("/") or host
    account = _BLOB_HOST.match(server)
    if account is not None:
        server = account[1]
    elif not server:
        server = os.environ.get("AZURE_STORAGE_ACCOUNT_NAME", "")
    return "Azure Blob Storage", server.lower(), container, key


def place_of_https(url: str) -> tuple[str, ...] | None:
    """Return the location of the object that an HTTPS URL of GCS or Azure names, or None."""
    scheme, _, rest = url.partition("://")
    host, _, path = unquote(rest.partition("?")[0]).partition("/")
    bucket, _, key = path.partition("/")
    if scheme.lower() != "https":
        return None
    if host.lower() == "storage.googleapis.com":
        return place_of(f"gs://{bucket}", key)
    return place_of(f"https://{host}/{bucket}", key) if _BLOB_HOST.match(host) else None


class CloudRefusal(Refusal):
    """The store answered that it did nothing; `__cause__` is the error of obstore's."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(_words(error))
        self.is_precondition = isinstance(error, _precondition())
        self.is_forbidden = _is_denied(error)


class ConditionalStore(WholeStore, TableStore):
    """A bucket on GCS, or a container on Azure."""

    reads_name_version = True

    def __init__(self, base: str, settings: CloudConnection | None = None) -> None:
        """Open a bucket.

        Args:
            base: Its URL, without a key.
            settings: How it is reached; None for what obstore finds.

        Raises:
            InvalidArgument: If obstore is missing, or there are no credentials.
        """
        super().__init__()
        self.is_google = base.partition("://")[0] in _GOOGLE
        self.kind = "Google Cloud Storage" if self.is_google else "Azure Blob Storage"
        # Caches tell stores apart by it: a bucket on an emulator may have the same name.
        self.endpoint = self.kind if settings is None else without_secrets(settings.endpoint)
        self.name = base
        self._settings = settings
        self._store = self._connected(retries=_READ_RETRIES, timeout_s=_READ_TIMEOUT_S)

    def _connected(self, *, retries: int, timeout_s: int) -> Any:  # noqa: ANN401  obstore's
        base, given = self.name, self._settings
        try:
            from obstore import exceptions
            from obstore.store import from_url
        except ImportError as error:
            raise InvalidArgument(
                "files on Google Cloud Storage and Azure are written with obstore, which is not "
                "installed",
                remedy="Install it: pip install obstore.",
            ) from error
        is_plain = any(os.environ.get(name, "").startswith("http://") for name in _ENDPOINTS)
        if given is not None:
            is_plain = given.endpoint.startswith("http://")
        try:
            return from_url(
                base,
                **({} if given is None else given.arguments()),
                client_options={"allow_http": is_plain, "timeout": f"{timeout_s}s"},
                retry_config={
                    "max_retries": retries,
                    "retry_timeout": dt.timedelta(seconds=_READ_TIMEOUT_S),
                    "backoff": {"init_backoff": dt.timedelta(seconds=_FIRST_PAUSE_S)},
                },
            )
        except (exceptions.BaseError, ValueError) as error:
            raise InvalidArgument(
                f'obstore cannot open "{base}": {_words(error)}',
                remedy="Check the URL, and the credentials in the environment.",
            ) from error

    def spell(self, path: str) -> str:
        """Return the URL of an object."""
        return str(ConditionalUrl(self.name, path))

    def place(self, path: str) -> Hashable:
        """Return a key of an object's location: equal for all spellings of its URL."""
        return place_of(self.name, path)

    # ------------------------------------------------------------ reading

    def state(self, path: str) -> FileState | None:
        """Return the state of an object; None if there is none."""
        try:
            return _state_of(self._get(path, head=True))
        except FileNotFoundError:
            return None

    def open(self, path: str, state: FileState) -> AbstractContextManager[ConditionalSource]:
        """Return a source of this version of the object; no request is made yet."""
        return nullcontext(ConditionalSource(self, path, state))

    def read(
        self, path: str, start: int, stop: int, *, if_match: str | None = None
    ) -> tuple[bytes, FileState]:
        """Return the bytes [start, stop) of an object, and its state."""
        condition = {} if if_match is None else {"if_match": if_match}
        found = self._get(path, range=(start, stop), **condition)
        with self._asking(path, "get"):
            data = bytes(found.bytes())
        self.traffic.add_down(len(data))
        return data, _state_of(found)

    def folders(self, prefix: str) -> Iterator[str]:
        """Yield the names of the folders directly in a folder."""
        import obstore

        self.traffic.add("list")
        folder = prefix.rstrip("/")
        with self._asking(folder, "list"):
            found = obstore.list_with_delimiter(self._store, prefix=folder or None)
        yield from sorted(one.rstrip("/").rpartition("/")[2] for one in found["common_prefixes"])

    def objects(self, prefix: str, *, start_after: str = "") -> Iterator[Listed]:
        """Yield the objects whose keys begin with a prefix, which may end within a name."""
        return (
            one
            for one in self._below(prefix.rpartition("/")[0], start_after)
            if one.key.startswith(prefix)
        )

    def _below(self, folder: str, offset: str = "") -> Iterator[Listed]:
        """Yield the objects below a folder whose keys come after an offset."""
        import obstore

        self.traffic.add("list")
        with self._asking(folder, "list"):
            for page in obstore.list(self._store, prefix=folder or None, offset=offset or None):
                for one in page:
                    yield Listed(one["path"], int(one["size"]), _etag(one), _changed_ns(one))

    def files_in(self, folder: str, *, start: str = "") -> Iterator[Listed]:
        """Yield the objects directly below a prefix, by name."""
        prefix = f"{folder}/"
        # All names that are not before `start` come after it without its last letter.
        below = self._below(folder, f"{prefix}{start[:-1]}" if start else "")
        names = ((one.key.removeprefix(prefix), one) for one in below)
        found = [one for name, one in names if "/" not in name and name >= start]
        if not (found or start):
            raise self.missing(folder)
        yield from sorted(found)

    def remove(self, path: str) -> None:
        """Remove an object; an object that does not exist is no error."""
        import obstore

        self.traffic.add("delete")
        with self._asking(path, "delete"), suppress(FileNotFoundError):
            obstore.delete(self._store, path)

    def why_not_exclusive(self, folder: str) -> str:  # noqa: ARG002
        """Return "": both stores honour conditions."""
        return ""

    def has_prefix(self, prefix: str, *, suffix: str | tuple[str, ...] = "") -> bool:
        """Return whether the object exists, or any object below a prefix that ends with a slash."""
        if prefix and not prefix.endswith("/"):
            return self.state(prefix) is not None
        keys = (one.key.removeprefix(prefix) for one in self._below(prefix.rstrip("/")))
        return any(not suffix or (key.endswith(suffix) and "/" not in key) for key in keys)

    def _get(self, path: str, **options: Any) -> Any:  # noqa: ANN401  obstore's
        import obstore

        self.traffic.add("head" if "head" in options else "get")
        with self._asking(path, "get"):
            try:
                found = obstore.get(self._store, path, options=options)
            except FileNotFoundError:
                raise self.missing(path) from None
        if found.meta["path"] != path:  # obstore has corrected it
            raise self._misspelled(path)
        return found

    @contextmanager
    def _asking(self, path: str, operation: str) -> Iterator[None]:
        """Turn errors of obstore's into errors that name the object.

        Raises:
            InvalidArgument: If obstore cannot name it.
            FileChanged: If it is another version than the one that was asked for.
            StoreProblem: If the store refuses for another reason, or does not answer.
        """
        try:
            yield
        except ValueError as error:
            raise self._misspelled(path) from error
        except _errors() as error:
            if isinstance(error, FileNotFoundError) and error.errno is not None:
                raise  # ours
            if isinstance(error, _precondition()):
                raise self.changed(path) from error
            if operation == "list" and "invalid path" in str(error):
                raise StoreProblem(
                    f"an object there has a key that obstore cannot name: {_words(error)}",
                    path=self.spell(path),
                    remedy="Name the other objects one by one.",
                ) from error
            refusal = CloudRefusal(error)
            refusal.__cause__ = error
            raise self._refused(error, path, operation) from refusal

    def _misspelled(self, path: str) -> InvalidArgument:
        return InvalidArgument(
            f'"{self.spell(path)}" is no object that obstore can name',
            remedy='Name a key without empty names, "." and ".." between slashes, and without '
            "control characters.",
        )

    # ------------------------------------------------------------ writing

    def _publish(
        self, path: str, data: LocalFile, replaces: FileState | None, like: FileState | None
    ) -> FileState:
        """Put an object on condition that the old version is still there, or none.

        Raises:
            UnsupportedFile: If it is too large for one request.
        """
        if not self.is_google and data.size > _MOST_PUT:
            raise UnsupportedFile(
                f"the new version has {data.size} bytes, and Azure takes at most {_MOST_PUT} under "
                "a condition",
                path=self.spell(path),
            )
        attributes = {
            **(_NEW if like is None else like.attributes),
            ATTEMPT: secrets.token_hex(16),
        }
        return self._put_safely(path, data.buffer(), attributes, replaces)

    def create(
        self,
        path: str,
        data: bytes | mmap.mmap,
        *,
        attempt: str,
        content_type: str = "",
        one_writer: bool = False,
    ) -> FileState:
        """Put an object on condition that none of this name exists."""
        del one_writer
        attributes = {"Content-Type": content_type} if content_type else {}
        with self._ending(path):
            return self._put_safely(path, data, {**attributes, ATTEMPT: attempt}, None)

    def create_file(self, path: str, fd: int, size: int) -> FileState:
        """Put the bytes of an open file on condition that no object of this name exists."""
        attempt = secrets.token_hex(16)
        if not size:
            return self.create(path, b"", attempt=attempt)
        with mmap.mmap(fd, size, prot=mmap.PROT_READ) as data:
            return self.create(path, data, attempt=attempt)

    def _put_safely(
        self,
        path: str,
        data: bytes | bytearray | mmap.mmap,
        attributes: dict[str, str],
        replaces: FileState | None,
    ) -> FileState:
        """Put an object; if the answer is lost, find out whether the store carried out the request.

        Raises:
            As `WholeStore.publish`.
        """
        store = self._connected(retries=0, timeout_s=_READ_TIMEOUT_S + len(data) // _SLOWEST)
        token = replaces and replaces.token
        try:
            return publish_once(
                lambda: self._put(store, path, data, attributes, replaces),
                lambda: self.state(path),
                tries=_tries(),
                attempt=attributes[ATTEMPT],
                is_before=lambda found: (found and found.token) == token,
                changed=lambda: self.changed(path),
                refused=lambda refusal: self._refused(refusal.__cause__, path, "put"),
                unknown=lambda reason: self._unknown(path, reason),
            )
        except BaseException as error:
            if isinstance(error, Exception):
                raise
            raise self._unknown(path, error) from error  # Ctrl-C, with a request on its way.

    def _put(
        self,
        store: Any,  # noqa: ANN401  obstore's
        path: str,
        data: Any,  # noqa: ANN401  bytes
        attributes: dict[str, str],
        replaces: FileState | None,
    ) -> FileState:
        """Put an object by one request, which is not repeated.

        Raises:
            CloudRefusal: If the store says no.
            NoAnswer: If it says nothing.
        """
        import obstore

        self.traffic.add("put", up=len(data))
        try:
            made = obstore.put(store, path, data, attributes=attributes, mode=_mode(replaces))
        except _errors() as error:
            raise (CloudRefusal(error) if _is_refusal(error) else NoAnswer()) from error
        token = made["e_tag"], made["version"]
        attempt = attributes[ATTEMPT]
        return FileState(size=len(data), token=token, etag=_etag(made), attempt=attempt)

    # ------------------------------------------------------------ errors

    def _unknown(self, path: str, reason: BaseException | None) -> OutcomeUnknown:
        return OutcomeUnknown(
            f"the store did not answer: {_words(reason)}",
            path=self.spell(path),
            remedy="Run the command again: it sees which version is there.",
        )

    def _refused(self, error: BaseException | None, path: str, operation: str) -> StoreProblem:
        url = self.spell(path)
        if isinstance(error, FileNotFoundError):
            return StoreProblem("there is no such bucket or container", path=self.name)
        if error is not None and _is_denied(error):
            needed = (_GOOGLE_RIGHTS if self.is_google else _AZURE_RIGHTS)[operation]
            return StoreProblem(
                f"{self.kind} forbids it; this needs the permission {needed}",
                path=url,
                remedy="Check the credentials in use, and the roles that they have.",
            )
        if error is not None and not _is_refusal(error):
            return StoreProblem(
                f"{self.kind} does not answer: {_words(error)}",
                path=url,
                remedy="Check the network, credentials and endpoint, and run the command again.",
            )
        return StoreProblem(f"{self.kind} refuses it: {_words(error)}", path=url)


_GOOGLE_RIGHTS = {
    "get": "storage.objects.get",
    "list": "storage.objects.list",
    "delete": "storage.objects.delete",
    "put": "storage.objects.create, and storage.objects.delete to replace an object",
}
_AZURE_RIGHTS = {
    "get": "Microsoft.Storage/.../blobs/read (Storage Blob Data Reader)",
    "list": "Microsoft.Storage/.../blobs/read (Storage Blob Data Reader)",
    "delete": "Microsoft.Storage/.../blobs/delete (Storage Blob Data Contributor)",
    "put": "Microsoft.Storage/.../blobs/write (Storage Blob Data Contributor)",
}


class ConditionalSource(ObjectReader):
    """One version of an object on GCS or Azure, as a source of bytes."""

    def __init__(self, store: ConditionalStore, path: str, state: FileState) -> None:
        """Read the object in this state."""
        identity = (store.place(path), state.token)
        super().__init__(state.size, name=store.spell(path), identity=identity)
        self._store = store
        self._path = path
        self.state = state
        self.etag = state.etag
        token: Any = state.token
        self._condition: str | None = token[0]

    def _request(self, start: int, stop: int) -> bytes:
        return self._store.read(self._path, start, stop, if_match=self._condition)[0]


@cache
def _errors() -> tuple[type[BaseException], ...]:
    from obstore.exceptions import BaseError

    return BaseError, FileNotFoundError


@cache
def _precondition() -> tuple[type[BaseException], ...]:
    from obstore.exceptions import AlreadyExistsError, PreconditionError

    return PreconditionError, AlreadyExistsError


def _is_refusal(error: BaseException) -> bool:
    """Return whether an error says that the store did not carry out the request."""
    is_plain = isinstance(error, (FileNotFoundError, *_precondition()))
    return is_plain or _is_denied(error) or _REFUSED.search(str(error)) is not None


def _is_denied(error: BaseException) -> bool:
    """Return whether an error says that the store forbids the request."""
    from obstore import exceptions

    denied = exceptions.PermissionDeniedError | exceptions.UnauthenticatedError
    return isinstance(error, denied) or _FORBIDDEN.search(str(error)) is not None


def _state_of(found: Any) -> FileState:  # noqa: ANN401  obstore's
    attributes, meta = dict(found.attributes), found.meta
    attempt = attributes.pop(ATTEMPT, None)
    return FileState(
        size=int(meta["size"]),
        token=(meta["e_tag"], meta["version"]),
        etag=_etag(meta),
        attempt=attempt,
        attributes=attributes,
        changed_ns=_changed_ns(meta),
    )


def _etag(meta: Any) -> str:  # noqa: ANN401  obstore's
    """Return an ETag with quotes, which listings of Azure leave out."""
    return quoted(meta["e_tag"]) if meta["e_tag"] else ""


def _changed_ns(meta: Any) -> int:  # noqa: ANN401  obstore's
    seconds: float = meta["last_modified"].timestamp()
    return round(seconds * _MS_PER_S) * _NS_PER_MS


def _mode(replaces: FileState | None) -> Any:  # noqa: ANN401  obstore's
    if replaces is None:
        return "create"
    token: Any = replaces.token
    etag, version = token
    parts = {"e_tag": etag, "version": version}
    return {name: value for name, value in parts.items() if value is not None}


def _tries() -> Iterator[int]:
    """Yield once before each try of a request, after a pause."""
    for n in range(_TRIES):
        if n:
            time.sleep(_FIRST_PAUSE_S * 4 ** (n - 1) * random.uniform(0.5, 1.0))  # noqa: S311  no secret
        yield n


def _words(error: BaseException | None) -> str:
    """Return the message of an obstore error, in one line, without its dump and secrets."""
    return words_of(error).split(" Debug source")[0][:_MAX_WORDS]
