"""Background work of search: give chunks their vectors, and find the chunks that lack one after a change of model."""

from __future__ import annotations

import logging
import time
from typing import Any

from sqlalchemy import Connection

from hivelore.base.search import sqlite, store
from hivelore.base.search.signatures import full_to_half
from hivelore.core.clock import Clock
from hivelore.core.errors import TextRefused, Unavailable
from hivelore.core.ids import Ids
from hivelore.jobs import queue
from hivelore.sql.database import Database
from hivelore.work import Hub

PendingRow = tuple[int, str, str, str]  # chunk, space, hash, text

log = logging.getLogger("hivelore.search")

BATCH = 16  # chunks embedded between two transactions: small, so that progress is stored and shown
SCAN_ROWS = 2_000
LOAD_TIMEOUT_S = 90.0
WAIT_STEP_S = 0.5  # how long a stop may have to wait for a model that is loading
SECOND_LOOK_MS = 60_000
SHIFT_S = 60.0  # half of a job's lease


def embed(hub: Hub, args: dict[str, Any]) -> None:
    """Embed pending chunks until none is left. Raises `Unavailable` (and is retried) while the model is not ready.

    A shift ends well before the job's lease does, and leaves a new job for the rest, so that never two processes embed
    the same chunks.
    """
    if hub.embedder.state().status == "off":
        return
    ready(hub)
    ends_s = time.monotonic() + SHIFT_S
    while embed_batch(hub):
        if hub.stopping.is_set():
            raise Unavailable("the process is ending; another one, or the next start, takes this up")
        if time.monotonic() > ends_s:
            queue_embedding(hub)
            return
    with hub.db.read() as connection:
        former = store.former_model(connection, hub.embedder.model)
    if former is not None:
        with hub.db.write() as connection:
            queue_retirement(hub, connection, {})


def ready(hub: Hub) -> None:
    """Wait for a model that is loading; raise `Unavailable` if it does not get ready."""
    ends_s = time.monotonic() + LOAD_TIMEOUT_S
    state = hub.embedder.wait_ready(WAIT_STEP_S)
    while state.status == "loading" and time.monotonic() < ends_s and not hub.stopping.is_set():
        state = hub.embedder.wait_ready(WAIT_STEP_S)
    if state.status != "ready":
        raise Unavailable(state.reason or "the embedding model is not ready")


def warm(hub: Hub) -> None:
    """Read the vectors of the current model into memory, where this store keeps them there: at start, so that the
    first searches of a large store need not wait for it."""
    if hub.vectors is None or hub.embedder.state().status == "off":
        return
    try:
        ready(hub)
        with hub.db.read() as connection:
            model = store.model_id(connection, hub.embedder.model)
        if model is not None:
            hub.vectors.load(hub.db.read, model, hub.stopping)
    except Exception:
        if not hub.stopping.is_set():  # then the store is closed under its feet
            log.exception("the vectors could not be read ahead")


def queue_embedding(hub: Hub) -> None:
    """Leave a job for whatever is pending."""
    leave_embedding(hub.db, hub.ids, hub.clock)
    hub.bell.ring()


def leave_embedding(db: Database, ids: Ids, clock: Clock) -> None:
    """Leave the job that embeds what is pending, for whoever works jobs off."""
    with db.write() as connection:
        queue.enqueue(
            connection,
            id=ids.new("job"),
            name="search.embed",
            now_ms=clock.now_ms(),
            dedupe="search.embed",
            lane="search.embed",
        )


def queue_retirement(hub: Hub, connection: Connection, args: dict[str, Any]) -> None:
    """Leave the job that looks, in a minute, whether a former model can go (see `handover`)."""
    now_ms = hub.clock.now_ms()
    queue.enqueue(
        connection,
        id=hub.ids.new("job"),
        name="search.retire",
        args=args,
        now_ms=now_ms,
        run_at_ms=now_ms + SECOND_LOOK_MS,
        dedupe="search.retire",
    )


def embed_batch(hub: Hub) -> int:
    """Embed one batch of pending chunks; return how many were looked at."""
    with hub.db.read() as connection:
        rows = store.next_pending(connection, BATCH)
    if not rows:
        return 0
    try:
        full = hub.embedder.embed([text for _, _, _, text in rows], "passage")
    except TextRefused:
        rows, full = _one_by_one(hub, rows)
    if not rows:
        return 1
    with hub.db.write() as connection:
        model = store.ensure_model(connection, hub.embedder.model, len(full[0]) // 4, hub.clock.now_ms())
        stored = ((id, space, hash, full_to_half(vec)) for (id, space, hash, _), vec in zip(rows, full, strict=True))
        store.store_vectors(connection, model, stored)
    hub.progress.ring()
    return len(rows)


def _one_by_one(hub: Hub, rows: list[PendingRow]) -> tuple[list[PendingRow], list[bytes]]:
    """Embed chunks singly after the model refused a batch. Those it refuses are let go: they are found by their words,
    and every start of a server tries them again."""
    kept: list[PendingRow] = []
    full: list[bytes] = []
    refused: list[int] = []
    for row in rows:
        try:
            full += hub.embedder.embed([row[3]], "passage")
            kept.append(row)
        except TextRefused:
            refused.append(row[0])
    with hub.db.write() as connection:
        store.let_go(connection, refused)
    log.warning("the embedding model refused %d chunk(s); they are found by their words only", len(refused))
    return kept, full


def reconcile(hub: Hub, args: dict[str, Any]) -> None:
    """Queue every chunk that has no vector of the current model: after a start, a new model, or a repair."""
    if hub.embedder.state().status == "off":
        return
    ready(hub)
    with hub.db.write() as connection:
        model = store.ensure_model(connection, hub.embedder.model, hub.embedder.dims, hub.clock.now_ms())
    with hub.db.read() as connection:
        complete = store.all_embedded_or_pending(connection, model)
    after: int | None = None if complete else 0
    while after is not None and not hub.stopping.is_set():
        with hub.db.write() as connection:
            after = store.queue_missing(connection, model, after, SCAN_ROWS)
    queue_embedding(hub)
    if after is not None:
        raise Unavailable("the process is ending; another one, or the next start, takes this up")


def merge(hub: Hub, args: dict[str, Any]) -> None:
    """Merge the text index of SQLite, so that the words of what was forgotten are in no file any more."""
    first = more = True
    while more and not hub.stopping.is_set():
        with hub.db.write() as connection:
            more = sqlite.merge_step(connection, first)
        first = False
    if more:
        raise Unavailable("the process is ending; another one, or the next start, takes this up")


HANDLERS = {"search.embed": embed, "search.reconcile": reconcile, "search.merge": merge}
