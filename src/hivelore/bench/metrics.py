"""What a ranking is worth. Pure functions.

Recall at k of a question is the share of its relevant units among the first k; any-hit at 10 is 1 when one of them is
among the first ten; MRR counts 1/rank of the first of them, 0 behind the tenth place. A figure of a set or class is the
mean over its questions. Units that repeat in a ranking (turns of one session) count where they stand first.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

CUTS = (1, 5, 10)
DEPTH = max(CUTS)


@dataclass(frozen=True, slots=True)
class Judged:
    """One question under one unit: its measures, and what the answer took. `ranks` are the places of the relevant units
    among the first ten."""

    question: str
    kind: str
    ranks: tuple[int, ...]
    relevant: int
    ms: float
    tokens: int

    def recall(self, cut: int) -> float:
        """Share of the relevant units among the first `cut`."""
        return sum(rank <= cut for rank in self.ranks) / self.relevant

    @property
    def any_hit(self) -> bool:
        """Whether any relevant unit is among the first ten."""
        return bool(self.ranks)

    @property
    def reciprocal_rank(self) -> float:
        """1 for the first place, 1/2 for the second …, 0 behind the tenth."""
        return 1 / self.ranks[0] if self.ranks else 0.0


@dataclass(frozen=True, slots=True)
class Figures:
    """Means over questions, as shares of 1, and milliseconds and tokens of their answers."""

    questions: int
    recall: tuple[float, ...]  # at CUTS
    any_hit: float
    mrr: float
    p50_ms: float
    p95_ms: float
    tokens: float


def first_places(units: Iterable[str]) -> list[str]:
    """A ranking without repeats."""
    return list(dict.fromkeys(units))


def ranks_of(ranking: Sequence[str], relevant: Collection[str]) -> tuple[int, ...]:
    """Places, from 1, of relevant units among the first ten."""
    return tuple(place for place, unit in enumerate(ranking[:DEPTH], 1) if unit in relevant)


def figures(judged: Sequence[Judged]) -> Figures:
    """The figures of a set or of one class of it; `judged` holds one question at least."""
    count = len(judged)
    times = [each.ms for each in judged]
    return Figures(
        questions=count,
        recall=tuple(sum(each.recall(cut) for each in judged) / count for cut in CUTS),
        any_hit=sum(each.any_hit for each in judged) / count,
        mrr=sum(each.reciprocal_rank for each in judged) / count,
        p50_ms=percentile(times, 0.50),
        p95_ms=percentile(times, 0.95),
        tokens=sum(each.tokens for each in judged) / count,
    )


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]
