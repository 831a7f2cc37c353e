"""`bloomify index` on a store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from click.testing import CliRunner

from bloomify.main import cli
from tests.index.stores.support import Twins, ids, use
from tests.stores.faults import Fault, Rule

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.stores.proxy import Proxy
    from tests.stores.servers import Store


def _run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli, ["index", *arguments], prog_name="bloomify")
    return result.exit_code, result.stdout, result.stderr


def test_all_commands_take_urls(table: Twins) -> None:
    code, shown, errors = _run("create", table.url, "--columns", "#0", "--name", "ids")
    assert (code, errors) == (0, "")
    assert shown.startswith("ids: created; 6 files indexed, ")
    assert _run("lookup", table.url, "--eq", "id=103", "--files") == (
        0,
        f"{table.url}/day=1/f3.parquet\n",
        "",
    )
    assert _run("lookup", table.url, "--eq", "id=99")[0] == 1
    table.write("more.parquet", ids(3))
    for verb in ("list", "show", "refresh", "optimize", "vacuum", "delete", "restore", "cancel"):
        code, shown, errors = _run(verb, table.url, "--json")
        assert (code, errors) == (0, ""), verb
        assert json.loads(shown)["failed"] == []
    assert json.loads(_run("lookup", table.url, "--eq", "id=3", "--json")[1])["was_listed"]


def test_without_columns_they_are_listed(table: Twins) -> None:
    code, shown, errors = _run("create", table.url)
    assert (code, shown) == (2, "")
    assert f"The columns of {table.url}/day=0/f0.parquet:\n\n  id  INT64\n" in errors


def test_explain_says_that_the_table_is_listed(table: Twins) -> None:
    for contract in ("checked", "immutable"):
        _run("create", table.url, "--columns", "id", "--contract", contract, "--name", contract)
        code, shown, _ = _run("explain", table.url, "--where", "id = 3", "--name", contract)
        assert code == 0
        assert ("The table was listed on the store" in shown) == (contract == "checked")


def test_a_store_that_ignores_conditions(
    careless_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(careless_store, tmp_path, monkeypatch)
    bucket = careless_store.new_bucket()
    twins = Twins(client=careless_store.client(), bucket=bucket, local=tmp_path / "table")
    twins.write("f.parquet", ids(1))
    code, _, errors = _run("create", twins.url, "--columns", "id")
    assert code == 2
    assert "the store ignores conditions" in errors
    assert "promise that there is one writer (--one-writer)." in errors
    assert _run("create", twins.url, "--columns", "id", "--one-writer")[0] == 0
    for verb in ("refresh", "optimize", "vacuum", "delete", "restore", "cancel"):
        assert _run(verb, twins.url)[0] == 2
        assert _run(verb, twins.url, "--one-writer")[0] == 0


def test_what_is_missing_is_named(through_proxy: Twins, proxy: Proxy) -> None:
    twins = through_proxy
    code, _, errors = _run("list", f"s3://{twins.bucket}/none")
    assert (code, f"s3://{twins.bucket}/none" in errors) == (2, True)
    for operation, permission in (("ListObjectsV2", "s3:ListBucket"), ("PutObject", "PutObject")):
        proxy.play(Rule(fault=Fault.DENIED, operation=operation, sticky=True))
        code, _, errors = _run("create", twins.url, "--columns", "id")
        assert code in {5, 6}
        assert f"s3://{twins.bucket}/" in errors
        assert permission in errors
        assert twins.client._request_signer._credentials.secret_key not in errors  # noqa: SLF001
    proxy.play()
    assert not twins.all_keys("_bloom_index/")
