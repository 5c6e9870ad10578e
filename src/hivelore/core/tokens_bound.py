"""How many tokens a text takes of a model's context at most, without a model's vocabulary at hand.

`core.text.estimate_tokens` aims at the middle and is off by a quarter either way, which is good enough to cut chunks.
A budget that a caller sets must hold, so `tokens_at_most` errs on one side: it lies above what the encoding o200k
counts for whatever people and programs write (prose in any language, code, JSON, logs, hexadecimal and Base64; the
tests compare). It counts what the encoding cannot join (words, numbers of three digits, runs of marks), and more for
words that look less like words. A text made of rare characters on purpose can exceed it by half.
"""

from __future__ import annotations

import re
from functools import lru_cache

_PIECE = re.compile(
    r"(?P<word>[A-Z]?[a-z]+|[A-Z]+)"
    r"|(?P<number>[0-9]{1,3})"
    r"|(?P<space>\s+)"
    r"|(?P<unspaced>[\u0e00-\u0eff\u3000-\u30ff\uac00-\ud7a3\u4e00-\u9fff\uff01-\uff5e]+)"
    r"|(?P<letters>[\u00c0-\u06ff\u0900-\u0dff\u1e00-\u1fff]+)"
    r"|(?P<marks>[!-/:-@\[-`{-~]+)"
)
_CLUSTER = re.compile(r"(?i)[bcdfghjklmnpqrstvwxz]{3,}")
# Runs of marks that are one token, those of JSON before all: an answer is full of them.
_ONE_TOKEN = frozenset(
    '"," ":" ": ", {" "} [" "] ,{" }," :[ ]} () ); }; ], }, == != -> => ## ### // :// ... -- ---'.split()
)


@lru_cache(maxsize=16_384)
def _of_word(word: str, after_digit: bool) -> float:
    """A word of letters a to z. Frequent words are one token, others one for about four letters; clusters of consonants
    and words between digits are the mark of identifiers, which fall into pieces."""
    n = len(word)
    if n <= 2:
        return 1.0
    if after_digit:
        return 0.6 * n + 0.4
    usual = 1 + max(0, n - 4) / 4 if word[1:].islower() else 1 + (n - 1) / 3
    return min(usual + sum(0.5 * (len(found) - 2) for found in _CLUSTER.findall(word)), 0.7 * n + 0.5)


def tokens_at_most(text: str) -> int:
    """An upper bound of the tokens of `text`; see the module for what it holds for."""
    total, end, after_digit = 0.0, 0, False
    for match in _PIECE.finditer(text):
        if match.start() > end:  # characters of other kinds: a token a byte is the most there can be
            total += len(text[end : match.start()].encode("utf-8", "replace"))
        end, kind, piece = match.end(), match.lastgroup, match.group()
        n = len(piece)
        if kind == "word":
            total += _of_word(piece, after_digit)
        elif kind == "number":
            total += 1
        elif kind == "space":
            if piece != " " or text[end : end + 1].isdigit():  # a space joins the word behind it
                total += 1 + (n - 1) / 8 + sum(map(piece.count, "\t\r\x0b\x0c"))
        elif kind == "marks":
            total += 1 if n == 1 or piece in _ONE_TOKEN else 1 + (n - 1) * 0.8
        elif kind == "unspaced":
            total += 0.2 + n * 1.2
        else:
            total += (n + 1) / 2
        after_digit = kind == "number"
    return int(total + len(text[end:].encode("utf-8", "replace"))) + 1
