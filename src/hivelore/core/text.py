"""Text as data: cleaning, size estimates, splitting into chunks, excerpts. Pure functions.

A chunk is the unit of search. Splitting is lossless: the chunks of a text, joined, are the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# Scripts that are written without spaces between words, plus Hangul, whose words carry endings:
# Thai, Lao, Myanmar, Khmer, Hangul, Kana, CJK ideographs (all planes), half-width kana.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_UNSPACED_CHAR = re.compile(f"[{UNSPACED}]")
_SURROGATE = re.compile("[\ud800-\udfff]")

# Where a chunk may end, best first: blank line, line end, sentence end, clause end, space.
_BOUNDARIES = tuple(
    re.compile(pattern)
    for pattern in (
        r"\n[ \t]*\n+",
        r"\n",
        r"[.!?…][\"')\]]*\s|[。！？」』]",
        r"[;:,]\s|[、，；：]",
        r"\s",
    )
)


@dataclass(frozen=True, slots=True)
class Cleaned:
    """Text that both stores keep alike, with what was changed to make it so."""

    text: str
    nul_removed: int = 0
    surrogates_replaced: int = 0

    def notes(self) -> tuple[str, ...]:
        """What was changed, in words for the caller; empty for clean text."""
        said = []
        if self.nul_removed:
            said.append(f"{self.nul_removed} NUL character(s) were removed")
        if self.surrogates_replaced:
            said.append(f"{self.surrogates_replaced} lone surrogate(s) were replaced by U+FFFD")
        return tuple(said)


def clean(text: str) -> Cleaned:
    """Remove U+0000 (Postgres cannot store it) and replace lone surrogates (no encoding can carry them)."""
    nul = text.count("\0")
    if nul:
        text = text.replace("\0", "")
    surrogates = 0
    if not text.isascii():
        text, surrogates = _SURROGATE.subn("\ufffd", text)
    return Cleaned(text, nul, surrogates)


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a multilingual model: 0.8 per character of an unspaced script, else one per 3.8.

    Measured on the tokenizer of multilingual-e5-small over notes in seven languages: within 25 % of the true count
    for prose; source code comes out up to 40 % low.
    """
    if text.isascii():
        return int(len(text) / 3.8) + 1
    unspaced = len(_UNSPACED_CHAR.findall(text))
    return int(unspaced * 0.8 + (len(text) - unspaced) / 3.8) + 1


def split(text: str, target_tokens: int) -> list[tuple[int, int]]:
    """Split into consecutive (start, end) ranges of about `target_tokens` at most, at the best nearby boundary.

    Ranges cover the text without gaps. A text that fits gives one range; an empty text gives none.
    """
    ranges: list[tuple[int, int]] = []
    start, length = 0, len(text)
    while start < length:
        end = _window_end(text, start, target_tokens)
        if end < length:
            end = _best_boundary(text, start, end)
        ranges.append((start, end))
        start = end
    return ranges


def _window_end(text: str, start: int, target_tokens: int) -> int:
    """The furthest end at which text[start:end] is estimated to stay within the target."""
    reach = target_tokens * 4
    for _ in range(4):
        tokens = estimate_tokens(text[start : start + reach])
        if tokens <= target_tokens or reach <= 8:
            break
        reach = max(int(reach * target_tokens / tokens), 8)
    return min(start + reach, len(text))


def _best_boundary(text: str, start: int, end: int) -> int:
    """The last boundary of the best kind in the second half of the window; the window's end if there is none."""
    earliest = start + (end - start) // 2
    for boundary in _BOUNDARIES:
        found = 0
        for match in boundary.finditer(text, earliest, end):
            found = match.end()
        if found:
            return found
    return end


def tail_context(text: str, tokens: int) -> str:
    """The last words of `text`, about `tokens` long, beginning at a word; what is embedded in front of the next
    chunk."""
    if tokens <= 0 or not text:
        return ""
    piece = text[-tokens * 4 :]
    while estimate_tokens(piece) > tokens and len(piece) > 4:
        piece = piece[len(piece) // 4 :]
    if len(piece) < len(text):
        space = re.search(r"\s", piece)
        if space and space.end() < len(piece):
            piece = piece[space.end() :]
    return piece


def excerpt(text: str, limit_chars: int) -> str:
    """Cut to `limit_chars` code points at most, at a word where possible, with `…` when something was cut."""
    flat = " ".join(text.split())
    if len(flat) <= limit_chars:
        return flat
    cut = flat[: limit_chars - 1]
    space = cut.rfind(" ", limit_chars * 2 // 3)
    return (cut[:space] if space > 0 else cut) + "…"


def first_line(text: str, limit_chars: int = 120) -> str:
    """The first line that is not blank, cut to `limit_chars`; a title for texts that came without one."""
    for line in text.splitlines():
        if line.strip():
            return excerpt(line, limit_chars)
    return ""
