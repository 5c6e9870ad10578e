"""MCP over standard input and output, in the process that owns the store: one client, one server."""

from __future__ import annotations

import anyio
from mcp.server.stdio import stdio_server

from hivelore.doors.kit.dispatch import Credentials
from hivelore.doors.kit.operation import Dialect
from hivelore.doors.mcp.server import build_server
from hivelore.work import Hub


def serve(hub: Hub, dialect: Dialect, authorization: str | None) -> None:
    """Serve until the client closes its end. `authorization` stands for every request of this client."""
    credentials = Credentials("mcp-stdio", authorization)
    server = build_server(hub, dialect, lambda _: credentials)

    async def run() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(run)
