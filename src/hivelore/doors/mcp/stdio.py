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

LAST_ANSWERS_S = 10.0


def serve(hub: Hub, dialect: Dialect, authorization: str | None) -> None:
    """Serve until the client closes its end. `authorization` stands for every request of this client."""
    credentials = Credentials("mcp-stdio", authorization)
    server = build_server(hub, dialect, lambda _: credentials)

    async def run() -> None:
        to_server, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        answers, from_server = anyio.create_memory_object_stream[SessionMessage](0)
        unanswered = _Unanswered()
        async with stdio_server() as (lines, write), write, anyio.create_task_group() as reading:
            reading.start_soon(_pass_on, lines, to_server, write, unanswered)
            async with anyio.create_task_group() as writing:
                writing.start_soon(_pass_back, from_server, write, unanswered)
                async with answers:
                    await server.run(messages, answers, server.create_initialization_options())
            reading.cancel_scope.cancel()

    anyio.run(run)


class _Unanswered:
    """The ids of requests that the server has and has not answered."""

    def __init__(self) -> None:
        self._ids: set[Any] = set()
        self._changed = anyio.Event()

    def add(self, message: Any) -> None:
        if isinstance(message, types.JSONRPCRequest):
            self._ids.add(message.id)

    def remove(self, message: Any) -> None:
        self._ids.discard(getattr(message, "id", None))
        self._changed.set()

    async def none_left(self) -> None:
        while self._ids:
            self._changed = anyio.Event()
            await self._changed.wait()


async def _pass_on(lines: Any, to_server: Any, write: Any, unanswered: _Unanswered) -> None:
    """Hand messages to the server and answer lines that are none: the SDK drops them, and their sender would wait.

    The server stops when its input ends, whatever it is doing. So the end is kept from it until it has answered.
    """
    async with to_server:
        async for item in lines:
            if not isinstance(item, Exception):
                unanswered.add(item.message)
                await to_server.send(item)
            elif not _is_blank(item):
                await write.send(SessionMessage(_complaint(item)))
        with anyio.move_on_after(LAST_ANSWERS_S):
            await unanswered.none_left()


async def _pass_back(from_server: Any, write: Any, unanswered: _Unanswered) -> None:
    async for item in from_server:
        await write.send(item)
        unanswered.remove(item.message)


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
