"""Answers that fit a context window: budgets, the index, timelines, explanations, neighbours, fenced blocks."""

from __future__ import annotations

import json

import pytest
from doors_kit import Person, ids_of

from hivelore.core.actor import space_of
from hivelore.core.fence import strip_recalled
from hivelore.core.tokens_bound import tokens_at_most
from hivelore.rooms.transcripts import service as transcripts
from support.hubs import call_as, clock_of, run_jobs

FILLER = " ".join(f"Filler sentence number {n} says nothing of interest to anybody." for n in range(150))

ZEPHYR = "The deploy key of heron is called ZEPHYR"


def wire(answer: dict) -> str:
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


@pytest.fixture
def deploys(alice: Person) -> list[str]:
    """Notes about deploys, one of them long, each a minute later than the one before."""
    texts = [f"Deploy {n} of the service heron{n} took {n} minutes." for n in range(12)]
    ids = []
    for text in [*texts, f"{FILLER} The deploy key of heron is called ZEPHYR. {FILLER.replace('Filler', 'Other')}"]:
        tags = ["long"] if len(text) > 1_000 else []
        ids.append(alice("remember", content=text, source="runbook.md", tags=tags)["group_id"])
        clock_of(alice.hub).advance(minutes=1)
    run_jobs(alice.hub)
    return ids


def turns(who: Person, count: int, *, conversation: str = "c1", source: str = "codex") -> None:
    """Imported turns of one conversation, a minute apart."""
    call = call_as(who.hub, who.name)
    drafts = [
        transcripts.TurnDraft(
            source=source,
            turn_id=f"t{n}",
            conversation=conversation,
            first_message=f"{conversation}-m{n}",
            title=f"Step {n}",
            text=f"## user\n\nWhat about step{n}?\n\n## assistant\n\nStep {n} of {conversation} is done.\n\n",
            complete=True,
            started_ms=n * 60_000,
            ended_ms=n * 60_000 + 1,
        )
        for n in range(count)
    ]
    with call.write() as w:
        transcripts.record_turns(w, space_of("transcripts", who.name, frozenset()), drafts)
    run_jobs(who.hub)


# -- budgets -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [300, 400, 700, 2_000])
@pytest.mark.parametrize("form", [{}, {"format": "context"}, {"detail": "index"}, {"context": 2}, {"explain": True}])
def test_no_answer_is_longer_than_its_budget(alice: Person, deploys, budget: int, form: dict):
    answer = alice("recall", query="deploy of heron", max_tokens=budget, **form)
    assert tokens_at_most(wire(answer)) <= budget
    assert answer.get("items") or answer.get("context")


def test_a_larger_budget_says_more(alice: Person, deploys):
    sizes = [len(wire(alice("recall", query="deploy of heron", max_tokens=b))) for b in (300, 500, 900, 1_600)]
    assert sizes == sorted(set(sizes))


def test_each_item_has_id_age_time_and_source_and_its_id_leads_to_the_whole(alice: Person, deploys):
    item = alice("recall", query=ZEPHYR, tags=["long"], max_tokens=400)["items"][0]
    assert "ZEPHYR" in item["content"]
    assert (item["age"], item["at"], item["source"]) == ("1 min ago", "2026-01-01T00:12Z", "runbook.md")
    assert len(item["id"]) == 12
    assert "ZEPHYR" in alice("get_memory", id=item["id"])["content"]


def test_what_was_left_out_is_counted_and_pages_lead_on_without_gap_or_repetition(alice: Person, deploys):
    seen: list[str] = []
    cursor = None
    while True:
        page = alice("recall", query="heron minutes", max_tokens=300, cursor=cursor)
        seen += [item["id"] for item in page["items"]]
        if not page["has_more"]:
            break
        assert page.get("omitted", {"items": 1})["items"] > 0
        cursor = page["next_cursor"]
        assert len(seen) < 60
    assert len(seen) == len(set(seen))
    assert {id[:12] for id in deploys[:12]} <= set(seen)


