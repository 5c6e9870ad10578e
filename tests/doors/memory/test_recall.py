"""`recall`: order, limits, pages, filters."""

from __future__ import annotations

from random import Random

import pytest
from doors_kit import Person, contents_of, ids_of, pages

from hivelore.base.memories import service as memories
from hivelore.base.memories.model import Draft
from hivelore.core.actor import Space
from support.hubs import call_as, clock_of, run_jobs, with_settings


def _remember_all(who: Person, texts: list[str], **more: object) -> list[str]:
    ids = [who("remember", content=text, **more)["ids"][0] for text in texts]
    run_jobs(who.hub)
    return ids


@pytest.mark.promise("P-062")
def test_the_best_comes_first_with_a_score(alice: Person):
    ids = _remember_all(alice, ["the cat sleeps on the mat", "quarterly revenue grew by four percent", "a dog barks"])
    found = alice("recall", query="how much did revenue grow?")
    assert found["items"][0]["id"] == ids[1]
    scores = [item["score"] for item in found["items"]]
    assert scores == sorted(scores, reverse=True)
    assert all(isinstance(score, float) and 0 <= score <= 1 and round(score, 6) == score for score in scores)


def test_the_shape_of_a_page(alice: Person):
    ids = _remember_all(alice, ["red apple", "green apple"], tags=["fruit"], source="market")
    found = alice("recall", query="green apple", limit=1)
    assert set(found) == {"items", "total", "has_more", "next_cursor", "search"}
    assert (found["total"], found["has_more"], found["next_cursor"]) == (2, True, "1")
    assert found["search"] == {
        "namespaces": ["shared"],
        "engines": ["text", "vectors"],
        "unavailable": {},
        "pending": 0,
    }
    score = found["items"][0].pop("score")
    assert found["items"] == [alice("get_memory", id=ids[1])]
    assert score > 0


def test_of_equal_matches_the_newer_comes_first(alice: Person):
    _remember_all(alice, ["the API limit is 100"])
    clock_of(alice.hub).advance(days=1)
    newer = _remember_all(alice, ["the API limit is 100"])
    assert ids_of(alice("recall", query="API limit"))[0] == newer[0]


# -- limit -------------------------------------------------------------------------------------------------------------


def test_without_a_limit_the_setting_counts(alice: Person):
    _remember_all(alice, [f"note {n} about apples" for n in range(12)])
    assert len(alice("recall", query="apples")["items"]) == 8
    who = alice.at(with_settings(alice.hub, recall_limit=3, list_limit=4))
    assert len(who("recall", query="apples")["items"]) == 3
    assert len(who("recall", query="apples", limit=None)["items"]) == 3
    assert len(who("recall", query="apples", limit=8)["items"]) == 8
    assert len(who("list_memories")["items"]) == 4
    assert len(who("list_memories", limit=20)["items"]) == 12


def test_a_limit_is_held_between_one_and_the_most(alice: Person):
    _remember_all(alice, [f"note {n} about apples" for n in range(5)])
    who = alice.at(with_settings(alice.hub, max_limit=3))
    for tool, more in (("recall", {"query": "apples"}), ("list_memories", {})):
        assert len(who(tool, limit=0, **more)["items"]) == 1
        assert len(who(tool, limit=-7, **more)["items"]) == 1
        assert len(who(tool, limit=10**30, **more)["items"]) == 3


# -- pages -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 7, 8, 50])
def test_paging_to_the_end_gives_every_memory_once(alice: Person, limit: int):
    ids = _remember_all(alice, [f"apple number {n} of the harvest" for n in range(40)])
    found = [id for page in pages(alice, "recall", query="apple harvest", limit=limit) for id in ids_of(page)]
    assert sorted(found) == sorted(ids)


def test_paging_far_beyond_the_pool_of_candidates_repeats_and_skips_nothing(alice: Person):
    """More matches than one search proposes, of mixed lengths and words, so that the engines disagree about their
    order."""
    random = Random(1)
    words = [f"w{n}" for n in range(60)]
    space = Space("shared", "", "shared")
    with call_as(alice.hub, "alice").write() as w:
        texts = (" ".join(random.choices(words, k=random.randint(3, 40))) for _ in range(400))
        added = (memories.add(w, Draft(space=space, kind="note", text=text)) for text in texts)
        ids = [memory.id for memory in added if memory is not None]
    run_jobs(alice.hub)
    found = [id for page in pages(alice, "recall", query="w1 w2 w3", limit=10) for id in ids_of(page)]
    assert len(found) == len(set(found)), "an item came twice"
    assert sorted(found) == sorted(ids)


def test_a_small_namespace_in_a_big_store_is_searched_whole(alice: Person):
    _remember_all(alice, [f"apple number {n}" for n in range(150)])
    mine = _remember_all(alice, ["apple of my eye", "pear of my eye", "plum of my eye"], namespace="mine")
    found = [id for page in pages(alice, "recall", query="apple", namespace="mine", limit=2) for id in ids_of(page)]
    assert sorted(found) == sorted(mine)


def test_a_page_behind_the_end_is_empty_and_promises_nothing(alice: Person):
    _remember_all(alice, ["apple"])
    for cursor in ("1", "99", "999999999999"):
        found = alice("recall", query="apple", cursor=cursor)
        assert (found["items"], found["has_more"], found["next_cursor"], found["total"]) == ([], False, None, 1)


# -- filters -----------------------------------------------------------------------------------------------------------

