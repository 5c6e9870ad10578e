"""HTTP as it goes over the socket, and JSON-RPC in it: for what a well-behaved client never sends."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

LIMIT_S = 30.0
MCP_HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


@dataclass(frozen=True)
class Answer:
    """One HTTP answer; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def message(self) -> dict[str, Any]:
        """The one JSON-RPC message in the body, bare or as a server-sent event."""
        if not self.headers.get("content-type", "").startswith("text/event-stream"):
            return dict(self.json)
        found = [line.removeprefix("data:") for line in self.text.splitlines() if line.startswith("data:")]
        assert len(found) == 1, self.text
        return dict(json.loads(found[0]))


def ask(
    base: str, method: str, path: str, body: bytes | str | None = None, headers: Mapping[str, str] | None = None
) -> Answer:
    """Send one request to the server at `base`. A `host` among the headers replaces the true one."""
    target = urlsplit(base)
    connection = http.client.HTTPConnection(target.hostname or "", target.port, timeout=LIMIT_S)
    try:
        connection.request(method, path, body.encode() if isinstance(body, str) else body, dict(headers or {}))
        answer = connection.getresponse()
        named = {name.lower(): value for name, value in answer.getheaders()}
        # A stream that the server keeps open has no end to read to.
        raw = b"" if _endless(method, answer) else answer.read()
        return Answer(answer.status, named, raw)
    finally:
        connection.close()


def _endless(method: str, answer: http.client.HTTPResponse) -> bool:
    return method == "GET" and (answer.getheader("content-type") or "").startswith("text/event-stream")


def post(endpoint: str, body: Any, headers: Mapping[str, str] | None = None) -> Answer:
    """POST to an MCP endpoint: bytes and text as they are, anything else as JSON."""
    target = urlsplit(endpoint)
    raw = body if isinstance(body, bytes | str) else json.dumps(body, ensure_ascii=False)
    return ask(endpoint, "POST", target.path, raw, {**MCP_HEADERS, **(headers or {})})


def rpc(endpoint: str, method: str, params: Any = None, *, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Call a JSON-RPC method of the older protocol and return the message that comes back."""
    request: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": method}
    if params is not None:
        request["params"] = params
    answer = post(endpoint, request, headers)
    assert answer.status == 200, (answer.status, answer.text)
    return answer.message


def call(endpoint: str, tool: str, /, *, key: str | None = None, **arguments: Any) -> dict[str, Any]:
    """Call a tool; returns the `result` with `isError`, `content` and perhaps `structuredContent`."""
    headers = {"authorization": f"Bearer {key}"} if key else None
    message = rpc(endpoint, "tools/call", {"name": tool, "arguments": arguments}, headers=headers)
    return dict(message["result"])


def done(endpoint: str, tool: str, /, *, key: str | None = None, **arguments: Any) -> dict[str, Any]:
    """Call a tool that must succeed; returns its answer."""
    result = call(endpoint, tool, key=key, **arguments)
    assert not result.get("isError"), result
    return dict(result["structuredContent"])


def refused(endpoint: str, tool: str, /, *, key: str | None = None, **arguments: Any) -> str:
    """Call a tool that must refuse; returns the words of its error."""
    result = call(endpoint, tool, key=key, **arguments)
    assert result.get("isError") is True, result
    assert result.get("structuredContent") is None
    return str(result["content"][0]["text"])


class Caller:
    """A client that keeps its connection, calls tools, and may be used by one thread."""

    def __init__(self, endpoint: str) -> None:
        target = urlsplit(endpoint)
        self._path = target.path
        self._connection = http.client.HTTPConnection(target.hostname or "", target.port, timeout=LIMIT_S)

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed; returns its answer. OSError or HTTPException when the server is gone."""
        parameters = {"name": tool, "arguments": arguments}
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}
        self._connection.request("POST", self._path, json.dumps(request).encode(), MCP_HEADERS)
        response = self._connection.getresponse()
        answer = Answer(response.status, {"content-type": response.getheader("content-type", "")}, response.read())
        assert answer.status == 200, answer.text
        result = answer.message["result"]
        assert not result.get("isError"), result
        return dict(result["structuredContent"])

    def close(self) -> None:
        self._connection.close()
