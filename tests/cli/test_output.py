"""Writing to a terminal: widths, wrapping, ages, colour, the progress bar."""

from __future__ import annotations

import io

import pytest

from hivelore.cli.output import (
    Progress,
    cells,
    clip,
    one_line,
    pad,
    plain,
    size,
    span,
    styled,
    table,
    width_of,
    wrap,
)
from hivelore.core.clock import age

DAY = 86_400_000


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("text", "width"),
    [("abc", 3), ("日本語", 6), ("한글", 4), ("é", 1), ("e\u0301", 1), ("🐝", 2), ("ｱ", 1), ("", 0)],
)
def test_width_counts_terminal_cells(text, width):
    assert cells(text) == width
    assert cells(pad(text, 10)) == 10


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "abcd…"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("abc", 1, "…"),
        ("a", 0, ""),
    ],
)
def test_clipping_never_exceeds_the_width(text, width, expected):
    assert clip(text, width) == expected
    assert cells(clip(text, width)) <= max(width, 0)


def test_wrapping_keeps_line_breaks_and_the_width():
    text = "The quick brown fox jumps.\n\n部署前先备份数据库然后再运行迁移。"
    wrapped = wrap(text, 16, indent="  ")
    assert all(cells(line) <= 16 for line in wrapped.split("\n"))
    assert "\n\n" in wrapped
    assert wrapped.replace("\n", "").replace(" ", "") == text.replace("\n", "").replace(" ", "")


def test_without_a_width_nothing_is_wrapped_or_cut():
    assert wrap("word " * 100, None) == "word " * 100
    assert table([("a", "x" * 500)]) == ["a  " + "x" * 500]


def test_a_table_lines_up_by_cells_and_cuts_only_the_last_column():
    rows = [("日本", "1", "a long description"), ("x", "22", "short")]
    assert table(rows) == ["日本  1   a long description", "x     22  short"]
    assert table(rows, width=20) == ["日本  1   a long de…", "x     22  short"]
    assert table([]) == []


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "just now"),
        (59_999, "just now"),
        (60_000, "1 min ago"),
        (3_600_000, "1 h ago"),
        (DAY, "1 day ago"),
        (59 * DAY, "59 days ago"),
        (60 * DAY, "2025-11-02"),
        (-30_000, "just now"),
        (-2 * DAY, "2026-01-03"),
    ],
)
def test_an_age_is_relative_while_that_says_more_than_a_date(ms, text):
    now = 1_767_225_600_000  # 2026-01-01
    assert age(now - ms, now) == text


@pytest.mark.parametrize(
    ("ms", "text"), [(0, "0 s"), (-5, "0 s"), (119_999, "119 s"), (120_000, "2 min"), (2 * DAY, "2 days")]
)
def test_a_span_has_one_unit(ms, text):
    assert span(ms) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (3_400_000, "3.4 MB"), (5 * 10**12, "5000.0 GB")],
)
def test_sizes_are_short(count, text):
    assert size(count) == text


def test_control_characters_are_removed_and_text_stays():
    assert plain("a\x1b[31mb\x00c\x9bd\u202ee\n\tf 値🐝") == "a[31mbcde\n\tf 値🐝"
    assert one_line(" a\n\tb  c\r") == "a b c"


@pytest.mark.parametrize(
    ("variables", "terminal", "coloured"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"TERM": "dumb"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
    ],
)
def test_colour_is_for_terminals_and_can_be_switched_off(monkeypatch, variables, terminal, coloured):
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    stream = Terminal() if terminal else io.StringIO()
    assert styled("x", "bold", stream) == ("\x1b[1mx\x1b[0m" if coloured else "x")


def test_the_width_of_a_terminal_comes_from_columns_and_a_pipe_has_none(monkeypatch):
    monkeypatch.setenv("COLUMNS", "77")
    assert width_of(Terminal()) == 77
    assert width_of(io.StringIO()) is None
    monkeypatch.setenv("COLUMNS", "wide")
    assert width_of(Terminal()) == 100  # StringIO has no file number to ask


def progress(total, stream, moments):
    return Progress(total, "Importing", stream=stream, elapsed_s=iter(moments).__next__)


def test_progress_shows_share_amount_time_left_and_note(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    stream = Terminal()
    bar = progress(4_000_000, stream, [0.0, 10.0])
    bar.update(1_000_000, "session\n7")
    line = stream.getvalue().rpartition("\x1b[K")[2]
    assert line == "Importing  ██████░░░░░░░░░░░░░░░░░░   25%  1.0 MB of 4.0 MB  30 s left  session 7"


def test_progress_draws_at_most_ten_times_a_second_but_always_the_end():
    stream = Terminal()
    bar = progress(100, stream, [0.0, 0.5, 0.55, 0.58, 0.59])
    for done in (10, 20, 30, 100):
        bar.update(done)
    assert stream.getvalue().count("\r") == 2
    assert "100%" in stream.getvalue()


def test_progress_stays_within_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    stream = Terminal()
    progress(100, stream, [0.0, 1.0]).update(50, "数据" * 50)
    assert cells(stream.getvalue().rpartition("\x1b[K")[2]) <= 39


def test_progress_of_an_unknown_total_shows_the_amount():
    stream = Terminal()
    progress(0, stream, [0.0, 1.0]).update(2_500)
    assert stream.getvalue().endswith("Importing  2.5 kB")


def test_progress_removes_its_line_when_closed():
    stream = Terminal()
    with progress(100, stream, [0.0, 1.0]) as bar:
        bar.update(50)
    assert stream.getvalue().endswith("\r\x1b[K")
    length = len(stream.getvalue())
    bar.close()
    assert len(stream.getvalue()) == length


def test_progress_is_silent_where_there_is_no_terminal():
    stream = io.StringIO()
    with progress(100, stream, [0.0, 1.0, 2.0]) as bar:
        bar.update(50)
        bar.update(100)
    assert stream.getvalue() == ""
