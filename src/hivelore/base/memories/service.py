"""Writing memories: add, change, remove. Every kind of memory goes through these three functions."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from hivelore.base.identity import store as identity
from hivelore.base.memories import links, store
from hivelore.base.memories.model import ACTIVE, SUPERSEDED, SUPERSEDES, Draft, Memory, Part
from hivelore.base.memories.searched import searched_text
from hivelore.base.search import store as search
from hivelore.base.search.model import Entry, Piece
from hivelore.core.errors import Conflict
from hivelore.work import Work


class ChangedMeanwhile(Conflict):
    """Somebody else changed this memory at the same moment. Read it again and repeat the change."""

    code = "changed_meanwhile"


def add(w: Work, draft: Draft) -> Memory | None:
    """Write a new memory and register it with search; None when a memory with its key is there already."""
    identity.ensure(w, draft.space)
    memory = Memory(
        id=w.ids.memory(),
        space=draft.space.id,
        namespace=draft.space.name,
        owner=w.caller.id,
        agent=w.caller.agent,
        door=w.caller.door,
        kind=draft.kind,
        layer=draft.layer,
        status=draft.status,
        title=draft.title,
        text=draft.text,
        tags=draft.tags,
        source=draft.source,
        key=draft.key,
        origin=draft.origin,
        revision=1,
        event_ms=w.now_ms if draft.event_ms is None else draft.event_ms,
        created_ms=w.now_ms,
        updated_ms=w.now_ms,
        expires_ms=draft.expires_ms,
        parts=make_parts(w, draft.pieces),
    )
    if not store.insert(w, memory):
        return None
    search.put(w, entry(memory), new=True)
    return memory


def make_parts(w: Work, pieces: Sequence[str], *, always: bool = False) -> tuple[Part, ...]:
    """Give each piece an id and its place. A single piece needs no part unless `always`."""
    if len(pieces) < (1 if always else 2):
        return ()
    made: list[Part] = []
    start = 0
    for seq, text in enumerate(pieces):
        made.append(Part(w.ids.memory(), seq, start, len(text)))
        start += len(text)
    return tuple(made)


def change(w: Work, old: Memory, *, keep_revision: bool = True, **changes: object) -> Memory:
    """Write a new revision with these fields changed; the earlier text is kept unless `keep_revision` is false."""
    new = dataclasses.replace(old, **changes, revision=old.revision + 1, updated_ms=w.now_ms)  # type: ignore[arg-type]
    # First the row, whose revision tells whether somebody was faster, then what it held.
    if not store.overwrite(w, new, expected_revision=old.revision):
        raise ChangedMeanwhile()
    if keep_revision and (new.text, new.title, new.tags) != (old.text, old.title, old.tags):
        store.keep_revision(w, old, w.settings.max_revisions)
    search.put(w, entry(new))
    return new


def remove(w: Work, memory: Memory) -> bool:
    """Remove text, parts, revisions, links and everything that search keeps; a tombstone without content stays.

    The row is held first: a change that is under way ends before, and what it registered with search goes, too.
    Returns False when somebody else removed it a moment earlier.
    """
    if not store.lock(w, memory):
        return False
    _hand_on(w, memory)
    search.drop(w, memory.space, memory.id)
    store.delete(w, memory)
    return True


def supersede(w: Work, old: Memory, new: Memory) -> None:
    """Say that one memory takes the place of another in the same space; the old one stays, ranked below the new."""
    store.link(w, new.space, new.id, SUPERSEDES, old.id)
    _mark(w, old.space, old.id, SUPERSEDED)


def _hand_on(w: Work, memory: Memory) -> None:
    """Before a correction goes: what it corrected is superseded by its own corrections, or holds again."""
    newer = links.direct(w, memory.space, memory.id)
    for old in links.corrected(w, memory.space, memory.id):
        for correction in newer:
            store.link(w, memory.space, correction, SUPERSEDES, old)
        if links.direct(w, memory.space, old) == [memory.id]:
            _mark(w, memory.space, old, ACTIVE)


def _mark(w: Work, space: str, id: str, status: str) -> None:
    links.set_status(w, space, id, status)
    search.mark(w, space, id, status)


def forget_earlier(w: Work, memory: Memory) -> None:
    """Let go of all earlier texts of a memory, for when a part of it was removed for good: they hold the part too."""
    store.drop_revisions(w, memory)
    search.queue_merge(w)


def entry(memory: Memory) -> Entry:
    """How search sees a memory: a function of its row, so that the index can be made anew at any time."""
    searched = dataclasses.replace(memory, text=searched_text(memory.kind, memory.text))
    pieces = tuple(Piece(id, text) for id, text in zip(memory.piece_ids(), searched.piece_texts(), strict=True))
    return Entry(
        kind=memory.kind,
        ref=memory.id,
        space=memory.space,
        owner=memory.owner,
        title=memory.title,
        pieces=pieces,
        tags=memory.tags,
        source=memory.source,
        layer=memory.layer,
        status=memory.status,
        event_ms=memory.event_ms,
        created_ms=memory.created_ms,
        expires_ms=memory.expires_ms,
    )
