"""The REST operations: `memory/add`, `memory/search`, `GET` and `DELETE memory/:id`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from hivelore.base.identity.service import EVERYTHING
from hivelore.base.memories import store as memories
from hivelore.base.memories.model import Item, Memory
from hivelore.base.search import store as search
from hivelore.core.actor import space_of
from hivelore.core.clock import iso_z, parse_iso_ms
from hivelore.core.errors import Conflict, Invalid, NotFound
from hivelore.core.fence import strip_recalled
from hivelore.core.ids import content_id
from hivelore.core.text import excerpt, first_line
from hivelore.doors.rest import compact, ids, sections
from hivelore.doors.rest.bodies import Body, optional, required, string_list
from hivelore.rooms.memory import service as memory
from hivelore.rooms.memory.service import RecalledItem
from hivelore.work import Call

DEFAULT_LIMIT = 10
MORE_PAGES = 5
PARTS_PER_MEMORY = 4  # parts asked for per memory shown, because several parts of one may match
SNIPPET_CHARS = 320
SHOWN_CHARS = 640
DERIVED_STATUS = "activated"


# -- add ---------------------------------------------------------------------------------------------------------------


def add(call: Call, body: Body) -> Body:
    """Store a memory in the default namespace, so that the MCP tools recall it too."""
    operation = "memory.add"
    content = required(body, "content", operation)
    wire_layer = body.get("layer")
    layer = ids.LAYER_OF_WIRE.get(wire_layer, "trace") if isinstance(wire_layer, str) else "trace"
    title, source = optional(body, "title", operation), optional(body, "source", operation)
    session_id, turn_id = optional(body, "sessionId", operation), optional(body, "turnId", operation)
    adapter, request_id = optional(body, "adapterId", operation), optional(body, "requestId", operation)
    created, corrected = optional(body, "createdAt", operation), optional(body, "supersedes", operation)
    if session_id:
        raise NotFound(f"session not found: {session_id[:200]}")
    event_ms = _created_ms(created) if created else None
    memory.check_name(call.hub.settings, source, "source")  # before it becomes a tag, whose error would puzzle
    given_tags = string_list(body, "tags", operation)
    tags = [*given_tags, *([source] if source else []), *_tool_tags(content)]
    if layer != "trace":
        tags = ["manual", *([source] if source else []), *given_tags]
    text, _ = strip_recalled(content)
    key, idempotent = _key(layer, title, content, adapter, request_id, turn_id)
    body_hash = content_id(repr(sorted((k, repr(v)) for k, v in body.items())))
    if adapter:
        removed = _removed(call, key, layer, title or first_line(text), [*tags])
        if removed is not None:
            return removed
    if idempotent:
        replay = _replay(call, key, body_hash)
        if replay is not None:
            return replay
    saved = memory.remember(
        call,
        text,
        tags=tags,
        source=source,
        title=title,
        layer=layer,
        key=key,
        event_ms=event_ms,
        origin={"turn_id": turn_id, "adapter": adapter, "body": body_hash} if adapter or turn_id else {},
        replace=not idempotent,
        supersedes=find_one(call, corrected).id if corrected else None,
    )
    if idempotent and not saved.created:  # another request with this key was stored a moment ago
        return _repeated(call, saved.memory, body_hash)
    # A new memory's answer carries the time of storing, which a repeat of the request can tell again.
    return _added(call, saved.memory, iso_z(saved.memory.created_ms if saved.created else call.hub.clock.now_ms()))


def _tool_tags(content: str) -> list[str]:
    """Names of the tools that a turn used, as tags (contract: lower case, 3 to 32 of a-z, 0-9 and +; at most 8)."""
    heads = (re.sub(r"[^a-z0-9+]", "", str(tool.get("name", "")).lower()) for tool in sections.parse(content).tools)
    return list(dict.fromkeys(head for head in heads if 3 <= len(head) <= 32))[:8]


def _created_ms(text: str) -> int:
    try:
        return parse_iso_ms(text, "createdAt")
    except Invalid as exc:
        raise Invalid("memory.add createdAt must be an ISO timestamp", field="createdAt") from exc


def _key(layer: str, title: str, content: str, adapter: str, request_id: str, turn_id: str) -> tuple[str, bool]:
    """The upsert identity of the contract, and whether a repeat with another body is a conflict."""
    if adapter.startswith("agent-source:") and turn_id:
        return f"memory.add:{adapter}:turn:{turn_id}", False
    if adapter and request_id:
        return f"memory.add:{adapter}:{request_id}", True
    return f"manual:{content_id(f'{ids.WIRE_OF_LAYER[layer]}:{title}:{content}', length=20)}", False


def _replay(call: Call, key: str, body_hash: str) -> Body | None:
    """The first answer again when the same request comes twice; a conflict when its body differs."""
    settings = call.hub.settings
    space = space_of(settings.default_namespace, call.caller.id, frozenset(settings.shared_namespaces))
    with call.read() as v:
        stored = memories.by_key(v, space.id, call.caller.id, key)
    return None if stored is None else _repeated(call, stored, body_hash)


def _removed(call: Call, key: str, layer: str, title: str, tags: list[str]) -> Body | None:
    """The answer for something that its owner removed: it stays removed, however often an importer sends it again."""
    with call.read() as v:
        memory_id = memories.buried(v, call.caller.id, key)
    if memory_id is None:
        return None
    now = iso_z(call.hub.clock.now_ms())
    return {
        "id": ids.wire_id(layer, memory_id),
        "kind": ids.KIND_OF_LAYER[layer],
        "memoryLayer": ids.WIRE_OF_LAYER[layer],
        "status": "deleted",
        "title": title,
        "summary": "",
        "tags": tags,
        "createdAt": now,
        "serverTime": now,
        "duplicate": True,
    }


def _repeated(call: Call, stored: Memory, body_hash: str) -> Body:
    """The first answer, for the same body; a conflict for another."""
    if stored.origin.get("body") != body_hash:
        raise Conflict("idempotency key reused with different request body")
    return _added(call, stored, iso_z(stored.created_ms)) | {"duplicate": True}


def _added(call: Call, stored: Memory, server_time: str) -> Body:
    said = sections.parse(stored.text)
    title = first_line(said.user or stored.text)
    if stored.layer in ("policy", "world_model", "skill"):
        title = stored.title or title
    return {
        "id": ids.wire_id(stored.layer, stored.id),
        "kind": ids.KIND_OF_LAYER[stored.layer],
        "memoryLayer": ids.WIRE_OF_LAYER[stored.layer],
        "status": DERIVED_STATUS,
        "title": title,
        "summary": excerpt(said.user or stored.text, SNIPPET_CHARS),
        "tags": list(stored.tags),
        "createdAt": iso_z(stored.event_ms),
        "serverTime": server_time,
    }


# -- search ------------------------------------------------------------------------------------------------------------


def find(call: Call, body: Body) -> Body:
    """Search everything readable; the answer is markdown to put before a model, and details with `verbose`."""
    operation = "memory.search"
    query = required(body, "query", operation)
    wire_layers = [
        ids.LAYER_OF_WIRE[name] for name in string_list(body, "layers", operation) if name in ids.LAYER_OF_WIRE
    ]
    layers = [*wire_layers, *([""] if "trace" in wire_layers else [])]
    filters = memory.make_filters(call.hub.settings, tags=string_list(body, "tags", operation), layers=layers)
    limit = _limit(body.get("limit"))
    if compact.asked(body):
        limit = compact.hits_for(body, limit)
    explain = body.get("explain") is True
    found = memory.recall(
        call, query, namespaces=(EVERYTHING,), filters=filters, limit=limit * PARTS_PER_MEMORY, explain=explain
    )
    items, seen = list(found.items), len(found.findings.hits)
    hits, more = _one_each(items)[:limit], found.findings.more
    for _ in range(MORE_PAGES):  # a long memory can fill a page with its parts
        if len(hits) == limit or not more:
            break
        page = memory.recall(
            call,
            query,
            namespaces=(EVERYTHING,),
            filters=filters,
            limit=limit * PARTS_PER_MEMORY,
            offset=seen,
            explain=explain,
        )
        items += page.items
        seen, more = seen + len(page.findings.hits), page.findings.more
        hits = _one_each(items)[:limit]
    shown = [_section(_whole(call, each)) for each in hits]
    if compact.asked(body):
        answer = compact.answer(call, body, hits, found.terms)
    else:
        answer = {"injectedContext": _markdown(shown) if body.get("includeInjectedContext") is not False else ""}
    if body.get("verbose") is True or explain:
        answer["debug"] = {
            "searchEventId": call.hub.ids.new("recall"),
            "hits": [_hit(each) for each in hits],
            "sourceMemoryIds": list(dict.fromkeys(section["memoryIds"][0] for section in shown)),
            "status": [f"{engine}:{why}" for engine, why in found.findings.unavailable.items()],
            "sections": shown,
            "tokenEstimate": sum(section["tokenEstimate"] for section in shown),
            "serverTime": iso_z(call.hub.clock.now_ms()),
        }
    return answer


def _limit(value: Any) -> int:
    """A JSON number, cut to a whole one, at least 1; anything else means the default (contract)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return DEFAULT_LIMIT
    if isinstance(value, float) and not math.isfinite(value):
        return DEFAULT_LIMIT
    return max(int(value), 1)


