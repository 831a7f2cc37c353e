"""The files of an Iceberg table: pyiceberg's file systems, and its settings for our own stores.

pyiceberg's FileIO takes settings from its configuration, and from the catalog, which may send keys
for one table alone. In our own stores, these settings apply to the buckets of the table's files, in
the whole process (`source.settings`), until another table with files in the same bucket is opened.
The settings of other buckets do not change.

Source: pyiceberg's documentation, "Configuration" ("FileIO", "S3").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.source.filesystems import locate
from parquet_bloomwriter.source.settings import BucketSettings, use_for_buckets
from parquet_bloomwriter.stores.s3.urls import is_s3, parse_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyiceberg.io import FileIO

    from parquet_bloomwriter.iceberg.snapshot import IcebergSnapshot

_TRUE = ("true", "1", "yes", "on")


def place_of(path: str, io: FileIO) -> tuple[str, Any]:
    """Return a file's path and the file system through which pyiceberg reads the file.

    Returns:
        The path as the file system spells it; and a file system of pyarrow or fsspec, None for the
        local one.
    """
    from pyarrow.fs import LocalFileSystem
    from pyiceberg.io.pyarrow import PyArrowFileIO

    if isinstance(io, PyArrowFileIO):
        scheme, netloc, inner = io.parse_location(path, io.properties)
        filesystem = io.fs_by_scheme(scheme, netloc)
        return inner, None if isinstance(filesystem, LocalFileSystem) else filesystem
    found: Any = getattr(io.new_input(path), "_fs", None)  # fsspec's
    if found is None:
        place = locate(path)
        return place.path, place.filesystem
    is_local = "file" in ((found.protocol,) if isinstance(found.protocol, str) else found.protocol)
    return found._strip_protocol(path), None if is_local else found  # noqa: SLF001  no other


def use_settings_of(snapshot: IcebergSnapshot) -> None:
    """Apply the settings of a table to its buckets in this process, from now on."""
    use_settings(snapshot.table.io.properties, (snapshot.table.location(), *snapshot.files))


def use_settings(properties: Mapping[str, str], paths: Iterable[str]) -> None:
    """Apply the settings of a FileIO to the buckets of some paths, from now on."""
    found = {parse_url(path).bucket for path in paths if is_s3(path)}
    if not found:
        return
    try:
        own: BucketSettings | InvalidArgument | None = bucket_settings(properties)
    except InvalidArgument as error:
        own = error
    use_for_buckets(dict.fromkeys(found, own))


def bucket_settings(properties: Mapping[str, str]) -> BucketSettings | None:
    """Return the S3 settings among properties of a FileIO; None: boto3 finds the settings.

    Raises:
        InvalidArgument: If the catalog signs requests, and gives no keys.
    """

    def of(name: str) -> str | None:
        return properties.get(f"s3.{name}") or properties.get(f"client.{name}") or None

    endpoint, region = properties.get("s3.endpoint"), of("region")
    access, secret = of("access-key-id"), of("secret-access-key")
    is_anonymous = _is_true(properties.get("s3.anonymous"))
    if access is None and _is_true(properties.get("s3.remote-signing-enabled")):
        raise InvalidArgument(
            "the catalog signs requests to the store itself, which is not supported",
            remedy="Let it send keys instead: set the catalog's property "
            "header.X-Iceberg-Access-Delegation to vended-credentials.",
        )
    if not any((endpoint, region, access, is_anonymous)):
        return None
    by_host = _is_true(properties.get("s3.force-virtual-addressing"))
    return BucketSettings(
        endpoint=endpoint,
        region=region,
        access_key=access,
        secret_key=secret,
        session_token=of("session-token"),
        path_style=endpoint is not None and not by_host,
        is_anonymous=is_anonymous,
    )


def _is_true(text: str | None) -> bool:
    return text is not None and text.strip().lower() in _TRUE
