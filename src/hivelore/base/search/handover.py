"""A change of the embedding model: both models answer until the new one has a vector of every chunk.

The setting names the new model; which one was there before is recorded beside its vectors. While those exist, a
question is made into a vector by both embedders: the new model's vectors count where there are some, the former's for
the rest, their cosines brought to the new model's scale. The former embedder is made from its recorded name, loaded in
the background when it is first needed, and let go when its last vector is gone. Where it cannot be made, words cover
what has no vector yet, and the answer says so.

The job `search.retire` ends it: once nothing waits for a vector it looks twice, a minute apart, so that a server with
the former model that still runs (replicas are renewed one by one) is not robbed of its vectors, and then removes them
in short steps.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from typing import Any

from hivelore.base.search import jobs, store
from hivelore.base.search.model import Former, FormerVector, Handover, Place, Question
from hivelore.base.search.signatures import cosines as cosines_of
from hivelore.core.errors import HiveloreError, Unavailable
from hivelore.core.ports import Embedder
from hivelore.work import Hub, View

DROPPED_ROWS = 2_000  # in one transaction


class FormerModel:
    """The embedder of the model before, as long as its vectors are there. Safe to use from several threads.

    `make` gives an embedder for a recorded name, or in words why it cannot; `vectors` is the hub's.
    """

    def __init__(self, make: Callable[[str], Embedder | str], vectors: Any) -> None:
        self._make, self._vectors = make, vectors
        self._lock = threading.Lock()
        self._former: Former | None = None
        self._embedder: Embedder | None = None
        self._reason = ""

    def want(self, former: Former | None) -> None:
        """Have the embedder of this model, or none. Returns at once; a model loads in the background."""
        with self._lock:
            if former == self._former:
                return
            gone, let_go = self._former, self._embedder
            made = self._make(former.name) if former is not None else ""
            self._embedder, self._reason = (None, made) if isinstance(made, str) else (made, "")
            self._former = former
            if self._embedder is not None:
                self._embedder.start()
        if let_go is not None:
            let_go.close()
        if gone is not None and self._vectors is not None:
            self._vectors.forget(gone.id)

    @property
    def wanted(self) -> Former | None:
        return self._former

    def begin(self, helpers: Executor, text: str) -> Future[FormerVector] | None:
        """Begin to make a question's vector with the former model; None when it cannot now."""
        former, embedder = self._former, self._embedder
        if former is None or embedder is None or embedder.state().status != "ready":
            return None
        try:
            embed = embedder.prepare(text)
        except HiveloreError:
            return None
        return helpers.submit(lambda: FormerVector(former, embed(), embedder.cosine_range))

    def reason(self) -> str:
        """Why the former model does not answer; "" when it should."""
        embedder, reason = self._embedder, self._reason
        if embedder is None:
            return reason or "loading: it has only just been asked for"
        state = embedder.state()
        return "" if state.status == "ready" else f"{state.status}: {state.reason}"

    def close(self) -> None:
        self.want(None)


def result(vector: Future[FormerVector] | None, timeout_s: float) -> FormerVector | None:
    """The former model's vector of a question; None when it gives none in time."""
    try:
        return vector.result(timeout_s) if vector is not None else None
    except (HiveloreError, TimeoutError):
        return None


def prepare(hub: Hub) -> None:
    """At a start: begin to load the former model, if there is one."""
    with hub.db.read() as connection:
        former = store.former_model(connection, hub.embedder.model)
    hub.former.want(_wanted(hub, former))


def look(hub: Hub, found: Former | None) -> Former | None:
    """The former model, as a search found it in the store. Sees to it that its embedder is there for the next question,
    or goes."""
    former = _wanted(hub, found)
    if former != hub.former.wanted:
        hub.helpers.submit(hub.former.want, former)
    return former


def _wanted(hub: Hub, found: Former | None) -> Former | None:
    name = hub.embedder.model
    # A size that is 0 is not known before the model is loaded, and neither is then its name.
    return None if name.endswith("/0") or hub.embedder.state().status == "off" else found


def told(hub: Hub, question: Question, former: Former | None) -> Handover | None:
    """How an answer tells of the change of model; None when none is under way."""
    if former is None:
        return None
    answered = [question.model] if question.vector is not None else []
    if question.former is not None:
        answered.append(former.name)
    reason = "" if question.former is not None else hub.former.reason() or "loading: it has only just been asked for"
    return Handover(question.model, former.name, tuple(answered), reason)


def cosines(v: View, question: Question, chunks: list[int]) -> Iterator[tuple[int, float, Place]]:
    """Cosines of these chunks by the former model, on the scale of the present one, with their places."""
    given = question.former
    if given is None or not chunks:
        return
    (low, high), (former_low, former_high) = question.cosine_range, given.cosine_range
    stretch = (high - low) / (former_high - former_low)
    rows = store.engine(v).neighbours(v.connection, given.former.id, chunks, v.now_ms)
    plain = cosines_of(given.vector, [row[1] for row in rows])
    for (chunk, _, place), cosine in zip(rows, plain, strict=True):
        yield chunk, low + (cosine - former_low) * stretch, place


# -- the end of it -----------------------------------------------------------------------------------------------------


def retire(hub: Hub, args: dict[str, Any]) -> None:
    """Remove the vectors of former models once the present one has all that it can have."""
    if hub.embedder.state().status == "off":
        return
    jobs.ready(hub)
    with hub.db.read() as connection:
        model = store.model_id(connection, hub.embedder.model)
        former = store.former_model(connection, hub.embedder.model)
        waiting = store.pending_total(connection)
        newest = store.newest_vector(connection, former.id) if former is not None else 0
    if model is None or former is None:
        return
    if waiting:
        _again(hub, args)
    elif args != {"model": former.id, "newest": newest}:
        _queue_missing(hub, model)
        _again(hub, {"model": former.id, "newest": newest})
    else:
        _drop(hub, former.id)


def _again(hub: Hub, args: dict[str, Any]) -> None:
    jobs.queue_embedding(hub)
    with hub.db.write() as connection:
        jobs.queue_retirement(hub, connection, args)


def _queue_missing(hub: Hub, model: int) -> None:
    """Let every chunk without a vector of the present model wait for one, however it came to have none."""
    after: int | None = 0
    while after is not None:
        if hub.stopping.is_set():
            raise Unavailable("the process is ending; another one, or the next start, takes this up")
        with hub.db.write() as connection:
            after = store.queue_missing(connection, model, after, jobs.SCAN_ROWS)


def _drop(hub: Hub, model: int) -> None:
    while True:
        with hub.db.write() as connection:
            dropped = store.drop_vectors_of(connection, model, DROPPED_ROWS)
        if not dropped:
            return
        if hub.stopping.is_set():
            raise Unavailable("the process is ending; another one, or the next start, takes this up")


HANDLERS = {"search.retire": retire}
