"""The MCP project's inspector, as a person would use it from a shell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from wirekit.node import program
from wirekit.processes import COMMAND, QUICK, SOURCE, Server

TOOLS = [
    "ping",
    "remember",
    "recall",
    "timeline",
    "list_memories",
    "get_memory",
    "update",
    "forget",
    "save_session",
    "load_session",
    "list_sessions",
    "forget_session",
]


@pytest.fixture(params=["http", "stdio", "relayed stdio"])
def target(request: pytest.FixtureRequest, data: Path) -> list[str]:
    """Words that tell the inspector where the server is."""
    if request.param == "stdio":
        return _child(data, "--in-process")
    running: Server = request.getfixturevalue("shared_server")
    return [running.mcp, "--transport", "http"] if request.param == "http" else _child(running.folder)


def _child(data: Path, *options: str) -> list[str]:
    return ["-e", f"PYTHONPATH={SOURCE}", COMMAND[0], *COMMAND[1:], "stdio", "--data", str(data), *QUICK, *options]


def inspect(target: list[str], *words: str) -> dict[str, Any]:
    """Run the inspector's command line once; returns what it prints."""
    ran = program("mcp-inspector", "--cli", *target, *words)
    assert ran.returncode == 0, ran.stderr + ran.stdout
    return dict(json.loads(ran.stdout))


def test_the_inspector_lists_the_tools_and_recalls_what_it_remembered(
    target: list[str], request: pytest.FixtureRequest
) -> None:
    listed = inspect(target, "--method", "tools/list")
    assert [tool["name"] for tool in listed["tools"]] == TOOLS

    text, mine = "The staging database listens on port 5433.", f"namespace={request.node.name}"
    words = ["--tool-name", "remember", "--tool-arg", f"content={text}", mine]
    stored = inspect(target, "--method", "tools/call", *words)
    assert stored["isError"] is False

    words = ["--tool-name", "recall", "--tool-arg", "query=port of staging", mine, "limit=3"]
    found = inspect(target, "--method", "tools/call", *words)
    items = found["structuredContent"]["items"]
    assert [item["id"] for item in items] == stored["structuredContent"]["ids"]
    assert items[0]["content"] == text
