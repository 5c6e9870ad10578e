"""The resource memory://{namespace} over the wire."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from wirekit.processes import Server
from wirekit.web import done, rpc


def read(server: Server, uri: str) -> Any:
    """The parsed text of a resource that must exist."""
    (content,) = rpc(server.mcp, "resources/read", {"uri": uri})["result"]["contents"]
    assert content["uri"] == uri
    assert content["mimeType"] == "text/plain"
    return json.loads(content["text"])


def test_the_template_is_listed_and_no_resource_is(shared_server: Server) -> None:
    (template,) = rpc(shared_server.mcp, "resources/templates/list")["result"]["resourceTemplates"]
    assert template["uriTemplate"] == "memory://{namespace}"
    assert template["mimeType"] == "text/plain"
    assert rpc(shared_server.mcp, "resources/list")["result"]["resources"] == []


@pytest.mark.parametrize("name", ["plain", "with space", "a/b", "項目", "100%", "a?b#c"])
def test_a_namespace_is_read_by_its_percent_encoded_name(shared_server: Server, name: str) -> None:
    stored = done(shared_server.mcp, "remember", content="one", namespace=f"resources {name}")
    page = read(shared_server, f"memory://{quote(f'resources {name}', safe='')}")
    assert [item["id"] for item in page["items"]] == stored["ids"]
    assert (page["total"], page["has_more"], page["next_cursor"]) == (1, False, None)


def test_a_star_is_everything_readable(shared_server: Server) -> None:
    stored = done(shared_server.mcp, "remember", content="one of all", namespace="resources of all")
    assert stored["ids"][0] in [item["id"] for item in read(shared_server, "memory://%2A")["items"]]


def test_the_text_is_json_with_escapes(shared_server: Server) -> None:
    done(shared_server.mcp, "remember", content="項目", namespace="resources-escaped")
    uri = "memory://resources-escaped"
    (content,) = rpc(shared_server.mcp, "resources/read", {"uri": uri})["result"]["contents"]
    assert content["text"].isascii()
    assert json.loads(content["text"])["items"][0]["content"] == "項目"


def test_an_empty_namespace_is_an_empty_page(shared_server: Server) -> None:
    assert read(shared_server, "memory://nothing-here")["items"] == []


@pytest.mark.parametrize("uri", ["memory://a/b", "memory://", "file:///etc/passwd", "test://x", "no-uri"])
def test_anything_else_is_no_resource(shared_server: Server, uri: str) -> None:
    error = rpc(shared_server.mcp, "resources/read", {"uri": uri})["error"]
    assert error["code"] == -32602
    assert "no resource" in error["message"]


def test_a_name_that_is_too_long_is_an_error_in_words(shared_server: Server) -> None:
    error = rpc(shared_server.mcp, "resources/read", {"uri": "memory://" + "n" * 1_000})["error"]
    assert error["code"] in (-32602, -32603)
    assert "256" in error["message"]
