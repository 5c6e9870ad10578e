"""Nothing of what one user keeps to themselves reaches another: no tool, resource, count, cursor, error or REST
answer."""

from __future__ import annotations

import json

import pytest
from doors_kit import Person, Rest, mcp
from mcp.client import Client

from hivelore.core.errors import HiveloreError
from support.hubs import run_jobs

SECRET = "zanzibarquokka"
LONG = f"The {SECRET} plan in detail. " * 60


def _bobs_ids(bob: Person) -> list[str]:
    """Everything that Bob can keep to himself, in namespaces of the same names that Alice uses."""
    ids = []
    for namespace in ("work", "sessions", "media", "transcripts", f"{SECRET}-space", "*bob*"):
        stored = bob(
            "remember", content=f"{SECRET} lives in {namespace}", namespace=namespace, tags=[SECRET], source=SECRET
        )
        ids += [*stored["ids"], stored["group_id"]]
    long = bob("remember", content=LONG, namespace="work")
    ids += [*long["ids"], long["group_id"]]
    bob("update", id=ids[0], content=f"{SECRET} moved")
    bob("save_session", session_id=SECRET, content=LONG)
    bob("save_session", session_id="common", content=LONG, namespace="work")
    ids += [item["id"] for item in bob("list_memories", namespace="sessions", limit=200)["items"]]
    run_jobs(bob.hub)
    return ids


def _everything_alice_can_ask(alice: Person, ids: list[str]) -> dict[str, object]:
    """Answers, or the words of refusals, of every tool with every way to name a scope or an id."""
    asked: dict[str, object] = {}

    def ask(tool: str, **given: object) -> None:
        try:
            asked[f"{tool} {json.dumps(given)}"] = alice(tool, **given)
        except HiveloreError as exc:
            asked[f"{tool} {json.dumps(given)}"] = exc.message

    scopes: list[dict[str, object]] = [
        {"namespace": name} for name in (None, "*", "work", "sessions", "transcripts", "*bob*", "bob", "bob/work", "%")
    ]
    for scope in scopes:
        ask("list_memories", **scope)
        ask("list_memories", **scope, limit=1)
        for more in ({}, {"tags": [SECRET]}, {"source": SECRET}, {"kind": "session"}, {"since": "2020-01-01"}):
            ask("recall", query=f"{SECRET} plan", limit=200, **scope, **more)
        ask("recall", query="plan", limit=200, cursor="1", **scope)
    ask("recall", query=SECRET, namespaces=["work", "*bob*"])
    for session in (SECRET, "common"):
        ask("load_session", session_id=session)
        ask("forget_session", session_id=session)
    ask("list_sessions")
    for id in ids:
        ask("get_memory", id=id)
        ask("update", id=id, content="mine now")
        ask("forget", id=id)
    return asked


def _resources(alice: Person) -> list[str]:
    async def talk(client: Client):
        return [
            (await client.read_resource(f"memory://{name}")).contents[0].text
            for name in ("shared", "work", "sessions", "*", "%2Abob%2A")
        ]

    return mcp(alice, talk)


def _without_scores(answer: object) -> object:
    if isinstance(answer, dict) and "items" in answer:
        return answer | {"items": [{k: v for k, v in item.items() if k != "score"} for item in answer["items"]]}
    return answer


@pytest.mark.promise("P-011", "P-050")
def test_no_answer_holds_a_word_of_the_others_secret(alice: Person, bob: Person):
    ids = _bobs_ids(bob)
    for request, answer in _everything_alice_can_ask(alice, ids).items():
        shown = json.dumps(answer, ensure_ascii=False)
        if request.split()[0] in ("load_session", "forget_session"):
            shown = shown.replace(f'"session_id": "{SECRET}"', "")
        assert SECRET not in shown, request
        assert "bob" not in shown.replace("*bob*", "").replace('"bob"', "").replace("bob/work", ""), request
    for page in _resources(alice):
        assert SECRET not in page


