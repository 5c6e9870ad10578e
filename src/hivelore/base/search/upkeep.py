"""Upkeep of the index while it is in use: compare each table with the one it follows from, and mend what differs.

`walk` looks at everything, or at samples, and counts what is wrong; with `mend` it also puts it right, in transactions
of some tens of milliseconds. What is right is only looked at. So a walk may run beside servers and writers, may be
stopped at any moment, and run again it goes on with what is left. Everything is read in pages: memory use does not
depend on the size of the store.

The order is that of what follows from what: entries, chunks, vectors, words, the list of those that wait for a vector.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sqlalchemy import Connection

from hivelore.base.search import upkeep_store as store
from hivelore.base.search.jobs import leave_embedding
from hivelore.base.search.model import Entry
from hivelore.base.search.store import drop_chunks, pending_total, statistics
from hivelore.base.search.upkeep_store import Chunk, Ref
from hivelore.core.actor import Caller, Principal, Role
from hivelore.core.clock import Clock
from hivelore.core.errors import Unavailable
from hivelore.core.ids import Ids
from hivelore.core.settings import Settings
from hivelore.sql.database import Database, Retryable
from hivelore.work import Hub, Work

log = logging.getLogger("hivelore.search")

ENTRIES, CHUNKS, VECTORS = 200, 500, 1_000  # in one look
ENTRIES_MENDED, CHUNKS_MENDED = 20, 100  # in one transaction
REST_LIMIT_S = 0.2
ATTEMPTS = 3

# Space, time of creation in ms, id: the order in which entries are walked. Ranking takes chunks that were stored one
# after the other for neighbours, so what is registered anew is registered in the order in which it came.
Key = tuple[str, int, str]
FIRST: Key = ("", -1, "")


@dataclass(frozen=True, slots=True)
class Source:
    """Where entries come from: the rows that a table of memories, or of another room, holds.

    `page` gives entries behind a key in its order, and the key of the last (None at the end). `sample` gives entries
    whose ids are not below a text; ids are random. `current` holds the row
    of an entry and gives the entry as it is then, None when it is gone. `known` says which entries exist,
    `count` how many, and `registered` how many of them have a chunk.
    """

    page: Callable[[Connection, Key, int], tuple[Sequence[Entry], Key | None]]
    sample: Callable[[Connection, str, int], Sequence[Entry]]
    current: Callable[[Work, Ref], Entry | None]
    known: Callable[[Connection, Sequence[Ref]], set[Ref]]
    count: Callable[[Connection], int]
    registered: Callable[[Connection], int]


@dataclass(frozen=True, slots=True)
class Site:
    """The store that is looked after. `model` is the name of the embedder's model, "" when vectors are off.

    `rest` is called between two writing transactions with the seconds that the last one took (at most `REST_LIMIT_S`),
    so that other writers get as much of the store as the walk does.
    """

    db: Database
    settings: Settings
    clock: Clock
    ids: Ids
    sources: tuple[Source, ...]
    model: str
    rest: Callable[[float], None] = time.sleep


WRONG = {
    "unregistered": "memories that are not registered",
    "stale": "memories that are registered otherwise than their rows say",
    "orphan_chunks": "chunks without a memory",
    "unknown_models": "vectors of a model that is not recorded",
    "orphan_vectors": "vectors without a chunk",
    "damaged_vectors": "damaged vectors",
    "wrong_words": "chunks whose words are missing or wrong in the text index",
    "extra_words": "rows of the text index without a chunk",
    "unqueued": "chunks that have no vector and do not wait for one",
    "orphan_pending": "waiting entries without a chunk",
}


def tables_of(wrong: str, dialect: str) -> tuple[str, ...]:
    """The tables in which a thing that is wrong shows."""
    if wrong in ("wrong_words", "extra_words"):
        return (store.text_table(dialect),)
    return {
        "unknown_models": ("search_model",),
        "orphan_vectors": ("search_vector",),
        "damaged_vectors": ("search_vector",),
        "unqueued": ("search_vector", "search_pending"),
        "orphan_pending": ("search_pending",),
    }.get(wrong, ("search_chunk",))


@dataclass(slots=True)
class Account:
    """What a walk looked at and what it found. `finished` is False while it goes on, or when it was stopped."""

    mended: bool
    sampled: bool = False
    finished: bool = False
    memories: int = 0
    chunks: int = 0
    vectors: int = 0
    found: dict[str, int] = field(default_factory=lambda: dict.fromkeys(WRONG, 0))
    queued: int = 0
    left_alone: int = 0  # wrong when looked at, and changed or gone when their turn came

    @property
    def clean(self) -> bool:
        return not any(self.found.values())


Progress = Callable[[int, int, str], None]  # done, total, what


def walk(
    site: Site, *, mend: bool, account: Account | None = None, sample: int = 0, progress: Progress | None = None
) -> Account:
    """Look at the whole index, or with `sample` at about so many memories, chunks and vectors; return the account.

    Counts of what nothing refers to (words and waiting entries without a chunk) are always of the whole.
    """
    account = account or Account(mended=mend)
    account.sampled = sample > 0
    with site.db.read() as connection:
        total = sum(source.count(connection) for source in site.sources)
        low, high = store.chunk_span(connection)
        first_vector, last_vector = store.vector_span(connection)
    told = progress or (lambda done, total, what: None)
    for source in site.sources:
        for page in _entry_pages(site, source, sample):
            account.memories += len(page)
            _entries(site, source, page, account)
            told(account.memories, total, "memories")
    for after in _starts(first_vector, last_vector, VECTORS, sample):
        _vectors(site, after, sample > 0, account)
        told(account.vectors, 0, "vectors")
    if mend:  # renewed entries have new chunks
        with site.db.read() as connection:
            low, high = store.chunk_span(connection)
    for after in _starts(low, high, CHUNKS, sample):
        _chunks(site, after, sample > 0, account, told)
    _leftovers(site, account)
    if mend:
        _see_to_vectors(site)
    account.finished = True
    return account


def check(sources: tuple[Source, ...], hub: Hub, args: dict[str, Any]) -> None:
    """A job of every start: count whether anything is lacking, and if so mend it while the server serves."""
    with hub.db.read() as connection:
        unregistered = sum(source.count(connection) - source.registered(connection) for source in sources)
        counts = statistics(connection)
    if unregistered <= 0 and counts["text_rows"] == counts["chunks"]:
        return
    log.warning(
        "the index does not fit the memories (%d not registered, %d chunks, %d rows of words): mending it",
        unregistered,
        counts["chunks"],
        counts["text_rows"],
    )

    def rest(seconds: float) -> None:
        if hub.stopping.wait(seconds):
            raise Unavailable("the process is ending; another one, or the next start, takes this up")

    name = "" if hub.embedder.state().status == "off" else hub.embedder.model
    site = Site(hub.db, hub.settings, hub.clock, hub.ids, sources, name, rest)
    account = walk(site, mend=True)
    hub.bell.ring()
    found = (f"{WRONG[what]}: {number}" for what, number in account.found.items() if number)
    log.warning("mended the index: %s", ", ".join(found))


def _starts(low: int, high: int, page: int, sample: int) -> Iterator[int]:
    """Ids behind which to look: one start for the whole, or several spread over the ids for a sample."""
    if high == 0:
        return
    pages = -(-sample // page) if sample else 1
    span = high - low + 1
    if not sample or span <= sample:
        yield low - 1
        return
    yield from (low - 1 + span * number // pages for number in range(pages))


# -- entries -----------------------------------------------------------------------------------------------------------


def _entry_pages(site: Site, source: Source, sample: int) -> Iterator[Sequence[Entry]]:
    """All entries, or pages from places that are spread evenly: ids are random, so their first digits are places."""
    with site.db.read() as connection:
        everything = not sample or source.count(connection) <= sample
    if not everything:
        pages = -(-sample // ENTRIES)
        for number in range(pages):
            with site.db.read() as connection:
                some = source.sample(connection, f"{number * 65_536 // pages:04x}", ENTRIES)
            if some:
                yield some
        return
    after: Key | None = FIRST
    while after is not None:
        with site.db.read() as connection:
            page, after = source.page(connection, after, ENTRIES)
        if page:
            yield page


def _entries(site: Site, source: Source, page: Sequence[Entry], account: Account) -> None:
    with site.db.read() as connection:
        absent, stale = store.differing(connection, page, site.settings)
    account.found["unregistered"] += len(absent)
    account.found["stale"] += len(stale)
    if not account.mended:
        return
    for some in _batched([*absent, *stale], ENTRIES_MENDED):
        account.left_alone += _mend(site, partial(_renew, source, some))


def _renew(source: Source, refs: Sequence[Ref], w: Work) -> int:
    """Register entries anew; return how many are gone meanwhile."""
    gone = 0
    for ref in refs:
        entry = source.current(w, ref)
        if entry is None:
            gone += 1
        else:
            store.renew(w, entry)
    return gone


# -- chunks ------------------------------------------------------------------------------------------------------------


def _chunks(site: Site, after: int, once: bool, account: Account, told: Progress) -> None:
    while True:
        with site.db.read() as connection:
            page = store.chunk_page(connection, after, CHUNKS)
            if not page:
                return
            orphans, words, unqueued = _judge_chunks(site, connection, page)
        account.chunks += len(page)
        account.found["orphan_chunks"] += len(orphans)
        account.found["wrong_words"] += len(words)
        account.found["unqueued"] += len(unqueued)
        if account.mended:
            _mend_chunks(site, orphans, words, unqueued, account)
        told(account.chunks, 0, "chunks")
        after = page[-1].id
        if once:
            return


def _judge_chunks(
    site: Site, connection: Connection, page: Sequence[Chunk]
) -> tuple[list[Chunk], list[Chunk], list[Chunk]]:
    known = _known(site, connection, page)
    orphans = [chunk for chunk in page if (chunk.space, chunk.ref) not in known]
    rest = [chunk for chunk in page if (chunk.space, chunk.ref) in known]
    unqueued: list[Chunk] = []
    if site.model:
        unqueued = store.without_vector(connection, store.model_in_use(connection, site.model), rest)
    return orphans, store.wrong_words(connection, rest), unqueued


def _mend_chunks(
    site: Site, orphans: Sequence[Chunk], words: Sequence[Chunk], unqueued: Sequence[Chunk], account: Account
) -> None:
    for some in _batched(orphans, CHUNKS_MENDED):
        _mend(site, partial(_drop_orphans, site, some))
    for some in _batched(words, CHUNKS_MENDED):
        renewed = _mend_rows(site, store.renew_words, some)
        account.left_alone += len(some) - renewed
    for some in _batched(unqueued, CHUNKS):
        _mend_rows(site, store.queue_vectors, some)
        account.queued += len(some)


def _drop_orphans(site: Site, page: Sequence[Chunk], w: Work) -> None:
    known = _known(site, w.connection, page)
    for chunk in page:
        if (chunk.space, chunk.ref) not in known:
            drop_chunks(w, chunk.space, [chunk.id])


def _known(site: Site, connection: Connection, page: Sequence[Chunk]) -> set[Ref]:
    """The entries that these chunks belong to, as far as there are such."""
    refs = list({(chunk.space, chunk.ref) for chunk in page})
    return set().union(*(source.known(connection, refs) for source in site.sources))


def _see_to_vectors(site: Site) -> None:
    """Leave a job for whatever waits for a vector, however it came to wait."""
    with site.db.read() as connection:
        if pending_total(connection) == 0:
            return
    leave_embedding(site.db, site.ids, site.clock)


# -- vectors, and what nothing refers to -------------------------------------------------------------------------------


def _vectors(site: Site, after: int, once: bool, account: Account) -> None:
    place: int | None = after
    while place is not None:
        with site.db.read() as connection:
            bad, place = store.bad_vectors(connection, place, VECTORS)
        account.vectors += bad.looked_at
        account.found["orphan_vectors"] += len(bad.orphans)
        account.found["unknown_models"] += len(bad.unknown)
        account.found["damaged_vectors"] += len(bad.damaged)
        if account.mended:
            for some in _batched((*bad.orphans, *bad.unknown, *bad.damaged), CHUNKS):
                _mend_rows(site, store.drop_vectors, some)
        if once:
            return


def _leftovers(site: Site, account: Account) -> None:
    behind = ("", 0)
    while True:
        with site.db.read() as connection:
            rows = store.extra_words(connection, behind, CHUNKS)
        if not rows:
            break
        account.found["extra_words"] += len(rows)
        behind = rows[-1]
        if account.mended:
            _mend_rows(site, store.drop_extra_words, rows)
    after = 0
    while True:
        with site.db.read() as connection:
            ids = store.orphan_pending(connection, after, CHUNKS)
        if not ids:
            break
        account.found["orphan_pending"] += len(ids)
        after = ids[-1]
        if account.mended:
            _mend_rows(site, store.drop_pending, ids)


def _batched(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    return (items[start : start + size] for start in range(0, len(items), size))


# -- writing -----------------------------------------------------------------------------------------------------------

_CALLER = Caller(Principal("upkeep", Role.ADMIN), "hivelore", "upkeep")


def _mend_rows(site: Site, step: Callable[[Connection, Any], int | None], rows: Sequence[Any]) -> int:
    return _mend(site, lambda w: step(w.connection, rows))


def _mend(site: Site, step: Callable[[Work], int | None]) -> int:
    """Do a step in a short transaction, again when the store refused it (deadlock); then rest as long as it took.
    Returns what the step returns."""
    begun_s, done = time.monotonic(), None
    for attempt in range(ATTEMPTS):
        try:
            with site.db.write() as connection:
                done = step(Work(connection, site.clock.now_ms(), _CALLER, site.settings, site.ids))
            break
        except Retryable:
            if attempt == ATTEMPTS - 1:
                raise
    site.rest(min(time.monotonic() - begun_s, REST_LIMIT_S))
    return done or 0
