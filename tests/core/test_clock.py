"""Time: whole milliseconds, ISO 8601 in and out, words refused."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivelore.core.clock import ManualClock, SystemClock, iso_utc, iso_z, parse_iso_ms
from hivelore.core.errors import Invalid


def test_the_machines_clock_tells_milliseconds():
    before = int(time.time() * 1000)
    told = SystemClock().now_ms()
    assert before - 1 <= told <= int(time.time() * 1000) + 1


def test_a_manual_clock_stands_still_until_moved():
    clock = ManualClock(at_ms=0)
    assert clock.now_ms() == clock.now_ms() == 0
    clock.advance(ms=1, seconds=2, minutes=3, days=4)
    assert clock.now_ms() == 1 + 2_000 + 180_000 + 4 * 86_400_000


def test_times_are_written_in_utc_with_milliseconds():
    assert iso_utc(1_777_629_600_000) == "2026-05-01T10:00:00.000+00:00"
    assert iso_utc(1_777_629_600_007) == "2026-05-01T10:00:00.007+00:00"
    assert iso_z(1_777_629_600_007) == "2026-05-01T10:00:00.007Z"
    assert iso_z(-1) == "1969-12-31T23:59:59.999Z"


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-01", 0),
        ("2026-05-01", 1_777_593_600_000),
        ("2026-05-01T10:00:00Z", 1_777_629_600_000),
        ("2026-05-01T10:00:00", 1_777_629_600_000),
        ("2026-05-01 10:00", 1_777_629_600_000),
        ("2026-05-01T12:00:00+02:00", 1_777_629_600_000),
        ("2026-05-01T10:00:00.0079Z", 1_777_629_600_007),
        ("  2026-05-01T10:00:00Z\n", 1_777_629_600_000),
    ],
)
def test_dates_and_times_are_read(text, ms):
    assert parse_iso_ms(text, "since") == ms


@pytest.mark.parametrize(
    "text", ["", "last March", "2026-13-01", "2026-02-30", "1777629600", "日本", "10:00", "2026-05-01T25:00"]
)
def test_a_date_in_words_is_refused_with_the_field_and_the_format(text):
    with pytest.raises(Invalid, match=r"since must be an ISO 8601 .* such as 2026-05-01") as caught:
        parse_iso_ms(text, "since")
    assert caught.value.data == {"field": "since"}


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_time_beyond_the_calendar_is_refused(text):
    with pytest.raises(Invalid, match="until"):
        parse_iso_ms(text, "until")


@given(st.integers(-62_135_596_800_000, 253_402_300_799_999))
def test_what_is_written_is_read_back(ms):
    assert parse_iso_ms(iso_utc(ms), "t") == ms
    assert parse_iso_ms(iso_z(ms), "t") == ms
