"""Vectors as bytes: the one form in which every embedder hands them out, and the check each passes at load.

A vector is `dims` little-endian float32 values with an L2 norm of 1, so that a dot product is the cosine.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from operator import mul

from hivelore.adapters.embed_loading import NotReady
from hivelore.core.ports import EmbedRole

NORM_TOLERANCE = 1e-3
_TRIAL_TEXTS = ("A cup of green tea, please.", "The server restarts every night at three.")


def pack(values: Iterable[float]) -> bytes:
    """Scale to length 1 and pack. Raises ValueError for a vector without direction (zero, NaN, infinite)."""
    numbers = [float(value) for value in values]
    norm = math.hypot(*numbers)
    if not math.isfinite(norm) or norm == 0.0:
        raise ValueError("the vector is zero or not finite")
    return struct.pack(f"<{len(numbers)}f", *(number / norm for number in numbers))


def unpack(vector: bytes) -> tuple[float, ...]:
    """The numbers of a packed vector."""
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def self_test(embed: Callable[[Sequence[str], EmbedRole], list[bytes]], dims: int) -> None:
    """Embed two unlike sentences and look at the result; raise `NotReady` if a search on such vectors would
    be noise.

    Catches the faults that otherwise show only as useless search results: wrong weights, wrong size, vectors
    that are not normalised (dot products then rank by length), a model that answers everything alike.
    """
    vectors = [unpack(vector) for vector in embed(_TRIAL_TEXTS, "passage")]
    if [len(vector) for vector in vectors] != [dims, dims]:
        raise NotReady(f"The embedding model failed its self-test: it does not give vectors of {dims} numbers.")
    if not all(abs(math.hypot(*vector) - 1.0) < NORM_TOLERANCE for vector in vectors):  # NaN fails too
        raise NotReady("The embedding model failed its self-test: its vectors do not have length 1.")
    if sum(map(mul, *vectors)) > 0.9999:
        raise NotReady("The embedding model failed its self-test: two unlike sentences get the same vector.")
