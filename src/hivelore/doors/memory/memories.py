"""The tools `ping`, `remember`, `recall`, `list_memories`, `get_memory`, `update` and `forget`.

The docstrings of the functions are what language models read.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from hivelore.core.page import After, Offset, read_cursor, write_cursor
from hivelore.doors.kit.operation import Input, Operation
from hivelore.doors.memory import shapes
from hivelore.rooms.memory import service as memory
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
    Returns the ids; long text becomes several parts under one group_id."""
    saved = memory.remember(
        call,
        given.content,
        namespace=given.namespace,
        tags=given.tags,
        source=given.source,
        supersedes=given.supersedes,
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


def recall(call: Call, given: Recall) -> dict[str, Any]:
    """Search memory by meaning and by word; best first. Use before answering about earlier work, people, preferences or
    decisions. Pass namespace="*" to search private notes, saved sessions and imported conversations too.
    Example: recall(query="which port does staging use?", namespace="*")
    `search` in the answer says what was searched and what was not available."""
    settings = call.hub.settings
    names = tuple(given.namespaces or ()) + ((given.namespace,) if given.namespace else ())
    position = read_cursor(given.cursor)
    offset = position.rows if isinstance(position, Offset) else position.rows_before
    limit = settings.recall_limit if "limit" not in given.model_fields_set else given.limit
    filters = memory.make_filters(
        settings, tags=given.tags, source=given.source, kind=given.kind, since=given.since, until=given.until
    )
    found = memory.recall(call, given.query, namespaces=names, filters=filters, limit=limit, offset=offset)
    answer: dict[str, Any] = {
        "items": [shapes.hit(each) for each in found.items],
        "total": found.total,
        "has_more": found.findings.more,
        "next_cursor": str(offset + len(found.findings.hits)) if found.findings.more else None,
        "search": shapes.searched(found.findings, found.namespaces),
    }
    if found.elsewhere:
        answer["search"]["elsewhere"] = dict(found.elsewhere)
    return answer


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


class ById(Input):
    id: str = Field(description="An id from remember, recall or list_memories, or a group_id.")


def get_memory(call: Call, given: ById) -> dict[str, Any]:
    """Read one memory in full by id. A group_id gives the whole of a text that was stored in parts."""
    return shapes.item(memory.get(call, given.id), whole=True)


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
    Operation("list_memories", "List memories", ListMemories, list_memories, read_only=True),
    Operation("get_memory", "Get memory", ById, get_memory, read_only=True),
    Operation("update", "Update memory", Update, update, idempotent=True),
    Operation("forget", "Forget memory", ById, forget, destructive=True, idempotent=True),
)
