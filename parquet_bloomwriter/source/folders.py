"""The rule for which files of a folder count: one for all verbs, disks and stores.

The rule is Spark's, so that a verb finds no file less than an engine reads:

    .a   _a   a._COPYING_   hidden, files and folders alike
    _a=1                    not hidden: the folder of a partition
    _metadata*/             not hidden, nor is _common_metadata*/; files of these names are
    symbolic links          followed, to files and folders; a name counts, not what it leads to
    empty files             passed over, if their names have no Parquet ending

Of the names that are not hidden, those that end in .parquet, .parq or .pq count. Any other file
(`000000_0`, `part-00000`, `data.snappy`) counts if it begins or ends with the magic of Parquet:
PAR1, or PARE for an encrypted footer. Spark reads those, too, and fails on all others. A file
whose first or last bytes cannot be read counts, so that opening the file reports the error.

A link that leads nowhere counts by its name, too: if it has a Parquet ending, opening it reports
the error. If not, it is passed over, and what is behind it stays unknown: so no verb may say then
that no file can match.

A link to a folder on the way from the root to the link is passed over: what is behind it has been
found already. (Spark follows it until the system refuses, and reads each row 41 times.)

What is passed over is named in reports (`Leftovers`), except for files that writers are known to
put beside their data.

Source: Spark, HadoopFSUtils.shouldFilterOutPathName and PartitioningAwareFileIndex.isDataPath.
"""

# ruff: noqa: PTH116, PTH123  paths stay spelled as they were given
from __future__ import annotations

import errno
import os
import re
import stat
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from parquet_bloomwriter.errors import BloomwriterError, InvalidArgument
from parquet_bloomwriter.text import safe

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

SUFFIXES = (".parquet", ".parq", ".pq")
MAGIC_BYTES = 4
_MAGIC = frozenset({b"PAR1", b"PARE"})

_HIDDEN = ("_", ".")
_BEING_COPIED = "._COPYING_"
_OF_INDEXES = (".bfindex", ".bloom", ".bfslice")
"""Endings of index files, which may lie in a folder without an underscore (`--home`)."""

_SUMMARIES = ("_metadata", "_common_metadata")

_COMPANION = re.compile(
    r"_SUCCESS|_metadata|_common_metadata|_delta_log|_change_data|_spark_metadata|_bloom_index"
    r"|_bloomify\.toml|_symlink_format_manifest|_(started|committed|vacuum)_\w*|\..*\.crc"
    r"|\.hoodie.*|\.DS_Store|.*_\$folder\$|.*\.bfindex|_?global-[\w-]+\.bloom|_?slices-[\w-]+\.bfslice"
)
"""Names of files that writers put beside their data; EMR marks folders on S3 by the last one."""

NOWHERE = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP)
"""Errors of a symbolic link that leads nowhere, or in a circle."""

_MOST_VISITS = 1000
"""Most links to one folder that are followed. Links can multiply: 2 in each of 30 folders, 2**30.
"""

_MOST_SHOWN = 3

_THREADS = 16
"""Number of parallel requests to a store."""


