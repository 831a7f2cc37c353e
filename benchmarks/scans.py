"""What filters cost a reader of everything: bytes and requests of full scans.

Filters between column chunks break runs of bytes that a reader would fetch at once. How many bytes
and requests a scan takes is counted, not timed, per engine and placement:

- Polars, DataFusion and ClickHouse (chdb) read from an HTTP server of this module, as they would
  read from an object store; a request is one GET.
- pyarrow reads from a file object in Python, and merges reads that lie close together, as it does
  for stores; a request is one read.
- DuckDB and Spark read from the disk; strace counts their system calls. Spark's are of 8 KiB or
  less and say nothing of a store's requests, so that only its bytes are shown.

`python -m benchmarks.scans ENGINE LOCATION COLUMN,...` scans one file in a process of its own.
"""

from __future__ import annotations

import contextlib
import http.server
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.measure import Figure
from fixtures import sample
from parquet_bloomwriter.rewrite.plan import Placement

if TYPE_CHECKING:
    from collections.abc import Iterator

COLUMNS = ("id", "email")
PLACEMENTS: tuple[Placement, ...] = get_args(Placement)
SIZES = {"1 M rows in ten row groups": (1_000_000, 100_000), "2,000 rows": (2_000, 2_000)}
_RANGE_PREFIX = "bytes="
_PIECE = 1 << 16
"""Bytes that are sent at a time: what a reader no longer takes is not counted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Traffic:
    """What one scan fetched."""

    bytes: int
    """Bytes of the file that were sent, headers of HTTP not counted."""

    requests: int | None
    """Reads or GETs; None where they are not counted."""

    def described(self, base: Traffic | None = None) -> str:
        """Return the bytes, as a difference to `base` if there is one, and the requests."""
        words = f"{self.bytes / base.bytes - 1:+.1%}" if base else f"{self.bytes:,}"
        return words if self.requests is None else f"{words} in {self.requests}"


class _CountedFile(io.FileIO):
    """An unbuffered file that notes the length of each read, in bytes."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.lengths: list[int] = []

    def read(self, size: int | None = -1, /) -> bytes:
        """Read, and note it."""
        data = super().read(size) or b""
        self.lengths.append(len(data))
        return data


