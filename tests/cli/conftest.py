"""The command as a function, the command as a process, and a small real HTTP server that speaks /api/v1."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import hivelore
from hivelore.cli.main import main

PREFIXES = ("HIVELORE_", "POLYMNEMO_", "MEMMY_", "MEMORY_SERVICE_")
PLAIN = ("PORT", "DATABASE_URL", "COLUMNS", "FORCE_COLOR")


@dataclass(frozen=True)
class Ran:
    """What a run of the command gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture(autouse=True)
def own_world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty home and working folder, no variables of ours: the developer's own stay out of tests."""
    for name in [n for n in os.environ if n.startswith(PREFIXES) or n in PLAIN]:
        monkeypatch.delenv(name)
    (tmp_path / "home").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("PYTHONPATH", str(Path(hivelore.__file__).parent.parent))
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


@pytest.fixture
def config_file(own_world: Path) -> Path:
    """Path of the user's config file; its folder exists, the file does not."""
    path = own_world / "home" / ".hivelore" / "config.yaml"
    path.parent.mkdir()
    return path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Call the command in this process."""

    def call(*argv: str) -> Ran:
        code = main(list(argv))
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return call


@pytest.fixture
def process() -> Callable[..., Ran]:
    """Run `python -m hivelore` as a process of its own."""

    def call(*argv: str, stdin: bytes = b"", python: tuple[str, ...] = (), **env: str) -> Ran:
        done = subprocess.run(
            [sys.executable, *python, "-m", "hivelore", *argv],
            input=stdin,
            capture_output=True,
            env={**os.environ, **env},
            timeout=60,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    return call


@dataclass
class Asked:
    """One request that the server saw."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Server:
    """A server whose next answers a test may set: (status, headers, body bytes) by "METHOD /path"."""

    port: int = 0
    asked: list[Asked] = field(default_factory=list)
    answers: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer(self, call: str, status: int, body: Any, **headers: str) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
        self.answers[call] = (status, headers, raw)

    def fail(self, call: str, status: int, code: str, message: str, **headers: str) -> None:
        self.answer(call, status, {"error": {"code": code, "message": message, "requestId": "req-7"}}, **headers)

    def default(self, asked: Asked) -> Any:
        memory = "trace_f96c094e6312eada5bea"
        path = asked.path.partition("?")[0]
        if (asked.method, path) == ("GET", "/api/v1/health"):
            return HEALTH
        if (asked.method, path) == ("POST", "/api/v1/memory/search"):
            return {"injectedContext": "## L1 Trace Memories", "debug": {"hits": HITS, "status": []}}
        if (asked.method, path) == ("POST", "/api/v1/memory/add"):
            return ADDED | {"tags": asked.body.get("tags", [])}
        if asked.method == "DELETE":
            return {"ok": True, "id": path.rpartition("/")[2], "kind": "trace", "status": "deleted"}
        return DETAIL | {"id": memory}


HEALTH = {
    "ok": True,
    "version": "0.1.0",
    "uptimeMs": 7_500_000,
    "mode": "local",
    "storage": {"backend": "sqlite", "ready": True},
    "models": {
        "summary": {"provider": "", "model": "", "configured": False, "remote": False},
        "embedding": {"provider": "local", "model": "e5", "configured": True, "remote": False},
    },
    "serverTime": "2026-05-01T10:00:00.000Z",
}
HITS = [
    {
        "id": "trace_f96c094e6312eada5bea",
        "kind": "trace",
        "memoryLayer": "L1",
        "status": "activated",
        "title": "manual:dfe347ff9953ce79c96b",
        "snippet": "Staging database migrates on every deploy; run make migrate first.",
        "score": 1.0066,
        "tags": ["database"],
        "updatedAt": "2020-05-01T10:00:00.000Z",
        "source": "search",
    },
    {
        "id": "policy_4685ffa7d71cfcc23a0a",
        "kind": "policy",
        "memoryLayer": "L2",
        "snippet": "部署前先备份数据库。",
        "score": 0.5,
        "tags": [],
        "updatedAt": "2020-05-02T10:00:00.000Z",
    },
]
ADDED = {
    "id": "trace_4685ffa7d71cfcc23a0a",
    "kind": "trace",
    "memoryLayer": "L1",
    "status": "activated",
    "title": "Staging database migrates",
    "summary": "",
    "createdAt": "2026-05-01T10:00:00.000Z",
    "serverTime": "2026-05-01T10:00:00.010Z",
}
DETAIL = {
    "kind": "trace",
    "memoryLayer": "L1",
    "status": "activated",
    "title": "List the failing tests",
    "summary": "short",
    "tags": ["codex", "shell"],
    "updatedAt": "2020-03-04T05:06:07.000Z",
    "createdAt": "2020-03-04T05:06:07.000Z",
    "version": 1,
    "body": "User:\nList the failing tests\n\nAssistant:\nTwo tests fail.",
}


@pytest.fixture
def server() -> Iterator[Server]:
    """A server on a free port; HIVELORE_URL does not name it, a test says how it is found."""
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def reply(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length", 0)))
            asked = Asked(
                self.command,
                self.path,
                {name.lower(): value for name, value in self.headers.items()},
                json.loads(raw) if raw else None,
            )
            state.asked.append(asked)
            call = f"{self.command} {self.path}"
            status, headers, body = state.answers.get(call) or (
                200,
                {},
                json.dumps(state.default(asked)).encode(),
            )
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("content-type", "application/json; charset=utf-8")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_DELETE = reply

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.port = httpd.server_address[1]
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield state
    httpd.shutdown()
    httpd.server_close()
    thread.join()
