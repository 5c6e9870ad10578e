"""How the two engines' candidates become one ranked list. Pure functions, no SQL.

Both scores of every candidate are known before fusing: a text hit gets its cosine from its vector row, a vector hit
that does not match the text scores zero there. Fusing scores (not ranks) lets either engine be confident: equal-weight
reciprocal rank fusion loses to the text index alone on the evaluation data.

    score = w * bm25 / max(best bm25, SOLID_TERM_SCORE * terms)  +  (1 - w) * (cosine - low) / (high - low)

The first denominator keeps a poor best text match poor: when even the best chunk holds only the common words of a
question, the vectors decide. `low` and `high` are the embedder's `cosine_range`. `w` and SOLID_TERM_SCORE were
chosen on LoCoMo, BEAM-100K, JSQuAD, CMRC 2018, XQuAD-en, CoSQA and a coding project: the smallest text share at
which no set is worse than the text index alone (docs/benchmarks.md has the figures).
"""

from __future__ import annotations

from collections.abc import Mapping

TEXT_SHARE = 0.6
SOLID_TERM_SCORE = 3.0


def fuse(
    text_scores: Mapping[int, float],
    cosines: Mapping[int, float],
    *,
    terms: int,
    cosine_range: tuple[float, float],
) -> dict[int, float]:
    """One score per chunk, mostly within 0...1, higher is better. `terms` is how many terms the question has.

    Without any cosine the text score alone counts, with its best hit at 1.
    """
    best = max(text_scores.values(), default=0.0)
    if not cosines:
        return {chunk: score / best if best > 0 else 0.0 for chunk, score in text_scores.items()}
    scale = max(best, SOLID_TERM_SCORE * terms, 1e-9)
    low, high = cosine_range
    return {
        chunk: TEXT_SHARE * text_scores.get(chunk, 0.0) / scale
        + (1 - TEXT_SHARE) * (cosines.get(chunk, low) - low) / (high - low)
        for chunk in text_scores.keys() | cosines.keys()
    }


def shown(score: float) -> float:
    """A score as answers show it: within 0...1."""
    return min(max(score, 0.0), 1.0)