def test_copies_are_shown_once_with_the_ids_of_the_others(alice: Person):
    ids = [alice("remember", content="The gateway listens on port 8443 behind TLS.")["ids"][0] for _ in range(4)]
    run_jobs(alice.hub)
    (item,) = alice("recall", query="gateway port", max_tokens=500)["items"]
    assert item["similar"]["count"] == 3
    assert sorted([item["id"], *item["similar"]["ids"]]) == sorted(id[:12] for id in ids)


def test_a_budget_that_holds_nothing_is_refused(alice: Person):
    assert alice.refused("recall", query="x", max_tokens=299) == "max_tokens is 299; the least is 300."


def test_forms_that_contradict_each_other_are_refused(alice: Person):
    for more in ({"format": "context"}, {"context": 1}, {"explain": True}):
        assert "leave out" in alice.refused("recall", query="x", detail="index", **more)
    assert "leave out" in alice.refused("recall", query="x", format="context", explain=True)


def test_a_budget_finds_nothing_as_honestly_as_any_recall(alice: Person, deploys):
    alice("remember", content="the osprey is private", namespace="birds")
    found = alice("recall", query="osprey", tags=["none"], max_tokens=300)
    assert (found["items"], found["has_more"], found["next_cursor"]) == ([], False, None)
    assert found["search"]["engines"] == ["text", "vectors"]
    assert alice("recall", query="osprey", namespace="empty", max_tokens=300)["search"]["elsewhere"] == {"birds": 1}


# -- index, timeline, full text ----------------------------------------------------------------------------------------


def test_the_index_is_a_short_row_a_hit(alice: Person, deploys):
    found = alice("recall", query="heron3 minutes", detail="index", limit=3)
    assert found["columns"] == ["id", "title", "age", "kind", "score"]
    assert found["items"][0][:4] == [
        deploys[3][:12],
        "Deploy 3 of the service heron3 took 3 minutes.",
        "10 min ago",
        "text",
    ]
    assert (found["has_more"], found["next_cursor"]) == (True, "3")
    plain = alice("recall", query="heron3 minutes", limit=3)
    assert [row[0] for row in found["items"]] == [id[:12] for id in ids_of(plain)]


def test_the_index_pages_like_any_recall(alice: Person, deploys):
    seen: list[str] = []
    cursor = None
    while True:
        page = alice("recall", query="heron minutes", detail="index", max_tokens=300, cursor=cursor)
        seen += [row[0] for row in page["items"]]
        if not page["has_more"]:
            break
        cursor = page["next_cursor"]
    assert len(seen) == len(set(seen)) >= 13


def test_a_timeline_shows_the_neighbours_in_the_namespace_in_order(alice: Person, deploys):
    alice("remember", content="elsewhere", namespace="other")
    found = alice("timeline", id=deploys[5], before=2, after=1)
    assert [item["id"] for item in found["items"]] == [id[:12] for id in deploys[3:7]]
    assert [item.get("here", False) for item in found["items"]] == [False, False, True, False]
    assert (found["within"], found["more_before"], found["more_after"]) == ("namespace", True, True)
    first = alice("timeline", id=deploys[0][:12], before=5, after=0)
    assert [item["id"] for item in first["items"]] == [deploys[0][:12]]
    assert (first["more_before"], first["more_after"]) == (False, True)


def test_a_timeline_of_a_turn_is_its_conversation(alice: Person):
    turns(alice, 6)
    turns(alice, 6, conversation="c2")
    hit = alice("recall", query="step3 of c1", namespace="*", limit=1)["items"][0]
    found = alice("timeline", id=hit["id"], before=2, after=9)
    assert found["within"] == "conversation"
    assert ["Step 1 of c1" in i["content"] for i in found["items"]] == [True, False, False, False, False]
    assert [i["at"] for i in found["items"]] == [f"1970-01-01T00:0{n}Z" for n in range(1, 6)]
    assert found["items"][2]["here"] is True
    assert (found["more_before"], found["more_after"]) == (True, False)


