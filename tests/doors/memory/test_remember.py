"""`remember`: what is stored, under which ids, with which notes."""

from __future__ import annotations

import re

import pytest
from doors_kit import Person, dump, failing_at, ids_of, mcp_call

from hivelore.core.errors import HiveloreError
from support.hubs import clock_of, run_jobs, with_settings

PARAGRAPH = "The release train leaves on Tuesday; whoever misses it waits a week. "
LONG = "".join(f"Chapter {n}. {PARAGRAPH * 6}\n\n" for n in range(6)).strip()


@pytest.mark.promise("P-061", "P-064")
def test_a_short_text_gets_one_id(alice: Person):
    answer = alice("remember", content="  Staging runs Postgres 16.  ", tags=["db"], source="notes.md")
    assert set(answer) == {"ids", "chunks", "namespace", "group_id"}
    assert answer["chunks"] == 1
    assert answer["namespace"] == "shared"
    assert re.fullmatch("[0-9a-f]{32}", answer["ids"][0])
    assert answer["group_id"] == answer["ids"][0]
    kept = alice("get_memory", id=answer["ids"][0])
    assert kept == {
        "id": answer["ids"][0],
        "namespace": "shared",
        "content": "Staging runs Postgres 16.",
        "tags": ["db"],
        "source": "notes.md",
        "created_at": "2026-01-01T00:00:00.000+00:00",
        "updated_at": "2026-01-01T00:00:00.000+00:00",
    }


def test_a_memory_without_tags_and_source_shows_an_empty_list_and_null(alice: Person):
    kept = alice("get_memory", id=alice("remember", content="bare")["ids"][0])
    assert kept["tags"] == []
    assert kept["source"] is None


@pytest.mark.promise("P-053", "P-061")
def test_a_long_text_gets_several_ids_in_order_and_one_group(alice: Person):
    answer = alice("remember", content=LONG, tags=["book"], source="train.md")
    assert answer["chunks"] == len(answer["ids"]) > 3
    assert len(set(answer["ids"])) == len(answer["ids"])
    assert alice("get_memory", id=answer["group_id"])["content"] == LONG
    parts = [alice("get_memory", id=id) for id in answer["ids"]]
    assert [part["part"] for part in parts] == list(range(1, len(parts) + 1))
    assert {part["parts"] for part in parts} == {len(parts)}
    assert {part["group_id"] for part in parts} == {answer["group_id"]}
    assert {(tuple(part["tags"]), part["source"]) for part in parts} == {(("book",), "train.md")}
    assert " ".join(" ".join(part["content"] for part in parts).split()) == " ".join(LONG.split())


def test_forgetting_the_group_forgets_every_part(alice: Person):
    answer = alice("remember", content=LONG)
    assert alice("forget", id=answer["group_id"]) == {
        "id": answer["group_id"],
        "deleted": True,
        "removed": answer["chunks"],
    }
    for id in (answer["group_id"], *answer["ids"]):
        assert "no memory with id" in alice.refused("get_memory", id=id)
    assert alice("list_memories")["total"] == 0


def test_forgetting_one_part_leaves_the_others(alice: Person):
    answer = alice("remember", content=LONG)
    gone = answer["ids"][1]
    assert alice("forget", id=gone) == {"id": gone, "deleted": True, "removed": 1}
    assert "no memory with id" in alice.refused("get_memory", id=gone)
    assert sorted(ids_of(alice("list_memories", limit=50))) == sorted(set(answer["ids"]) - {gone})


@pytest.mark.parametrize("namespace", [None, ""])
def test_no_namespace_means_the_default_one(alice: Person, namespace: str | None):
    assert alice("remember", content="x", namespace=namespace)["namespace"] == "shared"


@pytest.mark.parametrize("namespace", ["work", " padded ", "a/b", "日本語", "100%", "_", "SHARED"])
def test_a_namespace_is_taken_as_it_is_written(alice: Person, namespace: str):
    assert alice("remember", content="x", namespace=namespace)["namespace"] == namespace
    assert alice("list_memories", namespace=namespace)["total"] == 1
    assert alice("list_memories")["total"] == 0


def test_everything_is_no_namespace_to_write_to(alice: Person):
    for tool, given in (("remember", {}), ("save_session", {"session_id": "s"})):
        assert "namespace" in alice.refused(tool, content="x", namespace="*", **given)


@pytest.mark.parametrize("content", ["", "   ", "\n\t", "\0", " \0 "])
def test_an_empty_text_is_refused(alice: Person, content: str):
    assert "content is empty" in alice.refused("remember", content=content)


