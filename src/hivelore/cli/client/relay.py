"""The stdio relay: copies JSON-RPC between a client's pipes and the running server's HTTP endpoint.

Imports neither the MCP SDK nor SQL. Requests run in parallel, answers are written whole. A server that restarts is
found again by its note; while it is away, requests get a JSON-RPC error that says what to start, and the relay lives
on. It ends when standard input ends, when standard output breaks, or when its parent is gone.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

NOTE = "server.json"
PARALLEL = 8
ANSWER_TIMEOUT_S = 300
PROBE_TIMEOUT_S = 1.0
RECONNECT_S = 6.0
RECONNECT_PAUSE_S = 0.2
MAX_LINE_BYTES = 64 * 1024 * 1024

_MODERN_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
# Tools that only read (a test compares this with the tools' own hints; the relay must not import them).
READING_TOOLS = ("ping", "recall", "timeline", "list_memories", "get_memory", "load_session", "list_sessions")
_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_INTERNAL_ERROR, _PARSE_ERROR = -32603, -32700


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The MCP endpoint of a running server, and the folder whose note named it."""

    folder: Path
    host: str
    port: int
    path: str


def find_server(folder: Path) -> Endpoint | None:
    """The server that left its note in the folder, if it answers."""
    try:
        note = json.loads((folder / NOTE).read_text())
        if "pid" in note and not _alive(int(note["pid"])):
            return None  # its port may belong to anybody by now, and a key would be sent there
        url = urlsplit(str(note["url"]))
        endpoint = Endpoint(folder, url.hostname or "127.0.0.1", url.port or 80, str(note["mcp_path"]))
        connection = http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=PROBE_TIMEOUT_S)
        try:
            connection.request("GET", "/healthz")
            return endpoint if connection.getresponse().status == 200 else None
        finally:
            connection.close()
    except (OSError, ValueError, KeyError, TypeError, RecursionError, http.client.HTTPException):
        return None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class Relay:
    """State of one relay: where the server is, and which protocol version the client agreed on."""

    def __init__(self, endpoint: Endpoint, key: str) -> None:
        self._endpoint = endpoint
        self._key = key
        self._version = ""
        self._write_lock = threading.Lock()

    def handle(self, line: bytes) -> None:
        """Send one message of the client and write what comes back."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self.write(_error(None, _PARSE_ERROR, "Parse error: each line must be one JSON-RPC message in UTF-8."))
            return
        if not isinstance(message, dict):
            self.write(_error(None, -32600, "Invalid request: a message must be a JSON object."))
            return
        try:
            answers = self._answers(message)
        except Exception:  # a fault of ours must not leave the client waiting
            words = "The relay could not pass this message on. Whether it was done is not known; look first."
            answers = [_error(message["id"], _INTERNAL_ERROR, words)] if "id" in message else []
        for answer in answers:
            result = answer.get("result")
            if message.get("method") == "initialize" and isinstance(result, dict):
                self._version = _header_safe(str(result.get("protocolVersion", "")))
            self.write(answer)

    def _answers(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        try:
            return self._post(message)
        except _NotSent:
            return self._post_after_restart(message)
        except (OSError, http.client.HTTPException):
            # Sent, but not answered. Only what changes nothing may be sent again: a memory must not be stored twice.
            return self._post_after_restart(message) if _changes_nothing(message) else _unknown_outcome(message)

    def _post_after_restart(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        """Look for the server again for a few seconds and send the message to it."""
        deadline = time.monotonic() + RECONNECT_S
        while time.monotonic() < deadline:
            found = find_server(self._endpoint.folder)
            if found is not None:
                self._endpoint = found
                try:
                    return self._post(message)
                except _NotSent:
                    pass
                except (OSError, http.client.HTTPException):
                    return _unknown_outcome(message)
            time.sleep(RECONNECT_PAUSE_S)
        if "id" not in message:
            return []
        return [
            _error(
                message["id"],
                _INTERNAL_ERROR,
                "The hivelore server does not answer. Start it with: hivelore serve",
            )
        ]

    def _post(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        connection = http.client.HTTPConnection(self._endpoint.host, self._endpoint.port, timeout=ANSWER_TIMEOUT_S)
        try:
            connection.connect()
        except OSError as exc:
            raise _NotSent from exc
        try:
            body = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace")
            connection.request("POST", self._endpoint.path, body, self._headers(message))
            response = connection.getresponse()
            raw = response.read()
        finally:
            connection.close()
        if response.status == 202 or "id" not in message:
            return []
        answers = _messages(response.headers.get("content-type", ""), raw)
        if not any("method" not in answer for answer in answers):  # the client must not wait for ever
            words = f"The server answered with HTTP status {response.status}: {raw[:200].decode('utf-8', 'replace')}"
            return [*answers, _error(message["id"], _INTERNAL_ERROR, words)]
        return [
            each if "method" in each or each.get("id") is not None else each | {"id": message["id"]} for each in answers
        ]

    def _headers(self, message: dict[str, Any]) -> dict[str, str]:
        """The headers that the HTTP transport asks for; newer protocol versions repeat parts of the message there."""
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "user-agent": "hivelore-stdio",
        }
        if self._key:
            headers["authorization"] = f"Bearer {self._key}"
        parameters = message.get("params")
        parameters = parameters if isinstance(parameters, dict) else {}
        meta = parameters.get("_meta")
        modern = meta.get(_MODERN_VERSION_KEY) if isinstance(meta, dict) else None
        if isinstance(modern, str):
            method = str(message.get("method", ""))
            headers |= {"mcp-protocol-version": _header_safe(modern), "mcp-method": _header_safe(method)}
            name = parameters.get(_NAMED_BY.get(method, ""))
            if isinstance(name, str):
                headers["mcp-name"] = _header_safe(name)
        elif self._version:
            headers["mcp-protocol-version"] = self._version
        return headers

    def write(self, answer: dict[str, Any]) -> None:
        line = json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
        with self._write_lock:
            try:
                sys.stdout.buffer.write(line)
                sys.stdout.buffer.flush()
            except (OSError, ValueError):
                os._exit(0)  # the client is gone; there is nobody left to tell


class _NotSent(Exception):
    """The server could not be reached, so it has not seen the message."""


def _changes_nothing(message: dict[str, Any]) -> bool:
    """Whether a message may be sent twice without harm."""
    if message.get("method") != "tools/call":
        return True
    parameters = message.get("params")
    return isinstance(parameters, dict) and parameters.get("name") in READING_TOOLS


def _unknown_outcome(message: dict[str, Any]) -> list[dict[str, Any]]:
    words = "The hivelore server went away before it answered. Whether this was done is not known; look first."
    return [_error(message["id"], _INTERNAL_ERROR, words)] if "id" in message else []


def _header_safe(text: str) -> str:
    """A header value carries printable ASCII only, and no blanks around it; other texts travel as base64, in the form
    the protocol prescribes."""
    plain = text.isascii() and text.isprintable() and text == text.strip()
    if plain and not (text.startswith("=?base64?") and text.endswith("?=")):
        return text
    import base64

    return f"=?base64?{base64.b64encode(text.encode('utf-8', 'replace')).decode()}?="


def _messages(kind: str, raw: bytes) -> list[dict[str, Any]]:
    """The JSON-RPC messages of an answer; none when it is something else."""
    text = raw.decode("utf-8", "replace")
    found: list[dict[str, Any]] = []
    for data in _event_data(text) if "text/event-stream" in kind else [text]:
        try:
            message = json.loads(data)
        except (ValueError, RecursionError):
            continue
        if isinstance(message, dict) and message.get("jsonrpc"):
            found.append(message)
    return found


def _event_data(text: str) -> list[str]:
    """The data of each server-sent event."""
    return [
        "\n".join(
            line.removeprefix("data:").removeprefix(" ") for line in event.split("\n") if line.startswith("data:")
        )
        for event in text.replace("\r\n", "\n").split("\n\n")
        if event.strip()
    ]


def _error(id: Any, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}


def run(endpoint: Endpoint, key: str) -> int:
    """Relay until standard input ends."""
    relay = Relay(endpoint, key)
    end_with_parent()
    with ThreadPoolExecutor(PARALLEL) as pool:
        while True:
            line = sys.stdin.buffer.readline(MAX_LINE_BYTES)
            if not line:
                return 0
            if not line.strip():
                continue
            if b'"initialize"' in line:
                relay.handle(line)  # what follows depends on the version agreed here
            else:
                pool.submit(relay.handle, line)


def end_with_parent() -> None:
    """End this process when the one that started it is gone; some clients die without closing our input."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(2)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
