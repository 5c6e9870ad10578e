"""Bearer keys over the wire, and what a server refuses to start with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from wirekit.pipes import piped
from wirekit.processes import Server, environment, run, serving
from wirekit.web import ask, call, done, post, refused, rpc

KEYS = "ana-key:ana,bo-key:bo"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with keys for two users."""
    folder = tmp_path_factory.mktemp("keys") / "data"
    with serving(folder, env=environment(HIVELORE_API_KEYS=KEYS)) as running:
        yield running


def test_a_stranger_may_look_at_the_server_and_call_nothing(guarded: Server) -> None:
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    assert rpc(guarded.mcp, "initialize", hello)["result"]["serverInfo"]["name"] == "hivelore"
    assert rpc(guarded.mcp, "resources/templates/list")["result"]["resourceTemplates"]
    assert done(guarded.mcp, "ping")["ok"] is True

    for tool in rpc(guarded.mcp, "tools/list")["result"]["tools"]:
        if tool["name"] != "ping":
            arguments = dict.fromkeys(tool["inputSchema"].get("required", []), "x")
            assert "Authentication failed: missing Authorization header" in refused(
                guarded.mcp, tool["name"], **arguments
            )
    error = rpc(guarded.mcp, "resources/read", {"uri": "memory://shared"})["error"]
    assert error["code"] == -32603
    assert "Authentication failed" in error["message"]


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("Bearer wrong", "invalid API key"),
        ("Bearer ana-key:ana", "invalid API key"),
        ("Bearer", "Authorization header must be"),
        ("Basic YW5hOng=", "Authorization header must be"),
        ("ana-key", "Authorization header must be"),
    ],
)
def test_a_bad_key_is_a_tool_error_that_says_what_is_wrong(guarded: Server, header: str, words: str) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_memories", "arguments": {}}}
    answer = post(guarded.mcp, body, {"authorization": header})
    assert answer.status == 200
    assert answer.message["result"]["isError"] is True
    said = answer.message["result"]["content"][0]["text"]
    assert said.startswith("Authentication failed")
    assert words in said
    assert header.rpartition(" ")[2] not in said.replace("Bearer <key>", "")


def test_the_word_bearer_is_read_in_any_case(guarded: Server) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_memories", "arguments": {}}}
    assert not post(guarded.mcp, body, {"authorization": "bEaReR ana-key"}).message["result"].get("isError")


@pytest.mark.promise("P-035", "P-039")
def test_each_key_is_its_own_user(guarded: Server) -> None:
    (public,) = done(guarded.mcp, "remember", key="ana-key", content="Known to all.")["ids"]
    (private,) = done(guarded.mcp, "remember", key="ana-key", content="Known to Ana.", namespace="diary")["ids"]

    assert done(guarded.mcp, "get_memory", key="bo-key", id=public)["content"] == "Known to all."
    assert "no memory with id" in refused(guarded.mcp, "get_memory", key="bo-key", id=private)
    assert done(guarded.mcp, "forget", key="bo-key", id=public)["deleted"] is False
    assert done(guarded.mcp, "get_memory", key="ana-key", id=private)["content"] == "Known to Ana."
    seen = done(guarded.mcp, "recall", key="bo-key", query="known", namespace="*")["items"]
    assert public in [item["id"] for item in seen]
    assert private not in [item["id"] for item in seen]


def test_a_relay_presents_the_key_of_its_settings(guarded: Server) -> None:
    with piped(guarded.folder, env=environment(HIVELORE_API_KEYS="bo-key:bo")) as child:
        child.initialize()
        (id,) = child.call("remember", content="Written by way of a relay.", namespace="bos")["ids"]
    assert done(guarded.mcp, "get_memory", key="bo-key", id=id)["namespace"] == "bos"
    assert "no memory with id" in refused(guarded.mcp, "get_memory", key="ana-key", id=id)


def test_a_relay_without_a_key_is_told_so(guarded: Server) -> None:
    with piped(guarded.folder) as child:
        child.initialize()
        result = child.ask("tools/call", {"name": "list_memories", "arguments": {}})["result"]
    assert result["isError"] is True
    assert "Authentication failed: missing Authorization header" in result["content"][0]["text"]


def test_no_key_appears_in_what_the_server_writes(guarded: Server) -> None:
    done(guarded.mcp, "remember", key="ana-key", content="Known to all.")
    call(guarded.mcp, "list_memories", key="a-key-that-is-wrong")
    said = guarded.log + guarded.said.read_text()
    assert "target=remember" in said
    assert not [key for key in ("ana-key", "bo-key", "a-key-that-is-wrong") if key in said]


def test_rest_asks_for_the_key_with_its_own_status(guarded: Server) -> None:
    path = "/api/v1/memory/search"
    assert ask(guarded.url, "POST", path, '{"query": "x"}').status == 401
    assert ask(guarded.url, "POST", path, '{"query": "x"}', {"authorization": "Bearer bo-key"}).status == 200
    assert ask(guarded.url, "GET", "/api/v1/health").status == 200


@pytest.mark.promise("M-096")
def test_an_address_that_others_can_reach_needs_keys(data: Path) -> None:
    ran = run("serve", "--host", "0.0.0.0", "--port", "0", "--data", str(data))
    assert ran.code == 64
    assert "HIVELORE_API_KEYS" in ran.err
    assert "0.0.0.0" in ran.err
    assert not data.exists()


def test_an_address_that_others_can_reach_is_served_with_keys(serve: Callable[..., Server]) -> None:
    running = serve("--host", "0.0.0.0", env=environment(HIVELORE_API_KEYS=KEYS))
    assert done(running.mcp, "remember", key="ana-key", content="x")["ids"]
    assert "YOUR_KEY" in running.said.read_text()
