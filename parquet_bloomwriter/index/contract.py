"""The contract of an index: what lookups may take for granted about the files of its table.

Files that an index excludes are not opened, so a change of them would go unnoticed. The contract
says how that is ruled out:

    checked     Each file that is about to be excluded is looked at: it must have the size and the
                time of modification that it was indexed with; an object, the size and the ETag.
                Where Spark lists the files, its listing must show size and time as well. The
                listing alone is not enough, because Spark keeps listings of tables that changed
                since.
    immutable   No file that the index knows is ever replaced or removed. Nothing is looked at, and
                lookups without Spark list nothing: they take the files that the index knows for
                the whole table.

The contract is chosen when an index is created, and written in its log. An index without a contract
is checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Mapping

Contract = Literal["checked", "immutable"]
CONTRACTS: tuple[Contract, ...] = get_args(Contract)

OPTION = "contract"
"""Name of the contract among the options of an entry."""


def contract_of(options: Mapping[str, str]) -> Contract:
    """Return the contract that the options of an entry name; if it is unknown, "checked"."""
    return "immutable" if options.get(OPTION) == "immutable" else "checked"
