"""The file `_bloomify.toml` of a folder on a store that is not S3: `tests/cli` has S3."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from parquet_bloomwriter import folder_options
from parquet_bloomwriter.errors import FileChanged
from parquet_bloomwriter.verbs.folder_file import write_folder_file

if TYPE_CHECKING:
    from tests.stores.whole.cloud import Cloud

pytestmark = pytest.mark.usefixtures("homes")


def test_it_is_written_and_replaced_on_condition(cloud: Cloud) -> None:
    lake = "gs://bucket/lake"
    assert write_folder_file(lake, ["id"], fpp=0.1) == f"{lake}/_bloomify.toml"
    assert write_folder_file(lake, ["email"], fpp=0.1, overwrite=True) is not None
    assert folder_options(lake) == {"columns": ["email"], "fpp": {"*": 0.1}}
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
