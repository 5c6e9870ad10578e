"""What stands around a memory in time: the turns of its conversation, the parts of its text, its namespace's items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from hivelore.base.memories import around_store, store
from hivelore.base.memories.model import Item
from hivelore.core.fence import blank_recalled
from hivelore.rooms.memory.answer import Around, neighbour
from hivelore.rooms.memory.service import RecalledItem, check_id, clamp, item_of, no_such
from hivelore.work import Call, View

MOST_BESIDE = 50  # items on each side

# (view, space, memory id, how many before, how many after): the turns beside a turn; the transcripts room has it.
TurnsBeside = Callable[[View, str, str, int, int], tuple[list[tuple[str, str]], list[tuple[str, str]]]]


@dataclass(frozen=True, slots=True)
class Timeline:
    """Items in order of time around `item`; whether there are more on either side. `within` says of what they are:
    "conversation", "session" or "namespace"."""

    item: Item
    before: tuple[Item, ...]
    after: tuple[Item, ...]
    more_before: bool
    more_after: bool
    within: str


def timeline(call: Call, id: str, before: int, after: int, turns_beside: TurnsBeside) -> Timeline:
    """What was stored or said around a memory that the caller may read."""
    before, after = (clamp(count + 1, MOST_BESIDE + 1) - 1 for count in (before, after))
    with call.read() as v:
        found = store.by_id(v, check_id(id))
        if found is None:
            raise no_such(id)
        item = item_of(v, *found)
        within = {"turn": "conversation", "session": "session"}.get(item.kind, "namespace")
        earlier, later = _beside(v, item, before + 1, after + 1, turns_beside)
        if item.kind == "session":
            (item,) = _without_recalled(v, item, [item]) or (item,)
    shown = earlier[1:] if len(earlier) > before else earlier
    return Timeline(item, tuple(shown), tuple(later[:after]), len(earlier) > before, len(later) > after, within)


def _beside(v: View, item: Item, before: int, after: int, turns_beside: TurnsBeside) -> tuple[list[Item], list[Item]]:
    if item.kind == "turn":
        earlier, later = turns_beside(v, item.space, item.memory, before, after)
        return around_store.whole_items(v, earlier), around_store.whole_items(v, later)
    if item.kind == "session":
        return _parts(v, item, before, after)
    earlier_items = around_store.items_beside(v, item, before, later=False)
    return earlier_items[::-1], around_store.items_beside(v, item, after, later=True)


def _parts(v: View, item: Item, before: int, after: int) -> tuple[list[Item], list[Item]]:
    parts = around_store.parts_beside(v, item, before, after) if item.parts > 1 and item.id != item.memory else []
    if item.kind == "session":
        parts = _without_recalled(v, item, parts)
    return [p for p in parts if p.seq < item.seq], [p for p in parts if p.seq > item.seq]


def _without_recalled(v: View, item: Item, parts: list[Item]) -> list[Item]:
    """Passages of a session with blanks for recalled blocks, which may begin in one passage and end in another."""
    found = store.by_id(v, item.memory)
    if found is None:
        return []
    text = blank_recalled(found[0].text)
    places = {part.id: part for part in found[0].parts}
    return [
        replace(each, text=text[places[each.id].start : places[each.id].start + places[each.id].length])
        for each in parts
        if each.id in places
    ]


def neighbours(call: Call, count: int, turns_beside: TurnsBeside) -> Callable[[RecalledItem], Around]:
    """A function that reads `count` turns or parts on each side of a hit. A short note has none."""
    count = clamp(count, MOST_BESIDE)

    def around(found: RecalledItem) -> Around:
        item = found.item
        with call.read() as v:
            if item.kind == "turn":
                earlier, later = _beside(v, item, count, count, turns_beside)
            else:
                earlier, later = _parts(v, item, count, count)
        return Around(tuple(map(neighbour, earlier)), tuple(map(neighbour, later)))

    return around
