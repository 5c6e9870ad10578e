"""Whether two texts say the same. Pure functions on the tokens of the text index, in any language.

Folding two memories into one hides a text, so it must be certain: `repeats` asks that the second holds no word, no
number and no negation that the first lacks, in much the same order. `alike` only says how much two texts share, for
telling somebody about a neighbour.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from hivelore.base.search.tokens import STOP_WORDS, tokens

SAME_WORDS, SAME_ORDER = 0.7, 0.5  # shares of words and of neighbouring pairs that a repetition has in common
NEIGHBOUR = 0.6  # share of words from which on two texts are worth a look together
_TELLING = frozenset(("no", "not", "nor"))  # stop words that turn a meaning round


class Signature(NamedTuple):
    """The words of a text, and the pairs of words that follow each other."""

    words: frozenset[str]
    pairs: frozenset[tuple[str, str]]


def signature(text: str) -> Signature:
    kept = [token for token in tokens(text) if token not in STOP_WORDS or token in _TELLING]
    return Signature(frozenset(kept), frozenset(pairwise(kept)))


def alike(one: Signature, other: Signature) -> float:
    """The share of words that two texts have in common, 0…1."""
    every = len(one.words | other.words)
    return len(one.words & other.words) / every if every else 0.0


def repeats(one: Signature, other: Signature) -> bool:
    """Whether `other` says nothing that `one` does not say, in much the same words and order."""
    if not other.words or other.words - one.words or alike(one, other) < SAME_WORDS:
        return False
    if not other.pairs:
        return one.words == other.words
    return len(one.pairs & other.pairs) / len(one.pairs | other.pairs) >= SAME_ORDER
