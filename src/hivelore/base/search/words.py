"""Which chunks answer by their words: BM25 over a bounded number of index entries, the same on both stores.

Scoring every chunk that holds any word of a question costs in proportion to the store, and common words tell least. So
the index is read in the order of what words tell:

1. Each term is counted up to `COUNTED`; a more frequent one is estimated.
2. All entries of the rarest terms are read, as long as they are `MOST_READ` or fewer together.
3. Of the terms that are left, only what stands beside a rare one is read; and where the rare ones are too few, the
   chunks that hold two of the commonest at once, newest first.

Candidates are ordered by the sum of their terms' weights, and the best `RESCORED` that satisfy the conditions get their
true BM25 score from their own tokens. While the terms together have `MOST_READ` entries or fewer nothing is left out.
Every chunk has a token for its space, too: a tiny scope is part of every look, so that no word of the rest of the store
is read. A small store needs none of this: there the index's own ranking is asked, where it has one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection

from hivelore.base.search.model import Candidate, Place, TermCounts

FEW = 500  # chunks; below no term is too common to look up
COMMON_SHARE = 0.2  # of all chunks; a term in more of them has a low inverse document frequency
SMALL = 5_000  # chunks; a store of fewer is searched by its index's own ranking, if it has one
COUNTED = 20_000  # entries of a term that are counted one by one
PAIRED = 5_000  # chunks with two common terms that are looked at, newest first
COMMONEST = 4  # common terms that are looked up beside others; the rarest of them
KEPT = 60_000  # candidates beyond the front of the order that are kept for conditions that few satisfy
RESCORED = 300  # candidates that get a BM25 score
TINY = 1_500  # chunks; in a scope of fewer its token is part of every look
NARROW = 30_000  # chunks; of a scope of fewer all are read first, and what lies outside is left out
MOST_SPACES = 16  # that can be named in one look
K1, B = 1.2, 0.75

SPACE_MARK = "\ue000"  # begins the token of a space; of the private use area, which no token of a text holds

Ids = NDArray[np.int64]
Words = tuple[tuple[str, ...], ...]  # every group must be there, by one of its terms


class Counted(NamedTuple):
    """What a chunk holds of the terms, and its place."""

    chunk: int
    counts: TermCounts
    place: Place


class Index(Protocol):
    """What a store's own text index must be able to do; `sqlite` and `postgres` are such modules. `best` is its own
    ranking, where it has one: it reads every chunk that holds any of the terms; its last argument says of which terms
    the counts are wanted."""

    best: (
        Callable[[Connection, Sequence[str], Sequence[ColumnElement[bool]], int, Sequence[str]], list[Candidate]] | None
    )

    MOST_READ: int  # entries that may be read in full for one question; so many are cheap

    def corpus(self, connection: Connection) -> tuple[int, float]:
        """Number of chunks, and their average length in tokens."""
        ...

    def frequency(self, connection: Connection, term: str, most: int, total: int) -> int:
        """In how many of `total` chunks a term stands: exact up to `most`, an estimate beyond; `most` without
        `total`."""
        ...

    def matching(self, connection: Connection, words: Words, most: int | None) -> Ids:
        """Chunks that hold these words, ascending; of more than `most` the newest."""
        ...

    def counted(
        self, connection: Connection, ids: Sequence[int], terms: Sequence[str], where: Sequence[ColumnElement[bool]]
    ) -> Sequence[Counted]:
        """What these chunks hold of the terms; those that fail the conditions are left out."""
        ...


@dataclass(frozen=True, slots=True)
class Term:
    """A term with its weight (inverse document frequency) and the number of chunks that hold it."""

    text: str
    frequency: int
    weight: float


def space_token(space: str) -> str:
    """The token under which the index knows all chunks of a space."""
    return SPACE_MARK + space.replace("_", "")  # which FTS5 would take for the end of a token


def match(
    index: Index,
    connection: Connection,
    terms: Sequence[str],
    spaces: Sequence[str] | None,
    where: Sequence[ColumnElement[bool]],
    limit: int,
) -> list[Candidate]:
    """The best chunks for any of the terms, BM25 score (higher is better). `spaces` are those of a scope that names its
    spaces; `where` says it, too, with everything else that a chunk must satisfy."""
    total, average = index.corpus(connection)
    if total == 0:
        return []
    if total <= SMALL and index.best is not None:
        return index.best(connection, _telling(index, connection, terms, total), where, limit, terms)
    frequencies = {term: index.frequency(connection, term, COUNTED, total) for term in terms}
    weights = {term: _weight(total, frequency) for term, frequency in frequencies.items() if frequency}
    if not weights:
        return []
    weighed = [Term(term, frequencies[term], weight) for term, weight in weights.items()]
    weighed.sort(key=lambda term: term.frequency)
    places = tuple(space_token(space) for space in spaces) if spaces and len(spaces) <= MOST_SPACES else ()
    ids = _candidates(index, connection, total, weighed, places, limit)
    return _scored(index, connection, terms, weights, average, ids, where, limit)


def _telling(index: Index, connection: Connection, terms: Sequence[str], total: int) -> Sequence[str]:
    """The terms that tell chunks apart. One that stands in a large part of all chunks adds next to nothing to any
    score, but makes the index read all of them; it is left out when rarer terms are there."""
    most = int(total * COMMON_SHARE)
    if len(terms) < 2 or total < FEW:
        return terms
    return [term for term in terms if index.frequency(connection, term, most, 0) < most] or terms


def _weight(total: int, frequency: int) -> float:
    """FTS5's inverse document frequency, never below a small positive value."""
    return max(math.log((total - frequency + 0.5) / (frequency + 0.5)), 1e-6) if total > frequency else 1e-6


