"""Texts as sentences, in any script, and what makes two sentences the same one. Pure functions."""

from __future__ import annotations

import re
import unicodedata

from hivelore.core.text import estimate_tokens, split

LONGEST_TOKENS = 200  # what has no end for longer than this is cut at the best place within: a table, a minified file

# A full stop ends a sentence when a blank follows; those of scripts without spaces need none; a line end always does.
_END = re.compile(
    r"[.!?…]+[\"'”’»)\]]*(?=\s)|[。！？｡．]+[」』）”’\"]*|[।॥؟۔]+(?=\s|$)|\n",
)
_NOT_AN_END = re.compile(
    r"(?:^|[\s(\[\"'])(?:[A-Za-z]|\d{1,3}|e\.g|i\.e|z\.B|d\.h|u\.a|cf|vs|etc|ca|approx|no|nr|fig|mr|mrs|ms|dr|st|prof|vol"
    r"|bzw|usw|т\.е|т\.д|т\.к|г|ул|см)\.$",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"[^\w+#%€$£¥]+")


def sentences(text: str) -> list[tuple[int, int]]:
    """Consecutive (start, end) ranges, one a sentence with the blanks behind it; joined they are the text.

    A line is a sentence of its own (lists, code, dialogues). Abbreviations and numbers of lists do not end one, nor
    does a stop before a lower-case letter.
    """
    found: list[tuple[int, int]] = []
    start, length = 0, len(text)
    for match in _END.finditer(text):
        end = match.end()
        if end <= start or not text[start:end].strip():
            continue
        if match.group()[0] == "." and _goes_on(text, match.start() + 1, end):
            continue
        while end < length and text[end].isspace():
            end += 1
        found += _cut(text, start, end)
        start = end
    if start < length:
        found += _cut(text, start, length)
    return found


def _goes_on(text: str, stop: int, end: int) -> bool:
    behind = text[end:].lstrip(" \t")[:1] if end < len(text) else ""
    return behind.islower() or bool(_NOT_AN_END.search(text[max(0, stop - 12) : stop]))


def _cut(text: str, start: int, end: int) -> list[tuple[int, int]]:
    if end - start < LONGEST_TOKENS or estimate_tokens(text[start:end]) <= LONGEST_TOKENS:
        return [(start, end)]
    return [(start + a, start + b) for a, b in split(text[start:end], LONGEST_TOKENS)]


def same_key(sentence: str) -> str:
    """What two ways of writing one sentence have in common: no case, width, punctuation or line breaks."""
    return _PLAIN.sub(" ", unicodedata.normalize("NFKC", sentence).casefold()).strip()
