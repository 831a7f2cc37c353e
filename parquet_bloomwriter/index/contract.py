"""What an index may take for granted about the files of its table.

Files that an index excludes are not opened, so nothing would show that they changed. Who creates an
index says, once, how that is ruled out:

    checked     Each file that is about to be excluded is looked at: it must have the size and the
                time of modification that it was indexed with. Where Spark lists the files, its
                listing must show these as well; by itself it is not enough, because Spark keeps
                listings of tables that changed since.
    immutable   No file that the index knows is ever replaced or removed. Nothing is looked at, and
                lookups without Spark list nothing: the table is what the index knows.

The contract is written in the index's log. An index without one is checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Mapping

Contract = Literal["checked", "immutable"]
CONTRACTS: tuple[Contract, ...] = get_args(Contract)

OPTION = "contract"
"""Its name among the options of an entry."""


def contract_of(options: Mapping[str, str]) -> Contract:
    """Return the contract that the options of an entry name; one that is not known is checked."""
    return "immutable" if options.get(OPTION) == "immutable" else "checked"
