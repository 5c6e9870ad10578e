"""Over MCP: corrections, versions, copies and the time of a question, as clients see them."""

from __future__ import annotations

import pytest
from doors_kit import Person, Rest, ids_of, pages

from support.hubs import clock_of, run_jobs, with_settings


def remember(who: Person, content: str, **more: object) -> str:
    id = who("remember", content=content, **more)["ids"][0]
    run_jobs(who.hub)
    clock_of(who.hub).advance(days=1)
    return str(id)


def test_of_an_old_fact_and_its_update_the_newer_comes_first_and_the_older_says_what_replaced_it(alice: Person):
    old = remember(alice, "API limit is 100")
    new = remember(alice, "API limit is now 250")
    found = alice("recall", query="what is the API limit, 100?")
    assert ids_of(found) == [new, old]
    assert found["items"][1]["older_version_of"] == new
    assert "older_version_of" not in found["items"][0]


def test_a_correction_that_is_named_as_one_is_linked_told_and_kept_in_a_chain(alice: Person):
    old = remember(alice, "API limit is 100")
    stored = alice("remember", content="The gateway allows 250 calls", supersedes=old)
    assert stored["supersedes"] == old
    new = stored["ids"][0]
    run_jobs(alice.hub)
    found = alice("recall", query="API limit is 100")
    assert ids_of(found) == [new, old]
    assert (found["items"][1]["status"], found["items"][1]["superseded_by"]) == ("superseded", new)
    assert alice("get_memory", id=new)["supersedes"] == [old]
    assert alice("get_memory", id=old)["superseded_by"] == new
    listed = {item["id"]: item for item in alice("list_memories")["items"]}
    assert (listed[old]["status"], "status" in listed[new]) == ("superseded", False)


def test_a_correction_of_something_unknown_stores_nothing(alice: Person):
    assert "no memory with id 'nope'" in alice.refused("remember", content="x is y", supersedes="nope")
    assert alice("list_memories")["total"] == 0


def test_one_user_cannot_mark_what_another_wrote_as_superseded(alice: Person, bob: Person):
    old = remember(alice, "API limit is 100")
    assert "no memory with id" in bob.refused("remember", content="API limit is 7", supersedes=old)
    assert "status" not in alice("get_memory", id=old)


def test_eight_copies_of_one_fact_are_one_item_that_names_them(alice: Person):
    copies = [remember(alice, "The API limit is 100.") for _ in range(8)]
    (item,) = alice("recall", query="API limit")["items"]
    assert {item["id"], *item["same_text"]} == set(copies)


def test_pages_with_folded_copies_reach_every_memory_once(alice: Person):
    stored = [remember(alice, f"The limit of service {n % 20} is {n % 20}") for n in range(50)]
    reached = []
    for page in pages(alice, "recall", query="limit of a service", limit=3):
        for item in page["items"]:
            reached += [item["id"], *item.get("same_text", [])]
    assert sorted(reached) == sorted(stored)


# -- time --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["deploy notes of yesterday", "deploy notes von gestern", "昨日の deploy notes"])
def test_what_happened_when_the_question_says_ranks_first_and_nothing_is_left_out(alice: Person, query: str):
    ids = [remember(alice, f"deploy notes number {n}") for n in range(6)]  # one a day, the last one yesterday
    found = alice("recall", query=query)
    assert set(ids_of(found)) == set(ids)
    assert ids_of(found)[0] == ids[-1]
    (time,) = found["search"]["time"]
    assert (time["since"], time["until"]) == ("2026-01-06T00:00:00.000+00:00", "2026-01-07T00:00:00.000+00:00")
    assert time["text"] in query


def test_a_question_about_an_empty_time_still_finds_the_best_matches(alice: Person):
    id = remember(alice, "deploy notes")
    found = alice("recall", query="deploy notes of May 1999")
    assert ids_of(found) == [id]
    assert found["search"]["time"][0]["until"] == "1999-06-01T00:00:00.000+00:00"


def test_an_event_in_the_question_is_looked_up_and_named(alice: Person):
    before = remember(alice, "the shop database is MySQL")
    event = remember(alice, "the great migration was done by Carol")
    after = remember(alice, "the shop database is Postgres")
    found = alice("recall", query="which shop database was there before the great migration?")
    (time,) = found["search"]["time"]
    assert time["event"] == event
    assert ids_of(found).index(before) < ids_of(found).index(after)
    later = alice("recall", query="which shop database was there after the great migration?")
    assert ids_of(later).index(after) < ids_of(later).index(before)


def test_an_event_that_only_another_user_knows_tells_nothing(alice: Person, bob: Person):
    remember(alice, "the great migration was done by Carol", namespace="private")
    remember(bob, "the shop database is MySQL")
    found = bob("recall", query="shop database before the great migration?", namespace="*")
    assert "time" not in found["search"]


def test_a_question_without_a_time_says_nothing_about_time(alice: Person):
    remember(alice, "deploy notes")
    assert "time" not in alice("recall", query="deploy notes")["search"]


def test_days_begin_where_the_time_zone_says(alice: Person):
    remember(alice, "deploy notes")
    tokyo = alice.at(with_settings(alice.hub, timezone="Asia/Tokyo"))
    (time,) = tokyo("recall", query="deploy notes of yesterday")["search"]["time"]
    assert time["since"] == "2025-12-31T15:00:00.000+00:00"


@pytest.mark.parametrize("field", ["since", "until"])
def test_a_date_in_words_is_refused_as_a_bound_with_the_form_that_is_expected(alice: Person, field: str):
    message = alice.refused("recall", query="deploy", **{field: "last March"})
    assert field in message
    assert "2026-05-01" in message


def test_a_reversed_interval_is_refused_and_zoned_times_count_in_utc(alice: Person):
    assert "until" in alice.refused("recall", query="deploy", since="2026-02-01", until="2026-01-01")
    id = remember(alice, "deploy notes")  # stored at 2026-01-01T00:00Z
    inside = {"since": "2026-01-01T09:00:00+09:00", "until": "2026-01-01T09:00:01+09:00"}
    assert ids_of(alice("recall", query="deploy", **inside)) == [id]
    assert ids_of(alice("recall", query="deploy", since="2026-01-01T00:00:01Z")) == []


# -- REST --------------------------------------------------------------------------------------------------------------


def test_rest_takes_a_correction_and_its_hits_name_what_replaced_them(rest: Rest, alice: Person):
    old = rest.add("API limit is 100")["id"]
    new = rest.add("The gateway allows 250 calls", supersedes=old)["id"]
    run_jobs(alice.hub)
    hits = rest.search("API limit is 100", verbose=True)["debug"]["hits"]
    assert [hit["id"] for hit in hits] == [new, old]
    assert hits[1]["supersededBy"] == new
    assert "supersededBy" not in hits[0]


def test_rest_refuses_a_correction_of_something_unknown(rest: Rest):
    body = {"content": "x is y", "supersedes": "trace_" + "0" * 20}
    rest.refused(404, "not_found", None, "POST", "/memory/add", body)
