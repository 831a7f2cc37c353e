"""A read-only fsspec file system of HDFS: for listings, and for pyarrow's datasets.

hdfs-native has one, too. It takes paths for URLs, and would cut names at `#`, `?` and `;`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsspec import AbstractFileSystem

from parquet_bloomwriter.source.hdfs import HdfsSource, naming, open_client, open_version

if TYPE_CHECKING:
    import hdfs_native

    from parquet_bloomwriter.source.settings import HdfsConnection


class HdfsFileSystem(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """The files of a name node, as a file system of fsspec."""

    protocol = "hdfs"
    root_marker = "/"
    cachable = False
    """`open_client` keeps the connections."""

    def __init__(self, base: str, settings: HdfsConnection) -> None:
        """Use the name node at `hdfs://host:port`, or those of a name service."""
        super().__init__()
        self.base = base
        self.client = open_client(base, settings)

    @property
    def fsid(self) -> str:
        """A text that is equal for equal file systems."""
        return self.base

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        if path[:7].lower() == "hdfs://":
            path = f"/{path.partition('://')[2].partition('/')[2]}"
        return path.rstrip("/") or "/"

    def open_source(self, path: str, *, name: str) -> HdfsSource:
        """Open a file in the version that it has now, as `source.hdfs.open_version` does."""
        return open_version(self.client, path, name=name)

    def info(self, path: str, **_: Any) -> dict[str, Any]:  # noqa: ANN401  as fsspec has it
        """Return the name node's information on a file or folder."""
        with naming(self.base + path):
            return _facts(self.client.get_file_info(self._strip_protocol(path)))

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:  # noqa: ANN401, FBT001, FBT002  as fsspec has it
        """List a folder."""
        with naming(self.base + path):
            found = [_facts(one) for one in self.client.list_status(self._strip_protocol(path))]
        return found if detail else [one["name"] for one in found]

    def _open(self, path: str, mode: str = "rb", **_: Any) -> Any:  # noqa: ANN401  as fsspec has it
        if mode != "rb":
            raise NotImplementedError("files are written by parquet_bloomwriter.stores")
        return self.open_source(path, name=self.base + path).for_arrow()

    def cat_file(
        self,
        path: str,
        start: int | None = None,
        end: int | None = None,
        **_: Any,  # noqa: ANN401  as fsspec has it
    ) -> bytes:
        """Return the bytes [start, end) of a file; positions below 0 count from its end."""
        path = self._strip_protocol(path)
        source = self.open_source(path, name=self.base + path)
        first, stop, _step = slice(start, end).indices(source.size)
        return source.read_at(first, max(first, stop))


def _facts(status: hdfs_native.FileStatus) -> dict[str, Any]:
    return {
        "name": status.path,
        "size": status.length,
        "type": "directory" if status.isdir else "file",
        "mtime": status.modification_time / 1000,
    }
