"""The web application: every HTTP door on one port behind one guard.

The guard checks Host and Origin on every route, so that no page in a browser can reach a server on loopback by a
foreign name or from a foreign site.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from hivelore.core.settings import Settings
from hivelore.doors.health import routes as health_routes
from hivelore.doors.kit.operation import Dialect
from hivelore.doors.mcp.http import asgi_endpoint, session_manager
from hivelore.doors.rest import app as rest
from hivelore.work import Hub

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
# Where our browsers' pages may come from; the port is free because several local tools serve pages on loopback.
_LOOPBACK_ORIGINS = tuple(f"http://{name}" for name in LOOPBACK_NAMES)


class Guard:
    """Refuses requests with a foreign Host or Origin header: 403 with a JSON body that names the setting."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str], origins: Iterable[str]) -> None:
        self._app = app
        self._hosts = (*LOOPBACK_NAMES, *hosts)
        self._origins = (*_LOOPBACK_ORIGINS, *origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = {
                name: value.decode("latin-1") for name, value in scope["headers"] if name in (b"host", b"origin")
            }
            if not _allowed(headers.get(b"host"), self._hosts):
                await _refuse("Host", "HIVELORE_ALLOWED_HOSTS")(scope, receive, send)
                return
            origin = headers.get(b"origin")
            if origin is not None and not _allowed(origin, self._origins):
                await _refuse("Origin", "HIVELORE_ALLOWED_ORIGINS")(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _allowed(value: str | None, patterns: Iterable[str]) -> bool:
    """Whether a header value equals a pattern. A pattern without a port, or with `:*`, allows any port."""
    if not value:
        return False
    value = value.lower()
    for pattern in patterns:
        pattern = pattern.lower()
        bare = pattern.removesuffix(":*")
        if value in (pattern, bare):
            return True
        named_port = bare.rpartition(":")[2].isdigit() and not bare.endswith("]")
        rest = value.removeprefix(bare)
        if not named_port and rest != value and rest.startswith(":") and rest[1:].isdigit():
            return True
    return False


def _refuse(header: str, setting: str) -> JSONResponse:
    message = f"This {header} header is not allowed here. The owner of the server can add it to {setting}."
    return JSONResponse({"error": {"code": "forbidden", "message": message}}, status_code=403)


def build(hub: Hub, dialect: Dialect) -> Starlette:
    """The application for one hub: the MCP endpoint, the REST API and the health routes."""
    settings: Settings = hub.settings
    manager = session_manager(hub, dialect)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            yield

    routes = [
        *health_routes(hub),
        Mount("/api/v1", app=rest.build(hub)),
        Route("/openapi.json", rest.openapi_endpoint(hub)),
        Route(settings.mcp_path, endpoint=asgi_endpoint(manager), methods=["GET", "POST", "DELETE"]),
    ]
    guard = Middleware(Guard, hosts=settings.allowed_hosts, origins=settings.allowed_origins)
    return Starlette(routes=routes, middleware=[guard], lifespan=lifespan)
