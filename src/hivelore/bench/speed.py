"""`hivelore bench speed`: how long a recall takes, what it needs and what it finds as a store grows.

One store grows from size to size. Texts go the way that an import goes; vectors are made, with the structure of the
bundled model's (`speed_corpus.Vectors`), because a million real ones take hours. A recall is the function behind the
MCP tool, called in this process with the vector of its question at hand: what is measured is the store and the search.
"""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hivelore.base.search import service as search
from hivelore.base.search.model import TEXT, VECTORS, Filters, Request
from hivelore.bench import speed_corpus, speed_store
from hivelore.bench.metrics import percentile
from hivelore.bench.speed_corpus import Floats, Vectors
from hivelore.core.actor import Scope, space_of
from hivelore.core.errors import Unavailable
from hivelore.core.ports import Embedder, EmbedderState, EmbedRole
from hivelore.rooms.memory import service as memory
from hivelore.work import Hub

QUESTIONS = 100
COMPARED = 50  # questions whose nearest vectors are compared with the exact ones
p95 = partial(percentile, share=0.95)
NEAREST = 10
WARM_UP = 10
SAMPLE = 1_500  # real vectors that the others are made from
LOAD_LIMIT_S = 600.0
EVERYTHING = "everything"
SCOPES = (EVERYTHING, *(name for name, _ in speed_corpus.SHARES))


@dataclass(frozen=True, slots=True)
class Figures:
    """One scope of one size. `share` is the part of all memories that lies in the scope, `found` the part of the exact
    nearest that the vectors gave."""

    memories: int
    scope: str
    share: float
    p50_ms: float
    p95_ms: float
    text_p95_ms: float
    vectors_p95_ms: float
    found: float