class Why(StrEnum):
    """The reason why a name in a folder is passed over."""

    HIDDEN = "hidden"
    NOT_PARQUET = "not Parquet"
    EMPTY = "empty"
    NOT_REGULAR = "no regular files"
    LOOP = "links back to a folder above"
    BACKUP = "backups"
    """Counts for verbs that write in place only. Engines read backups, so other verbs do, too."""

    DEAD = "links that lead nowhere"
    """Whether the link's target exists, and which rows it has, is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedOver:
    """Names in folders that are passed over for one reason."""

    why: Why
    num_names: int
    """Number of names; a hidden folder counts as one."""

    first: tuple[str, ...]
    """Paths or URLs of the first names, at most three."""


def has_unknown(groups: Iterable[PassedOver]) -> bool:
    """Return whether anything was passed over that may have rows."""
    return any(one.why is Why.DEAD for one in groups)


class Leftovers:
    """A record of the names that a search of folders passes over. Safe in threads."""

    def __init__(self) -> None:
        """Begin an empty record."""
        self._names: dict[Why, list[str]] = {why: [] for why in Why}

    def add(self, why: Why, path: str) -> None:
        """Record a name and the reason why it is passed over."""
        self._names[why].append(path)

    def hides(self, entry: os.DirEntry[str], is_folder: bool) -> bool:  # noqa: FBT001  as `walk` calls it
        """Return whether the rule hides an entry of a folder, and record the entry if it does."""
        is_one = is_hidden_folder(entry.name) if is_folder else is_hidden(entry.name)
        if is_one and _COMPANION.fullmatch(entry.name) is None:
            self.add(Why.HIDDEN, entry.path)
        return is_one

    def groups(self) -> tuple[PassedOver, ...]:
        """Return the names passed over, grouped by reason."""
        return tuple(
            PassedOver(why=why, num_names=len(names), first=tuple(sorted(names)[:_MOST_SHOWN]))
            for why, names in self._names.items()
            if names
        )


def passed_over_text(groups: Iterable[PassedOver]) -> str:
    """Return one line that begins with "passed over"; "" if nothing was."""
    clauses = [
        f"{one.num_names:,} {one.why} ({', '.join(map(safe, one.first))}"
        f"{', ...' if one.num_names > len(one.first) else ''})"
        for one in groups
    ]
    return f"passed over: {'; '.join(clauses)}" if clauses else ""


def has_suffix(name: str) -> bool:
    """Return whether a name has an ending of Parquet files, in upper or lower case."""
    return name.lower().endswith(SUFFIXES)


def is_hidden(name: str) -> bool:
    """Return whether Spark passes over files of this name, or the name is one of an index file."""
    return name.endswith(_OF_INDEXES) or _is_hidden_to_spark(name)


def _is_hidden_to_spark(name: str) -> bool:
    underscored = name.startswith("_") and "=" not in name
    being_copied = name.endswith(_BEING_COPIED) and not name.startswith(_SUMMARIES)
    return underscored or name.startswith(".") or being_copied


def is_hidden_folder(name: str) -> bool:
    """Return whether Spark passes over folders of this name."""
    return _is_hidden_to_spark(name) and not name.startswith(_SUMMARIES)


class Found(NamedTuple):
    """A file found in a folder on disk."""

    inner: str
    """Path below the root of the search, with "/"."""

    entry: os.DirEntry[str]
    is_sure: bool
    """Whether the file counts by its name; if not, `is_parquet` decides."""


def walk(
    root: str,
    leftovers: Leftovers,
    *,
    hides: Callable[[os.DirEntry[str], bool], bool] | None = None,
) -> Iterator[Found]:
    """Yield the files below a folder on disk that count or might count, in no order.

    Args:
        root: The folder.
        leftovers: Takes what is passed over.
        hides: Which entries are hidden of those whose names are conspicuous, given an entry and
            whether it is a folder; None: the rule.

    Raises:
        InvalidArgument: If links lead to the same folder a thousand times.
        OSError: If a folder cannot be listed.
    """
    hides = hides or leftovers.hides
    guard = _LinkGuard(root)
    pending: list[tuple[str, tuple[str, ...]]] = [("", (root,))]
    while pending:
        prefix, way = pending.pop()
        with os.scandir(way[-1]) as entries:
            for entry in entries:
                name = entry.name
                is_folder = _is_folder(entry)
                if _may_hide(name) and hides(entry, is_folder):
                    continue
                if not is_folder:
                    yield Found(prefix + name, entry, name.endswith(SUFFIXES) or has_suffix(name))
                elif entry.is_symlink() and guard.is_loop(entry.path, way):
                    leftovers.add(Why.LOOP, entry.path)
                else:
                    pending.append((f"{prefix}{name}/", (*way, entry.path)))


def _may_hide(name: str) -> bool:
    return name.startswith(_HIDDEN) or name.endswith((_BEING_COPIED, *_OF_INDEXES))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # links in a circle, or what is behind a link cannot be looked at
        return False


class _LinkGuard:
    """The links to folders that one search follows."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._identities: dict[str, tuple[int, int]] = {}
        self._visits: Counter[tuple[int, int]] = Counter()

    @cached_property
    def _above(self) -> tuple[str, ...]:
        """Real paths of the folders above the root."""
        return tuple(map(str, Path(os.path.realpath(self._root)).parents))

    def is_loop(self, path: str, way: Sequence[str]) -> bool:
        """Return whether a link leads to a folder above it, up to the top of the disk.

        A link to a folder above the root would lead to all that is beside the root, and to the root
        once more.

        Raises:
            InvalidArgument: If too many links have led to its folder.
        """
        place = self._identity(path)
        self._visits[place] += 1
        if self._visits[place] > _MOST_VISITS:
            raise InvalidArgument(
                f"more than {_MOST_VISITS:,} symbolic links lead to one folder",
                path=path,
                remedy="Name the folders without links.",
            )
        return any(self._identity(folder) == place for folder in (*way, *self._above))

    def _identity(self, path: str) -> tuple[int, int]:
        if path not in self._identities:
            found = os.stat(path)
            self._identities[path] = found.st_dev, found.st_ino
        return self._identities[path]


def is_dead(found: Found) -> bool:
    """Return whether a file is a symbolic link that leads nowhere, as far as that can be seen."""
    if not found.entry.is_symlink():
        return False
    try:
        os.stat(found.entry.path)
    except OSError as error:
        return error.errno in NOWHERE
    return False


def is_parquet(path: str, leftovers: Leftovers) -> bool:
    """Return whether a file without a Parquet ending counts, by its bytes; record it if not."""
    why = why_not(path)
    if why is not None:
        leftovers.add(why, path)
    return why is None


