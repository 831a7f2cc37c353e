"""The file `_bloomify.toml` of a folder on stores that are not S3; `tests/cli` has S3."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter import folder_options
from parquet_bloomwriter.errors import FileChanged, InvalidArgument
from parquet_bloomwriter.verbs.folder_file import find_folder_file, write_folder_file

if TYPE_CHECKING:
    from tests.stores.whole.cloud import Cloud
    from tests.stores.whole.sftp_server import Sshd

pytestmark = pytest.mark.usefixtures("homes")


def test_google_cloud_storage(cloud: Cloud) -> None:
    lake = "gs://bucket/lake"
    assert write_folder_file(lake, ["id"], fpp=0.1) == f"{lake}/_bloomify.toml"
    assert write_folder_file(lake, ["email"], fpp=0.1, overwrite=True) is not None
    assert folder_options(lake) == {"columns": ["email"], "fpp": {"*": 0.1}}
    cloud.fault = lambda _number, method, _path: "403" if method == "GET" else ""
    assert find_folder_file(lake) is None  # whoever may not read it names columns
    [path] = cloud.objects
    of_other = b"columns = 'other'"

    def intrude(_number: int, method: str, _path: str) -> str:
        if method == "PUT":
            cloud.put(path, of_other)
        return ""

    cloud.fault = intrude
    with pytest.raises(FileChanged):
        write_folder_file(lake, ["id"], fpp=0.1, overwrite=True)
    assert cloud.objects[path].data == of_other


def test_sftp(sshd: Sshd) -> None:
    (sshd.root / "lake").mkdir()
    lake = f"sftp://ada@127.0.0.1:{sshd.port}/lake"
    with pytest.raises(InvalidArgument, match="has no file"):
        folder_options(lake)
    assert write_folder_file(f"{lake}/", ["id"], fpp=0.1) is not None
    assert write_folder_file(lake, ["email"], fpp=0.1, overwrite=True) is not None
    assert folder_options(lake) == {"columns": ["email"], "fpp": {"*": 0.1}}
    (sshd.root / "lake/_bloomify.toml").write_text("columns = 1")
    with pytest.raises(
        InvalidArgument, match=r"/lake/_bloomify\.toml: columns has no list"
    ) as caught:
        folder_options(lake)
    assert "ada" not in str(caught.value)
    assert [one.name for one in (sshd.root / "lake").iterdir()] == ["_bloomify.toml"]