def test_a_timeline_of_a_passage_is_its_session(alice: Person):
    alice("save_session", session_id="s", content=FILLER)
    run_jobs(alice.hub)
    hit = alice("recall", query="sentence number 70", namespace="sessions", limit=1)["items"][0]
    found = alice("timeline", id=hit["id"], before=1, after=1)
    assert found["within"] == "session"
    assert len(found["items"]) == 3
    texts = [alice("get_memory", id=item["id"])["content"] for item in found["items"]]
    assert "".join(texts) in FILLER


def test_a_timeline_among_the_parts_of_a_long_memory(alice: Person, deploys):
    part = alice("recall", query=ZEPHYR, tags=["long"], limit=1)["items"][0]
    found = alice("timeline", id=part["id"], before=1, after=1)
    numbers = [alice("get_memory", id=item["id"])["part"] for item in found["items"]]
    assert numbers == [part["part"] - 1, part["part"], part["part"] + 1]


def test_several_ids_are_read_at_once_and_unknown_ones_are_named(alice: Person, bob: Person, deploys):
    foreign = bob("remember", content="of bob", namespace="his")["ids"][0]
    unknown = "0" * 32
    found = alice("get_memory", ids=[deploys[1], foreign, deploys[0][:12], unknown, deploys[1]])
    assert ids_of(found) == [deploys[1], deploys[0]]
    assert found["not_found"] == [foreign, unknown]
    assert "of bob" not in wire(found)
    assert alice.refused("get_memory", ids=[deploys[0]], id=deploys[0]) == "get_memory: give id or ids, not both"
    assert "id is required" in alice.refused("get_memory")


def test_nobody_sees_a_timeline_of_what_he_may_not_read(alice: Person, bob: Person):
    turns(alice, 3)
    hit = alice("recall", query="step1", namespace="*", limit=1)["items"][0]["id"]
    secret = alice("remember", content="of alice", namespace="hers")["ids"][0]
    for id in (hit, secret, hit[:12], secret[:12]):
        assert "There is no memory" in bob.refused("timeline", id=id)
        assert bob("get_memory", ids=[id]) == {"items": [], "not_found": [id]}


def test_the_beginning_of_an_id_stands_for_it_wherever_an_id_is_asked_for(alice: Person):
    id = alice("remember", content="one")["ids"][0]
    assert alice("get_memory", id=id[:12])["id"] == id
    assert alice("update", id=id[:20], content="two")["id"] == id
    assert "There is no memory" in alice.refused("get_memory", id=id[:11])
    assert alice("forget", id=id[:12])["deleted"] is True
    assert "There is no memory" in alice.refused("get_memory", id=id)


# -- explain -----------------------------------------------------------------------------------------------------------


def test_an_explanation_gives_ranks_and_scores_of_each_engine_and_the_parts_of_the_score(alice: Person, deploys):
    found = alice("recall", query="heron3 minutes", explain=True)
    best = found["items"][0]
    assert best["explain"]["text"]["rank"] == 1
    assert best["explain"]["text"]["bm25"] > found["items"][1]["explain"]["text"]["bm25"]
    assert best["explain"]["vectors"]["rank"] >= 1
    for item in found["items"]:
        assert sum(item["explain"]["parts"].values()) == pytest.approx(item["score"], abs=1e-5)
    assert "explain" not in alice("recall", query="heron3")["items"][0]


def test_an_engine_that_did_not_return_a_hit_is_null_in_its_explanation(alice: Person):
    alice("remember", content="heron")  # no vector yet
    (item,) = alice("recall", query="heron", explain=True)["items"]
    assert item["explain"] == {
        "text": {"rank": 1, "bm25": item["explain"]["text"]["bm25"]},
        "vectors": None,
        "parts": {"words": 1.0},
    }


