"""Neighbours of a memory that is about to be stored: those of its place and kind that say much the same."""

from __future__ import annotations

from dataclasses import dataclass

from hivelore.base.memories.model import Draft
from hivelore.base.search import service as search
from hivelore.base.search.alike import NEIGHBOUR, alike, signature
from hivelore.base.search.model import Filters
from hivelore.core.actor import Scope
from hivelore.core.text import excerpt
from hivelore.work import Call

SIMILAR = "similar"  # the relation between a memory and the neighbours that were there when it was stored
TERMS, LOOKED_AT, MOST_SIMILAR = 3, 6, 3


@dataclass(frozen=True, slots=True)
class Similar:
    """A memory of the same place and kind that says much the same: id of the whole, its beginning, and the share of
    words in common, 0…1."""

    id: str
    beginning: str
    alike: float


def similar_to(call: Call, draft: Draft) -> tuple[Similar, ...]:
    """Memories of the draft's place and kind that say much the same, by the text index, before anything is written.

    They are told and linked, never a reason to refuse: a correction looks like what it corrects.
    """
    mark = signature(draft.text)
    # Long words tell most and are rarest, which is also what makes looking them up cheap.
    terms = sorted(mark.words, key=lambda word: (-len(word), word))[:TERMS]
    with call.read() as v:
        found = search.like(v, terms, Scope((draft.space,)), Filters(kinds=(draft.kind,)), LOOKED_AT)
        compared = [Similar(ref, excerpt(text, 80), alike(mark, signature(text))) for ref, text in found]
    near = sorted((each for each in compared if each.alike >= NEIGHBOUR), key=lambda each: each.alike)
    nearest_of_each = {each.id: each for each in near}  # several parts of one memory may be near
    return tuple(sorted(nearest_of_each.values(), key=lambda each: -each.alike)[:MOST_SIMILAR])
