"""How the two engines' candidates become one ranked list. Pure functions, no SQL.

The engines only propose. All candidates of a question form a pool, and each is scored anew by its words and by its
vector, whichever engine led to it. Both scores are relative to the pool: a word that most candidates hold, or a
direction in which all their vectors point, says nothing about which of them is meant (the name of a speaker in a
conversation with that speaker). So the document frequencies of BM25 are those within the pool, and the mean of the
pool's vectors is taken from the question and the candidates before their cosine. Nothing of it is stored, and both
stores score alike.

    words   = bm25 / max(best bm25, COVERED * sum of idf)
    meaning = s * centred cosine / NEAR + (1 - s) * (cosine - low) / (high - low),  s = n / (n + SETTLED_POOL)
    own     = w * words + (1 - w) * meaning
    score   = own + what the neighbours in time add, over 1 where the best is above

The share `w` of the words follows from the question: more when it has many terms or is but a keyword or two, less when
its nearest vectors stand out from the others. `docs/ranking.md` tells how the constants were chosen and confirmed, and
what each part is worth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hivelore.base.search.model import Place, TermCounts
from hivelore.base.search.signatures import half_to_full

Floats = NDArray[np.float32]

K1, B = 0.8, 0.5  # of BM25: repeats and length count less than by the usual 1.2 and 0.75, because chunks are short
COVERED = 0.8  # full marks for words need this much per idf of the question ...
UNFOUND = 0.5  # ... to which a term that no candidate holds adds less: then the vectors decide more
ENDING_WEIGHT = 0.6  # of a pair of characters with hiragana, which is mostly grammar

NEAR = 0.55  # the centred cosine of a clear match
SETTLED_POOL = 20  # as many candidates count as much as the plain cosine does

SHARE_BASE = -0.3  # the logit of the words' share ...
SHARE_PER_GAP = -1.0  # ... per cosine between the best and the ODD_RANK-th candidate, beyond USUAL_GAP
SHARE_PER_TERMS = 0.6  # ... per natural logarithm of the number of terms, beyond USUAL_TERMS
USUAL_GAP, USUAL_TERMS, ODD_RANK = 0.28, 2.0, 20
MOST_GAP = 0.6  # a handful of candidates always lie far apart
KEYWORDS, KEYWORD_SHARE = 2, 0.7  # whoever asks with nothing but a word or two means these words

NEIGHBOURS = ((1, 0.3), (2, 0.2))  # how many places away, and the share of its score that a neighbour adds
NEIGHBOUR_MS = 3_600_000  # what happened further apart is no context
SELF_CONTAINED_TOKENS = 30  # a longer chunk needs its neighbours less, by the square of its length


@dataclass(frozen=True, slots=True)
class Pool:
    """The candidates of a question, in the order of their ids.

    `counts` are None for a chunk whose words are not known. `vectors` are of unit length, a row for each place (index
    in `ids`) in `embedded`. `cosines` are known from elsewhere for chunks that have none, by place.
    """

    ids: Sequence[int]
    places: Sequence[Place]
    counts: Sequence[TermCounts | None]
    embedded: NDArray[np.intp]
    vectors: Floats
    cosines: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Scores:
    """A score in 0...1 for each candidate, its plain cosine (None without a vector), and by name what was added up to
    the scores."""

    scores: list[float]
    cosines: list[float | None]
    parts: Mapping[str, Floats]


def pool(
    ids: Sequence[int],
    places: Mapping[int, Place],
    counts: Mapping[int, TermCounts],
    vectors: Mapping[int, bytes],
    cosines: Mapping[int, float],
) -> Pool:
    """The candidates with these ids (sorted). `vectors` are in half precision; `cosines` are those of chunks without
    one that another model has told."""
    embedded = [index for index, id in enumerate(ids) if id in vectors]
    rows = half_to_full([vectors[ids[index]] for index in embedded]) if embedded else np.zeros((0, 1), np.float32)
    rows /= np.maximum(np.sqrt(np.einsum("ij,ij->i", rows, rows)), 1e-6)[:, None]
    told = {index: cosines[id] for index, id in enumerate(ids) if id in cosines and id not in vectors}
    at = np.array(embedded, np.intp)
    return Pool(ids, [places[id] for id in ids], [counts.get(id) for id in ids], at, rows, told)


def score(
    pool: Pool, terms: Sequence[str], query: bytes | None, cosine_range: tuple[float, float], *, bare: bool = False
) -> Scores:
    """Score the candidates of a question with these terms and this vector (float32, unit length); either may be
    missing. `bare` says that the question is nothing but its terms."""
    size = len(pool.ids)
    if size == 0:
        return Scores([], [], {})
    words, lengths = _words(pool, terms)
    cosines = np.full(size, np.nan, np.float32)
    meaning, gap, (low, high) = np.zeros(size, np.float32), USUAL_GAP, cosine_range
    if query is not None and len(pool.embedded):
        asked = np.frombuffer(query, "<f4")
        plain = pool.vectors @ asked
        cosines[pool.embedded] = plain
        meaning[pool.embedded], gap = _meaning(pool.vectors, asked, (plain - low) / (high - low))
    for index, cosine in pool.cosines.items():
        cosines[index], meaning[index] = cosine, (cosine - low) / (high - low)
    unknown = np.isnan(cosines)
    meaning[unknown] = words[unknown]  # a text whose vector is still to come is believed to mean what it says
    known = [None if cosine != cosine else cosine for cosine in cosines.tolist()]
    if any(cosine is not None for cosine in known):
        share = _text_share(len(terms), gap, bare) if terms else 0.0
        said = {"words": share * words, "meaning": (1 - share) * meaning}
    else:
        said = {"words": words / max(float(words.max()), 1e-9)}
    own = sum(said.values(), np.zeros(size, np.float32))
    said["neighbours"] = _from_neighbours(pool, own, lengths)
    total = own + said["neighbours"]
    scale = max(float(total.max()), 1.0)
    parts = {name: added / scale for name, added in said.items()}
    return Scores(np.clip(total / scale, 0.0, 1.0).tolist(), known, parts)


def _words(pool: Pool, terms: Sequence[str]) -> tuple[Floats, Floats]:
    """What the words say, and the length of each chunk in tokens."""
    size = len(pool.ids)
    known = [each for each in pool.counts if each is not None]
    lengths = np.array([each.length if each else 0 for each in pool.counts], np.float32)
    if not terms or not known:
        return np.zeros(size, np.float32), lengths
    nothing = (0,) * len(terms)
    counts = np.array([each.found if each else nothing for each in pool.counts], np.float32)
    holding = (counts > 0).sum(axis=0)
    idf = np.log1p((size - holding + 0.5) / (holding + 0.5)) * [_weight(term) for term in terms]
    asked = float((idf * np.where(holding > 0, 1.0, UNFOUND)).sum())
    average = max(float(lengths.sum()) / len(known), 1.0)
    saturation = K1 * (1 - B + B * lengths / average)
    bm25 = (idf * counts * (K1 + 1) / (counts + saturation[:, None])).sum(axis=1)
    scale = max(float(bm25.max()), COVERED * asked, 1e-9)
    return (bm25 / scale).astype(np.float32), lengths


def _weight(term: str) -> float:
    return ENDING_WEIGHT if len(term) == 2 and any("\u3041" <= char <= "\u309f" for char in term) else 1.0


def _meaning(rows: Floats, query: Floats, plain: Floats) -> tuple[Floats, float]:
    """What the vectors say, given what the plain cosines say, and how far the nearest stand out."""
    mean = rows.mean(axis=0)
    off, asked = rows - mean, query - mean
    lengths = np.sqrt(np.einsum("ij,ij->i", off, off)) * float(np.sqrt(asked @ asked))
    centred = off @ asked / np.maximum(lengths, 1e-6)
    settled = len(rows) / (len(rows) + SETTLED_POOL)
    best_first = np.sort(centred)[::-1]
    gap = float(best_first[0] - best_first[min(ODD_RANK, len(centred)) - 1])
    said: Floats = settled * centred / NEAR + (1 - settled) * plain
    return said, gap


def _text_share(terms: int, gap: float, bare: bool) -> float:
    """How much the words count for a question."""
    if bare and terms <= KEYWORDS:
        return KEYWORD_SHARE
    by_gap = SHARE_PER_GAP * (min(gap, MOST_GAP) - USUAL_GAP)
    logit = SHARE_BASE + by_gap + SHARE_PER_TERMS * (math.log(terms) - USUAL_TERMS)
    return 1 / (1 + math.exp(-logit))


def _from_neighbours(pool: Pool, own: Floats, lengths: Floats) -> Floats:
    """What candidates gain from those that were stored right before and after them.

    A turn of a conversation answers the one before it, and says little without it. Ids follow the order of storing. The
    chunks of one memory are no neighbours: the best of them stands for it anyway.
    """
    added = np.zeros(len(pool.ids), np.float32)
    at = {id: index for index, id in enumerate(pool.ids)}
    positive = np.maximum(own - float(np.median(own)), 0.0)  # what all have in common is no news
    for distance, share in NEIGHBOURS:
        for index, id in enumerate(pool.ids):
            other = at.get(id + distance)
            if other is not None and _in_context(pool.places[index], pool.places[other]):
                added[index] += share * positive[other]
                added[other] += share * positive[index]
    needed = np.where(lengths > 0, np.minimum(SELF_CONTAINED_TOKENS / np.maximum(lengths, 1.0), 1.0) ** 2, 0.0)
    gained: Floats = added * needed
    return gained


def _in_context(one: Place, other: Place) -> bool:
    return one.space == other.space and one.ref != other.ref and abs(one.event_ms - other.event_ms) <= NEIGHBOUR_MS
