"""What the tool list costs a model that reads it, counted on the exact bytes that a client receives (MC-07)."""

from __future__ import annotations

from typing import Any

from wirekit.node import o200k_tokens
from wirekit.processes import Server
from wirekit.web import post

# The whole answer; the list itself is what clients put before the model. Raise neither to make room for one more tool.
LIMIT_TOKENS = 3_500


def listed(server: Server) -> str:
    """The JSON of the answer to tools/list, as it came over the wire."""
    answer = post(server.mcp, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    (line,) = [line for line in answer.text.splitlines() if line.startswith("data:")]
    return line.removeprefix("data:").strip()


def test_the_tools_of_the_default_profile_fit_their_budget(shared_server: Server) -> None:
    tokens = o200k_tokens(listed(shared_server))
    assert 500 < tokens < LIMIT_TOKENS  # far fewer would mean that something else was counted


def test_the_token_counter_counts() -> None:
    assert o200k_tokens("hello world") == 2
    assert o200k_tokens("記憶を検索する") == 6


def test_the_tools_promise_what_clients_rely_on(shared_server: Server) -> None:
    message: dict[str, Any] = post(shared_server.mcp, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).message
    tools = {tool["name"]: tool for tool in message["result"]["tools"]}
    for tool in tools.values():
        assert tool["description"]
        assert tool["inputSchema"]["additionalProperties"] is False
        assert tool["outputSchema"] == {"type": "object", "additionalProperties": True}
    assert tools["remember"]["inputSchema"]["required"] == ["content"]
    assert tools["recall"]["annotations"]["readOnlyHint"] is True
    assert tools["forget"]["annotations"]["destructiveHint"] is True
