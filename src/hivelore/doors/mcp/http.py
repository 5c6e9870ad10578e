"""MCP over streamable HTTP, stateless: any replica answers any request, and a restart breaks no client."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

from hivelore.doors.kit.dispatch import Credentials
from hivelore.doors.kit.operation import Dialect
from hivelore.doors.mcp.server import build_server
from hivelore.work import Hub


def credentials_of(ctx: Any) -> Credentials:
    """The sender of an HTTP request: its Authorization header and what it calls itself."""
    request = ctx.request
    if request is None:
        return Credentials(door="mcp-http")
    return Credentials("mcp-http", request.headers.get("authorization"), request.headers.get("user-agent", ""))


def session_manager(hub: Hub, dialect: Dialect) -> StreamableHTTPSessionManager:
    """The SDK's manager for one endpoint; the host application must enter its `run()`.

    Host and Origin are checked by the application for all its routes, so the SDK's own check stays off.
    """
    return StreamableHTTPSessionManager(
        app=build_server(hub, dialect, credentials_of),
        stateless=True,
        json_response=False,
        max_request_body_size=hub.settings.max_request_bytes,
    )


class Endpoint:
    """The SDK's endpoint with the edges of our contract: POST only (there is no session to stream to or to end), a
    missing Accept header means that anything is accepted, and no words of a validation library reach a client."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self._sdk = StreamableHTTPASGIApp(manager)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            words = "Method not allowed: this endpoint keeps no session; send each message with POST."
            await _error(405, types.INVALID_REQUEST, words, {"allow": "POST"})(scope, receive, send)
            return
        if not any(name == b"accept" for name, _ in scope["headers"]):
            scope = {**scope, "headers": [*scope["headers"], (b"accept", b"*/*")]}
        held: Message | None = None

        async def in_our_words(message: Message) -> None:
            nonlocal held
            if message["type"] == "http.response.start" and message["status"] == 400:
                held = message  # such answers come in one piece
            elif held is None:
                await send(message)
            elif b"Validation error: " in message.get("body", b""):
                await _error(400, types.INVALID_REQUEST, _NO_MESSAGE)(scope, receive, send)
            else:
                start, held = held, None
                await send(start)
                await send(message)

        await self._sdk(scope, receive, in_our_words)


_NO_MESSAGE = "Invalid request: the body must be one JSON-RPC 2.0 message, not a batch."


def _error(status: int, code: int, words: str, headers: dict[str, str] | None = None) -> JSONResponse:
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": words}}
    return JSONResponse(body, status_code=status, headers=headers)


def asgi_endpoint(manager: StreamableHTTPSessionManager) -> Endpoint:
    """The ASGI application to mount at the endpoint's path."""
    return Endpoint(manager)
