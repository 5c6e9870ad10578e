"""Use cases of the memory room. Rules and limits live here, so that every door applies the same ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hivelore.base.identity.service import EVERYTHING, clean_namespace, resolve_scope
from hivelore.base.memories import count_store, links, store
from hivelore.base.memories import service as memories
from hivelore.base.memories.model import LAYERS, Draft, Item, Memory, NoSuchMemory, Part, PartOfWhole
from hivelore.base.search import service as search
from hivelore.base.search.model import ENGINES, Filters, Findings, Hit, Request
from hivelore.core.actor import Role, Scope, space_of
from hivelore.core.clock import parse_iso_ms
from hivelore.core.errors import Invalid, TooLarge
from hivelore.core.fence import strip_recalled
from hivelore.core.page import Position
from hivelore.core.settings import Settings
from hivelore.core.text import clean, split
from hivelore.rooms.memory.similar import SIMILAR, Similar, similar_to
from hivelore.work import Call, View, Work

NOTE = "note"
VERBATIM_KINDS = ("session", "turn")


@dataclass(frozen=True, slots=True)
class Remembered:
    """What was durably stored. `notes` says what was changed in the text before it was stored; `similar` names
    neighbours that were there already."""

    memory: Memory
    created: bool
    notes: tuple[str, ...]
    similar: tuple[Similar, ...] = ()


@dataclass(frozen=True, slots=True)
class RecalledItem:
    """A hit with the memory it belongs to. `excerpt` is the chunk that matched."""

    item: Item
    hit: Hit
    excerpt: str


@dataclass(frozen=True, slots=True)
class Recalled:
    """An answer to a recall: items best first, what was searched, and where else matches are when nothing was found."""

    items: tuple[RecalledItem, ...]
    total: int
    findings: Findings
    namespaces: tuple[str, ...]
    elsewhere: Mapping[str, int]
    terms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Listed:
    items: tuple[Item, ...]
    total: int
    more: bool


# -- checks ------------------------------------------------------------------------------------------------------------


def check_text(text: str, field: str, limit_chars: int, setting: str) -> tuple[str, tuple[str, ...]]:
    """Clean a text and hold it to its limit; returns it with notes about what was changed."""
    if len(text) > limit_chars:
        raise TooLarge(
            f"{field} has {len(text)} characters; the limit is {limit_chars}. "
            f"Store it in several parts, or raise {setting}.",
            field=field,
            limit=limit_chars,
        )
    cleaned = clean(text)
    return cleaned.text, cleaned.notes()


def check_content(settings: Settings, content: str) -> tuple[str, tuple[str, ...]]:
    """The text of a memory: cleaned, stripped, without recalled blocks; an empty one is refused."""
    text, notes = check_text(content, "content", settings.max_content_chars, "HIVELORE_MAX_CONTENT_CHARS")
    text, blocks = strip_recalled(text)
    text = text.strip()
    if not text:
        if blocks:
            raise Invalid("content is empty once the recalled memory blocks in it are left out; nothing new to store.")
        raise Invalid("content is empty. Give the text to remember.", field="content")
    if blocks:
        notes = (*notes, f"{blocks} recalled memory block(s) were left out")
    return text, notes


def check_tags(settings: Settings, tags: Sequence[str] | None) -> tuple[str, ...]:
    """Tags as given, without blanks around them, doubles and empties."""
    cleaned = tuple(dict.fromkeys(t for t in (clean(tag).text.strip() for tag in tags or ()) if t))
    if len(cleaned) > settings.max_tags:
        raise Invalid(f"tags has {len(cleaned)} entries; the limit is {settings.max_tags}.", field="tags")
    for tag in cleaned:
        check_name(settings, tag, "tags")
    return cleaned


def check_name(settings: Settings, name: str, field: str) -> str:
    """A short text (tag, source, namespace, session id) held to its limit."""
    if len(name) > settings.max_name_chars:
        raise Invalid(
            f"{field} has an entry of {len(name)} characters; the limit is {settings.max_name_chars}.", field=field
        )
    return clean(name).text


def check_query(settings: Settings, query: str) -> str:
    text, _ = check_text(query, "query", settings.max_query_chars, "HIVELORE_MAX_QUERY_CHARS")
    if not text.strip():
        raise Invalid("query is empty. Say what to look for, in words or as a question.", field="query")
    return text.strip()


def namespace_for(settings: Settings, name: str | None, default: str) -> str:
    cleaned = clean(name).text if name else name
    namespace = clean_namespace(cleaned, default, settings.max_name_chars)
    if namespace == EVERYTHING:
        raise Invalid("namespace '*' means everything readable; to write, name one namespace.", field="namespace")
    return namespace


# -- writing -----------------------------------------------------------------------------------------------------------


def remember(
    call: Call,
    content: str,
    *,
    namespace: str | None = None,
    tags: Sequence[str] | None = None,
    source: str | None = None,
    title: str = "",
    layer: str = "",
    kind: str = NOTE,
    key: str | None = None,
    event_ms: int | None = None,
    origin: Mapping[str, object] | None = None,
    replace: bool = True,
    supersedes: str | None = None,
    look_for_similar: bool = False,
) -> Remembered:
    """Store a text as one memory, in one transaction.

    `supersedes` is the id of a memory that it corrects: that one is kept, marked and ranked below. Both lie in one
    namespace, which is then the default.

    With `key`, storing again under the same key changes the memory (a new revision, tags merged) instead of adding one,
    or with `replace=False` leaves it as it is; `created` tells. With `look_for_similar` the answer names neighbours,
    and the new memory is linked to them.
    """
    settings = call.hub.settings
    text, notes = check_content(settings, content)
    if supersedes and not namespace:
        namespace = get(call, supersedes).namespace
    name = namespace_for(settings, namespace, settings.default_namespace)
    if layer and layer not in LAYERS:
        raise Invalid(f"layer must be one of {', '.join(LAYERS)}.", field="layer")
    draft = Draft(
        space=space_of(name, call.caller.id, frozenset(settings.shared_namespaces)),
        kind=kind,
        text=text,
        title=clean(title).text[: settings.max_name_chars],
        pieces=pieces_of(text, settings),
        tags=check_tags(settings, tags),
        source=check_name(settings, source or "", "source"),
        layer=layer,
        key=key,
        event_ms=event_ms,
        origin=dict(origin or {}),
    )
    similar = similar_to(call, draft) if look_for_similar else ()
    with call.write() as w:
        memory = memories.add(w, draft)
        created = memory is not None
        if memory is None:
            assert key is not None
            memory = _store_again(w, draft, key, replace)
        if supersedes:
            _supersede(w, memory, supersedes)
        near = tuple(each for each in similar if each.id not in (memory.id, supersedes)) if created else ()
        for each in near:
            store.link(w, memory.space, memory.id, SIMILAR, each.id)
        return Remembered(memory, created, notes, near)


def _supersede(w: Work, new: Memory, id: str) -> None:
    old, part = _writable(w, id)
    if old.kind == "session":
        raise PartOfWhole(_verbatim_advice(old, "superseded"))
    if part is not None and len(old.parts) > 1:
        raise PartOfWhole(
            f"{check_id(id)!r} is one part of a longer text. Change it with update, "
            f"or give the group_id {old.id!r} to supersede all of it.",
            field="supersedes",
        )
    if old.id == new.id:
        raise Invalid("supersedes names the memory itself; give the id of the one it corrects.", field="supersedes")
    if old.space != new.space:
        raise Invalid(
            f"supersedes names a memory in namespace {old.namespace!r}; store the correction there, too.",
            field="namespace",
        )
    memories.supersede(w, old, new)


def _store_again(w: Work, draft: Draft, key: str, replace: bool) -> Memory:
    old = store.by_key(w, draft.space.id, w.caller.id, key)
    if old is None:
        raise memories.ChangedMeanwhile()
    if not replace:
        return old
    tags = tuple(dict.fromkeys((*old.tags, *draft.tags)))
    if (old.text, old.title, old.tags) == (draft.text, draft.title, tags):
        return old
    parts = old.parts if old.text == draft.text else memories.make_parts(w, draft.pieces)
    return memories.change(w, old, text=draft.text, title=draft.title, tags=tags, parts=parts)


def pieces_of(text: str, settings: Settings) -> tuple[str, ...]:
    """The pieces of a long text that get ids of their own; they join to the text."""
    return tuple(text[start:end] for start, end in split(text, settings.chunk_tokens))


def update(call: Call, id: str, content: str) -> tuple[Item, tuple[str, ...]]:
    """Replace the text of a memory, or of one part of it; the id stays and all of the new text is searchable."""
    text, notes = check_content(call.hub.settings, content)
    with call.write() as w:
        memory, part = _writable(w, id)
        if memory.kind in VERBATIM_KINDS:
            raise PartOfWhole(_verbatim_advice(memory, "changed"))
        if part is None:
            whole = text
            parts = _kept_ids(memories.make_parts(w, pieces_of(text, w.settings)), memory.parts)
        else:
            pieces = zip(memory.parts, memory.piece_texts(), strict=True)
            texts = [_in_place_of(t, text) if p is part else t for p, t in pieces]
            whole, parts = "".join(texts), _laid_out(memory.parts, texts)
        changed = memories.change(w, memory, text=whole, parts=parts)
        return item_of(w, changed, part and next(p for p in changed.parts if p.id == part.id)), notes


def _kept_ids(new: Sequence[Part], old: Sequence[Part]) -> tuple[Part, ...]:
    """New parts under the ids that the old ones had, in order, so that ids which were handed out stay good."""
    if not old:
        return ()
    return tuple(Part(o.id, n.seq, n.start, n.length) for n, o in zip(new, old, strict=False)) + tuple(new[len(old) :])


def _in_place_of(old: str, new: str) -> str:
    """The new text of a part with the blanks of the old one around it, which keep its words apart from its
    neighbours'."""
    lead = old[: len(old) - len(old.lstrip())]
    return f"{lead}{new}{old[len(old.rstrip()) :]}" if old.strip() else new