def _one_each(found: Iterable[RecalledItem]) -> list[RecalledItem]:
    """The best part of each memory: this dialect knows no parts."""
    best: dict[tuple[str, str], RecalledItem] = {}
    for each in found:
        best.setdefault((each.item.space, each.item.memory), each)
    return list(best.values())


def _whole(call: Call, found: RecalledItem) -> RecalledItem:
    """A memory that is stored in parts with its whole text, so that both sides of a turn are told apart.

    Of a plain text the part that matched stays: it says more than the beginning would.
    """
    item = found.item
    if item.parts == 1 or item.kind in memory.VERBATIM_KINDS:
        return found
    with call.read() as v:
        stored = memories.by_id(v, item.memory)
    if stored is None or (ids.WIRE_OF_LAYER[item.layer] == "L1" and not sections.parse(stored[0].text).marked):
        return found
    return replace(found, item=replace(item, text=stored[0].text))


def _hit(found: RecalledItem) -> Body:
    item = found.item
    why = {} if found.hit.parts is None else {"explain": compact.explained(found.hit)}
    return {
        "id": ids.wire_id(item.layer, item.memory),
        "kind": ids.KIND_OF_LAYER[item.layer],
        "memoryLayer": ids.WIRE_OF_LAYER[item.layer],
        "status": DERIVED_STATUS,
        "title": item.title or first_line(found.excerpt),
        "snippet": excerpt(found.excerpt, SNIPPET_CHARS),
        "score": round(found.hit.score, 4),
        "tags": list(item.tags),
        "updatedAt": iso_z(item.updated_ms),
        "source": "search",
        **_lineage(found),
        **why,
    }