TAGS = ["50%", "a_b", "x*", "c\\d", "日本語", "a,b", 'say "hi"', "it's", "[1]", "A_B", "null", "é", "ê"]


def test_a_tag_matches_exactly_and_nothing_like_it(alice: Person):
    near = ["50", "500%", "axb", "a-b", "xyz", "x", "cd", "c\\\\d", "日本", "a", "b", "a, b", "say hi", "its", "1", ""]
    ids = {t: alice("remember", content=f"apple {n}", tags=[t])["ids"][0] for n, t in enumerate([*TAGS, *near])}
    run_jobs(alice.hub)
    for tag in TAGS:
        assert ids_of(alice("recall", query="apple", tags=[tag], limit=50)) == [ids[tag]], tag


def test_all_tags_must_be_there(alice: Person):
    both = alice("remember", content="apple one", tags=["a", "b", "c"])["ids"]
    alice("remember", content="apple two", tags=["a"])
    run_jobs(alice.hub)
    assert ids_of(alice("recall", query="apple", tags=["a", "b"])) == both
    assert alice("recall", query="apple", tags=["a", "z"])["items"] == []
    assert len(alice("recall", query="apple", tags=[])["items"]) == 2


def test_a_source_is_matched_exactly(alice: Person):
    mine = alice("remember", content="apple one", source="notes.md")["ids"]
    alice("remember", content="apple two", source="notes")
    alice("remember", content="apple three")
    run_jobs(alice.hub)
    assert ids_of(alice("recall", query="apple", source="notes.md")) == mine


def test_kinds_are_told_apart(alice: Person):
    note = alice("remember", content="apple note", namespace="n")["ids"]
    alice("save_session", session_id="s", content="apple session", namespace="n")
    run_jobs(alice.hub)
    assert ids_of(alice("recall", query="apple", namespace="n", kind="text")) == note
    assert contents_of(alice("recall", query="apple", namespace="n", kind="session")) == ["apple session"]
    assert alice("recall", query="apple", namespace="n", kind="turn")["items"] == []


def test_an_unknown_kind_is_refused_with_the_known_ones(alice: Person):
    message = alice.refused("recall", query="apple", kind="conversation")
    for word in ("kind", "text", "session", "turn"):
        assert word in message


def test_since_is_inclusive_and_until_exclusive(alice: Person):
    ids = []
    for n in range(4):
        ids.append(alice("remember", content=f"apple {n}")["ids"][0])
        clock_of(alice.hub).advance(days=1)
    run_jobs(alice.hub)
    for given, wanted in (
        ({"since": "2026-01-02"}, ids[1:]),
        ({"until": "2026-01-03"}, ids[:2]),
        ({"since": "2026-01-02", "until": "2026-01-03T00:00:00Z"}, ids[1:2]),
        ({"since": "2026-01-01T19:00:00-05:00"}, ids[1:]),
        ({"since": "2026-02-01"}, []),
    ):
        assert sorted(ids_of(alice("recall", query="apple", **given))) == sorted(wanted)


@pytest.mark.parametrize("field", ["since", "until"])
@pytest.mark.parametrize("value", ["last March", "2026-13-01", "1767225600", "2026-01-01T25:00"])
def test_a_date_in_words_is_refused_with_the_form(alice: Person, field: str, value: str):
    message = alice.refused("recall", query="apple", **{field: value})
    assert field in message
    assert "ISO 8601" in message


def test_a_span_that_ends_before_it_begins_is_refused(alice: Person):
    assert "until" in alice.refused("recall", query="apple", since="2026-02-01", until="2026-01-01")


def test_filters_work_without_vectors_and_only_with_them(alice: Person):
    """Each filter holds inside each engine: a word only the text index knows, a memory only the vectors rank."""
    alice("remember", content="apple pie", tags=["keep"])
    alice("remember", content="apple tart", tags=["drop"])
    run_jobs(alice.hub)
    found = alice("recall", query="zzz unmatched words", tags=["keep"])
    assert contents_of(found) == ["apple pie"]


def test_several_namespaces_are_searched_at_once_and_named(alice: Person):
    for name in ("one", "two", "three"):
        alice("remember", content=f"apple in {name}", namespace=name)
    run_jobs(alice.hub)
    found = alice("recall", query="apple", namespaces=["one", "three"])
    assert sorted(i["namespace"] for i in found["items"]) == ["one", "three"]
    assert found["search"]["namespaces"] == ["one", "three"]
    assert found["total"] == 2
    found = alice("recall", query="apple", namespace="two", namespaces=["one"])
    assert sorted(i["namespace"] for i in found["items"]) == ["one", "two"]


def test_the_star_means_everything_readable(alice: Person, bob: Person):
    alice("remember", content="apple private", namespace="mine")
    alice("remember", content="apple shared")
    alice("save_session", session_id="s", content="apple session")
    bob("remember", content="apple of bob", namespace="mine")
    run_jobs(alice.hub)
    found = alice("recall", query="apple", namespace="*")
    assert sorted(contents_of(found)) == ["apple private", "apple session", "apple shared"]
    assert found["total"] == 3
    assert found["search"]["namespaces"] == ["*"]


def test_a_long_query_is_refused_with_the_limit_and_the_longest_allowed_works(alice: Person):
    _remember_all(alice, ["apple"])
    who = alice.at(with_settings(alice.hub, max_query_chars=40))
    assert ids_of(who("recall", query="apple " * 6))
    message = who.refused("recall", query="x" * 41)
    for word in ("query", "41", "40", "HIVELORE_MAX_QUERY_CHARS"):
        assert word in message
