"""The messages between the rules in Spark's JVM and the driver's Python: JSON objects.

    {"ask": "prune", "roots": ["/t"], "text": "(id = 5)", "condition": {...}, ..., "traced": false}
    {"indexes": [{"name": "ids", "snapshot": "3f..", "checked": true, "excluded": "Ag=="}], ...}

A request names its kind in "ask". Each kind has one class here, and one class for its answer. The
fields of a class are the fields of the JSON; bytes are Base64. The other end is `Protocol.java`.
Both ends are tested with the same examples.
"""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

Rule = Literal["PushDownBFIndexRule", "JoinBFIndexRule"]
HashMode = Literal["plain", "decimal32", "decimal64"]


# Requests.


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The fields of all requests."""

    kind: ClassVar[str]
    rule: Rule = "PushDownBFIndexRule"
    """The rule that asks."""

    roots: tuple[str, ...] = ()
    """Local paths or our URLs of the relation's root folders and files; empty if they do not
    matter."""

    text: str = ""
    """The condition, or the equality of a join, in SQL."""

    traced: bool = False
    """Whether the query is planned only to explain what the rules decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneRequest(Request):
    """Which files does a condition rule out? Answered by `PruneAnswer`."""

    kind: ClassVar[str] = "prune"
    condition: Mapping[str, Any]
    """A condition as `catalyst` reads it."""

    case_sensitive: bool
    """Whether names of columns are case-sensitive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesRequest(Request):
    """Which files does a snapshot have? Answered by `FilesAnswer`."""

    kind: ClassVar[str] = "files"
    snapshot: str
    """A snapshot that an earlier answer named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnchangedRequest(Request):
    """Which objects are on their store now as a snapshot knows them? Answered by `UnchangedAnswer`.

    Java compares local files by itself. It does not know the ETags of objects.
    """

    kind: ClassVar[str] = "unchanged"
    snapshot: str
    """A snapshot that an earlier answer named."""

    present: bytes
    """The files of the question, as bits, the lowest bit of a byte first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinRequest(Request):
    """Which indexes have a filter for the key of a join? Answered by `JoinAnswer`."""

    kind: ClassVar[str] = "join"
    rule: Rule = "JoinBFIndexRule"
    column: tuple[str, ...]
    """Names from the key's column to a leaf in it."""

    type: str
    """The key's type, by Catalyst's name."""

    case_sensitive: bool
    """Whether names of columns are case-sensitive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinFilterRequest(Request):
    """Which filter has the keys of just the files that are read? Answered by `JoinFilterAnswer`."""

    kind: ClassVar[str] = "join_filter"
    rule: Rule = "JoinBFIndexRule"
    index: str
    """Folder of the candidate, an index."""

    snapshot: str
    """Digest of the candidate's list of files."""

    indexed_column: str
    """Name of the candidate's column."""

    type: str
    """The key's type, by Catalyst's name."""

    present: bytes
    """The files of the snapshot that are read, as bits, the lowest bit of a byte first."""

    unknown: tuple[str, ...]
    """Local paths of files that are read and that the snapshot does not have, at most 1,000."""

    num_unknown: int
    """Number of all files that are read and that the snapshot does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRequest(Request):
    """What does the text of a setting mean? Answered by `SettingAnswer`."""

    kind: ClassVar[str] = "setting"
    name: str
    """Name of the setting. Its text is `text`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(Request):
    """A decision of a rule about a traced query. The answer is empty."""

    kind: ClassVar[str] = "report"
    indexes: tuple[str, ...] | None = None
    """The indexes that the decision is about; None for all indexes of the roots."""

    num_files: int = 0
    num_kept: int = 0
    num_bytes: int = 0
    bytes_kept: int = 0
    code: str | None = None
    """A value of `index.report.Code` if the indexes are not used; None if they are."""

    why: str = ""


_REQUESTS: dict[str, type[Request]] = {
    one.kind: one
    for one in (
        *(PruneRequest, FilesRequest, UnchangedRequest, JoinRequest, JoinFilterRequest),
        *(SettingRequest, Report),
    )
}


def read_request(text: str) -> Request:
    """Read a request.

    Raises:
        ValueError: If the text is no request of a known kind.
        TypeError: If a field of the request is missing or unknown.
    """
    found = json.loads(text)
    kind = found.pop("ask", None)
    if kind not in _REQUESTS:
        raise ValueError(f'there is no request "{kind}"')
    lists = {name: tuple(value) for name, value in found.items() if isinstance(value, list)}
    if "present" in found:
        found["present"] = base64.b64decode(found["present"])
    return _REQUESTS[kind](**(found | lists))


# Answers.


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunedIndex:
    """The files that one index rules out."""

    name: str
    snapshot: str
    """Digest of the index's list of files."""

    checked: bool
    """Whether files are looked at before they are left out; see `index.contract`."""

    excluded: bytes
    """The excluded files of the snapshot, as bits like `JoinFilterRequest.present`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneAnswer:
    """The indexes that rule out files."""

    indexes: tuple[PrunedIndex, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesAnswer:
    """The files of a snapshot."""

    root: str
    """The folder that relative paths start from."""

    files: str
    r"""`size modified path\0` for each file: bytes, milliseconds since 1970, path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnchangedAnswer:
    """The objects that are as the snapshot knows them, among those that were asked about."""

    unchanged: bytes = b""
    """The unchanged objects, as bits like those of the request; files without a bit count as
    changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinCandidate:
    """An index that might have a filter for a join."""

    name: str
    index: str
    """Folder of the index, because indexes with the same files share a snapshot."""

    snapshot: str
    checked: bool
    column: str
    """Name of the key's column in the index."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinAnswer:
    """The indexes that have the key's column."""

    candidates: tuple[JoinCandidate, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeFilter:
    """A filter in a local file, and how keys are looked up in it."""

    id: str
    """Digest of the filter's bytes."""

    text: str
    """A description for Spark's `explain`."""

    path: str
    offset: int
    """Position of the bitset in the file, bytes."""

    num_bytes: int
    """Size of the bitset, bytes."""

    fpp: float
    """Exact rate of the filter: the share of absent keys that pass, in [0, 1]."""

    mode: HashMode
    """The value that is hashed: the key, or its unscaled value as INT32 or INT64."""

    cutoff: int | None
    """Keys below this number are not looked up: days or microseconds since 1970; None: all are
    looked up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinFilterAnswer:
    """The filter for a join, if the index has one for just the files that are read."""

    filter: ProbeFilter | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingAnswer:
    """The meaning of a setting's text."""

    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NoAnswer:
    """The answer to a report, and to a failed request whose kind has no harmless answer."""


Answer: TypeAlias = (
    PruneAnswer
    | FilesAnswer
    | UnchangedAnswer
    | JoinAnswer
    | JoinFilterAnswer
    | SettingAnswer
    | NoAnswer
)


def write_answer(answer: Answer) -> str:
    """Write an answer."""
    return json.dumps(asdict(answer), default=_base64)


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()
