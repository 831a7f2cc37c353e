"""The file `_bloomify.toml`: a plain folder asks for filters by it, as tables do by properties.

    columns = ["id", "*_key"]      names, groups and patterns, as for `--columns`; "*" for all
    exclude = ["raw_key"]          names, groups and patterns that get no filters
    fpp = ["1%", "id=0.1%"]        false positive probabilities, as for `--fpp`; one needs no list
    max-bytes = "1MiB"             largest bitset
    sizing = "pow2"                or "exact"
    placement = "end"              or "column-chunk", "row-group"
    skip-missing = true            files without a column are no failure

The file lies in the very folder that a caller names: folders above it and below it are not looked
at. Readers of Parquet pass over its name, as it begins with `_`.

A stranger may have written it. So it decides on filters only: no key names a path or an output, and
none permits what the command line must permit. It is no link, and is short. What it asks for is
bounded as without it: a filter has at most `MAX_BYTES`, and a rate is not so small that filters of
few values would be large.

Source: TOML 1.0.0.
"""

# ruff: noqa: PTH100, PTH112, PTH118  paths stay spelled as they were given
from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass
from functools import partial
from glob import has_magic
from typing import TYPE_CHECKING, TypedDict, cast, get_args
from uuid import uuid4

from parquet_bloomwriter.arguments import parse_size
from parquet_bloomwriter.column_names import EVERY_COLUMN, matching_names
from parquet_bloomwriter.durable import new_file
from parquet_bloomwriter.errors import (
    InvalidArgument,
    NotParquet,
    Proposal,
    StoreProblem,
    UnsafeTarget,
    Way,
)
from parquet_bloomwriter.rewrite.plan import Placement
from parquet_bloomwriter.sbbf.sizing import MAX_BYTES, Sizing
from parquet_bloomwriter.source.filesystems import is_far
from parquet_bloomwriter.source.folders import has_suffix
from parquet_bloomwriter.source.local import open_local
from parquet_bloomwriter.table_files.properties import rates_by_name, words_in
from parquet_bloomwriter.text import listed_names, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any

    from parquet_bloomwriter.arguments import StrPath
    from parquet_bloomwriter.source.base import Source

FILE = "_bloomify.toml"

_MOST_BYTES = 64 * 1024
"""Largest file that is read."""

_LEAST_RATE = 1e-6
"""Smallest rate that a file may ask for: 10 bytes for each value. At 1e-20, a filter of ten values
would have 128 MiB."""

_DEFAULT_RATE = 0.01
_ON_A_LINE = 5
"""Most names that are written on one line."""

_HEAD = (
    "# Which columns of the Parquet files in this folder get Bloom filters; `bloomify` reads it.\n"
)


class FolderOptions(TypedDict, total=False):
    """The arguments of `bloomify` that a folder's file can give; a missing key is not given."""

    columns: Sequence[str] | None
    """None for all columns."""

    exclude: Sequence[str]
    fpp: Mapping[str, float]
    max_bytes: int
    sizing: Sizing
    placement: Placement
    skip_missing: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderFile:
    """A file `_bloomify.toml`, and what it asks for."""

    path: str
    """Path or URL of the file."""

    options: FolderOptions

    def combined(self, given: FolderOptions) -> FolderOptions:
        """Return the options that count: those that a caller gives, before those of the file.

        The caller's `columns` say alone which columns are meant, so the file's `exclude` does not
        count then; without them, both `exclude` count. Rates of single columns in the file count
        for columns that are meant still.
        """
        own = self.options
        found: FolderOptions = {**own, **given}
        exclude = given.get("exclude", ())
        if "columns" not in given:
            found["exclude"] = (*own.get("exclude", ()), *exclude)
        elif not exclude:
            found.pop("exclude", None)
        if "fpp" in own and "fpp" not in given:
            columns = given.get("columns")
            found["fpp"] = {
                name: rate
                for name, rate in own["fpp"].items()
                if (columns is None or _is_meant(name, columns)) and not _covers(exclude, name)
            }
        return found


