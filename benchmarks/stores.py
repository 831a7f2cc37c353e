"""Files on an object store: `python -m benchmarks.stores [--only cost,limited,...]`.

The store is SeaweedFS on this machine, behind the proxy of the tests, which counts requests and the
bytes of their bodies. Files are put there anew before each run, by copies within the store.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.measure import BLOOMIFY, DATA, Figure, Timing, at_least, run
from tests.stores.proxy import Proxy
from tests.stores.servers import SeaweedFS
from tests.stores.traffic import Request, bytes_down, bytes_up, round_trips

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.measure import Command, Run
    from tests.stores.servers import Client, Store

_COLUMN, _DICTIONARY_COLUMN = "id", "account"
_LIMIT = 50e6
"""Bytes per second, each way, of the proxy that is limited."""

_NUM_SMALL, _JOBS = 1000, 16
_NUM_ASKED, _FILTERS_EACH = 200, 10


@dataclass(frozen=True, slots=True)
class Bench:
    """A server with a bucket, and where files lie."""

    store: Store
    """Without a proxy."""

    bucket: str
    folder: Path

    @property
    def client(self) -> Client:
        """A client without a proxy."""
        return self.store.client()

    def make(self, name: str) -> Path:
        """Return a file that a task of `store_tasks` writes; made once."""
        path = DATA / f"store_{name}.parquet"
        if not path.exists():
            partial = path.with_suffix(".partial")
            run(_task(name, str(partial)))
            partial.replace(path)
        return path

    def put(self, path: Path, *keys: str) -> None:
        """Put a file under keys: uploaded for the first, copied by the store for the others."""
        client, bucket = self.client, self.bucket
        client.upload_file(str(path), bucket, keys[0])
        source = {"Bucket": bucket, "Key": keys[0]}
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda key: client.copy(source, bucket, key), keys[1:]))

    def run(self, command: Command, store: Store, *, codes: Sequence[int] = (0,)) -> Run:
        """Run a command that finds the store by its environment, and keeps its notes here."""
        notes = {name: str(self.folder / name) for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME")}
        return run(command, environment={**store.environment, **notes}, codes=codes)

    def warm(self, proxy: Proxy) -> list[Request]:
        """Rewrite a small object; return the requests, among them those that try the store out.

        What a store can do is tried once for each endpoint and bucket, and each proxy is another
        endpoint.
        """
        self.put(self.make("small"), "warm")
        self.run(_bloomify(self.url("warm"), _COLUMN), proxy.store)
        seen = proxy.requests
        proxy.forget()
        return seen

    def url(self, key: str) -> str:
        """Return the URL of an object."""
        return f"s3://{self.bucket}/{key}"


def cost(bench: Bench) -> Iterator[Figure]:
    """Bytes and requests for one column of nine."""
    path = bench.make("large")
    with Proxy(bench.store) as proxy:
        what = (
            "Requests of the first run on a bucket, an object of 1 MB, with the trial of the store"
        )
        yield Figure(what=what, figure=_requests(bench.warm(proxy)))
        for column in (_COLUMN, _DICTIONARY_COLUMN):
            bench.put(path, "large")
            proxy.forget()
            bench.run(_bloomify(bench.url("large"), column), proxy.store)
            seen, local = proxy.requests, bench.folder / "local.parquet"
            run((*_bloomify(str(path), column), "-o", str(local), "--overwrite"))
            yield from _cost(path, local, column, seen)
            yield Figure(
                what=f"The object equals the local result, byte for byte, `{column}`",
                figure=f"{local.stat().st_size:,} bytes",
                target="the same",
                met=_digest(local) == _object_digest(bench, "large"),
            )


def _cost(path: Path, local: Path, column: str, seen: list[Request]) -> Iterator[Figure]:
    in_column, before_footer = _sizes(path, column)
    new = local.stat().st_size - before_footer
    down, up = bytes_down(seen), bytes_up(seen)
    whole = column == _COLUMN
    most_down = 1.2 * in_column + 300e3 if whole else in_column
    yield Figure(
        what=f"Downloaded for a filter on `{column}`, of {path.stat().st_size / 1e6:,.0f} MB",
        figure=f"{down / 1e6:.2f} MB, the column has {in_column / 1e6:.2f} MB",
        target="at most 1.2 x the column + 300 kB" if whole else "less than the column",
        met=down <= most_down,
    )
    yield Figure(
        what=f"Uploaded for a filter on `{column}`",
        figure=f"{up / 1e6:.2f} MB, filters and footer have {new / 1e6:.2f} MB",
        target="at most 1.1 x filters and footer + 100 kB",
        met=up <= 1.1 * new + 100e3,
    )
    yield Figure(what=f"Requests for a filter on `{column}`", figure=_requests(seen))


def _sizes(path: Path, column: str) -> tuple[int, int]:
    """Return the bytes of a column, and those of the file before its footer."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        metadata = file.metadata
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        index = metadata.schema.names.index(column)
        size = sum(group.column(index).total_compressed_size for group in groups)
        return size, path.stat().st_size - metadata.serialized_size - 8


