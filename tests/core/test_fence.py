"""Recalled text on its way back in is recognised and never stored again."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.fence import strip_recalled

BLOCKS = ["hivelore_memory", "memmy_memory_context", "memos_context", "memory_context"]


@pytest.mark.parametrize("name", BLOCKS)
def test_an_injected_block_goes_and_the_rest_stays(name):
    text = f"Before.\n<{name} source='recall' trust=\"low\">\n- one\n- two\n</{name}>\nAfter."
    assert strip_recalled(text) == ("Before.\n\nAfter.", 1)


def test_several_blocks_go_each_for_itself():
    text = "<memory_context>a</memory_context>kept<hivelore_memory>b</hivelore_memory >"
    assert strip_recalled(text) == ("kept", 2)


def test_letter_case_does_not_hide_a_block():
    assert strip_recalled("<Memory_Context>x</MEMORY_CONTEXT>y") == ("y", 1)


def test_the_users_request_is_unwrapped():
    text = "<memory_context>x</memory_context>\n<current_user_request>\nFix the test.\n</current_user_request>"
    assert strip_recalled(text) == ("Fix the test.", 1)


def test_words_about_the_tag_before_a_block_stay():
    text = "What does `<hivelore_memory>` do?\n<hivelore_memory>x</hivelore_memory>"
    assert strip_recalled(text) == ("What does `<hivelore_memory>` do?", 1)


def test_a_block_that_never_ends_is_text():
    assert strip_recalled("see <memory_context> in the docs") == ("see <memory_context> in the docs", 0)


def test_other_tags_are_text():
    for text in ("a < b", "<div>memory_context</div>", "<memory_contexts>x</memory_contexts>", "  spaces stay  "):
        assert strip_recalled(text) == (text, 0)


@given(st.text("<>/memory_context hivelore\n ab", max_size=300))
def test_what_was_stripped_has_nothing_left_to_strip(text):
    once, _ = strip_recalled(text)
    assert strip_recalled(once)[1] == 0 or once != text


@given(st.text(st.characters(exclude_characters="<"), max_size=200))
def test_text_without_a_tag_is_returned_as_it_is(text):
    assert strip_recalled(text) == (text, 0)


def test_marks_that_look_alike_are_text_or_blocks_as_a_reader_would_say():
    # A memory that holds a closing tag does not end its block early.
    assert strip_recalled("<memory_context>a<memory_context>b</memory_context>c</memory_context>") == ("", 1)
    assert strip_recalled("</memory_context>a<memory_context>b") == ("</memory_context>a<memory_context>b", 0)
    assert strip_recalled("<hivelore_memory>a</memory_context>b</hivelore_memory>c") == ("c", 1)


@pytest.mark.parametrize(
    "hostile",
    [
        "<memory_context>",
        "<memory_context ",
        "</memory_context ",
        "<memory_context></memory_context",
        "<current_user_request ",
    ],
)
def test_a_hostile_text_takes_time_in_proportion_to_its_size(hostile):
    """Four times the text may take four times as long; a quadratic pattern would take sixteen times as long."""

    def seconds(size: int) -> float:
        text = hostile * (size // len(hostile))
        begun = time.process_time()
        strip_recalled(text)
        return time.process_time() - begun

    long = seconds(400_000)
    if long > 0.15:  # a short measurement decides nothing
        assert long < 10 * min(seconds(100_000) for _ in range(2))
