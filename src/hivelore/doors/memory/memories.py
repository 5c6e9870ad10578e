"""The tools `ping`, `remember`, `recall`, `timeline`, `list_memories`, `get_memory`, `update` and `forget`.

The docstrings of the functions are what language models read.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from hivelore.core.errors import Invalid
from hivelore.core.page import After, Offset, read_cursor, write_cursor
from hivelore.doors.kit.operation import Input, Operation
from hivelore.doors.memory import compact, shapes
from hivelore.rooms.memory import service as memory
from hivelore.rooms.memory.around import neighbours
from hivelore.rooms.memory.around import timeline as around_one
from hivelore.rooms.transcripts import service as transcripts
from hivelore.work import Call


class Nothing(Input):
    pass


def ping(call: Call, given: Nothing) -> dict[str, Any]:
    """Check that the server answers; reports its version and parts."""
    hub = call.hub
    return {"ok": True, "server": "hivelore", "version": hub.version, "layers": dict(hub.layers())}


class Remember(Input):
    content: str = Field(description="The text, self-contained: names instead of 'it', dates instead of 'today'.")
    namespace: str | None = Field(None, description="Where to keep it; default `shared` (all users read it).")
    tags: list[str] | None = Field(None, description="Exact-match labels.")
    source: str | None = Field(None, description="Where it comes from, e.g. a file, URL or tool.")
    supersedes: str | None = Field(None, description="Id of a memory that this corrects; it is kept, ranked below.")


def remember(call: Call, given: Remember) -> dict[str, Any]:
    """Store a fact, decision, preference or learning for later. One topic per call; never secrets.
    Example: remember(content="Acme's staging DB is Postgres 16 on port 5433 (2026-03-02)", tags=["acme"])
    Returns the ids; long text becomes several parts under one group_id. `similar` names near memories, if any: update,
    supersede or forget what is outdated."""
    saved = memory.remember(
        call,
        given.content,
        namespace=given.namespace,
        tags=given.tags,
        source=given.source,
        supersedes=given.supersedes,
        look_for_similar=True,
    )
    stored = saved.memory
    answer: dict[str, Any] = {
        "ids": list(stored.piece_ids()),
        "chunks": len(stored.piece_ids()),
        "namespace": stored.namespace,
        "group_id": stored.id,
    }
    if given.supersedes:
        answer["supersedes"] = given.supersedes
    if saved.notes:
        answer["notes"] = list(saved.notes)
    if saved.similar:
        answer["similar"] = [
            {"id": each.id, "content": each.beginning, "alike": round(each.alike, 2)} for each in saved.similar
        ]
    return answer


class Recall(Input):
    query: str = Field(description="What to find: a question or key words, in any language.")
    namespace: str | None = Field(None, description="Default `shared`; `*` = everything you may read.")
    limit: int = Field(8, description="Most items to return.")
    cursor: str | None = Field(None, description="next_cursor of the page before.")
    namespaces: list[str] | None = Field(None, description="Several namespaces at once.")
    tags: list[str] | None = Field(None, description="Only memories with all of these tags.")
    source: str | None = Field(None, description="Only this source, e.g. `claude_code`.")
    kind: str | None = Field(None, description="`text`, `session` or `turn` (imported conversation).")
    since: str | None = Field(None, description="ISO date or time, inclusive.")
    until: str | None = Field(None, description="ISO date or time, exclusive.")
    max_tokens: int | None = Field(None, description="Fill at most this many tokens with the most useful sentences.")
    detail: str = Field("full", description="`index` = one short row per hit, to choose from.")
    context: int = Field(0, description="Turns or parts to show on each side of a hit.")
    format: str = Field("items", description="`context` = one fenced block for a prompt.")
    explain: bool = Field(False, description="Show how each score came about.")


def recall(call: Call, given: Recall) -> dict[str, Any]:
    """Search memory by meaning and by word; best first. Use before answering about earlier work, people, preferences or
    decisions. Pass namespace="*" to search private notes, saved sessions and imported conversations too.
    Example: recall(query="which port does staging use?", namespace="*")
    `search` in the answer says what was searched and what was not available. To save tokens: max_tokens, or
    detail="index", then timeline(id) and get_memory(ids)."""
    _check_choices(given)
    settings = call.hub.settings
    names = tuple(given.namespaces or ()) + ((given.namespace,) if given.namespace else ())
    position = read_cursor(given.cursor)
    offset = position.rows if isinstance(position, Offset) else position.rows_before
    limit = settings.recall_limit if "limit" not in given.model_fields_set else given.limit
    filters = memory.make_filters(
        settings, tags=given.tags, source=given.source, kind=given.kind, since=given.since, until=given.until
    )
    compact_answer = given.max_tokens is not None or given.format == "context"
    asked_for = compact.USUAL_TOKENS if given.max_tokens is None else given.max_tokens
    budget = compact.check_budget(asked_for) if compact_answer else None
    if budget is not None and "limit" not in given.model_fields_set:
        limit = compact.hits_for(budget, limit)
    found = memory.recall(
        call, given.query, namespaces=names, filters=filters, limit=limit, offset=offset, explain=given.explain
    )
    around = neighbours(call, given.context, transcripts.turns_beside) if given.context > 0 else None
    now_ms = call.hub.clock.now_ms()
    if given.detail == "index":
        return compact.index(found, offset, budget, now_ms)
    if budget is not None:
        shape = compact.context if given.format == "context" else compact.filled
        return shape(found, offset, budget, now_ms, around)
    answer: dict[str, Any] = {
        "items": [
            shapes.hit(each) | ({"context": compact.beside(around(each))} if around else {}) for each in found.items
        ],
        "total": found.total,
        "has_more": found.findings.more,
        "next_cursor": str(offset + len(found.findings.hits)) if found.findings.more else None,
        "search": shapes.searched(found.findings, found.namespaces),
    }
    if found.elsewhere:
        answer["search"]["elsewhere"] = dict(found.elsewhere)
    return answer


def _check_choices(given: Recall) -> None:
    """Refuse what is not known or would be ignored."""
    if given.detail not in ("full", "index"):
        raise Invalid("detail must be 'full' or 'index'.", field="detail")
    if given.format not in ("items", "context"):
        raise Invalid("format must be 'items' or 'context'.", field="format")
    if given.detail == "index" and (given.format == "context" or given.context or given.explain):
        raise Invalid("detail='index' gives short rows; leave out format, context and explain.", field="detail")
    if given.format == "context" and given.explain:
        raise Invalid("explain belongs to items; leave out format='context'.", field="explain")


class Timeline(Input):
    id: str = Field(description="An id from recall.")
    before: int = Field(3, description="Items before it.")
    after: int = Field(3, description="Items after it.")


def timeline(call: Call, given: Timeline) -> dict[str, Any]:
    """Show what was said or stored around a memory, in order of time: the turns of its conversation, the passages of
    its session, or its neighbours in the namespace."""
    found = around_one(call, given.id, given.before, given.after, transcripts.turns_beside)
    return compact.timeline(found, call.hub.clock.now_ms())


class ListMemories(Input):
    namespace: str | None = Field(None, description="Default `shared`; `*` = everything you may read.")
    limit: int = Field(20, description="Most items to return.")
    cursor: str | None = Field(None, description="next_cursor or stable_cursor of the page before.")


def list_memories(call: Call, given: ListMemories) -> dict[str, Any]:
    """List memories, newest first, without searching. Use recall to find something specific."""
    settings = call.hub.settings
    limit = settings.list_limit if "limit" not in given.model_fields_set else given.limit
    return listing(call, given.namespace, given.cursor, limit)


def listing(call: Call, namespace: str | None, cursor: str | None, limit: int) -> dict[str, Any]:
    """A page of a namespace. `next_cursor` counts rows (contract); `stable_cursor` holds its place while others
    write."""
    position = read_cursor(cursor)
    found = memory.list_items(call, namespace, position, limit)
    before = position.rows if isinstance(position, Offset) else position.rows_before
    seen = before + len(found.items)
    answer: dict[str, Any] = {
        "items": [shapes.item(each) for each in found.items],
        "total": found.total,
        "has_more": found.more,
        "next_cursor": str(seen) if found.more else None,
    }
    if found.more:
        last = found.items[-1]
        answer["stable_cursor"] = write_cursor(After(last.created_ms, last.memory, last.seq, seen))
    return answer


class Several(Input):
    id: str = Field("", description="An id from remember, recall or list_memories, or a group_id.")
    ids: list[str] | None = Field(None, description="Several ids at once, instead of id.")


class ById(Input):
    id: str = Field(description="An id from remember, recall or list_memories, or a group_id.")


def get_memory(call: Call, given: Several) -> dict[str, Any]:
    """Read one memory in full by id, or several by ids. A group_id gives the whole of a text that was stored in
    parts."""
    if given.ids is None:
        if "id" not in given.model_fields_set:
            raise Invalid("get_memory: id is required, or ids for several", field="id")
        return shapes.item(memory.get(call, given.id), whole=True)
    if "id" in given.model_fields_set:
        raise Invalid("get_memory: give id or ids, not both", field="ids")
    items, unknown = memory.get_several(call, given.ids)
    return {"items": [shapes.item(each, whole=True) for each in items], "not_found": unknown}


class Update(Input):
    id: str = Field(description="Id of the memory to replace.")
    content: str = Field(description="The new text, replacing the old one.")


def update(call: Call, given: Update) -> dict[str, Any]:
    """Replace the text of your own memory when it has become wrong; id and tags stay, the old text is kept as a
    revision."""
    changed, notes = memory.update(call, given.id, given.content)
    answer = shapes.item(changed, whole=True)
    if notes:
        answer["notes"] = list(notes)
    return answer


def forget(call: Call, given: ById) -> dict[str, Any]:
    """Delete your own memory for good. Only when asked to or when it is clearly wrong. A group_id deletes all its
    parts."""
    removed = memory.forget(call, given.id)
    return {"id": given.id, "deleted": removed > 0, "removed": removed}


TOOLS = (
    Operation("ping", "Ping", Nothing, ping, authenticated=False, read_only=True),
    Operation("remember", "Remember", Remember, remember),
    Operation("recall", "Recall", Recall, recall, read_only=True),
    Operation("timeline", "Timeline", Timeline, timeline, read_only=True),
    Operation("list_memories", "List memories", ListMemories, list_memories, read_only=True),
    Operation("get_memory", "Get memory", Several, get_memory, read_only=True),
    Operation("update", "Update memory", Update, update, idempotent=True),
    Operation("forget", "Forget memory", ById, forget, destructive=True, idempotent=True),
)