def _laid_out(parts: Sequence[Part], texts: Sequence[str]) -> tuple[Part, ...]:
    """The same parts over new texts: ids stay, places follow."""
    laid: list[Part] = []
    start = 0
    for part, text in zip(parts, texts, strict=True):
        laid.append(Part(part.id, len(laid), start, len(text)))
        start += len(text)
    return tuple(laid)


def forget(call: Call, id: str) -> int:
    """Remove a memory, or one part of it, for good; returns how many pieces went (0 when there is none to remove)."""
    with call.write() as w:
        try:
            memory, part = _writable(w, id)
        except NoSuchMemory:
            return 0
        if memory.kind == "session":
            raise PartOfWhole(_verbatim_advice(memory, "removed"))
        if part is None or len(memory.parts) == 1:
            memories.remove(w, memory)
            return max(len(memory.parts), 1)
        kept = [(p, t) for p, t in zip(memory.parts, memory.piece_texts(), strict=True) if p is not part]
        texts = [t for _, t in kept]
        memories.change(
            w, memory, text="".join(texts), parts=_laid_out([p for p, _ in kept], texts), keep_revision=False
        )
        memories.forget_earlier(w, memory)
        return 1


def _verbatim_advice(memory: Memory, done: str) -> str:
    if memory.kind == "session":
        session = memory.origin.get("session_id", "")
        return (
            f"This is a passage of the saved session {session!r} and cannot be {done} alone. "
            "Save the session again with save_session, or remove it with forget_session."
        )
    return f"This is an imported conversation turn, kept verbatim; it cannot be {done}. Remember a correction instead."


