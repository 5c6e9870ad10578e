"""The SQLite file is the whole store, and every memory in it is searched whatever its age."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from hivelore.base.memories import service as memories
from hivelore.base.memories.model import Draft
from hivelore.core.actor import Space
from hivelore.rooms.memory import service as memory
from hivelore.work import Hub
from support.hubs import Store, call_as, clock_of, run_jobs

NOTE = "The osprey build runs at noon."


def _recalled(hub: Hub) -> tuple[list[str], tuple[str, ...]]:
    found = memory.recall(call_as(hub, "alice"), "when does the osprey build run?", limit=3)
    return [each.item.text for each in found.items], found.findings.engines


@pytest.fixture
def copied_to(tmp_path: Path, make_hub: Callable[..., Hub]) -> Callable[[Path], Hub]:
    """A hub on a copy of a store, in a folder where nothing else is."""

    def open_copy(copy: Path) -> Hub:
        return make_hub(Store("sqlite", f"sqlite:///{copy}", copy))

    (tmp_path / "elsewhere").mkdir()
    return open_copy


@pytest.mark.promise("M-001", "M-101")
def test_one_file_carried_elsewhere_is_the_whole_store_with_vectors(
    sqlite_store: Store, make_hub: Callable[..., Hub], copied_to: Callable[[Path], Hub], tmp_path: Path
):
    hub = make_hub(sqlite_store)
    memory.remember(call_as(hub, "alice"), NOTE)
    run_jobs(hub)
    hub.db.close()
    assert sqlite_store.path is not None
    copy = Path(shutil.copy(sqlite_store.path, tmp_path / "elsewhere" / "carried.db"))
    assert _recalled(copied_to(copy)) == ([NOTE], ("text", "vectors"))


@pytest.mark.promise("M-102")
def test_a_copy_made_while_the_store_is_written_is_consistent(
    sqlite_store: Store, make_hub: Callable[..., Hub], copied_to: Callable[[Path], Hub], tmp_path: Path
):
    hub = make_hub(sqlite_store)
    memory.remember(call_as(hub, "alice"), NOTE)
    run_jobs(hub)
    copy = tmp_path / "elsewhere" / "backup.db"
    source, target = sqlite3.connect(sqlite_store.path or ""), sqlite3.connect(copy)

    writes = iter(range(3))  # a write makes SQLite begin the copy anew, so not for ever

    def write_between(*_: int) -> None:
        if next(writes, None) is not None:
            memory.remember(call_as(hub, "alice"), "written while the copy was made")

    source.backup(target, pages=16, progress=write_between)
    assert target.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    source.close()
    target.close()
    texts, engines = _recalled(copied_to(copy))
    assert texts[0] == NOTE
    assert engines == ("text", "vectors")


@pytest.mark.promise("M-110")
def test_a_memory_older_than_two_thousand_others_is_found_by_meaning_and_by_word(hub: Hub):
    space = Space("shared", "", "shared")
    with call_as(hub, "alice").write() as w:
        memories.add(w, Draft(space=space, kind="note", text=NOTE))
    run_jobs(hub)
    clock_of(hub).advance(days=300)
    with call_as(hub, "alice").write() as w:
        for n in range(2_100):
            memories.add(w, Draft(space=space, kind="note", text=f"newer note {n}"))
    run_jobs(hub)
    found = memory.recall(call_as(hub, "alice"), "when does the osprey build run?", limit=1)
    assert [each.item.text for each in found.items] == [NOTE]
    assert found.items[0].hit.text_rank == 1
    assert found.items[0].hit.vector_rank == 1
