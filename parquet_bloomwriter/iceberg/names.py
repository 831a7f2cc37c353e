"""Names of Iceberg tables: iceberg://CATALOG/NAMESPACE.TABLE.

    iceberg://prod/sales.orders        table orders in namespace sales, of the catalog prod
    iceberg://prod/eu.sales.orders     namespaces may have several levels
    iceberg://prod/sales.q1%2E2026     a dot, slash or percent sign inside a level is escaped

The catalog is one that pyiceberg's configuration names. The tables' names are those of catalogs,
which may differ in case.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.text import safe

SCHEME = "iceberg://"
_ESCAPED = re.compile(r"[%/.?#\x00-\x1f]")


class TableName(NamedTuple):
    """The name of an Iceberg table; `str` returns the URL."""

    catalog: str
    """Name of the catalog in pyiceberg's configuration."""

    identifier: tuple[str, ...]
    """The levels of the namespace, then the table's own name, without escapes."""

    def __str__(self) -> str:
        catalog = _escaped(self.catalog).replace("%2E", ".")
        return f"{SCHEME}{catalog}/{'.'.join(map(_escaped, self.identifier))}"


def is_iceberg(given: object) -> bool:
    """Return whether an argument is the name of an Iceberg table, and not a path."""
    return isinstance(given, str) and given[: len(SCHEME)].lower() == SCHEME


def parse_name(given: str) -> TableName:
    """Split the name of a table.

    Raises:
        InvalidArgument: If a part of it is missing.
    """
    if not is_iceberg(given):
        raise InvalidArgument(
            f'"{safe(str(given))}" is no name of an Iceberg table', remedy=_REMEDY
        )
    catalog, _, rest = given[len(SCHEME) :].partition("/")
    if "@" in catalog:
        raise InvalidArgument(
            "the name of the table has a user or a password in it",
            remedy="Put it into pyiceberg's configuration.",
        )
    levels = tuple(map(unquote, rest.removesuffix("/").split(".")))
    if not catalog or not all(levels) or "/" in rest.removesuffix("/"):
        raise InvalidArgument("this is no name of a table", path=given, remedy=_REMEDY)
    if len(levels) == 1:
        raise InvalidArgument("the name has no namespace", path=given, remedy=_REMEDY)
    return TableName(unquote(catalog), levels)


_REMEDY = f"Write {SCHEME}CATALOG/NAMESPACE.TABLE; pyiceberg's configuration names the catalogs."


def _escaped(part: str) -> str:
    return _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", part)