def _writable(w: Work, id: str) -> tuple[Memory, Part | None]:
    found = store.by_id(w, check_id(id))
    if found is None or not may_write(w, found[0]):
        raise no_such(id)
    return found


def may_write(v: View, memory: Memory) -> bool:
    return memory.owner == v.caller.id or v.caller.principal.may(Role.ADMIN)


def check_id(id: str) -> str:
    return clean(id).text.strip()[:200]


def no_such(id: str) -> NoSuchMemory:
    return NoSuchMemory(
        f"There is no memory with id {check_id(id)[:80]!r} for this user. Use list_memories or recall to find ids.",
        id=check_id(id),
    )


# -- reading -----------------------------------------------------------------------------------------------------------


def get(call: Call, id: str) -> Item:
    """One memory or part by id, if the caller may read it."""
    with call.read() as v:
        found = store.by_id(v, check_id(id))
        if found is None:
            raise no_such(id)
        item = item_of(v, *found)
        item = dataclasses.replace(item, supersedes=tuple(links.corrected(v, item.space, item.memory)))
        return links.with_corrections(v, [item])[0]


def get_several(call: Call, ids: Sequence[str]) -> tuple[list[Item], list[str]]:
    """Memories or parts in the given order, and the ids that name nothing which the caller may read."""
    settings = call.hub.settings
    if len(ids) > settings.max_limit:
        raise Invalid(f"ids has {len(ids)} entries; the limit is {settings.max_limit}.", field="ids")
    items: list[Item] = []
    unknown: list[str] = []
    with call.read() as v:
        for id in dict.fromkeys(check_id(each) for each in ids):
            found = store.by_id(v, id)
            if found is None:
                unknown.append(id[:80])
            else:
                items.append(item_of(v, *found))
        items = links.with_corrections(v, items)
    return items, unknown


