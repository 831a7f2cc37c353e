"""Load a table from its catalog by name, with pyiceberg."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.errors import BloomwriterError, InvalidArgument, TableProblem
from parquet_bloomwriter.text import clipped, safe, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

    from parquet_bloomwriter.iceberg.names import TableName

SERIES = "0.12"
"""The minor version of pyiceberg whose private functions this package uses."""


def load_table(name: TableName) -> Table:
    """Load a table as its catalog has it now.

    Raises:
        InvalidArgument: If pyiceberg is missing or of another version; or if its configuration has
            no such catalog, or the catalog no such table.
        TableProblem: If the catalog does not answer, or the table's metadata cannot be read.
    """
    catalog = open_catalog(name.catalog)
    from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

    with metadata_errors(str(name)):
        try:
            return catalog.load_table(name.identifier)
        except (NoSuchTableError, NoSuchNamespaceError) as error:
            raise InvalidArgument(
                "the catalog has no table of this name",
                path=str(name),
                remedy=f"List its tables: pyiceberg --catalog {safe(name.catalog)} list.",
            ) from error


def open_catalog(name: str) -> Catalog:
    """Open a catalog by its name in pyiceberg's configuration, read anew each time.

    Raises:
        InvalidArgument: If pyiceberg is missing or of another version; or if its configuration has
            no such catalog, or not all that the catalog needs.
        TableProblem: If the catalog does not answer.
    """
    check_version()
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import NotInstalledError
    from pyiceberg.utils.config import Config

    with metadata_errors(f"catalog {safe(name)}"):
        try:
            config = Config()
            settings: dict[str, Any] | None = config.get_catalog_config(name)
        except ValueError as error:
            raise InvalidArgument(
                f"pyiceberg's configuration cannot be read: {one_line(error)}"
            ) from error
        if settings is None:
            known = ", ".join(config.get_known_catalogs()) or "none"
            raise InvalidArgument(
                f'pyiceberg\'s configuration has no catalog "{safe(name)}"; found: {known}',
                remedy="Name it in ~/.pyiceberg.yaml, or set "
                f"PYICEBERG_CATALOG__{safe(name).upper()}__URI.",
            )
        try:
            return load_catalog(name, **settings)
        except (NotInstalledError, ImportError, ValueError) as error:
            raise InvalidArgument(
                f'pyiceberg cannot open the catalog "{safe(name)}": {one_line(error)}'
            ) from error


def check_version() -> None:
    """Check that pyiceberg is installed, in a supported version.

    Raises:
        InvalidArgument: If not.
    """
    try:
        import pyiceberg

        # pyiceberg imports in circles: threads that first import several of its modules at
        # the same time, would get modules that are not complete. This one imports them all.
        import pyiceberg.table
    except ImportError as error:
        raise InvalidArgument(
            "Iceberg tables are read with pyiceberg, which is not installed",
            remedy=f"Install it: pip install 'pyiceberg=={SERIES}.*'.",
        ) from error
    if not f"{pyiceberg.__version__}.".startswith(f"{SERIES}."):
        raise InvalidArgument(
            f"pyiceberg {pyiceberg.__version__} is installed, but only {SERIES} is known to work",
            remedy=f"Install it: pip install 'pyiceberg=={SERIES}.*'.",
        )


@contextmanager
def metadata_errors(name: str) -> Iterator[None]:
    """Raise a `TableProblem` in place of every error of pyiceberg and of its libraries.

    Catalogs raise errors of HTTP, of databases and of validation, which have no base of their own.

    Args:
        name: Name of the table, for messages.

    Raises:
        TableProblem: If the block raises an error that is not this library's.
    """
    try:
        yield
    except (BloomwriterError, MemoryError):
        raise
    except Exception as error:
        raise TableProblem(
            f"pyiceberg cannot read or change the table: {one_line(error)}", path=name
        ) from error


def one_line(error: BaseException) -> str:
    """Return an error's text in one line, without the secrets of URLs."""
    return clipped(safe(f"{type(error).__name__}: {words_of(error)}"))
