"""Upkeep beside writers: nothing that was right is touched, nothing that changed meanwhile is harmed."""

from __future__ import annotations

import dataclasses
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import func, select, text

from hivelore.app import SOURCES, site
from hivelore.base.memories import upkeep as memory_upkeep
from hivelore.base.search import upkeep
from hivelore.base.search.tables import chunks, pending, vectors
from hivelore.base.search.upkeep import Account, Site, walk
from hivelore.core.errors import Unavailable
from hivelore.jobs import queue, worker
from hivelore.rooms.memory import service as memory
from hivelore.rooms.transcripts import service as transcripts
from hivelore.sql.database import Retryable
from hivelore.work import Hub
from support.embedders import StatefulEmbedder
from support.hubs import call_as, clock_of, run_jobs


@pytest.fixture
def rests() -> list[float]:
    return []


@pytest.fixture
def here(hub: Hub, rests: list[float]) -> Site:
    """The hub's store as upkeep sees it; rests are noted and not taken."""
    return site(hub.settings, hub.db, clock=hub.clock, ids=hub.ids, rest=rests.append)


def remember(hub: Hub, content: str, who: str = "alice") -> str:
    return memory.remember(call_as(hub, who), content, namespace="notes").memory.id


def rows(hub: Hub, table: Any) -> list[str]:
    with hub.db.read() as connection:
        return sorted(map(repr, connection.execute(select(table))))


def found(account: Account) -> dict[str, int]:
    return {name: number for name, number in account.found.items() if number}


def lose_words(hub: Hub) -> None:
    with hub.db.write() as connection:
        connection.execute(text("DELETE FROM " + ("search_text" if hub.db.dialect == "sqlite" else "search_tokens")))


def test_what_is_right_is_not_written(hub: Hub, here: Site, rests: list[float]) -> None:
    for number in range(30):
        remember(hub, f"note {number}")
    transcripts.save_session(call_as(hub, "alice"), "today", "A long session. " * 300)
    run_jobs(hub)
    before = [rows(hub, table) for table in (chunks, vectors, pending)]
    account = walk(here, mend=True)
    assert (account.clean, account.finished, account.memories) == (True, True, 31)
    assert account.chunks == account.vectors > 31
    assert [rows(hub, table) for table in (chunks, vectors, pending)] == before
    assert rests == []


def test_a_memory_that_is_forgotten_while_it_is_looked_at_does_not_come_back(hub: Hub, here: Site) -> None:
    ids = [remember(hub, f"note {number}") for number in range(3)]
    with hub.db.write() as connection:
        connection.execute(chunks.delete())
    forgotten = dataclasses.replace(
        SOURCES[0],
        current=lambda w, ref: None if ref[1] == ids[0] else SOURCES[0].current(w, ref),
    )
    account = walk(dataclasses.replace(here, sources=(forgotten,)), mend=True)
    assert (found(account)["unregistered"], account.left_alone) == (3, 1)
    with hub.db.read() as connection:
        assert set(connection.execute(select(chunks.c.ref)).scalars()) == set(ids[1:])


