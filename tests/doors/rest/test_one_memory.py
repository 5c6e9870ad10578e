"""GET and DELETE /api/v1/memory/:id."""

from __future__ import annotations

import json

import pytest
from doors_kit import Person, Rest, dump

from support.hubs import clock_of, run_jobs

NOW = "2026-01-01T00:00:00.000Z"
TURN = (
    "## user\n\nList the failing tests\n\n## tool\n\nTool: shell\nCall ID: call_1\nInput:\n"
    '{"command":["pytest","-q"]}\n\n## tool\n\nCall ID: call_1\nOutput:\n2 failed\n\n'
    "## assistant\n\nTwo tests fail: test_a and test_b."
)


@pytest.fixture
def trace(rest: Rest) -> str:
    return rest.add(
        TURN,
        source="codex",
        turnId="codex:0011",
        adapterId="agent-source:codex",
        tags=["agent-source"],
        createdAt="2026-03-04T05:06:07.000Z",
    )["id"]


@pytest.mark.promise("M-008", "M-043")
def test_a_trace_in_full(rest: Rest, alice: Person, trace: str):
    run_jobs(alice.hub)
    got = rest("GET", f"/memory/{trace}").json()
    assert list(got)[:4] == ["id", "kind", "memoryLayer", "status"]
    item = got.pop("item")
    assert item == got
    assert got["id"] == trace
    assert (got["kind"], got["memoryLayer"], got["status"]) == ("trace", "L1", "activated")
    assert got["title"] == "List the failing tests"
    assert got["summary"] == "List the failing tests"
    assert got["tags"] == ["agent-source", "codex", "shell"]
    assert (got["createdAt"], got["updatedAt"]) == ("2026-03-04T05:06:07.000Z", NOW)
    assert (got["version"], got["etag"]) == (1, f"{trace}-v1")
    assert got["sourceMemoryIds"] == []
    assert got["trace"]["turnId"] == "codex:0011"
    assert got["refs"] == {"policyLinks": []}
    assert got["metadata"]["source"] == "codex"
    assert got["metadata"]["info"]["turn_id"] == "codex:0011"
    assert got["body"] == (
        "Summary: List the failing tests\nUser:\nList the failing tests\nTool calls:\n- shell\n"
        "Agent:\nTwo tests fail: test_a and test_b."
    )
    internal = got["metadata"]["properties"]["internal_info"]
    assert (internal["memory_layer"], internal["memory_kind"]) == ("L1", "trace")
    assert internal["trace"]["user_text"] == internal["trace"]["userText"] == "List the failing tests"
    assert internal["trace"]["agent_text"] == internal["trace"]["agentText"] == "Two tests fail: test_a and test_b."
    assert internal["trace"]["ts"] == 1_772_600_767_000
    assert internal["trace"]["tool_calls"] == [
        {"name": "shell", "id": "call_1", "input": {"command": ["pytest", "-q"]}, "output": "2 failed"}
    ]


def test_processing_says_whether_vectors_are_there(rest: Rest, alice: Person, trace: str):
    waiting = rest("GET", f"/memory/{trace}").json()["processing"]
    assert set(waiting) == {
        "memoryId",
        "state",
        "stage",
        "activeJobId",
        "attemptCount",
        "manualRetryCount",
        "retryAction",
        "errorCode",
        "errorMessage",
        "failedAt",
        "updatedAt",
    }
    assert (waiting["memoryId"], waiting["state"]) == (trace, "embedding_pending")
    run_jobs(alice.hub)
    assert rest("GET", f"/memory/{trace}").json()["processing"]["state"] == "ready"


@pytest.mark.parametrize(
    ("layer", "block", "fields"),
    [
        ("L2", "policy", {"utilityScore", "confidence", "evidenceMemoryIds", "repairHints"}),
        ("L3", "worldModel", {"sourceMemoryIds", "confidence"}),
        ("Skill", "skill", {"invocationGuide", "sourcePolicyIds", "sourceWorldModelIds"}),
    ],
)
def test_the_other_layers_have_blocks_of_their_own(rest: Rest, layer: str, block: str, fields: set[str]):
    id = rest.add("Check migrations first.", layer=layer, title="given title")["id"]
    got = rest("GET", f"/memory/{id}").json()
    assert (got["memoryLayer"], got["title"], got["body"]) == (layer, "given title", "Check migrations first.")
    assert set(got[block]) >= fields
    assert not {"trace", "policy", "worldModel", "skill"} - {block} & set(got)


def test_version_and_etag_count_changes(rest: Rest, alice: Person):
    id = rest.add("note")["id"]
    clock_of(alice.hub).advance(seconds=1)
    rest.add("note", tags=["more"])
    got = rest("GET", f"/memory/{id}").json()
    assert (got["version"], got["etag"]) == (2, f"{id}-v2")
    assert got["updatedAt"] == "2026-01-01T00:00:01.000Z"


