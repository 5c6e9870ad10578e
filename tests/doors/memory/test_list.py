"""`list_memories`: newest first, page by page, also while others write."""

from __future__ import annotations

import base64
import json

import pytest
from doors_kit import Person, dump, ids_of, pages

from hivelore.base.memories import service as memories
from hivelore.base.memories.model import Draft
from hivelore.core.actor import Space
from support.hubs import call_as, clock_of


def _fill(who: Person, number: int, *, moving: bool = True) -> list[str]:
    """Memories, oldest first; ties in time when the clock does not move."""
    ids = []
    for n in range(number):
        ids.append(who("remember", content=f"note {n}")["ids"][0])
        if moving:
            clock_of(who.hub).advance(ms=1)
    return ids


def test_the_newest_comes_first(alice: Person):
    ids = _fill(alice, 5)
    answer = alice("list_memories")
    assert set(answer) == {"items", "total", "has_more", "next_cursor"}
    assert ids_of(answer) == ids[::-1]
    assert (answer["total"], answer["has_more"], answer["next_cursor"]) == (5, False, None)
    assert "score" not in answer["items"][0]


@pytest.mark.promise("P-063")
@pytest.mark.parametrize("cursor_field", ["next_cursor", "stable_cursor"])
@pytest.mark.parametrize("moving", [True, False])
def test_paging_to_the_end_gives_every_item_once(alice: Person, cursor_field: str, moving: bool):
    ids = _fill(alice, 23, moving=moving)
    long = alice("remember", content="A sentence of some length about nothing much. " * 60)["ids"]
    found = [id for page in pages(alice, "list_memories", cursor_field, limit=4) for id in ids_of(page)]
    assert len(found) == len(set(found))
    assert sorted(found) == sorted(ids + long)
    if moving:
        assert found == long + ids[::-1]


def test_the_last_page_that_is_exactly_full_promises_nothing(alice: Person):
    _fill(alice, 4)
    first = alice("list_memories", limit=2)
    second = alice("list_memories", limit=2, cursor=first["next_cursor"])
    assert (second["has_more"], second["next_cursor"]) == (False, None)
    assert "stable_cursor" not in second


def test_the_stable_cursor_repeats_and_skips_nothing_while_others_write(alice: Person, bob: Person):
    ids = _fill(alice, 12)
    first = alice("list_memories", limit=5)
    seen = ids_of(first)
    for n in range(7):
        bob("remember", content=f"noise {n}")
    alice("forget", id=seen[0])
    alice("forget", id=seen[-1])  # the row that the cursor stands on
    page = first
    while page["has_more"]:
        page = alice("list_memories", limit=5, cursor=page["stable_cursor"])
        seen += ids_of(page)
        bob("remember", content="more noise")
    assert seen == ids[::-1]


def test_a_stable_cursor_can_change_to_plain_counting(alice: Person):
    _fill(alice, 9)
    first = alice("list_memories", limit=3)
    second = alice("list_memories", limit=3, cursor=first["stable_cursor"])
    assert second["next_cursor"] == "6"
    assert ids_of(second) == ids_of(alice("list_memories", limit=3, cursor="3"))


def _keyset(*values: object) -> str:
    return "k" + base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


NONSENSE = {
    "empty": "",
    "blank": "  ",
    "negative": "-1",
    "fraction": "1.5",
    "word": "abc",
    "huge": "9" * 400,
    "other digits": "٣",
    "only k": "k",
    "not base64": "k!!!",
    "not json": "k" + base64.urlsafe_b64encode(b"{").decode(),
    "too few": _keyset(1),
    "too many": _keyset(1, "x", 0, 0, 0),
    "wrong types": _keyset("x", [], {}, None),
    "nul": _keyset(1, "a\0b", 0, 0),
    "surrogate": "k" + base64.urlsafe_b64encode(rb'[1,"\ud800",0,0]').decode(),
    "infinite": "k" + base64.urlsafe_b64encode(b"[1e999,null,0,0]").decode(),
    "too large time": _keyset(10**30, "x", 0, 0),
    "too large place": _keyset(10**15, "x", 10**30, 0),
    "too large count": _keyset(10**15, "x", 0, 10**30),
    "deep": "k" + base64.urlsafe_b64encode(b"[" * 100_000).decode(),
}


@pytest.mark.parametrize(
    ("tool", "more", "shown"),
    [("list_memories", {}, "items"), ("recall", {"query": "note"}, "items"), ("list_sessions", {}, "sessions")],
)
def test_a_cursor_that_cannot_be_read_is_no_error(alice: Person, tool: str, more: dict[str, str], shown: str):
    _fill(alice, 3)
    before = dump(alice.hub)
    for name, cursor in NONSENSE.items():
        assert isinstance(alice(tool, cursor=cursor, **more)[shown], list), name
    assert dump(alice.hub) == before


def test_such_a_cursor_means_the_beginning(alice: Person):
    _fill(alice, 3)
    for name, cursor in NONSENSE.items():
        assert alice("list_memories", cursor=cursor) == alice("list_memories"), name


def test_a_thousand_items_come_in_pages_of_the_most_allowed(alice: Person):
    space = Space("shared", "", "shared")
    with call_as(alice.hub, "alice").write() as w:
        for n in range(1_000):
            memories.add(w, Draft(space=space, kind="note", text=f"bulk {n}"))
    sizes = [len(page["items"]) for page in pages(alice, "list_memories", "stable_cursor", limit=5_000)]
    assert sizes == [200] * 5


def test_a_namespace_nobody_wrote_to_is_empty_and_not_an_error(alice: Person):
    assert alice("list_memories", namespace="nowhere") == {
        "items": [],
        "total": 0,
        "has_more": False,
        "next_cursor": None,
    }


def test_the_star_lists_everything_readable(alice: Person, bob: Person):
    alice("remember", content="shared")
    alice("remember", content="mine", namespace="mine")
    bob("remember", content="his", namespace="his")
    assert alice("list_memories", namespace="*")["total"] == 2


def test_a_namespace_that_is_too_long_is_refused(alice: Person):
    message = alice.refused("list_memories", namespace="n" * 257)
    assert "namespace" in message
    assert "256" in message
