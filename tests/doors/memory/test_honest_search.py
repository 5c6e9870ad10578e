"""What a recall says about itself: which engines answered, what waits, where else matches are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from doors_kit import READ_TOOLS, Person, contents_of, ids_of, person, statements, with_keys
from sqlalchemy import text

from hivelore.adapters.embed_hash import HashEmbedder
from hivelore.adapters.embed_off import OffEmbedder
from hivelore.core.errors import Unavailable
from hivelore.core.ports import EmbedderState
from hivelore.work import Hub
from support.hubs import Store, clock_of, run_jobs, with_settings


class Loading(HashEmbedder):
    """A model that is still being loaded."""

    def state(self) -> EmbedderState:
        return EmbedderState("loading", "the model is being read from disk")


class Flaky(HashEmbedder):
    """A model that was ready a moment ago and does not answer now."""

    def embed(self, texts, role):
        raise Unavailable("the endpoint does not answer")


@pytest.fixture
def alice_with(store: Store, make_hub: Callable[..., Hub]) -> Callable[..., Person]:
    return lambda model: person(with_keys(make_hub(store, embedder=model)), "alice")


@contextmanager
def _text_index_broken(who: Person) -> Iterator[None]:
    table = "search_text" if who.hub.db.dialect == "sqlite" else "search_tokens"
    with who.hub.db.write() as connection:
        connection.execute(text(f"ALTER TABLE {table} RENAME TO {table}_gone"))
    try:
        yield
    finally:
        with who.hub.db.write() as connection:
            connection.execute(text(f"ALTER TABLE {table}_gone RENAME TO {table}"))


def test_without_vectors_words_are_found_and_the_answer_says_so(alice_with: Callable[..., Person]):
    alice = alice_with(OffEmbedder())
    alice = alice.at(with_settings(alice.hub, embedder="off"))
    for n in range(23):
        alice("remember", content=f"the migration number {n} ran")
    alice("remember", content="something else")
    run_jobs(alice.hub)
    found = alice("recall", query="migration", limit=50)
    assert len(found["items"]) == 23
    assert found["search"]["engines"] == ["text"]
    assert list(found["search"]["unavailable"]) == ["vectors"]
    assert found["search"]["unavailable"]["vectors"].startswith("off: ")
    assert found["search"]["pending"] == 0


def test_while_the_model_loads_words_are_found_and_chunks_are_counted_as_waiting(alice_with: Callable[..., Person]):
    alice = alice_with(Loading())
    alice("remember", content="the migration ran")
    found = alice("recall", query="migration")
    assert contents_of(found) == ["the migration ran"]
    assert found["search"]["unavailable"] == {"vectors": "loading: the model is being read from disk"}
    assert found["search"]["pending"] == 1


def test_a_model_that_fails_during_the_search_is_named(alice_with: Callable[..., Person]):
    alice = alice_with(Flaky())
    alice("remember", content="the migration ran")
    found = alice("recall", query="migration")
    assert contents_of(found) == ["the migration ran"]
    assert found["search"]["unavailable"] == {"vectors": "unavailable: the endpoint does not answer"}


def test_a_broken_text_index_is_never_a_bare_empty_list(alice: Person):
    stored = alice("remember", content="the migration ran")["ids"]
    run_jobs(alice.hub)
    with _text_index_broken(alice):
        found = alice("recall", query="the migration ran")
    assert ids_of(found) == stored
    assert found["search"]["engines"] == ["vectors"]
    assert "hivelore doctor" in found["search"]["unavailable"]["text"]


def test_with_both_engines_broken_the_empty_answer_says_why(alice_with: Callable[..., Person]):
    alice = alice_with(Flaky())
    alice("remember", content="the migration ran")
    with _text_index_broken(alice):
        found = alice("recall", query="migration")
    assert found["items"] == []
    assert found["search"]["engines"] == []
    assert set(found["search"]["unavailable"]) == {"text", "vectors"}


@pytest.mark.promise("M-114")
def test_a_note_is_found_by_word_before_it_has_a_vector(alice: Person):
    alice("remember", content="the migration ran")
    found = alice("recall", query="migration")
    assert contents_of(found) == ["the migration ran"]
    assert found["search"]["pending"] == 1
    run_jobs(alice.hub)
    assert alice("recall", query="migration")["search"]["pending"] == 0


def test_both_engines_are_always_fused_so_a_filter_cannot_starve_one(alice: Person):
    """The nearest vectors all lie outside the window of time; the words inside it are still found."""
    for n in range(30):
        alice("remember", content=f"deploy the billing service, attempt {n}")
    clock_of(alice.hub).advance(days=10)
    stored = alice("remember", content="billing deploy checklist moved to the wiki")["ids"]
    run_jobs(alice.hub)
    assert ids_of(alice("recall", query="deploy the billing service", since="2026-01-05")) == stored


# -- where else --------------------------------------------------------------------------------------------------------


def test_nothing_found_in_the_default_scope_tells_where_matches_are(alice: Person):
    for name, number in (("alpha", 1), ("beta", 3), ("gamma", 0)):
        for n in range(number):
            alice("remember", content=f"the heron nests in {name} {n}", namespace=name)
        alice("remember", content="unrelated", namespace=name)
    found = alice("recall", query="heron")
    assert found["items"] == []
    assert found["search"]["namespaces"] == ["shared"]
    assert found["search"]["elsewhere"] == {"beta": 3, "alpha": 1}
    assert list(found["search"]["elsewhere"]) == ["beta", "alpha"]


def test_elsewhere_never_names_what_the_caller_may_not_read(alice: Person, bob: Person):
    bob("remember", content="the heron nests here", namespace="bobs-secret-place")
    found = alice("recall", query="heron", namespace="mine")
    assert "elsewhere" not in found["search"]


def test_elsewhere_is_silent_when_something_was_found_or_everything_was_searched(alice: Person):
    alice("remember", content="heron", namespace="alpha")
    alice("remember", content="heron")
    for given in ({}, {"namespace": "*"}):
        assert "elsewhere" not in alice("recall", query="heron", **given)["search"]
    assert "elsewhere" not in alice("recall", query="walrus", namespace="*")["search"]


# -- reading writes nothing --------------------------------------------------------------------------------------------

CALLS = {
    "ping": {},
    "recall": {"query": "apple"},
    "timeline": {"id": "?"},
    "list_memories": {},
    "get_memory": {"id": "?"},
    "load_session": {"session_id": "s"},
    "list_sessions": {},
}


@pytest.mark.parametrize("tool", READ_TOOLS)
def test_a_read_runs_no_writing_statement_and_takes_no_lock(alice: Person, tool: str):
    id = alice("remember", content="apple")["ids"][0]
    alice("save_session", session_id="s", content="apple")
    run_jobs(alice.hub)
    given = {key: id if value == "?" else value for key, value in CALLS[tool].items()}
    with statements(alice.hub) as seen:
        alice(tool, **given)
    for statement in seen:
        assert (
            statement.lstrip()
            .upper()
            .startswith(("SELECT", "BEGIN", "SAVEPOINT", "RELEASE", "SET TRANSACTION", "WITH"))
        )
        assert "IMMEDIATE" not in statement.upper()
        assert "FOR UPDATE" not in statement.upper()


@pytest.mark.parametrize("tool", ["timeline", "list_memories", "get_memory", "load_session", "list_sessions"])
def test_a_listing_reads_no_vector(alice: Person, tool: str):
    id = alice("remember", content="apple")["ids"][0]
    alice("save_session", session_id="s", content="apple")
    run_jobs(alice.hub)
    given = {key: id if value == "?" else value for key, value in CALLS[tool].items()}
    with statements(alice.hub) as seen:
        alice(tool, **given)
    assert seen
    assert not [s for s in seen if "search_vector" in s or ".vec" in s]


def test_a_page_of_a_long_session_reads_only_that_page(alice: Person):
    content = "".join(f"line {n} of the long session\n" for n in range(4_000))
    alice("save_session", session_id="s", content=content)
    with statements(alice.hub) as seen:
        page = alice("load_session", session_id="s", page=3, page_size=100)
    assert page["content"] == content[300:400]
    texts = [s.lower().split(" from ")[0] for s in seen if "memory.text" in s]
    assert texts
    assert all("substr(memory.text" in s for s in texts)
