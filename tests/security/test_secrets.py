"""Passwords, signatures and tokens in URLs: whatever fails, no output shows them."""

from __future__ import annotations

import logging
import traceback
from typing import TYPE_CHECKING, Any

import fsspec
import pytest
from click.testing import CliRunner
from fsspec.implementations.memory import MemoryFileSystem

import parquet_bloomwriter as pb
from bloomify.main import cli
from parquet_bloomwriter.errors import BloomwriterError
from parquet_bloomwriter.source import find_sources
from parquet_bloomwriter.text import redacted

if TYPE_CHECKING:
    from collections.abc import Callable

MARK = "TheMarker"

URLS = (
    f"s3://AKIA{MARK}:{MARK}@bucket/x.parquet?endpoint_override=[",
    f"s3://AKIA:abc/{MARK}@bucket/x.parquet",
    f"https://127.0.0.1:1/x.parquet?token={MARK}",
    f"https://user:{MARK}@127.0.0.1:1/x.parquet?X-Amz-Credential={MARK}&X-Amz-Signature={MARK}",
    f"ftp://user:{MARK}@127.0.0.1:1/x.parquet",
    f"memory://user:{MARK}@x.parquet?AWSAccessKeyId={MARK}",
    f"hdfs://user:{MARK}@127.0.0.1:1/x.parquet",
    f"unknown://user:{MARK}@host/x.parquet?sig={MARK}",
    f"gs://bucket/x.parquet?X-Goog-Signature={MARK}",
    f"az://container/x.parquet?sv=2020&sig={MARK}",
    *(f"leaky{kind}://host/x.parquet?sv=1&sig={MARK}" for kind in range(5)),
)
"""URLs that cannot be opened here, each with a secret."""

VERBS: tuple[Callable[[str], object], ...] = (
    pb.inspect,
    pb.verify,
    pb.advise,
    pb.strip,
    pb.repair,
    lambda url: pb.bloomify(url, ["id"]),
    lambda url: pb.probe(url, "id = 1"),
    lambda url: pb.read_table(url, filters=[("id", "=", 1)]),
    lambda url: list(pb.for_each_file(url, pb.inspect)),
    lambda url: pb.bloomify(b"", ["id"], output=url),
)

COMMANDS = (
    *(["inspect"], ["inspect", "--json"], ["verify"], ["advise"], ["strip"], ["repair", "--json"]),
    *(["add", "--columns", "id"], ["add", "--columns", "id", "--json"]),
    *(["probe", "--where", "id = 1"], ["probe", "--where", "id = 1", "--json"]),
    *(["index", "create", "--columns", "id"], ["index", "lookup", "--where", "id = 1"]),
    ["index", "list", "--json"],
)


class HttpError(Exception):
    """An error as aiohttp's, which makes its text of the URL that it holds."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url

    def __str__(self) -> str:
        return f"403, message='Forbidden', url='{self.url}'"


class Leaky(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
    """A store whose library puts the URL into its errors."""

    kind = 0
    cachable = False

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path

    def info(self, path: str, **_: object) -> dict[str, Any]:
        """Raise an error that has the URL in it; or say that a file is there."""
        if self.kind == 1:
            raise HttpError(path)
        if self.kind == 2:
            raise PermissionError(13, f"HEAD {path}", path)
        if self.kind == 3:
            raise ValueError(f"no answer of {path}") from HttpError(path)
        if self.kind == 4:
            raise OSError(f"Check for namespace support on '{path}' failed")
        return {"name": path, "size": 100, "type": "file"}

    def cat_file(self, path: str, **_: object) -> bytes:
        """Raise an error that has the URL in it."""
        raise OSError(f"GET {path.partition('/x')[2]} failed")

    def cat_ranges(self, paths: list[str], *_: object, **__: object) -> list[bytes]:
        """Raise an error that has the URL in it."""
        raise HttpError(paths[0])


@pytest.fixture
def _leaky() -> None:
    for kind in range(5):
        named = type("Leaky", (Leaky,), {"kind": kind, "protocol": f"leaky{kind}"})
        fsspec.register_implementation(f"leaky{kind}", named, clobber=True)


def shown_by(error: BaseException) -> str:
    """Return all that an error shows: its texts, and the traceback without the test's own lines."""
    lines = "".join(traceback.format_exception(error)).splitlines()
    chain = [line for line in lines if not line.startswith("  ")]
    facts = {name: getattr(error, name, None) for name in ("problem", "path", "remedy")}
    return "\n".join([str(error), repr(error), str(facts), *chain])


@pytest.mark.usefixtures("_leaky")
def test_no_error_of_a_verb_shows_a_secret(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "parquet_bloomwriter")
    for url in URLS:
        for number, verb in enumerate(VERBS):
            try:
                outcome = repr(verb(url))
            except Exception as error:  # noqa: BLE001  pyarrow passes on what a store raises
                outcome = shown_by(error)
            assert MARK not in outcome, (url, number)
    assert MARK not in caplog.text


@pytest.mark.usefixtures("_leaky")
def test_no_command_shows_a_secret() -> None:
    for url in URLS:
        for name, *options in COMMANDS:
            words = [name, *options[:1], url, *options[1:]] if name == "index" else None
            run = CliRunner().invoke(cli, words or [name, url, *options])
            assert run.exit_code not in (0, 70), (url, name, run.output)
            assert MARK not in run.output + run.stderr, (url, name)


@pytest.mark.usefixtures("_leaky")
def test_places_of_files_show_no_secret() -> None:
    (found,) = find_sources(f"leaky0://host/x.parquet?sig={MARK}")
    assert MARK in found.path
    assert MARK not in f"{found} {found!r}"


@pytest.mark.shares
def test_pyarrow_shows_no_signature_of_azure() -> None:
    with pytest.raises(OSError, match="sig=") as caught:
        pb.inspect(f"abfss://c@account-of-nobody.dfs.core.windows.net/x.parquet?sig={MARK}")
    assert MARK not in shown_by(caught.value)


def test_a_traceback_of_a_bug_shows_no_secret() -> None:
    secrets: dict[str, int] = {}

    def failing() -> None:
        try:
            secrets[f"https://host/x?token={MARK}"]
        except LookupError as error:
            raise BloomwriterError("a problem") from error

    with pytest.raises(BloomwriterError) as caught:
        failing()
    shown = shown_by(caught.value)
    assert "token=***" in shown
    assert MARK not in shown


def test_what_is_no_secret_stays() -> None:
    for text in (
        *("warehouse/token=5/sig=a.parquet", "s3://bucket/odd?name.parquet", "memory://a/b@c"),
        *("abfss://container@account.dfs.core.windows.net/key", "hdfs://host:8020/user@x/file"),
        *("file:///a/b=c?d", "https://host/a=b/c", "a = 1 AND b = 2", "x?y=z", "s3://b/k?a=b"),
    ):
        assert redacted(text) == text
    for text in (
        f"DefaultEndpointsProtocol=https;AccountName=x;AccountKey={MARK}==;EndpointSuffix=y",
        f"GET /x?sv=1&Sig={MARK} HTTP/1.1",
        f"s3://bucket/key?session_token={MARK}: not found",
        f"simplecache::https://host/x?code={MARK}",
    ):
        shown = redacted(text)
        assert MARK not in shown
        assert redacted(shown) == shown
        assert "***" in shown
    assert redacted("https://h/x?a=b: gone, see https://u:p@h?c=d.") == (
        "https://h/x?a=***: gone, see https://h?c=***."
    )