def test_a_memory_that_changes_between_look_and_mending_is_registered_as_it_is_then(
    hub: Hub, here: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = remember(hub, "the old text")
    with hub.db.write() as connection:
        connection.execute(chunks.update().values(owner="nobody"))
    look = upkeep.store.differing

    def then_change(*given: Any) -> Any:
        seen = look(*given)
        if changes:
            memory.update(call_as(hub, "alice"), id, changes.pop())
        return seen

    changes = ["the new text"]
    monkeypatch.setattr(upkeep.store, "differing", then_change)
    assert found(walk(here, mend=True)) == {"stale": 1}
    with hub.db.read() as connection:
        assert connection.execute(select(chunks.c.text, chunks.c.owner)).all() == [("the new text", "alice")]
    assert walk(here, mend=False).clean


def test_words_of_a_chunk_that_changes_between_look_and_mending_are_left_to_whoever_changed_it(
    hub: Hub, here: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = remember(hub, "the old text")
    lose_words(hub)
    look = upkeep.store.wrong_words

    def then_change(*given: Any) -> Any:
        seen = look(*given)
        if changes:
            memory.update(call_as(hub, "alice"), id, changes.pop())
        return seen

    changes = ["the new text"]
    monkeypatch.setattr(upkeep.store, "wrong_words", then_change)
    account = walk(here, mend=True)
    assert (found(account), account.left_alone) == ({"wrong_words": 1}, 1)
    assert walk(here, mend=False).clean


def test_a_walk_that_was_stopped_leaves_what_it_mended_and_the_next_one_does_the_rest(hub: Hub, here: Site) -> None:
    for number in range(60):
        remember(hub, f"note {number}")
    with hub.db.write() as connection:
        connection.execute(chunks.delete())

    def stop(_: float) -> None:
        raise KeyboardInterrupt

    account = Account(mended=True)
    with pytest.raises(KeyboardInterrupt):
        walk(dataclasses.replace(here, rest=stop), mend=True, account=account)
    assert (account.finished, account.found["unregistered"]) == (False, 60)
    with hub.db.read() as connection:
        assert connection.execute(select(func.count()).select_from(chunks)).scalar_one() == upkeep.ENTRIES_MENDED
    assert walk(here, mend=True).found["unregistered"] == 60 - upkeep.ENTRIES_MENDED
    assert walk(here, mend=False).clean


def test_each_transaction_is_followed_by_a_rest_as_long_as_it_took(hub: Hub, here: Site, rests: list[float]) -> None:
    for number in range(50):
        remember(hub, f"note {number}")
    with hub.db.write() as connection:
        connection.execute(chunks.delete())
    lose_words(hub)
    walk(here, mend=True)
    assert len(rests) >= 3
    assert all(0 < rest <= upkeep.REST_LIMIT_S for rest in rests)


def test_a_step_that_the_store_refused_is_repeated(hub: Hub, here: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(hub, "one")
    lose_words(hub)
    renew, failures = upkeep.store.renew_words, [Retryable(), Retryable()]

    def refuse(*given: Any) -> int:
        if failures:
            raise failures.pop()
        return renew(*given)

    monkeypatch.setattr(upkeep.store, "renew_words", refuse)
    assert found(walk(here, mend=True)) == {"wrong_words": 1}
    assert walk(here, mend=False).clean


def test_without_embeddings_no_vector_is_missed(store: Any, make_hub: Callable[..., Hub]) -> None:
    hub = make_hub(store, embedder=StatefulEmbedder("off", "off"))
    off = dataclasses.replace(hub.settings, embedder="off")
    memory.remember(dataclasses.replace(hub, settings=off).call(call_as(hub, "alice").caller), "one", namespace="notes")
    assert walk(site(off, hub.db), mend=True).clean
    assert rows(hub, pending) == []


# -- size --------------------------------------------------------------------------------------------------------------


def test_memory_use_does_not_grow_with_the_store(hub: Hub, here: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """PF-06: a rebuild streams."""
    monkeypatch.setattr(memory_upkeep, "PAGE_CHARS", 4_000)
    monkeypatch.setattr(upkeep, "CHUNKS", 10)
    monkeypatch.setattr(upkeep, "VECTORS", 10)

    def peak() -> int:
        with hub.db.write() as connection:
            connection.execute(chunks.delete())
        lose_words(hub)
        tracemalloc.start()
        try:
            walk(here, mend=True)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    def fill(number: int) -> None:
        for count in range(number):
            remember(hub, f"note {count} " + "word " * 300)

    fill(10)
    peak()  # what is made once: statements, caches
    small = peak()
    fill(70)
    assert peak() < 3 * small  # eight times as much is stored


def test_a_page_holds_one_long_memory_or_several_short_ones(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_upkeep, "PAGE_CHARS", 100)
    for length in (30, 30, 30, 30, 500, 30):
        remember(hub, "x" * length)
    sizes, after = [], ("", -1, "")
    while after is not None:
        with hub.db.read() as connection:
            page, after = memory_upkeep.page(connection, after, 200)
        sizes.append([sum(len(piece.text) for piece in entry.pieces) for entry in page])
    assert sum(map(len, sizes)) == 6
    assert all(len(page) == 1 or sum(page) <= 100 for page in sizes if page)


# -- background work ---------------------------------------------------------------------------------------------------


def test_vectors_that_cannot_be_made_are_tried_a_bounded_number_of_times_shown_and_taken_up_again(
    store: Any, make_hub: Callable[..., Hub]
) -> None:
    """PF-05: background work is bounded, retried, resumable, visible."""
    embedder = StatefulEmbedder()
    hub = make_hub(store, embedder=embedder)
    tries: list[int] = []

    def fail() -> None:
        tries.append(1)
        raise RuntimeError("the model crashed")

    embedder.before = fail
    remember(hub, "waits for a vector")
    for _ in range(20):
        run_jobs(hub)
        clock_of(hub).advance(minutes=10)
    assert len(tries) == worker.MAX_ATTEMPTS
    with hub.db.read() as connection:
        assert queue.counts(connection) == {"waiting": 0, "running": 0, "failed": 1}
    embedder.before = lambda: None
    walk(Site(hub.db, hub.settings, hub.clock, hub.ids, SOURCES, embedder.model, lambda _: None), mend=True)
    run_jobs(hub)
    with hub.db.read() as connection:
        assert connection.execute(select(func.count()).select_from(vectors)).scalar_one() == 1


def test_a_check_that_a_stop_cuts_short_is_taken_up_by_the_next_start(hub: Hub) -> None:
    for number in range(30):
        remember(hub, f"note {number}")
    with hub.db.write() as connection:
        connection.execute(chunks.delete())
    hub.stopping.set()
    with pytest.raises(Unavailable, match="takes this up"):
        upkeep.check(SOURCES, hub, {})
    hub.stopping.clear()
    upkeep.check(SOURCES, hub, {})
    run_jobs(hub)
    assert len(memory.recall(call_as(hub, "alice"), "note", namespaces=["notes"], limit=50).items) == 30


def test_a_check_that_finds_nothing_lacking_looks_at_no_text(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(hub, "one")

    def walked(*_: Any, **__: Any) -> None:
        raise AssertionError("a whole index was walked")

    monkeypatch.setattr(upkeep, "walk", walked)
    upkeep.check(SOURCES, hub, {})
