"""Spark's configuration of GCS and Azure, and what obstore is told."""

from __future__ import annotations

import json
import pickle
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

import pytest

from parquet_bloomwriter.errors import InvalidArgument
from parquet_bloomwriter.spark.cloud_options import connection, with_key_file
from parquet_bloomwriter.spark.store_urls import HadoopSettings
from parquet_bloomwriter.stores.gcs_azure_settings import AzureConnection, GoogleConnection

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOST = "account.dfs.core.windows.net"
AZURE = f"abfss://c@{HOST}"
AZURE_URL = "https://account.blob.core.windows.net"
OAUTH = {
    "fs.azure.account.auth.type": "OAuth",
    "fs.azure.account.oauth.provider.type": (
        "org.apache.hadoop.fs.azurebfs.oauth2.ClientCredsTokenProvider"
    ),
    "fs.azure.account.oauth2.client.id": "ID",
    f"fs.azure.account.oauth2.client.secret.{HOST}": "SECRET",
}


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({}, None),
        ({f"fs.azure.account.key.{HOST}": "K"}, ("key", "K")),
        ({"fs.azure.account.key.another.dfs.core.windows.net": "K"}, None),
        ({f"fs.azure.account.auth.type.{HOST}": "SharedKey"}, ("key", None)),
        (
            {
                "fs.azure.account.auth.type": "SharedKey",
                f"fs.azure.account.auth.type.{HOST}": "SAS",
                "fs.azure.sas.fixed.token": "?sig=T",
            },
            ("sas", "?sig=T"),
        ),
        (
            {
                "fs.azure.account.auth.type": "OAuth",
                "fs.azure.account.oauth.provider.type": "x.MsiTokenProvider",
            },
            ("key", None),
        ),
    ],
)
def test_azure(options: dict[str, str], found: tuple[str, str | None] | None) -> None:
    made = connection(options, AZURE)
    if found is None:
        assert made is None
        return
    kind, value = found
    expected = {"access_key": value} if kind == "key" else {"sas_token": value}
    assert made == AzureConnection(endpoint=AZURE_URL, **expected)  # type: ignore[arg-type]


def test_an_emulator_has_the_account_in_its_path() -> None:
    options = {
        "fs.azure.abfs.endpoint": "localhost:10000",
        "fs.azure.always.use.https": "false",
        f"fs.azure.account.key.{HOST}": "K",
    }
    made = connection(options, AZURE)
    assert made == AzureConnection(endpoint="http://localhost:10000/account", access_key="K")
    options["fs.azure.abfs.endpoint"] = "a host without a port counts for nothing"
    made = connection(options, AZURE)
    assert made == AzureConnection(endpoint=AZURE_URL, access_key="K")


@pytest.mark.parametrize(
    ("base", "options", "named"),
    [
        (AZURE, {"fs.azure.account.auth.type": "Custom"}, "custom"),
        (AZURE, {"fs.azure.account.auth.type": "SAS"}, r"fixed\.token"),
        (
            AZURE,
            {
                "fs.azure.account.auth.type": "SAS",
                "fs.azure.sas.token.provider.type": "org.Vault",
            },
            r"org\.Vault",
        ),
        (AZURE, {**OAUTH, "fs.azure.account.oauth.provider.type": "org.Other"}, r"org\.Other"),
        (AZURE, OAUTH, "without its endpoint"),
        (
            AZURE,
            {
                "fs.azure.account.auth.type": "SharedKey",
                "fs.azure.account.keyprovider": "org.Shell",
            },
            r"org\.Shell",
        ),
        ("gs://b", {"fs.gs.auth.type": "USER_CREDENTIALS"}, "USER_CREDENTIALS"),
        ("gs://b", {"fs.gs.auth.access.token.provider.impl": "org.Vault"}, r"token\.provider"),
        (
            "gs://b",
            {
                "fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE",
                "fs.gs.auth.service.account.json.keyfile": "/not/there.json",
            },
            "/not/there",
        ),
    ],
)
def test_what_is_not_known_is_refused_by_name(
    base: str, options: dict[str, str], named: str
) -> None:
    with pytest.raises(InvalidArgument, match=named):
        connection(options, base)


