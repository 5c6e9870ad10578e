"""POST /api/v1/memory/add."""

from __future__ import annotations

import dataclasses
import re

import pytest
from doors_kit import Person, Rest, contents_of, dump

from hivelore.base.memories import store as memory_store
from hivelore.core.clock import ManualClock
from support.hubs import call_as, clock_of, run_jobs, with_settings

NOW = "2026-01-01T00:00:00.000Z"
TOOL_TURN = (
    "## user\n\nRun tests\n\n## tool\n\nTool: shell\nCall ID: call_1\nStatus: completed\nInput:\n"
    '{"command":["pytest","-q"]}\n\n## tool\n\nCall ID: call_1\nOutput:\n2 failed, 8 passed\n\n'
    "## assistant\n\nTwo tests fail."
)


@pytest.mark.promise("M-041")
def test_a_plain_note_becomes_a_trace(rest: Rest):
    content = "Staging database migrates on every deploy; run make migrate first."
    answer = rest.add(content)
    id = answer.pop("id")
    assert re.fullmatch(r"trace_[0-9a-f]{20}", id)
    assert list(answer) == ["kind", "memoryLayer", "status", "title", "summary", "tags", "createdAt", "serverTime"]
    assert answer == {
        "kind": "trace",
        "memoryLayer": "L1",
        "status": "activated",
        "title": content,
        "summary": content,  # a real summary instead of a placeholder that says "queued"
        "tags": [],
        "createdAt": NOW,
        "serverTime": NOW,
    }


def test_the_title_of_a_trace_is_its_first_line_and_tags_end_with_the_source(rest: Rest):
    answer = rest.add(
        "Prefer pnpm over npm in the web repo.",
        title="pnpm preference",
        tags=["preference", "web"],
        source="claude_code",
        layer="L1",
        requestId="req-add-1",
    )
    assert answer["title"] == "Prefer pnpm over npm in the web repo."
    assert answer["tags"][:3] == ["preference", "web", "claude_code"]
    assert "duplicate" not in answer


@pytest.mark.parametrize(
    ("layer", "prefix", "kind"),
    [("L2", "policy", "policy"), ("L3", "world", "world_model"), ("Skill", "skill", "skill")],
)
def test_the_other_layers(rest: Rest, layer: str, prefix: str, kind: str):
    answer = rest.add("When a deploy fails, check migrations first.", layer=layer)
    assert re.fullmatch(rf"{prefix}_[0-9a-f]{{20}}", answer["id"])
    assert (answer["kind"], answer["memoryLayer"], answer["status"]) == (kind, layer, "activated")
    assert answer["title"] == answer["summary"] == "When a deploy fails, check migrations first."
    assert answer["tags"] == ["manual"]
    named = rest.add("1) migrate 2) build", layer=layer, title="deploy-skill", source="ops", tags=["a"])
    assert named["title"] == "deploy-skill"
    assert named["tags"] == ["manual", "ops", "a"]


@pytest.mark.parametrize("layer", ["L4", "", "l1", "policy", None, 5, ["L2"], {}])
def test_an_unknown_layer_is_l1(rest: Rest, layer: object):
    answer = rest.add("x", layer=layer)
    assert (answer["memoryLayer"], answer["kind"]) == ("L1", "trace")


def test_a_turn_with_tools_is_taken_apart(rest: Rest):
    answer = rest.add(
        TOOL_TURN,
        adapterId="agent-source:codex",
        requestId="imp-3",
        layer="L1",
        title="Run tests",
        source="codex",
        turnId="codex:0012",
        createdAt="2026-03-04T05:07:07.000Z",
        tags=["agent-source", "codex"],
    )
    answer.pop("id")
    assert answer == {
        "kind": "trace",
        "memoryLayer": "L1",
        "status": "activated",
        "title": "Run tests",
        "summary": "Run tests",
        "tags": ["agent-source", "codex", "shell"],
        "createdAt": "2026-03-04T05:07:07.000Z",
        "serverTime": NOW,
    }


