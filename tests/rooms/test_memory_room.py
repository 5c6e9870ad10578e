"""Remembering, recalling, listing, updating and forgetting through the room's own service, on both stores."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hivelore.base.memories.model import NoSuchMemory, PartOfWhole
from hivelore.base.search.model import TEXT, VECTORS, Filters
from hivelore.core.clock import parse_iso_ms
from hivelore.core.errors import Invalid, TooLarge
from hivelore.core.page import After, Offset
from hivelore.rooms.memory import service as memory
from hivelore.rooms.transcripts import service as transcripts
from support.hubs import call_as, clock_of, run_jobs

PARAGRAPHS = [f"Paragraph {n} tells about subject {n}." + f" word{n}" * 70 for n in range(6)]
LONG = "\n\n".join(PARAGRAPHS)


@pytest.fixture
def alice(hub):
    return call_as(hub, "alice")


def remember(call, content: str, **options):
    return memory.remember(call, content, **{"namespace": "notes"} | options).memory


def texts(recalled) -> list[str]:
    return [each.item.text for each in recalled.items]


def recall(call, query: str, *namespaces: str, **options):
    return memory.recall(call, query, **{"namespaces": namespaces or ("notes",), "limit": 8} | options)


# -- what is stored ----------------------------------------------------------------------------------------------------


def test_the_answer_to_remember_is_what_is_stored(alice):
    told = memory.remember(
        alice, "  Deploys are on Tuesday.  ", namespace="notes", tags=[" ops ", "ops", ""], source="codex"
    )
    stored = memory.get(alice, told.memory.id)
    assert told.created
    assert told.notes == ()
    assert stored.text == told.memory.text == "Deploys are on Tuesday."
    assert stored.tags == ("ops",)
    assert (stored.namespace, stored.owner, stored.source, stored.kind) == ("notes", "alice", "codex", "note")
    assert stored.created_ms == stored.updated_ms == stored.event_ms == alice.hub.clock.now_ms()


def test_provenance_is_kept(hub):
    call = call_as(hub, "alice")
    stored = remember(call, "text", origin={"file": "日本語.md", "line": 7}, event_ms=5)
    assert (stored.agent, stored.door) == ("tester", "test")
    again = memory.get(call, stored.id)
    assert again.origin == {"file": "日本語.md", "line": 7}
    assert again.event_ms == 5


def test_without_a_namespace_the_default_is_used_and_told(alice):
    assert memory.remember(alice, "for everybody").memory.namespace == "shared"
    assert memory.remember(alice, "for everybody", namespace="").memory.namespace == "shared"


def test_nul_and_lone_surrogates_are_cleaned_and_told_on_both_stores(alice):
    told = memory.remember(
        alice, "a\0b \ud83d half", namespace="n\0s", tags=["t\0"], source="s\udc8a", title="\0title", origin={}
    )
    assert told.memory.text == "ab \ufffd half"
    assert (told.memory.namespace, told.memory.tags, told.memory.title) == ("ns", ("t",), "title")
    assert told.notes == ("1 NUL character(s) were removed", "1 lone surrogate(s) were replaced by U+FFFD")
    assert memory.get(alice, told.memory.id).text == "ab \ufffd half"


def test_a_recalled_block_is_not_stored_again(alice):
    first = remember(alice, "The deploy is on Tuesday.")
    for _ in range(20):
        told = memory.remember(
            alice,
            f"<hivelore_memory>\n- {first.text}\n</hivelore_memory>\nNew: lunch is at noon.",
            namespace="notes",
            key="turn",
        )
        assert told.memory.text == "New: lunch is at noon."
    assert told.notes == ("1 recalled memory block(s) were left out",)
    assert memory.list_items(alice, "notes", Offset(0), 50).total == 2
    with pytest.raises(Invalid, match="recalled memory blocks"):
        remember(alice, "<hivelore_memory>- The deploy is on Tuesday.</hivelore_memory>")


@pytest.mark.parametrize("content", ["", "   \n\t", "\0", "\0 \0"])
def test_an_empty_text_is_refused_with_its_field(alice, content):
    with pytest.raises(Invalid, match="content is empty") as caught:
        remember(alice, content)
    assert caught.value.data == {"field": "content"}


@pytest.mark.parametrize("namespace", ["*"])
def test_everything_is_no_place_to_write_to(alice, namespace):
    with pytest.raises(Invalid, match="name one namespace"):
        remember(alice, "text", namespace=namespace)


def test_limits_name_the_field_the_limit_and_the_setting(store, make_hub):
    hub = make_hub(store, max_content_chars=100, max_tags=2, max_name_chars=10, max_query_chars=20)
    call = call_as(hub, "alice")
    with pytest.raises(TooLarge, match=r"content has 101 characters; the limit is 100.*HIVELORE_MAX_CONTENT_CHARS"):
        remember(call, "x" * 101)
    assert remember(call, "x" * 100).text == "x" * 100
    for bad, message in (
        ({"tags": ["a", "b", "c"]}, "tags has 3 entries; the limit is 2"),
        ({"tags": ["a" * 11]}, "tags has an entry of 11 characters; the limit is 10"),
        ({"source": "s" * 11}, "source has .* 11 characters; the limit is 10"),
        ({"namespace": "n" * 11}, "namespace has 11 characters; the limit is 10"),
        ({"layer": "L9"}, "layer must be one of trace, policy, world_model, skill"),
    ):
        with pytest.raises(Invalid, match=message):
            remember(call, "text", **bad)
    with pytest.raises(TooLarge, match="query has 21 characters; the limit is 20"):
        recall(call, "q" * 21)
    with pytest.raises(TooLarge, match="limit is 100"):
        memory.update(call, remember(call, "short").id, "x" * 101)


def test_the_same_key_changes_the_memory_instead_of_adding_one(alice):
    one = memory.remember(alice, "first", namespace="notes", key="k", tags=["a"])
    same = memory.remember(alice, "first", namespace="notes", key="k", tags=["a"])
    changed = memory.remember(alice, "second", namespace="notes", key="k", tags=["b"])
    assert (one.created, same.created, changed.created) == (True, False, False)
    assert one.memory.id == same.memory.id == changed.memory.id
    assert same.memory.revision == 1
    assert (changed.memory.text, changed.memory.tags, changed.memory.revision) == ("second", ("a", "b"), 2)
    assert memory.list_items(alice, "notes", Offset(0), 10).total == 1


def test_a_key_belongs_to_its_owner_and_place(hub):
    ids = {
        remember(call_as(hub, who), "text", namespace=namespace, key="k").id
        for who in ("alice", "bob")
        for namespace in ("notes", "shared")
    }
    assert len(ids) == 4


ANY = st.text(st.characters(), min_size=1, max_size=200) | st.text("ab \n日😀é<>", min_size=1, max_size=60)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(ANY)
def test_any_text_comes_back_as_it_was_told(alice, content):
    try:
        told = remember(alice, content)
    except Invalid:
        return
    assert memory.get(alice, told.id).text == told.text
    cleaned = content.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace").strip()
    assert told.text == cleaned or "<" in content


# -- recall ------------------------------------------------------------------------------------------------------------


def test_recall_finds_by_word_and_says_what_was_searched(alice):
    remember(alice, "Deploys are on Tuesday.")
    remember(alice, "Lunch is at noon.")
    run_jobs(alice.hub)
    recalled = recall(alice, "when do we deploy?")
    assert texts(recalled)[0] == "Deploys are on Tuesday."
    assert recalled.total == 2
    assert recalled.namespaces == ("notes",)
    assert recalled.findings.engines == (TEXT, VECTORS)
    assert recalled.findings.unavailable == {}
    assert recalled.elsewhere == {}


def test_an_omitted_scope_is_the_default_one_and_is_told(alice):
    remember(alice, "for everybody", namespace="shared")
    remember(alice, "for myself", namespace="notes")
    recalled = memory.recall(alice, "for", limit=8)
    assert recalled.namespaces == ("shared",)
    assert texts(recalled) == ["for everybody"]


def test_an_empty_answer_says_where_else_matches_are(hub, alice):
    remember(alice, "deploy on Tuesday", namespace="ops")
    remember(alice, "deploy on Friday", namespace="ops")
    remember(alice, "deploy by hand", namespace="shared")
    remember(call_as(hub, "bob"), "deploy of bob", namespace="bobs")
    recalled = recall(alice, "deploy", "empty")
    assert texts(recalled) == []
    assert dict(recalled.elsewhere) == {"ops": 2, "shared": 1}
    assert list(recalled.elsewhere) == ["ops", "shared"]


def test_a_star_searches_everything_readable(hub, alice):
    remember(alice, "deploy on Tuesday", namespace="ops")
    remember(call_as(hub, "bob"), "deploy by hand", namespace="shared")
    remember(call_as(hub, "bob"), "deploy of bob", namespace="bobs")
    assert set(texts(recall(alice, "deploy", "*"))) == {"deploy on Tuesday", "deploy by hand"}


@pytest.mark.promise("P-054")
def test_of_a_long_text_the_part_that_answers_is_given(alice):
    one = remember(alice, LONG)
    recalled = recall(alice, "subject 4 word4")
    best = recalled.items[0]
    assert best.item.memory == one.id
    assert best.item.id == one.parts[4].id
    assert "word4" in best.excerpt
    assert best.item.parts == len(one.parts)
    assert best.item.text == one.piece_texts()[best.item.seq]


@pytest.mark.parametrize("query", ["", "  ", "\0", "\n"])
def test_an_empty_question_is_refused_with_its_field(alice, query):
    with pytest.raises(Invalid, match="query is empty") as caught:
        recall(alice, query)
    assert caught.value.data == {"field": "query"}


def test_a_page_is_never_larger_than_the_limit_of_the_server(store, make_hub):
    hub = make_hub(store, max_limit=3)
    call = call_as(hub, "alice")
    for n in range(6):
        remember(call, f"deploy {n}")
    assert len(recall(call, "deploy", limit=10_000).items) == 3
    assert recall(call, "deploy", limit=10_000).findings.more
    assert len(recall(call, "deploy", limit=0).items) == 1
    assert len(memory.list_items(call, "notes", Offset(0), 10_000).items) == 3
    assert len(memory.list_items(call, "notes", Offset(0), -5).items) == 1


def test_a_read_writes_nothing(hub, alice, monkeypatch):
    one = remember(alice, "deploy on Tuesday")
    run_jobs(hub)

    def refuse(self):
        raise AssertionError("reading must not take the write lock")

    monkeypatch.setattr(type(hub.db), "write", refuse)
    assert recall(alice, "deploy").items
    assert memory.get(alice, one.id)
    assert memory.list_items(alice, "notes", Offset(0), 5).items


# -- filters as callers write them -------------------------------------------------------------------------------------


def test_filters_are_read_as_written(hub):
    filters = memory.make_filters(
        hub.settings,
        tags=["a", " b "],
        source="codex",
        kind="text",
        since="2026-01-01",
        until="2026-01-02T00:00:00+01:00",
    )
    assert filters == Filters(
        tags=("a", "b"),
        sources=("codex",),
        kinds=("note",),
        since_ms=parse_iso_ms("2026-01-01", ""),
        until_ms=parse_iso_ms("2026-01-01T23:00:00Z", ""),
    )
    assert memory.make_filters(hub.settings).none


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"since": "last March"}, "since must be an ISO 8601"),
        ({"until": "2026-02-30"}, "until must be an ISO 8601"),
        ({"since": "2026-02-01", "until": "2026-01-01"}, "until must be later than since"),
        ({"since": "2026-02-01", "until": "2026-02-01"}, "until must be later than since"),
    ],
)
def test_dates_in_words_and_intervals_reversed_are_refused(hub, bad, message):
    with pytest.raises(Invalid, match=message):
        memory.make_filters(hub.settings, **bad)


# -- lists -------------------------------------------------------------------------------------------------------------


def test_a_list_is_newest_first_and_its_pages_do_not_shift(alice):
    for n in range(7):
        remember(alice, f"memory {n}")
        clock_of(alice.hub).advance(seconds=1)
    first = memory.list_items(alice, "notes", Offset(0), 3)
    assert [item.text for item in first.items] == ["memory 6", "memory 5", "memory 4"]
    assert (first.total, first.more) == (7, True)
    last = first.items[-1]
    remember(alice, "written while somebody pages")
    memory.forget(alice, first.items[0].id)
    position = After(last.created_ms, last.memory, last.seq, 3)
    second = memory.list_items(alice, "notes", position, 10)
    assert [item.text for item in second.items] == ["memory 3", "memory 2", "memory 1", "memory 0"]
    assert not second.more


def test_parts_are_listed_one_by_one_and_counted_so(alice):
    one = remember(alice, LONG)
    remember(alice, "short")
    listed = memory.list_items(alice, "notes", Offset(0), 100)
    assert listed.total == len(listed.items) == len(one.parts) + 1
    assert [item.id for item in listed.items if item.memory == one.id] == list(one.piece_ids())
    seen = []
    position = Offset(0)
    while True:
        page = memory.list_items(alice, "notes", position, 2)
        seen += [item.id for item in page.items]
        if not page.more:
            break
        last = page.items[-1]
        position = After(last.created_ms, last.memory, last.seq, len(seen))
    assert seen == [item.id for item in listed.items]


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_pages_of_short_and_long_memories_of_one_moment_in_several_namespaces_cover_the_list(alice, size):
    for n in range(4):
        for namespace in ("notes", "shared", "private"):
            remember(alice, LONG.replace("subject", f"{namespace} {n}"), namespace=namespace)
            remember(alice, f"short {n} in {namespace}", namespace=namespace)
        clock_of(alice.hub).advance(ms=n % 2)  # some share a millisecond with those before
    whole = [item.id for item in memory.list_items(alice, "*", Offset(0), 100).items]
    assert len(whole) == len(set(whole)) > 12 * 3

    by_offset, by_position, position = [], [], Offset(0)
    while len(by_offset) < len(whole):
        page = memory.list_items(alice, "*", Offset(len(by_offset)), size).items
        by_offset += [item.id for item in page]
        listed = memory.list_items(alice, "*", position, size)
        by_position += [item.id for item in listed.items]
        assert listed.more == (len(by_position) < len(whole))
        last = listed.items[-1]
        position = After(last.created_ms, last.memory, last.seq, len(by_position))
    assert by_offset == by_position == whole
    assert not memory.list_items(alice, "*", position, size).items


def test_an_offset_beyond_the_end_is_an_empty_page(alice):
    remember(alice, "text")
    for offset in (1, 10**6, 10**12 - 1):
        listed = memory.list_items(alice, "notes", Offset(offset), 5)
        assert (listed.items, listed.total, listed.more) == ((), 1, False)


# -- change and removal ------------------------------------------------------------------------------------------------


def test_an_update_keeps_the_id_and_makes_the_new_text_findable_at_once(alice):
    one = remember(alice, "API limit is 100", tags=["api"])
    item, notes = memory.update(alice, one.id, "Rate ceiling is 250\0")
    assert (item.id, item.text, item.tags, notes) == (
        one.id,
        "Rate ceiling is 250",
        ("api",),
        ("1 NUL character(s) were removed",),
    )
    run_jobs(alice.hub)
    assert texts(recall(alice, "ceiling")) == ["Rate ceiling is 250"]
    assert recall(alice, "API limit 100").items[0].hit.text_rank is None


def test_a_short_text_may_become_long_and_stays_under_its_id(alice):
    one = remember(alice, "short")
    item, _ = memory.update(alice, one.id, LONG)
    assert memory.get(alice, one.id).text == LONG == item.text
    assert "word5" in recall(alice, "word5").items[0].excerpt


@pytest.mark.parametrize(
    "id", ["", "nothing", "0" * 32, "x" * 5_000, "a\0b", "\ud800", "%", "'; DROP TABLE memory; --"]
)
def test_an_unknown_id_is_not_found_whatever_it_is(alice, id):
    remember(alice, "text")
    with pytest.raises(NoSuchMemory, match="There is no memory with id"):
        memory.get(alice, id)
    with pytest.raises(NoSuchMemory):
        memory.update(alice, id, "text")
    assert memory.forget(alice, id) == 0


def test_passages_of_a_session_are_changed_and_removed_with_it_only(alice):
    transcripts.save_session(alice, "today", LONG)
    passage = recall(alice, "word3", "sessions").items[0].item.id
    with pytest.raises(PartOfWhole, match="save_session"):
        memory.update(alice, passage, "changed")
    with pytest.raises(PartOfWhole, match="forget_session"):
        memory.forget(alice, passage)
    assert transcripts.load_session(alice, "today", 0, 100_000).content == LONG