def test_google() -> None:
    for options in ({}, {"fs.gs.auth.type": "COMPUTE_ENGINE"}):  # of Hadoop's core-default.xml
        assert connection(options, "gs://b") is None
    url = "https://storage.googleapis.com"
    assert connection({"fs.gs.auth.type": "APPLICATION_DEFAULT"}, "gs://b") is None
    found = connection({"fs.gs.storage.root.url": "http://here:1/"}, "gs://b")
    assert found == GoogleConnection(endpoint="http://here:1")
    for options in (
        {"fs.gs.auth.type": "UNAUTHENTICATED"},
        {"fs.gs.auth.type": "COMPUTE_ENGINE", "fs.gs.auth.null.enable": "true"},
    ):
        assert connection(options, "gs://b") == GoogleConnection(endpoint=url, is_anonymous=True)
    options = {
        "fs.gs.auth.service.account.email": "a@b",
        "fs.gs.auth.service.account.private.key": "one\\ntwo",
        "fs.gs.auth.service.account.private.key.id": "1",
    }
    found = connection(options, "gs://b")
    assert isinstance(found, GoogleConnection)
    account = json.loads(found.service_account or "")
    assert (account["client_email"], account["private_key"]) == ("a@b", "one\ntwo")


def test_the_contents_of_a_key_file_travel(tmp_path: Path) -> None:
    path = tmp_path / "key.json"
    path.write_text("{}", encoding="utf-8")
    options = with_key_file({"google.cloud.auth.service.account.json.keyfile": str(path)})
    path.unlink()
    settings = pickle.loads(pickle.dumps(HadoopSettings({}, options)))  # noqa: S301  our own
    found = connection(settings.clouds, "gs://b")
    assert isinstance(found, GoogleConnection)
    assert found.service_account == "{}"


def test_a_token_of_the_environment_does_not_stand_in_for_an_account(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GOOGLE_BEARER_TOKEN", "another")
    with pytest.raises(InvalidArgument, match="GOOGLE_BEARER_TOKEN is set"):
        GoogleConnection(endpoint="https://x", service_account="{}").arguments()
    GoogleConnection(endpoint="https://x", is_anonymous=True).arguments()


def test_texts_show_no_secrets() -> None:
    options = {
        **OAUTH,
        "fs.azure.account.oauth2.client.endpoint": "https://u:WORD@login/oauth2/token",
    }
    shown = [HadoopSettings({}, options), connection(options, AZURE)]
    for text in (
        {f"fs.azure.account.key.{HOST}": "SECRET"},
        {"fs.azure.account.auth.type": "SAS", "fs.azure.sas.fixed.token": "SECRET"},
    ):
        shown += [HadoopSettings({}, text), connection(text, AZURE)]
    assert not any(word in f"{one!r} {one}" for one in shown for word in ("SECRET", "WORD"))
    assert not any(one is None for one in shown)


@contextmanager
def tokens() -> Iterator[tuple[str, list[dict[str, list[str]]]]]:
    """Serve tokens; yield the URL and what was asked."""
    asked: list[dict[str, list[str]]] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  as the base has it
            """Nothing."""

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            asked.append(parse_qs(self.rfile.read(length).decode()))
            answer = b'{"access_token": "TOKEN", "expires_in": "3599"}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_client_gets_tokens_where_the_configuration_says() -> None:
    with tokens() as (url, asked):
        for path in ("/tenant/oauth2/token", "/tenant/oauth2/v2.0/token"):
            options = {**OAUTH, "fs.azure.account.oauth2.client.endpoint": url + path}
            made = connection(options, AZURE)
            assert made is not None
            assert made.arguments()["credential_provider"]()["token"] == "TOKEN"  # noqa: S105
    assert [one["client_secret"] for one in asked] == [["SECRET"], ["SECRET"]]
    assert asked[0]["resource"] == ["https://storage.azure.com/"]
    assert asked[1]["scope"] == ["https://storage.azure.com/.default"]
