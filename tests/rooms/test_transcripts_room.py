"""Sessions come back to the letter; imported turns are stored once, grow, and stay removed; on both stores."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from hivelore.base.memories import store as memory_store
from hivelore.base.memories.model import PartOfWhole
from hivelore.core.actor import space_of
from hivelore.core.errors import Invalid, TooLarge
from hivelore.core.page import Offset
from hivelore.rooms.memory import service as memory
from hivelore.rooms.transcripts import service as transcripts
from hivelore.rooms.transcripts import store as transcripts_store
from hivelore.rooms.transcripts.service import TurnDraft
from support.hubs import call_as, clock_of, run_jobs

PARAGRAPHS = [f"Paragraph {n} tells about subject {n}." + f" word{n}" * 70 for n in range(8)]
LONG = "\n\n".join(PARAGRAPHS)


@pytest.fixture
def alice(hub):
    return call_as(hub, "alice")


def load(call, session_id: str, page_size: int = 200_000) -> str:
    """The whole session, page by page."""
    pages, number = [], 0
    while True:
        page = transcripts.load_session(call, session_id, number, page_size)
        assert page.found
        pages.append(page.content)
        if not page.has_more:
            return "".join(pages)
        number += 1


def passages(call, namespace: str = "sessions") -> dict[str, str]:
    """Ids of stored passages and their texts."""
    return {item.id: item.text for item in memory.list_items(call, namespace, Offset(0), 200).items}


# -- sessions ----------------------------------------------------------------------------------------------------------

VERBATIM = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=600)
MIXED = st.text("a 。\n\r\t é\u0301日本한😀👩‍👩‍👧\u200d\u00ad<>", min_size=1, max_size=400)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(content=VERBATIM | MIXED, page_size=st.integers(1, 90))
@example(content="  leading and trailing \n\n", page_size=7)
@example(content="👩‍👩‍👧‍👦" * 200, page_size=3)
@example(content=LONG, page_size=1000)
@example(content="<hivelore_memory>kept in a session</hivelore_memory>", page_size=10)
def test_a_session_comes_back_to_the_letter(alice, content, page_size):
    saved = transcripts.save_session(alice, "today", content)
    assert saved.chars == len(content)
    assert load(alice, "today", page_size) == content
    joined = memory.list_items(alice, "sessions", Offset(0), 200).items
    assert "".join(item.text for item in joined) == content or len(joined) == 200


def test_what_cannot_be_stored_is_cleaned_and_told(alice):
    saved = transcripts.save_session(alice, "to\0day", "a\0b\ud83d")
    assert (saved.session_id, saved.chars) == ("today", 3)
    assert len(saved.notes) == 2
    assert load(alice, "today") == "ab\ufffd"


def test_the_answer_to_saving_is_what_is_stored(alice):
    saved = transcripts.save_session(alice, "  today ", LONG)
    assert saved.session_id == "today"
    assert saved.namespace == "sessions"
    assert saved.chunks == len(passages(alice)) > 3
    assert saved.chars == len(LONG)
    assert not saved.replaced
    assert transcripts.save_session(alice, "today", "shorter").replaced


def test_pages_say_whether_there_is_more(alice):
    transcripts.save_session(alice, "today", "0123456789")
    first = transcripts.load_session(alice, "today", 0, 4)
    assert (first.content, first.total_chars, first.has_more) == ("0123", 10, True)
    last = transcripts.load_session(alice, "today", 2, 4)
    assert (last.content, last.has_more) == ("89", False)
    for page in (3, 10**6, 10**18):
        beyond = transcripts.load_session(alice, "today", page, 4)
        assert (beyond.content, beyond.total_chars, beyond.found, beyond.has_more) == ("", 10, True, False)
    assert transcripts.load_session(alice, "today", -3, 0).content == "0"


@pytest.mark.parametrize("id", ["nothing", "", "  ", "x" * 5_000, "a\0b", "\ud800", "%"])
def test_an_unknown_session_is_an_empty_page_that_says_so(alice, id):
    transcripts.save_session(alice, "today", "text")
    page = transcripts.load_session(alice, id)
    assert (page.content, page.total_chars, page.found, page.has_more) == ("", 0, False, False)


def test_a_session_is_found_by_its_words(alice):
    transcripts.save_session(alice, "today", LONG)
    run_jobs(alice.hub)
    best = memory.recall(alice, "subject 5 word5", namespaces=["sessions"], limit=3).items[0].item
    assert "word5" in best.text
    assert best.origin["session_id"] == "today"


def test_saving_again_replaces_and_keeps_the_ids_of_passages_that_did_not_change(alice):
    transcripts.save_session(alice, "today", LONG)
    before = passages(alice)
    longer = LONG + "\n\nAnd then we went on with something else entirely."
    transcripts.save_session(alice, "today", longer)
    after = passages(alice)
    assert load(alice, "today") == longer
    kept = {id for id, text in before.items() if after.get(id) == text}
    assert len(kept) >= len(before) - 1
    transcripts.save_session(alice, "today", "start again")
    assert load(alice, "today") == "start again"
    assert list(passages(alice).values()) == ["start again"]
    run_jobs(alice.hub)
    recalled = memory.recall(alice, "word5", namespaces=["sessions"], limit=3)
    assert all(each.hit.text_rank is None for each in recalled.items)


def test_a_session_that_was_rewritten_keeps_its_earlier_text_and_one_that_went_on_does_not(alice):
    def earlier() -> list[str]:
        with alice.read() as v:
            one = transcripts._stored_session(v, "today")
            return [text for _, text, _ in memory_store.earlier_texts(v, one)]

    transcripts.save_session(alice, "today", "one")
    transcripts.save_session(alice, "today", "one, two")
    assert earlier() == []
    transcripts.save_session(alice, "today", "rewritten")
    assert earlier() == ["one, two"]


def test_a_session_moves_when_saved_in_another_namespace(alice):
    transcripts.save_session(alice, "today", LONG)
    moved = transcripts.save_session(alice, "today", "moved text", namespace="archive")
    assert (moved.namespace, moved.replaced) == ("archive", True)
    assert load(alice, "today") == "moved text"
    assert passages(alice, "sessions") == {}
    assert list(passages(alice, "archive").values()) == ["moved text"]
    assert transcripts.list_sessions(alice, 0, 10)[1] == 1


def test_everybody_has_their_own_sessions_even_in_a_shared_namespace(hub, alice):
    bob = call_as(hub, "bob")
    transcripts.save_session(alice, "today", "of alice", namespace="shared")
    transcripts.save_session(bob, "today", "of bob", namespace="shared")
    assert (load(alice, "today"), load(bob, "today")) == ("of alice", "of bob")
    assert transcripts.forget_session(bob, "today")
    assert load(alice, "today") == "of alice"


def test_sessions_are_listed_last_saved_first(alice):
    for name in ("one", "two", "three"):
        transcripts.save_session(alice, name, f"text of {name}")
        clock_of(alice.hub).advance(minutes=1)
    transcripts.save_session(alice, "one", "text of one, again")
    listed, total = transcripts.list_sessions(alice, 0, 2)
    assert ([each.session_id for each in listed], total) == (["one", "three"], 3)
    assert (listed[0].namespace, listed[0].chars) == ("sessions", len("text of one, again"))
    assert listed[0].updated_ms > listed[0].created_ms
    assert [each.session_id for each in transcripts.list_sessions(alice, 2, 2)[0]] == ["two"]


def test_a_forgotten_session_is_gone_and_may_be_saved_anew(alice):
    transcripts.save_session(alice, "today", LONG)
    assert transcripts.forget_session(alice, "today")
    assert not transcripts.forget_session(alice, "today")
    assert not transcripts.load_session(alice, "today").found
    assert passages(alice) == {}
    assert not transcripts.save_session(alice, "today", "anew").replaced
    assert load(alice, "today") == "anew"


@pytest.mark.parametrize(
    ("id", "content", "message"),
    [
        ("", "text", "session_id is empty"),
        (" \0 ", "text", "session_id is empty"),
        ("x" * 257, "text", "session_id has 257 characters; the limit is 256"),
        ("today", "", "content is empty"),
        ("today", "\0", "content is empty"),
    ],
)
def test_what_cannot_be_a_session_is_refused_with_its_field(alice, id, content, message):
    with pytest.raises(Invalid, match=message):
        transcripts.save_session(alice, id, content)


def test_limits_and_places_of_sessions(store, make_hub):
    hub = make_hub(store, max_session_chars=100, max_page_chars=10)
    call = call_as(hub, "alice")
    with pytest.raises(TooLarge, match=r"101 characters; the limit of a session is 100.*HIVELORE_MAX_SESSION_CHARS"):
        transcripts.save_session(call, "today", "x" * 101)
    with pytest.raises(Invalid, match="name one namespace"):
        transcripts.save_session(call, "today", "text", namespace="*")
    transcripts.save_session(call, "today", "x" * 100)
    assert len(transcripts.load_session(call, "today", 0, 10_000).content) == 10


# -- imported turns ----------------------------------------------------------------------------------------------------

SHARED = frozenset({"shared"})
TURN = TurnDraft(
    source="codex",
    turn_id="turn_1",
    conversation="conversation-1",
    first_message="message-1",
    title="Fix the failing test",
    text="User:\nFix the failing test\n\nAssistant:\nDone 日本語 😀.",
    complete=True,
    started_ms=1_000,
    ended_ms=2_000,
    workspace="/home/alice/project",
    tags=("codex",),
    details={"tools": [{"name": "shell", "input": "pytest", "output": "日本語\n😀"}]},
)


def record(call, *drafts: TurnDraft) -> list[str]:
    with call.write() as w:
        return transcripts.record_turns(w, space_of("transcripts", call.caller.id, SHARED), drafts)


def turns(call) -> list[str]:
    return [item.text for item in memory.list_items(call, "transcripts", Offset(0), 200).items]


def test_a_turn_is_stored_whole_and_found_by_what_is_worth_finding(alice):
    text = "## user\n\nFix the failing test\n\n## tool\n\nTool: Bash\n\nInput:\npytest\n\nOutput:\nzqxnoise"
    assert record(alice, replace(TURN, text=text)) == ["new"]
    run_jobs(alice.hub)
    item = memory.recall(alice, "failing test", namespaces=["transcripts"], limit=3).items[0].item
    assert item.text.endswith("zqxnoise")
    assert (item.kind, item.layer, item.source, item.event_ms, item.tags) == (
        "turn",
        "trace",
        "codex",
        1_000,
        ("codex",),
    )
    recalled = memory.recall(alice, "zqxnoise", namespaces=["transcripts"], limit=3)
    assert all(each.hit.text_rank is None for each in recalled.items)


def test_what_is_told_about_a_turn_is_kept(alice):
    record(alice, TURN)
    with alice.read() as v:
        row = transcripts_store.turn_by_first_message(v, "alice", "codex", "message-1")
        again = transcripts_store.turn_of(v, row.space, row.memory)
    assert again.details == TURN.details
    assert (again.workspace, again.complete, again.started_ms, again.ended_ms) == (
        "/home/alice/project",
        True,
        1_000,
        2_000,
    )


def test_recording_again_changes_nothing(alice):
    many = [replace(TURN, turn_id=f"turn_{n}", first_message=f"message-{n}", text=f"text {n}") for n in range(5)]
    assert record(alice, *many) == ["new"] * 5
    before = memory.list_items(alice, "transcripts", Offset(0), 50).items
    clock_of(alice.hub).advance(days=1)
    assert record(alice, *many) == ["known"] * 5
    assert memory.list_items(alice, "transcripts", Offset(0), 50).items == before


def test_one_batch_may_hold_a_turn_twice(alice):
    assert record(alice, TURN, TURN) == ["new", "known"]
    assert len(turns(alice)) == 1


def test_a_resumed_conversation_that_repeats_earlier_turns_adds_only_the_new_ones(alice):
    record(alice, TURN)
    copy = replace(TURN, conversation="conversation-2", turn_id="turn_1_copied")
    more = replace(TURN, conversation="conversation-2", turn_id="turn_2", first_message="message-2", text="new request")
    assert record(alice, copy, more) == ["known", "new"]
    assert sorted(turns(alice)) == sorted([TURN.text, "new request"])


def test_a_turn_that_has_grown_replaces_what_was_kept(alice):
    record(alice, replace(TURN, text="User:\nFix it", complete=False))
    [(id, _)] = passages(alice, "transcripts").items()
    grown = replace(TURN, text="User:\nFix it\n\nAssistant:\nDone.", ended_ms=9_000)
    assert record(alice, grown) == ["grown"]
    assert passages(alice, "transcripts") == {id: grown.text}
    with alice.read() as v:
        row = transcripts_store.turn_by_first_message(v, "alice", "codex", "message-1")
    assert (row.complete, row.ended_ms) == (True, 9_000)
    run_jobs(alice.hub)
    assert memory.recall(alice, "done", namespaces=["transcripts"], limit=3).items[0].hit.text_rank == 1


def test_an_older_and_shorter_copy_does_not_shorten_what_is_kept(alice):
    record(alice, TURN)
    assert record(alice, replace(TURN, text="User:\nFix")) == ["known"]
    assert turns(alice) == [TURN.text]


def test_a_turn_that_its_owner_removed_stays_removed(alice):
    record(alice, TURN)
    [id] = passages(alice, "transcripts")
    assert memory.forget(alice, id) == 1
    assert record(alice, TURN) == ["removed"]
    assert record(alice, replace(TURN, text=TURN.text + " and more")) == ["removed"]
    assert turns(alice) == []


def test_a_removed_turn_does_not_come_back_with_a_resumed_conversation(alice):
    record(alice, TURN)
    [id] = passages(alice, "transcripts")
    memory.forget(alice, id)
    copy = replace(TURN, conversation="conversation-2", turn_id="turn_1_copied")
    assert record(alice, copy) == ["removed"]
    assert turns(alice) == []


def test_the_same_message_of_another_source_or_person_is_another_turn(hub, alice):
    record(alice, TURN)
    assert record(alice, replace(TURN, source="claude-code", turn_id="turn_c")) == ["new"]
    assert record(call_as(hub, "bob"), TURN) == ["new"]


def test_an_imported_turn_cannot_be_edited(alice):
    record(alice, TURN)
    [id] = passages(alice, "transcripts")
    with pytest.raises(PartOfWhole, match="kept verbatim"):
        memory.update(alice, id, "rewritten history")


def test_a_removed_turn_leaves_no_row_of_its_own(alice):
    record(alice, TURN)
    [id] = passages(alice, "transcripts")
    memory.forget(alice, id)
    with alice.read() as v:
        assert v.connection.execute(select(transcripts_store.turns.c.memory)).all() == []


def test_a_place_in_a_file_is_remembered_with_what_was_read_from_it(alice):
    with alice.write() as w:
        transcripts.note_read_position(w, "codex", "/tmp/日本.jsonl", {"offset": 7, "hash": "é"})
    with alice.write() as w:
        assert transcripts.read_position(w, "codex", "/tmp/日本.jsonl") == {"offset": 7, "hash": "é"}
        transcripts.note_read_position(w, "codex", "/tmp/日本.jsonl", {"offset": 9})
        assert transcripts.read_position(w, "codex", "/tmp/日本.jsonl") == {"offset": 9}
        assert transcripts.read_position(w, "cursor", "/tmp/日本.jsonl") is None
    with call_as(alice.hub, "bob").read() as v:
        assert transcripts.read_position(v, "codex", "/tmp/日本.jsonl") is None
