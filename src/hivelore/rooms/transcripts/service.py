"""Use cases of the transcripts room: save, load, list and forget sessions; record imported turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from hivelore.base.identity import store as identity
from hivelore.base.identity.service import EVERYTHING, clean_namespace
from hivelore.base.memories import service as memories
from hivelore.base.memories import store as memory_store
from hivelore.base.memories.model import Draft, Memory, Part
from hivelore.core.actor import Space, space_of
from hivelore.core.errors import Invalid, TooLarge
from hivelore.core.settings import Settings
from hivelore.core.text import clean, first_line, split
from hivelore.rooms.transcripts import store
from hivelore.sql.write import one_at_a_time
from hivelore.work import Call, View, Work

SESSION, TURN = "session", "turn"
MOST_CHARS = 2**31 - 1  # what both stores can count to in a text


@dataclass(frozen=True, slots=True)
class SavedSession:
    session_id: str
    namespace: str
    chunks: int
    chars: int
    replaced: bool
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SessionPage:
    session_id: str
    content: str
    page: int
    page_size: int
    total_chars: int
    found: bool

    @property
    def has_more(self) -> bool:
        return (self.page + 1) * self.page_size < self.total_chars


@dataclass(frozen=True, slots=True)
class SessionSummary:
    session_id: str
    namespace: str
    chars: int
    chunks: int
    created_ms: int
    updated_ms: int


@dataclass(frozen=True, slots=True)
class TurnDraft:
    """A turn as an importer read it. `text` is kept and, but for the output of tools, searched (see
    `base/memories/searched.py` for its form); `details` carries tool calls and origin."""

    source: str
    turn_id: str
    conversation: str
    first_message: str
    title: str
    text: str
    complete: bool
    started_ms: int
    ended_ms: int
    workspace: str = ""
    tags: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)


Key = tuple[str, str]
Recorded = Literal["new", "grown", "known", "removed"]


def check_session_id(settings: Settings, session_id: str) -> str:
    """Strip and check; the same on saving and on loading."""
    cleaned = clean(session_id).text.strip()
    if not cleaned:
        raise Invalid(
            "session_id is empty. Give the session a name, for example the task or the date.", field="session_id"
        )
    if len(cleaned) > settings.max_name_chars:
        raise Invalid(
            f"session_id has {len(cleaned)} characters; the limit is {settings.max_name_chars}.", field="session_id"
        )
    return cleaned


def save_session(call: Call, session_id: str, content: str, namespace: str | None = None) -> SavedSession:
    """Keep a whole session verbatim under its id, replacing what was saved under it, in one transaction."""
    settings = call.hub.settings
    id = check_session_id(settings, session_id)
    if not content:
        raise Invalid("content is empty. Give the text of the session.", field="content")
    if len(content) > settings.max_session_chars:
        raise TooLarge(
            f"content has {len(content)} characters; the limit of a session is {settings.max_session_chars}. "
            "Save it in several sessions, or raise HIVELORE_MAX_SESSION_CHARS.",
            field="content",
            limit=settings.max_session_chars,
        )
    cleaned = clean(content)
    if not cleaned.text:
        raise Invalid("content is empty once NUL characters are left out.", field="content")
    name = clean_namespace(
        clean(namespace).text if namespace else None, settings.session_namespace, settings.max_name_chars
    )
    if name == EVERYTHING:
        raise Invalid("namespace '*' means everything readable; to write, name one namespace.", field="namespace")
    space = space_of(name, call.caller.id, frozenset(settings.shared_namespaces))
    pieces = [cleaned.text[start:end] for start, end in split(cleaned.text, settings.chunk_tokens)]
    with call.write() as w:
        replaced = _put_session(w, id, space, cleaned.text, pieces)
    return SavedSession(id, name, len(pieces), len(cleaned.text), replaced, cleaned.notes())


def _put_session(w: Work, id: str, space: Space, text: str, pieces: Sequence[str]) -> bool:
    """Store a session in place of the one that has its id; return whether there was one."""
    one_at_a_time(w.connection, f"session:{w.caller.id}:{id}")
    old = _stored_session(w, id)
    if old is not None and old.space == space.id:
        _replace_session(w, old, text, pieces)
    else:
        if old is not None:
            memories.remove(w, old)
        _add_session(w, id, space, text, pieces)
    return old is not None


def _stored_session(v: View, session_id: str) -> Memory | None:
    place = store.session_memory(v, v.caller.id, session_id)
    found = memory_store.by_id(v, place[1]) if place else None
    return found[0] if found else None


def _add_session(w: Work, session_id: str, space: Space, text: str, pieces: Sequence[str]) -> None:
    draft = Draft(
        space=space, kind=SESSION, text=text, pieces=tuple(pieces), source="", origin={"session_id": session_id}
    )
    memory = memories.add(w, draft)
    assert memory is not None  # sessions have no key of the memory table; their own table names them
    store.name_session(w, session_id, space.id, memory.id)


def _replace_session(w: Work, old: Memory, text: str, pieces: Sequence[str]) -> None:
    """Passages that stay in place keep their ids (and their vectors); the earlier text is kept unless the new
    continues it."""
    kept = {(p.start, t): p.id for p, t in zip(old.parts, old.piece_texts(), strict=True)} if old.parts else {}
    parts = memories.make_parts(w, pieces)
    same = (
        tuple(
            Part(kept.get((p.start, piece), p.id), p.seq, p.start, p.length)
            for p, piece in zip(parts, pieces, strict=True)
        )
        if parts
        else ()
    )
    memories.change(w, old, text=text, parts=same, keep_revision=not text.startswith(old.text))


def load_session(call: Call, session_id: str, page: int = 0, page_size: int = 8000) -> SessionPage:
    """A page of a saved session of the caller. An unknown id gives an empty page that says so."""
    settings = call.hub.settings
    id = clean(session_id).text.strip()
    page, page_size = max(page, 0), max(1, min(page_size, settings.max_page_chars))
    with call.read() as v:
        place = store.session_memory(v, call.caller.id, id) if id else None
        if place is None or page * page_size > MOST_CHARS:
            total = store.session_page(v, *place, 0, 0)[1] if place else 0
            return SessionPage(id, "", page, page_size, total, place is not None)
        text, chars = store.session_page(v, *place, page * page_size, page_size)
        return SessionPage(id, text, page, page_size, chars, True)


def list_sessions(call: Call, offset: int, limit: int) -> tuple[list[SessionSummary], int]:
    """Saved sessions of the caller, last saved first, and how many there are."""
    with call.read() as v:
        rows = store.session_list(v, call.caller.id, offset, limit)
        names = identity.names(v, [row.space for row in rows])
        found = [
            SessionSummary(r.session_id, names.get(r.space, ""), r.chars, r.part_count, r.created_ms, r.updated_ms)
            for r in rows
        ]
        return found, store.session_count(v, call.caller.id)


def forget_session(call: Call, session_id: str) -> bool:
    """Remove a saved session of the caller for good; False when there is none."""
    id = check_session_id(call.hub.settings, session_id)
    with call.write() as w:
        one_at_a_time(w.connection, f"session:{w.caller.id}:{id}")
        memory = _stored_session(w, id)
        return memory is not None and memories.remove(w, memory)


def turns_beside(v: View, space: str, memory: str, before: int, after: int) -> tuple[list[Key], list[Key]]:
    """The turns before and after an imported turn in its conversation, each as (space, memory id) in order of time.

    Who may read the turn may read them: they lie in the same space.
    """
    turn = store.turn_of(v, space, memory)
    if turn is None:
        return [], []
    earlier = store.turns_beside(v, turn, before, later=False) if before else []
    later = store.turns_beside(v, turn, after, later=True) if after else []
    return earlier[::-1], later


# -- imported turns ----------------------------------------------------------------------------------------------------


def read_position(v: View, source: str, path: str) -> dict[str, Any] | None:
    """How far a transcript file was read for the caller; None for a file that was never read."""
    return store.read_position(v, source, path)


def note_read_position(w: Work, source: str, path: str, resume: dict[str, Any]) -> None:
    """Remember how far a file was read; call it in the transaction that records what was read."""
    store.put_read_position(w, source, path, resume)


def record_turns(w: Work, space: Space, drafts: Sequence[TurnDraft]) -> list[Recorded]:
    """Store turns that are new, replace those that have grown, leave alone those that are known or were removed.

    A turn is recognised by its source and first message, so a resumed conversation that repeats earlier turns adds
    nothing. Once removed by its owner it stays removed.
    """
    keys = [f"turn:{draft.source}:{draft.first_message}" for draft in drafts]
    buried = memory_store.buried_keys(w, w.caller.id, keys)
    return [_record(w, space, draft, key, key in buried) for draft, key in zip(drafts, keys, strict=True)]


def _record(w: Work, space: Space, draft: TurnDraft, key: str, removed: bool) -> Recorded:
    if removed:
        return "removed"
    known = store.turn_by_first_message(w, w.caller.id, draft.source, draft.first_message)
    if known is None:
        memory = memories.add(
            w,
            Draft(
                space=space,
                kind=TURN,
                text=draft.text,
                title=first_line(draft.title),
                tags=draft.tags,
                source=draft.source,
                layer="trace",
                key=key,
                origin={"session_id": draft.conversation, "turn_id": draft.turn_id},
                event_ms=draft.started_ms,
            ),
        )
        if memory is None:
            return "known"
        store.put_turn(w, _turn_row(w, memory.space, memory.id, draft))
        return "new"
    found = memory_store.by_id(w, known.memory)
    if found is None or found[0].text == draft.text:
        return "known"
    if len(draft.text) < len(found[0].text):
        return "known"  # an older, shorter copy of the file must not shorten what is kept
    # A turn that grew contains what it was. Another text under the same message id replaces it, but is not its
    # continuation (sources without message ids can collide): then the earlier text is kept as a revision.
    grown = _request_of(draft.text) == _request_of(found[0].text)
    memories.change(w, found[0], text=draft.text, keep_revision=not grown)
    # A resumed or forked conversation repeats the turn under another id; it stays with the one it was read in first.
    first = replace(draft, conversation=known.conversation, turn_id=known.turn_id)
    store.put_turn(w, _turn_row(w, known.space, known.memory, first))
    return "grown"


def _request_of(text: str) -> str:
    """The first section of a rendered turn: what the user asked."""
    return text.split("\n\n## ", 1)[0]


def _turn_row(w: Work, space: str, memory: str, draft: TurnDraft) -> dict[str, Any]:
    return {
        "space": space,
        "memory": memory,
        "owner": w.caller.id,
        "source": draft.source,
        "conversation": draft.conversation,
        "turn_id": draft.turn_id,
        "first_message": draft.first_message,
        "complete": draft.complete,
        "workspace": draft.workspace,
        "details": draft.details,
        "started_ms": draft.started_ms,
        "ended_ms": draft.ended_ms,
    }
