"""What `hivelore doctor` finds in a store: counts, the index against the memories, copies, loops, secrets, sizes.

It only reads, and shows counts and ids, never a text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from sqlalchemy.exc import DatabaseError

from hivelore.app import site
from hivelore.base.memories import count_store
from hivelore.base.memories import store as memories
from hivelore.base.memories import upkeep as memory_upkeep
from hivelore.base.search import copies, upkeep_store
from hivelore.base.search import store as search
from hivelore.base.search.upkeep import WRONG, tables_of, walk
from hivelore.cli import output
from hivelore.core.errors import HiveloreError
from hivelore.core.fence import TAGS, strip_recalled
from hivelore.core.redact import redact
from hivelore.core.settings import Settings
from hivelore.jobs import queue
from hivelore.sql import derived
from hivelore.sql.database import Database

SAMPLE = 5_000  # memories, chunks and vectors that are compared; a store with fewer is compared as a whole
TEXTS = 5_000  # newest texts that are searched for secrets
TEXT_PAGE = 10  # read at once: a text can have millions of characters
COMPARED = 2_000  # newest vectors that are compared with each other
DEEP_BYTES = 1_000_000_000  # larger files are not read page by page here
SHOWN_IDS = 3

ERRORS = ("unregistered", "stale", "wrong_words")  # these hide memories from searches; the rest costs space or vectors


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked."""

    check: str
    status: Literal["ok", "warning", "error"]
    message: str


def contents(db: Database, settings: Settings) -> Iterator[Finding]:
    """Everything that is to be said about what a store holds."""
    for part in (_counts, _index, _models, _jobs, _copies, _loops, _secrets, _sizes):
        yield from _shielded(part, db, settings)


def _shielded(
    part: Callable[[Database, Settings], Iterator[Finding]], db: Database, settings: Settings
) -> Iterator[Finding]:
    """One part that cannot be looked at does not keep the others from being looked at."""
    name = part.__name__.removeprefix("_")
    try:
        yield from part(db, settings)
    except HiveloreError as exc:
        yield Finding(name, "error", exc.message)
    except Exception as exc:
        yield Finding(name, "error", f"could not be checked ({type(exc).__name__})")


def _counts(db: Database, settings: Settings) -> Iterator[Finding]:
    with db.read() as connection:
        kinds = memories.statistics(connection)
    counted = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items())) or "none"
    yield Finding("memories", "ok", counted)
    with db.read() as connection:
        wrong = len(count_store.wrong(connection))
    if wrong:
        yield Finding("memories", "error", f"{wrong} space(s) are counted wrong (memory_count); run `hivelore repair`")


def _index(db: Database, settings: Settings) -> Iterator[Finding]:
    deep = db.size_bytes() <= DEEP_BYTES
    try:
        faults = derived.faults(db, deep=deep)
    except DatabaseError:
        faults = []
        yield Finding("index", "warning", "its structure could not be compared: the role may not create a schema")
    for fault in faults:
        yield Finding("index", "error", f"{fault.table} {fault.words}; run `hivelore repair`")
    if faults:
        return
    with db.read() as connection:
        index = search.statistics(connection)
    counted = f"{index['chunks']} chunks, {index['vectors']} vectors, {index['pending']} waiting for one"
    account = walk(site(settings, db), mend=False, sample=SAMPLE)
    wrong = [(name, number) for name, number in account.found.items() if number]
    for name, number in wrong:
        where = ", ".join(tables_of(name, db.dialect))
        status: Literal["error", "warning"] = "error" if name in ERRORS else "warning"
        yield Finding("index", status, f"{WRONG[name]}: {number} ({where}); run `hivelore reindex`")
    if not wrong:
        yield Finding("index", "ok", counted)
    looked = (account.memories, account.chunks, account.vectors)
    all_of_them = (sum(memories_of(db).values()), index["chunks"], index["vectors"])
    if any(some < every for some, every in zip(looked, all_of_them, strict=True)):
        yield Finding(
            "sample",
            "ok",
            f"compared {looked[0]} memories, {looked[1]} chunks and {looked[2]} vectors with what they follow from; "
            "`hivelore reindex --dry-run` compares all",
        )
    if not deep:
        yield Finding("sample", "ok", "pages of the file were not read; `hivelore repair --dry-run` reads them all")


def memories_of(db: Database) -> dict[str, int]:
    with db.read() as connection:
        return memories.statistics(connection)


