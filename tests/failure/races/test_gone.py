"""A file that goes away before its values are read is no file without values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from campaigns.races.files import check_names, sample
from parquet_bloomwriter import bloomify
from parquet_bloomwriter.errors import FileChanged
from parquet_bloomwriter.rewrite import plan
from parquet_bloomwriter.verbs import add

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_file_that_goes_away(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    dry_run: bool,  # noqa: FBT001  given by pytest
) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(sample().plain)

    def remove_and_draft(*args: Any, **options: Any) -> plan.Draft:  # noqa: ANN401  as the real one
        path.unlink()
        return plan.make_draft(*args, **options)

    monkeypatch.setattr(add, "make_draft", remove_and_draft)
    with pytest.raises(FileChanged, match="removed or renamed"):
        bloomify(path, ["id"], dry_run=dry_run)
    check_names(tmp_path)
