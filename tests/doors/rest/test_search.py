"""POST /api/v1/memory/search."""

from __future__ import annotations

import re

import pytest
from doors_kit import Person, Rest, dump

from hivelore.rooms.transcripts.service import TurnDraft, record_turns
from support.hubs import call_as, run_jobs, with_settings

NOW = "2026-01-01T00:00:00.000Z"


@pytest.fixture
def layered(rest: Rest, alice: Person) -> dict[str, str]:
    """One memory of each layer about deploying; ids by layer."""
    turn = "## user\n\nhow do I deploy to staging?\n\n## assistant\n\nRun make migrate, then make deploy."
    environment = "Staging uses Postgres; make targets drive every deploy."
    added = {
        "L1": rest.add(turn),
        "L2": rest.add("run make migrate, then deploy to staging", layer="L2", title="asks to deploy"),
        "L3": rest.add(environment, layer="L3", title="Shop environment"),
        "Skill": rest.add("Migrate before you deploy to staging.", layer="Skill", title="deploy_release"),
    }
    ids = {layer: answer["id"] for layer, answer in added.items()}
    run_jobs(alice.hub)
    return ids


def test_the_answer_has_exactly_one_key_and_two_with_verbose(rest: Rest, layered: dict[str, str]):
    assert set(rest.search("deploy")) == {"injectedContext"}
    verbose = rest.search("deploy", verbose=True)
    assert set(verbose) == {"injectedContext", "debug"}
    assert set(verbose["debug"]) == {
        "searchEventId",
        "hits",
        "sourceMemoryIds",
        "status",
        "sections",
        "tokenEstimate",
        "serverTime",
    }
    for other in (False, 1, "true", None):
        assert set(rest.search("deploy", verbose=other)) == {"injectedContext"}


@pytest.mark.promise("M-042")
def test_the_markdown_of_a_trace_is_the_contracts_to_the_letter(rest: Rest):
    id = rest.add("Staging database migrates on every deploy; run make migrate first.")["id"]
    assert rest.search("staging database migration deploy")["injectedContext"] == (
        f"## L1 Trace Memories\n\n1. Trace\n   id: {id}\n   timestamp: {NOW}\n\n"
        "   Historical user statement:\n"
        "   Staging database migrates on every deploy; run make migrate first.\n\n"
        "   Historical assistant response:\n   (empty)"
    )


def test_a_trace_with_an_answer_shows_both_and_its_own_time(rest: Rest):
    id = rest.add(
        "## user\n\nList the failing tests\n\n## assistant\n\nTwo tests fail:\ntest_a and test_b.",
        createdAt="2026-03-04T05:06:07.000Z",
    )["id"]
    assert rest.search("which tests fail")["injectedContext"] == (
        f"## L1 Trace Memories\n\n1. Trace\n   id: {id}\n   timestamp: 2026-03-04T05:06:07.000Z\n\n"
        "   Historical user statement:\n   List the failing tests\n\n"
        "   Historical assistant response:\n   Two tests fail:\n   test_a and test_b."
    )


def test_all_four_layers_come_in_order_under_their_headings(rest: Rest, layered: dict[str, str]):
    markdown = rest.search("deploy to staging")["injectedContext"]
    headings = [line for line in markdown.split("\n") if line.startswith("## ")]
    wanted = ["## L1 Trace Memories", "## L2 Experience Memories", "## L3 Environment Knowledge", "## Skill Memories"]
    assert headings[:4] == wanted
    blocks = dict(zip(headings, re.split(r"^## .*$", markdown, flags=re.MULTILINE)[1:], strict=True))
    for heading, block in (
        (
            wanted[0],
            f"1. Trace\n   id: {layered['L1']}\n   timestamp: {NOW}\n\n   Historical user statement:\n"
            "   how do I deploy to staging?\n\n"
            "   Historical assistant response:\n   Run make migrate, then make deploy.",
        ),
        (
            wanted[2],
            f"1. Environment Knowledge\n   id: {layered['L3']}\n\n   Title:\n   Shop environment\n\n   Content:\n"
            "   Staging uses Postgres; make targets drive every deploy.",
        ),
        (
            wanted[3],
            f"1. Skill\n   id: {layered['Skill']}\n\n   Name:\n   deploy_release\n\n   Description:\n"
            "   Migrate before you deploy to staging.",
        ),
    ):
        assert blocks[heading].strip("\n") == block
    experience = blocks[wanted[1]].strip("\n")
    assert experience.startswith(f"1. Experience\n   id: {layered['L2']}\n\n")
    assert "\n   Trigger:\n   asks to deploy\n\n   Guidance:\n   run make migrate, then deploy to staging" in experience


def test_items_of_a_layer_are_numbered_and_indented(rest: Rest):
    for n in range(3):
        rest.add(f"osprey note {n}\n\nwith a second paragraph")
    markdown = rest.search("osprey note")["injectedContext"]
    assert re.findall(r"^(\d)\. Trace$", markdown, re.MULTILINE) == ["1", "2", "3"]
    for line in markdown.split("\n")[1:]:
        assert line == "" or line.startswith("   ") or re.match(r"\d\. ", line)