def test_every_answer_is_the_same_as_if_the_other_did_not_exist(alice: Person, bob: Person):
    """Items, order, counts, cursors and errors: nothing moves when Bob writes.

    Scores may: how rare a word is, is known for the whole index. They are the one thing not compared here.
    """
    for n in range(5):
        alice("remember", content=f"the plan of alice, part {n}", namespace="work")
        alice("remember", content=f"the shared plan, part {n}")
    alice("save_session", session_id="mine", content="the plan, discussed at length")
    run_jobs(alice.hub)
    before = _everything_alice_can_ask(alice, ["0" * 32]), _resources(alice)
    ids = _bobs_ids(bob)
    after = _everything_alice_can_ask(alice, ["0" * 32]), _resources(alice)
    for request, answer in before[0].items():
        assert _without_scores(after[0][request]) == _without_scores(answer), request
    assert after[1] == before[1]
    for id in ids:
        for tool, more in (("get_memory", {}), ("update", {"content": "x"})):
            assert alice.refused(tool, id=id, **more).replace(id, "ID") == alice.refused(
                tool, id="0" * 32, **more
            ).replace("0" * 32, "ID")


def test_bob_still_has_everything_afterwards(alice: Person, bob: Person):
    ids = _bobs_ids(bob)
    mine = {id: bob("get_memory", id=id) for id in ids}
    _everything_alice_can_ask(alice, ids)
    assert {id: bob("get_memory", id=id) for id in ids} == mine
    assert bob("load_session", session_id=SECRET, page_size=200_000)["content"] == LONG


def test_rest_shows_and_removes_nothing_of_it(alice: Person, bob: Person):
    ids = _bobs_ids(bob)
    rest = Rest(alice)
    for query in (SECRET, "plan", f"{SECRET} plan in detail"):
        for more in ({}, {"layers": ["L1"]}, {"tags": [SECRET]}):
            assert rest.search(query, verbose=True, limit=200, **more)["injectedContext"] == ""
    for id in ids:
        for prefix in ("trace", "policy", "world", "skill"):
            wire = f"{prefix}_{id[:20]}"
            for method in ("GET", "DELETE"):
                assert rest(method, f"/memory/{wire}").json()["error"]["message"] == f"memory not found: {wire}"
    for id in ids:
        assert bob("get_memory", id=id)


def test_the_same_namespace_name_is_another_place_for_each_user(alice: Person, bob: Person):
    alice("remember", content="heron of alice", namespace="notes")
    bob("remember", content="heron of bob", namespace="notes")
    run_jobs(alice.hub)
    for who in (alice, bob):
        for answer in (who("list_memories", namespace="notes"), who("recall", query="heron", namespace="notes")):
            assert [i["content"] for i in answer["items"]] == [f"heron of {who.name}"]
            assert answer["total"] == 1


def test_a_namespace_that_is_no_longer_shared_is_closed_and_not_lost(alice: Person, bob: Person):
    from support.hubs import with_settings

    alice("remember", content="open letter", namespace="shared")
    closed = with_settings(alice.hub, shared_namespaces=("other",))
    for who in (alice.at(closed), bob.at(closed)):
        assert who("list_memories", namespace="*")["total"] == 0
    assert bob("list_memories")["total"] == 1


@pytest.mark.promise("P-002", "P-011", "P-049", "P-082")
@pytest.mark.parametrize("namespace", ["shared", "team"])
def test_what_is_written_to_a_shared_namespace_is_readable_by_all_at_once(alice: Person, bob: Person, namespace: str):
    from support.hubs import with_settings

    hub = with_settings(alice.hub, shared_namespaces=("shared", "team"))
    stored = alice.at(hub)("remember", content="open letter", namespace=namespace)["ids"][0]
    reader = bob.at(hub)
    assert reader("get_memory", id=stored)["content"] == "open letter"
    assert reader("recall", query="letter", namespace=namespace)["items"][0]["id"] == stored
    assert reader("list_memories", namespace=namespace)["total"] == 1
