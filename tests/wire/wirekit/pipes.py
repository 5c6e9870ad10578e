"""`hivelore stdio` at the level of lines: what is written to its standard input, what comes out, and how it ends."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from wirekit.processes import COMMAND, QUICK, STOP_LIMIT_S, environment

LINE_LIMIT_S = 30.0


class Pipe:
    """A child that speaks one JSON-RPC message a line."""

    def __init__(self, process: subprocess.Popen[bytes], errors: Path) -> None:
        self.process = process
        self.errors = errors
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with suppress(ValueError, OSError):
            for line in self.process.stdout:
                self._lines.put(line)
        self._lines.put(None)

    def write(self, line: bytes) -> None:
        """Send one line as it is."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, message: dict[str, Any]) -> None:
        """Send one message."""
        self.write(json.dumps(message, ensure_ascii=False).encode())

    def receive(self, within_s: float = LINE_LIMIT_S) -> dict[str, Any]:
        """The next message. Anything on standard output that is no JSON-RPC message fails the test."""
        try:
            line = self._lines.get(timeout=within_s)
        except queue.Empty:
            raise AssertionError(f"nothing was answered within {within_s:g} s; log: {self.log}") from None
        assert line is not None, f"standard output ended; log: {self.log}"
        message = json.loads(line)
        assert isinstance(message, dict) and message.get("jsonrpc") == "2.0", line
        return message

    def ask(
        self, method: str, params: Any = None, *, request_id: Any = 1, within_s: float = LINE_LIMIT_S
    ) -> dict[str, Any]:
        """Send a request and return the answer to it, which must be the next message."""
        request: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id, "method": method}
        if params is not None:
            request["params"] = params
        self.send(request)
        answer = self.receive(within_s)
        assert answer.get("id") == request_id, answer
        return answer

    def initialize(self) -> dict[str, Any]:
        """The handshake of the older protocol."""
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "wire-test", "version": "1"},
        }
        answer = self.ask("initialize", hello, request_id="hello")
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return dict(answer["result"])

    def call(self, tool: str, /, *, request_id: Any = 1, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed; returns its answer."""
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments}, request_id=request_id)
        assert "result" in answer, answer
        assert not answer["result"].get("isError"), answer
        return dict(answer["result"]["structuredContent"])

    def rest(self) -> list[bytes]:
        """Every line that was not received yet, once standard output has ended."""
        lines = []
        while (line := self._lines.get(timeout=LINE_LIMIT_S)) is not None:
            lines.append(line)
        return lines

    def close(self) -> int:
        """End standard input, as a client does that is done; returns the exit code. `rest` gives what still came."""
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()
        return self.process.wait(STOP_LIMIT_S)

    @property
    def log(self) -> str:
        return self.errors.read_text()


@contextmanager
def piped(
    folder: Path, *options: str, embedder: tuple[str, ...] = QUICK, env: dict[str, str] | None = None
) -> Iterator[Pipe]:
    """`hivelore stdio` on a data folder: in process, unless a server has left its note there."""
    number = len(list(folder.parent.glob(f"{folder.name}.*.stdio-err"))) + 1
    errors = folder.with_name(f"{folder.name}.{number}.stdio-err")
    with errors.open("wb") as err:
        process = subprocess.Popen(
            [*COMMAND, "stdio", "--data", str(folder), *embedder, *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=err,
            env=env or environment(),
        )
    pipe = Pipe(process, errors)
    try:
        yield pipe
    finally:
        with suppress(OSError):
            assert process.stdin is not None
            process.stdin.close()
        try:
            process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP_LIMIT_S)
            raise
        finally:
            assert process.stdout is not None
            process.stdout.close()


def is_alive(pid: int) -> bool:
    """Whether a process runs (one that has ended and that nobody has waited for does not)."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