def test_recalled_context_in_the_content_is_not_stored(rest: Rest, alice: Person):
    rest.add(
        "<memmy_memory_context>old things</memmy_memory_context>\n<current_user_request>new</current_user_request>"
    )
    assert contents_of(alice("list_memories")) == ["new"]


# -- the same memory again ---------------------------------------------------------------------------------------------


def test_the_same_content_is_the_same_memory(rest: Rest, alice: Person):
    first = rest.add("note", tags=["a"])
    clock_of(alice.hub).advance(seconds=9)
    second = rest.add("note", tags=["b"])
    assert second["id"] == first["id"]
    assert second["tags"] == ["a", "b"]
    assert "duplicate" not in second
    assert alice("list_memories")["total"] == 1


def test_another_title_or_layer_makes_another_memory_and_replaces_nothing(rest: Rest, alice: Person):
    ids = {
        rest.add("note")["id"],
        rest.add("note", title="t")["id"],
        rest.add("note", layer="L2")["id"],
        rest.add("note, longer", title="t")["id"],
    }
    assert len(ids) == 4
    assert alice("list_memories")["total"] == 4


def test_each_user_has_memories_of_their_own(rest: Rest, bobs_rest: Rest):
    assert rest.add("note")["id"] != bobs_rest.add("note")["id"]


def test_the_same_turn_of_an_agent_replaces_its_text_and_keeps_the_id(rest: Rest, alice: Person):
    turn = {"adapterId": "agent-source:codex", "turnId": "t-1", "source": "codex"}
    first = rest.add("## user\n\nfirst part", requestId="r1", **turn)
    grown = rest.add("## user\n\nfirst part\n\n## assistant\n\nand the answer", requestId="r2", tags=["more"], **turn)
    assert grown["id"] == first["id"]
    assert grown["tags"] == ["codex", "more"]
    got = rest("GET", f"/memory/{first['id']}").json()
    assert got["version"] == 2
    assert got["metadata"]["properties"]["internal_info"]["trace"]["agent_text"] == "and the answer"
    with call_as(alice.hub, "alice").read() as v:
        stored = memory_store.by_id_prefix(v, first["id"].removeprefix("trace_"))
        assert stored is not None
        assert [text for _, text, _ in memory_store.earlier_texts(v, stored)] == ["## user\n\nfirst part"]


def test_a_repeated_request_gets_the_first_answer_marked_as_duplicate(rest: Rest, alice: Person):
    body = {"content": "Idempotent fact A", "requestId": "r1", "adapterId": "ad1"}
    first = rest("POST", "/memory/add", body).json()
    assert "duplicate" not in first
    clock_of(alice.hub).advance(minutes=5)
    before = dump(alice.hub)
    again = rest("POST", "/memory/add", body).json()
    assert again == first | {"duplicate": True}
    assert list(again)[-1] == "duplicate"
    assert dump(alice.hub) == before


def test_the_repeated_answer_is_the_same_to_the_millisecond(alice: Person):
    """Also when time passes between the storing and the answer."""

    class Ticking(ManualClock):
        def now_ms(self) -> int:
            self.at_ms += 1
            return self.at_ms

    rest = Rest(alice.at(dataclasses.replace(alice.hub, clock=Ticking())))
    body = {"content": "fact", "requestId": "r1", "adapterId": "ad1"}
    first = rest("POST", "/memory/add", body).json()
    assert rest("POST", "/memory/add", body).json() == first | {"duplicate": True}


def test_the_key_of_a_request_with_another_body_is_a_conflict(rest: Rest, alice: Person):
    rest.add("Idempotent fact A", requestId="r1", adapterId="ad1")
    before = dump(alice.hub)
    for other in ({"content": "Idempotent fact B"}, {"content": "Idempotent fact A", "tags": ["x"]}):
        body = other | {"requestId": "r1", "adapterId": "ad1"}
        rest.refused(409, "conflict", "idempotency key reused with different request body", "POST", "/memory/add", body)
    assert dump(alice.hub) == before


