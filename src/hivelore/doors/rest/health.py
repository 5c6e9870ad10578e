"""The health document of the REST contract; nothing in it tells what is stored."""

from __future__ import annotations

from hivelore.core.clock import iso_z
from hivelore.doors.rest.bodies import Body
from hivelore.sql import schema
from hivelore.work import Hub


def health(hub: Hub, routes: list[str]) -> Body:
    """The contract's health document; nothing in it tells what is stored."""
    now_ms = hub.clock.now_ms()
    nothing = {"provider": "", "model": "", "configured": False, "remote": False}
    state = hub.embedder.state()
    embedding: Body = {
        "provider": "local" if not hub.embedder.remote else "openai_compatible",
        "model": hub.embedder.model,
        "configured": state.status != "off",
        "remote": hub.embedder.remote,
        "state": state.status,
    }
    if state.reason and state.status == "unavailable":
        embedding["lastError"] = state.reason
    return {
        "ok": True,
        "version": hub.version,
        "uptimeMs": max(now_ms - hub.started_ms, 0),
        "mode": "local",
        "activeProfile": "byok",
        "storage": {
            "backendId": f"{hub.db.dialect}-local",
            "backend": hub.db.dialect,
            "schemaVersion": schema.HEAD,
            "fullText": "fts5" if hub.db.dialect == "sqlite" else "tsvector",
            "vector": "native",
            "changeLog": False,
            "idempotency": True,
            "jobs": True,
            "importExport": False,
            "ready": True,
        },
        "models": {"summary": nothing, "evolution": dict(nothing), "embedding": embedding},
        "capabilities": {
            "routes": routes,
            "tools": ["memory.search", "memory.add", "memory.get", "memory.delete"],
            "memoryLayers": ["L1", "L2", "L3", "Skill"],
            "supportsCli": True,
        },
        "serverTime": iso_z(now_ms),
    }
