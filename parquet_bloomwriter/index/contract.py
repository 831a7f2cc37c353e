"""The contract of an index: what lookups may take for granted about the files of its table.

Files that an index excludes are not opened, so a change of them would go unnoticed. The contract
says how that is ruled out:

    checked     Each file is looked up before it is excluded: it must have the size and the
                time of modification that it was indexed with; an object, the size and the ETag.
                Where Spark lists the files, its listing must show size and time as well. The
                listing alone is not enough, because Spark keeps listings of tables that changed
                since.
    immutable   No file that the index knows is ever replaced or removed. Nothing is looked at, and
                lookups without Spark list nothing: they take the files that the index knows for
                the whole table.

An immutable index that was made before the present rule for data files (`source.folders`) may lack
some files of its folder, such as `000000_0`. Lookups by such an index list the folder, until a
refresh has listed it (`LISTING`).

The contract is chosen when an index is created, and written in its log. An index without a contract
is checked.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

Contract = Literal["checked", "immutable"]
CONTRACTS: tuple[Contract, ...] = get_args(Contract)

OPTION = "contract"
"""Name of the option of a log entry that holds the contract."""

LISTING = {"listing": "spark"}
"""Name of the option of a log entry whose files were listed by the present rule."""

COMPLETE = {"has_all_files": "yes"}
"""Name of the option of a log entry whose version knows all files of its table's state."""

_COLUMNS = "table_columns"
"""Name of the option of a log entry that lists all columns of its files, indexed or not."""

_MOST_COLUMNS = 1_000
"""Maximum number of column names that are recorded: every log entry would repeat them."""


def knows_all_files(options: Mapping[str, str]) -> bool:
    """Return whether lookups need not list the folder, because the index has all of its files."""
    return contract_of(options) == "immutable" and LISTING.items() <= options.items()


def contract_of(options: Mapping[str, str]) -> Contract:
    """Return the contract that the options of an entry name; if it is unknown, "checked"."""
    return "immutable" if options.get(OPTION) == "immutable" else "checked"


def with_completeness(options: Mapping[str, str], *, is_complete: bool) -> dict[str, str]:
    """Return options of a log entry with a mark whether its version knows all files of the table.

    A file that could not be read is left out of a version, and lookups must keep it.
    """
    others = {name: text for name, text in options.items() if name not in COMPLETE}
    return others | COMPLETE if is_complete else others


def is_complete(options: Mapping[str, str]) -> bool:
    """Return whether a version certainly knows all files of the table's state it was built from."""
    return COMPLETE.items() <= options.items()


def with_names(options: Mapping[str, str], names: Collection[str], *, adds: bool) -> dict[str, str]:
    """Return options of a log entry that record the names of columns.

    Args:
        options: Options of the log entry.
        names: Dotted names of all columns in the files that the version adds.
        adds: Whether it also knows files of the version before, whose names the options have.
    """
    before = recorded_names(options)
    found = {name: text for name, text in options.items() if name != _COLUMNS}
    if adds and before is None:
        return found
    both = {*names, *(before or () if adds else ())}
    return found | {_COLUMNS: json.dumps(sorted(both))} if len(both) <= _MOST_COLUMNS else found


def recorded_names(options: Mapping[str, str]) -> list[str] | None:
    """Return the names of all columns in the files that an index knows; None if not recorded.

    Args:
        options: Options of the index's log entry.
    """
    try:
        found = json.loads(options.get(_COLUMNS, ""))
    except ValueError:
        return None
    is_list = isinstance(found, list) and all(isinstance(one, str) for one in found)
    return found if is_list else None
