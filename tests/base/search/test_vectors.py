"""Vectors follow in the background: only for what changed, never stale, again for a new model."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import select

from hivelore.base.search import jobs as search_jobs
from hivelore.base.search import service as search
from hivelore.base.search import store as search_store
from hivelore.base.search.model import TEXT, VECTORS, Filters, Request
from hivelore.base.search.tables import chunks, models, pending, vectors
from hivelore.core.actor import Scope, space_of
from hivelore.core.errors import Unavailable
from hivelore.jobs import queue
from hivelore.rooms.memory import service as memory
from support.embedders import StatefulEmbedder
from support.hubs import call_as, clock_of, run_jobs, with_settings

SHARED = frozenset({"shared"})
PARAGRAPHS = [f"Paragraph {n} tells about subject {n}. " + f"word{n} " * 70 for n in range(12)]
LONG = "\n\n".join(PARAGRAPHS)


def remember(hub, content: str) -> str:
    return memory.remember(call_as(hub, "alice"), content, namespace="notes").memory.id


def counted(hub) -> dict[str, int]:
    with hub.db.read() as connection:
        return search_store.statistics(connection)


def vectors_by_text(hub) -> dict[str, int]:
    """Ids of vector rows by the text of their chunk."""
    with hub.db.read() as connection:
        rows = connection.execute(select(chunks.c.text, vectors.c.id).join(vectors, vectors.c.chunk == chunks.c.id))
        return {row.text: row.id for row in rows}


@pytest.fixture
def embedder():
    return StatefulEmbedder()


@pytest.fixture
def hub(store, make_hub, embedder):
    return make_hub(store, embedder=embedder)


@pytest.mark.promise("M-112")
def test_text_is_findable_at_commit_and_vectors_follow(hub):
    remember(hub, "deploy on Tuesday")
    assert counted(hub) == {"chunks": 1, "vectors": 0, "pending": 1, "text_rows": 1}
    run_jobs(hub)
    assert counted(hub) == {"chunks": 1, "vectors": 1, "pending": 0, "text_rows": 1}


def test_many_writes_need_one_job(hub):
    for n in range(40):
        remember(hub, f"note {n}")
    with hub.db.read() as connection:
        assert queue.counts(connection)["waiting"] == 1
    assert run_jobs(hub) == 1
    assert counted(hub)["vectors"] == 40


@pytest.mark.promise("P-018", "P-052")
def test_every_chunk_of_a_long_text_gets_its_vector(hub):
    remember(hub, LONG)
    run_jobs(hub)
    now = counted(hub)
    assert now["chunks"] == now["vectors"] == now["text_rows"] > 10


def test_chunks_that_did_not_change_keep_their_vectors(hub, embedder):
    id = remember(hub, LONG)
    run_jobs(hub)
    before = vectors_by_text(hub)
    embedder.embedded.clear()
    memory.update(call_as(hub, "alice"), id, LONG + "\n\nOne more paragraph at the end, with something new.")
    assert counted(hub)["pending"] < 4
    run_jobs(hub)
    after = vectors_by_text(hub)
    kept = {text: vector for text, vector in before.items() if after.get(text) == vector}
    assert len(kept) >= len(before) - 2
    assert 1 <= len(embedder.embedded) <= 3
    assert counted(hub)["chunks"] == counted(hub)["vectors"] == counted(hub)["text_rows"]


def test_a_change_of_tags_alone_needs_no_new_vector(hub, embedder):
    for tags in (["one"], ["two"]):
        memory.remember(call_as(hub, "alice"), "deploy on Tuesday", namespace="notes", tags=tags, key="same")
        run_jobs(hub)
    assert len(embedder.embedded) == 1
    with hub.db.read() as connection:
        assert connection.execute(select(chunks.c.tags)).scalars().all() == [["one", "two"]]


def test_a_removed_text_leaves_no_vector_and_no_debt(hub):
    gone, waiting = remember(hub, LONG), remember(hub, "still waits")
    run_jobs(hub)
    later = remember(hub, "removed before its vector came")
    for id in (gone, later):
        memory.forget(call_as(hub, "alice"), id)
    assert counted(hub) == {"chunks": 1, "vectors": 1, "pending": 0, "text_rows": 1}
    run_jobs(hub)
    assert counted(hub) == {"chunks": 1, "vectors": 1, "pending": 0, "text_rows": 1}
    assert memory.get(call_as(hub, "alice"), waiting).text == "still waits"


def test_a_text_that_changes_while_it_is_embedded_keeps_no_stale_vector(hub, embedder):
    id = remember(hub, "old text about the deploy")
    changes = [lambda: memory.update(call_as(hub, "alice"), id, "new text about lunch")]
    embedder.before = lambda: changes.pop()() if changes else None
    run_jobs(hub)
    assert embedder.embedded == ["old text about the deploy", "new text about lunch"]
    assert set(vectors_by_text(hub)) == {"new text about lunch"}
    assert counted(hub) == {"chunks": 1, "vectors": 1, "pending": 0, "text_rows": 1}


def test_a_text_that_is_removed_while_it_is_embedded_keeps_no_vector(hub, embedder):
    id = remember(hub, "removed in the middle")
    removals = [lambda: memory.forget(call_as(hub, "alice"), id)]
    embedder.before = lambda: removals.pop()() if removals else None
    run_jobs(hub)
    assert counted(hub) == {"chunks": 0, "vectors": 0, "pending": 0, "text_rows": 0}


def test_two_workers_may_embed_the_same_chunks(hub, embedder):
    for n in range(30):
        remember(hub, f"note {n}")
    start, failures = threading.Barrier(2), []

    def work() -> None:
        try:
            start.wait(20)
            search_jobs.embed(hub, {})
        except Exception as exc:
            failures.append(exc)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert counted(hub) == {"chunks": 30, "vectors": 30, "pending": 0, "text_rows": 30}


# -- models ------------------------------------------------------------------------------------------------------------


def reconcile(hub) -> None:
    search_jobs.reconcile(hub, {})
    run_jobs(hub)


def test_a_new_model_gets_vectors_of_everything(store, make_hub):
    old, new = StatefulEmbedder("old/256"), StatefulEmbedder("new/256")
    first = make_hub(store, embedder=old)
    ids = [remember(first, f"deploy number {n}") for n in range(5)]
    run_jobs(first)
    second = make_hub(store, embedder=new)
    reconcile(second)
    assert len(new.embedded) == 5
    reconcile(second)
    assert len(new.embedded) == 5  # and nothing twice
    call = call_as(second, "alice")
    recalled = memory.recall(call, "deploy", namespaces=["notes"], limit=10)
    assert {each.item.id for each in recalled.items} == set(ids)
    assert all(each.hit.vector_rank for each in recalled.items)
    with second.db.read() as connection:
        assert set(connection.execute(select(models.c.name)).scalars()) == {"old/256", "new/256"}


def test_vectors_of_another_model_are_never_compared(store, make_hub):
    first = make_hub(store, embedder=StatefulEmbedder("old/256"))
    remember(first, "deploy on Tuesday")
    run_jobs(first)
    second = make_hub(store, embedder=StatefulEmbedder("new/256"))
    recalled = memory.recall(call_as(second, "alice"), "deploy", namespaces=["notes"], limit=10)
    assert [each.hit.vector_rank for each in recalled.items] == [None]
    assert [each.hit.cosine for each in recalled.items] == [None]


def test_what_was_stored_without_a_model_gets_its_vectors_once_there_is_one(store, make_hub):
    without = make_hub(store, embedder=StatefulEmbedder(status="off"))
    silent = with_settings(without, embedder="off")
    remember(silent, "stored while embeddings were off")
    run_jobs(silent)
    assert counted(silent)["pending"] == 0
    second = make_hub(store, embedder=StatefulEmbedder())
    reconcile(second)
    assert counted(second) == {"chunks": 1, "vectors": 1, "pending": 0, "text_rows": 1}


def test_reconciling_walks_all_chunks_in_short_steps(hub, monkeypatch):
    monkeypatch.setattr(search_jobs, "SCAN_ROWS", 3)
    for n in range(10):
        remember(hub, f"note {n}")
    with hub.db.write() as connection:
        connection.execute(pending.delete())
    reconcile(hub)
    assert counted(hub)["vectors"] == 10


@pytest.mark.promise("M-113")
@pytest.mark.parametrize("status", ["unavailable", "loading"])
def test_a_model_that_is_not_ready_is_waited_for_without_losing_work(hub, embedder, status, monkeypatch):
    monkeypatch.setattr(search_jobs, "LOAD_TIMEOUT_S", 0.0)
    embedder.now = type(embedder.now)(status, "not yet")
    remember(hub, "deploy on Tuesday")
    with pytest.raises(Unavailable, match="not yet"):
        search_jobs.embed(hub, {})
    run_jobs(hub)
    assert counted(hub)["pending"] == 1
    embedder.now = type(embedder.now)("ready")
    clock_of(hub).advance(minutes=10)
    run_jobs(hub)
    assert counted(hub)["vectors"] == 1


def test_the_newest_text_is_embedded_first(hub, embedder):
    for n in range(3 * search_jobs.BATCH):
        remember(hub, f"import {n}")
    remember(hub, "a fresh note")
    search_jobs.embed_batch(hub)
    assert "a fresh note" in embedder.embedded


# -- waiting for vectors that are about to come ------------------------------------------------------------------------


def scope() -> Scope:
    return Scope((space_of("notes", "alice", SHARED),))


def test_a_recall_waits_a_moment_for_the_vectors_of_a_fresh_note(store, make_hub):
    hub = make_hub(store, embedder=StatefulEmbedder(), embed_eager_ms=20_000)
    remember(hub, "deploy on Tuesday")
    worker = threading.Thread(target=run_jobs, args=(hub,))
    worker.start()
    search.settle(call_as(hub, "alice"), scope())
    worker.join(60)
    assert counted(hub)["pending"] == 0


def test_a_recall_does_not_wait_for_an_import_or_for_a_model_that_is_not_ready(store, make_hub, monkeypatch):
    embedder = StatefulEmbedder()
    hub = make_hub(store, embedder=embedder, embed_eager_ms=600_000)

    def refuse(*_):
        raise AssertionError("it must not wait")

    monkeypatch.setattr(type(hub.progress), "wait", refuse)
    search.settle(call_as(hub, "alice"), scope())  # nothing is pending
    for n in range(search.SETTLED_CHUNKS + 1):
        remember(hub, f"import {n}")
    search.settle(call_as(hub, "alice"), scope())
    embedder.now = type(embedder.now)("loading")
    search.settle(call_as(hub, "alice"), scope())


def test_findings_count_the_chunks_that_still_wait(hub):
    remember(hub, "deploy on Tuesday")
    question = search.ask(hub, "deploy")
    with call_as(hub, "alice").read() as v:
        findings = search.find(hub, v, Request(question, scope()))
        assert findings.pending == 1
        assert VECTORS in findings.engines
    with call_as(hub, "bob").read() as v:
        other = Scope((space_of("notes", "bob", SHARED),))
        assert search.find(hub, v, Request(question, other)).pending == 0


def test_a_note_that_is_forgotten_while_the_question_is_embedded_is_not_a_hit(hub):
    gone, kept = remember(hub, "deploy on Tuesday"), remember(hub, "deploy on Friday")
    run_jobs(hub)
    asking = search.begin(hub, "deploy")
    call = call_as(hub, "alice")
    with call.read() as v:
        words = search.look_up(v, asking, scope(), Filters())
    memory.forget(call, gone)
    with call.read() as v:
        findings = search.find(hub, v, Request(asking.question(), scope()), words)
    assert [hit.ref for hit in findings.hits] == [kept]
    assert findings.engines == (TEXT, VECTORS)


def test_a_note_that_gets_its_vector_while_the_question_is_embedded_is_found_by_both(hub):
    remember(hub, "deploy on Tuesday")
    asking = search.begin(hub, "deploy")
    call = call_as(hub, "alice")
    with call.read() as v:
        words = search.look_up(v, asking, scope(), Filters())
    run_jobs(hub)
    with call.read() as v:
        (hit,) = search.find(hub, v, Request(asking.question(), scope()), words).hits
    assert (hit.text_rank, hit.vector_rank) == (1, 1)
    assert hit.cosine is not None
