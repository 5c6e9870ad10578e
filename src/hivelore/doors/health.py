"""`/healthz` (the process is alive) and `/readyz` (the store answers, the schema is current, where the embedder
stands)."""

from __future__ import annotations

from typing import Any

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from hivelore.base.search import store as search
from hivelore.core.errors import HiveloreError
from hivelore.sql import schema
from hivelore.work import Hub

_EMBEDDER_WORDS = {"off": "unavailable"}


def readiness(hub: Hub) -> tuple[dict[str, Any], bool]:
    """The answer of `/readyz` and whether the server is ready. `pending` is the work still queued for the model in the
    whole store: what an operator's probe waits for, and nothing about whose texts they are. A model that is still
    loading does not make it unready: text search answers meanwhile."""
    state = hub.embedder.state()
    answer: dict[str, Any] = {
        "ready": True,
        "store": "ready",
        "schema": schema.HEAD,
        "embedder": _EMBEDDER_WORDS.get(state.status, state.status),
        "embedder_model": hub.embedder.model,
        "pending": None,
        "version": hub.version,
    }
    if state.reason or state.status == "off":
        answer["embedder_reason"] = state.reason or "HIVELORE_EMBEDDER is off"
    try:
        schema.check(hub.db)
        with hub.db.read() as connection:
            answer["pending"] = search.pending_total(connection)
    except HiveloreError as exc:
        answer |= {"ready": False, "store": exc.code, "reason": exc.message}
    except Exception:
        answer |= {"ready": False, "store": "error", "reason": "the store does not answer; see the server's log"}
    return answer, bool(answer["ready"])


def routes(hub: Hub) -> list[Route]:
    async def alive(request: Request) -> JSONResponse:
        return JSONResponse({"ok": True, "version": hub.version})

    async def ready(request: Request) -> JSONResponse:
        answer, is_ready = await anyio.to_thread.run_sync(readiness, hub)
        return JSONResponse(answer, status_code=200 if is_ready else 503)

    return [Route("/healthz", alive), Route("/readyz", ready)]