def why_not(path: str) -> Why | None:
    """Return why a file on disk does not count, whatever its name, or None.

    Returns:
        None if it does; and if that cannot be seen, or if it has a Parquet ending and any content.
    """
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            return Why.NOT_REGULAR
        if not found.st_size:
            return Why.EMPTY
        if has_suffix(path):
            return None
        with open(path, "rb", buffering=0) as file:
            return why_not_by_magic(found.st_size, partial(_read, file))
    except OSError as error:
        return Why.DEAD if error.errno in NOWHERE else None


def _read(file: Any, start: int, stop: int) -> bytes:  # noqa: ANN401  a raw file
    file.seek(start)
    return bytes(file.read(stop - start))


def is_backup(path: str, others: Container[str]) -> bool:
    """Return whether a file is a backup of another one, as far as its name shows.

    Args:
        path: `NAME` and a suffix, but no Parquet ending: that makes it a file of its own. If `NAME`
            has no Parquet ending either, the suffix begins with a dot: Hive writes `000000_0` and
            `000000_0_copy_1`, and both are data.
        others: The paths among which `NAME` is looked for.
    """
    first = path.rfind(os.sep) + 2
    return not has_suffix(path) and any(
        (path[end] == "." or has_suffix(path[:end])) and path[:end] in others
        for end in range(first, len(path))
    )


def why_not_by_magic(size: int, read: Callable[[int, int], bytes]) -> Why | None:
    """Return why a file without a Parquet ending does not count, by its bytes, or None.

    The last bytes are read first: of a Parquet file, that is all.

    Args:
        size: Of the file, bytes.
        read: Returns the bytes [start, stop).
    """
    if not size:
        return Why.EMPTY
    if size < MAGIC_BYTES:
        return Why.NOT_PARQUET
    is_there = read(size - MAGIC_BYTES, size) in _MAGIC or read(0, MAGIC_BYTES) in _MAGIC
    return None if is_there else Why.NOT_PARQUET


T = TypeVar("T")


class Candidates(NamedTuple, Generic[T]):
    """The files that a store has listed, without the hidden ones."""

    sure: list[T]
    """Files that count by their names."""

    doubtful: list[T]
    """Files whose first or last bytes decide."""


def sort_out(
    listed: Iterable[T],
    *,
    inner: Callable[[T], str],
    spell: Callable[[T], str],
    leftovers: Leftovers,
) -> Candidates[T]:
    """Divide files that a store has listed into those that count by name and doubtful ones.

    Args:
        listed: The files.
        inner: Returns the path of a file below the folder, with "/".
        spell: Returns its path or URL, for people.
        leftovers: Takes what is passed over.
    """
    sure, doubtful, hidden = [], [], set()
    hiding: dict[str, str | None] = {}
    for one in listed:
        path = inner(one)
        folder, _, name = path.rpartition("/")
        if folder not in hiding:
            hiding[folder] = _hidden_folder(folder)
        top = hiding[folder]
        if top is None and is_hidden(name):
            top = path
        if top is not None:
            if top not in hidden and _COMPANION.fullmatch(top.rpartition("/")[2]) is None:
                leftovers.add(Why.HIDDEN, spell(one).removesuffix(path) + top)
            hidden.add(top)
        elif has_suffix(name):
            sure.append(one)
        elif name and _COMPANION.fullmatch(name) is None:  # without a name, it marks a folder
            doubtful.append(one)
    return Candidates(sure, doubtful)


def _hidden_folder(path: str) -> str | None:
    """Return the path up to its first hidden folder, or None."""
    names = path.split("/")
    hidden = (at for at, name in enumerate(names) if is_hidden_folder(name))
    return next(("/".join(names[: at + 1]) for at in hidden), None)


def by_magic(
    doubtful: Sequence[T],
    *,
    why_not: Callable[[T], Why | None],
    spell: Callable[[T], str],
    leftovers: Leftovers,
) -> list[T]:
    """Return the files on a store that begin or end with the magic of Parquet, in their order.

    Each file costs a request of four bytes, or two if it is no Parquet file.

    Args:
        doubtful: The files.
        why_not: Returns what `why_not_by_magic` says of a file; its errors are passed over.
        spell: Returns its path or URL, for people.
        leftovers: Takes what is passed over.
    """

    def reason(one: T) -> Why | None:
        try:
            return why_not(one)
        except (OSError, BloomwriterError):  # opening it says why
            return None

    if not doubtful:
        return []
    with ThreadPoolExecutor(min(_THREADS, len(doubtful))) as pool:
        reasons = list(pool.map(reason, doubtful))
    for one, why in zip(doubtful, reasons, strict=True):
        if why is not None:
            leftovers.add(why, spell(one))
    return [one for one, why in zip(doubtful, reasons, strict=True) if why is None]
