"""A server that is GCS and Azure to obstore, honours conditions, and fails when it is told to."""

from __future__ import annotations

import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Fault = Callable[[int, str, str], str]

KEPT = ("x-ms-meta-", "x-goog-meta-", "x-ms-blob-", "content-type", "cache-control")
DATE = formatdate(1_700_000_000, usegmt=True)


@dataclass
class Stored:
    """An object."""

    data: bytes
    generation: int
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def etag(self) -> str:
        """With quotes."""
        return f'"0x{self.generation:X}"'


class Cloud:
    """The objects of one server, and what was asked of it."""

    def __init__(self) -> None:
        self.objects: dict[str, Stored] = {}
        """By bucket and key, `bucket/key`."""
        self.log: list[tuple[str, str]] = []
        """Method and path of every request."""
        self.fault: Fault = lambda _number, _method, _path: ""
        """Says what goes wrong at a request, which is given by its number, method and path: "" for
        nothing, "cut" before it is carried out, "lost" afterwards, or a status."""
        self.lock = threading.RLock()
        self.generation = 1000
        self.url = ""
        """Where it listens."""

    def put(self, path: str, data: bytes, **headers: str) -> Stored:
        """Write an object as another program would."""
        with self.lock:
            self.generation += 1
            self.objects[path] = stored = Stored(data, self.generation, headers)
            return stored


def _holds(request: BaseHTTPRequestHandler, found: Stored | None) -> bool:
    """Whether the conditions of a request hold."""
    generation = request.headers.get("x-goog-if-generation-match")
    if generation is not None and int(generation) != (found.generation if found else 0):
        return False
    if request.headers.get("If-None-Match") == "*" and found is not None:
        return False
    wanted = request.headers.get("If-Match")
    return wanted is None or (found is not None and found.etag == wanted)


