"""Arithmetic on packed vectors, for the embedder tests."""

from __future__ import annotations

from operator import mul

from hivelore.adapters.embed_vectors import unpack


def cosine(one: bytes, other: bytes) -> float:
    """Cosine of two packed vectors of length 1."""
    return float(sum(map(mul, unpack(one), unpack(other))))