def test_the_same_text_twice_is_two_memories_and_neither_replaces_the_other(alice: Person):
    first = alice("remember", content="daily log\nfifty lines of work")
    second = alice("remember", content="daily log\ntwo lines")
    assert first["ids"] != second["ids"]
    assert alice("get_memory", id=first["ids"][0])["content"] == "daily log\nfifty lines of work"
    assert alice("get_memory", id=second["ids"][0])["content"] == "daily log\ntwo lines"


def test_recalled_blocks_are_not_stored_again(alice: Person):
    block = "<hivelore_memory source='x'>the port is 5433</hivelore_memory>"
    answer = alice("remember", content=f"{block}\nThe new fact is green.")
    assert alice("get_memory", id=answer["ids"][0])["content"] == "The new fact is green."
    assert answer["notes"] == ["1 recalled memory block(s) were left out"]
    before = dump(alice.hub)
    assert "nothing new to store" in alice.refused("remember", content=block)
    assert dump(alice.hub) == before


def test_removed_nul_characters_are_noted(alice: Person):
    answer = alice("remember", content="ab\0c", tags=["t\0"], source="s\0")
    assert answer["notes"] == ["1 NUL character(s) were removed"]
    kept = alice("get_memory", id=answer["ids"][0])
    assert (kept["content"], kept["tags"], kept["source"]) == ("abc", ["t"], "s")


def test_a_namespace_with_a_nul_character_means_the_same_in_every_tool(alice: Person):
    stored = alice("remember", content="pelican", namespace="zo\0o")["namespace"]
    assert stored == "zoo"
    run_jobs(alice.hub)
    for namespace in ("zoo", "zo\0o"):
        assert alice("list_memories", namespace=namespace)["total"] == 1
        assert len(alice("recall", query="pelican", namespace=namespace)["items"]) == 1
        assert len(alice("recall", query="pelican", namespaces=[namespace])["items"]) == 1


def test_tags_keep_their_order_and_lose_doubles_and_blanks(alice: Person):
    answer = alice("remember", content="x", tags=["b", " a ", "b", "", "  "])
    assert alice("get_memory", id=answer["ids"][0])["tags"] == ["b", "a"]


# -- limits ------------------------------------------------------------------------------------------------------------


def test_each_limit_is_exact_and_its_error_names_field_and_limit(alice: Person):
    who = alice.at(with_settings(alice.hub, max_content_chars=50, max_tags=2, max_name_chars=10))
    who("remember", content="x" * 50, tags=["a" * 10, "b"], source="s" * 10, namespace="n" * 10)
    for given, words in (
        ({"content": "x" * 51}, ("content", "51", "50", "HIVELORE_MAX_CONTENT_CHARS")),
        ({"tags": ["a", "b", "c"]}, ("tags", "3", "2")),
        ({"tags": ["a" * 11]}, ("tags", "11", "10")),
        ({"source": "s" * 11}, ("source", "11", "10")),
        ({"namespace": "n" * 11}, ("namespace", "11", "10")),
    ):
        message = who.refused("remember", **({"content": "x"} | given))
        for word in words:
            assert word in message


# -- one transaction ---------------------------------------------------------------------------------------------------


def test_a_store_that_breaks_at_any_statement_keeps_nothing_of_the_memory(alice: Person):
    alice("remember", content="was there before", namespace="other")
    before = dump(alice.hub)
    for place in range(1, 100):
        with failing_at(alice.hub, place):
            try:
                alice("remember", content=LONG, tags=["a"], namespace="other")
            except HiveloreError as exc:
                assert exc.message.startswith("Internal error ")
                assert dump(alice.hub) == before
            else:
                break
    assert place > 10, "the last statements of the transaction were reached"
    assert dump(alice.hub) != before


def test_time_of_storing_is_the_clocks(alice: Person):
    clock_of(alice.hub).advance(days=1, seconds=1, ms=7)
    kept = alice("get_memory", id=alice("remember", content="x")["ids"][0])
    assert kept["created_at"] == "2026-01-02T00:00:01.007+00:00"


def test_over_mcp_a_memory_goes_in_and_comes_out(alice: Person):
    stored = mcp_call(alice, "remember", {"content": "Übergrößenträger 👩🏽‍🚒"}).structured_content
    got = mcp_call(alice, "get_memory", {"id": stored["ids"][0]}).structured_content
    assert got["content"] == "Übergrößenträger 👩🏽‍🚒"