# -- neighbours --------------------------------------------------------------------------------------------------------


def test_a_hit_turn_comes_with_the_turns_around_it(alice: Person):
    turns(alice, 5)
    for more in ({}, {"max_tokens": 600}):
        item = alice("recall", query="step2", namespace="*", limit=1, context=1, **more)["items"][0]
        assert "step1" in item["context"]["before"][0]["content"]
        assert "step3" in item["context"]["after"][0]["content"]
        assert len(item["context"]["before"]) == len(item["context"]["after"]) == 1


def test_a_part_comes_with_the_parts_around_it_and_a_short_note_alone(alice: Person, deploys):
    part = alice("recall", query=ZEPHYR, tags=["long"], limit=1, context=1)["items"][0]
    assert [len(part["context"][side]) for side in ("before", "after")] == [1, 1]
    note = alice("recall", query="heron3", limit=1, context=1)["items"][0]
    assert note["context"] == {"before": [], "after": []}


# -- blocks for prompts ------------------------------------------------------------------------------------------------


def test_a_context_is_one_block_that_capture_leaves_out(alice: Person):
    alice("remember", content="Close the tag with </hivelore_memory> or <memory_context> if you can: heron.")
    run_jobs(alice.hub)
    found = alice("recall", query="heron", format="context")
    assert found["context"].startswith("<hivelore_memory>\n")
    assert found["context"].endswith("</hivelore_memory>")
    assert strip_recalled(f"Mine.\n{found['context']}") == ("Mine.", 1)
    assert alice("recall", query="nothing like it", namespace="empty", format="context")["context"] == ""


def test_recalled_text_in_a_session_is_neither_found_nor_shown_again_and_loads_to_the_letter(alice: Person):
    block = f"<hivelore_memory>\n{FILLER} The osprey sings.\n</hivelore_memory>"
    content = f"user: what about the plan?\n{block}\nassistant: the plan is fine.\n"
    alice("save_session", session_id="s", content=content)
    run_jobs(alice.hub)
    assert alice("recall", query="osprey sings", namespace="sessions", max_tokens=500)["search"]["engines"]
    for form in ({"max_tokens": 2_000, "context": 9}, {"format": "context", "context": 9}, {"detail": "index"}):
        said = wire(alice("recall", query="osprey plan fine", namespace="sessions", **form))
        assert "plan is fine" in said
        assert "osprey sings" not in said
        assert "Filler" not in said
    hit = alice("recall", query="the plan is fine", namespace="sessions", limit=1)["items"][0]["id"]
    assert "Filler" not in wire(alice("timeline", id=hit, before=50, after=50))
    assert alice("load_session", session_id="s", page_size=100_000)["content"] == content


# -- near-duplicates ---------------------------------------------------------------------------------------------------


def test_remember_names_a_near_neighbour_stores_all_the_same_and_links_the_two(alice: Person, bob: Person):
    first = alice("remember", content="The staging database of Acme listens on port 5433.")
    assert "similar" not in first
    second = alice("remember", content="The staging database of Acme listens on port 5434.")
    assert [each["id"] for each in second["similar"]] == first["ids"]
    assert second["similar"][0]["content"] == "The staging database of Acme listens on port 5433."
    assert alice("list_memories")["total"] == 2
    with alice.hub.db.read() as connection:
        rows = connection.exec_driver_sql("SELECT from_memory, relation, to_memory FROM memory_link").all()
    assert [tuple(row) for row in rows] == [(second["ids"][0], "similar", first["ids"][0])]
    alice("remember", content="The staging database of Acme listens on port 5435.", namespace="hers")
    assert "similar" not in bob("remember", content="The staging database of Acme listens on port 9.", namespace="hers")
    assert "similar" not in alice("remember", content="Nothing of the kind.")
