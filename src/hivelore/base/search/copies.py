"""Chunks that say nearly the same, found by comparing their vectors with each other."""

from __future__ import annotations

import numpy as np
from sqlalchemy import Connection, and_, select

from hivelore.base.search.signatures import half_to_full
from hivelore.base.search.tables import chunks, vectors

NEAR = 0.98  # cosine: the same sentence with another ending; related texts of e5 stay below 0.95


def near(connection: Connection, model: int, newest: int) -> tuple[int, list[tuple[str, str]]]:
    """Compare the first chunks of the newest entries: how many were compared, and pairs of entries of one space that
    say nearly, but not literally, the same. Takes `newest` squared products and 1.5 KB a vector."""
    joined = vectors.join(chunks, and_(chunks.c.space == vectors.c.space, chunks.c.id == vectors.c.chunk))
    rows = connection.execute(
        select(chunks.c.space, chunks.c.ref, chunks.c.hash, vectors.c.vec)
        .select_from(joined)
        .where(vectors.c.model == model, chunks.c.seq == 0)
        .order_by(vectors.c.id.desc())
        .limit(newest)
    ).all()
    pairs: list[tuple[str, str]] = []
    by_space: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        by_space.setdefault(row.space, []).append(place)
    for places in by_space.values():
        full = half_to_full([rows[place].vec for place in places])
        for one, other in np.argwhere(np.triu(full @ full.T, 1) >= NEAR).tolist():
            first, second = rows[places[one]], rows[places[other]]
            if first.hash != second.hash and first.ref != second.ref:
                pairs.append((second.ref, first.ref))
    return len(rows), pairs
