"""Routing, bodies, credentials and errors of the REST API, in the contract's words and shapes."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable
from typing import Any

import anyio
import anyio.to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from hivelore.core import errors
from hivelore.core.actor import Role
from hivelore.core.errors import HiveloreError, Invalid, NotFound, Unauthenticated
from hivelore.doors.kit.answers import http_status
from hivelore.doors.kit.dispatch import Credentials, gate
from hivelore.doors.rest import memory, openapi, timeline
from hivelore.doors.rest.health import health
from hivelore.work import Call, Hub

PREFIX = "/api/v1"

# method, path pattern, name in error messages, whether it reads a body, what it does
_Handler = Callable[[Call, dict[str, Any], str], dict[str, Any]]
ROUTES: tuple[tuple[str, str, str, bool, _Handler], ...] = (
    ("POST", "/memory/search", "memory.search", True, lambda call, body, _: memory.find(call, body)),
    ("POST", "/memory/add", "memory.add", True, lambda call, body, _: memory.add(call, body)),
    ("POST", "/memory/timeline", "memory.timeline", True, lambda call, body, _: timeline.timeline(call, body)),
    ("GET", "/memory/:id", "memory.get", False, lambda call, _, id: memory.get(call, id)),
    ("DELETE", "/memory/:id", "memory.delete", True, lambda call, _, id: memory.delete(call, id)),
)

_ALLOW_HEADERS = (
    "content-type,authorization,x-api-key,x-request-id,x-correlation-id,x-memmy-user-id,x-memmy-tenant-id,"
    "x-memmy-project-id,x-memmy-workspace-id,x-memmy-workspace-path,x-memmy-profile-id,x-memmy-profile-label,"
    "x-memmy-session-key"
)
_CODES: dict[type[HiveloreError], tuple[int, str]] = {
    errors.Invalid: (400, "invalid_argument"),
    errors.TooLarge: (400, "invalid_argument"),
    errors.Unauthenticated: (401, "unauthorized"),
    errors.Forbidden: (403, "forbidden"),
    errors.NotFound: (404, "not_found"),
    errors.Conflict: (409, "conflict"),
    errors.RateLimited: (429, "rate_limited"),
    errors.Unavailable: (503, "unavailable"),
}


class Pretty(JSONResponse):
    """JSON with two spaces of indentation, as the contract has it."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, ensure_ascii=False, indent=2).encode("utf-8", "replace")


def route_names() -> list[str]:
    """All routes as `METHOD path`, for the health document."""
    return [f"GET {PREFIX}/health", *(f"{method} {PREFIX}{path}" for method, path, *_ in ROUTES)]


def build(hub: Hub) -> ASGIApp:
    """The ASGI application to mount under `/api/v1`."""
    limiter = anyio.CapacityLimiter(hub.settings.worker_threads)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            response = await _answer(hub, Request(scope, receive), limiter)
            for name, value in _cors(Request(scope)).items():
                response.headers.setdefault(name, value)
            await response(scope, receive, send)

    return app


def openapi_endpoint(hub: Hub) -> Callable[[Request], Any]:
    """Serves the OpenAPI document."""
    document = openapi.document(hub.version)

    async def endpoint(request: Request) -> JSONResponse:
        return JSONResponse(document)

    return endpoint


async def _answer(hub: Hub, request: Request, limiter: anyio.CapacityLimiter) -> Response:
    if request.method == "OPTIONS":
        return Response(status_code=204)
    path = request.scope["path"].removeprefix(request.scope.get("root_path", "")) or "/"
    try:
        if request.method in ("GET", "HEAD") and path == "/health":
            return Pretty(health(hub, route_names()))
        return Pretty(await _operate(hub, request, path, limiter))
    except HiveloreError as exc:
        return _refusal(request, exc)


async def _operate(hub: Hub, request: Request, path: str, limiter: anyio.CapacityLimiter) -> dict[str, Any]:
    credentials = Credentials("rest", _authorization(request), request.headers.get("user-agent", ""))
    found = _route(request.method, path)
    if found is None:
        # The key is asked for first, so that a stranger cannot learn which paths exist.
        unregistered = f"{request.method} {PREFIX}{path} is not registered"[:400]
        return await anyio.to_thread.run_sync(_not_registered, hub, credentials, unregistered, limiter=limiter)
    name, reads_body, handler, id = found
    body = await _body(request, hub.settings.max_rest_request_bytes) if reads_body else b""

    def run(call: Call) -> dict[str, Any]:
        return handler(call, _object(body, name) if reads_body else {}, id)

    def through_gate() -> dict[str, Any]:
        return gate(hub, name, credentials, run, needs=Role.AGENT)

    return await anyio.to_thread.run_sync(through_gate, limiter=limiter)


def _not_registered(hub: Hub, credentials: Credentials, message: str) -> dict[str, Any]:
    def run(call: Call) -> dict[str, Any]:
        raise NotFound(message)

    return gate(hub, "unknown path", credentials, run, needs=Role.READER)


def _route(method: str, path: str) -> tuple[str, bool, _Handler, str] | None:
    for wanted, pattern, name, reads_body, handler in ROUTES:
        if wanted != ("GET" if method == "HEAD" else method):
            continue
        if pattern == path:
            return name, reads_body, handler, ""
        match = re.fullmatch(pattern.replace(":id", "([^/]+)"), path)
        if match and ":id" in pattern:
            return name, reads_body, handler, match.group(1)
    return None


def _authorization(request: Request) -> str | None:
    """The credential, looked up in the contract's order: Authorization, x-api-key, ?token=, ?access_token=."""
    header = request.headers.get("authorization")
    if header:
        return header
    key = (
        request.headers.get("x-api-key")
        or request.query_params.get("token")
        or request.query_params.get("access_token")
    )
    return f"Bearer {key}" if key else None


async def _body(request: Request, limit_bytes: int) -> bytes:
    """The raw body, read no further than the limit."""
    read = bytearray()
    try:
        async for piece in request.stream():
            read += piece
            if len(read) > limit_bytes:
                raise Invalid(
                    f"request body is too large; the limit is {limit_bytes} bytes (HIVELORE_MAX_REST_REQUEST_BYTES)"
                )
    except ClientDisconnect as exc:
        raise Invalid("the request ended before its body was complete") from exc
    return bytes(read)


def _object(raw: bytes, operation: str) -> dict[str, Any]:
    """The body as a JSON object; an empty one counts as `{}`."""
    if not raw.strip():
        return {}
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError) as exc:
        raise Invalid("request body must be valid JSON") from exc
    if not isinstance(body, dict):
        raise Invalid(f"{operation} request body must be a JSON object")
    return body


def _refusal(request: Request, error: HiveloreError) -> Response:
    status, code = next(
        (_CODES[kind] for kind in type(error).__mro__ if kind in _CODES), (http_status(error), "internal")
    )
    message = "invalid memory service token" if isinstance(error, Unauthenticated) else error.message
    id = request.headers.get("x-request-id") or request.headers.get("x-correlation-id") or str(uuid.uuid4())
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return Pretty(
        {"error": {"code": code, "message": message, "requestId": id[:200]}}, status_code=status, headers=headers
    )


def _cors(request: Request) -> dict[str, str]:
    """CORS for pages whose origin the guard has let through; never for all of the web."""
    headers = {
        "access-control-allow-methods": "GET,POST,DELETE,OPTIONS",
        "access-control-allow-headers": _ALLOW_HEADERS,
        "vary": "origin",
    }
    origin = request.headers.get("origin")
    if origin:
        headers["access-control-allow-origin"] = origin
    return headers
