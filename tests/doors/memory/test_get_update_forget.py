"""`get_memory`, `update` and `forget`: one memory by id."""

from __future__ import annotations

import pytest
from doors_kit import Person, contents_of, dump, ids_of

from hivelore.base.memories import store as memory_store
from hivelore.core.errors import NotFound
from support.hubs import call_as, clock_of, run_jobs

LONG = "".join(
    f"Step {n}: turn the valve number {n} half way and wait for the pressure to settle.\n" for n in range(60)
)


def _stored(who: Person, content: str = "the old text", **more: object) -> str:
    return who("remember", content=content, **more)["ids"][0]


@pytest.mark.parametrize("id", ["0" * 32, "nope", "", "'; DROP TABLE memory; --", "日本", "x" * 5_000])
def test_an_unknown_id_is_an_error_with_the_id_in_quotes_and_the_way_on(alice: Person, id: str):
    for tool, more in (("get_memory", {}), ("update", {"content": "x"})):
        message = alice.refused(tool, id=id, **more)
        assert "no memory with id" in message
        assert repr(id[:80]) in message
        assert "list_memories" in message
        assert len(message) < 300


def test_an_id_may_have_blanks_around_it(alice: Person):
    first, second = alice("remember", content=LONG)["ids"][:2]
    for id in (_stored(alice), first):
        assert alice("get_memory", id=f" {id}\n")["id"] == id
        changed = alice("update", id=f" {id}\n", content="new")
        assert (changed["id"], changed["content"]) == (id, "new")
        assert alice("forget", id=f" {id}\n")["deleted"] is True
        assert "no memory with id" in alice.refused("get_memory", id=id)
    assert alice("get_memory", id=second)["part"] == 1


@pytest.mark.promise("P-065")
def test_update_replaces_the_text_and_keeps_the_rest(alice: Person):
    id = _stored(alice, tags=["a"], source="s", namespace="mine")
    before = alice("get_memory", id=id)
    clock_of(alice.hub).advance(seconds=5)
    changed = alice("update", id=id, content="  the new text ")
    assert changed == before | {"content": "the new text", "updated_at": "2026-01-01T00:00:05.000+00:00"}
    assert alice("get_memory", id=id) == changed


def test_an_updated_text_is_found_by_its_new_words_and_not_by_its_old_ones(alice: Person):
    id = _stored(alice, "the walrus sleeps")
    alice("update", id=id, content="the giraffe eats")
    run_jobs(alice.hub)
    found = alice("recall", query="giraffe")
    assert ids_of(found) == [id]
    assert contents_of(found) == ["the giraffe eats"]
    assert not [i for i in alice("recall", query="walrus")["items"] if "walrus" in i["content"]]


def test_the_tail_of_a_long_update_is_found_under_the_same_id(alice: Person):
    id = _stored(alice)
    for n in range(5):
        _stored(alice, f"other note {n} about the garden")
    changed = alice("update", id=id, content=f"{LONG}At the very end stands the word quetzalcoatlus.")
    assert changed["id"] == id
    assert changed["content"].endswith("quetzalcoatlus.")
    run_jobs(alice.hub)
    assert ids_of(alice("recall", query="quetzalcoatlus", limit=1)) == [id]
    assert alice("get_memory", id=id)["content"].endswith("quetzalcoatlus.")


def test_a_part_of_a_long_memory_is_replaced_alone(alice: Person):
    stored = alice("remember", content=LONG)
    assert stored["chunks"] > 3
    target, others = stored["ids"][1], [id for id in stored["ids"] if id != stored["ids"][1]]
    before = {id: alice("get_memory", id=id)["content"] for id in others}
    assert alice("update", id=target, content="Ask the plumber instead.")["content"] == "Ask the plumber instead."
    assert {id: alice("get_memory", id=id)["content"] for id in others} == before
    run_jobs(alice.hub)
    assert ids_of(alice("recall", query="plumber", limit=1)) == [target]


def test_the_whole_keeps_its_words_apart_when_a_part_is_replaced(alice: Person):
    stored = alice("remember", content=LONG)
    follows = alice("get_memory", id=stored["ids"][2])["content"].split()[0]
    alice("update", id=stored["ids"][1], content="Ask the plumber instead")
    words = alice("get_memory", id=stored["group_id"])["content"].split()
    assert words[words.index("plumber") + 1] == "instead"
    assert words[words.index("plumber") + 2] == follows