@dataclass(frozen=True, slots=True)
class Size:
    """One size of the store."""

    memories: int
    adds_per_s: float
    load_s: float
    resident_mb: float
    disk_mb: float
    scopes: tuple[Figures, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class PreparedEmbedder:
    """An embedder that knows the vectors of its questions already."""

    remote = False
    dims: int

    def __init__(self, model: str, cosine_range: tuple[float, float], known: Mapping[str, bytes]) -> None:
        self.model = f"bench of {model}"
        self.cosine_range = cosine_range
        self.dims = len(next(iter(known.values()))) // 4
        self._known = known

    def state(self) -> EmbedderState:
        return EmbedderState("ready")

    def start(self) -> None:
        """Nothing to load."""

    def wait_ready(self, timeout_s: float) -> EmbedderState:
        return self.state()

    def embed(self, texts: Sequence[str], role: EmbedRole) -> list[bytes]:
        return [self._known[text] for text in texts]

    def prepare(self, query: str) -> Callable[[], bytes]:
        return lambda: self._known[query]

    def close(self) -> None:
        """Nothing to free."""


def prepare(embedder: Embedder, say: Callable[[str], None]) -> tuple[PreparedEmbedder, Floats]:
    """Embed the questions and a sample of memories; the model is not needed after that."""
    embedder.start()
    state = embedder.wait_ready(LOAD_LIMIT_S)
    if state.status != "ready":
        raise Unavailable(f"The embedder is {state.status}: {state.reason or 'no vectors are made'}.")
    say(f"embedding {SAMPLE} sample texts")
    texts = [content for _, content in speed_corpus.memories(SAMPLE, seed=99)]
    sample = [
        vector for start in range(0, SAMPLE, 16) for vector in embedder.embed(texts[start : start + 16], "passage")
    ]
    asked = speed_corpus.questions(QUESTIONS)
    known = {question: embedder.embed([question], "query")[0] for question in asked}
    return PreparedEmbedder(embedder.model, embedder.cosine_range, known), np.stack(
        [np.frombuffer(vector, "<f4") for vector in sample]
    )


def run(hub: Hub, sizes: Sequence[int], sample: Floats, say: Callable[[str], None]) -> list[Size]:
    """Grow the store to each size in turn, and measure."""
    done = []
    made = Vectors(sample)
    for size in sorted(sizes):
        present = speed_store.stored(hub)
        seconds, added = 0.0, max(size - present, 0)
        if added:
            say(f"storing {added:,} memories")
            written = speed_corpus.memories(size)
            for _ in range(present):
                next(written)
            seconds = speed_store.add(hub, written, added)
            say("making their vectors")
            speed_store.add_vectors(hub, made)
        elif present > size:
            say(f"the store holds {present:,} memories already; leaving out {size:,}")
            continue
        say(f"measuring {size:,}")
        done.append(_measure(hub, size, added / seconds if seconds else 0.0))
    return done


def _measure(hub: Hub, size: int, adds_per_s: float) -> Size:
    asked = speed_corpus.questions(QUESTIONS)
    load_s = _loaded(hub, asked[0])
    times = {name: _timed(hub, name, asked) for name in SCOPES}
    resident_mb = _resident_mb()
    spaces = speed_store.spaces_of(hub)
    wanted = {name: None if name == EVERYTHING else {spaces[name]} for name in SCOPES if name in (*spaces, EVERYTHING)}
    queries = np.stack([np.frombuffer(hub.embedder.embed([each], "query")[0], "<f4") for each in asked[:COMPARED]])
    exact = speed_store.exact_nearest(hub, queries, wanted, NEAREST)
    scopes = []
    shares = dict(speed_corpus.SHARES)
    for name in wanted:
        whole, text, near = times[name]
        found = _found(hub, name, asked[:COMPARED], exact[name])
        scopes.append(
            Figures(
                size, name, shares.get(name, 1.0), statistics.median(whole), p95(whole), p95(text), p95(near), found
            )
        )
    return Size(size, adds_per_s, load_s, resident_mb, speed_store.size_bytes(hub) / 2**20, tuple(scopes))


def _namespaces(scope: str) -> list[str]:
    return ["*"] if scope == EVERYTHING else [scope]


def _loaded(hub: Hub, question: str) -> float:
    """Seconds until the vectors answer."""
    started = time.perf_counter()
    while time.perf_counter() - started < LOAD_LIMIT_S:
        recalled = memory.recall(speed_store.call(hub), question, namespaces=["*"], limit=8)
        if VECTORS in recalled.findings.engines:
            return time.perf_counter() - started
        time.sleep(0.05)
    raise Unavailable("The vectors did not get ready.")


def _timed(hub: Hub, scope: str, asked: Sequence[str]) -> tuple[list[float], list[float], list[float]]:
    """Milliseconds of each recall, and of its words and its vectors alone."""
    whole, text, near = [], [], []
    for each in (*asked[:WARM_UP], *asked):
        started = time.perf_counter()
        recalled = memory.recall(speed_store.call(hub), each, namespaces=_namespaces(scope), limit=8)
        whole.append((time.perf_counter() - started) * 1000)
        if tuple(recalled.findings.engines) != (TEXT, VECTORS):
            raise Unavailable(f"An engine did not answer: {dict(recalled.findings.unavailable)}")
        question = search.ask(hub, each)
        with speed_store.call(hub).read() as v:
            started = time.perf_counter()
            search.look_up(v, question, _scope(scope), Filters())
            text.append((time.perf_counter() - started) * 1000)
            started = time.perf_counter()
            search.nearest(hub, v, Request(question, _scope(scope)))
            near.append((time.perf_counter() - started) * 1000)
    return whole[WARM_UP:], text[WARM_UP:], near[WARM_UP:]


def _scope(name: str) -> Scope:
    return Scope(None) if name == EVERYTHING else Scope((space_of(name, speed_store.USER, frozenset()),))


def _found(hub: Hub, scope: str, asked: Sequence[str], exact: Sequence[Any]) -> float:
    """The part of the exact nearest that a search of the vectors gives among as many."""
    hit = wanted = 0
    for each, nearest in zip(asked, exact, strict=True):
        with speed_store.call(hub).read() as v:
            given = search.nearest(hub, v, Request(search.ask(hub, each), _scope(scope)))
        best = [chunk for chunk, _ in given[:NEAREST]]
        hit += len(set(best) & set(nearest.tolist()))
        wanted += len(nearest)
    return hit / wanted if wanted else 1.0


def _resident_mb() -> float:
    """Memory of this process: now where the system says so, else its highest."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


HEADINGS = ("memories", "scope", "p50 ms", "p95 ms", "words p95", "vectors p95", "nearest found")
SIZE_HEADINGS = ("memories", "adds/s", "load s", "resident MB", "disk MB")


def rows(sizes: Sequence[Size]) -> list[tuple[str, ...]]:
    """A row for each scope of each size."""
    return [
        (
            f"{each.memories:,}",
            f"{each.scope} ({each.share:.2%})",
            f"{each.p50_ms:.1f}",
            f"{each.p95_ms:.1f}",
            f"{each.text_p95_ms:.1f}",
            f"{each.vectors_p95_ms:.1f}",
            f"{each.found:.1%}",
        )
        for size in sizes
        for each in size.scopes
    ]


def size_rows(sizes: Sequence[Size]) -> list[tuple[str, ...]]:
    """A row for each size."""
    return [
        (
            f"{size.memories:,}",
            f"{size.adds_per_s:,.0f}" if size.adds_per_s else "",
            f"{size.load_s:.1f}",
            f"{size.resident_mb:,.0f}",
            f"{size.disk_mb:,.0f}",
        )
        for size in sizes
    ]
