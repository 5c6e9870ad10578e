"""Vectors from hashed words: instant, offline, the same on every machine. For tests and first trials.

Feature hashing (Weinberger et al. 2009): every word, and every pair of neighbouring characters of a script
without spaces, adds +1 or -1 to one of 256 places. Texts that share words get similar vectors; meaning is not
understood.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

from hivelore.adapters.embed_loading import READY
from hivelore.adapters.embed_text import encodable
from hivelore.adapters.embed_vectors import pack
from hivelore.core.ports import EmbedderState, EmbedRole
from hivelore.core.text import UNSPACED

DIMS = 256
_LIMIT_CHARS = 8_192
_RUN = re.compile(f"(?P<unspaced>[{UNSPACED}]+)|[^\\W{UNSPACED}]+")


class HashEmbedder:
    """A deterministic `Embedder`, ready at once. A query and a passage of one text get the same vector."""

    model = f"hash/{DIMS}"
    dims = DIMS
    remote = False
    cosine_range = (0.0, 0.6)

    def state(self) -> EmbedderState:
        return READY

    def start(self) -> None:
        """Nothing to load."""

    def wait_ready(self, timeout_s: float) -> EmbedderState:
        return READY

    def embed(self, texts: Sequence[str], role: EmbedRole) -> list[bytes]:
        """One vector per text, in order."""
        return [_vector(text) for text in texts]

    def prepare(self, query: str) -> Callable[[], bytes]:
        """Nothing of this is short."""
        return lambda: self.embed([query], "query")[0]

    def close(self) -> None:
        """Nothing to free."""


def _vector(text: str) -> bytes:
    text = unicodedata.normalize("NFKC", encodable(text, _LIMIT_CHARS)).casefold()
    places = [0.0] * DIMS
    for feature in _features(text):
        place, sign = _hash(feature)
        places[place] += sign
    if not any(
        places
    ):  # no words (emoji, punctuation, nothing), or words that cancelled out: the text is its own feature
        place, sign = _hash("\0" + text)
        places[place] = sign
    return pack(places)


def _features(text: str) -> Iterator[str]:
    for run in _RUN.finditer(text):
        word = run.group()
        if run["unspaced"] is None or len(word) == 1:
            yield word
        else:
            yield from (word[i : i + 2] for i in range(len(word) - 1))


def _hash(feature: str) -> tuple[int, float]:
    """Place and sign of a feature. blake2b and not hash(): the latter is salted per process."""
    number = int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest(), "little")
    return number % DIMS, 1.0 if number >> 63 else -1.0