def test_a_long_text_is_cut_with_the_contracts_mark(rest: Rest):
    rest.add(f"## user\n\n{'osprey ' * 85}\n\n## assistant\n\n{'y' * 700}")
    statement = rest.search("osprey")["injectedContext"]
    assert f"{'y' * 640}...[truncated]" in statement
    assert "y" * 641 not in statement
    exact = rest.add("z" * 640)["id"]
    assert "truncated" not in rest("GET", f"/memory/{exact}").text


def test_the_details_of_verbose(rest: Rest, layered: dict[str, str]):
    debug = rest.search("deploy to staging", verbose=True)["debug"]
    assert re.fullmatch(r"recall_[0-9a-f]{20}", debug["searchEventId"])
    assert debug["serverTime"] == NOW
    assert debug["status"] == []
    assert sorted(debug["sourceMemoryIds"]) == sorted(layered.values())
    assert debug["tokenEstimate"] == sum(s["tokenEstimate"] for s in debug["sections"])
    for hit in debug["hits"]:
        assert set(hit) == {
            "id",
            "kind",
            "memoryLayer",
            "status",
            "title",
            "snippet",
            "score",
            "tags",
            "updatedAt",
            "source",
        }
        assert hit["id"] == layered[hit["memoryLayer"]]
        assert hit["status"] == "activated"
        assert hit["score"] == round(hit["score"], 4)
        assert len(hit["snippet"]) <= 320
        assert hit["source"] in ("search", "episode", "rule", "skill")
    for section in debug["sections"]:
        assert set(section) == {"id", "title", "kind", "memoryLayer", "memoryIds", "content", "tokenEstimate"}
        assert section["memoryIds"] == [layered[section["memoryLayer"]]]
        assert section["id"] == f"memory-{section['memoryIds'][0]}"
        assert section["tokenEstimate"] == -(-len(section["content"]) // 4)
    assert {s["title"] for s in debug["sections"]} == {"Trace", "Experience", "Environment Knowledge", "Skill"}


def test_a_memory_stored_in_parts_is_shown_once(rest: Rest, alice: Person):
    alice("remember", content="The osprey nests on the crane again this year. " * 60)
    run_jobs(alice.hub)
    answer = rest.search("osprey crane", verbose=True)
    shown = [hit["id"] for hit in answer["debug"]["hits"]]
    assert len(shown) == len(set(shown)) == 1
    assert answer["injectedContext"].count("id: trace_") == 1


def test_nothing_found_is_the_empty_text(rest: Rest):
    assert rest.search("zzzqqq xyzzy") == {"injectedContext": ""}


def test_a_degraded_engine_is_named_in_the_status(rest: Rest, alice: Person):
    import dataclasses

    from hivelore.adapters.embed_off import OffEmbedder

    rest.add("osprey")
    off = Rest(alice.at(dataclasses.replace(alice.hub, embedder=OffEmbedder())))
    debug = off.search("osprey", verbose=True)["debug"]
    assert len(debug["hits"]) == 1
    assert [s.split(":")[0] for s in debug["status"]] == ["vectors"]


# -- what is searched --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layers", "wanted"),
    [
        (["L1"], {"L1"}),
        (["L2", "Skill"], {"L2", "Skill"}),
        (["L3", "L9", ""], {"L3"}),
        ([], {"L1", "L2", "L3", "Skill"}),
        (["L9"], {"L1", "L2", "L3", "Skill"}),
        (None, {"L1", "L2", "L3", "Skill"}),
    ],
)
def test_layers_choose_and_unknown_names_are_dropped(
    rest: Rest, layered: dict[str, str], layers: list[str] | None, wanted: set[str]
):
    debug = rest.search("deploy to staging", layers=layers, verbose=True)["debug"]
    assert {hit["memoryLayer"] for hit in debug["hits"]} == wanted


def test_all_tags_must_be_there(rest: Rest):
    both = rest.add("osprey one", tags=["a", "b"])["id"]
    rest.add("osprey two", tags=["a"])
    found = rest.search("osprey", tags=["a", "b"], verbose=True)["debug"]["sourceMemoryIds"]
    assert found == [both]
    assert rest.search("osprey", tags=["a", "c"]) == {"injectedContext": ""}


@pytest.mark.parametrize(
    ("limit", "number"),
    [
        (None, 10),
        (3, 3),
        (3.9, 3),
        (1, 1),
        (0, 1),
        (-5, 1),
        (0.5, 1),
        ("1", 10),
        (True, 10),
        ([2], 10),
        (10**6, 12),
    ],
)
def test_how_a_limit_is_read(rest: Rest, limit: object, number: int):
    for n in range(12):
        rest.add(f"osprey note {n}")
    assert len(rest.search("osprey", limit=limit, verbose=True)["debug"]["hits"]) == number


