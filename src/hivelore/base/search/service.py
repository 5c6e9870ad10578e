"""Search in two steps: `begin` (or `ask`) prepares a question outside any transaction, `find` answers it within one.

`find` runs every engine that works, fuses their candidates and says what was searched. An engine that fails is named
with a reason; an empty list never hides a broken engine.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from hivelore.base.identity import store as identity
from hivelore.base.search import ranking, store
from hivelore.base.search.model import TEXT, VECTORS, Candidate, Filters, Findings, Hit, Question, Request, Words
from hivelore.base.search.tokens import query_terms
from hivelore.core.actor import Scope
from hivelore.core.errors import HiveloreError
from hivelore.sql.types import full_vector_literal
from hivelore.work import Call, Hub, View

log = logging.getLogger("hivelore.search")

POOL = 80  # candidates that each engine proposes at first
POOL_GROWTH = 4  # how much deeper it is asked when a page lies behind what they gave
SETTLED_CHUNKS = 32  # with more pending than this, waiting would be in vain
QUERY_TIMEOUT_S = 3.0  # then words answer alone
QUERY_EMBED_CHARS = 2_000  # a longer query is a document; its beginning says what it is about


@dataclass(frozen=True, slots=True)
class Asking:
    """A question on its way: its terms are known, its vector is being made by another thread."""

    hub: Hub
    text: str
    terms: tuple[str, ...]
    vector: Future[list[bytes]] | None
    unavailable: str = ""

    def question(self) -> Question:
        """Wait for the vector. Never raises for the embedder: what it could not do stands in `unavailable`."""
        embedder, vector, unavailable = self.hub.embedder, None, self.unavailable
        if self.vector is not None:
            try:
                vector = self.vector.result(QUERY_TIMEOUT_S)[0]
            except HiveloreError as exc:
                unavailable = f"unavailable: {exc.message}"
            except TimeoutError:
                unavailable = f"unavailable: the embedding model did not answer within {QUERY_TIMEOUT_S:g} s"
        reasons = {VECTORS: unavailable} if unavailable else {}
        return Question(self.text, self.terms, vector, embedder.model, embedder.cosine_range, reasons)


def begin(hub: Hub, query: str) -> Asking:
    """Begin to make a question ready, outside any transaction; the words can be looked up while the model works."""
    terms = tuple(query_terms(query))
    state = hub.embedder.state()
    if state.status != "ready":
        return Asking(hub, query, terms, None, f"{state.status}: {state.reason or 'vectors are not used'}")
    return Asking(hub, query, terms, hub.helpers.submit(hub.embedder.embed, [query[:QUERY_EMBED_CHARS]], "query"))


def ask(hub: Hub, query: str) -> Question:
    """Make a question ready: its terms, and its vector if the embedder can give one now."""
    return begin(hub, query).question()


def look_up(v: View, terms: Sequence[str], scope: Scope, filters: Filters, depth: int = POOL) -> Words:
    """Ask the text index for the best `depth` chunks."""
    if not terms:
        return Words((), depth)
    try:
        with _shielded(v):
            found = store.engine(v).match_text(v.connection, terms, store.conditions(v, scope, filters), depth)
            return Words(tuple(found), depth)
    except HiveloreError:
        raise
    except Exception:
        log.exception("the text index could not be searched")
        return Words((), depth, "unavailable: the text index does not answer; run `hivelore doctor`")


def settle(call: Call, scope: Scope) -> None:
    """Give vectors that are about to arrive a moment to do so, so that a note is found by meaning right after it is
    stored.

    Waits at most `embed_eager_ms`, only when few chunks of the scope are pending, and never when the model is not
    ready.
    """
    hub = call.hub
    if hub.embedder.state().status != "ready":
        return
    deadline = time.monotonic() + hub.settings.embed_eager_ms / 1000
    while True:
        seen = hub.progress.count()
        with call.read() as v:
            waiting = store.pending_count(v, scope)
        remaining_s = deadline - time.monotonic()
        if not 0 < waiting <= SETTLED_CHUNKS or remaining_s <= 0:
            return
        hub.progress.wait(seen, remaining_s)


def find(hub: Hub, v: View, request: Request, words: Words | None = None) -> Findings:
    """Search the scope; hits are the best chunk of each piece, in order of score. `words`, when the caller has looked
    them up already, are not looked up again.

    The order must not depend on the page that is asked for, or pages would repeat and skip hits. So the engines are
    asked to fixed depths: what the first round finds comes first, in its order, then what only the next one finds.
    """
    question = request.question
    unavailable = dict(question.unavailable)
    wanted = request.offset + request.limit
    ranked: list[Hit] = []
    depth = POOL
    while True:
        if words is None or words.depth != depth:
            words = look_up(v, question.terms, request.scope, request.filters, depth)
        engines, found, exhausted = _round(hub, v, request, words, unavailable)
        known = {(hit.space, hit.piece) for hit in ranked}
        lowest = ranked[-1].score if ranked else 1.0
        new = (hit for hit in found if (hit.space, hit.piece) not in known)
        ranked += [hit if hit.score <= lowest else hit._replace(score=lowest) for hit in new]
        if exhausted or len(ranked) > wanted:
            break
        depth *= POOL_GROWTH
    page = ranked[request.offset : wanted]
    texts = store.texts(v, [hit.chunk for hit in page])
    hits = [hit._replace(text=texts[hit.chunk][0], start=texts[hit.chunk][1]) for hit in page]
    return Findings(
        hits=tuple(hits),
        more=len(ranked) > wanted and bool(page),
        engines=tuple(engines),
        unavailable=unavailable,
        pending=store.pending_count(v, request.scope),
    )


def _round(
    hub: Hub, v: View, request: Request, words: Words, unavailable: dict[str, str]
) -> tuple[list[str], list[Hit], bool]:
    """Put the vectors' best chunks beside those of the text index: who answered, the hits, and whether there is nothing
    deeper."""
    question, depth = request.question, words.depth
    engines: list[str] = []
    if words.unavailable:
        unavailable[TEXT] = words.unavailable
    else:
        engines.append(TEXT)

    vector_found: list[int] = []
    model = store.model_id(v.connection, question.model)
    if question.vector is not None:
        try:
            if model is not None:
                with _shielded(v):
                    vector_found = _nearest(hub, v, request, model, depth)
            engines.append(VECTORS)
        except HiveloreError:
            raise
        except Exception:
            log.exception("the vectors could not be searched")
            unavailable[VECTORS] = "unavailable: the vectors do not answer; run `hivelore doctor`"
            model = None  # they are not asked again: words answer alone

    ranked, gone = _rank(v, question, model, words.candidates, vector_found)
    if hub.vectors is not None and model is not None and hub.vectors.note_gone(model, gone):
        vector_found = _nearest(hub, v, request, model, depth)
        ranked, _ = _rank(v, question, model, words.candidates, vector_found)
    return engines, ranked, len(words.candidates) < depth and len(vector_found) < depth


def _shielded(v: View) -> AbstractContextManager[Any]:
    """A savepoint where a failed statement would spoil the transaction for the other engine: on Postgres."""
    return v.connection.begin_nested() if v.dialect == "postgresql" else nullcontext()


def matches_by_namespace(v: View, question: Question, filters: Filters, limit: int = 50) -> dict[str, int]:
    """Where the words of a question occur among everything that the caller may read: hits by namespace, best first."""
    if not question.terms:
        return {}
    where = store.conditions(v, Scope(None), filters)
    try:
        with _shielded(v):
            found = store.engine(v).match_text(v.connection, question.terms, where, limit)
    except Exception:
        log.exception("the text index could not be searched")
        return {}
    rows = store.engine(v).place(v.connection, None, None, [c.chunk for c in found], v.now_ms)
    names = identity.names(v, [row.space for row in rows])
    counted: dict[str, int] = {}
    for row in rows:
        counted[names[row.space]] = counted.get(names[row.space], 0) + 1
    return dict(sorted(counted.items(), key=lambda pair: -pair[1]))


def _nearest(hub: Hub, v: View, request: Request, model: int, depth: int) -> list[int]:
    """Chunks that are near in meaning, best first."""
    vector = request.question.vector
    assert vector is not None
    if v.dialect == "postgresql":
        where = store.conditions(v, request.scope, request.filters)
        near = full_vector_literal(vector)
        found: list[int] = store.engine(v).nearest(v.connection, model, len(vector) // 4, near, where, depth)
        return found
    spaces = _space_ids(v, request.scope)

    def allowed() -> Any:
        where = store.conditions(v, request.scope, request.filters)
        return np.array(store.matching_ids(v, where), np.int64)

    nearest: list[int] = hub.vectors.nearest(
        v.connection, model, vector, spaces, None if request.filters.none else allowed, depth
    )
    return nearest


def _space_ids(v: View, scope: Scope) -> set[str]:
    if scope.spaces is None:
        return set(identity.readable(v))
    return {space.id for space in scope.spaces if identity.may_read(v, space)}


def _rank(
    v: View, question: Question, model: int | None, text_found: Sequence[Candidate], vector_found: list[int]
) -> tuple[list[Hit], int]:
    """Score all candidates by both engines, keep the best chunk of each piece, best first; and say how many of the
    chunks that the vectors led to are gone. Texts are filled in later."""
    text_scores = {c.chunk: c.score for c in text_found}
    ids = list(dict.fromkeys((*text_scores, *vector_found)))
    placed = {row.chunk: row for row in store.engine(v).place(v.connection, model, question.vector, ids, v.now_ms)}
    cosines = {chunk: row.cosine for chunk, row in placed.items() if row.cosine is not None}
    fused = ranking.fuse(
        {chunk: score for chunk, score in text_scores.items() if chunk in placed},
        cosines,
        terms=len(question.terms),
        cosine_range=question.cosine_range,
    )
    text_ranks = {c.chunk: rank for rank, c in enumerate(text_found, 1)}
    near = sorted((chunk for chunk in vector_found if chunk in cosines), key=lambda chunk: -cosines[chunk])
    vector_ranks = {chunk: rank for rank, chunk in enumerate(near, 1)}
    best: dict[tuple[str, str], Hit] = {}
    for chunk in sorted(fused, key=lambda id: (-fused[id], -placed[id].event_ms, id)):
        row = placed[chunk]
        if (row.space, row.piece) not in best:
            best[row.space, row.piece] = Hit(
                chunk=chunk,
                kind=row.kind,
                ref=row.ref,
                piece=row.piece,
                space=row.space,
                text="",
                start=0,
                score=ranking.shown(fused[chunk]),
                cosine=row.cosine,
                text_rank=text_ranks.get(chunk),
                vector_rank=vector_ranks.get(chunk),
            )
    return list(best.values()), len(vector_found) - len(near)
