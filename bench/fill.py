"""Fill a store with many memories and their vectors without waiting for the model.

Texts go the real way (memories, chunks, text index). Vectors are made from those of a small embedded sample: each is
the normalised mean of two sample vectors plus noise, which keeps the spread of real ones. Search cost does not
depend on what the vectors mean.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sqlalchemy import select

from bench.corpus import memories as texts
from hivelore import app
from hivelore.base.memories import service as memories
from hivelore.base.memories.model import Draft
from hivelore.base.search import store
from hivelore.base.search.tables import chunks, pending
from hivelore.core.actor import Caller, Principal, Role, Space
from hivelore.core.settings import Settings

SAMPLE = 400
BATCH = 1_000


def fill(data_dir: str, count: int) -> None:
    """Make a store of `count` memories in the namespace `shared`."""
    settings = Settings(data_dir=data_dir)
    Path(data_dir).mkdir(parents=True, exist_ok=True)
    hub = app.build(settings)
    hub.embedder.start()
    state = hub.embedder.wait_ready(300)
    if state.status != "ready":
        raise SystemExit(f"the embedder is {state.status}: {state.reason}")
    call = hub.call(Caller(Principal("local", Role.OWNER)))
    written = texts(count)
    for start in range(0, count, BATCH):
        with call.write() as w:
            for text in written[start : start + BATCH]:
                memories.add(w, Draft(space=Space("shared", "", "shared"), kind="note", text=text))
    sample = np.stack([np.frombuffer(v, "<f4") for v in hub.embedder.embed(written[:SAMPLE], "passage")])
    rng = np.random.default_rng(5)
    with hub.db.read() as connection:
        rows = connection.execute(select(chunks.c.id, chunks.c.space, chunks.c.hash).order_by(chunks.c.id)).all()
    for start in range(0, len(rows), BATCH):
        some = rows[start : start + BATCH]
        pairs = rng.integers(0, len(sample), (len(some), 2))
        mixed = sample[pairs[:, 0]] + sample[pairs[:, 1]] + rng.normal(0, 0.01, (len(some), sample.shape[1]))
        unit = (mixed / np.linalg.norm(mixed, axis=1, keepdims=True)).astype("<f2")
        with hub.db.write() as connection:
            model = store.ensure_model(connection, hub.embedder.model, hub.embedder.dims, hub.clock.now_ms())
            given = ((row.id, row.space, row.hash, vec.tobytes()) for row, vec in zip(some, unit, strict=True))
            store.store_vectors(connection, model, given)
    with hub.db.write() as connection:
        connection.execute(pending.delete())
    hub.embedder.close()
    hub.db.close()


if __name__ == "__main__":
    fill(sys.argv[1], int(sys.argv[2]))
