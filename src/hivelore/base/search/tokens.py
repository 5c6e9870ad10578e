"""The tokeniser of the text index, the same function for FTS5 and for tsvector, for documents and for queries.

Words are NFKC-normalised, case- and accent-folded and stemmed (English, Russian); identifiers (`max_bytes`,
`getUser`, `gen-itgc`) give their parts and the whole; runs of unspaced scripts give overlapping pairs of characters,
and their last character alone, so that a one-character query can match by prefix.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from functools import lru_cache

import snowballstemmer

from hivelore.core.text import UNSPACED

VERSION = 1  # part of the index's identity: a change means that the text index must be rebuilt

MAX_TOKEN_CHARS = 64
MAX_QUERY_TOKENS = 64

_PIECE = re.compile(
    rf"[{UNSPACED}]+|[^\W_{UNSPACED}]+(?:[-_.'’+#]+[^\W_{UNSPACED}]+)*[+#]*|[^\W_{UNSPACED}]+", re.UNICODE
)
_RUN = re.compile(f"[{UNSPACED}]")
_JOINTS = re.compile(r"[-_.'’+#]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_APOSTROPHE_S = re.compile(r"['’]s$")

_EXTRA_FOLDS = {"ø": "o", "đ": "d", "ł": "l", "æ": "ae", "œ": "oe", "ı": "i", "þ": "th", "ð": "d"}


def _folds() -> dict[int, str]:
    """Accented Latin and Greek letters to their base letters. Cyrillic й and Japanese が are letters of their own."""
    table = {ord(k): v for k, v in _EXTRA_FOLDS.items()}
    for start, end in ((0xC0, 0x250), (0x1E00, 0x1F00), (0x370, 0x400), (0x1F00, 0x2000)):
        for code in range(start, end):
            bare = "".join(c for c in unicodedata.normalize("NFD", chr(code)) if not unicodedata.combining(c))
            if bare and bare != chr(code):
                table[code] = bare
    return table


_FOLD = _folds()
_english = snowballstemmer.stemmer("english")
_russian = snowballstemmer.stemmer("russian")
_stemming = threading.Lock()  # a stemmer keeps the word at hand in itself: two threads would mix theirs

STOP_WORDS = frozenset(
    """a an the is are was were be been being am do does did done doing have has had having i me my mine we us our ours
    you your yours he him his she her hers it its they them their theirs this that these those what which who whom whose
    when where why how of in on at to for from with by about into than then there here so if and or not no nor but as
    can could will would shall should may might must s t d ll re ve m""".split()
)


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    """Stem a folded word whose script tells the language well enough; leave short words and numbers alone."""
    if len(word) <= 3 or not word.isalpha():
        return word
    if word.isascii():
        with _stemming:
            return str(_english.stemWord(word))
    if "\u0400" <= word[0] <= "\u04ff":
        with _stemming:
            return str(_russian.stemWord(word))
    return word


def _fold(word: str) -> str:
    return word.casefold().translate(_FOLD)[:MAX_TOKEN_CHARS]


def _run_tokens(run: str) -> list[str]:
    pairs = [run[i : i + 2] for i in range(len(run) - 1)]
    return [*pairs, run[-1]]


def _word_tokens(piece: str) -> list[str]:
    """Tokens of one spaced piece: its parts stemmed, and the whole when it has several parts."""
    if piece[-1] in "+#":
        stem = piece.rstrip("+#")
        sign = piece[len(stem) :]
        if stem.isalnum() and len(sign) <= 2:  # C++, C#, F#: the sign is what tells them apart
            return [_fold(stem) + sign.replace("+", "plus").replace("#", "sharp")]
        piece = stem  # "a+b+", a heading underlined with ###: only punctuation
    piece = _APOSTROPHE_S.sub("", piece)
    parts = [part for joint in _JOINTS.split(piece) for part in _CAMEL.split(joint) if part]
    if len(parts) == 1:
        return [_stem(_fold(parts[0]))]
    folded = [_fold(part) for part in parts]
    # The whole is stemmed too: a query that spells it in one word ("maxbytes") is.
    return [*(_stem(part) for part in folded), _stem("".join(folded)[:MAX_TOKEN_CHARS])]


def tokens(text: str) -> list[str]:
    """All tokens of a document, in order, repeats kept."""
    found: list[str] = []
    for match in _PIECE.finditer(unicodedata.normalize("NFKC", text)):
        piece = match.group()
        if _RUN.match(piece):
            found.extend(_run_tokens(piece))
        else:
            found.extend(_word_tokens(piece))
    return found


def query_terms(text: str) -> list[str]:
    """Distinct terms of a query in order, at most `MAX_QUERY_TOKENS`; a trailing `*` asks for a prefix match.

    Stop words go unless nothing else is left. The lone last character of a run is dropped unless the run is that one
    character, in which case it matches as a prefix.
    """
    kept: dict[str, None] = {}
    stopped: dict[str, None] = {}
    for match in _PIECE.finditer(unicodedata.normalize("NFKC", text)):
        piece = match.group()
        if _RUN.match(piece):
            for token in [piece + "*"] if len(piece) == 1 else _run_tokens(piece)[:-1]:
                kept[token] = None
        elif _fold(piece) in STOP_WORDS:
            stopped[_fold(piece)] = None
        else:
            kept.update(dict.fromkeys(_word_tokens(piece)))
    return list(kept or stopped)[:MAX_QUERY_TOKENS]


def is_bare(text: str) -> bool:
    """Whether a query is nothing but terms, like `max_bytes` or `backup schedule`: no stop word makes it a sentence."""
    pieces = _PIECE.finditer(unicodedata.normalize("NFKC", text))
    return not any(_fold(match.group()) in STOP_WORDS for match in pieces)