class _Server(http.server.ThreadingHTTPServer):
    """Serves one file by ranges on the loopback address; counts what it sends."""

    daemon_threads = True

    def __init__(self, file: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.data = file.read_bytes()
        self.requests = 0
        self.sent = 0


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_HEAD(self) -> None:
        """Tell the size."""
        self._answer(self.server.data, status=200, body=False)

    def do_GET(self) -> None:
        """Send the range that is asked for, or everything."""
        data, asked = self.server.data, self.headers.get("Range", "")
        if not asked.startswith(_RANGE_PREFIX):
            self._answer(data, status=200)
            return
        first, last = asked.removeprefix(_RANGE_PREFIX).split("-")
        start = int(first) if first else max(len(data) - int(last), 0)
        end = int(last) + 1 if first and last else len(data)
        part = data[start:end]
        self._answer(part, status=206, span=f"bytes {start}-{start + len(part) - 1}/{len(data)}")

    def _answer(self, data: bytes, *, status: int, span: str = "", body: bool = True) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        if span:
            self.send_header("Content-Range", span)
        self.end_headers()
        if body:
            self.server.requests += 1
            with contextlib.suppress(ConnectionError):  # a reader may stop early
                for start in range(0, len(data), _PIECE):
                    self.wfile.write(data[start : start + _PIECE])
                    self.server.sent += len(data[start : start + _PIECE])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name it has
        """Say nothing."""


def _with_pyarrow(path: str, columns: list[str]) -> Traffic:
    with _CountedFile(path) as file:
        pq.read_table(file, columns=columns)
        return Traffic(bytes=sum(file.lengths), requests=len(file.lengths))


def _with_duckdb(path: str, columns: list[str]) -> None:
    import duckdb

    with duckdb.connect() as connection:
        sql = f"SELECT {', '.join(columns)} FROM read_parquet('{path}')"
        connection.execute(f"CREATE TEMP TABLE scanned AS {sql}")


def _with_polars(url: str, columns: list[str]) -> None:
    import polars as pl

    pl.scan_parquet(url).select(columns).collect()


def _with_datafusion(url: str, columns: list[str]) -> None:
    import datafusion
    from datafusion.object_store import AmazonS3

    address, _, name = url.rpartition("/")
    # Of its stores only that of S3 speaks HTTP without TLS.
    store = AmazonS3(
        bucket_name="scans",
        region="none",
        access_key_id="none",
        secret_access_key="none",  # noqa: S106 - the server asks for none
        endpoint=address,
        allow_http=True,
    )
    context = datafusion.SessionContext()
    context.register_object_store("s3://scans/", store, None)
    context.register_parquet("scanned", f"s3://scans/{name}")
    context.sql(f"SELECT {', '.join(columns)} FROM scanned").collect()


def _with_chdb(url: str, columns: list[str]) -> None:
    import chdb

    chdb.query(f"SELECT {', '.join(columns)} FROM url('{url}', Parquet) FORMAT Null")


def _with_spark(path: str, columns: list[str]) -> None:
    from benchmarks.spark_session import local_spark

    with local_spark() as spark:
        frame = spark.read.parquet(path).select(*columns)
        frame.write.format("noop").mode("overwrite").save()


_BY_STRACE = {"DuckDB": _with_duckdb, "Spark": _with_spark}
_BY_HTTP = {"Polars": _with_polars, "DataFusion": _with_datafusion, "ClickHouse": _with_chdb}
ENGINES = ("pyarrow", "DuckDB", "Polars", "DataFusion", "ClickHouse", "Spark")


def _process(engine: str, location: str, columns: list[str], *before: str) -> str:
    command = (sys.executable, "-m", "benchmarks.scans", engine, location, ",".join(columns))
    return subprocess.run((*before, *command), check=True, stdout=subprocess.PIPE, text=True).stdout


def scanned(engine: str, file: Path, columns: list[str]) -> Traffic:
    """Scan these columns of the file with the engine, in a process of its own."""
    if engine == "pyarrow":
        *_, line = _process(engine, str(file), columns).splitlines()
        return Traffic(**json.loads(line))
    if engine in _BY_STRACE:
        log = file.with_suffix(".strace")
        traced = (
            "strace",
            "-f",
            "-qq",
            "-e",
            "trace=read,pread64",
            "-P",
            str(file),
            "-o",
            str(log),
        )
        _process(engine, str(file), columns, *traced)
        read = [int(each) for each in re.findall(r" = ([0-9]+)$", log.read_text(), re.MULTILINE)]
        return Traffic(bytes=sum(read), requests=None if engine == "Spark" else len(read))
    with _Server(file) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        _process(engine, f"http://127.0.0.1:{server.server_port}/{file.name}", columns)
        server.shutdown()
        return Traffic(bytes=server.sent, requests=server.requests)


def _files(folder: Path, rows: int, rows_per_group: int) -> dict[str, Path]:
    """Write the sample without filters, and with filters in each placement."""
    from parquet_bloomwriter import bloomify

    plain = folder / "plain.parquet"
    table: pa.Table = sample.table(rows).drop_columns(["uuid"])  # which Spark cannot read
    pq.write_table(table, plain, row_group_size=rows_per_group, compression="zstd")
    files = {"no filters": plain}
    for placement in PLACEMENTS:
        files[placement] = folder / f"{placement}.parquet"
        bloomify(plain, COLUMNS, placement=placement, output=files[placement])
    return files


_CELL = f"bytes (in requests) without filters; then with filters at {', '.join(PLACEMENTS)}"


def scans(_repeats: int) -> Iterator[Figure]:
    """Bytes and requests of full scans."""
    for words, (rows, rows_per_group) in SIZES.items():
        with tempfile.TemporaryDirectory() as scratch:
            files = _files(Path(scratch), rows, rows_per_group)
            columns = pq.read_schema(files["no filters"]).names
            size = {name: path.stat().st_size for name, path in files.items()}
            grown = size["end"] - size["no filters"]
            yield Figure(
                what=f"Size of the file, {words}",
                figure=f"{size['no filters']:,} bytes; filters on two columns add {grown:,}",
            )
            for engine in ENGINES:
                base = scanned(engine, files["no filters"], columns)
                placed = {name: scanned(engine, files[name], columns) for name in PLACEMENTS}
                each = (base.described(), *(one.described(base) for one in placed.values()))
                yield Figure(what=f"{words}, {_CELL}: {engine}", figure="; ".join(each))


def main() -> None:
    """Scan one file, and print what it took where this process counts the reads."""
    engine, location, columns = sys.argv[1:]
    names = columns.split(",")
    if engine != "pyarrow":
        (_BY_HTTP | _BY_STRACE)[engine](location, names)
        return
    traffic = _with_pyarrow(location, names)
    print(json.dumps({"bytes": traffic.bytes, "requests": traffic.requests}), flush=True)
    os._exit(0)  # threads of pyarrow that still run at the end would abort the process


if __name__ == "__main__":
    main()
