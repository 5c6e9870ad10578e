"""The tokeniser: what is stored and what is asked meet, in every script; tokens are safe for both indexes."""

from __future__ import annotations

import sys
import threading

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hivelore.base.search.tokens import MAX_QUERY_TOKENS, _stem, is_bare, query_terms, tokens

any_text = st.text(max_size=400) | st.text("aB3'’-_.+#*\"()\\ é日かハ한ß😀\n", max_size=120)


def matching(query: str, text: str) -> list[bool]:
    """For each term of the query, whether the index would find it in the text."""
    held = tokens(text)
    return [
        any(t.startswith(term[:-1]) for t in held) if term.endswith("*") else term in held
        for term in query_terms(query)
    ]


def finds(query: str, text: str) -> bool:
    """Whether the index finds the text: one term is enough."""
    return any(matching(query, text))


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("用户身份校验在网关完成", ["身份", "身份校验", "网关", "用户", "完成", "关"]),
        ("今日はしりとりの仕様を決めた", ["しりとり", "仕様", "今日", "決めた", "た"]),
        ("배포 체크리스트", ["배포", "체크", "체크리스트"]),
        ("重跑gen-itgc后修复", ["gen-itgc", "itgc", "gen", "修复", "重跑"]),
        ("パスワードを再設定", ["ﾊﾟｽﾜｰﾄﾞ", "パスワード", "再設定"]),
        ("ทดสอบระบบ", ["ทดสอบ", "ระบบ"]),
        ("写在一起𠮷野家的字", ["𠮷野家"]),
    ],
)
def test_scripts_without_spaces_are_found_by_their_words(text, queries):
    for query in queries:
        assert all(matching(query, text)), query
        assert finds(query, text), query


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("getUserProfile", ["getUserProfile", "user profile", "GETUSERPROFILE", "profile"]),
        ("HTTPServerError", ["http server", "HTTPServerError", "server error"]),
        ("max_bytes=10", ["max_bytes", "max bytes", "maxbytes", "bytes"]),
        ("foo-bar", ["foo-bar", "foo", "bar", "foobar"]),
        ("src/hivelore/app.py", ["app.py", "hivelore", "src/hivelore/app.py"]),
        ("v1.2.3", ["v1.2.3", "1.2.3"]),
        ("C++ and C# and F#", ["C++", "c#", "F#"]),
        ("Don't panic: it's O'Neil’s", ["don't", "O'Neil", "ONeil", "panic"]),
        ("alice@example.org", ["alice@example.org", "example.org"]),
    ],
)
def test_identifiers_are_found_whole_and_by_their_parts(text, queries):
    for query in queries:
        assert finds(query, text), query


DIFFERENT = [("C", "C++"), ("C++", "C#"), ("C#", "F#"), ("cat", "dog"), ("й", "и"), ("か", "が")]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_is_different_is_not_confused(one, other):
    assert not finds(one, other)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("deploys", "deployed"),
        ("the migrations ran", "migrate migration"),
        ("Резервные копии хранятся", "резервная копия"),
        ("CAFÉ", "cafe"),
        ("Straße", "STRASSE"),
        ("Ελλάδα", "ελλαδα"),
        ("Łódź", "lodz"),
        ("ﬁne ①", "fine 1"),
        ("ＡＢＣ", "abc"),
        ("cafe\u0301", "café"),
        ("カ\u3099", "ガ"),
    ],
)
def test_forms_of_one_word_meet(text, query):
    assert finds(query, text)


def test_stop_words_go_unless_nothing_else_is_left():
    assert query_terms("what is the deploy of it") == ["deploy"]
    assert query_terms("to be or not to be") == ["to", "be", "or", "not"]


GLUED = [
    "foo-bar", "a OR", '"unclosed', "NEAR(", "C++", ":memory:", "", "x" * 5_000, "*", '""', "tokens : a", "-foo", "a^2",
    "{a b}",
]  # fmt: skip


@pytest.mark.parametrize("query", GLUED)
def test_words_glued_to_operators_of_the_index_are_only_words(query):
    for term in query_terms(query):
        assert term.removesuffix("*").isalnum()


def is_safe(token: str) -> bool:
    """FTS5's `ascii` tokeniser ends a token at ASCII that is no letter or digit; tsvector takes 2046 bytes."""
    return bool(token) and all(not c.isascii() or c.isalnum() for c in token) and len(token.encode()) <= 2_000


@given(any_text)
@example("a+b+ don't+ gen-itgc# o’neil++")
@example("# title " + "x" + "#" * 3_000)
@example("z" * 5_000 + "ß" * 5_000 + "ﷺ" * 500)
@example("İ" * 100)
def test_tokens_are_whole_for_both_indexes(text):
    for token in tokens(text):
        assert is_safe(token), token


@given(any_text)
@example("a+b+ don't+ gen-itgc#")
def test_terms_are_safe_few_and_distinct(query):
    terms = query_terms(query)
    assert len(terms) <= MAX_QUERY_TOKENS
    assert len(set(terms)) == len(terms)
    for term in terms:
        assert is_safe(term.removesuffix("*")), term


@given(st.text("abcd éшß日かハ한-_.'+# ", min_size=1, max_size=40))
def test_a_text_is_found_by_its_own_words(text):
    assert all(matching(text, text))


def test_threads_do_not_disturb_each_others_stems():
    """A wrong stem would not only miss once: it would be stored in the index for good."""
    heads = ("nationalis", "organi", "generali", "classifi", "hesitat", "communicat")
    tails = ("ation", "ations", "ing", "ers", "ement", "ably", "edly", "fulness", "ization", "ational", "ively")
    words = [head + tail for head in heads for tail in tails]
    texts = [" ".join(f"{chr(97 + n % 26)}{chr(97 + n // 26)}{word}" for word in words) for n in range(40)]
    found: dict[int, list[str]] = {}

    def read(numbers: range) -> None:
        for n in numbers:
            found[n] = tokens(texts[n])

    _stem.cache_clear()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=read, args=(range(start, 40, 4),)) for start in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(before)
    _stem.cache_clear()
    assert found == {n: tokens(text) for n, text in enumerate(texts)}


@pytest.mark.parametrize(
    ("query", "bare"),
    [("max_bytes", True), ("Backup schedule", True), ("備份", True), ("how do we ship?", False), ("The deploy", False)],
)
def test_a_query_is_bare_when_no_stop_word_makes_it_a_sentence(query, bare):
    assert is_bare(query) is bare
