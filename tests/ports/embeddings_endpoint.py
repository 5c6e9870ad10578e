"""A real HTTP server on loopback that speaks the OpenAI embeddings protocol, or says what a test wants."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from hivelore.adapters.embed_hash import HashEmbedder
from hivelore.adapters.embed_vectors import unpack


@dataclass
class Request:
    """What arrived."""

    path: str
    authorization: str | None
    body: dict[str, Any]


@dataclass
class Endpoint:
    """The server's memory. `answers` are used up one a request; without one it answers properly."""

    requests: list[Request] = field(default_factory=list)
    answers: list[tuple[int, dict[str, str], bytes]] = field(default_factory=list)
    url: str = ""
    hold: bool = False  # keep requests that arrive from now on waiting until `release` is set
    release: threading.Event = field(default_factory=threading.Event)
    arrived: threading.Condition = field(default_factory=threading.Condition)

    @property
    def inputs(self) -> list[list[str]]:
        """The texts of every request but the probe that an embedder sends at its start."""
        return [request.body["input"] for request in self.requests if request.body["input"] != ["hivelore"]]

    def wait_for_requests(self, count: int) -> None:
        """Wait until so many requests have arrived."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.requests) >= count, 10)

    def will_answer(self, status: int, body: Any = b"", **headers: str) -> None:
        """Queue an answer for one request."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.answers.append((status, {name.replace("_", "-"): value for name, value in headers.items()}, raw))


def vectors_of(texts: list[str]) -> list[dict[str, Any]]:
    """A proper answer's entries, last text first and not normalised, as the protocol allows both."""
    vectors = [unpack(vector) for vector in HashEmbedder().embed(texts, "passage")]
    return [
        {"object": "embedding", "index": at, "embedding": [3.0 * value for value in vector]}
        for at, vector in reversed(list(enumerate(vectors)))
    ]


@contextmanager
def serve() -> Iterator[Endpoint]:
    """Run the server for a while; its base URL is `endpoint.url`."""
    endpoint = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            hold = endpoint.hold
            with endpoint.arrived:
                endpoint.requests.append(Request(self.path, self.headers.get("Authorization"), body))
                endpoint.arrived.notify_all()
            if hold:
                endpoint.release.wait(10)
            if endpoint.answers:
                status, headers, raw = endpoint.answers.pop(0)
            else:
                status, headers, raw = 200, {}, json.dumps({"data": vectors_of(body["input"])}).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Keep test output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    endpoint.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield endpoint
    finally:
        endpoint.release.set()
        server.shutdown()
        server.server_close()
        thread.join()