def _lineage(found: RecalledItem) -> Body:
    """Ids of what took the hit's place, of its newer version, and of memories with the same text; mostly none."""
    item, hit = found.item, found.hit
    named: Body = {}
    if item.superseded_by:
        named["supersededBy"] = ids.wire_id(item.layer, item.superseded_by)
    if hit.older_version_of:
        named["olderVersionOf"] = ids.wire_id(item.layer, hit.older_version_of)
    if hit.copies:
        named["sameText"] = [ids.wire_id(item.layer, copy) for copy in hit.copies]
    return named


_SECTION_TITLES = {"L1": "Trace", "L2": "Experience", "L3": "Environment Knowledge", "Skill": "Skill"}
_HEADINGS = {
    "L1": "## L1 Trace Memories",
    "L2": "## L2 Experience Memories",
    "L3": "## L3 Environment Knowledge",
    "Skill": "## Skill Memories",
}


def _section(found: RecalledItem) -> Body:
    item = found.item
    wire = ids.wire_id(item.layer, item.memory)
    layer = ids.WIRE_OF_LAYER[item.layer]
    content = _CONTENT[layer](wire, item, found.excerpt)
    return {
        "id": f"memory-{wire}",
        "title": _SECTION_TITLES[layer],
        "kind": ids.KIND_OF_LAYER[item.layer],
        "memoryLayer": layer,
        "memoryIds": [wire],
        "content": content,
        "tokenEstimate": math.ceil(len(content) / 4),
    }


