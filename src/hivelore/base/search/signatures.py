"""Nearest neighbours on SQLite: bit signatures in memory, exact rescoring from the rows.

Each vector becomes one bit per dimension (its sign after subtracting the mean, which spreads models whose vectors all
point one way). A query ranks all signatures by Hamming distance and the best few hundred are scored exactly from their
rows. 48 bytes a vector of 384 dimensions; no build step, no file that can rot; inserts are seen at once because new
rows have higher ids, and deleted rows simply are not there when their exact score is asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, select

from hivelore.base.search.model import Candidate
from hivelore.base.search.tables import vectors

RESCORED = 400
LOAD_ROWS = 20_000
MEAN_SAMPLE = 4_096
RECENTRE_GROWTH = 4  # rebuild when the table has grown by this factor since the mean was taken

Floats = NDArray[np.float32]


def half_to_full(rows: list[bytes]) -> Floats:
    """Half-precision rows as a float32 matrix."""
    return np.frombuffer(b"".join(rows), dtype="<f2").astype(np.float32).reshape(len(rows), -1)


def full_to_half(vector: bytes) -> bytes:
    """A float32 vector as half-precision bytes."""
    return np.frombuffer(vector, dtype="<f4").astype("<f2").tobytes()


@dataclass
class _Table:
    """Signatures of one model. Arrays are longer than `size`; they grow by doubling."""

    words: int
    mean: Floats
    mean_of: int
    last_id: int = 0
    size: int = 0
    chunk: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    space: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    bits: NDArray[np.uint64] = field(default_factory=lambda: np.zeros((0, 0), np.uint64))

    def append(self, chunks: NDArray[np.int64], spaces: NDArray[np.int32], bits: NDArray[np.uint64]) -> None:
        end = self.size + len(chunks)
        if end > len(self.chunk):
            room = max(end, 2 * len(self.chunk), 1024)
            self.chunk = _grown(self.chunk, self.size, (room,))
            self.space = _grown(self.space, self.size, (room,))
            self.bits = _grown(self.bits.reshape(-1, self.words), self.size, (room, self.words))
        self.chunk[self.size : end] = chunks
        self.space[self.size : end] = spaces
        self.bits[self.size : end] = bits
        self.size = end

    def sign(self, full: Floats) -> NDArray[np.uint64]:
        packed = np.packbits(full > self.mean, axis=1)
        padded = np.zeros((len(full), self.words * 8), np.uint8)
        padded[:, : packed.shape[1]] = packed
        return padded.view(np.uint64)


def _grown(array: NDArray[Any], size: int, shape: tuple[int, ...]) -> NDArray[Any]:
    larger = np.zeros(shape, array.dtype)
    larger[:size] = array[:size]
    return larger


class SignatureIndex:
    """Signatures of all models that are searched in this process. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tables: dict[int, _Table] = {}
        self._space_codes: dict[str, int] = {}

    def nearest(
        self,
        connection: Connection,
        model: int,
        query: bytes,
        spaces: set[str] | None,
        allowed: Callable[[], NDArray[np.int64]] | None,
        fetch: Callable[[list[int]], dict[int, bytes]],
        limit: int,
    ) -> list[Candidate]:
        """The nearest chunks by exact cosine among the best signatures.

        `spaces` are the ids of spaces that count; `allowed`, when given, yields the chunk ids that pass the filters;
        `fetch` reads vectors of chunks and leaves out those that are gone.
        """
        with self._lock:
            table = self._fresh(connection, model)
            if table is None or table.size == 0:
                return []
            keep = self._mask(table, spaces)
            if allowed is not None:
                mask = np.isin(table.chunk[: table.size], allowed())
                keep = mask if keep is None else keep & mask
            places = np.arange(table.size) if keep is None else np.flatnonzero(keep)
            q = np.frombuffer(query, dtype="<f4")
            wanted = max(RESCORED, 4 * limit)
            if len(places) > wanted:
                signature = table.sign(q.reshape(1, -1))[0]
                distance = np.bitwise_count(table.bits[places] ^ signature).sum(axis=1, dtype=np.uint16)
                places = places[np.argpartition(distance, wanted)[:wanted]]
            ids = [int(i) for i in dict.fromkeys(table.chunk[places].tolist())]
        return exact(q, fetch(ids))[:limit]

    def _mask(self, table: _Table, spaces: set[str] | None) -> NDArray[np.bool_] | None:
        if spaces is None:
            return None
        codes = [code for space, code in self._space_codes.items() if space in spaces]
        return np.isin(table.space[: table.size], np.array(codes, np.int32))

    def _fresh(self, connection: Connection, model: int) -> _Table | None:
        """Bring the signatures of a model up to date with the rows that this connection sees."""
        table = self._tables.get(model)
        newest = connection.execute(select(func.max(vectors.c.id)).where(vectors.c.model == model)).scalar_one() or 0
        if table is None or (table.size > RECENTRE_GROWTH * table.mean_of and table.mean_of < MEAN_SAMPLE):
            if newest == 0:
                return None
            table = self._start(connection, model)
            self._tables[model] = table
        while table.last_id < newest:
            rows = connection.execute(
                select(vectors.c.id, vectors.c.chunk, vectors.c.space, vectors.c.vec)
                .where(vectors.c.id > table.last_id, vectors.c.model == model)
                .order_by(vectors.c.id)
                .limit(LOAD_ROWS)
            ).all()
            if not rows:
                break
            codes = [self._space_codes.setdefault(row.space, len(self._space_codes)) for row in rows]
            table.append(
                np.array([row.chunk for row in rows], np.int64),
                np.array(codes, np.int32),
                table.sign(half_to_full([row.vec for row in rows])),
            )
            table.last_id = rows[-1].id
        return table

    def _start(self, connection: Connection, model: int) -> _Table:
        rows = connection.execute(
            select(vectors.c.vec).where(vectors.c.model == model).order_by(vectors.c.id.desc()).limit(MEAN_SAMPLE)
        ).scalars().all()
        sample = half_to_full(list(rows))
        return _Table(words=-(-sample.shape[1] // 64), mean=sample.mean(axis=0), mean_of=len(rows))


def exact(query: Any, found: dict[int, bytes]) -> list[Candidate]:
    """Exact cosine of the query against these vectors, best first."""
    if not found:
        return []
    ids = list(found)
    scores = half_to_full([found[id] for id in ids]) @ query
    order = np.lexsort((ids, -scores))
    return [Candidate(ids[i], float(scores[i])) for i in order]
