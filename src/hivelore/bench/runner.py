"""Running a benchmark: store the corpora, ask every question, judge the rankings.

Questions go through `rooms.memory.service.recall`, which the MCP tool `recall` calls. A ranking is what a client sees:
the first page of ten, timed, and where passages of one text or turns of one session take several of its places, the
pages behind it, up to `MOST_HITS`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hivelore.base.search.model import TEXT, VECTORS
from hivelore.bench import ingest
from hivelore.bench.ingest import Ingested, Progress
from hivelore.bench.metrics import DEPTH, Judged, first_places, ranks_of
from hivelore.bench.model import Document, EvalSet, Half, Question, needed, selected
from hivelore.core.actor import Caller, Principal, Role
from hivelore.core.clock import ManualClock
from hivelore.core.errors import Invalid, Unavailable
from hivelore.core.text import estimate_tokens
from hivelore.doors.memory import shapes
from hivelore.rooms.memory import service as memory
from hivelore.rooms.memory.service import RecalledItem
from hivelore.work import Call, Hub

ENGINES: Mapping[str, tuple[str, ...]] = {"text": (TEXT,), "vector": (VECTORS,), "hybrid": (TEXT, VECTORS)}
MOST_HITS = 50  # that a ranking is made of
WARM_UP = 5  # questions asked before any is timed
BENCH_USER = "bench"


@dataclass(frozen=True, slots=True)
class Options:
    """What is measured: which engines, which half of the questions, how many of each set."""

    engine: str = "hybrid"
    half: Half | None = None
    limit_questions: int | None = None


@dataclass(frozen=True, slots=True)
class SetResult:
    """A set under one of its units: one judged question each, in the order of the set."""

    set: str
    corpus: str
    unit: str
    texts: int
    judged: tuple[Judged, ...]
    left_out: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Results:
    """All figures of a run."""

    sets: tuple[SetResult, ...]
    ingested: tuple[Ingested, ...]


def silent(what: str, done: int, total: int) -> None:
    """Progress that nobody watches."""


def run(
    hub: Hub, clock: ManualClock, sets: Sequence[EvalSet], options: Options, progress: Progress = silent
) -> Results:
    """Store what is missing and ask all questions. `clock` is the hub's own.

    Raises `Invalid` for a choice that leaves no question, and `Unavailable` when an engine that is to be measured does
    not answer: figures without it would be those of another engine.
    """
    if options.engine not in ENGINES:
        raise Invalid(f"--engine must be one of {', '.join(ENGINES)}, not {options.engine!r}.", field="engine")
    chosen = [selected(each, options.half, options.limit_questions) for each in sets]
    empty = [each.name for each in chosen if not each.questions]
    if empty:
        raise Invalid(f"No question of {empty[0]!r} is in this half.", field="half")
    call = hub.call(Caller(Principal(BENCH_USER, Role.AGENT), "hivelore bench", "bench"))
    ingest.refuse_strangers(call)
    stored: dict[str, Ingested] = {}
    for each in chosen:
        if each.corpus.name not in stored:
            groups = {q.group for other in chosen if other.corpus is each.corpus for q in other.questions}
            documents = needed(each.corpus, groups)
            stored[each.corpus.name] = ingest.store(call, clock, each.corpus, documents, progress)
    found = [result for each in chosen for result in _ask_all(call, clock, each, options, progress)]
    return Results(tuple(found), tuple(stored.values()))


def _ask_all(call: Call, clock: ManualClock, asked: EvalSet, options: Options, progress: Progress) -> list[SetResult]:
    documents = {(d.group, d.id): d for d in asked.corpus.documents}
    latest = _latest(asked)
    judged: dict[str, list[Judged]] = {unit: [] for unit in asked.units}
    now_ms = clock.now_ms()
    warm_up = asked.questions[:WARM_UP]
    for number, question in enumerate((*warm_up, *asked.questions)):
        clock.at_ms = question.asked_ms or latest.get(question.group) or now_ms
        answer = _ask(call, asked, question, documents, options.engine)
        if number >= len(warm_up):
            for unit in asked.units:
                if relevant := question.relevant.get(unit):
                    ranks = ranks_of(answer.rankings[unit], relevant)
                    one = Judged(question.id, question.kind, ranks, len(relevant), answer.ms, answer.tokens)
                    judged[unit].append(one)
        progress(f"asking {asked.name}", number + 1, len(warm_up) + len(asked.questions))
    clock.at_ms = now_ms
    return [
        SetResult(asked.name, asked.corpus.name, unit, len(documents), tuple(each), asked.left_out)
        for unit, each in judged.items()
        if each
    ]


def _latest(asked: EvalSet) -> dict[str, int]:
    """When a group's questions are asked that have no time of their own: right after its last text."""
    latest: dict[str, int] = {}
    for document in asked.corpus.documents:
        if document.event_ms is not None:
            latest[document.group] = max(document.event_ms, latest.get(document.group, document.event_ms))
    return latest


@dataclass(frozen=True, slots=True)
class _Answer:
    rankings: Mapping[str, Sequence[str]]
    ms: float
    tokens: int


def _ask(
    call: Call, asked: EvalSet, question: Question, documents: Mapping[tuple[str, str], Document], engine: str
) -> _Answer:
    namespace = ingest.namespace_of(asked.corpus.name, question.group)
    engines = ENGINES[engine]
    begun_s = time.perf_counter()
    page = memory.recall(call, question.text, namespaces=(namespace,), limit=DEPTH, engines=engines)
    ms = (time.perf_counter() - begun_s) * 1000
    for each in engines:
        if each not in page.findings.engines:
            raise Unavailable(f"The {each} engine did not answer: {page.findings.unavailable.get(each, 'no reason')}.")
    items = list(page.items)
    rankings = _rankings(asked, question, documents, items)
    if page.findings.more and any(len(ranking) < DEPTH for ranking in rankings.values()):
        more = memory.recall(
            call, question.text, namespaces=(namespace,), limit=MOST_HITS - DEPTH, offset=DEPTH, engines=engines
        )
        rankings = _rankings(asked, question, documents, [*items, *more.items])
    shown = [shapes.hit(each) for each in items[: call.hub.settings.recall_limit]]
    return _Answer(rankings, ms, estimate_tokens(json.dumps(shown, ensure_ascii=False)))


def _rankings(
    asked: EvalSet, question: Question, documents: Mapping[tuple[str, str], Document], items: Sequence[RecalledItem]
) -> dict[str, list[str]]:
    """The ranking of each unit."""
    ids = (ingest.document_id(each.item, asked.corpus.name, question.group) for each in items)
    found = [documents[question.group, id] for id in ids]
    return {unit: first_places(d.units[unit] for d in found if unit in d.units) for unit in asked.units}
