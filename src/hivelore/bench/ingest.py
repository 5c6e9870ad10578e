"""Storing a corpus the way clients do: `remember` for texts, `save_session` for sessions, then vectors by the same
jobs.

What a store already holds as it should is left alone, so a kept store is ready at once on the next run. The clock of
the benchmark stands at each text's own time while it is stored.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hivelore.app import bound_handlers
from hivelore.base.memories import store as memories
from hivelore.base.memories.model import Item
from hivelore.base.search import store as search
from hivelore.bench.model import Corpus, Document
from hivelore.core.clock import ManualClock
from hivelore.core.errors import HiveloreError, Invalid, Unavailable
from hivelore.core.page import After, Offset, Position
from hivelore.core.text import clean
from hivelore.jobs import queue, worker
from hivelore.rooms.memory import service as memory
from hivelore.rooms.transcripts import service as transcripts
from hivelore.work import Call, Hub

PREFIX = "bench"
PAGE = 200

Progress = Callable[[str, int, int], None]
"""What is being done, how much of it is done, of how much."""


@dataclass(frozen=True, slots=True)
class Ingested:
    """What storing a corpus took. `known` texts lay in the store from an earlier run and count in no rate."""

    corpus: str
    stored: int
    known: int
    store_s: float
    embed_s: float

    @property
    def text_per_s(self) -> float | None:
        """Texts stored and findable by word, per second; None when none was stored."""
        return self.stored / self.store_s if self.stored else None

    @property
    def with_vectors_per_s(self) -> float | None:
        """Texts stored and findable by meaning too, per second."""
        return self.stored / (self.store_s + self.embed_s) if self.stored else None


def namespace_of(corpus: str, group: str) -> str:
    """Where the texts of a group lie."""
    return "/".join(part for part in (PREFIX, corpus, group) if part)


def refuse_strangers(call: Call) -> None:
    """Refuse a store that holds anything but benchmarks: they would mix with what somebody keeps there, and it would
    change the figures."""
    with call.hub.db.read() as connection:
        held = sum(memories.statistics(connection).values())
    if held > len({item.memory for item in _items(call, "*") if item.namespace.startswith(f"{PREFIX}/")}):
        raise Invalid(
            "This database holds other memories than those of benchmarks. Name another one with --database-url, "
            "or leave it out to use a store that is thrown away.",
            field="database_url",
        )


def store(
    call: Call, clock: ManualClock, corpus: Corpus, documents: Sequence[Document], progress: Progress
) -> Ingested:
    """Store what the store does not hold yet, and wait until it has its vectors."""
    held = {group: _held(call, namespace_of(corpus.name, group)) for group in {d.group for d in documents}}
    _refuse_leftovers(corpus.name, held, documents)
    missing = [d for d in documents if held[d.group].get(d.id) != kept_text(d)]
    now_ms = clock.now_ms()
    begun_s = time.perf_counter()
    for number, document in enumerate(missing):
        clock.at_ms = document.event_ms if document.event_ms is not None else now_ms
        try:
            _store(call, corpus.name, document)
        except HiveloreError as exc:
            clock.at_ms = now_ms
            raise type(exc)(f"{corpus.name}, text {document.id!r}: {exc.message}") from exc
        progress(f"storing {corpus.name}", number + 1, len(missing))
    clock.at_ms = now_ms
    stored_s = time.perf_counter()
    embed(call.hub, clock, progress)
    return Ingested(
        corpus.name,
        len(missing),
        len(documents) - len(missing),
        stored_s - begun_s,
        time.perf_counter() - stored_s,
    )


def _refuse_leftovers(corpus: str, held: Mapping[str, Mapping[str, str]], documents: Sequence[Document]) -> None:
    known = {(d.group, d.id) for d in documents}
    left = sum((group, id) not in known for group, ids in held.items() for id in ids)
    if left:
        raise Invalid(
            f"The store holds {left} texts of an earlier version of {corpus}, which could be found instead of the "
            "present ones. Use another --data folder or database.",
            field="data",
        )


def kept_text(document: Document) -> str:
    """The text as a store keeps it."""
    text = clean(document.text).text
    return text if document.whole_session else text.strip()


def _store(call: Call, corpus: str, document: Document) -> None:
    namespace = namespace_of(corpus, document.group)
    if document.whole_session:
        transcripts.save_session(call, f"{namespace}/{document.id}", document.text, namespace)
        return
    memory.remember(
        call,
        document.text,
        namespace=namespace,
        title=document.title,
        tags=document.tags,
        layer=document.layer,
        key=f"{namespace}/{document.id}",
        event_ms=document.event_ms,
        origin={"document": document.id},
    )


def document_id(item: Item, corpus: str, group: str) -> str:
    """The document that a memory was made from."""
    if item.kind == transcripts.SESSION:
        return str(item.origin.get("session_id", "")).removeprefix(f"{namespace_of(corpus, group)}/")
    return str(item.origin.get("document", ""))


def _held(call: Call, namespace: str) -> Mapping[str, str]:
    """The texts in a namespace, by document."""
    corpus_and_group = namespace.removeprefix(f"{PREFIX}/")
    texts: dict[str, dict[int, str]] = {}
    for item in _items(call, namespace):
        texts.setdefault(document_id(item, corpus_and_group, ""), {})[item.seq] = item.text
    return {id: "".join(parts[seq] for seq in sorted(parts)) for id, parts in texts.items()}


def _items(call: Call, namespace: str) -> Iterator[Item]:
    position: Position = Offset(0)
    more = True
    while more:
        page = memory.list_items(call, namespace, position, PAGE)
        yield from page.items
        more = page.more
        if more:
            last = page.items[-1]
            position = After(last.created_ms, last.memory, last.seq, 0)


def embed(hub: Hub, clock: ManualClock, progress: Progress) -> None:
    """Give every chunk its vector, by the jobs that a server runs. Raises `Unavailable` when that does not come to an
    end."""
    if hub.embedder.state().status == "off":
        return
    with hub.db.write() as connection:  # what a start queues: chunks without a vector of this model
        queue.enqueue(
            connection,
            id=hub.ids.new("job"),
            name="search.reconcile",
            now_ms=clock.now_ms(),
            dedupe="search.reconcile",
        )
    before, handlers = _pending(hub), bound_handlers(hub)
    while worker.run_one(hub.db, handlers, clock):
        progress("making vectors", before - min(_pending(hub), before), before)
    if left := _pending(hub):
        raise Unavailable(f"{left} chunks got no vector; see the log for what the embedding model or the store said.")


def _pending(hub: Hub) -> int:
    with hub.db.read() as connection:
        return search.pending_total(connection)
