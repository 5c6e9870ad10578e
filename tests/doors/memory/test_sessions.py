"""`save_session`, `load_session`, `list_sessions` and `forget_session`."""

from __future__ import annotations

import pytest
from doors_kit import Person, dump, failing_at, ids_of, mcp_call
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.errors import HiveloreError
from hivelore.core.text import split
from support.hubs import clock_of, run_jobs, with_settings

TRANSCRIPT = "".join(
    f"user: how do I rotate key {n}?\nassistant: run `rotate --key {n}`; \t then 待って下さい 👍\r\n\n"
    for n in range(40)
)


def _load(who: Person, session_id: str, page_size: int = 8000) -> str:
    text, page = "", 0
    while True:
        answer = who("load_session", session_id=session_id, page=page, page_size=page_size)
        text += answer["content"]
        if not answer["has_more"]:
            return text
        page += 1


@pytest.mark.promise("P-004", "P-067")
def test_a_session_comes_back_exactly_whatever_the_page_size(alice: Person):
    saved = alice("save_session", session_id=" release ", content=TRANSCRIPT)
    assert saved == {
        "session_id": "release",
        "chunks": saved["chunks"],
        "chars": len(TRANSCRIPT),
        "namespace": "sessions",
        "replaced": False,
    }
    assert saved["chunks"] > 5
    for page_size in (100, 997, 8000):
        assert _load(alice, "release", page_size) == TRANSCRIPT


@pytest.mark.promise("P-068")
def test_the_first_page_says_what_the_contract_says(alice: Person):
    alice("save_session", session_id="s", content="abcdefghij")
    assert alice("load_session", session_id="s", page_size=4) == {
        "session_id": "s",
        "content": "abcd",
        "page": 0,
        "page_size": 4,
        "total_chars": 10,
        "has_more": True,
        "found": True,
    }
    last = alice("load_session", session_id="s", page=2, page_size=4)
    assert (last["content"], last["has_more"]) == ("ij", False)
    beyond = alice("load_session", session_id="s", page=3, page_size=4)
    assert (beyond["content"], beyond["has_more"], beyond["total_chars"]) == ("", False, 10)


def test_pages_below_zero_and_sizes_below_one_are_lifted_and_echoed(alice: Person):
    alice("save_session", session_id="s", content="abc")
    answer = alice("load_session", session_id="s", page=-3, page_size=0)
    assert (answer["page"], answer["page_size"], answer["content"]) == (0, 1, "a")


@pytest.mark.parametrize("page", [10**9, 10**18, 10**30])
def test_a_page_far_beyond_the_end_is_empty(alice: Person, page: int):
    alice("save_session", session_id="s", content="abc")
    answer = alice("load_session", session_id="s", page=page)
    assert (answer["content"], answer["has_more"], answer["found"]) == ("", False, True)


def test_the_page_size_has_a_most(alice: Person):
    who = alice.at(with_settings(alice.hub, max_page_chars=10))
    who("save_session", session_id="s", content="x" * 25)
    answer = who("load_session", session_id="s", page_size=10**9)
    assert (answer["page_size"], len(answer["content"]), answer["has_more"]) == (10, 10, True)


def test_an_unknown_session_is_empty_and_says_that_it_was_not_found(alice: Person):
    assert alice("load_session", session_id="never") == {
        "session_id": "never",
        "content": "",
        "page": 0,
        "page_size": 8000,
        "total_chars": 0,
        "has_more": False,
        "found": False,
    }


def test_an_id_means_the_same_session_with_blanks_around_it_in_every_tool(alice: Person):
    alice("save_session", session_id="  s\n", content="abc")
    assert alice("load_session", session_id="\ts ")["content"] == "abc"
    assert alice("save_session", session_id="s", content="abcd")["replaced"] is True
    assert alice("forget_session", session_id=" s ")["deleted"] is True


def test_blank_text_is_a_legal_session_and_an_empty_one_is_not(alice: Person):
    assert alice("save_session", session_id="s", content=" \n ")["chars"] == 3
    assert _load(alice, "s") == " \n "
    assert "content is empty" in alice.refused("save_session", session_id="s", content="")
    assert "content is empty" in alice.refused("save_session", session_id="s", content="\0\0")
    for id in ("", "  ", "\0"):
        assert "session_id is empty" in alice.refused("save_session", session_id=id, content="x")
        assert "session_id is empty" in alice.refused("forget_session", session_id=id)


def test_saving_again_replaces(alice: Person):
    alice("save_session", session_id="s", content=TRANSCRIPT)
    clock_of(alice.hub).advance(minutes=1)
    again = alice("save_session", session_id="s", content="short")
    assert again["replaced"] is True
    assert _load(alice, "s") == "short"
    assert alice("list_memories", namespace="sessions")["total"] == 1
    run_jobs(alice.hub)
    assert not [i for i in alice("recall", query="rotate", namespace="sessions")["items"] if "rotate" in i["content"]]


def test_saving_under_another_namespace_moves_the_session(alice: Person):
    alice("save_session", session_id="s", content="abc")
    assert alice("save_session", session_id="s", content="abc", namespace="work")["namespace"] == "work"
    assert alice("list_memories", namespace="sessions")["total"] == 0
    assert alice("list_memories", namespace="work")["total"] == 1
    assert [s["namespace"] for s in alice("list_sessions")["sessions"]] == ["work"]