def _cut(text: str, passage: str = "") -> str:
    """A text cut to the contract's length; from the passage that matched where that lies behind the cut."""
    if len(text) <= SHOWN_CHARS:
        return text
    at = text.find(first_line(passage, SHOWN_CHARS).removesuffix("…")) if passage else 0
    start = at if at >= SHOWN_CHARS // 2 else 0
    return f"{'…' if start else ''}{text[start : start + SHOWN_CHARS]}...[truncated]"


def _trace(wire: str, item: Item, passage: str) -> str:
    said = sections.parse(item.text)
    return (
        f"id: {wire}\ntimestamp: {iso_z(item.event_ms)}\n\n"
        f"Historical user statement:\n{_cut(said.user, passage) or '(empty)'}\n\n"
        f"Historical assistant response:\n{_cut(said.agent, passage) or '(empty)'}"
    )


def _experience(wire: str, item: Item, passage: str) -> str:
    return f"id: {wire}\n\nTrigger:\n{item.title or first_line(item.text)}\n\nGuidance:\n{_cut(item.text.strip())}"


def _world(wire: str, item: Item, passage: str) -> str:
    return f"id: {wire}\n\nTitle:\n{item.title or first_line(item.text)}\n\nContent:\n{_cut(item.text.strip())}"


def _skill(wire: str, item: Item, passage: str) -> str:
    return f"id: {wire}\n\nName:\n{item.title or first_line(item.text)}\n\nDescription:\n{excerpt(item.text, 200)}"


_CONTENT = {"L1": _trace, "L2": _experience, "L3": _world, "Skill": _skill}


def _markdown(shown: list[Body]) -> str:
    """The sections by layer, numbered, their lines indented by three spaces (contract, section 9.5)."""
    blocks = []
    for layer, heading in _HEADINGS.items():
        mine = [section for section in shown if section["memoryLayer"] == layer]
        if mine:
            numbered = [
                f"{number}. {section['title']}\n"
                + "\n".join(f"   {line}" if line else "" for line in section["content"].split("\n"))
                for number, section in enumerate(mine, 1)
            ]
            blocks.append("\n\n".join([heading, *numbered]))
    return "\n\n".join(blocks)


# -- one memory --------------------------------------------------------------------------------------------------------


def find_one(call: Call, wire: str) -> Memory:
    """The readable memory with this id of the wire."""
    if wire.startswith("raw_"):
        raise Invalid("raw turn ids are internal; read the memory that the turn became instead", field="id")
    prefix = ids.id_prefix(wire)
    with call.read() as v:
        found = memories.by_id_prefix(v, prefix) if prefix else None
    if found is None or ids.wire_id(found.layer, found.id) != wire:
        raise NotFound(f"memory not found: {wire[:200]}")
    return found


