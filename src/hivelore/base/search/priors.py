"""What is known about a memory before the question: when it happened, whether it still holds. Pure functions.

All of it is small beside the score of the engines (0…1), so that it decides between hits that answer about equally
well. The constants are the whole table: a status, kind or layer that is not named here is neutral.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hivelore.base.search.model import Place
from hivelore.base.search.when import When

TIME_BONUS = 0.08  # for a memory within a stretch of time that the question names, times the confidence of the reading
RECENCY_SHARE = 0.003  # what the oldest memories lose against the newest candidate
RECENCY_HALF_LIFE_MS = 180 * 86_400_000
STATUS_FACTORS: Mapping[str, float] = {"superseded": 0.7, "archived": 0.7}
KIND_FACTORS: Mapping[str, float] = {}
LAYER_FACTORS: Mapping[str, float] = {}


def adjusted(scores: Mapping[int, float], places: Mapping[int, Place], whens: Sequence[When] = ()) -> dict[int, float]:
    """The scores of the candidates with their priors.

    Recency is measured against the newest candidate and not against the clock: among memories of the same time nothing
    changes, and the same question gives the same order tomorrow.
    """
    if not scores:
        return {}
    newest = max(places[chunk].event_ms for chunk in scores)
    bounded = [when for when in whens if when.bounded]
    found: dict[int, float] = {}
    for chunk, score in scores.items():
        place = places[chunk]
        factor = STATUS_FACTORS.get(place.status, 1.0)
        if KIND_FACTORS or LAYER_FACTORS:
            factor *= KIND_FACTORS.get(place.kind, 1.0) * LAYER_FACTORS.get(place.layer, 1.0)
        if factor != 1.0 and score > 0:
            score *= factor
        if place.event_ms != newest:
            score -= RECENCY_SHARE * (1 - 0.5 ** ((newest - place.event_ms) / RECENCY_HALF_LIFE_MS))
        if bounded:
            score += TIME_BONUS * max((when.confidence for when in bounded if when.holds(place.event_ms)), default=0.0)
        found[chunk] = score
    return found
