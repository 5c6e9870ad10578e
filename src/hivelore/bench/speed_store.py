"""The store that `bench speed` measures: filled with texts through the real insert path, and with made vectors."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import bindparam, func, select, text

from hivelore.base.identity import store as identity
from hivelore.base.memories import service as memories
from hivelore.base.memories.model import Draft
from hivelore.base.search import postgres
from hivelore.base.search.signatures import half_to_full
from hivelore.base.search.store import model_id
from hivelore.base.search.tables import chunks, models, pending, vectors
from hivelore.bench.speed_corpus import Floats, Vectors
from hivelore.core.actor import Caller, Principal, Role, space_of
from hivelore.sql.types import vector_literal
from hivelore.work import Call, Hub

USER = "bench"
BATCH = 1_000  # memories in a transaction, as an import writes them
VECTOR_BATCH = 5_000

Ids = NDArray[np.int64]


def call(hub: Hub) -> Call:
    """A request of the user whose memories these are."""
    return hub.call(Caller(Principal(USER, Role.OWNER), door="bench"))


def stored(hub: Hub) -> int:
    """How many chunks the store holds; one for each memory."""
    with hub.db.read() as connection:
        return int(connection.execute(select(func.count()).select_from(chunks)).scalar_one())


def add(hub: Hub, written: Iterator[tuple[str, str]], count: int) -> float:
    """Store the next `count` memories; seconds taken."""
    started = time.perf_counter()
    for start in range(0, count, BATCH):
        some = list(islice(written, min(BATCH, count - start)))
        with call(hub).write() as w:
            for namespace, content in some:
                memories.add(w, Draft(space_of(namespace, USER, frozenset()), "note", content))
    return time.perf_counter() - started


def add_vectors(hub: Hub, made: Vectors) -> float:
    """Give every chunk that lacks one a vector; seconds taken. On Postgres the index is built at the end, as after an
    import, because that takes a fraction of the time."""
    started = time.perf_counter()
    with hub.db.write() as connection:
        model = model_id(connection, hub.embedder.model)
        if model is None:
            row = {"name": hub.embedder.model, "dims": hub.embedder.dims, "created_ms": hub.clock.now_ms()}
            model = int(connection.execute(models.insert().returning(models.c.id), row).scalar_one())
        last = connection.execute(select(func.max(vectors.c.chunk))).scalar_one() or 0
    while True:
        with hub.db.write() as connection:
            some = select(chunks.c.id, chunks.c.space).where(chunks.c.id > last).order_by(chunks.c.id)
            rows = connection.execute(some.limit(VECTOR_BATCH)).all()
            if not rows:
                connection.execute(pending.delete())
                break
            halves = made.make(len(rows)).astype("<f2")
            if hub.db.dialect == "sqlite":
                statement = vectors.insert()
                given = [
                    {"space": row.space, "chunk": row.id, "model": model, "vec": half.tobytes()}
                    for row, half in zip(rows, halves, strict=True)
                ]
                connection.execute(statement, given)
            else:
                cursor = connection.connection.cursor()
                with cursor.copy("COPY search_vector (space, chunk, model, vec) FROM STDIN") as copy:
                    for each, half in zip(rows, halves, strict=True):
                        copy.write_row((each.space, each.id, model, vector_literal(half.tobytes())))
            last = rows[-1].id
    if hub.db.dialect == "postgresql":
        with hub.db.write() as connection:
            connection.execute(text("SET LOCAL maintenance_work_mem = '1500MB'"))
            connection.execute(text("SET LOCAL max_parallel_maintenance_workers = 1"))  # one beside the leader
            postgres.index_model(connection, model, hub.embedder.dims)
        with hub.db.write() as connection:
            connection.execute(text("ANALYZE"))
    return time.perf_counter() - started


def spaces_of(hub: Hub) -> dict[str, str]:
    """Ids of the spaces by namespace."""
    with call(hub).read() as v:
        return {space.name: id for id, space in identity.readable(v).items()}


def exact_nearest(hub: Hub, queries: Floats, scopes: dict[str, set[str] | None], limit: int) -> dict[str, list[Ids]]:
    """The `limit` chunks nearest to each query in each scope (space ids; None means all), by reading every vector."""
    best = {name: [(np.zeros(0, np.float32), np.zeros(0, np.int64)) for _ in queries] for name in scopes}
    after = 0
    page = (
        select(vectors.c.id, vectors.c.chunk, vectors.c.space, vectors.c.vec)
        .where(vectors.c.id > bindparam("after"))
        .order_by(vectors.c.id)
        .limit(20_000)
    )
    with hub.db.read() as connection:
        while rows := connection.execute(page, {"after": after}).all():
            after = rows[-1].id
            ids = np.array([row.chunk for row in rows])
            full = half_to_full([row.vec for row in rows])
            for name, wanted in scopes.items():
                at = np.flatnonzero([wanted is None or row.space in wanted for row in rows])
                scores = queries @ full[at].T
                for number, row in enumerate(scores):
                    old_scores, old_ids = best[name][number]
                    all_scores, all_ids = np.concatenate([old_scores, row]), np.concatenate([old_ids, ids[at]])
                    order = np.argsort(-all_scores, kind="stable")[:limit]
                    best[name][number] = all_scores[order], all_ids[order]
    return {name: [ids for _, ids in found] for name, found in best.items()}


def size_bytes(hub: Hub) -> int:
    """Bytes of the store on disk."""
    if hub.db.dialect == "sqlite":
        return hub.db.size_bytes()
    with hub.db.read() as connection:
        return int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one())
