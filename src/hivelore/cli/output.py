"""What the command writes to a terminal: colour, tables, wrapped text, ages, a progress bar. No libraries.

Widths are display cells: a Chinese, Japanese or Korean character takes two. Text that came from a memory goes
through `plain` first, because a stored escape sequence could otherwise repaint or drive the terminal.
"""

from __future__ import annotations

import os
import sys
import time
import unicodedata
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TextIO

DEFAULT_WIDTH = 100
_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_MINUTE_MS, _HOUR_MS, _DAY_MS = 60_000, 3_600_000, 86_400_000


# -- streams


def say(text: str = "") -> None:
    """Write a line to standard output."""
    sys.stdout.write(text + "\n")


def complain(text: str) -> None:
    """Write `hivelore: …` to standard error."""
    sys.stderr.write(f"hivelore: {plain(text)}\n")


def has_colour(stream: TextIO) -> bool:
    """Colour on terminals, unless NO_COLOR (https://no-color.org) or TERM=dumb; FORCE_COLOR forces it."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def styled(text: str, style: str, stream: TextIO | None = None) -> str:
    """Wrap text in a style ("bold", "dim", "red" …) where `stream` (standard output) shows colour."""
    if not text or not has_colour(stream or sys.stdout):
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def width_of(stream: TextIO | None = None) -> int | None:
    """Columns of the terminal; None when the stream is none, and so nothing needs to be cut or wrapped."""
    stream = stream or sys.stdout
    if not stream.isatty():
        return None
    try:
        return int(os.environ.get("COLUMNS", "")) or DEFAULT_WIDTH
    except ValueError:
        pass
    try:
        return os.get_terminal_size(stream.fileno()).columns or DEFAULT_WIDTH
    except OSError:
        return DEFAULT_WIDTH


# -- text


def plain(text: str) -> str:
    """Remove control characters and direction overrides, except newline and tab."""
    return "".join(
        char
        for char in text
        if char in "\n\t" or not (unicodedata.category(char) == "Cc" or "\u202a" <= char <= "\u202e")
    )


def one_line(text: str) -> str:
    """Put text on one line."""
    return " ".join(plain(text).split())


def cells(text: str) -> int:
    """Display width."""
    if text.isascii():
        return len(text)
    return sum(_cells_of(char) for char in text)


def _cells_of(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def clip(text: str, width: int) -> str:
    """Cut to `width` cells; an ellipsis shows that something is missing."""
    if cells(text) <= width:
        return text
    kept, used = [], 1
    for char in text:
        used += _cells_of(char)
        if used > width:
            break
        kept.append(char)
    return "".join(kept) + "…" if width > 0 else ""


def pad(text: str, width: int) -> str:
    """Fill up with spaces to `width` cells."""
    return text + " " * (width - cells(text))


def wrap(text: str, width: int | None, indent: str = "") -> str:
    """Break text into lines of at most `width` cells, each behind `indent`. Line breaks in the text stay."""
    lines: list[str] = []
    room = max(width - len(indent), 10) if width else None
    for paragraph in text.split("\n"):
        lines += [paragraph] if room is None else _broken(paragraph, room)
    return "\n".join(indent + line if line else line for line in lines)


def _broken(paragraph: str, room: int) -> list[str]:
    lines, line, used = [], "", 0
    for word in paragraph.split(" "):
        if line and used + 1 + cells(word) > room:
            lines.append(line)
            line, used = "", 0
        if line:
            line, used = line + " ", used + 1
        for char in word:  # a word longer than a line (a path, or Chinese without spaces) breaks anywhere
            if used + _cells_of(char) > room:
                lines.append(line)
                line, used = "", 0
            line, used = line + char, used + _cells_of(char)
    return [*lines, line]


def table(rows: Sequence[Sequence[str]], *, width: int | None = None, indent: str = "", gap: int = 2) -> list[str]:
    """Line up columns. With `width` the last column is cut to fit; the others never are."""
    if not rows:
        return []
    widths = [max(cells(row[column]) for row in rows) for column in range(len(rows[0]))]
    before_last = len(indent) + sum(widths[:-1]) + gap * (len(widths) - 1)
    lines = []
    for row in rows:
        last = clip(row[-1], max(width - before_last, 10)) if width else row[-1]
        columns = [pad(text, size) for text, size in zip(row[:-1], widths, strict=False)]
        lines.append((indent + (" " * gap).join([*columns, last])).rstrip())
    return lines


def span(ms: int) -> str:
    """Say how long something takes or took: "8 s", "4 min", "3 h", "12 days"."""
    for unit, size in (("days", _DAY_MS), ("h", _HOUR_MS), ("min", _MINUTE_MS)):
        if ms >= 2 * size:
            return f"{ms // size} {unit}"
    return f"{max(ms, 0) // 1000} s"


def size(count: int) -> str:
    """Bytes for people: "812 B", "3.4 MB"."""
    amount = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            break
        amount /= 1000
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"


class Progress:
    """A one-line progress bar on standard error; silent where that is no terminal. Use `with`."""

    _EVERY_S = 0.1

    def __init__(
        self,
        total_bytes: int,
        label: str,
        *,
        stream: TextIO | None = None,
        elapsed_s: Callable[[], float] = time.monotonic,
        shown: Callable[[int], str] = size,
    ) -> None:
        """`total_bytes` 0 means unknown: no bar, the amount alone. `elapsed_s` is a monotonic clock. `shown` writes an
        amount where it is not bytes that are counted."""
        self._shown = shown
        self._total, self._label = total_bytes, label
        self._stream = stream or sys.stderr
        self._shows = self._stream.isatty()
        self._elapsed_s = elapsed_s
        self._begun_s = elapsed_s()
        self._drawn_s: float | None = None

    def update(self, done_bytes: int, note: str = "") -> None:
        """Say how much is done in all (not since the last call); `note` is shown at the end of the line."""
        now_s = self._elapsed_s()
        finished = 0 < self._total <= done_bytes
        too_soon = self._drawn_s is not None and now_s - self._drawn_s < self._EVERY_S
        if not self._shows or (too_soon and not finished):
            return
        self._drawn_s = now_s
        width = width_of(self._stream) or DEFAULT_WIDTH
        line = clip(self._line(done_bytes, now_s - self._begun_s, one_line(note)), width - 1)
        self._stream.write(f"\r\x1b[K{line}")
        self._stream.flush()

    def _line(self, done: int, passed_s: float, note: str) -> str:
        parts = [self._label]
        if self._total > 0:
            share = min(done / self._total, 1.0)
            full = int(share * 24)
            parts += [
                "█" * full + "░" * (24 - full),
                f"{share:4.0%}",
                f"{self._shown(done)} of {self._shown(self._total)}",
            ]
            if passed_s >= 2 and 0 < share < 1:
                parts.append(f"{span(int(passed_s * (1 - share) / share * 1000))} left")
        else:
            parts.append(self._shown(done))
        return "  ".join([*parts, note] if note else parts)

    def close(self) -> None:
        """Remove the line, so that the next output begins in a clean place. Safe to call more than once."""
        if self._shows and self._drawn_s is not None:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._drawn_s = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
