"""The leak test: nothing that reads gives alice's private texts to bob, by whatever name, id or engine he asks."""

from __future__ import annotations

import pytest

from hivelore.base.identity import store as identity
from hivelore.base.memories import count_store, store
from hivelore.base.search import service as search
from hivelore.base.search.model import Filters, Request
from hivelore.core.actor import LOCAL_USER, Principal, Role, Scope, Space, space_of
from hivelore.core.errors import HiveloreError
from hivelore.core.page import Offset
from hivelore.rooms.memory import service as memory
from hivelore.rooms.transcripts import service as transcripts
from support.hubs import call_as, caller, run_jobs, with_settings

MARK = "zqxalicesecret"
LONG = "\n\n".join(f"{MARK} paragraph {n} " + f"word{n} " * 70 for n in range(4))
OTHERS = ["bob", LOCAL_USER, "", "Alice", "alice ", "alic", "*", "%"]


@pytest.fixture
def told(hub):
    """Alice's private texts of every kind, and their ids."""
    alice = call_as(hub, "alice")
    note = memory.remember(alice, f"{MARK} note about the deploy", namespace="notes", tags=["deploy"]).memory
    long = memory.remember(alice, LONG, namespace="notes").memory
    transcripts.save_session(alice, "today", LONG)
    with alice.write() as w:
        draft = transcripts.TurnDraft(
            source="codex",
            turn_id="t1",
            conversation="c1",
            first_message="m1",
            title=f"{MARK} title",
            text=f"{MARK} turn",
            complete=True,
            started_ms=1,
            ended_ms=2,
        )
        transcripts.record_turns(w, space_of("transcripts", "alice", frozenset()), [draft])
    run_jobs(hub)
    return {"note": note, "long": long, "ids": [note.id, long.id, *long.piece_ids()]}


def everything_that_reads(hub, call, told):
    """Each reading function with each way to name what is alice's: (what was asked, answer or error)."""
    for namespace in ("notes", "sessions", "transcripts", "*", "shared", None):
        for query in (MARK, "deploy", f"{MARK} note about the deploy", "today"):
            yield (
                f"recall {namespace} {query}",
                lambda n=namespace, q=query: memory.recall(call, q, namespaces=[n] if n else [], limit=200),
            )
        yield f"list {namespace}", lambda n=namespace: memory.list_items(call, n, Offset(0), 200)
    for id in told["ids"]:
        yield f"get {id}", lambda i=id: memory.get(call, i)
        yield f"update {id}", lambda i=id: memory.update(call, i, "defaced")
        yield f"forget {id}", lambda i=id: memory.forget(call, i)
    yield "load_session", lambda: transcripts.load_session(call, "today")
    yield "list_sessions", lambda: transcripts.list_sessions(call, 0, 100)
    yield "forget_session", lambda: transcripts.forget_session(call, "today")
    yield "group by namespace", lambda: _elsewhere(hub, call)
    spaces = (Space("private", "alice", "notes"), Space("private", "alice", "sessions"), Space("project", "", "notes"))
    yield "a scope that was not resolved for this caller", lambda: _find(hub, call, Scope(spaces))


def _elsewhere(hub, call):
    with call.read() as v:
        return search.matches_by_namespace(v, search.ask(hub, MARK), Filters())


def _find(hub, call, scope: Scope):
    with call.read() as v:
        findings = search.find(hub, v, Request(search.ask(hub, MARK), scope))
        listed = store.page(v, scope, Offset(0), 100)
        assert count_store.count(v, scope) == 0
        assert findings.pending == 0
        return findings, listed


@pytest.mark.parametrize("who", OTHERS)
def test_nobody_else_sees_a_private_text_whatever_their_role(hub, told, who):
    asking = [
        each for role in (Role.AGENT, Role.OWNER) for each in everything_that_reads(hub, call_as(hub, who, role), told)
    ]
    for asked, ask in asking:
        try:
            answer = repr(ask())
        except HiveloreError as exc:
            answer = f"{exc.message} {exc.data}"
        echoed = answer.replace(repr(MARK), "").count(MARK)
        assert echoed == 0, asked
        for id in (told["note"].id, told["long"].id):
            assert f"id='{id}'" not in answer, asked
    for id in told["ids"]:
        assert MARK in memory.get(call_as(hub, "alice"), id).text  # and nothing was changed or removed


def test_alice_herself_sees_it_all(hub, told):
    alice = call_as(hub, "alice")
    recalled = memory.recall(alice, MARK, namespaces=["*"], limit=200)
    assert {item.item.kind for item in recalled.items} == {"note", "session", "turn"}
    assert memory.list_items(alice, "*", Offset(0), 200).total >= 2 + len(told["long"].parts)


def test_pending_vectors_of_others_are_not_told(hub):
    memory.remember(call_as(hub, "alice"), f"{MARK} waits for its vector", namespace="notes")
    with call_as(hub, "bob").read() as v:
        assert search.find(hub, v, Request(search.ask(hub, MARK), Scope(None))).pending == 0


def test_a_name_that_is_shared_no_longer_hides_what_was_in_it(hub):
    memory.remember(call_as(hub, "alice"), f"{MARK} for the team", namespace="shared")
    run_jobs(hub)
    bob = call_as(hub, "bob")
    assert memory.recall(bob, MARK, namespaces=["*"], limit=5).items
    later = with_settings(hub, shared_namespaces=("team",))
    bob, alice = call_as(later, "bob"), call_as(later, "alice")
    for call in (bob, alice):
        for names in (["shared"], ["*"]):
            assert not memory.recall(call, MARK, namespaces=names, limit=5).items
            assert not memory.list_items(call, names[0], Offset(0), 5).items
    again = with_settings(hub, shared_namespaces=("team", "shared"))
    assert memory.recall(call_as(again, "bob"), MARK, namespaces=["shared"], limit=5).items


def test_a_name_that_becomes_shared_does_not_publish_what_was_private(hub):
    memory.remember(call_as(hub, "alice"), f"{MARK} private note", namespace="team")
    run_jobs(hub)
    later = with_settings(hub, shared_namespaces=("shared", "team"))
    assert not memory.recall(call_as(later, "bob"), MARK, namespaces=["team"], limit=5).items
    assert not memory.recall(call_as(later, "bob"), MARK, namespaces=["*"], limit=5).items
    assert memory.recall(call_as(later, "alice"), MARK, namespaces=["*"], limit=5).items


def test_a_project_is_seen_by_those_who_were_granted_it(hub):
    project = Space("project", "", "apollo")
    with call_as(hub, "alice").write() as w:
        identity.ensure(w, project)
    granted = Principal("bob", Role.AGENT, frozenset({project.id}))
    for principal, sees in ((granted, True), (Principal("carol"), False)):
        with hub.call(caller("x")).read() as v:
            import dataclasses

            view = dataclasses.replace(v, caller=dataclasses.replace(v.caller, principal=principal))
            assert identity.may_read(view, project) is sees
            assert (project.id in identity.readable(view)) is sees


def test_readable_spaces_are_those_that_exist_and_may_be_seen(hub):
    for who, namespace in (("alice", "notes"), ("bob", "notes"), ("bob", "shared")):
        memory.remember(call_as(hub, who), "text", namespace=namespace)
    with call_as(hub, "alice").read() as v:
        assert {(s.kind, s.owner, s.name) for s in identity.readable(v).values()} == {
            ("private", "alice", "notes"),
            ("shared", "", "shared"),
        }
