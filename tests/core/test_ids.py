"""Ids: unguessable or counting, and the same for the same content."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.ids import CountingIds, RandomIds, content_id

HEX32, PREFIXED = re.compile(r"[0-9a-f]{32}"), re.compile(r"job_[0-9a-f]{20}")


def test_both_makers_keep_to_the_same_formats():
    for ids in (RandomIds(), CountingIds()):
        assert HEX32.fullmatch(ids.memory())
        assert PREFIXED.fullmatch(ids.new("job"))


def test_random_ids_do_not_repeat():
    ids = RandomIds()
    assert len({ids.memory() for _ in range(10_000)} | {ids.new("x") for _ in range(10_000)}) == 20_000


def test_counting_ids_count():
    ids = CountingIds()
    assert [ids.memory()[-1], ids.new("a"), ids.memory()[-1]] == ["1", "a_00000000000000000002", "3"]


parts = st.lists(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8), min_size=1, max_size=4
)


@given(parts, parts)
def test_content_ids_are_equal_exactly_for_equal_parts(one, two):
    assert (content_id(*one) == content_id(*two)) == (one == two)


def test_parts_do_not_run_together():
    assert content_id("a", "bc") != content_id("ab", "c")
    assert content_id("a", "") != content_id("a")


def test_a_content_id_has_the_length_that_was_asked_for_and_never_changes():
    assert len(content_id("x")) == 32
    assert content_id("private", "alice", "notes", length=20) == "991ad52d044a8646cc76"