def test_the_order_of_fields_does_not_make_another_body(rest: Rest):
    rest.add("fact", requestId="r1", adapterId="ad1", tags=["a"])
    raw = b'{ "tags":["a"],\n "adapterId":"ad1", "requestId":"r1", "content":"fact" }'
    assert rest("POST", "/memory/add", raw).json()["duplicate"] is True


def test_a_request_id_alone_has_no_effect(rest: Rest):
    first = rest.add("A", requestId="r1")
    assert rest.add("B", requestId="r1")["id"] != first["id"]


def test_requests_of_other_adapters_and_users_do_not_meet(rest: Rest, bobs_rest: Rest):
    ids = [
        rest.add("A", requestId="r1", adapterId="ad1")["id"],
        rest.add("B", requestId="r1", adapterId="ad2")["id"],
        rest.add("C", requestId="r2", adapterId="ad1")["id"],
        bobs_rest.add("D", requestId="r1", adapterId="ad1")["id"],
    ]
    assert len(set(ids)) == 4


def test_two_of_the_same_request_at_once_store_one_memory(rest: Rest, alice: Person):
    from concurrent.futures import ThreadPoolExecutor

    body = {"content": "fact", "requestId": "r1", "adapterId": "ad1"}
    with ThreadPoolExecutor(6) as pool:
        answers = [a.json() for a in pool.map(lambda _: rest("POST", "/memory/add", body), range(6))]
    assert len({a["id"] for a in answers}) == 1
    assert alice("list_memories")["total"] == 1


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "memory.add requires content"),
        ({"content": ""}, "memory.add requires content"),
        ({"content": " \n "}, "memory.add requires content"),
        ({"content": "\0"}, "memory.add requires content"),
        ({"content": None}, "memory.add requires content"),
        ({"content": 5}, "memory.add requires content"),
        ({"content": ["x"]}, "memory.add requires content"),
        ({"content": "x", "createdAt": "yesterday"}, "memory.add createdAt must be an ISO timestamp"),
        ({"content": "x", "createdAt": "2026-13-01"}, "memory.add createdAt must be an ISO timestamp"),
        ({"content": "x", "createdAt": "0000-00-00"}, "memory.add createdAt must be an ISO timestamp"),
        ({"content": "x", "createdAt": "\0"}, None),
        ({"content": "x", "title": 5}, "memory.add title must be a string"),
        ({"content": "x", "tags": "a"}, "memory.add tags must be an array of strings"),
        ({"content": "x", "tags": [1]}, "memory.add tags must be an array of strings"),
        ({"content": "x", "source": {}}, "memory.add source must be a string"),
        ({"content": "x", "turnId": []}, "memory.add turnId must be a string"),
        ({"content": "x", "adapterId": True}, "memory.add adapterId must be a string"),
    ],
)
def test_what_is_refused(rest: Rest, alice: Person, body: dict[str, object], message: str | None):
    before = dump(alice.hub)
    if message is None:
        assert rest("POST", "/memory/add", body).status_code in (200, 400)
        return
    rest.refused(400, "invalid_argument", message, "POST", "/memory/add", body)
    assert dump(alice.hub) == before


def test_limits_name_field_and_limit(alice: Person):
    rest = Rest(alice.at(with_settings(alice.hub, max_content_chars=10, max_tags=2, max_name_chars=5)))
    before = dump(alice.hub)
    for body, words in (
        ({"content": "x" * 11}, ("content", "10")),
        ({"content": "x", "tags": ["a", "b", "c"]}, ("tags", "2")),
        ({"content": "x", "tags": ["a" * 6]}, ("tags", "5")),
        ({"content": "x", "source": "a" * 6}, ("source", "5")),
    ):
        error = rest.refused(400, "invalid_argument", None, "POST", "/memory/add", body)
        for word in words:
            assert word in error["message"]
    assert dump(alice.hub) == before


