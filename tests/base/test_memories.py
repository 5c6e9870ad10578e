"""The memory model: revisions are kept and bounded, parts keep their ids, what is forgotten is gone everywhere."""

from __future__ import annotations

import threading
import time

import pytest
from sqlalchemy import func, select, text

from hivelore.base.memories import service as memories
from hivelore.base.memories import store, upkeep
from hivelore.base.memories.model import Draft, NoSuchMemory
from hivelore.core.actor import Role, Space
from hivelore.rooms.memory import service as memory
from hivelore.rooms.transcripts import service as transcripts
from support.hubs import call_as, clock_of, run_jobs
from support.marked import tables_holding

MARK = "zqxmarkedword"
PARAGRAPHS = [f"Paragraph {n} tells about subject {n}." + f" word{n}" * 70 for n in range(6)]
LONG = "\n\n".join(PARAGRAPHS)


def remember(hub, content: str, who: str = "alice", **options):
    return memory.remember(call_as(hub, who), content, **{"namespace": "notes"} | options).memory


def by_id(hub, id: str, who: str = "alice"):
    with call_as(hub, who).read() as v:
        found = store.by_id(v, id)
        return found[0] if found else None


def earlier(hub, one) -> list[str]:
    with call_as(hub, "alice").read() as v:
        return [content for _, content, _ in store.earlier_texts(v, one)]


# -- revisions ---------------------------------------------------------------------------------------------------------


def test_a_change_keeps_the_earlier_text(hub):
    one = remember(hub, "API limit is 100")
    clock_of(hub).advance(days=1)
    memory.update(call_as(hub, "alice"), one.id, "API limit is now 250")
    now = by_id(hub, one.id)
    assert (now.text, now.revision) == ("API limit is now 250", 2)
    assert now.created_ms == one.created_ms
    assert now.updated_ms == one.created_ms + 86_400_000
    assert earlier(hub, now) == ["API limit is 100"]


def test_the_number_of_earlier_texts_is_bounded(store, make_hub):
    hub = make_hub(store, max_revisions=3)
    one = remember(hub, "text 0")
    for n in range(1, 8):
        memory.update(call_as(hub, "alice"), one.id, f"text {n}")
    assert earlier(hub, one) == ["text 6", "text 5", "text 4"]


def test_none_is_kept_when_the_setting_says_so(store, make_hub):
    hub = make_hub(store, max_revisions=0)
    one = remember(hub, "text 0")
    memory.update(call_as(hub, "alice"), one.id, "text 1")
    assert earlier(hub, one) == []


def test_a_change_of_what_changed_meanwhile_is_refused(hub):
    one = remember(hub, "first")
    with call_as(hub, "alice").write() as w:
        old = store.by_id(w, one.id)[0]
        memories.change(w, old, text="second")
    with pytest.raises(memories.ChangedMeanwhile), call_as(hub, "alice").write() as w:
        memories.change(w, old, text="third")
    assert by_id(hub, one.id).text == "second"


def wait_for_a_blocked_session(hub) -> None:
    """Wait until another session of this Postgres database waits for a lock."""
    blocked = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with hub.db.read() as connection:
            if connection.execute(blocked).scalar_one():
                return
    raise AssertionError("no session came to wait")


