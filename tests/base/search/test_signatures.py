"""The vectors of SQLite in memory find what an exact search finds, in any scope; a large store is read first."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from hivelore.base.identity import store as identity
from hivelore.base.search import jobs as search_jobs
from hivelore.base.search import signatures
from hivelore.base.search import store as search_store
from hivelore.base.search.model import TEXT, VECTORS
from hivelore.base.search.signatures import SignatureIndex
from hivelore.base.search.tables import vectors
from hivelore.bench.speed_corpus import Vectors
from hivelore.core.actor import Space
from hivelore.rooms.memory import service as memory
from support.hubs import call_as, run_jobs

DIMS = 384
COUNT = 20_000
SPACES = {"half": 0.5, "some": 0.02, "few": 0.0005, "rest": 1.0}


@pytest.fixture(scope="module")
def clustered():
    """Vectors that point one way and crowd together, as those of real models do, and questions among them."""
    rng = np.random.default_rng(3)
    spread = np.linspace(2.0, 0.1, DIMS) ** 2
    sample = (3.0 + rng.normal(0, 1, (400, DIMS)) * spread).astype(np.float32)
    sample /= np.linalg.norm(sample, axis=1, keepdims=True)
    made = Vectors(sample, seed=4)
    return made.make(COUNT).astype("<f2"), made.make(30)


@pytest.fixture
def stored(sqlite_store, make_hub, clustered):
    """A hub whose vector table holds them, in four spaces."""
    hub = make_hub(sqlite_store)
    halves, _ = clustered
    names, shares = list(SPACES), list(SPACES.values())
    rng = np.random.default_rng(9)
    cuts = np.cumsum(shares[:-1])
    of = np.searchsorted(cuts, rng.random(COUNT), side="right")
    ids = [Space("private", "alice", name).id for name in names]
    with call_as(hub, "alice").write() as w:
        for name in names:
            identity.ensure(w, Space("private", "alice", name))
    with hub.db.write() as connection:
        model = search_store.ensure_model(connection, "made/384", DIMS, 0)
        rows = [{"space": ids[of[n]], "chunk": n + 1, "model": model, "vec": halves[n].tobytes()} for n in range(COUNT)]
        connection.execute(vectors.insert(), rows)
    return hub, model, of, dict(zip(names, ids, strict=True))


@pytest.mark.parametrize("scope", ["everything", "half", "some", "few"])
def test_the_ten_nearest_are_found_in_any_scope(stored, clustered, scope, monkeypatch):
    monkeypatch.setattr(signatures, "SHORTLIST", 500)  # a fortieth of the table, as much as of a large one
    hub, model, of, ids = stored
    halves, queries = clustered
    inside = np.ones(COUNT, bool) if scope == "everything" else of == list(SPACES).index(scope)
    spaces = set(ids.values()) if scope == "everything" else {ids[scope]}
    hit = wanted = 0
    for query in queries.astype("<f4"):
        scores = np.where(inside, halves.astype(np.float32) @ query, -9)
        exact = {int(n) + 1 for n in np.argsort(-scores)[:10] if inside[n]}
        with hub.db.read() as connection:
            found = hub.vectors.nearest(connection, model, query.tobytes(), spaces, None, 80)
        assert all(inside[chunk - 1] for chunk in found)
        hit += len(exact & set(found))
        wanted += len(exact)
    assert hit / wanted >= 0.98


def test_filters_by_id_bind_before_the_nearest_are_chosen(stored, clustered):
    hub, model, _, ids = stored
    allowed = np.arange(5, COUNT, 977)
    with hub.db.read() as connection:
        query = clustered[1][0].astype("<f4").tobytes()
        found = hub.vectors.nearest(connection, model, query, set(ids.values()), lambda: allowed, 80)
    assert set(found) == set(allowed.tolist())


def test_blocks_join_without_a_seam(stored, clustered, monkeypatch):
    hub, model, _, ids = stored
    whole, parts = SignatureIndex(), SignatureIndex()
    query = clustered[1][0].astype("<f4").tobytes()
    with hub.db.read() as connection:
        expected = whole.nearest(connection, model, query, set(ids.values()), None, 80)
        monkeypatch.setattr(signatures, "BLOCK_ROWS", 3_000)
        assert parts.nearest(connection, model, query, set(ids.values()), None, 80) == expected


def test_a_large_store_is_read_in_the_background_while_words_answer(sqlite_store, make_hub, monkeypatch):
    monkeypatch.setattr(signatures, "WAITED_ROWS", 3)
    writer = make_hub(sqlite_store)
    for n in range(8):
        memory.remember(call_as(writer, "alice"), f"deploy number {n}", namespace="notes")
    run_jobs(writer)
    hub = make_hub(sqlite_store)
    recalled = memory.recall(call_as(hub, "alice"), "deploy", namespaces=["notes"], limit=5)
    assert recalled.findings.engines == (TEXT,)
    assert recalled.findings.unavailable[VECTORS].startswith("loading: ")
    hub.helpers.shutdown(wait=True)  # the reading that the recall began
    index = hub.vectors
    with hub.db.read() as connection:
        model = search_store.model_id(connection, hub.embedder.model)
        query = hub.embedder.embed(["deploy"], "query")[0]
        everything = {Space("private", "alice", "notes").id}
        assert len(index.nearest(connection, model, query, everything, None, 8)) == 8


def test_a_start_reads_the_vectors_ahead(sqlite_store, make_hub, monkeypatch):
    writer = make_hub(sqlite_store)
    for n in range(8):
        memory.remember(call_as(writer, "alice"), f"deploy number {n}", namespace="notes")
    run_jobs(writer)
    hub = make_hub(sqlite_store)
    monkeypatch.setattr(signatures, "WAITED_ROWS", 3)
    search_jobs.warm(hub)
    recalled = memory.recall(call_as(hub, "alice"), "deploy", namespaces=["notes"], limit=5)
    assert recalled.findings.engines == (TEXT, VECTORS)


def test_two_readings_of_one_store_do_the_work_once(stored):
    hub, model, _, _ = stored
    stopping = threading.Event()
    with hub.vectors._loading:
        hub.vectors.load(hub.db.read, model, stopping)  # returns at once
    assert model not in hub.vectors._tables
    hub.vectors.load(hub.db.read, model, stopping)
    assert hub.vectors._tables[model].size == COUNT


def test_reading_stops_when_the_process_does(stored):
    hub, model, _, _ = stored
    stopping = threading.Event()
    stopping.set()
    hub.vectors.load(hub.db.read, model, stopping)
    assert model not in hub.vectors._tables
