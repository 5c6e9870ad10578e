"""A thin MCP client for measuring: raw JSON-RPC over one kept connection, so that the client costs little."""

from __future__ import annotations

import http.client
import json
import time
from typing import Any

HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


class Wire:
    """One client of one MCP endpoint on 127.0.0.1."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self._id = 0

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool; returns its structured answer, raises on any error."""
        self._id += 1
        message = {
            "jsonrpc": "2.0",
            "id": self._id,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        }
        self._connection.request("POST", "/mcp", json.dumps(message), HEADERS)
        raw = self._connection.getresponse().read().decode()
        data = (
            next(line[5:] for line in raw.splitlines() if line.startswith("data:")) if raw.startswith("event") else raw
        )
        result = json.loads(data)["result"]
        if result.get("isError"):
            raise RuntimeError(result["content"][0]["text"])
        answer: dict[str, Any] = result["structuredContent"]
        return answer

    def timed_ms(self, tool: str, arguments: dict[str, Any]) -> float:
        started = time.perf_counter()
        self.call(tool, arguments)
        return (time.perf_counter() - started) * 1000