def at_the_same_moment(hub, first, second) -> list[BaseException]:
    """Run `first(w)` in a transaction, `second()` in a thread that meets its locks, then commit; errors of `second`."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            second()
        except Exception as exc:
            failures.append(exc)

    thread = threading.Thread(target=run)
    with call_as(hub, "alice").write() as w:
        first(w)
        thread.start()
        wait_for_a_blocked_session(hub)
    thread.join(30)
    return failures


def test_of_two_changes_at_the_same_moment_one_is_told_to_repeat(postgres_store, make_hub):
    hub = make_hub(postgres_store)
    one = remember(hub, "first")
    failures = at_the_same_moment(
        hub,
        lambda w: memories.change(w, store.by_id(w, one.id)[0], text="second"),
        lambda: memory.update(call_as(hub, "alice"), one.id, "third"),
    )
    assert [type(failure) for failure in failures] in ([], [memories.ChangedMeanwhile]), failures
    assert by_id(hub, one.id).text == ("second" if failures else "third")


def test_of_two_writes_with_one_key_at_the_same_moment_one_memory_comes(postgres_store, make_hub):
    hub = make_hub(postgres_store)
    space = Space("private", "alice", "notes")
    failures = at_the_same_moment(
        hub,
        lambda w: memories.add(w, Draft(space, "note", "first", key="same")),
        lambda: remember(hub, "second", key="same"),
    )
    assert failures == []
    with hub.db.read() as connection:
        assert connection.execute(select(store.memories.c.text)).scalars().all() == ["second"]


def test_of_two_sessions_saved_under_one_id_at_the_same_moment_one_is_kept(postgres_store, make_hub):
    hub = make_hub(postgres_store)
    space = Space("private", "alice", "sessions")
    failures = at_the_same_moment(
        hub,
        lambda w: transcripts._put_session(w, "today", space, "saved first", ["saved first"]),
        lambda: transcripts.save_session(call_as(hub, "alice"), "today", "saved second"),
    )
    assert failures == []
    with hub.db.read() as connection:
        assert connection.execute(select(func.count()).select_from(store.memories)).scalar_one() == 1


# -- parts -------------------------------------------------------------------------------------------------------------


def test_a_long_text_has_parts_that_join_to_it(hub):
    one = remember(hub, LONG)
    assert len(one.parts) > 3
    assert "".join(one.piece_texts()) == one.text == LONG
    assert by_id(hub, one.id) == one
    for part, content in zip(one.parts, one.piece_texts(), strict=True):
        assert memory.get(call_as(hub, "alice"), part.id).text == content
        assert by_id(hub, part.id).id == one.id


def test_an_update_of_one_part_changes_that_part_alone_and_keeps_all_ids(hub):
    one = remember(hub, LONG)
    third = one.parts[2].id
    memory.update(call_as(hub, "alice"), third, "Subject 2 was dropped, see ticket HL-2041.")
    now = by_id(hub, one.id)
    assert now.piece_ids() == one.piece_ids()
    expected = list(one.piece_texts())
    expected[2] = "Subject 2 was dropped, see ticket HL-2041."
    assert [content.strip() for content in now.piece_texts()] == [content.strip() for content in expected]
    recalled = memory.recall(call_as(hub, "alice"), "HL-2041", namespaces=["notes"], limit=5)
    assert [each.item.id for each in recalled.items] == [third]


def test_forgetting_one_part_leaves_the_others_with_their_ids(hub):
    one = remember(hub, LONG)
    gone = one.parts[1].id
    assert memory.forget(call_as(hub, "alice"), gone) == 1
    now = by_id(hub, one.id)
    assert now.piece_ids() == tuple(id for id in one.piece_ids() if id != gone)
    assert now.text == "".join(t for p, t in zip(one.parts, one.piece_texts(), strict=True) if p.id != gone)
    with pytest.raises(NoSuchMemory):
        memory.get(call_as(hub, "alice"), gone)
    for id in now.piece_ids():
        assert memory.forget(call_as(hub, "alice"), id) == 1
    assert by_id(hub, one.id) is None


def test_a_short_text_is_one_piece_under_its_own_id(hub):
    one = remember(hub, "short")
    assert one.parts == ()
    assert one.piece_ids() == (one.id,)


# -- forgetting --------------------------------------------------------------------------------------------------------


def tombstones(hub) -> list[tuple[str, str, str]]:
    with hub.db.read() as connection:
        rows = connection.execute(
            select(store.tombstones.c.memory, store.tombstones.c.kind, store.tombstones.c.removed_by)
        )
        return [tuple(row) for row in rows]


def test_what_is_forgotten_is_in_no_table_any_more(hub):
    secret = remember(hub, f"{MARK} one", title=f"{MARK} title", tags=[f"{MARK}-tag"], source=f"{MARK}-source")
    memory.update(call_as(hub, "alice"), secret.id, f"{LONG} {MARK} two")
    memory.update(call_as(hub, "alice"), secret.id, f"{LONG} {MARK} three")
    run_jobs(hub)
    assert {"memory", "memory_revision", "search_chunk"} <= tables_holding(hub, MARK)
    memory.forget(call_as(hub, "alice"), secret.id)
    run_jobs(hub)
    assert tables_holding(hub, MARK) <= {"search_text_data"}  # its words: see the next test
    assert tombstones(hub) == [(secret.id, "note", "alice")]


def test_words_of_what_is_forgotten_leave_the_text_index_too(sqlite_store, make_hub):
    """FTS5 only notes what was deleted and keeps the words in its segments until they are merged."""
    hub = make_hub(sqlite_store)
    remember(hub, "stays in the index")
    secret = remember(hub, f"the password of the {MARK} account")
    remember(hub, "stays in the index too")
    memory.forget(call_as(hub, "alice"), secret.id)
    clock_of(hub).advance(minutes=10)
    run_jobs(hub)
    assert tables_holding(hub, MARK) == set()
    recalled = memory.recall(call_as(hub, "alice"), "index", namespaces=["notes"], limit=5)
    assert len(recalled.items) == 2


def test_a_part_that_is_forgotten_is_not_kept_among_earlier_texts(hub):
    one = remember(hub, LONG)
    memory.update(call_as(hub, "alice"), one.parts[1].id, f"{MARK} was told in confidence.")
    memory.update(call_as(hub, "alice"), one.parts[3].id, "Another part changed later.")
    memory.forget(call_as(hub, "alice"), one.parts[1].id)
    run_jobs(hub)
    assert tables_holding(hub, MARK) <= {"search_text_data"}


def test_a_session_that_is_forgotten_is_in_no_table_any_more(hub):
    call = call_as(hub, "alice")
    transcripts.save_session(call, "today", f"{MARK} first version. " + LONG)
    transcripts.save_session(call, "today", f"{MARK} second version. " + LONG)
    run_jobs(hub)
    assert transcripts.forget_session(call, "today")
    run_jobs(hub)
    assert tables_holding(hub, MARK) <= {"search_text_data"}


def test_forgetting_twice_or_what_never_was_removes_nothing(hub):
    one = remember(hub, "short")
    call = call_as(hub, "alice")
    assert memory.forget(call, one.id) == 1
    assert memory.forget(call, one.id) == 0
    assert memory.forget(call, "no such id") == 0


def test_links_go_with_either_end(hub):
    one, two, three = (remember(hub, f"memory {n}") for n in range(3))
    with call_as(hub, "alice").write() as w:
        assert store.link(w, one.space, two.id, "supersedes", one.id)
        assert not store.link(w, one.space, two.id, "supersedes", one.id)
        assert store.link(w, one.space, three.id, "about", two.id)
    memory.forget(call_as(hub, "alice"), one.id)
    with hub.db.read() as connection:
        assert connection.execute(select(store.links.c.from_memory)).scalars().all() == [three.id]
    memory.forget(call_as(hub, "alice"), three.id)
    with hub.db.read() as connection:
        assert connection.execute(select(func.count()).select_from(store.links)).scalar_one() == 0


def test_only_the_owner_or_an_admin_changes_and_forgets(hub):
    one = remember(hub, "for all to read", namespace="shared")
    bob, admin = call_as(hub, "bob"), call_as(hub, "root", Role.ADMIN)
    assert memory.get(bob, one.id).text == "for all to read"
    with pytest.raises(NoSuchMemory):
        memory.update(bob, one.id, "defaced")
    assert memory.forget(bob, one.id) == 0
    assert by_id(hub, one.id).text == "for all to read"
    memory.update(admin, one.id, "moderated")
    assert by_id(hub, one.id).text == "moderated"
    assert memory.forget(admin, one.id) == 1


# -- lists, counts, repair ---------------------------------------------------------------------------------------------


def test_an_id_prefix_finds_the_one_memory_that_it_fits(hub):
    one = remember(hub, "one")
    with call_as(hub, "alice").read() as v:
        assert store.by_id_prefix(v, one.id[:20]).id == one.id
        assert store.by_id_prefix(v, "g" * 20) is None
        assert store.by_id_prefix(v, "") is not None
    remember(hub, "two")
    with call_as(hub, "alice").read() as v:
        assert store.by_id_prefix(v, "") is None  # more than one
    with call_as(hub, "bob").read() as v:
        assert store.by_id_prefix(v, one.id[:20]) is None


def test_pages_meet_every_memory_of_everybody_once(hub):
    ids = {remember(hub, f"memory {n}", who=who).id for n in range(7) for who in ("alice", "bob")}
    seen: list[str] = []
    after = ("", -1, "")
    while after is not None:
        with hub.db.read() as connection:
            page, after = upkeep.page(connection, after, 3)
        seen += [entry.ref for entry in page]
    assert sorted(seen) == sorted(ids)


def test_counts_by_kind_are_those_of_the_store(hub):
    remember(hub, "one")
    remember(hub, LONG)
    transcripts.save_session(call_as(hub, "alice"), "today", "text")
    with hub.db.read() as connection:
        assert store.statistics(connection) == {"note": 2, "session": 1}
