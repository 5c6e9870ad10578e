"""Text in many scripts and odd forms goes in, comes out, and is found by its words alone."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from doors_kit import Person, Rest, contents_of, ids_of, person, with_keys
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hivelore.adapters.embed_off import OffEmbedder
from hivelore.work import Hub
from support.hubs import Store, with_settings


@pytest.fixture
def by_word(store: Store, make_hub: Callable[..., Hub]) -> Person:
    """Alice on a hub without vectors: only words find things."""
    return person(with_settings(with_keys(make_hub(store, embedder=OffEmbedder())), embedder="off"), "alice")


NOISE = [
    "今天的会议改到下午三点",
    "昨日は雨が降っていた",
    "오늘은 날씨가 좋다",
    "ordinary English noise about gardens",
    "обычный русский текст про погоду",
    "สวัสดีครับวันนี้อากาศดี",
]

FOUND_BY = {
    "用户身份校验在网关完成": ["身份", "身份校验", "网关", "用户身份校验在网关完成"],
    "今日はしりとりの仕様を決めた": ["しりとり", "仕様"],
    "배포 체크리스트를 갱신했다": ["배포", "체크", "체크리스트"],
    "重跑gen-itgc后修复": ["gen-itgc", "itgc", "修复"],
    "カタカナとｶﾀｶﾅの幅": ["カタカナ"],
    "Die Übergröße heißt jetzt Straße": ["ubergrosse", "Übergröße", "STRASSE", "Straße"],
    "der Café-Besitzer zahlt naïve Beträge": ["cafe", "naive", "Café"],
    "выпуск перенесли на вторник": ["выпуска", "Вторник"],
    "ประตูน้ำปิดเวลาเที่ยงคืน": ["ประตูน้ำ", "เที่ยงคืน"],
    "the getUserName call in C++ takes max_bytes": ["getUserName", "user name", "C++", "max_bytes", "maxBytes"],
    "see issue #1423 and CVE-2026-1234": ["1423", "CVE-2026-1234"],
    "the emoji 🚀 means shipped": ["shipped"],
    "Τα δεδομένα στην Αθήνα": ["Αθηνα"],
}


def test_words_of_any_script_find_their_memory_without_vectors(by_word: Person):
    for noise in NOISE:
        by_word("remember", content=noise)
    stored = {content: by_word("remember", content=content)["ids"] for content in FOUND_BY}
    missed = [
        (content, query)
        for content, queries in FOUND_BY.items()
        for query in queries
        if ids_of(by_word("recall", query=query, limit=1)) != stored[content]
    ]
    assert missed == []


ODD_QUERIES = [
    "foo-bar",
    "a OR",
    "OR",
    "NOT",
    "AND foo",
    '"unclosed',
    'foo "bar',
    "NEAR(",
    "NEAR(foo bar, 3)",
    "C++",
    ":memory:",
    "col:value",
    "^foo",
    "foo*",
    "*",
    "(",
    ")",
    "-foo",
    "+",
    "foo & bar | !baz",
    "foo:*",
    "foo <-> bar",
    "\\",
    "'",
    "''; DROP TABLE memory; --",
    "%",
    "_",
    "?",
    "!!!",
    "🚀",
    "é",
    "\u0301",
    "\ufeff",
    "\u200b",
    "\x01\x02",
    "\x7f",
    "𝔣𝔬𝔬",
    "a",
    "の",
    "foo " * 1_250,
    "x" * 5_000,
    "身" * 5_000,
    "a-" * 2_500,
    "'" * 5_000,
]


def test_no_query_is_a_syntax_error(alice: Person):
    alice("remember", content="the foo-bar module in C++ opens :memory: near (foo bar) a OR b 身 の")
    for query in ODD_QUERIES:
        found = alice("recall", query=query)
        assert found["search"]["engines"] == ["text", "vectors"], query
        assert found["search"]["unavailable"] == {}, query


def test_words_glued_to_operators_still_find(by_word: Person):
    by_word("remember", content="ordinary noise about gardens")
    stored = by_word("remember", content="the foo-bar module in C++ opens :memory:")["ids"]
    for query in (
        "foo-bar",
        "a OR foo",
        '"unclosed foo',
        "NEAR(foo",
        "C++",
        ":memory:",
        "foo " * 1_250,
        "FOO\u200bBAR",
    ):
        assert ids_of(by_word("recall", query=query)) == stored, query


# -- characters no store can keep --------------------------------------------------------------------------------------


def test_a_lone_surrogate_is_replaced_and_noted_by_both_doors(alice: Person):
    stored = alice("remember", content="half \udc8a and cut \ud83d", tags=["t\udc8a"], source="s\ud83d")
    assert stored["notes"] == ["2 lone surrogate(s) were replaced by U+FFFD"]
    saved = alice("save_session", session_id="s", content="half \udc8a")
    assert saved["notes"] == ["1 lone surrogate(s) were replaced by U+FFFD"]
    body = rb'{"content":"half \udc8a and cut \ud83d","title":"t\udc8a","tags":["\ud83d"],"source":"\udc8a"}'
    assert Rest(alice)("POST", "/memory/add", body).status_code == 200
    assert contents_of(alice("list_memories")) == ["half \ufffd and cut \ufffd"] * 2
    assert alice("load_session", session_id="s")["content"] == "half \ufffd"
    json.dumps([alice("list_memories"), Rest(alice).search("half \udc8a", verbose=True)], ensure_ascii=False).encode()


def test_nul_is_handled_alike_by_both_doors(alice: Person):
    alice("remember", content="one\0two")
    Rest(alice).add("one\0two", title="t\0", tags=["a\0"], source="s\0")
    assert contents_of(alice("list_memories")) == ["onetwo", "onetwo"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(content=st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=300))
def test_any_text_comes_out_as_it_went_in_but_for_the_blanks_around_it(alice: Person, content: str):
    wanted = content.replace("\0", "").strip()
    if not wanted:
        assert "content is empty" in alice.refused("remember", content=content)
        return
    stored = alice("remember", content=content)
    assert alice("get_memory", id=stored["group_id"])["content"] == wanted
    assert isinstance(alice("recall", query=wanted)["items"], list)


def test_an_excerpt_never_ends_in_half_a_character(alice: Person):
    rest = Rest(alice)
    answer = rest.add("👩🏽‍🚒🇩🇪" * 300)
    answer["summary"].encode()
    answer["title"].encode()
    debug = rest.search("👩🏽‍🚒🇩🇪", verbose=True)["debug"]
    for hit in debug["hits"]:
        hit["snippet"].encode()
