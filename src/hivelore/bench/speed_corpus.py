"""A large store for measuring: invented memories of about 60 tokens in real English, their vectors, and questions.

The words are those of Python's own language reference, which every installation carries: their frequencies are those of
real text, so that common words are as common as in a real store. People and tickets are the long tail. The same count
gives the same memories on every run of the same Python.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pydoc_data.topics import topics

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

PEOPLE = "Ana Bo Chen Dara Emil Fumi Gita Hugo Ines Jun Kofi Lena Mio Nils Olga Pia Quin Rosa Sami Tove Uma".split()
PROJECTS = "amber basalt cobalt delta ember fjord garnet harbor indigo juniper krill lagoon maple nectar onyx".split()
MEMORY_CHARS = 235  # about 60 tokens
SHARES = (("half", 0.5), ("some", 0.02), ("few", 0.0001))  # namespaces and their share of all memories
REST = "rest"

_MARKUP = re.compile(r"[*`\"|]+|^\s*[-=+^~]{3,}.*$", re.MULTILINE)


def sentences() -> list[str]:
    """Sentences of the language reference, without its markup."""
    found = []
    for name in sorted(topics):
        for sentence in re.split(r"(?<=[.:])\s+", _MARKUP.sub("", topics[name])):
            flat = " ".join(sentence.split())
            if 40 <= len(flat) <= 300 and flat[0].isalpha():
                found.append(flat)
    return found


def memories(count: int, seed: int = 7) -> Iterator[tuple[str, str]]:
    """`count` memories as (namespace, text)."""
    rng = random.Random(seed)
    known = sentences()
    for number in range(count):
        draw, space = rng.random(), REST
        for name, share in SHARES:
            if draw < share:
                space = name
                break
            draw -= share
        first, second = rng.choice(known), rng.choice(known)
        words = second.split()
        start = rng.randrange(len(words))
        body = f"{first} {' '.join(words[start:] + words[:start])}"[:MEMORY_CHARS]
        yield space, f"{rng.choice(PEOPLE)}: {body} ({rng.choice(PROJECTS)}-{number})"


def questions(count: int, seed: int = 11) -> list[str]:
    """`count` questions in the words of a sentence each: some rare, some in a tenth of all memories."""
    rng = random.Random(seed)
    known = sentences()
    asked = []
    for _ in range(count):
        words = re.findall(r"[A-Za-z_]+", rng.choice(known))
        start = rng.randrange(max(1, len(words) - 9))
        asked.append(f"what did {rng.choice(PEOPLE)} say about {' '.join(words[start : start + rng.randint(4, 9)])}?")
    return asked


class Vectors:
    """Vectors with the structure of an embedder's own: each is that of a real text, moved along the difference of two
    others, so that clusters, spread and correlations stay those of the model."""

    def __init__(self, sample: Floats, seed: int = 5) -> None:
        self._sample = sample
        self._rng = np.random.default_rng(seed)

    def make(self, count: int) -> Floats:
        """`count` unit vectors."""
        at = self._rng.integers(0, len(self._sample), (3, count))
        step = self._rng.uniform(0.3, 0.8, (count, 1)).astype(np.float32)
        made = self._sample[at[0]] + step * (self._sample[at[1]] - self._sample[at[2]])
        unit: Floats = made / np.linalg.norm(made, axis=1, keepdims=True)
        return unit