def test_a_session_that_grew_keeps_the_ids_of_its_passages(alice: Person):
    alice("save_session", session_id="s", content=TRANSCRIPT)
    first = {i["seq"]: i["id"] for i in alice("list_memories", namespace="sessions", limit=200)["items"]}
    alice("save_session", session_id="s", content=f"{TRANSCRIPT}user: and then?\n")
    second = {i["seq"]: i["id"] for i in alice("list_memories", namespace="sessions", limit=200)["items"]}
    assert [second[seq] for seq in range(len(first) - 1)] == [first[seq] for seq in range(len(first) - 1)]


def test_a_failed_save_leaves_the_old_session_untouched(alice: Person):
    alice("save_session", session_id="s", content=TRANSCRIPT)
    before = dump(alice.hub)
    broken = 0
    for place in range(1, 200):
        with failing_at(alice.hub, place):
            try:
                alice("save_session", session_id="s", content=TRANSCRIPT.upper())
            except HiveloreError:
                broken += 1
                assert dump(alice.hub) == before
            else:
                break
    assert broken > 10
    assert _load(alice, "s") == TRANSCRIPT.upper()


@pytest.mark.promise("P-005")
def test_passages_are_recalled_with_session_and_place(alice: Person):
    alice("save_session", session_id="s", content=TRANSCRIPT)
    run_jobs(alice.hub)
    found = alice("recall", query="rotate key 23", namespace="sessions", limit=3)["items"]
    assert "key 23" in found[0]["content"]
    assert found[0]["kind"] == "session"
    assert found[0]["session_id"] == "s"
    pieces = [TRANSCRIPT[start:end] for start, end in split(TRANSCRIPT, alice.hub.settings.chunk_tokens)]
    assert found[0]["content"] == pieces[found[0]["seq"]]
    assert alice("get_memory", id=found[0]["id"])["session_id"] == "s"


def test_a_passage_is_not_changed_or_removed_alone(alice: Person):
    alice("save_session", session_id="s", content=TRANSCRIPT)
    alice("save_session", session_id="one piece", content="short")
    passages = ids_of(alice("list_memories", namespace="sessions", limit=200))
    before = dump(alice.hub)
    for id in passages:
        message = alice.refused("update", id=id, content="x")
        assert "save_session" in message
        assert "forget_session" in alice.refused("forget", id=id)
    assert dump(alice.hub) == before


def test_sessions_are_private_even_in_a_shared_namespace(alice: Person, bob: Person):
    alice("save_session", session_id="s", content="alice was here", namespace="shared")
    assert bob("load_session", session_id="s")["found"] is False
    assert bob("list_sessions")["total"] == 0
    assert bob("forget_session", session_id="s") == {"session_id": "s", "deleted": False}
    assert [i["content"] for i in bob("list_memories")["items"]] == ["alice was here"]
    assert bob("save_session", session_id="s", content="bob too")["replaced"] is False
    assert _load(alice, "s") == "alice was here"


def test_listing_sessions_last_saved_first_page_by_page(alice: Person):
    for n in range(5):
        clock_of(alice.hub).advance(seconds=1)
        alice("save_session", session_id=f"s{n}", content="x" * (n + 1))
    first = alice("list_sessions", limit=2)
    assert [s["session_id"] for s in first["sessions"]] == ["s4", "s3"]
    assert first["sessions"][0] == {
        "session_id": "s4",
        "namespace": "sessions",
        "chars": 5,
        "chunks": 1,
        "created_at": "2026-01-01T00:00:05.000+00:00",
        "updated_at": "2026-01-01T00:00:05.000+00:00",
    }
    assert (first["total"], first["has_more"]) == (5, True)
    second = alice("list_sessions", limit=2, cursor=first["next_cursor"])
    third = alice("list_sessions", limit=2, cursor=second["next_cursor"])
    assert [s["session_id"] for s in second["sessions"] + third["sessions"]] == ["s2", "s1", "s0"]
    assert (third["has_more"], third["next_cursor"]) == (False, None)


def test_a_forgotten_session_is_gone_from_everywhere(alice: Person):
    alice("save_session", session_id="s", content=TRANSCRIPT)
    run_jobs(alice.hub)
    assert alice("forget_session", session_id="s") == {"session_id": "s", "deleted": True}
    assert alice("forget_session", session_id="s") == {"session_id": "s", "deleted": False}
    assert alice("load_session", session_id="s")["found"] is False
    assert alice("recall", query="rotate key", namespace="sessions")["items"] == []
    assert "rotate" not in "".join(row for table in dump(alice.hub).values() for row in table)


def test_limits_are_exact_and_named(alice: Person):
    who = alice.at(with_settings(alice.hub, max_session_chars=20, max_name_chars=8))
    who("save_session", session_id="s" * 8, content="x" * 20)
    message = who.refused("save_session", session_id="s", content="x" * 21)
    assert "content" in message
    assert "HIVELORE_MAX_SESSION_CHARS" in message
    assert "session_id" in who.refused("save_session", session_id="s" * 9, content="x")
    assert "namespace" in who.refused("save_session", session_id="s", content="x", namespace="n" * 9)


def test_removed_characters_are_noted_and_counted(alice: Person):
    saved = alice("save_session", session_id="s", content="a\0b\0c")
    assert (saved["chars"], saved["notes"]) == (3, ["2 NUL character(s) were removed"])
    assert _load(alice, "s") == "abc"


@given(
    st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1, max_size=400),
    st.integers(1, 50),
)
def test_splitting_loses_no_character(text: str, tokens: int):
    assert "".join(text[start:end] for start, end in split(text, tokens)) == text


def test_over_mcp_a_session_comes_back_exactly(alice: Person):
    mcp_call(alice, "save_session", {"session_id": "s", "content": TRANSCRIPT})
    loaded = mcp_call(alice, "load_session", {"session_id": "s", "page_size": 200_000}).structured_content
    assert loaded["content"] == TRANSCRIPT
