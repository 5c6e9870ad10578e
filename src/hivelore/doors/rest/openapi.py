"""The OpenAPI document of the REST routes that exist, built from the same table that routes requests."""

from __future__ import annotations

from typing import Any

_STRING: dict[str, Any] = {"type": "string"}
_STRINGS: dict[str, Any] = {"type": "array", "items": _STRING}

_ERROR: dict[str, Any] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "requestId"],
            "properties": {"code": _STRING, "message": _STRING, "requestId": _STRING},
        }
    },
}

ADD_BODY: dict[str, Any] = {
    "type": "object",
    "required": ["content"],
    "properties": {
        "content": {**_STRING, "description": "The text; may hold `## user`, `## assistant`, `## tool` sections."},
        "layer": {"type": "string", "enum": ["L1", "L2", "L3", "Skill"], "default": "L1"},
        "title": _STRING,
        "tags": _STRINGS,
        "source": _STRING,
        "turnId": _STRING,
        "createdAt": {"type": "string", "format": "date-time"},
        "supersedes": {**_STRING, "description": "Id of a memory that this one corrects; it is kept, ranked below."},
        "adapterId": {**_STRING, "description": "With requestId: makes the request idempotent."},
        "requestId": _STRING,
    },
}

SEARCH_BODY: dict[str, Any] = {
    "type": "object",
    "required": ["query"],
    "properties": {
        "query": _STRING,
        "layers": {"type": "array", "items": {"type": "string", "enum": ["L1", "L2", "L3", "Skill"]}},
        "tags": {**_STRINGS, "description": "All of them must be present."},
        "limit": {"type": "number", "minimum": 1, "default": 10},
        "includeInjectedContext": {"type": "boolean", "default": True},
        "verbose": {"type": "boolean", "default": False},
        "maxTokens": {
            "type": "integer",
            "minimum": 100,
            "maximum": 2**31 - 1,
            "description": "`injectedContext` is one fenced block of at most so many tokens.",
        },
        "format": {"type": "string", "enum": ["context"], "description": "The same with a usual budget."},
        "detail": {"type": "string", "enum": ["index"], "description": "One short row for each hit, in `index`."},
        "context": {
            "type": "integer",
            "minimum": 0,
            "maximum": 2**31 - 1,
            "description": "Turns or parts to show on each side of a hit.",
        },
        "explain": {"type": "boolean", "default": False, "description": "Say in `debug` how each score came about."},
    },
}

TIMELINE_BODY: dict[str, Any] = {
    "type": "object",
    "required": ["id"],
    "properties": {
        "id": {**_STRING, "description": "An id from add or search."},
        "before": {"type": "integer", "minimum": 0, "maximum": 2**31 - 1, "default": 3},
        "after": {"type": "integer", "minimum": 0, "maximum": 2**31 - 1, "default": 3},
    },
}

_MEMORY: dict[str, Any] = {
    "type": "object",
    "required": ["id", "kind", "memoryLayer", "status", "title", "tags"],
    "properties": {
        "id": _STRING,
        "kind": {"type": "string", "enum": ["trace", "policy", "world_model", "skill"]},
        "memoryLayer": {"type": "string", "enum": ["L1", "L2", "L3", "Skill"]},
        "status": _STRING,
        "title": _STRING,
        "summary": _STRING,
        "tags": _STRINGS,
        "createdAt": _STRING,
        "serverTime": _STRING,
    },
}

_FOUND: dict[str, Any] = {
    "type": "object",
    "required": ["injectedContext"],
    "properties": {
        "injectedContext": _STRING,
        "debug": {"type": "object"},
        "items": {"type": "array", "items": {"type": "object"}},
        "omitted": {"type": "object"},
        "index": {"type": "object"},
    },
}
_TIMELINE: dict[str, Any] = {
    "type": "object",
    "required": ["within", "items", "moreBefore", "moreAfter"],
    "properties": {
        "within": {"type": "string", "enum": ["conversation", "session", "namespace"]},
        "items": {"type": "array", "items": {"type": "object"}},
        "moreBefore": {"type": "boolean"},
        "moreAfter": {"type": "boolean"},
    },
}
_DELETED: dict[str, Any] = {
    "type": "object",
    "required": ["ok", "id", "kind", "status"],
    "properties": {"ok": {"type": "boolean"}, "id": _STRING, "kind": _STRING, "status": _STRING},
}
_HEALTH: dict[str, Any] = {"type": "object", "required": ["ok", "version"], "properties": {"ok": {"type": "boolean"}}}

_ID: dict[str, Any] = {
    "name": "id",
    "in": "path",
    "required": True,
    "schema": _STRING,
    "description": "An id from add or search, such as trace_0123456789abcdef0123.",
}


def _answer(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _operation(summary: str, answer: dict[str, Any], body: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    responses = {"200": _answer("Done.", answer)}
    for status, words in (
        ("400", "The request is not valid; `message` names the field."),
        ("401", "A key is needed: `Authorization: Bearer …`."),
        ("403", "Not allowed, or a foreign Host or Origin header."),
        ("404", "There is no such memory."),
        ("409", "The request contradicts what is stored."),
        ("503", "The store cannot be written or read right now."),
    ):
        responses[status] = _answer(words, _ERROR)
    described: dict[str, Any] = {"summary": summary, "responses": responses, **more}
    if body is not None:
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return described


def document(version: str) -> dict[str, Any]:
    """The whole document."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "hivelore REST API",
            "version": version,
            "description": "Memories over REST: the same ones that the MCP tools remember and recall.",
        },
        "components": {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
        "security": [{"bearer": []}, {}],
        "paths": {
            "/api/v1/health": {"get": _operation("State of the service; needs no key.", _HEALTH, security=[{}])},
            "/api/v1/memory/add": {"post": _operation("Store a memory.", _MEMORY, ADD_BODY)},
            "/api/v1/memory/search": {"post": _operation("Search memories.", _FOUND, SEARCH_BODY)},
            "/api/v1/memory/timeline": {
                "post": _operation("Show what stands around a memory in time.", _TIMELINE, TIMELINE_BODY)
            },
            "/api/v1/memory/{id}": {
                "get": _operation("Read one memory.", _MEMORY, parameters=[_ID]),
                "delete": _operation("Remove one memory for good.", _DELETED, parameters=[_ID]),
            },
        },
    }