def _is_meant(name: str, columns: Collection[str]) -> bool:
    """Return whether a name that has a rate is, or matches, a name among columns."""
    return name == EVERY_COLUMN or _covers(columns, name) or bool(matching_names(columns, name))


def _covers(words: Collection[str], name: str) -> bool:
    """Return whether one of the words is a name, a group that it is in, or a pattern of it."""
    return any(
        name == word or name.startswith(f"{word}.") or matching_names((name,), word)
        for word in words
    )


def folder_options(folder: StrPath) -> FolderOptions:
    """Read from a folder's file `_bloomify.toml` which filters its Parquet files should have.

        options = folder_options("lake/")
        for outcome in for_each_file("lake/", lambda path: bloomify(path, **options)):
            print(outcome)

    Args:
        folder: Path or URL of the folder. Folders above and below have no say.

    Returns:
        Keyword arguments of `bloomify`: `columns`, and what else the file has.

    Raises:
        InvalidArgument: If there is no such file, or it names no columns, has a key or a value that
            it must not have, is a link, or is too long.
        StoreProblem, OSError: If the file cannot be read.
    """
    file = find_folder_file(folder)
    if file is None or "columns" not in file.options:
        raise InvalidArgument(
            f"the folder has no file {FILE}" if file is None else f"its {FILE} names no columns",
            path=os.fspath(folder),
            remedy="Type: bloomify advise FOLDER --write. Or write it by hand.",
        )
    return file.options


def find_folder_file(folder: StrPath) -> FolderFile | None:
    """Read the file by which a folder asks for filters; return None if it is not there.

    On a store, that costs a request; a file that the store forbids to read counts as missing.

    Args:
        folder: Path or URL; files, and patterns, have no such file.

    Raises:
        InvalidArgument: If the file has a key or a value that it must not have, is a link or too
            long.
        StoreProblem, OSError: If the file cannot be read.
    """
    given = os.fsdecode(folder)
    if not is_folder(given):
        return None
    path, data = _read_object(given) if is_far(given) else _read_local(given)
    return None if data is None else FolderFile(path=path, options=_parsed(data, path))


def is_folder(given: str) -> bool:
    """Return whether this is the path of a folder, or a URL that can be a folder's."""
    if is_far(given):
        return not (has_magic(given) or has_suffix(given) or "::" in given)
    return os.path.isdir(given)


def _read_local(folder: str) -> tuple[str, bytes | None]:
    path = os.path.join(folder, FILE)
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return path, None
    if not stat.S_ISREG(mode):
        what = "a link, which is not followed" if stat.S_ISLNK(mode) else "no regular file"
        raise InvalidArgument(f"this is {what}", path=path, remedy="Put a file in its place.")
    with open_local(path) as source:
        return path, _whole(source, path)


def _read_object(folder: str) -> tuple[str, bytes | None]:
    from parquet_bloomwriter.stores.base import is_forbidden
    from parquet_bloomwriter.stores.open import open_any

    store, key = open_any(f"{folder.rstrip('/')}/{FILE}")
    path = store.spell(key)
    try:
        with store.opened(key) as source:
            return path, _whole(source, path)
    except (FileNotFoundError, PermissionError):
        return path, None
    except NotParquet:  # as stores call it if an object is empty
        return path, b""
    except StoreProblem as error:
        if is_forbidden(error):
            return path, None
        raise


def _whole(source: Source, path: str) -> bytes:
    if source.size > _MOST_BYTES:
        raise InvalidArgument(
            f"this file has {source.size:,} bytes, and may have {_MOST_BYTES:,}",
            path=path,
            remedy="Name groups of columns by patterns.",
        )
    return source.read_at(0, source.size)


