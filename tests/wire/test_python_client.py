"""The official Python client in both eras of the protocol, over HTTP, over its own child process, and over a relay."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from mcp.client.stdio import StdioServerParameters
from mcp_types import TextContent, TextResourceContents
from test_inspector import TOOLS
from wirekit.clients import ERAS, VERSIONS, connected, over_pipes, use, within_limit
from wirekit.processes import Server

DOORS = ("http", "stdio", "relayed stdio")


@pytest.fixture(params=DOORS)
def target(request: pytest.FixtureRequest, data: Path) -> str | StdioServerParameters:
    """Where the client connects to."""
    if request.param == "stdio":
        return over_pipes(data, "--in-process")
    running: Server = request.getfixturevalue("shared_server")
    return running.mcp if request.param == "http" else over_pipes(running.folder)


@pytest.mark.parametrize("era", ERAS)
def test_a_memory_lives_its_whole_life(target: str | StdioServerParameters, era: str) -> None:
    async def life() -> None:
        async with connected(target, era) as client:
            listed = await client.list_tools()
            assert [tool.name for tool in listed.tools] == TOOLS
            assert client.protocol_version == VERSIONS[era]
            assert client.server_info is not None
            assert client.server_info.name == "hivelore"

            stored = await use(client, "remember", content="Ana prefers tabs to spaces.", tags=["ana"])
            (id,) = stored["ids"]
            found = await use(client, "recall", query="tabs or spaces?", tags=["ana"])
            assert [item["id"] for item in found["items"]] == [id]

            changed = await use(client, "update", id=id, content="Ana prefers spaces, since June.")
            assert changed["content"] == "Ana prefers spaces, since June."
            assert (await use(client, "get_memory", id=id))["content"] == "Ana prefers spaces, since June."

            assert (await use(client, "forget", id=id))["deleted"] is True
            assert (await use(client, "recall", query="tabs or spaces?", tags=["ana"]))["items"] == []

    within_limit(life)


@pytest.mark.parametrize("era", ERAS)
def test_a_refusal_is_words_for_the_model_and_not_an_exception(shared_server: Server, era: str) -> None:
    async def refusal() -> None:
        async with connected(shared_server.mcp, era) as client:
            result = await client.call_tool("remember", {"content": "  "})
            assert result.is_error
            assert result.structured_content is None
            assert isinstance(result.content[0], TextContent)
            assert "content is empty" in result.content[0].text

    within_limit(refusal)


@pytest.mark.parametrize("era", ERAS)
def test_the_clients_next_call_works_after_the_server_was_restarted(
    serve: Callable[..., Server], data: Path, era: str
) -> None:
    first = serve()

    async def across_restart() -> None:
        async with connected(first.mcp, era) as client:
            stored = await use(client, "remember", content="Written before the restart.")
            first.kill()
            serve(port=first.port)
            found = await use(client, "get_memory", id=stored["ids"][0])
            assert found["content"] == "Written before the restart."
            await use(client, "remember", content="Written after the restart.")
            listed = await use(client, "list_memories")
            assert listed["total"] == 2

    within_limit(across_restart)


@pytest.mark.parametrize("era", ERAS)
def test_a_relayed_clients_next_call_works_after_the_server_was_restarted_on_another_port(
    serve: Callable[..., Server], data: Path, era: str
) -> None:
    first = serve()

    async def across_restart() -> None:
        async with connected(over_pipes(data), era) as client:
            stored = await use(client, "remember", content="Written before the restart.")
            first.stop()
            second = serve()
            assert second.port != first.port
            found = await use(client, "get_memory", id=stored["ids"][0])
            assert found["content"] == "Written before the restart."

    within_limit(across_restart)


def test_the_resource_is_read_by_the_client(shared_server: Server) -> None:
    async def read() -> None:
        async with connected(shared_server.mcp, "legacy") as client:
            await use(client, "remember", content="日本語のメモ", namespace="notes/日本")
            templates = await client.list_resource_templates()
            assert [each.uri_template for each in templates.resource_templates] == ["memory://{namespace}"]
            answer = await client.read_resource("memory://notes%2F%E6%97%A5%E6%9C%AC")
            assert isinstance(answer.contents[0], TextResourceContents)
            assert answer.contents[0].mime_type == "text/plain"
            assert "\\u65e5\\u672c\\u8a9e" in answer.contents[0].text  # JSON text with escapes (contract)

    within_limit(read)


def test_ping_of_the_protocol_is_answered(shared_server: Server) -> None:
    async def ping() -> None:
        async with connected(shared_server.mcp, "legacy") as client:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the client deprecates it, servers must still answer
                await client.send_ping()

    within_limit(ping)
