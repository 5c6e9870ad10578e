"""Cursors: written positions come back, anything else means the beginning."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.page import After, Offset, read_cursor, write_cursor

positions = st.builds(Offset, st.integers(0, 10**12 - 1)) | st.builds(
    After,
    st.integers(-(10**13), 2**53 - 1),
    st.text("0123456789abcdef", min_size=1, max_size=40),
    st.integers(0, 10**6),
    st.integers(0, 10**9),
)


@given(positions)
def test_a_written_position_is_read_back(position):
    assert read_cursor(write_cursor(position)) == position


@given(positions)
def test_a_cursor_can_stand_in_an_address(position):
    assert write_cursor(position).replace("-", "").replace("_", "").isalnum()


def packed(value: object) -> str:
    return "k" + base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        None,
        "",
        "  ",
        "-1",
        "1.5",
        "abc",
        "k",
        "k!!!",
        "kAAAA",
        "0x10",
        "９９",  # digits, but not ASCII
        "9" * 40,
        packed([]),
        packed([1, "a", 2]),
        packed([1, "a", 2, 3, 4]),
        packed({"a": 1}),
        packed(None),
        packed(7),
        packed(["x", "a", 0, 0]),
        packed([None, None, None, None]),
        packed([1e400, "a", 0, 0]),
        packed([float("nan"), "a", 0, 0]),
        "k" + "A" * 10_000,
        "k\ud800",
        "ké",
    ],
)
def test_what_cannot_be_read_means_the_beginning(cursor):
    assert read_cursor(cursor) == Offset(0)


@given(st.text(st.characters(), max_size=60) | st.text("kABCab019-_=", max_size=60).map(lambda t: "k" + t))
def test_no_cursor_is_ever_an_error(cursor):
    assert isinstance(read_cursor(cursor), (Offset, After))


@pytest.mark.parametrize(
    "value", [[10**30, "a", 0, 0], [1, "a", 10**30, 0], [1, "a\0b", 0, 0], [1, "a\ud800", 0, 0], [1, "a", -5, 0]]
)
def test_a_forged_position_is_within_what_a_store_can_compare(value):
    position = read_cursor(packed(value))
    if isinstance(position, After):
        assert abs(position.created_ms) < 2**63
        assert 0 <= position.seq < 2**31
        assert "\0" not in position.id
        position.id.encode()


def test_plain_offsets_of_older_clients_are_read():
    assert read_cursor("40") == Offset(40)
    assert read_cursor(" 7 ") == Offset(7)
