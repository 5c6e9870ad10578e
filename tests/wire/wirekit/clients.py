"""The official Python client, in both eras of the protocol and over both transports."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from wirekit.processes import COMMAND, QUICK, environment

LIMIT_S = 90.0

# `legacy` shakes hands first; `auto` finds out that the server knows the current version, in which each request carries
# all that is needed.
ERAS = ("legacy", "auto")
VERSIONS = {"legacy": "2025-11-25", "auto": "2026-07-28"}

T = TypeVar("T")


def within_limit(run: Callable[[], Awaitable[T]]) -> T:
    """Run an asynchronous test body, bounded."""

    async def bounded() -> T:
        with anyio.fail_after(LIMIT_S):
            return await run()

    try:
        return anyio.run(bounded)
    except BaseExceptionGroup as group:  # the client's task groups wrap what a test raised inside them
        raise _innermost(group) from None


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def over_pipes(folder: Path, *options: str) -> StdioServerParameters:
    """How a client starts `hivelore stdio` on a data folder."""
    words = [*COMMAND[1:], "stdio", "--data", str(folder), *QUICK, *options]
    return StdioServerParameters(command=COMMAND[0], args=words, env=environment())


@asynccontextmanager
async def connected(target: str | StdioServerParameters, era: str) -> AsyncIterator[Client]:
    """A client that is connected to an endpoint's URL or to a child process."""
    async with Client(target, mode=era, read_timeout_seconds=60) as client:
        yield client


async def use(client: Client, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """Call a tool that must succeed; returns its answer."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return dict(result.structured_content)
