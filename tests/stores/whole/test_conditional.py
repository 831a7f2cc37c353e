"""Objects on GCS and Azure: replaced under a condition, and never lost when requests fail."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from parquet_bloomwriter import (
    FileChanged,
    InvalidArgument,
    UnsafeTarget,
    bloomify,
    for_each_file,
    repair,
    strip,
)
from parquet_bloomwriter.errors import OutcomeUnknown, StoreProblem
from parquet_bloomwriter.stores.conditional import place_of, place_of_https, split_url
from parquet_bloomwriter.verbs.for_each_file import find_tasks
from tests.stores.whole.cloud import Stored
from tests.stores.whole.outcome import error_of
from tests.support.foreign_folders import FOREIGN_FOLDERS, ORDINARY_FOLDERS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.stores.whole.cloud import Cloud

BASES = {"google": "gs://bucket", "azure": "az://bucket"}
KEY = "bucket/table/a.parquet"
SECRETS = ("secret-token", "c2VjcmV0LWtleQ")


@pytest.fixture(params=BASES)
def url(request: pytest.FixtureRequest) -> str:
    """Return the URL of the object."""
    return f"{BASES[request.param]}/table/a.parquet"


def test_filters_come_and_go(cloud: Cloud, url: str, plain: bytes, with_filters: bytes) -> None:
    cloud.put(KEY, plain)
    report = bloomify(url, ["id"])
    assert report.written
    assert report.path == report.output == url
    assert report.placement == "end"
    assert cloud.objects[KEY].data == with_filters
    assert report.store is not None
    assert len(plain) <= report.store.down < len(plain) + 2000  # with the footer, read back
    assert report.store.up == len(with_filters)
    assert report.store.requests["put"] == 1
    assert report.store.requests["get"] == len([one for one in cloud.log if one == ("GET", KEY)])
    for idle in (bloomify(url, ["id"]), bloomify(url, ["id"], dry_run=True), repair(url)):
        assert not idle.written
        assert idle.store is not None
        assert (idle.store.up, idle.store.planned) == (0, None)
    assert strip(url).written
    again = strip(url).store
    assert again is not None
    assert (again.up, again.planned) == (0, None)
    assert cloud.objects[KEY].data == plain
    assert list(cloud.objects) == [KEY]


def test_a_plan_writes_nothing_and_says_what_it_would_cost(
    cloud: Cloud, url: str, plain: bytes, with_filters: bytes
) -> None:
    cloud.put(KEY, plain)
    report = bloomify(url, ["id"], dry_run=True)
    assert {method for method, _ in cloud.log} == {"HEAD", "GET"}
    assert report.store is not None
    assert report.store.planned is not None
    assert report.store.planned[2] == len(with_filters)
    assert cloud.objects[KEY].data == plain


def test_what_an_object_has_beside_its_bytes_is_kept(cloud: Cloud, plain: bytes) -> None:
    cloud.put(KEY, plain, **{"content-type": "a/b", "x-goog-meta-owner": "ada"})
    bloomify("gs://bucket/table/a.parquet", ["id"])
    kept = cloud.objects[KEY].headers
    assert (kept["content-type"], kept["x-goog-meta-owner"]) == ("a/b", "ada")
    cloud.put(KEY, plain, **{"x-ms-blob-content-type": "a/b", "x-ms-meta-owner": "ada"})
    bloomify("az://bucket/table/a.parquet", ["id"])
    kept = cloud.objects[KEY].headers
    assert (kept["x-ms-blob-content-type"], kept["x-ms-meta-owner"]) == ("a/b", "ada")
    first = kept["x-ms-meta-bloomify_attempt"]
    strip("az://bucket/table/a.parquet")
    assert cloud.objects[KEY].headers["x-ms-meta-bloomify_attempt"] != first


def test_other_names_and_other_places(
    cloud: Cloud, url: str, plain: bytes, with_filters: bytes, tmp_path: Path
) -> None:
    cloud.put(KEY, plain)
    other = url.replace("a.parquet", "b.parquet")
    bloomify(url, ["id"], output=other)
    assert cloud.objects["bucket/table/b.parquet"].data == with_filters
    with pytest.raises(UnsafeTarget, match="exists already"):
        strip(other, output=url)
    strip(other, output=url, overwrite=True)
    assert cloud.objects[KEY].data == plain
    here = tmp_path / "here.parquet"
    bloomify(url, ["id"], output=here, placement="end")
    assert here.read_bytes() == with_filters
    strip(here, output=url.replace("a.parquet", "c.parquet"))
    assert cloud.objects["bucket/table/c.parquet"].data == plain
    across = "az://bucket/d.parquet" if url.startswith("gs") else "gs://bucket/d.parquet"
    bloomify(url, ["id"], output=across)
    assert cloud.objects["bucket/d.parquet"].data == with_filters


def test_prefixes_and_patterns(cloud: Cloud, url: str, plain: bytes) -> None:
    names = ("t/000000_0", "t/a.parquet", "t/x=1/b.parquet", "t/_c.parquet", "tt/e.parquet")
    for name in names:
        cloud.put(f"bucket/{name}", plain)
    cloud.put("bucket/t/d.txt", b"not Parquet")
    base = url.removesuffix("/table/a.parquet")

    def add(path: str, output: str | None, jobs: int) -> object:
        return bloomify(path, ["id"], output=output, jobs=jobs)

    for given, expected in (
        (f"{base}/t", ["t/000000_0", "t/a.parquet", "t/x=1/b.parquet"]),
        (f"{base}/t/", ["t/000000_0", "t/a.parquet", "t/x=1/b.parquet"]),
        (f"{base}/t/*.parquet", ["t/_c.parquet", "t/a.parquet"]),
        (f"{base}/t/a.parquet", ["t/a.parquet"]),
    ):
        outcomes = list(for_each_file(given, add))
        assert [one.path for one in outcomes] == [f"{base}/{name}" for name in expected]
        assert [one.error for one in outcomes] == [None] * len(expected)
    tasks = find_tasks(f"{base}/t", output=f"{base}/new")
    assert [(one.path, one.size, one.output) for one in tasks] == [
        (f"{base}/t/{name}", len(cloud.objects[f"bucket/t/{name}"].data), f"{base}/new/{name}")
        for name in ("000000_0", "a.parquet", "x=1/b.parquet")
    ]
    assert cloud.objects["bucket/t/d.txt"].data == b"not Parquet"
    assert cloud.objects["bucket/tt/e.parquet"].data == plain


def test_a_table_formats_files_are_left_alone(cloud: Cloud, url: str, plain: bytes) -> None:
    cloud.put(KEY, plain)
    cloud.put("bucket/table/_delta_log/0.json", b"{}")
    with pytest.raises(UnsafeTarget, match="Delta table log"):
        bloomify(url, ["id"])
    assert bloomify(url, ["id"], force=True).written
    base = url.removesuffix("table/a.parquet")
    nth = list(BASES.values()).index(base.removesuffix("/"))  # which are found: tests/replace
    for number, (kind, file, records) in enumerate(FOREIGN_FOLDERS[nth::6]):
        for record in records:
            cloud.put(f"bucket/{number}/{record}", b"{}")
        cloud.put(f"bucket/{number}/{file}", plain)
        verb = (bloomify, strip, repair)[number % 3]
        with pytest.raises(UnsafeTarget, match=kind):
            verb(f"{base}{number}/{file}", output=f"{base}{number}/{file}")
        assert cloud.objects[f"bucket/{number}/{file}"].data == plain
    for number, (file, others) in enumerate(ORDINARY_FOLDERS[nth::6]):
        for other in others:
            cloud.put(f"bucket/plain{number}/{other}", b"{}")
        cloud.put(f"bucket/plain{number}/{file}", plain)
        assert bloomify(f"{base}plain{number}/{file}", ["id"]).written
    cloud.put("bucket/summed/_metadata", b"PAR1")
    cloud.put("bucket/summed/2026/a.parquet", plain)
    with pytest.raises(UnsafeTarget, match="summed/_metadata"):
        bloomify(f"{base}summed/2026/a.parquet", ["id"])


def test_who_wrote_meanwhile_wins(cloud: Cloud, url: str, plain: bytes) -> None:
    cloud.put(KEY, plain)

    def write_before(_number: int, method: str, _path: str) -> str:
        if method == "PUT":
            cloud.objects[KEY] = Stored(b"theirs", 5)
        return ""

    cloud.fault = write_before
    with pytest.raises(FileChanged, match="another program wrote"):
        bloomify(url, ["id"])
    assert cloud.objects[KEY].data == b"theirs"
    cloud.objects.clear()
    cloud.put("bucket/b.parquet", plain)
    with pytest.raises(FileChanged):
        bloomify(url.replace("table/a", "b"), ["id"], output=url)
    assert cloud.objects[KEY].data == b"theirs"


def test_reads_are_of_one_version(cloud: Cloud, url: str, plain: bytes, tmp_path: Path) -> None:
    cloud.put(KEY, plain)

    def write_before(_number: int, method: str, path: str) -> str:
        if (method, path) == ("GET", KEY):
            cloud.put(KEY, plain)
        return ""

    cloud.fault = write_before
    for options in ({}, {"dry_run": True}, {"output": tmp_path / "here.parquet"}):
        with pytest.raises(FileChanged):
            bloomify(url, ["id"], **options)
    assert not list(tmp_path.iterdir())


def faults(cloud: Cloud, run: Callable[[], object]) -> int:
    """Return the number of requests of a run without faults."""
    cloud.log.clear()
    run()
    return len(cloud.log)


@pytest.mark.parametrize(
    ("base", "kind"),
    [
        *(("google", "cut"), ("google", "503"), ("google", "403")),
        *(("azure", "lost"), ("azure", "412"), ("azure", "short")),
    ],
)
def test_whatever_fails_the_object_is_the_old_one_or_the_new_one(
    cloud: Cloud, base: str, plain: bytes, with_filters: bytes, kind: str
) -> None:
    """Once, or from then on."""
    url = f"{BASES[base]}/table/a.parquet"
    sticky = kind in ("403", "412", "cut")
    cloud.put(KEY, plain)
    number = faults(cloud, lambda: bloomify(url, ["id"]))
    succeeded = 0
    for first in range(number):
        cloud.log.clear()
        cloud.fault = lambda *_: ""
        cloud.put(KEY, plain)
        cloud.fault = lambda n, _m, _p, first=first: (  # type: ignore[misc]
            kind if n == first or (sticky and n > first) else ""
        )
        error = error_of(lambda: bloomify(url, ["id"]))
        found = cloud.objects[KEY].data
        assert list(cloud.objects) == [KEY]
        if error is None:
            assert found == with_filters, first
            succeeded += 1
            continue
        is_unknown = isinstance(error, OutcomeUnknown)
        assert found == plain or (found == with_filters and is_unknown), (first, error)
        assert not any(secret in str(error) for secret in SECRETS)
        assert "Debug source" not in str(error)
    if kind in ("cut", "lost", "503") and not sticky:
        assert succeeded == number


def test_a_lost_answer_is_no_conflict(
    cloud: Cloud, url: str, plain: bytes, with_filters: bytes
) -> None:
    cloud.put(KEY, plain)
    puts = []

    def lose_first(_number: int, method: str, _path: str) -> str:
        if method == "PUT":
            puts.append(method)
            return "lost" if len(puts) == 1 else ""
        return ""

    cloud.fault = lose_first
    assert bloomify(url, ["id"]).written
    assert cloud.objects[KEY].data == with_filters
    assert puts == ["PUT"]  # the object was looked at before anything was sent again


def test_an_unknown_outcome_is_said_to_be_one(cloud: Cloud, url: str, plain: bytes) -> None:
    cloud.put(KEY, plain)
    gone = []

    def lose_all(_number: int, method: str, _path: str) -> str:
        gone.append(method)
        return "lost" if "PUT" in gone else ""

    cloud.fault = lose_all
    with pytest.raises(OutcomeUnknown, match="It is not known whether the new version"):
        bloomify(url, ["id"])


def test_a_forbidden_request_says_what_is_missing(cloud: Cloud, url: str, plain: bytes) -> None:
    cloud.put(KEY, plain)
    cloud.fault = lambda _n, method, _p: "403" if method == "PUT" else ""
    with pytest.raises(StoreProblem, match="forbids it; this needs the permission") as caught:
        bloomify(url, ["id"])
    assert caught.value.path == url
    assert re.search(r"storage\.objects\.create|blobs/write", str(caught.value))
    assert cloud.objects[KEY].data == plain


def test_urls(cloud: Cloud, plain: bytes) -> None:
    assert split_url("ABFSS://c@a.dfs.core.windows.net/x/y%20z") == (
        "abfss://c@a.dfs.core.windows.net",
        "x/y%20z",
    )
    for wrong in ("gs://", "az:///x", "gs://user:word@bucket/x"):
        with pytest.raises(InvalidArgument) as caught:
            bloomify(wrong, ["id"])
        assert "word@" not in str(caught.value)
    for wrong in ("gs://bucket", "gs://bucket/x/"):
        with pytest.raises(InvalidArgument, match="is no object"):
            bloomify(wrong, ["id"])
    with pytest.raises(FileNotFoundError, match="gs://bucket/nothing"):
        bloomify("gs://bucket/nothing", ["id"])
    cloud.put("bucket/a b%20ü.parquet", plain)
    assert bloomify("gs://bucket/a b%20ü.parquet", ["id"]).written
    with pytest.raises(InvalidArgument, match="backups are kept on disks only"):
        bloomify("gs://bucket/a b%20ü.parquet", ["id"], replace=True, backup_suffix=".old")


def test_signatures_have_no_place_in_urls(cloud: Cloud, plain: bytes) -> None:
    cloud.put("bucket/a.parquet", plain)
    for url in (
        "az://bucket/a.parquet?sv=1&sig=SECRET",
        "abfss://bucket@account.dfs.core.windows.net/a.parquet?SIG=SECRET",
    ):
        runs: list[Callable[[], object]] = [
            lambda url=url: bloomify(url, ["id"]),  # type: ignore[misc]
            lambda url=url: strip("az://bucket/a.parquet", output=url),  # type: ignore[misc]
            lambda url=url: find_tasks([url]),  # type: ignore[misc]
        ]
        for run in runs:
            with pytest.raises(InvalidArgument, match="signature") as caught:
                run()
            assert "SECRET" not in str(caught.value)
    cloud.put("bucket/a?b.parquet", plain)
    assert bloomify("az://bucket/a?b.parquet", ["id"]).written


@pytest.mark.parametrize("key", ["/a.parquet", "x//a.parquet", "x/../a.parquet", "x/a\n.parquet"])
def test_keys_that_obstore_cannot_name_are_refused(cloud: Cloud, plain: bytes, key: str) -> None:
    cloud.put("bucket/old.parquet", plain)
    for base in BASES.values():
        with pytest.raises(InvalidArgument, match="is no object"):
            bloomify(f"{base}/old.parquet", ["id"], output=f"{base}/{key}")
        with pytest.raises(InvalidArgument, match="is no object"):
            bloomify(f"{base}/{key}", ["id"])
    assert list(cloud.objects) == ["bucket/old.parquet"]
    cloud.put(f"bucket/folder/{key}", plain)
    with pytest.raises(StoreProblem, match="cannot name"):
        find_tasks(["gs://bucket/folder/"])


AZURE = (
    "az://bucket/table/a.parquet",
    "azure://bucket/table/a.parquet",
    "abfss://bucket@account.dfs.core.windows.net/table/a.parquet",
    "abfs://bucket@Account.blob.core.windows.net/table/a.parquet",
)


@pytest.mark.parametrize("output", AZURE[1:])
def test_one_object_in_two_spellings_is_one_object(
    cloud: Cloud, plain: bytes, with_filters: bytes, output: str
) -> None:
    cloud.put(KEY, plain)
    seen: list[str] = []

    def write_between(number: int, method: str, _path: str) -> str:
        seen.append(method)
        if number and method == "HEAD":  # The output is looked at: it is another object by now.
            cloud.objects[KEY] = Stored(b"theirs", 5)
        return ""

    bloomify(AZURE[0], ["id"], output=output)  # in place: no --overwrite is needed
    assert cloud.objects[KEY].data == with_filters
    cloud.log.clear()
    cloud.put(KEY, plain)
    cloud.fault = write_between
    error = error_of(lambda: bloomify(AZURE[0], ["id"], output=output, overwrite=True))
    assert seen.count("HEAD") == 1, "the output was taken for another object"
    assert error is None
    assert cloud.objects[KEY].data == with_filters


def test_spellings_are_compared_by_what_they_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")

    def place(url: str) -> object:
        if url.startswith("https:"):
            return place_of_https(url)
        return place_of(*split_url(url))

    https = "https://account.blob.core.windows.net/bucket/table/a.parquet"
    assert len({place(one) for one in (*AZURE, https, f"{https}?sv=1")}) == 1
    assert place("https://account.blob.core.windows.net/b/x%20y") == place("az://b/x y")
    for other in (
        "az://other/table/a.parquet",
        "az://bucket/table/b.parquet",
        "abfss://bucket@another.dfs.core.windows.net/table/a.parquet",
        "gs://bucket/table/a.parquet",
    ):
        assert place(other) != place(AZURE[0])
    assert place("gcs://b/k") == place("gs://b/k") == place("https://storage.googleapis.com/b/k")
    assert place("https://example.com/bucket/table/a.parquet") is None
    monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", "http://127.0.0.1:10000/devstoreaccount1")
    assert place(AZURE[0]) == place(AZURE[2])
    monkeypatch.setenv("AZURE_STORAGE_ENDPOINT", "https://account.blob.core.windows.net")
    assert place(AZURE[0]) == place(https)


def test_an_object_under_a_url_of_https_is_not_written_from_itself(
    cloud: Cloud, plain: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file in memory stands for the HTTPS URL, which fsspec would open with aiohttp."""
    cloud.put(KEY, plain)
    MemoryFileSystem().pipe_file("/https.parquet", plain)
    monkeypatch.setattr(
        "parquet_bloomwriter.stores.file_systems.place_of_https",
        lambda _url: place_of("az://bucket", "table/a.parquet"),
    )
    with pytest.raises(UnsafeTarget, match="old version itself, under a URL of another kind"):
        bloomify("memory://https.parquet", ["id"], output=AZURE[0], overwrite=True)
    assert cloud.objects[KEY].data == plain