def item_of(v: View, memory: Memory, part: Part | None) -> Item:
    """A memory, or one part of it, as lists and recalls show it."""
    text = memory.text if part is None else memory.text[part.start : part.start + part.length]
    return Item(
        id=part.id if part else memory.id,
        memory=memory.id,
        space=memory.space,
        namespace=memory.namespace,
        owner=memory.owner,
        kind=memory.kind,
        layer=memory.layer,
        status=memory.status,
        title=memory.title,
        text=text,
        tags=memory.tags,
        source=memory.source,
        seq=part.seq if part else 0,
        parts=max(len(memory.parts), 1),
        chars=len(text),
        origin=memory.origin,
        event_ms=memory.event_ms,
        created_ms=memory.created_ms,
        updated_ms=memory.updated_ms,
    )


def make_filters(
    settings: Settings,
    *,
    tags: Sequence[str] | None = None,
    source: str | None = None,
    kind: str | None = None,
    layers: Sequence[str] = (),
    since: str | None = None,
    until: str | None = None,
) -> Filters:
    """Filters as a caller writes them; `since` is inclusive, `until` exclusive."""
    since_ms = parse_iso_ms(since, "since") if since else None
    until_ms = parse_iso_ms(until, "until") if until else None
    if since_ms is not None and until_ms is not None and until_ms <= since_ms:
        raise Invalid("until must be later than since.", field="until")
    return Filters(
        tags=check_tags(settings, tags),
        sources=(check_name(settings, source, "source"),) if source else (),
        kinds=(_check_kind(kind),) if kind else (),
        layers=tuple(layers),
        since_ms=since_ms,
        until_ms=until_ms,
    )


def _check_kind(kind: str) -> str:
    """A kind as callers name it; an unknown one is refused, because it would find nothing without saying why."""
    if kind != "text" and kind not in VERBATIM_KINDS:
        raise Invalid(f"kind must be one of {', '.join(('text', *VERBATIM_KINDS))}.", field="kind")
    return NOTE if kind == "text" else kind


def recall(
    call: Call,
    query: str,
    *,
    namespaces: Sequence[str] = (),
    filters: Filters = Filters(),
    limit: int,
    offset: int = 0,
    engines: Sequence[str] = ENGINES,
    explain: bool = False,
) -> Recalled:
    """Search by meaning and by word. No namespace means the default one; `*` means everything readable. With `explain`
    each hit says what its score is made of. No client chooses `engines`: the benchmark does."""
    settings = call.hub.settings
    text = check_query(settings, query)
    if len(namespaces) > settings.max_tags:
        raise Invalid(
            f"namespaces has {len(namespaces)} entries; the limit is {settings.max_tags}. '*' means all of them.",
            field="namespaces",
        )
    named = (clean(name).text for name in namespaces)
    names = tuple(clean_namespace(n, settings.default_namespace, settings.max_name_chars) for n in named)
    names = names or (settings.default_namespace,)
    scope = resolve_scope(call.caller.principal, settings, names)
    asking = search.begin(call.hub, text, engines)
    search.settle(call, scope)
    with call.read() as v:
        total = count_store.count(v, scope)
        words = search.look_up(v, asking, scope, filters)
    question = asking.question()
    with call.read() as v:
        request = Request(
            question,
            scope,
            filters,
            clamp(limit, settings.max_limit),
            offset,
            engines,
            corrections=lambda ids: links.newest_of(v, ids),
            explain=explain,
        )
        findings = search.find(call.hub, v, request, words)
        found = store.items(v, [(hit.space, hit.ref, hit.piece) for hit in findings.hits])
        items = dict(zip(found, links.with_corrections(v, list(found.values())), strict=True))
        recalled = tuple(
            RecalledItem(items[hit.space, hit.piece], hit, hit.text)
            for hit in findings.hits
            if (hit.space, hit.piece) in items
        )
        elsewhere: Mapping[str, int] = {}
        if not recalled and not scope.everything and offset == 0:
            elsewhere = search.matches_by_namespace(v, question, filters)
        return Recalled(recalled, total, findings, names, elsewhere, question.terms)


def list_items(call: Call, namespace: str | None, position: Position, limit: int) -> Listed:
    """Items of a namespace, newest first; one more than the page is read to know whether there is more."""
    settings = call.hub.settings
    name = clean_namespace(
        clean(namespace).text if namespace else None, settings.default_namespace, settings.max_name_chars
    )
    scope: Scope = resolve_scope(call.caller.principal, settings, (name,))
    size = clamp(limit, settings.max_limit)
    with call.read() as v:
        items = links.with_corrections(v, store.page(v, scope, position, size + 1))
        return Listed(tuple(items[:size]), count_store.count(v, scope), len(items) > size)


def clamp(limit: int, most: int) -> int:
    """Between 1 and `most`; a page that is smaller than asked for is not an error, the cursor leads on."""
    return max(1, min(limit, most))
