"""Faults that an adversarial review of the running product found, each with what is right."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from doors_kit import Person, Rest, contents_of
from sqlalchemy import func, select

from hivelore.base.search import service as search
from hivelore.base.search import store as search_store
from hivelore.base.search.tables import chunks, pending, vectors
from hivelore.core.errors import HiveloreError, Invalid, TextRefused
from hivelore.core.ports import EmbedRole
from hivelore.core.settings import Settings
from hivelore.core.settings_load import validate
from support.embedders import StatefulEmbedder
from support.hubs import run_jobs, with_settings

ROUNDS = 8


def together(*acts: Callable[[], Any]) -> list[Any]:
    """Do these at the same moment; returns what each gave or raised."""
    start = threading.Barrier(len(acts))
    results: list[Any] = [None] * len(acts)

    def run(place: int, act: Callable[[], Any]) -> None:
        start.wait(10)
        try:
            results[place] = act()
        except HiveloreError as exc:
            results[place] = exc

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(acts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return results


def left(who: Person) -> list[int]:
    with who.hub.db.read() as connection:
        return [
            connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in (chunks, vectors, pending)
        ]


def test_what_is_forgotten_while_it_is_updated_leaves_nothing_behind(alice: Person):
    for number in range(ROUNDS):
        id = alice("remember", content=f"first {number}")["ids"][0]
        together(
            lambda id=id: alice("update", id=id, content="word " * 400),
            lambda id=id: alice("forget", id=id),
        )
        alice("forget", id=id)
    run_jobs(alice.hub)
    assert left(alice) == [0, 0, 0]


def test_a_session_that_is_forgotten_while_it_is_saved_is_whole_or_gone(alice: Person):
    for number in range(ROUNDS):
        alice("save_session", session_id="s", content=f"old {number} " * 200)
        together(
            lambda n=number: alice("save_session", session_id="s", content=f"new {n} " * 300),
            lambda: alice("forget_session", session_id="s"),
        )
        found = alice("load_session", session_id="s", page_size=100_000)
        assert found["content"] in ("", f"new {number} " * 300)
        alice("forget_session", session_id="s")
    run_jobs(alice.hub)
    assert left(alice) == [0, 0, 0]


def test_of_two_bodies_under_one_request_key_one_is_stored_and_the_other_refused(rest: Rest):
    for number in range(ROUNDS):
        asked = [
            {"content": f"body {side} of {number}", "adapterId": "a", "requestId": f"r{number}"} for side in (1, 2)
        ]
        answers = together(*(lambda body=body: rest("POST", "/memory/add", body) for body in asked))
        assert sorted(answer.status_code for answer in answers) == [200, 409]
        winner = next(i for i, answer in enumerate(answers) if answer.status_code == 200)
        again = rest("POST", "/memory/add", asked[winner]).json()
        assert again["duplicate"] is True
        stored = rest("GET", f"/memory/{again['id']}").json()
        assert stored["version"] == 1
        assert asked[winner]["content"] in stored["body"]


def test_a_name_that_becomes_shared_still_shows_its_writer_what_was_private(alice: Person, bob: Person):
    alice("remember", content="the walrus is mine", namespace="team")
    later = with_settings(alice.hub, shared_namespaces=("shared", "team"))
    assert contents_of(alice.at(later)("recall", query="walrus", namespace="team")) == ["the walrus is mine"]
    assert contents_of(alice.at(later)("list_memories", namespace="team")) == ["the walrus is mine"]
    assert bob.at(later)("list_memories", namespace="team")["total"] == 0


class PickyEmbedder(StatefulEmbedder):
    """Refuses texts that hold a word, and with them every batch that they are in."""

    def embed(self, texts: Sequence[str], role: EmbedRole) -> list[bytes]:
        if any("POISON" in text for text in texts):
            raise TextRefused()
        return super().embed(texts, role)


def test_a_text_that_the_model_refuses_keeps_no_other_from_its_vector(alice: Person):
    picky = alice.at(dataclasses.replace(alice.hub, embedder=PickyEmbedder()))
    for content in ("one apple", "POISON pear", "two apples"):
        picky("remember", content=content)
    run_jobs(picky.hub)
    assert left(picky) == [3, 2, 0]
    assert contents_of(picky("recall", query="pear"))[0] == "POISON pear"
    asked = picky("recall", query="POISON")
    assert "unavailable" in asked["search"]["unavailable"]["vectors"]
    assert contents_of(asked)[0] == "POISON pear"


def test_a_model_that_does_not_answer_is_not_waited_for(alice: Person, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(search, "QUERY_TIMEOUT_S", 0.05)
    stalled, release = StatefulEmbedder(), threading.Event()
    stalled.before = lambda: release.wait(20) or None  # type: ignore[assignment, return-value]
    slow = alice.at(dataclasses.replace(alice.hub, embedder=stalled))
    slow("remember", content="the walrus answers")
    try:
        answer = slow("recall", query="walrus")
    finally:
        release.set()
    assert contents_of(answer) == ["the walrus answers"]
    assert "did not answer within 0.05 s" in answer["search"]["unavailable"]["vectors"]


def test_long_memories_do_not_crowd_others_out_of_a_rest_search(rest: Rest):
    for number in range(5):
        rest.add(f"walrus {number}: " + f"walrus fact {number} " * 350)
    hits = rest.search("walrus", limit=5, verbose=True)["debug"]["hits"]
    assert len({hit["id"] for hit in hits}) == 5


def test_a_lower_limit_hides_nothing_of_a_session_that_was_saved_before(alice: Person):
    text = "0123456789" * 2_000
    alice("save_session", session_id="s", content=text)
    small = alice.at(with_settings(alice.hub, max_session_chars=1_000))
    read = [small("load_session", session_id="s", page=page, page_size=8_000) for page in range(3)]
    assert "".join(page["content"] for page in read) == text
    assert [page["has_more"] for page in read] == [True, True, False]


@pytest.mark.parametrize("named", [{"turnId": "codex:1"}, {"requestId": "r-1"}])
def test_what_was_deleted_over_rest_stays_deleted_when_an_importer_sends_it_again(rest: Rest, named: dict[str, str]):
    asked = {"content": "a turn to go", "adapterId": "agent-source:codex", **named}
    id = rest.add(**asked)["id"]
    assert rest("DELETE", f"/memory/{id}").status_code == 200
    again = rest.add(**asked)
    assert (again["id"], again["status"], again["duplicate"]) == (id, "deleted", True)
    assert rest("GET", f"/memory/{id}").status_code == 404
    assert rest.search("turn to go") == {"injectedContext": ""}


def test_a_list_of_namespaces_has_a_limit(alice: Person):
    assert "namespaces has 65 entries; the limit is 64" in alice.refused(
        "recall", query="x", namespaces=[f"n{n}" for n in range(65)]
    )


@pytest.mark.parametrize("name", ["default_namespace", "session_namespace", "transcript_namespace"])
def test_a_star_is_no_name_for_a_default(name: str):
    with pytest.raises(Invalid, match="must name one namespace"):
        validate(Settings(**{name: "*"}))
    with pytest.raises(Invalid, match="HIVELORE_SHARED_NAMESPACES must name namespaces"):
        validate(Settings(shared_namespaces=("*",)))


def test_updating_a_group_keeps_the_ids_of_its_parts_good(alice: Person):
    stored = alice("remember", content=" ".join(f"sentence number {n}." for n in range(150)))
    alice("update", id=stored["group_id"], content=" ".join(f"changed number {n}." for n in range(150)))
    for id in stored["ids"][: stored["chunks"] - 1]:
        assert "changed" in alice("get_memory", id=id)["content"]


def test_vectors_of_chunks_that_went_meanwhile_are_not_stored(alice: Person):
    id = alice("remember", content="soon gone")["ids"][0]
    with alice.hub.db.read() as connection:
        (row,) = search_store.next_pending(connection, 5)
    alice("forget", id=id)
    with alice.hub.db.write() as connection:
        model = search_store.ensure_model(connection, "m/2", 2, 0)
        assert search_store.store_vectors(connection, model, [(row[0], row[1], row[2], b"\0\0\0\0")]) == 0
    assert left(alice) == [0, 0, 0]