@pytest.mark.parametrize(
    "limit", [b"1e400", b"-1e400", b"NaN", b"Infinity", b"9" * 400, b"-" + b"9" * 400, b"1e308", b"0.1e-400"]
)
def test_numbers_beyond_all_bounds_are_no_accident(rest: Rest, limit: bytes):
    rest.add("osprey")
    answer = rest("POST", "/memory/search", b'{"query":"osprey","limit":' + limit + b"}")
    assert answer.status_code in (200, 400), answer.text


def test_without_injected_context_only_the_text_is_left_out(rest: Rest, layered: dict[str, str]):
    assert rest.search("deploy", includeInjectedContext=False) == {"injectedContext": ""}
    assert rest.search("deploy", includeInjectedContext=False, verbose=True)["debug"]["hits"]
    for other in (None, 0, "false"):
        assert rest.search("deploy", includeInjectedContext=other)["injectedContext"]


def test_the_callers_own_and_the_shared_are_searched_and_no_more(rest: Rest, alice: Person, bob: Person):
    mine = alice("remember", content="osprey mine", namespace="mine")["ids"][0]
    shared = bob("remember", content="osprey shared")["ids"][0]
    bob("remember", content="osprey of bob", namespace="his")
    run_jobs(alice.hub)
    found = rest.search("osprey", verbose=True)["debug"]["sourceMemoryIds"]
    assert sorted(found) == sorted(f"trace_{id[:20]}" for id in (mine, shared))


def test_an_imported_turn_is_a_trace_with_its_two_sides(rest: Rest, alice: Person):
    from hivelore.core.actor import space_of

    text = "## user\n\nwhere do ospreys nest?\n\n## assistant\n\nOn the crane."
    draft = TurnDraft(
        source="claude_code",
        turn_id="t1",
        conversation="c1",
        first_message="m1",
        title="where do ospreys nest?",
        text=text,
        complete=True,
        started_ms=1_767_225_600_000,
        ended_ms=1_767_225_601_000,
    )
    with call_as(alice.hub, "alice").write() as w:
        assert record_turns(w, space_of("transcripts", "alice", frozenset({"shared"})), [draft]) == ["new"]
    markdown = rest.search("osprey nest")["injectedContext"]
    assert "   Historical user statement:\n   where do ospreys nest?" in markdown
    assert "   Historical assistant response:\n   On the crane." in markdown


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "memory.search requires query"),
        ({"query": ""}, "memory.search requires query"),
        ({"query": " \t"}, "memory.search requires query"),
        ({"query": 5}, "memory.search requires query"),
        ({"query": ["x"]}, "memory.search requires query"),
        ({"query": "x", "layers": "L1"}, "memory.search layers must be an array of strings"),
        ({"query": "x", "layers": [1]}, "memory.search layers must be an array of strings"),
        ({"query": "x", "tags": "a"}, "memory.search tags must be an array of strings"),
        ({"query": "x", "tags": [None]}, "memory.search tags must be an array of strings"),
    ],
)
def test_what_is_refused(rest: Rest, body: dict[str, object], message: str):
    rest.refused(400, "invalid_argument", message, "POST", "/memory/search", body)


def test_a_query_that_is_too_long_names_the_limit(alice: Person):
    rest = Rest(alice.at(with_settings(alice.hub, max_query_chars=10)))
    error = rest.refused(400, "invalid_argument", None, "POST", "/memory/search", {"query": "x" * 11})
    assert "query" in error["message"]
    assert "10" in error["message"]


def test_searching_writes_nothing(rest: Rest, alice: Person, layered: dict[str, str]):
    before = dump(alice.hub)
    rest.search("deploy", verbose=True)
    assert dump(alice.hub) == before


def test_a_long_turn_shows_both_sides_and_the_place_that_matched(rest: Rest, alice: Person):
    answer = f"{'filler words about nothing. ' * 120}The magic port is 47114. {'more filler. ' * 90}"
    id = rest.add(f"## user\n\nwhich port is magic?\n\n## assistant\n\n{answer}")["id"]
    run_jobs(alice.hub)
    markdown = rest.search("magic port 47114")["injectedContext"]
    assert markdown.startswith(f"## L1 Trace Memories\n\n1. Trace\n   id: {id}\n")
    assert "   Historical user statement:\n   which port is magic?\n\n" in markdown
    response = markdown.partition("Historical assistant response:\n   ")[2]
    assert "47114" in response
    assert response.endswith("...[truncated]")
    assert len(response) < 640 + 40


def test_memories_in_many_parts_do_not_crowd_out_the_others(rest: Rest, alice: Person):
    for n in range(3):
        alice("remember", content=f"The osprey report number {n}. " + "The osprey nests on the crane. " * 40)
    short = [rest.add(f"osprey note {n}")["id"] for n in range(3)]
    run_jobs(alice.hub)
    found = rest.search("osprey", limit=6, verbose=True)["debug"]["sourceMemoryIds"]
    assert len(found) == 6
    assert set(short) <= set(found)