def _parsed(data: bytes, path: str) -> FolderOptions:
    """Return the options in the text of a file.

    Raises:
        InvalidArgument: If it is no TOML, or has a key or a value that it must not have.
    """
    import tomllib

    try:
        document = tomllib.loads(data.decode("utf-8-sig"))
    except RecursionError:
        raise InvalidArgument("this is no TOML: it nests too deeply", path=path) from None
    except ValueError as error:  # also of UTF-8, and of numbers with thousands of digits
        raise InvalidArgument(f"this is no TOML: {error}", path=path) from None
    found: dict[str, object] = {}
    for key, value in document.items():
        if key not in _KEYS:
            near = nearest(key, _KEYS)
            meant = f"Did you mean {near}? " if near else ""
            raise InvalidArgument(
                f'there is no key "{key}"',
                path=path,
                remedy=f"{meant}The keys are: {', '.join(_KEYS)}.",
            )
        parse, example = _KEYS[key]
        try:
            found[key.replace("-", "_")] = parse(value)
        except ValueError as error:
            raise InvalidArgument(
                f"{key} has {error}", path=path, remedy=f"Write it as in: {example}"
            ) from None
    return cast("FolderOptions", found)


def _words(value: object) -> list[str]:
    """Return a list of names as it is; of a text, its parts between commas.

    Raises:
        ValueError: If the value is neither, or has no names.
    """
    words = words_in(value) if isinstance(value, str) else value
    if not (isinstance(words, list) and words and all(isinstance(w, str) and w for w in words)):
        raise ValueError(f"no list of names: {value!r:.80}")
    return words


def _columns(value: object) -> list[str] | None:
    words = _words(value)
    return None if EVERY_COLUMN in words else words


def _rates(value: object) -> dict[str, float]:
    words = words_in(value) if isinstance(value, str) else value
    several = [str(one) for one in (words if isinstance(words, list) else [words])]
    rates = rates_by_name(several)
    if not rates:
        raise ValueError("no rate")
    if len(rates) < len(several):
        raise ValueError("two rates for the same columns")
    if min(rates.values()) < _LEAST_RATE:
        raise ValueError(f"a rate below {_LEAST_RATE:f}, which only --fpp can ask for")
    return rates


def _size(value: object) -> int:
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise ValueError(f"no size: {value!r:.80}")  # noqa: TRY004  as for all values
    try:
        size = parse_size(str(value))
    except ValueError as error:
        raise ValueError(f"no size: {error}") from None
    if size > MAX_BYTES:
        raise ValueError(f"more than {MAX_BYTES:,} bytes, which only --max-bytes can permit")
    return size


def _word(allowed: Sequence[str], value: object) -> str:
    if value not in allowed:
        raise ValueError(f"none of {', '.join(allowed)}: {value!r:.80}")
    return str(value)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"neither true nor false: {value!r:.80}")  # noqa: TRY004  as for all values
    return value


_KEYS: Mapping[str, tuple[Callable[[Any], object], str]] = {
    "columns": (_columns, 'columns = ["id", "*_key"], or columns = "*" for all'),
    "exclude": (_words, 'exclude = ["raw_key"]'),
    "fpp": (_rates, 'fpp = 0.01, or fpp = ["1%", "id=0.1%"]'),
    "max-bytes": (_size, 'max-bytes = "1MiB"'),
    "sizing": (partial(_word, get_args(Sizing)), 'sizing = "pow2"'),
    "placement": (partial(_word, get_args(Placement)), 'placement = "end"'),
    "skip-missing": (_flag, "skip-missing = true"),
}
"""For each key, the function that checks its value, and an example."""