def test_a_session_that_does_not_exist_is_not_found(rest: Rest, alice: Person):
    before = dump(alice.hub)
    body = {
        "content": "user: hi\nassistant: hello",
        "createdAt": "2026-01-02T03:04:05.000Z",
        "sessionId": "s-x",
        "turnId": "t-x",
        "source": "codex",
        "tags": ["agent-source"],
        "deferProcessing": True,
    }
    rest.refused(404, "not_found", "session not found: s-x", "POST", "/memory/add", body)
    assert dump(alice.hub) == before


@pytest.mark.parametrize(
    "createdAt", ["2026-03-04", "2026-03-04T05:06:07Z", "2026-03-04T07:06:07.000+02:00", "1969-07-20"]
)
def test_times_are_kept_in_utc(rest: Rest, createdAt: str):
    wanted = {"2026-03-04": "2026-03-04T00:00:00.000Z", "1969-07-20": "1969-07-20T00:00:00.000Z"}
    assert rest.add("x", createdAt=createdAt)["createdAt"] == wanted.get(createdAt, "2026-03-04T05:06:07.000Z")


ODD_VALUES = (
    b"a\\u0000b",
    b"half \\ud83d",
    b"\\udc8a",
    b"\\u0000",
    b"\xef\xbf\xbf",
    b"\\uffff",
    b"x" * 9_000,
)


@pytest.mark.parametrize(
    "field", ["content", "title", "source", "sessionId", "turnId", "adapterId", "requestId", "createdAt"]
)
def test_odd_characters_in_any_field_are_kept_replaced_or_refused_but_never_an_accident(
    rest: Rest, alice: Person, field: str
):
    others = (b"", b',"adapterId":"agent-source:x","turnId":"t"', b',"adapterId":"a","requestId":"r"')
    for value in ODD_VALUES:
        for more in others:
            if f'"{field}"'.encode() in more:
                continue
            content = b"" if field == "content" else b'"content":"x",'
            answer = rest("POST", "/memory/add", b'{%b"%b":"%b"%b}' % (content, field.encode(), value, more))
            assert answer.status_code in (200, 400, 404, 409), (value, answer.text)
            assert answer.json()
    for item in alice("list_memories", limit=50)["items"]:
        str(item).encode()


# -- together with the tools -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layer", ["L1", "L2", "L3", "Skill"])
def test_what_rest_adds_the_tools_recall(rest: Rest, alice: Person, bob: Person, layer: str):
    answer = rest.add("The osprey build runs at noon.", layer=layer, title="osprey", tags=["build"], source="cli")
    run_jobs(alice.hub)
    for who in (alice, bob):
        found = who("recall", query="when does the osprey build run?", tags=["build"])["items"]
        assert [f"{answer['id'].split('_')[0]}_{i['id'][:20]}" for i in found] == [answer["id"]]
        assert found[0]["content"] == "The osprey build runs at noon."
        assert found[0]["source"] == "cli"
        assert found[0]["namespace"] == "shared"


def test_what_the_tools_remember_rest_finds_reads_and_removes(rest: Rest, alice: Person):
    stored = alice("remember", content="The osprey build runs at noon.", tags=["build"], namespace="mine")["ids"][0]
    run_jobs(alice.hub)
    wire = f"trace_{stored[:20]}"
    assert f"id: {wire}" in rest.search("osprey")["injectedContext"]
    got = rest("GET", f"/memory/{wire}").json()
    assert got["metadata"]["properties"]["internal_info"]["trace"]["user_text"] == "The osprey build runs at noon."
    assert rest("DELETE", f"/memory/{wire}").json()["ok"] is True
    assert "no memory with id" in alice.refused("get_memory", id=stored)