def get(call: Call, wire: str) -> Body:
    """One memory in full."""
    found = find_one(call, wire)
    said = sections.parse(found.text)
    layer = ids.WIRE_OF_LAYER[found.layer]
    title = found.title or first_line(said.user or found.text)
    summary = excerpt(said.user or found.text, SNIPPET_CHARS)
    info: Body = {"title": title, "summary": summary, "source": found.source or "manual", "tags": list(found.tags)}
    if found.origin.get("turn_id"):
        info["turn_id"] = found.origin["turn_id"]
    refs: Body = {"policyLinks": []}
    item: Body = {
        "id": wire,
        "kind": ids.KIND_OF_LAYER[found.layer],
        "memoryLayer": layer,
        "status": DERIVED_STATUS,
        "title": title,
        "summary": summary,
        "tags": list(found.tags),
        "updatedAt": iso_z(found.updated_ms),
        "version": found.revision,
        "processing": _processing(call, found, wire),
        "body": _body(found, said, summary),
        "createdAt": iso_z(found.event_ms),
        "sourceMemoryIds": [],
        "metadata": {
            "source": found.source or "manual",
            "info": info,
            "properties": {
                "memory_type": "LongTermMemory",
                "status": DERIVED_STATUS,
                "tags": list(found.tags),
                "info": info,
                "internal_info": _internal(found, said, layer, title, summary),
            },
            "refs": refs,
        },
        **_layer_block(found),
        "refs": refs,
        "etag": f"{wire}-v{found.revision}",
    }
    return {**item, "item": dict(item)}


def _internal(found: Memory, said: sections.Sections, layer: str, title: str, summary: str) -> Body:
    internal: Body = {
        "memory_layer": layer,
        "memory_kind": ids.KIND_OF_LAYER[found.layer],
        "schema_version": 1,
        "source": found.source,
        "title": title,
        "summary": summary,
    }
    if layer == "L1":
        internal["trace"] = {
            "key": found.key or "",
            "ts": found.event_ms,
            "turn_id": found.origin.get("turn_id", ""),
            "user_text": said.user,
            "agent_text": said.agent,
            "userText": said.user,
            "agentText": said.agent,
            "tool_calls": list(said.tools),
            "summary": summary,
            "tags": list(found.tags),
        }
    return internal


def _layer_block(found: Memory) -> Body:
    match found.layer:
        case "policy":
            return {"policy": {"utilityScore": 0, "confidence": 0, "evidenceMemoryIds": [], "repairHints": []}}
        case "world_model":
            return {"worldModel": {"sourceMemoryIds": [], "confidence": 0}}
        case "skill":
            return {"skill": {"invocationGuide": found.text, "sourcePolicyIds": [], "sourceWorldModelIds": []}}
        case _:
            return {"trace": {"turnId": found.origin.get("turn_id", "")}}


def _body(found: Memory, said: sections.Sections, summary: str) -> str:
    if ids.WIRE_OF_LAYER[found.layer] != "L1":
        return found.text
    lines = [f"Summary: {summary}", "User:", said.user]
    if said.tools:
        lines += ["Tool calls:", *(f"- {tool.get('name', 'tool')}" for tool in said.tools)]
    return "\n".join([*lines, "Agent:", said.agent])


def _processing(call: Call, found: Memory, wire: str) -> Body:
    """Whether the memory's vectors are there yet; text search never waits for them."""
    with call.read() as v:
        waiting = search.pending_of(v, found.space, found.id)
    state = "embedding_pending" if waiting else "ready"
    return {
        "memoryId": wire,
        "state": state,
        "stage": "embedding" if waiting else "done",
        "activeJobId": None,
        "attemptCount": 0,
        "manualRetryCount": 0,
        "retryAction": "none",
        "errorCode": None,
        "errorMessage": None,
        "failedAt": None,
        "updatedAt": iso_z(found.updated_ms),
    }


def delete(call: Call, wire: str) -> Body:
    """Remove a memory of the caller for good."""
    found = find_one(call, wire)
    if memory.forget(call, found.id) == 0:
        raise NotFound(f"memory not found: {wire[:200]}")
    return {
        "ok": True,
        "id": wire,
        "kind": ids.KIND_OF_LAYER[found.layer],
        "status": "deleted",
        "changeSeq": 0,
        "syncCursor": "",
        "auditId": "",
        "serverTime": iso_z(call.hub.clock.now_ms()),
    }
