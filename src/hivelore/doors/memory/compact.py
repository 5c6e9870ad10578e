"""Answers of `recall` and `timeline` that are made to cost little of a context window, and never more than allowed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hivelore.base.memories.model import SHORT_ID_CHARS, Item
from hivelore.core.clock import age, iso_z
from hivelore.core.errors import Invalid
from hivelore.core.fence import blank_recalled, fenced
from hivelore.core.text import excerpt, first_line
from hivelore.core.tokens_bound import tokens_at_most
from hivelore.doors.memory import shapes
from hivelore.rooms.memory.answer import Around, Filled, Neighbour, Passage, fill, shorter
from hivelore.rooms.memory.around import Timeline
from hivelore.rooms.memory.block import NOTE as BLOCK_NOTE
from hivelore.rooms.memory.block import block, entry
from hivelore.rooms.memory.service import NOTE, Recalled, RecalledItem

MIN_TOKENS = 300  # what surrounds the items takes up to two hundred
USUAL_TOKENS = 2_000  # of a block without a budget
ITEM_TOKENS = 60  # about the least that one memory takes: so many hits are worth looking at
MOST_LOOKED_AT = 50
TITLE_CHARS, BESIDE_CHARS, MOST_SIMILAR_SHOWN = 60, 240, 5
INDEX_COLUMNS = ("id", "title", "age", "kind", "score")
NEXT_STEP = "get_memory(ids=[…]) reads in full, timeline(id) shows what is around"

FRAME = tokens_at_most(fenced("", BLOCK_NOTE)) + 4  # what a fence takes beside its entries

AroundOf = Callable[[RecalledItem], Around]


def check_budget(max_tokens: int) -> int:
    if max_tokens < MIN_TOKENS:
        raise Invalid(f"max_tokens is {max_tokens}; the least is {MIN_TOKENS}.", field="max_tokens")
    return max_tokens


def hits_for(max_tokens: int, least: int) -> int:
    """How many hits to look at to fill a budget."""
    return min(max(least, max_tokens // ITEM_TOKENS), MOST_LOOKED_AT)


def short(id: str) -> str:
    """The beginning of an id, which every tool takes for the whole."""
    return id[:SHORT_ID_CHARS]


def cost(value: Any) -> int:
    """The most tokens that a value takes in an answer."""
    return tokens_at_most(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def filled(found: Recalled, offset: int, max_tokens: int, now_ms: int, around: AroundOf | None) -> dict[str, Any]:
    """Items with the most useful text for the query, the whole answer within `max_tokens`."""

    def answer(chosen: Filled) -> dict[str, Any]:
        return _page(found, offset, chosen) | {"items": [_passage(each, now_ms) for each in chosen.passages]}

    return _fitting(found, max_tokens, answer, lambda each: cost(_passage(each, now_ms)) + 1, around)


def context(found: Recalled, offset: int, max_tokens: int, now_ms: int, around: AroundOf | None) -> dict[str, Any]:
    """One fenced block to put into a prompt, the whole answer within `max_tokens`."""

    def name_of(item: Item) -> str:
        return short(item.id)

    def answer(chosen: Filled) -> dict[str, Any]:
        return {"context": block(chosen.passages, name_of, now_ms), **_page(found, offset, chosen)}

    return _fitting(found, max_tokens, answer, lambda each: cost(entry(each, name_of, now_ms)) + 1, around, FRAME)


def _fitting(
    found: Recalled,
    max_tokens: int,
    answer: Callable[[Filled], dict[str, Any]],
    cost_of: Callable[[Passage], int],
    around: AroundOf | None,
    frame: int = 0,
) -> dict[str, Any]:
    """The fullest answer that stays within the budget, everything around the items counted."""
    surrounding = cost(answer(Filled((), 0, len(found.items) or 1))) + frame
    chosen = fill(found.items, found.terms, max_tokens - surrounding, cost_of, around)
    while chosen.passages and cost(answer(chosen)) > max_tokens:
        chosen = shorter(chosen)
    return answer(chosen)


def _page(found: Recalled, offset: int, chosen: Filled) -> dict[str, Any]:
    more = chosen.omitted > 0 or found.findings.more
    page: dict[str, Any] = {
        "total": found.total,
        "has_more": more,
        "next_cursor": str(offset + chosen.taken) if more else None,
        "search": _searched(found),
    }
    if chosen.omitted:
        page["omitted"] = {
            "items": chosen.omitted,
            "how": "pass next_cursor as cursor, or a larger max_tokens; detail='index' lists them all",
        }
    return page


def _searched(found: Recalled) -> dict[str, Any]:
    """What was searched; long lists of namespaces are numbers here."""
    said = shapes.searched(found.findings, found.namespaces)
    if len(found.namespaces) > 3:
        said["namespaces"] = len(found.namespaces)
    if found.elsewhere:
        said["elsewhere"] = dict(list(found.elsewhere.items())[:3])
    return said


def _passage(passage: Passage, now_ms: int) -> dict[str, Any]:
    item = passage.found.item
    shown: dict[str, Any] = {
        "id": short(item.id),
        "content": passage.text,
        "age": age(item.event_ms, now_ms),
        "at": iso_z(item.event_ms)[:16] + "Z",
        "source": item.source or None,
        "score": round(passage.found.hit.score, 3),
    }
    if item.kind != NOTE:
        shown["kind"] = item.kind
    if not passage.whole:
        shown["truncated"] = True
    for name, id in (("superseded_by", item.superseded_by), ("older_version_of", passage.found.hit.older_version_of)):
        if id:
            shown[name] = short(id)
    if passage.similar:
        shown["similar"] = {
            "count": len(passage.similar),
            "ids": [short(id) for id in passage.similar[:MOST_SIMILAR_SHOWN]],
        }
    if passage.around != Around():
        shown["context"] = beside(passage.around)
    if passage.found.hit.parts is not None:
        shown["explain"] = shapes.explained(passage.found.hit)
    return shown


def beside(around: Around) -> dict[str, Any]:
    """The neighbours of a hit."""

    def side(neighbours: tuple[Neighbour, ...]) -> list[dict[str, str]]:
        return [{"id": short(each.id), "content": each.text} for each in neighbours]

    return {"before": side(around.before), "after": side(around.after)}


def index(found: Recalled, offset: int, max_tokens: int | None, now_ms: int) -> dict[str, Any]:
    """One short row for each hit: enough to choose what to read."""

    def answer(rows: list[list[Any]]) -> dict[str, Any]:
        hidden = len(found.items) - len(rows)
        # A hit whose memory went meanwhile has no row, but the next page must begin behind it.
        taken = len(rows) if hidden else len(found.findings.hits)
        page = _page(found, offset, Filled((), taken, hidden))
        page.pop("omitted", None)
        return {"columns": list(INDEX_COLUMNS), "items": rows, **page, "next": NEXT_STEP}

    rows = [_row(each, now_ms) for each in found.items]
    while max_tokens is not None and rows and cost(answer(rows)) > max_tokens:
        rows.pop()
    return answer(rows)


def _row(found: RecalledItem, now_ms: int) -> list[Any]:
    item = found.item
    title = excerpt(item.title or first_line(blank_recalled(found.excerpt)), TITLE_CHARS)
    return [short(item.id), title, age(item.event_ms, now_ms), _kind(item), round(found.hit.score, 2)]


def _kind(item: Item) -> str:
    return "text" if item.kind == NOTE else item.kind


def timeline(found: Timeline, now_ms: int) -> dict[str, Any]:
    """The items around one, in order of time; the one itself says so."""

    def shown(item: Item) -> dict[str, Any]:
        text = excerpt(blank_recalled(item.text), BESIDE_CHARS)
        said = {"id": short(item.id), "age": age(item.event_ms, now_ms), "at": iso_z(item.event_ms)[:16] + "Z"}
        return {**said, "kind": _kind(item), "content": text}

    return {
        "within": found.within,
        "items": [
            *(shown(each) for each in found.before),
            shown(found.item) | {"here": True},
            *(shown(each) for each in found.after),
        ],
        "more_before": found.more_before,
        "more_after": found.more_after,
    }