def _candidates(
    index: Index, connection: Connection, total: int, terms: Sequence[Term], places: tuple[str, ...], limit: int
) -> Ids:
    """Ids of chunks that may be among the best, most promising first."""
    size = sum(index.frequency(connection, place, NARROW, total) for place in places) if places else NARROW
    tiny = size < TINY
    inside = index.matching(connection, (places,), None) if TINY <= size < NARROW else None

    def look(words: Words, most: int | None = None) -> Ids:
        if tiny or (most and places):
            return index.matching(connection, (places, *words), most)
        ids = index.matching(connection, words, most)
        return ids if inside is None else _common(ids, inside)

    rare, common = (list(terms), list[Term]()) if tiny else _split(terms, index.MOST_READ)
    found = [(look(((term.text,),)), term.weight) for term in rare]
    common = common[:COMMONEST]
    if common and rare:
        beside = tuple(term.text for term in rare)
        found += [(look((beside, (term.text,))), term.weight) for term in common]
    wanted = max(RESCORED, limit)
    if common and sum(len(ids) for ids, _ in found) < wanted:
        both: dict[str, list[Ids]] = {term.text: [] for term in common[:3]}
        for one, other in combinations(both, 2):
            ids = look(((one,), (other,)), PAIRED)
            both[one].append(ids)
            both[other].append(ids)
        found += [(_union(both[term.text]), term.weight) for term in common[:3]]
    if common and sum(len(ids) for ids, _ in found) < wanted:
        found.append((look(((common[0].text,),), PAIRED), common[0].weight))
    return _by_weight(found)


def _common(ids: Ids, inside: Ids) -> Ids:
    """Those of the ids that are in both; both are in order."""
    if not len(ids) or not len(inside):
        return ids[:0]
    there = np.zeros(max(ids[-1], inside[-1]) + 1, bool)
    there[inside] = True
    return ids[there[ids]]


def _split(terms: Sequence[Term], most: int) -> tuple[list[Term], list[Term]]:
    """Terms whose entries are read in full, and the others; `terms` come rarest first."""
    entries = 0
    for place, term in enumerate(terms):
        entries += term.frequency
        if entries > most:
            return list(terms[:place]), list(terms[place:])
    return list(terms), []


def _union(arrays: Sequence[Ids]) -> Ids:
    return np.unique(np.concatenate(arrays)) if arrays else np.zeros(0, np.int64)  # one common term has no pair


def _by_weight(found: Sequence[tuple[Ids, float]]) -> Ids:
    """All ids by the sum of the weights of the lists that hold them, best first; of equals the newest first."""
    ids = np.concatenate([each for each, _ in found]) if found else np.zeros(0, np.int64)
    if not len(ids):
        return ids
    weights = np.repeat([weight for _, weight in found], [len(each) for each, _ in found])
    order = np.argsort(ids, kind="stable")  # joined runs that are in order each: next to no work
    ids, weights = ids[order], weights[order]
    first = np.flatnonzero(np.diff(ids, prepend=-1))
    ids, sums = ids[first], np.add.reduceat(weights, first)
    return ids[np.lexsort((-ids, -sums))] if len(ids) < 4 * RESCORED else _best_first(ids, sums)


def _best_first(ids: Ids, sums: NDArray[np.float64]) -> Ids:
    """Like a full sort, but the many that are far behind stay in the order of their ids."""
    newness = ids / (1e6 * ids[-1])  # decides between equal sums only
    keys = -(sums + newness)
    near = np.argpartition(keys, 2 * RESCORED)
    front = near[: 2 * RESCORED]
    front = front[np.argsort(keys[front], kind="stable")]
    rest = near[2 * RESCORED :]
    return ids[np.concatenate([front, rest[np.argsort(keys[rest], kind="stable")]])] if len(rest) < KEPT else ids[front]


def _scored(
    index: Index,
    connection: Connection,
    terms: Sequence[str],
    weights: Mapping[str, float],
    average: float,
    ids: Ids,
    where: Sequence[ColumnElement[bool]],
    limit: int,
) -> list[Candidate]:
    """BM25 of the first `RESCORED` that satisfy the conditions."""
    wanted = max(RESCORED, limit)
    by_term = [weights.get(term, 0.0) for term in terms]
    scored: list[Candidate] = []
    start, step = 0, wanted
    while start < len(ids) and len(scored) < wanted:
        some = ids[start : start + step].tolist()
        start += step
        for chunk, counts, place in index.counted(connection, some, terms, where):
            norm = K1 * (1 - B + B * counts.length / average)
            score = 0.0
            for weight, count in zip(by_term, counts.found, strict=True):
                if count:
                    score += weight * count * (K1 + 1) / (count + norm)
            scored.append(Candidate(chunk, score, place, counts))
        # As many more as will do if so large a part of them passes as before, and at most four times as many.
        step = min((wanted - len(scored)) * start // max(len(scored), 1) + 50, 4 * start)
    scored.sort(key=lambda candidate: (-candidate.score, candidate.chunk))
    return scored[:limit]
