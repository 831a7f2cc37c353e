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

An immutable index of before the present rule for which files count (`source.folders`) may lack some
files of its folder, such as `000000_0`. Lookups by such an index list the folder, until a refresh
has listed it (`LISTING`).

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

LISTING = {"listing": "spark"}
"""The option of an entry whose files were listed by the present rule."""


def knows_all_files(options: Mapping[str, str]) -> bool:
    """Return whether an index of a plain folder knows its files so that none need be listed."""
    return contract_of(options) == "immutable" and LISTING.items() <= options.items()


def contract_of(options: Mapping[str, str]) -> Contract:
    """Return the contract that the options of an entry name; if it is unknown, "checked"."""
    return "immutable" if options.get(OPTION) == "immutable" else "checked"