@contextmanager
def serving(cloud: Cloud) -> Iterator[str]:  # noqa: C901  the handler stands inside
    """Serve objects on a port of this machine; yield the URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  as the base has it
            """Nothing."""

        def do_HEAD(self) -> None:
            self.handle_one("HEAD")

        def do_GET(self) -> None:
            self.handle_one("GET")

        def do_PUT(self) -> None:
            self.handle_one("PUT")

        def do_POST(self) -> None:
            self.handle_one("POST")

        def do_DELETE(self) -> None:
            self.handle_one("DELETE")

        def handle_one(self, method: str) -> None:
            split = urlsplit(self.path)
            path = unquote(split.path).lstrip("/")
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            with cloud.lock:
                number = len(cloud.log)
                cloud.log.append((method, path))
                fault = cloud.fault(number, method, path)
                if fault == "cut":
                    self.close()
                    return
                if fault.isdigit():
                    self.answer(int(fault), {}, b"<Error><Code>Told</Code></Error>")
                    return
                query = {key: values[0] for key, values in parse_qs(split.query).items()}
                status, headers, data = self.carry_out(method, path, query, body)
                if fault == "lost":
                    self.close()
                    return
            self.answer(status, headers, data, cut=fault == "short")

        def close(self) -> None:
            self.close_connection = True
            self.connection.close()

        def answer(
            self, status: int, headers: dict[str, str], data: bytes, *, cut: bool = False
        ) -> None:
            self.send_response(status)
            length = headers.pop("Content-Length", str(len(data)))
            for name, value in {**headers, "Content-Length": length, "Date": DATE}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data[: len(data) // 2] if cut else data)
            if cut:
                self.close_connection = True

        def carry_out(  # noqa: PLR0911  one for each kind
            self, method: str, path: str, query: dict[str, str], body: bytes
        ) -> tuple[int, dict[str, str], bytes]:
            if query.get("comp") == "batch":
                return _deleted(cloud, body.decode())
            if "comp" in query or "list-type" in query:
                return 200, {"Content-Type": "application/xml"}, listing(cloud, path, query)
            found = cloud.objects.get(path)
            if method == "PUT":
                if not _holds(self, found):
                    exists = self.headers.get("If-None-Match") == "*"
                    return (409 if exists else 412), {}, b"<Error><Code>Condition</Code></Error>"
                cloud.generation += 1
                kept = {
                    name.lower(): value
                    for name, value in self.headers.items()
                    if name.lower().startswith(KEPT)
                }
                stored = cloud.objects[path] = Stored(body, cloud.generation, kept)
                return 201, _headers(stored), b""
            if found is None:
                return 404, {}, b""
            if not _holds(self, found):
                return 412, {}, b""
            if method == "DELETE":
                del cloud.objects[path]
                return (202 if "x-ms-version" in self.headers else 204), {}, b""
            return _ranged(found, method, self.headers.get("Range"))

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _deleted(cloud: Cloud, body: str) -> tuple[int, dict[str, str], bytes]:
    """Carry out what Azure calls a batch, of requests that delete blobs."""
    parts = []
    for number, path in enumerate(re.findall(r"^DELETE /([^ ?]*)", body, re.MULTILINE)):
        found = cloud.objects.pop(unquote(path), None)
        status = "404 Not Found" if found is None else "202 Accepted"
        parts.append(
            f"--batch\r\nContent-Type: application/http\r\nContent-ID: {number}\r\n\r\n"
            f"HTTP/1.1 {status}\r\nx-ms-version: 2023-11-03\r\n\r\n"
        )
    text = "".join(parts) + "--batch--\r\n"
    return 202, {"Content-Type": "multipart/mixed; boundary=batch"}, text.encode()


def _headers(stored: Stored) -> dict[str, str]:
    spelled = {name.replace("x-ms-blob-", ""): value for name, value in stored.headers.items()}
    return {
        **spelled,
        "ETag": stored.etag,
        "x-goog-generation": str(stored.generation),
        "Last-Modified": DATE,
    }


def _ranged(stored: Stored, method: str, wanted: str | None) -> tuple[int, dict[str, str], bytes]:
    headers = _headers(stored)
    if method == "HEAD":
        return 200, {**headers, "Content-Length": str(len(stored.data))}, b""
    if wanted is None:
        return 200, headers, stored.data
    match = re.fullmatch(r"bytes=(\d+)-(\d+)", wanted)
    assert match is not None
    start, stop = int(match[1]), min(int(match[2]) + 1, len(stored.data))
    headers["Content-Range"] = f"bytes {start}-{stop - 1}/{len(stored.data)}"
    return 206, headers, stored.data[start:stop]


def listing(cloud: Cloud, bucket: str, query: dict[str, str]) -> bytes:
    """Answer a listing, in the words of the store that is asked."""
    start = f"{bucket}/" + query.get("prefix", "")
    found = sorted((path, one) for path, one in cloud.objects.items() if path.startswith(start))
    cut = len(f"{bucket}/")
    after = query.get("start-after", "")
    found = [(path, one) for path, one in found if path[cut:] > after]
    folders: list[str] = []
    if query.get("delimiter"):
        below = {path: path[len(start) :].partition("/") for path, _ in found}
        folders = sorted({f"{start[cut:]}{name}/" for name, slash, _ in below.values() if slash})
        found = [(path, one) for path, one in found if not below[path][1]]
    if "comp" in query:
        prefixes = "".join(
            f"<BlobPrefix><Name>{escape(one)}</Name></BlobPrefix>" for one in folders
        )
        blobs = "".join(
            f"<Blob><Name>{escape(path[cut:])}</Name><Properties>"
            f"<Last-Modified>{DATE}</Last-Modified><Content-Length>{len(one.data)}</Content-Length>"
            f"<Content-Type>x/y</Content-Type><Etag>{one.etag}</Etag></Properties></Blob>"
            for path, one in found
        )
        text = (
            f'<?xml version="1.0"?><EnumerationResults><Blobs>{blobs}{prefixes}</Blobs>'
            "<NextMarker/></EnumerationResults>"
        )
        return text.encode()
    keys = "".join(
        f"<Contents><Key>{escape(path[cut:])}</Key><Size>{len(one.data)}</Size>"
        f"<LastModified>2023-11-14T22:13:20.000Z</LastModified><ETag>{one.etag}</ETag></Contents>"
        for path, one in found
    )
    keys += "".join(
        f"<CommonPrefixes><Prefix>{escape(one)}</Prefix></CommonPrefixes>" for one in folders
    )
    return f'<?xml version="1.0"?><ListBucketResult>{keys}</ListBucketResult>'.encode()