def write_folder_file(
    folder: str,
    columns: Sequence[str],
    *,
    fpp: float,
    skip_missing: bool = False,
    overwrite: bool = False,
) -> str | None:
    """Write the file by which a folder asks for filters on columns; other keys in it stay.

    Args:
        folder: Path or URL of the folder.
        columns: Names or patterns.
        fpp: False positive probability of all of them.
        skip_missing: Whether some files lack some of them, which is then no failure.
        overwrite: Whether other columns or rates in an existing file are replaced.

    Returns:
        Path or URL of the file; None if the file asks for them already.

    Raises:
        UnsafeTarget: If the file asks for other columns or rates, and must not be overwritten.
        InvalidArgument: If the file is not as `find_folder_file` takes it, or a name is no Unicode.
        FileChanged, OutcomeUnknown, StoreProblem, OSError: If the file cannot be written.
    """
    old = find_folder_file(folder)
    options: FolderOptions = {} if old is None else {**old.options}
    if old is not None:
        difference = _difference(old.options, columns, fpp)
        if not difference:
            return None
        if not overwrite:
            permit = Proposal(Way.OVERWRITE, "permit overwriting (overwrite=True)")
            raise UnsafeTarget(
                f"it asks for other filters than the advice, which {difference}",
                path=old.path,
                remedy=("Change it by hand, or ", permit, "."),
            )
    options |= {"columns": columns, "fpp": {EVERY_COLUMN: fpp}}
    if skip_missing:
        options.setdefault("skip_missing", True)
    try:
        data = _text(options).encode()
    except UnicodeEncodeError:
        raise InvalidArgument("the name of a column is no Unicode", path=folder) from None
    if is_far(folder):
        return _put(folder, data, replaces=old is not None)
    name = os.path.join(folder, FILE)
    with new_file(os.path.abspath(name), name=name, overwrite=old is not None) as stream:
        stream.write(data)
    return name


def _difference(old: FolderOptions, columns: Sequence[str], fpp: float) -> str:
    """Return what another file would have instead, as a clause; "" if it is the same."""
    before, now = old.get("columns", ()), set(columns)
    rates = old.get("fpp", {EVERY_COLUMN: _DEFAULT_RATE})
    more = sorted(now - set(before or ()))
    less = [EVERY_COLUMN] if before is None else sorted(set(before) - now)
    clauses = [
        f"adds {listed_names(more)}" if more else "",
        f"leaves out {listed_names(less)}" if less else "",
        f"has fpp = {fpp:g}" if rates != {EVERY_COLUMN: fpp} else "",
    ]
    return ", ".join(filter(None, clauses))


def _put(folder: str, data: bytes, *, replaces: bool) -> str:
    """Write the file of a folder on a store; return its URL."""
    from parquet_bloomwriter.stores.base import FileState, LocalFile, WholeStore
    from parquet_bloomwriter.stores.open import open_any
    from parquet_bloomwriter.stores.s3.store import S3Store

    store, key = open_any(f"{folder.rstrip('/')}/{FILE}")
    attempt, state = uuid4().hex, store.state(key) if replaces else None
    if state is None:
        store.create(key, data, attempt=attempt, content_type="application/toml")
    elif isinstance(store, S3Store):
        store.put(key, data, attempt=attempt, replaces=state.etag)
    elif isinstance(store, WholeStore) and isinstance(state, FileState):
        file = LocalFile(len(data))
        file.append(data)
        store.publish(key, file, replaces=state, like=state)
    return store.spell(key)


def _text(options: FolderOptions) -> str:
    """Return the text of a file that asks for filters by these options."""
    values: dict[str, object] = {key.replace("_", "-"): one for key, one in options.items()}
    if values["columns"] is None:
        values["columns"] = EVERY_COLUMN
    rates = options["fpp"]
    values["fpp"] = rates[EVERY_COLUMN]
    lines = [f"{key} = {_literal(values[key])}\n" for key in _KEYS if key in values]
    return _HEAD + "".join(lines)


def _literal(value: object) -> str:
    """Return a value as TOML spells it: as JSON does, but for one control character."""
    indent = 4 if isinstance(value, list | tuple) and len(value) > _ON_A_LINE else None
    return json.dumps(value, ensure_ascii=False, indent=indent).replace("\x7f", "\\u007f")
