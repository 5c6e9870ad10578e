"""Search answers that are made to cost little of a context window (`maxTokens`, `format`, `detail`), and `timeline`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hivelore.base.memories.model import Item
from hivelore.base.search.model import Hit
from hivelore.core.clock import age, iso_z
from hivelore.core.errors import Invalid
from hivelore.core.fence import blank_recalled, fenced
from hivelore.core.text import excerpt, first_line
from hivelore.core.tokens_bound import tokens_at_most
from hivelore.doors.rest import ids
from hivelore.doors.rest.bodies import Body, optional, whole_number
from hivelore.rooms.memory.answer import Around, Filled, Passage, fill, shorter
from hivelore.rooms.memory.around import Timeline, neighbours
from hivelore.rooms.memory.block import NOTE as BLOCK_NOTE
from hivelore.rooms.memory.block import block, entry
from hivelore.rooms.memory.service import NOTE, RecalledItem
from hivelore.rooms.transcripts import service as transcripts
from hivelore.work import Call

FIELDS = ("maxTokens", "format", "detail", "context")
USUAL_TOKENS, MIN_TOKENS, ITEM_TOKENS, MOST_LOOKED_AT = 2_000, 100, 60, 50
TITLE_CHARS, BESIDE_CHARS = 60, 240
INDEX_COLUMNS = ("id", "title", "age", "kind", "score")


def asked(body: Body) -> bool:
    """Whether a search asks for one of these answers."""
    return any(body.get(field) is not None for field in FIELDS)


def hits_for(body: Body, limit: int) -> int:
    """How many memories to look for. Raises `Invalid` for fields that cannot be."""
    operation = "memory.search"
    if optional(body, "format", operation) not in ("", "context"):
        raise Invalid("memory.search format must be 'context'", field="format")
    if optional(body, "detail", operation) not in ("", "index"):
        raise Invalid("memory.search detail must be 'index'", field="detail")
    whole_number(body, "context", operation, least=0)
    tokens = whole_number(body, "maxTokens", operation, least=MIN_TOKENS)
    if body.get("limit") is None and body.get("detail") is None:
        return min(max(limit, (tokens or USUAL_TOKENS) // ITEM_TOKENS), MOST_LOOKED_AT)
    return limit


def answer(call: Call, body: Body, hits: Sequence[RecalledItem], terms: Sequence[str]) -> Body:
    """The answer to a search: `injectedContext` is one fenced block of at most `maxTokens`, `items` what it holds; or
    with `detail` "index" one short row for each hit."""
    now_ms = call.hub.clock.now_ms()
    if body.get("detail") == "index":
        return {
            "injectedContext": "",
            "index": {"columns": list(INDEX_COLUMNS), "rows": [_row(h, now_ms) for h in hits]},
        }
    budget = whole_number(body, "maxTokens", "memory.search", least=MIN_TOKENS) or USUAL_TOKENS
    count = whole_number(body, "context", "memory.search", least=0) or 0
    around = neighbours(call, count, transcripts.turns_beside) if count else None
    frame = tokens_at_most(fenced("", BLOCK_NOTE)) + 4

    def cost_of(passage: Passage) -> int:
        return tokens_at_most(entry(passage, _name, now_ms)) + 1

    chosen = fill(hits, terms, budget - frame, cost_of, around)
    while chosen.passages and tokens_at_most(block(chosen.passages, _name, now_ms)) > budget:
        chosen = shorter(chosen)
    wanted = body.get("includeInjectedContext") is not False
    return {
        "injectedContext": block(chosen.passages, _name, now_ms) if wanted else "",
        "items": [_item(each, now_ms) for each in chosen.passages],
        "omitted": _omitted(chosen),
    }


def _omitted(chosen: Filled) -> Body:
    how = "ask again with a larger maxTokens, or with detail 'index'" if chosen.omitted else ""
    return {"items": chosen.omitted, "how": how}


def _name(item: Item) -> str:
    return ids.wire_id(item.layer, item.memory)


def _kind(item: Item) -> str:
    return "text" if item.kind == NOTE else item.kind


def _row(found: RecalledItem, now_ms: int) -> list[Any]:
    item = found.item
    title = excerpt(item.title or first_line(blank_recalled(found.excerpt)), TITLE_CHARS)
    return [_name(item), title, age(item.event_ms, now_ms), _kind(item), round(found.hit.score, 2)]


def _item(passage: Passage, now_ms: int) -> Body:
    item = passage.found.item
    shown: Body = {
        "id": _name(item),
        "content": passage.text,
        "age": age(item.event_ms, now_ms),
        "createdAt": iso_z(item.event_ms),
        "source": item.source or None,
        "kind": _kind(item),
        "score": round(passage.found.hit.score, 4),
        "truncated": not passage.whole,
        "similar": len(passage.similar),
    }
    if passage.around != Around():
        shown["before"] = [each.text for each in passage.around.before]
        shown["after"] = [each.text for each in passage.around.after]
    return shown


def explained(hit: Hit) -> Body:
    """What each engine said of a hit (null: it did not return it), and what its score is made of."""
    return {
        "textRank": hit.text_rank,
        "textScore": hit.text_score,
        "vectorRank": hit.vector_rank,
        "cosine": hit.cosine,
        "parts": dict(hit.parts or {}),
    }


def timeline(found: Timeline, now_ms: int) -> Body:
    """The memories around one, in order of time; the one itself says so. Parts of one memory share its id."""

    def shown(item: Item) -> Body:
        return {
            "id": _name(item),
            "age": age(item.event_ms, now_ms),
            "createdAt": iso_z(item.event_ms),
            "kind": _kind(item),
            "content": excerpt(blank_recalled(item.text), BESIDE_CHARS),
        }

    here = shown(found.item) | {"here": True}
    return {
        "within": found.within,
        "items": [*map(shown, found.before), here, *map(shown, found.after)],
        "moreBefore": found.more_before,
        "moreAfter": found.more_after,
    }