@pytest.mark.parametrize(
    "id",
    [
        "nope",
        "trace_",
        "trace_0123",
        "trace_00000000000000000000",
        "TRACE_00000000000000000000",
        "trace_0000000000000000000g",
        "episode_00000000000000000000",
        "session_00000000000000000000",
        "00000000000000000000",
        "日本",
        "%00",
        "a%20b",
        "'; DROP TABLE memory; --",
    ],
)
def test_an_unknown_id_is_not_found_by_its_name(rest: Rest, id: str):
    from urllib.parse import unquote

    for method in ("GET", "DELETE"):
        rest.refused(404, "not_found", f"memory not found: {unquote(id)}", method, f"/memory/{id}")


def test_a_raw_turn_id_is_refused_as_internal(rest: Rest):
    for method in ("GET", "DELETE"):
        error = rest.refused(400, "invalid_argument", None, method, "/memory/raw_9cbeb4b5e1fede943b43")
        assert "raw turn ids are internal" in error["message"]


def test_the_prefix_must_be_that_of_the_layer(rest: Rest):
    id = rest.add("note")["id"].removeprefix("trace_")
    for prefix in ("policy", "world", "skill"):
        rest.refused(404, "not_found", f"memory not found: {prefix}_{id}", "GET", f"/memory/{prefix}_{id}")


@pytest.mark.promise("M-044")
def test_a_deleted_memory_is_gone_for_every_door(rest: Rest, alice: Person, trace: str):
    answer = rest("DELETE", f"/memory/{trace}")
    assert answer.status_code == 200
    body = answer.json()
    assert list(body) == ["ok", "id", "kind", "status", "changeSeq", "syncCursor", "auditId", "serverTime"]
    assert (body["ok"], body["id"], body["kind"], body["status"]) == (True, trace, "trace", "deleted")
    for method in ("DELETE", "GET"):
        rest.refused(404, "not_found", f"memory not found: {trace}", method, f"/memory/{trace}")
    assert rest.search("failing tests") == {"injectedContext": ""}
    assert alice("list_memories")["total"] == 0
    rows = "".join(row for table in dump(alice.hub).values() for row in table)
    assert "failing" not in rows


def test_what_was_deleted_can_be_added_anew(rest: Rest):
    first = rest.add("note")["id"]
    rest("DELETE", f"/memory/{first}")
    second = rest.add("note")["id"]
    assert rest("GET", f"/memory/{second}").json()["version"] == 1


def test_of_another_user_the_shared_can_be_read_and_not_deleted(rest: Rest, bobs_rest: Rest, alice: Person):
    id = rest.add("for all to read")["id"]
    assert bobs_rest("GET", f"/memory/{id}").json()["body"]
    before = dump(alice.hub)
    bobs_rest.refused(404, "not_found", f"memory not found: {id}", "DELETE", f"/memory/{id}")
    assert dump(alice.hub) == before


def test_a_long_memory_is_read_and_deleted_whole(rest: Rest, alice: Person):
    text = "The osprey nests on the crane again this year. " * 60
    stored = alice("remember", content=text)
    wire = f"trace_{stored['group_id'][:20]}"
    got = rest("GET", f"/memory/{wire}").json()
    assert got["metadata"]["properties"]["internal_info"]["trace"]["user_text"] == text.strip()
    assert rest("DELETE", f"/memory/{wire}").status_code == 200
    assert alice("list_memories")["total"] == 0


def test_a_saved_session_is_read_and_not_deleted_here(rest: Rest, alice: Person):
    alice("save_session", session_id="s", content="the osprey session", namespace="mine")
    id = next(hit["id"] for hit in rest.search("osprey", verbose=True)["debug"]["hits"])
    assert rest("GET", f"/memory/{id}").status_code == 200
    before = dump(alice.hub)
    error = rest.refused(409, "conflict", None, "DELETE", f"/memory/{id}")
    assert "forget_session" in error["message"]
    assert dump(alice.hub) == before


ODD_PAYLOADS = ("NaN", "[1e999]", "-Infinity", '"\\ud800"', "[" * 15_000, "9" * 5_000, '{"a":' * 3_000)


def _not_json(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


@pytest.mark.parametrize("label", ["Input", "Output"])
def test_an_odd_tool_payload_is_kept_and_shown_as_valid_json(rest: Rest, label: str):
    for payload in ODD_PAYLOADS:
        content = f"## user\n\nosprey\n\n## tool\n\nTool: shell\n{label}:\n{payload}\n\n## assistant\n\ndone"
        got = rest("GET", f"/memory/{rest.add(content)['id']}")
        assert got.status_code == 200, payload[:20]
        json.loads(got.content, parse_constant=_not_json)
    assert rest.search("osprey", verbose=True)["debug"]["hits"]


def test_a_payload_over_the_contracts_size_is_cut_and_says_by_how_much(rest: Rest):
    content = f"## user\n\nosprey\n\n## tool\n\nTool: shell\nOutput:\n{'x' * 20_005}\n\n## assistant\n\ndone"
    got = rest("GET", f"/memory/{rest.add(content)['id']}").json()
    output = got["metadata"]["properties"]["internal_info"]["trace"]["tool_calls"][0]["output"]
    assert output == f"{'x' * 20_000}[truncated:5 chars]"
