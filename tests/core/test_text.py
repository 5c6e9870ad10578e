"""Text as data: cleaning, estimates, lossless splitting at good places, excerpts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.text import clean, estimate_tokens, excerpt, first_line, split, tail_context

ENGLISH = "The staging database migrates on every deploy. Run the checks first; then press the button.\n\n" * 40
JAPANESE = "今日はしりとりの仕様を決めた。次はテストを書く。\n" * 60
CODE = "def f(x):\n    return x + 1\n\n\n" * 80

any_text = st.text(max_size=2_000) | st.text("ab .。\n、あ日😀é", max_size=600)


def chunks(text: str, target: int) -> list[str]:
    return [text[start:end] for start, end in split(text, target)]


# -- cleaning ----------------------------------------------------------------------------------------------------------


def test_clean_text_is_left_alone():
    for text in ("", "plain", "日本語 😀 é\r\n\t", ENGLISH):
        cleaned = clean(text)
        assert cleaned.text == text
        assert cleaned.notes() == ()


def test_nul_is_removed_and_noted():
    cleaned = clean("a\0b\0\0c")
    assert cleaned.text == "abc"
    assert cleaned.notes() == ("3 NUL character(s) were removed",)


def test_lone_surrogates_are_replaced_and_noted():
    half_an_emoji = "😀".encode("utf-16-le", "surrogatepass")[:2].decode("utf-16-le", "surrogatepass")
    cleaned = clean(f"x\udc8ay{half_an_emoji}")
    assert cleaned.text == "x\ufffdy\ufffd"
    assert cleaned.notes() == ("2 lone surrogate(s) were replaced by U+FFFD",)


@given(st.text(st.characters(), max_size=300))
def test_cleaned_text_can_be_encoded_and_cleaning_again_changes_nothing(text: str):
    cleaned = clean(text)
    cleaned.text.encode()
    assert "\0" not in cleaned.text
    assert clean(cleaned.text).text == cleaned.text
    assert len(cleaned.text) == len(text) - cleaned.nul_removed


# -- estimates ---------------------------------------------------------------------------------------------------------


@given(any_text)
def test_an_estimate_is_positive_and_grows_with_the_text(text: str):
    assert estimate_tokens(text) >= 1
    assert estimate_tokens(text + text) >= estimate_tokens(text)


def test_unspaced_scripts_count_almost_one_token_a_character():
    assert estimate_tokens("日" * 100) == 81
    assert estimate_tokens("e" * 380) == 101


# -- splitting ---------------------------------------------------------------------------------------------------------


@given(any_text, st.integers(1, 200))
def test_chunks_joined_are_the_text(text: str, target: int):
    ranges = split(text, target)
    assert "".join(text[start:end] for start, end in ranges) == text
    assert all(start < end for start, end in ranges)


@given(any_text, st.integers(8, 200))
def test_no_chunk_is_much_larger_than_its_target(text: str, target: int):
    for chunk in chunks(text, target):
        assert estimate_tokens(chunk) <= target * 1.5 + 8


@given(any_text)
def test_a_text_that_fits_is_one_chunk(text: str):
    assert len(split(text, 100_000)) == (1 if text else 0)


@pytest.mark.parametrize(
    ("text", "ends"),
    [(ENGLISH, "\n"), (JAPANESE, "\n"), (CODE, "\n")],
    ids=["english", "japanese", "code"],
)
def test_chunks_end_at_the_best_boundary_nearby(text: str, ends: str):
    parts = chunks(text, 60)
    assert len(parts) > 3
    assert all(part.endswith(ends) for part in parts)


def test_a_sentence_end_is_better_than_a_space_and_a_space_better_than_nothing():
    sentences = "One two three four five. " * 200
    assert all(part.endswith(". ") for part in chunks(sentences, 40))
    words = "word " * 400
    assert all(part.endswith(" ") for part in chunks(words, 40))
    japanese = "仕様を決めた。" * 100
    assert all(part.endswith("。") for part in chunks(japanese, 40))


def test_a_text_without_any_boundary_is_cut_where_the_window_ends():
    parts = chunks("x" * 5_000, 50)
    assert len(parts) > 10
    assert max(map(len, parts)) <= 400


def test_splitting_a_long_text_takes_time_in_proportion():
    import time

    def seconds(text: str) -> float:
        started = time.perf_counter()
        split(text, 120)
        return time.perf_counter() - started

    short, long = ENGLISH * 4, ENGLISH * 64
    assert min(seconds(long) for _ in range(3)) < 16 * 4 * max(min(seconds(short) for _ in range(3)), 0.0005)


# -- context and excerpts ----------------------------------------------------------------------------------------------


def test_the_tail_begins_at_a_word():
    tail = tail_context("The quick brown fox jumps over the lazy dog", 5)
    assert "The quick brown fox jumps over the lazy dog".endswith(tail)
    assert tail.split()[0] in ("over", "the", "lazy", "jumps")


@given(any_text, st.integers(0, 60))
def test_a_tail_is_the_end_of_its_text_and_no_longer_than_asked(text: str, tokens: int):
    tail = tail_context(text, tokens)
    assert text.endswith(tail)
    assert not tail or len(tail) <= 4 or estimate_tokens(tail) <= tokens


@given(any_text, st.integers(2, 400))
def test_an_excerpt_keeps_to_its_limit_and_shows_that_it_was_cut(text: str, limit: int):
    cut = excerpt(text, limit)
    flat = " ".join(text.split())
    assert len(cut) <= limit
    assert cut == flat or (cut.endswith("…") and flat.startswith(cut[:-1].rstrip()))


def test_an_excerpt_is_cut_at_a_word_where_possible():
    assert excerpt("alpha beta gamma delta epsilon", 20) == "alpha beta gamma…"
    assert excerpt("日本語のとても長い文章です", 6) == "日本語のと…"


def test_the_first_line_that_says_something_is_the_title():
    assert first_line("\n \t\n  Decision: use uv  \nbecause …") == "Decision: use uv"
    assert first_line("\n\n") == ""
    assert len(first_line("x" * 500)) == 120