def limited(bench: Bench) -> Iterator[Figure]:
    """Time through a connection of 50 MB/s."""
    timings = _timings(bench, _LIMIT, repeats=2)
    what = (
        f"`bloomify s3://...` of the large file through {_LIMIT / 1e6:.0f} MB/s, against "
        "download, local command and upload"
    )
    yield at_least(what, timings["store"], base=timings["local"], limit=4)


def unlimited(bench: Bench) -> Iterator[Figure]:
    """The same without a limit."""
    timings = _timings(bench, None, repeats=3)
    ratio = timings["local"].best / timings["store"].best
    yield Figure(
        what="`bloomify s3://...` of the large file without a limit, against download, local "
        "command and upload",
        figure=f"{ratio:.1f}x as fast: {timings['store']} against {timings['local']}",
    )


def _timings(bench: Bench, limit: float | None, *, repeats: int) -> dict[str, Timing]:
    path = bench.make("large")
    seconds: dict[str, list[float]] = {"store": [], "local": []}
    with Proxy(bench.store, down=limit, up=limit) as proxy:
        bench.warm(proxy)
        for _ in range(repeats):
            for name, command in (
                ("store", _bloomify(bench.url("large"), _COLUMN)),
                ("local", _task("round_trip", bench.bucket, "large", _COLUMN)),
            ):
                bench.put(path, "large")
                seconds[name].append(bench.run(command, proxy.store).seconds)
    return {name: Timing(seconds=tuple(values)) for name, values in seconds.items()}


def many(bench: Bench) -> Iterator[Figure]:
    """Many small objects."""
    path = bench.make("small")
    bench.put(path, *(f"small/{number:04}.parquet" for number in range(_NUM_SMALL)))
    with Proxy(bench.store) as proxy:
        bench.warm(proxy)
        command = (*_bloomify(bench.url("small/"), _COLUMN), "--jobs", str(_JOBS))
        seconds = bench.run(command, proxy.store).seconds
        seen = proxy.requests
    per_second = _NUM_SMALL / seconds
    yield Figure(
        what=f"{_NUM_SMALL:,} objects of {path.stat().st_size / 1e6:.1f} MB, `--jobs {_JOBS}`",
        figure=f"{per_second:.0f} per second; {_requests(seen)}",
        target="at least 20 per second",
        met=per_second >= 20,
    )


def lookup(bench: Bench) -> Iterator[Figure]:
    """Asking the filters of many files for a value that none has."""
    path = bench.make("asked")
    bench.put(path, *(f"asked/{number:03}.parquet" for number in range(_NUM_ASKED)))
    with Proxy(bench.store) as proxy:
        command = (BLOOMIFY, "probe", bench.url("asked/"), "--where", "id = 4711", "--quiet")
        seconds = bench.run(command, proxy.store, codes=(1,)).seconds  # 1: nothing can match
        seen = proxy.requests
    most = _NUM_ASKED * (_FILTERS_EACH + 1)
    reads = sum(request.operation == "GetObject" for request in seen)
    yield Figure(
        what=f"Lookup in {_NUM_ASKED} files x {_FILTERS_EACH} filters of "
        f"{path.stat().st_size / 1e6:.1f} MB",
        figure=f"{seconds:.2f} s; {_requests(seen)}",
        target="one read for each footer, one read for each distant filter",
        met=reads <= most,
    )


def _bloomify(source: str, column: str) -> tuple[str, ...]:
    return (BLOOMIFY, source, "--columns", column, "--placement", "end", "--quiet")


def _task(name: str, *arguments: str) -> Command:
    return (sys.executable, "-m", "benchmarks.store_tasks", name, *arguments)


def _requests(seen: list[Request]) -> str:
    transferred = f"{bytes_down(seen) / 1e6:.1f} MB down, {bytes_up(seen) / 1e6:.1f} MB up"
    found = f"{len(seen):,} requests, {round_trips(seen):,} one after the other"
    return f"{found}; {transferred}"


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _object_digest(bench: Bench, key: str) -> str:
    body = bench.client.get_object(Bucket=bench.bucket, Key=key)["Body"]
    digest = hashlib.sha256()
    for piece in body.iter_chunks(1 << 20):
        digest.update(piece)
    return digest.hexdigest()


SECTIONS: dict[str, Callable[[Bench], Iterator[Figure]]] = {
    task.__name__: task for task in (cost, limited, unlimited, many, lookup)
}


@contextlib.contextmanager
def bench() -> Iterator[Bench]:
    """Start the store, empty."""
    DATA.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=DATA) as name:
        folder = Path(name)
        with SeaweedFS(folder / "store") as server:
            yield Bench(server.store, server.store.new_bucket(), folder)


def figures(_repeats: int) -> Iterator[Figure]:
    """Measure all sections."""
    yield from _measured(tuple(SECTIONS))


def _measured(names: Sequence[str]) -> Iterator[Figure]:
    with bench() as ready:
        for name in names:
            print(f"measuring: {name}", file=sys.stderr, flush=True)
            yield from SECTIONS[name](ready)


def main() -> None:
    """Measure what the command line asks for, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections; commas between")
    names = parser.parse_args().only.split(",")
    if unknown := set(names) - set(SECTIONS):
        parser.error(f"no such section: {', '.join(sorted(unknown))}")
    print(report.table(list(_measured(names))))


if __name__ == "__main__":
    main()
