"""MCP over streamable HTTP, stateless: any replica answers any request, and a restart breaks no client."""

from __future__ import annotations

from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager

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


def asgi_endpoint(manager: StreamableHTTPSessionManager) -> StreamableHTTPASGIApp:
    """The ASGI application to mount at the endpoint's path."""
    return StreamableHTTPASGIApp(manager)
