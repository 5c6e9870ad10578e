"""Texts fall into sentences in any script, without losing a character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.sentences import LONGEST_TOKENS, same_key, sentences
from hivelore.core.text import estimate_tokens

SPLIT = {
    "english": ["We deploy on Thursdays. ", "Never on Fridays! ", 'Did he say "stop."? ', "(Yes.) ", "Done…"],
    "abbreviations": ["See e.g. the runbook, cf. Dr. Who and St. Mary. ", "It is version 3.5 of 7. "],
    "before a lower-case letter": ["It returns None. or so it says."],
    "a numbered list": ["1. Stop the server.\n", "2. Copy the file.\n"],
    "japanese": ["発注は月曜日。", "納期は「三日。」", "本当？", "はい！"],
    "chinese": ["先停止服务。", "再复制文件！", "好吗？"],
    "hindi and arabic": ["यह पहला है। ", "यह दूसरा है। ", "هل هذا صحيح؟ ", "نعم."],
    "lines": ["user: is staging up?\n", "assistant: since noon\n\n", "def f(x):\n    ", "return x.y.z()"],
}


@pytest.mark.parametrize("kind", SPLIT)
def test_sentences_end_where_a_reader_would_end_them(kind: str):
    text = "".join(SPLIT[kind])
    assert [text[a:b] for a, b in sentences(text)] == SPLIT[kind]


@given(st.text("ab. !?\n。」\"'1eg…", max_size=200))
def test_sentences_joined_are_the_text(text: str):
    found = sentences(text)
    assert "".join(text[a:b] for a, b in found) == text
    assert all(a < b for a, b in found)


def test_what_has_no_end_is_cut_within():
    text = "word " * 2_000
    found = sentences(text)
    assert "".join(text[a:b] for a, b in found) == text
    assert all(estimate_tokens(text[a:b]) <= LONGEST_TOKENS for a, b in found)


def test_the_same_sentence_is_recognised_in_other_clothes():
    assert same_key("  We deploy\non THURSDAYS!") == same_key("We deploy on Thursdays.")
    assert same_key("Ｖ２．０に上げる。") == same_key("V2.0に上げる")
    assert same_key("costs 5 €") != same_key("costs 5 $")
    assert same_key("uses C") != same_key("uses C++")