def _models(db: Database, settings: Settings) -> Iterator[Finding]:
    """A change of the embedding model that is under way."""
    name = site(settings, db).model
    with db.read() as connection:
        former = search.former_model(connection, name) if name and not name.endswith("/0") else None
        waiting = search.pending_total(connection)
        used = search.model_id(connection, name) is not None
    if former is not None and not used:
        yield Finding(
            "models",
            "ok",
            f"the settings name {name}, the vectors are of {former.name}: `hivelore serve` makes new ones in the "
            "background while both answer",
        )
    elif former is not None:
        yield Finding(
            "models",
            "ok",
            f"changing from {former.name} to {name}, {waiting} chunks to go; both answer until it is done, "
            "and a running server does it",
        )


def _jobs(db: Database, settings: Settings) -> Iterator[Finding]:
    with db.read() as connection:
        jobs = queue.counts(connection)
    failed = jobs[queue.FAILED]
    advice = "; see the server's log, and run `hivelore reindex` to queue vectors again" if failed else ""
    yield Finding(
        "jobs", "warning" if failed else "ok", f"{jobs[queue.WAITING]} waiting, {failed} failed for good{advice}"
    )


def _copies(db: Database, settings: Settings) -> Iterator[Finding]:
    with db.read() as connection:
        texts, beyond = memory_upkeep.same_texts(connection)
        model = upkeep_store.model_in_use(connection, site(settings, db).model)
        looked, pairs = copies.near(connection, model, COMPARED) if model is not None else (0, [])
    if texts:
        yield Finding(
            "copies",
            "warning",
            f"{texts} texts are stored more than once in one place ({beyond} copies); "
            "`hivelore search` finds them and `hivelore delete ID` removes one",
        )
    if pairs:
        some = "; ".join(f"{one} and {other}" for one, other in pairs[:SHOWN_IDS])
        yield Finding(
            "copies",
            "warning",
            f"{len(pairs)} pairs among the newest {looked} say nearly the same: {some}; "
            "compare them with `hivelore get ID`, and delete one or let one replace the other",
        )
    if not texts and not pairs:
        yield Finding("copies", "ok", f"no text twice; the newest {looked} with vectors were compared by meaning")


def _loops(db: Database, settings: Settings) -> Iterator[Finding]:
    with db.read() as connection:
        rows = memory_upkeep.holding(connection, [f"<{tag}" for tag in TAGS], TEXTS)
        ids = [row.id for row in rows if strip_recalled(row.text)[1]]
    if ids:
        yield Finding(
            "loops",
            "warning",
            f"{_number(len(ids))} recalled text that was stored again: {_shown(ids)}; "
            "read with `hivelore get ID`, remove with `hivelore delete ID`, and see docs/maintenance.md",
        )
    else:
        yield Finding("loops", "ok", "no memory holds a block of recalled memories")


def _secrets(db: Database, settings: Settings) -> Iterator[Finding]:
    kinds: Counter[str] = Counter()
    ids: list[str] = []
    looked = 0
    before: tuple[int, str] | None = None
    while looked < TEXTS:
        with db.read() as connection:
            rows = memory_upkeep.newest_texts(connection, before, TEXT_PAGE)
        if not rows:
            break
        before = (rows[-1].created_ms, rows[-1].id)
        looked += len(rows)
        for row in rows:
            found = redact(f"{row.title}\n{row.text}").counts
            kinds.update(found)
            ids += [row.id] if found else []
    if ids:
        counted = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))
        yield Finding(
            "secrets",
            "warning",
            f"{_number(len(ids))} what looks like a secret ({counted}) among the newest {looked}: {_shown(ids)}; "
            "renew the secret where it is used, then `hivelore delete ID`",
        )
    else:
        yield Finding("secrets", "ok", f"none in the newest {looked} texts")


def _sizes(db: Database, settings: Settings) -> Iterator[Finding]:
    if db.size_bytes() > DEEP_BYTES:
        return  # SQLite would read the whole file to say it
    with db.read() as connection:
        sizes = upkeep_store.disk_bytes(connection)
    if sizes:
        yield Finding("sizes", "ok", ", ".join(f"{what} {output.size(count)}" for what, count in sorted(sizes.items())))


def _number(count: int) -> str:
    return "1 memory holds" if count == 1 else f"{count} memories hold"


def _shown(ids: list[str]) -> str:
    return ", ".join(ids[:SHOWN_IDS]) + (", …" if len(ids) > SHOWN_IDS else "")