def test_the_whole_of_a_long_memory_can_be_replaced_by_its_group_id(alice: Person):
    stored = alice("remember", content=LONG)
    changed = alice("update", id=stored["group_id"], content="Short now.")
    assert changed["content"] == "Short now."
    assert alice("get_memory", id=stored["group_id"])["content"] == "Short now."
    assert alice("list_memories")["total"] == 1


def test_the_text_before_an_update_is_kept_as_a_revision(alice: Person):
    id = _stored(alice, "first")
    alice("update", id=id, content="second")
    alice("update", id=id, content="third")
    with call_as(alice.hub, "alice").read() as v:
        found = memory_store.by_id(v, id)
        assert found is not None
        assert [text for _, text, _ in memory_store.earlier_texts(v, found[0])] == ["second", "first"]


def test_the_same_update_twice_ends_in_the_same_place(alice: Person):
    id = _stored(alice)
    first = alice("update", id=id, content="new")
    assert alice("update", id=id, content="new") == first
    with call_as(alice.hub, "alice").read() as v:
        found = memory_store.by_id(v, id)
        assert found is not None
        assert [text for _, text, _ in memory_store.earlier_texts(v, found[0])] == ["the old text"]


@pytest.mark.parametrize("content", ["", "  ", "\0"])
def test_an_empty_update_is_refused_and_changes_nothing(alice: Person, content: str):
    id = _stored(alice)
    before = dump(alice.hub)
    assert "content is empty" in alice.refused("update", id=id, content=content)
    assert dump(alice.hub) == before


@pytest.mark.promise("P-066")
def test_forget_removes_the_text_everywhere(alice: Person):
    id = _stored(alice, "the secret word is abracadabra", tags=["abracadabra"])
    alice("update", id=id, content="the secret word is now hocuspocus")
    run_jobs(alice.hub)
    assert alice("forget", id=id) == {"id": id, "deleted": True, "removed": 1}
    rows = "".join(row for table in dump(alice.hub).values() for row in table)
    assert "abracadabra" not in rows
    assert "hocuspocus" not in rows
    assert alice("recall", query="hocuspocus")["items"] == []


def test_forgetting_twice_is_no_error(alice: Person):
    id = _stored(alice)
    assert alice("forget", id=id)["deleted"] is True
    before = dump(alice.hub)
    assert alice("forget", id=id) == {"id": id, "deleted": False, "removed": 0}
    assert alice("forget", id="nope") == {"id": "nope", "deleted": False, "removed": 0}
    assert dump(alice.hub) == before


@pytest.mark.promise("P-012", "P-043")
def test_what_another_user_shared_can_be_read_and_not_changed(alice: Person, bob: Person):
    id = _stored(alice, "for all to read")
    assert bob("get_memory", id=id)["content"] == "for all to read"
    before = dump(alice.hub)
    missing = bob.refused("update", id="0" * 32, content="x").replace("0" * 32, id)
    assert bob.refused("update", id=id, content="mine now") == missing
    assert bob("forget", id=id) == {"id": id, "deleted": False, "removed": 0}
    assert dump(alice.hub) == before


def test_of_two_updates_at_the_same_moment_none_is_lost_silently(alice: Person):
    """Both are stored one after the other; the loser is a revision, not gone."""
    from concurrent.futures import ThreadPoolExecutor

    from hivelore.base.memories.service import ChangedMeanwhile

    id = _stored(alice)

    def change(n: int) -> bool:
        try:
            alice("update", id=id, content=f"version {n}")
        except ChangedMeanwhile:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        stored = [n for n, done in enumerate(pool.map(change, range(12))) if done]
    with call_as(alice.hub, "alice").read() as v:
        found = memory_store.by_id(v, id)
        assert found is not None
        texts = {found[0].text} | {text for _, text, _ in memory_store.earlier_texts(v, found[0])}
    assert texts == {"the old text"} | {f"version {n}" for n in stored}


def test_ids_of_tombstones_are_not_readable(alice: Person):
    id = _stored(alice)
    alice("forget", id=id)
    with pytest.raises(NotFound):
        alice("get_memory", id=id)
