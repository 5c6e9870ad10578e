"""MCP over standard input and output, in the process that owns the store: one client, one server."""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types as types
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from hivelore.doors.kit.dispatch import Credentials
from hivelore.doors.kit.operation import Dialect
from hivelore.doors.mcp.server import build_server
from hivelore.work import Hub


def serve(hub: Hub, dialect: Dialect, authorization: str | None) -> None:
    """Serve until the client closes its end. `authorization` stands for every request of this client."""
    credentials = Credentials("mcp-stdio", authorization)
    server = build_server(hub, dialect, lambda _: credentials)

    async def run() -> None:
        async with stdio_server() as (lines, write), anyio.create_task_group() as tasks:
            send, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
            tasks.start_soon(_pass_on, lines, send, write)
            await server.run(messages, write, server.create_initialization_options())
            tasks.cancel_scope.cancel()

    anyio.run(run)


async def _pass_on(lines: Any, send: Any, write: Any) -> None:
    """Hand messages to the server and answer lines that are none: the SDK drops them, and their sender would wait."""
    async with send:
        async for item in lines:
            if not isinstance(item, Exception):
                await send.send(item)
            elif not _is_blank(item):
                await write.send(SessionMessage(_complaint(item)))


def _is_blank(error: Exception) -> bool:
    """Whether the line that was refused had nothing in it."""
    if not isinstance(error, ValidationError):
        return False
    line = error.errors(include_url=False)[0]["input"]
    return isinstance(line, str) and not line.strip()


def _complaint(error: Exception) -> types.JSONRPCError:
    code, words = (
        types.INVALID_REQUEST,
        "Invalid request: each line must be one JSON-RPC 2.0 message; batches are not read.",
    )
    if not isinstance(error, ValidationError) or any(each["type"] == "json_invalid" for each in error.errors()):
        code, words = types.PARSE_ERROR, "Parse error: each line must be one JSON-RPC message in UTF-8."
    return types.JSONRPCError(jsonrpc="2.0", id=None, error=types.ErrorData(code=code, message=words))
