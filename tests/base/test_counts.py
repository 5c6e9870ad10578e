"""How many items a space holds is counted as they are written, whichever way they are written."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import text

from hivelore.base.memories import count_store
from hivelore.base.memories import service as memories
from hivelore.base.memories.model import Draft
from hivelore.core.actor import Scope, space_of
from hivelore.rooms.memory import service as memory
from support.hubs import call_as, clock_of

SHARED = frozenset({"shared"})
LONG = "\n\n".join(f"Paragraph {n} tells about subject {n}. " + "word " * 70 for n in range(12))


def counted(hub, *names: str, who: str = "alice") -> int:
    scope = Scope(tuple(space_of(name, who, SHARED) for name in names) or None)
    with call_as(hub, who).read() as v:
        return count_store.count(v, scope)


def remember(hub, content: str, name: str = "notes", who: str = "alice") -> str:
    return memory.remember(call_as(hub, who), content, namespace=name).memory.id


def test_adding_changing_and_removing_keep_the_count(hub):
    first, second = remember(hub, "one"), remember(hub, LONG)
    parts = counted(hub, "notes") - 1
    assert parts > 5
    memory.update(call_as(hub, "alice"), second, "short now")
    assert counted(hub, "notes") == 2
    third = remember(hub, LONG)
    assert counted(hub, "notes") == parts + 2
    memory.forget(call_as(hub, "alice"), third)
    memory.forget(call_as(hub, "alice"), first)
    assert counted(hub, "notes") == 1
    memory.forget(call_as(hub, "alice"), second)
    assert counted(hub, "notes") == 0


def test_each_space_has_its_own_count_and_everything_is_what_the_caller_may_read(hub):
    for name, who in (("notes", "alice"), ("log", "alice"), ("notes", "bob"), ("shared", "bob")):
        remember(hub, f"in {name} of {who}", name, who)
    assert counted(hub, "notes") == 1
    assert counted(hub, "notes", "log") == 2
    assert counted(hub) == 3
    assert counted(hub, who="bob") == 2


def test_what_expires_is_counted_until_it_does(hub):
    remember(hub, "lasting")
    with call_as(hub, "alice").write() as w:
        for after_ms in (1_000, 2_000):
            memories.add(w, Draft(space_of("notes", "alice", SHARED), "note", "brief", expires_ms=w.now_ms + after_ms))
    assert counted(hub, "notes") == 3
    clock_of(hub).advance(ms=1_500)
    assert counted(hub, "notes") == 2
    clock_of(hub).advance(ms=1_500)
    assert counted(hub, "notes") == 1


def test_a_write_that_fails_counts_nothing(hub):
    remember(hub, "stays")
    with pytest.raises(RuntimeError), call_as(hub, "alice").write() as w:
        memories.add(w, Draft(space_of("notes", "alice", SHARED), "note", "never stored"))
        raise RuntimeError
    assert counted(hub, "notes") == 1


def test_a_memory_that_was_there_already_is_not_counted_again(hub):
    for _ in range(3):
        memory.remember(call_as(hub, "alice"), "same", namespace="notes", key="same")
    assert counted(hub, "notes") == 1


def test_writers_at_once_lose_no_count(hub):
    failures = []

    def write() -> None:
        try:
            for n in range(10):
                remember(hub, f"note {n}")
        except Exception as exc:
            failures.append(exc)

    threads = [threading.Thread(target=write) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert failures == []
    assert counted(hub, "notes") == 60


def test_counts_that_were_lost_or_spoilt_are_made_anew_from_the_memories(hub):
    for name in ("notes", "log"):
        remember(hub, LONG, name)
    right = counted(hub, "notes")
    for damage in ("DELETE FROM memory_count", "UPDATE memory_count SET total = total + 7"):
        with hub.db.write() as connection:
            connection.execute(text(damage))
        assert counted(hub, "notes") != right
        with hub.db.write() as connection:
            assert count_store.recount(connection) == 2
        assert counted(hub, "notes") == counted(hub, "log") == right
    with hub.db.write() as connection:
        assert count_store.recount(connection) == 0
