"""Search in two steps: `begin` (or `ask`) prepares a question outside any transaction, `find` answers it within one.

`find` runs every engine that works, fuses their candidates and says what was searched. An engine that fails is named
with a reason; an empty list never hides a broken engine.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from hivelore.base.identity import store as identity
from hivelore.base.search import handover, priors, ranking, store, versions
from hivelore.base.search.model import (
    ENGINES,
    TEXT,
    VECTORS,
    Candidate,
    Filters,
    Findings,
    FormerVector,
    Hit,
    Place,
    Question,
    Request,
    Words,
)
from hivelore.base.search.signatures import StillLoading, cosines
from hivelore.base.search.tokens import is_bare, query_terms, tokens
from hivelore.base.search.when import When, understood
from hivelore.base.search.words import space_token
from hivelore.core.actor import Scope
from hivelore.core.clock import zone_named
from hivelore.core.errors import HiveloreError
from hivelore.sql.types import full_vector_literal
from hivelore.work import Call, Hub, View

log = logging.getLogger("hivelore.search")

Texts = Mapping[int, tuple[str, int, str]]  # text, start and context of chunks

POOL = 48  # candidates that each engine proposes at first; more make no difference to the evaluation sets
COUNTED = 30  # chunks nearest by their vectors whose words are counted, too
POOL_GROWTH = 4  # how much deeper it is asked when a page lies behind what they gave
MOST_PENDING = 10_000  # chunks without a vector that a recall counts; after an import there may be a million
SETTLED_CHUNKS = 32  # with more pending than this, waiting would be in vain
QUERY_TIMEOUT_S = 3.0  # then words answer alone
EVENT_DEPTH = 5  # memories among which the event of "before the migration" is looked for
QUERY_EMBED_CHARS = 2_000  # a longer query is a document; its beginning says what it is about


@dataclass(frozen=True, slots=True)
class Asking:
    """A question on its way: its terms are known, its vector is being made by another thread."""

    hub: Hub
    text: str
    terms: tuple[str, ...]
    vector: Future[bytes] | None
    unavailable: str = ""
    former: Future[FormerVector] | None = None

    @property
    def model(self) -> str:
        """The name of the model that makes the vector."""
        return self.hub.embedder.model

    def question(self) -> Question:
        """Wait for the vector. Never raises for the embedder: what it could not do stands in `unavailable`."""
        embedder, vector, unavailable = self.hub.embedder, None, self.unavailable
        zone = zone_named(self.hub.settings.timezone)
        whens = understood(self.text, self.hub.clock.now_ms(), zone)  # while the model works
        if self.vector is not None:
            try:
                vector = self.vector.result(QUERY_TIMEOUT_S)
            except HiveloreError as exc:
                unavailable = f"unavailable: {exc.message}"
            except TimeoutError:
                unavailable = f"unavailable: the embedding model did not answer within {QUERY_TIMEOUT_S:g} s"
        former = handover.result(self.former, QUERY_TIMEOUT_S)
        reasons = {VECTORS: unavailable} if unavailable and former is None else {}
        return Question(self.text, self.terms, vector, embedder.model, embedder.cosine_range, reasons, former, whens)


def begin(hub: Hub, query: str, engines: Sequence[str] = ENGINES) -> Asking:
    """Begin to make a question ready, outside any transaction; the words can be looked up while the model works.
    An engine that is not named is not asked: the benchmark shows so what each is worth."""
    terms = tuple(query_terms(query)) if TEXT in engines else ()
    if VECTORS not in engines:
        return Asking(hub, query, terms, None)
    state, beginning = hub.embedder.state(), query[:QUERY_EMBED_CHARS]
    former = hub.former.begin(hub.helpers, beginning)
    if state.status != "ready":
        return Asking(hub, query, terms, None, f"{state.status}: {state.reason or 'vectors are not used'}", former)
    try:
        embed = hub.embedder.prepare(beginning)
    except HiveloreError as exc:
        return Asking(hub, query, terms, None, f"unavailable: {exc.message}", former)
    return Asking(hub, query, terms, hub.helpers.submit(embed), former=former)


def ask(hub: Hub, query: str) -> Question:
    """Make a question ready: its terms, and its vector if the embedder can give one now."""
    return begin(hub, query).question()


def look_up(v: View, question: Asking | Question, scope: Scope, filters: Filters, depth: int = POOL) -> Words:
    """Ask the text index for the best `depth` chunks, and read ahead what their ranking will need."""
    found: Sequence[Candidate] = ()
    unavailable = ""
    engine = store.engine(v)
    if question.terms:
        try:
            with _shielded(v):
                found = store.match_text(v, question.terms, scope, filters, depth)
        except HiveloreError:
            raise
        except Exception:
            log.exception("the text index could not be searched")
            unavailable = "unavailable: the text index does not answer; run `hivelore doctor`"
    model, former = None, None
    vectors: Mapping[int, bytes] = {}
    try:
        with _shielded(v):
            model, former = store.models_here(v.connection, question.model)
            if found and model is not None and question.vector is not None:
                vectors = engine.vectors_of(v.connection, model, [each.chunk for each in found])
    except Exception:  # the search of the vectors will meet it too, and say so
        log.exception("the vectors of the found chunks could not be read")
    pending = store.pending_count(v, scope, MOST_PENDING)
    return Words(tuple(found), depth, unavailable, model, vectors, pending, former)


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
            waiting = store.pending_count(v, scope, SETTLED_CHUNKS + 1)
        remaining_s = deadline - time.monotonic()
        if not 0 < waiting <= SETTLED_CHUNKS or remaining_s <= 0:
            return
        hub.progress.wait(seen, remaining_s)


def find(hub: Hub, v: View, request: Request, words: Words | None = None) -> Findings:
    """Search the scope; hits are the best chunk of each piece, in order of score. `words`, when the caller has looked
    them up already, are not looked up again.

    The order must not depend on the page that is asked for, or pages would repeat and skip hits. So the engines are
    asked to fixed depths: what the first round finds comes first, in its order, then what only the next one finds.
    For the same reason copies and versions are looked for among the best of the first round, whatever the page.
    """
    question = request.question
    whens = _with_events(v, request)
    unavailable = dict(question.unavailable)
    wanted = request.offset + request.limit
    ranked: list[_Ranked] = []
    texts: Texts = {}
    folded: set[tuple[str, str]] = set()
    depth = POOL
    while True:
        if words is None or words.depth != depth:
            words = look_up(v, question, request.scope, request.filters, depth)
        engines, found, exhausted = _round(hub, v, request, words, whens, unavailable)
        if not ranked:
            found, texts, folded = _arranged(v, request, found)
        else:
            known, lowest = {each.unit for each in ranked} | folded, ranked[-1].score
            found = [each._replace(score=min(each.score, lowest)) for each in found if each.unit not in known]
        ranked += found
        if exhausted or len(ranked) > wanted:
            break
        depth *= POOL_GROWTH
    page = ranked[request.offset : wanted]
    return Findings(
        hits=_hits(v, page, texts),
        more=len(ranked) > wanted and bool(page),
        engines=tuple(engines),
        unavailable=unavailable,
        pending=words.pending,
        handover=handover.told(hub, question, handover.look(hub, words.former)),
        whens=tuple(each for each in whens if each.bounded),
    )


def _with_events(v: View, request: Request) -> tuple[When, ...]:
    """The stretches of time of a question; those bounded by an event get the time of the best memory about it.

    Only a memory that holds all words of the event counts: any other would be a guess.
    """
    whens = request.question.whens
    if not any(each.event for each in whens):
        return whens
    try:
        with _shielded(v):
            return tuple(_found_event(v, request.scope, each) if each.event else each for each in whens)
    except Exception:  # the search of the words will meet it too, and say so
        log.exception("the event that a question names could not be looked up")
        return whens


def _found_event(v: View, scope: Scope, when: When) -> When:
    terms = query_terms(when.event)
    if not terms:
        return when
    best = store.match_text(v, terms, scope, Filters(), EVENT_DEPTH)
    texts = store.texts(v, [each.chunk for each in best])
    for each in best:
        text, _, context = texts.get(each.chunk, ("", 0, ""))
        if set(terms) <= set(tokens(f"{context}\n{text}")):
            return when.at(each.place.event_ms, each.place.ref)
    return when


def _arranged(v: View, request: Request, found: list[_Ranked]) -> tuple[list[_Ranked], Texts, set[tuple[str, str]]]:
    """The hits with copies folded and newer versions first, the texts that were read for it, and what was folded."""
    best = found[: versions.NEIGHBOURHOOD]
    texts = store.texts(v, [each.chunk for each in best])
    superseded = [each.place.ref for each in best if each.place.status == "superseded"]
    corrections = request.corrections(superseded) if superseded and request.corrections else {}
    result = versions.arranged([each.seen(texts.get(each.chunk)) for each in best], corrections)
    arranged = [
        best[at]._replace(
            score=best[place].score,
            older_version_of=best[result.older[at]].place.ref if at in result.older else "",
            copies=tuple(best[copy].place.ref for copy in result.copies.get(at, ())),
        )
        for at, place in zip(result.order, sorted(result.order), strict=True)
    ]
    folded = {best[copy].unit for copies in result.copies.values() for copy in copies}
    return arranged + found[versions.NEIGHBOURHOOD :], texts, folded


def _round(
    hub: Hub, v: View, request: Request, words: Words, whens: Sequence[When], unavailable: dict[str, str]
) -> tuple[list[str], list[_Ranked], bool]:
    """Put the vectors' best chunks beside those of the text index: who answered, the hits, and whether there is nothing
    deeper."""
    question, depth = request.question, words.depth
    engines: list[str] = []
    if words.unavailable:
        unavailable[TEXT] = words.unavailable
    elif TEXT in request.engines:
        engines.append(TEXT)

    vector_found: list[int] = []
    former_found: list[int] = []
    model = words.model
    if question.vector is not None or question.former is not None:
        try:
            if model is None:  # the first vector may have come since
                model = store.model_id(v.connection, question.model)
            with _shielded(v):
                if model is not None and question.vector is not None:
                    vector_found = _nearest(hub, v, request, model, question.vector, depth)
                if question.former is not None:
                    former = question.former
                    former_found = _nearest(hub, v, request, former.former.id, former.vector, depth)
            engines.append(VECTORS)
        except StillLoading as exc:
            for each in (model, question.former.former.id if question.former is not None else None):
                if each is not None:
                    hub.helpers.submit(hub.vectors.load, hub.db.read, each, hub.stopping)
            unavailable[VECTORS] = f"loading: {exc.message}"
            model = None
            question = replace(question, former=None)
        except HiveloreError:
            raise
        except Exception:
            log.exception("the vectors could not be searched")
            unavailable[VECTORS] = "unavailable: the vectors do not answer; run `hivelore doctor`"
            model = None  # they are not asked again: words answer alone
            question = replace(question, former=None)

    ranked, gone = _rank(v, question, model, words, vector_found, former_found, whens, request.explain)
    if hub.vectors is not None and model is not None and hub.vectors.note_gone(model, gone):
        assert question.vector is not None
        try:
            vector_found = _nearest(hub, v, request, model, question.vector, depth)
        except StillLoading:  # a large table, read in the background by the next search; this answer stands
            return engines, ranked, False
        ranked, _ = _rank(v, question, model, words, vector_found, former_found, whens, request.explain)
    return engines, ranked, all(len(each) < depth for each in (words.candidates, vector_found, former_found))


def _shielded(v: View) -> AbstractContextManager[Any]:
    """A savepoint where a failed statement would spoil the transaction for the other engine: on Postgres."""
    return v.connection.begin_nested() if v.dialect == "postgresql" else nullcontext()


def matches_by_namespace(v: View, question: Question, filters: Filters, limit: int = 50) -> dict[str, int]:
    """Where the words of a question occur among everything that the caller may read: hits by namespace, best first."""
    if not question.terms:
        return {}
    try:
        with _shielded(v):
            found = store.match_text(v, question.terms, Scope(None), filters, limit)
    except Exception:
        log.exception("the text index could not be searched")
        return {}
    names = identity.names(v, [each.place.space for each in found])
    counted = Counter(names[each.place.space] for each in found)
    return dict(sorted(counted.items(), key=lambda pair: -pair[1]))


def nearest(hub: Hub, v: View, request: Request, depth: int = POOL) -> list[tuple[int, float]]:
    """What the vectors alone give for a request: chunks with their cosines, best first."""
    vector = request.question.vector
    model = store.model_id(v.connection, request.question.model)
    if vector is None or model is None:
        return []
    found = _nearest(hub, v, request, model, vector, depth)
    rows = store.engine(v).neighbours(v.connection, model, found, v.now_ms)
    exact = cosines(vector, [half for _, half, _ in rows])
    return sorted(((row[0], cosine) for row, cosine in zip(rows, exact, strict=True)), key=lambda pair: -pair[1])


def like(v: View, terms: Sequence[str], scope: Scope, filters: Filters, limit: int) -> list[tuple[str, str]]:
    """Chunks that hold all of these terms by the text index, as (entry, text), the newest of many. Fails when it cannot
    be asked: this serves a write, which needs it too."""
    if not terms:
        return []
    places = tuple(space_token(space) for space in store.named_spaces(v, scope) or ())
    wanted = (*((places,) if places else ()), *((term,) for term in terms))
    ids = store.engine(v).matching(v.connection, wanted, limit).tolist()
    return store.entries_of(v, ids, store.conditions(v, scope, filters, by_id=True)) if ids else []


def _nearest(hub: Hub, v: View, request: Request, model: int, vector: bytes, depth: int) -> list[int]:
    """Chunks that are near in meaning, best first."""
    if v.dialect == "postgresql":
        where = store.conditions(v, request.scope, request.filters)
        near = full_vector_literal(vector)
        found: list[int] = store.engine(v).nearest(v.connection, model, len(vector) // 4, near, where, depth)
        return found
    named = store.named_spaces(v, request.scope)
    spaces = set(identity.readable(v) if named is None else named)

    def allowed() -> Any:
        where = store.conditions(v, request.scope, request.filters)
        return np.array(store.matching_ids(v, where), np.int64)

    nearest: list[int] = hub.vectors.nearest(
        v.connection, model, vector, spaces, None if request.filters.none else allowed, depth
    )
    return nearest


class _Ranked(NamedTuple):
    """A hit in the making: a chunk with its place, score and what each engine said of it."""

    chunk: int
    place: Place
    score: float
    cosine: float | None
    text_rank: int | None
    vector_rank: int | None
    older_version_of: str = ""
    copies: tuple[str, ...] = ()
    text_score: float | None = None
    parts: Mapping[str, float] | None = None

    def seen(self, text: tuple[str, int, str] | None) -> versions.Seen:
        """What tells copies and versions, with the title before the text; a text that is gone is like no other."""
        place = self.place
        said, start, context = text or ("", 1, "")
        whole = place.piece == place.ref and start == 0
        said = f"{context}\n{said}" if context else said
        return versions.Seen(self.unit, place.ref, place.kind, place.status, place.event_ms, self.chunk, said, whole)

    @property
    def unit(self) -> tuple[str, str]:
        """What a hit stands for; its best chunk counts."""
        return self.place.space, self.place.piece


def _rank(
    v: View,
    question: Question,
    model: int | None,
    words: Words,
    vector_found: list[int],
    former_found: list[int],
    whens: Sequence[When],
    explain: bool,
) -> tuple[list[_Ranked], int]:
    """Score all candidates by both engines, keep the best chunk of each piece, best first; and say how many of the
    chunks that the vectors led to are gone."""
    places = {each.chunk: each.place for each in words.candidates}
    vectors: dict[int, bytes] = {}
    if question.vector is not None and model is not None:  # otherwise the vectors are not even looked at
        vectors |= words.vectors
        unknown = [chunk for chunk in dict.fromkeys((*places, *vector_found)) if chunk not in vectors]
        for chunk, vector, place in store.engine(v).neighbours(v.connection, model, unknown, v.now_ms):
            vectors[chunk], places[chunk] = vector, place
    elsewhere: dict[int, float] = {}
    if question.former is not None:
        rest = [chunk for chunk in dict.fromkeys((*places, *former_found)) if chunk not in vectors]
        for chunk, cosine, place in handover.cosines(v, question, rest):
            elsewhere[chunk], places[chunk] = cosine, place
    ids = sorted(places)
    counts = {each.chunk: each.counts for each in words.candidates}
    terms = () if words.unavailable else question.terms
    if terms:
        # What the words did not find and the vectors not among their first has few words of the question, if any.
        others = [id for id in vector_found[:COUNTED] if id not in counts and id in places]
        counts |= store.engine(v).counts_of(v.connection, terms, others)
    pool = ranking.pool(ids, places, counts, vectors, elsewhere)
    scored = ranking.score(pool, terms, question.vector, question.cosine_range, bare=is_bare(question.text))
    scores = priors.adjusted(dict(zip(ids, scored.scores, strict=True)), places, whens)
    known = {id: cosine for id, cosine in zip(ids, scored.cosines, strict=True) if cosine is not None}
    text_ranks = {each.chunk: rank for rank, each in enumerate(words.candidates, 1)}
    found = dict.fromkeys((*vector_found, *former_found))
    near = sorted((chunk for chunk in found if chunk in known), key=lambda chunk: -known[chunk])
    vector_ranks = {chunk: rank for rank, chunk in enumerate(near, 1)}
    text_scores = {each.chunk: each.score for each in words.candidates} if explain else {}
    at = {id: index for index, id in enumerate(ids)} if explain else {}
    best: dict[tuple[str, str], _Ranked] = {}
    for negative, _, chunk in sorted((-score, -places[id].event_ms, id) for id, score in scores.items()):
        place = places[chunk]
        if (place.space, place.piece) not in best:
            ranks = text_ranks.get(chunk), vector_ranks.get(chunk)
            made = _Ranked(chunk, place, min(max(-negative, 0.0), 1.0), known.get(chunk), *ranks)
            if explain:
                parts = {name: float(added[at[chunk]]) for name, added in scored.parts.items()}
                parts["priors"] = -negative - scored.scores[at[chunk]]
                made = made._replace(text_score=text_scores.get(chunk), parts=parts)
            best[place.space, place.piece] = made
    return list(best.values()), sum(chunk not in vectors for chunk in vector_found)


def _hits(v: View, page: Sequence[_Ranked], known: Texts) -> tuple[Hit, ...]:
    """Hits with their texts. A chunk that went since the words were looked up is left out."""
    unread = [each.chunk for each in page if each.chunk not in known]
    texts = {**known, **store.texts(v, unread)} if unread else known
    return tuple(
        Hit(
            chunk=each.chunk,
            kind=each.place.kind,
            ref=each.place.ref,
            piece=each.place.piece,
            space=each.place.space,
            text=texts[each.chunk][0],
            start=texts[each.chunk][1],
            score=each.score,
            cosine=each.cosine,
            text_rank=each.text_rank,
            vector_rank=each.vector_rank,
            older_version_of=each.older_version_of,
            copies=each.copies,
            text_score=each.text_score,
            parts=_explained(each),
        )
        for each in page
        if each.chunk in texts
    )


def _explained(ranked: _Ranked) -> Mapping[str, float] | None:
    """The parts of a score that are not nothing. What the order of versions, or the bounds of a score, changed
    afterwards is a part of its own, so that they sum to the score."""
    if ranked.parts is None:
        return None
    parts = {**ranked.parts, "order": ranked.score - sum(ranked.parts.values())}
    return {name: added for name, added in parts.items() if abs(added) > 1e-6}
