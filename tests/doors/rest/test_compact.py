"""Search over REST that fits a context window, its explanations, and timelines."""

from __future__ import annotations

import pytest
from doors_kit import Person, Rest

from hivelore.core.fence import strip_recalled
from hivelore.core.tokens_bound import tokens_at_most
from support.hubs import clock_of, run_jobs


@pytest.fixture
def ids(alice: Person, rest: Rest) -> list[str]:
    found = []
    for n in range(10):
        found.append(rest.add(f"Deploy {n} of the service heron{n} took {n} minutes.", source="ci")["id"])
        clock_of(alice.hub).advance(minutes=1)
    run_jobs(alice.hub)
    return found


@pytest.mark.parametrize("budget", [100, 200, 1_000])
def test_the_injected_context_is_a_fenced_block_within_its_budget(rest: Rest, ids: list[str], budget: int):
    found = rest.search("heron3 minutes", maxTokens=budget)
    block = found["injectedContext"]
    assert tokens_at_most(block) <= budget
    assert strip_recalled(f"Mine. {block}") == ("Mine.", 1)
    assert f"[{ids[3]}, 7 min ago, 2026-01-01, ci] Deploy 3 of" in block
    assert found["items"][0] | {"score": 0} == {
        "id": ids[3],
        "content": "Deploy 3 of the service heron3 took 3 minutes.",
        "age": "7 min ago",
        "createdAt": "2026-01-01T00:03:00.000Z",
        "source": "ci",
        "kind": "text",
        "score": 0,
        "truncated": False,
        "similar": 0,
    }
    assert len(found["items"]) + found["omitted"]["items"] == 10 or budget == 1_000
    assert rest.search("heron3", maxTokens=budget, includeInjectedContext=False)["injectedContext"] == ""


def test_a_block_needs_no_budget(rest: Rest, ids: list[str]):
    found = rest.search("heron3 minutes", format="context", limit=2)
    assert found["injectedContext"].count("minutes.") == 2


def test_the_index_is_a_row_a_hit(rest: Rest, ids: list[str]):
    found = rest.search("heron3 minutes", detail="index", limit=2)
    assert found["injectedContext"] == ""
    assert found["index"]["columns"] == ["id", "title", "age", "kind", "score"]
    assert found["index"]["rows"][0][:4] == [
        ids[3],
        "Deploy 3 of the service heron3 took 3 minutes.",
        "7 min ago",
        "text",
    ]
    assert len(found["index"]["rows"]) == 2


def test_an_explanation_is_given_with_the_hits(rest: Rest, ids: list[str]):
    (best, *_) = rest.search("heron3 minutes", explain=True)["debug"]["hits"]
    assert best["explain"]["textRank"] == 1
    assert sum(best["explain"]["parts"].values()) == pytest.approx(best["score"], abs=1e-4)
    assert "explain" not in rest.search("heron3", verbose=True)["debug"]["hits"][0]


def test_a_timeline_shows_what_was_stored_around_a_memory(rest: Rest, bobs_rest: Rest, ids: list[str]):
    found = rest("POST", "/memory/timeline", {"id": ids[4], "before": 1, "after": 2}).json()
    assert [item["id"] for item in found["items"]] == ids[3:7]
    assert [item.get("here") for item in found["items"]] == [None, True, None, None]
    assert (found["within"], found["moreBefore"], found["moreAfter"]) == ("namespace", True, True)
    usual = rest("POST", "/memory/timeline", {"id": ids[4]}).json()
    assert [item["id"] for item in usual["items"]] == ids[1:8]
    rest.refused(
        404, "not_found", "memory not found: trace_" + "0" * 20, "POST", "/memory/timeline", {"id": "trace_" + "0" * 20}
    )


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("maxTokens", 99, "memory.search maxTokens must be a whole number of at least 100"),
        ("maxTokens", "many", "memory.search maxTokens must be a whole number of at least 100"),
        ("context", -1, "memory.search context must be a whole number of at least 0"),
        ("format", "prose", "memory.search format must be 'context'"),
        ("detail", "full", "memory.search detail must be 'index'"),
    ],
)
def test_a_field_that_cannot_be_is_refused_by_name(rest: Rest, field: str, value: object, message: str):
    rest.refused(400, "invalid_argument", message, "POST", "/memory/search", {"query": "x", field: value})
    rest.refused(400, "invalid_argument", "memory.timeline requires id", "POST", "/memory/timeline", {})
