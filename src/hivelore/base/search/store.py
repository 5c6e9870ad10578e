"""What both dialects do alike: registering entries, storing vectors, the list of chunks that wait for one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, bindparam, func, literal, or_, select, text

from hivelore.base.identity import store as identity
from hivelore.base.search import postgres, sqlite, words
from hivelore.base.search.model import Candidate, Entry, Filters, Former
from hivelore.base.search.tables import chunks, models, pending, vectors
from hivelore.base.search.tokens import tokens
from hivelore.base.search.words import space_token
from hivelore.core.actor import Scope
from hivelore.core.settings import Settings
from hivelore.core.text import split, tail_context
from hivelore.sql.write import insert_if_absent, insert_into
from hivelore.work import View, Work

MERGE_DELAY_MS = 300_000


@dataclass(frozen=True, slots=True)
class PlannedChunk:
    """A chunk as it will be stored; `context` is the tail of the chunk before, embedded with it."""

    piece: str
    seq: int
    start: int
    text: str
    context: str

    @property
    def hash(self) -> str:
        return hashlib.sha256(f"{self.context}\0{self.text}".encode()).hexdigest()[:32]


def plan(entry: Entry, settings: Settings) -> list[PlannedChunk]:
    """Cut an entry into chunks. The title stands before the first chunk of a piece when the text does not begin with
    it."""
    planned: list[PlannedChunk] = []
    for piece in entry.pieces:
        before = entry.title if entry.title and not piece.text.lstrip().startswith(entry.title.rstrip("…")) else ""
        for start, end in split(piece.text, settings.chunk_tokens):
            body = piece.text[start:end]
            if body.strip() or len(piece.text) == end - start:
                planned.append(PlannedChunk(piece.id, len(planned), start, body, before))
            before = tail_context(body, settings.chunk_overlap_tokens)
    return planned


def put(w: Work, entry: Entry, *, new: bool = False) -> int:
    """Register an entry, or replace what is registered for it; return how many chunks still need a vector.

    Chunks whose text did not change keep their row and their vectors. `new` promises that the entry is not registered
    yet and saves the look.
    """
    planned = plan(entry, w.settings)
    kept: dict[str, int] = {}
    if not new:
        rows = w.connection.execute(
            select(chunks.c.id, chunks.c.hash, chunks.c.seq).where(
                chunks.c.space == entry.space, chunks.c.ref == entry.ref
            )
        ).all()
        wanted = {p.hash for p in planned}
        kept = {row.hash: row.id for row in rows if row.hash in wanted}
        drop_chunks(w, entry.space, [row.id for row in rows if kept.get(row.hash) != row.id])
    added: list[tuple[int, PlannedChunk]] = []
    for chunk in planned:
        values = values_of(entry, chunk)
        id = kept.pop(chunk.hash, None)
        if id is not None:
            same = and_(chunks.c.space == entry.space, chunks.c.id == id)
            changing = {name: value for name, value in values.items() if name not in _FIXED}
            w.connection.execute(chunks.update().where(same).values(**changing))
            continue
        added.append((int(w.connection.execute(chunks.insert().returning(chunks.c.id), values).scalar_one()), chunk))
    if added:
        found = [(id, indexed_tokens(entry.space, c.context, c.text)) for id, c in added]
        engine(w).add_tokens(w.connection, entry.space, found)
        _mark_pending(w, entry.space, [id for id, _ in added])
    return len(added)


_FIXED = ("space", "kind", "ref", "text", "context", "hash")  # of a chunk that is kept when its entry changes


def values_of(entry: Entry, chunk: PlannedChunk) -> dict[str, Any]:
    """The row of a chunk, but for its id."""
    return {
        "space": entry.space,
        "kind": entry.kind,
        "ref": entry.ref,
        "piece": chunk.piece,
        "seq": chunk.seq,
        "start": chunk.start,
        "text": chunk.text,
        "context": chunk.context,
        "hash": chunk.hash,
        "owner": entry.owner,
        "layer": entry.layer,
        "status": entry.status,
        "source": entry.source,
        "tags": list(entry.tags),
        "event_ms": entry.event_ms,
        "created_ms": entry.created_ms,
        "expires_ms": entry.expires_ms,
    }


def indexed_tokens(space: str, context: str, text: str) -> list[str]:
    """The tokens under which the text index knows a chunk: that of its space, then those of what it says."""
    return [space_token(space), *tokens(f"{context}\n{text}")]


def _mark_pending(w: Work, space: str, ids: Sequence[int]) -> None:
    if w.settings.embedder == "off":
        return
    w.connection.execute(
        insert_into(w.connection, pending).on_conflict_do_nothing(), [{"chunk": id, "space": space} for id in ids]
    )
    w.enqueue("search.embed", dedupe="search.embed", lane="search.embed")


def mark(w: Work, space: str, ref: str, status: str) -> None:
    """Give everything registered for an entry another status; texts and vectors stay."""
    same = and_(chunks.c.space == space, chunks.c.ref == ref)
    w.connection.execute(chunks.update().where(same).values(status=status))


def drop(w: Work, space: str, ref: str) -> int:
    """Remove everything registered for an entry; return how many chunks went."""
    rows = w.connection.execute(select(chunks.c.id).where(chunks.c.space == space, chunks.c.ref == ref)).scalars().all()
    drop_chunks(w, space, rows)
    queue_merge(w)
    return len(rows)


def queue_merge(w: Work) -> None:
    """See to it that the words of dropped chunks leave the files of the text index too; later, once for many."""
    if w.dialect == "sqlite":
        w.enqueue("search.merge", dedupe="search.merge", in_ms=MERGE_DELAY_MS)


def drop_chunks(w: Work, space: str, ids: Sequence[int]) -> None:
    for start in range(0, len(ids), 500):
        some = list(ids[start : start + 500])
        engine(w).drop_tokens(w.connection, space, some)
        # Chunks first: `store_vectors` takes its locks in the same order.
        for table, column in ((chunks, chunks.c.id), (vectors, vectors.c.chunk), (pending, pending.c.chunk)):
            w.connection.execute(table.delete().where(table.c.space == space, column.in_(some)))


def engine(v: View) -> Any:
    """The module that holds what differs between the stores: `sqlite` or `postgres`."""
    return sqlite if v.dialect == "sqlite" else postgres


def match_text(v: View, terms: Sequence[str], scope: Scope, filters: Filters, limit: int) -> list[Candidate]:
    """The best chunks of the scope for any of the terms, by their words."""
    where = conditions(v, scope, filters, by_id=True)
    return words.match(engine(v), v.connection, terms, named_spaces(v, scope), where, limit)


def named_spaces(v: View, scope: Scope) -> list[str] | None:
    """Ids of the spaces that a scope names and the caller may read; None when it means everything."""
    return None if scope.spaces is None else identity.named(v, scope.spaces)


def conditions(v: View, scope: Scope, filters: Filters, *, by_id: bool = False) -> list[ColumnElement[bool]]:
    """Scope, expiry and filters as conditions on `search_chunk`; they are part of every engine's query. `by_id`: the
    chunks they are put to are known by their ids."""
    space = engine(v).by_id(chunks.c.space) if by_id else chunks.c.space
    found: list[ColumnElement[bool]] = [
        identity.visible(v, space, scope),
        or_(chunks.c.expires_ms.is_(None), chunks.c.expires_ms > v.now_ms),
    ]
    if filters.sources:  # one agent writes its name in different ways
        lowered = func.lower(chunks.c.source).in_([source.lower() for source in filters.sources])
        found.append(or_(chunks.c.source.in_(filters.sources), lowered))
    for column, wanted in (
        (chunks.c.kind, filters.kinds),
        (chunks.c.layer, filters.layers),
    ):
        if wanted:
            found.append(column.in_(wanted))
    for tag in filters.tags:
        found.append(engine(v).has_tag(chunks.c.tags, tag))
    if filters.since_ms is not None:
        found.append(chunks.c.event_ms >= filters.since_ms)
    if filters.until_ms is not None:
        found.append(chunks.c.event_ms < filters.until_ms)
    return found


def matching_ids(v: View, where: Sequence[ColumnElement[bool]]) -> Sequence[int]:
    """Ids of all chunks that satisfy the conditions."""
    return v.connection.execute(select(chunks.c.id).where(*where)).scalars().all()


def pending_count(v: View, scope: Scope, most: int = 2**31) -> int:
    """How many chunks in the scope wait for a vector, counted up to `most`."""
    values = identity.within_values(v, scope)
    return int(v.connection.execute(_pending_counted(scope.everything), {**values, "most": most}).scalar_one())


@cache
def _pending_counted(everything: bool) -> Select[Any]:
    some = select(pending.c.chunk).where(identity.within(pending.c.space, everything)).limit(bindparam("most"))
    return select(func.count()).select_from(some.subquery())


def pending_total(connection: Any) -> int:
    """How many chunks wait for a vector in the whole store (a number for the owner's health page)."""
    return int(connection.execute(select(func.count()).select_from(pending)).scalar_one())


def next_pending(connection: Any, limit: int) -> list[tuple[int, str, str, str]]:
    """Chunks to embed next as (id, space, hash, text to embed), newest first so that a fresh note never waits for an
    import."""
    rows = connection.execute(
        select(chunks.c.id, chunks.c.space, chunks.c.hash, chunks.c.context, chunks.c.text)
        .join(pending, and_(pending.c.space == chunks.c.space, pending.c.chunk == chunks.c.id))
        .order_by(pending.c.chunk.desc())
        .limit(limit)
    )
    return [(r.id, r.space, r.hash, f"{r.context}\n{r.text}" if r.context else r.text) for r in rows]


def store_vectors(connection: Any, model: int, rows: Iterable[tuple[int, str, str, bytes]]) -> int:
    """Store vectors given as (chunk, space, hash, half-precision bytes); return how many were stored.

    Compare-and-set on the hash: a chunk that changed or went while it was embedded keeps no stale vector. Its row is
    held until the vector is stored, so that it cannot go in between.
    """
    stored = 0
    for chunk, space, hash, vec in sorted(rows):
        same = and_(chunks.c.space == space, chunks.c.id == chunk, chunks.c.hash == hash)
        if connection.execute(select(chunks.c.id).where(same).with_for_update(read=True)).first():
            insert_if_absent(connection, vectors, {"space": space, "chunk": chunk, "model": model, "vec": vec})
            stored += 1
        connection.execute(pending.delete().where(pending.c.chunk == chunk))
    return stored


def let_go(connection: Any, ids: Sequence[int]) -> None:
    """Take chunks off the list of those that wait for a vector."""
    if ids:
        connection.execute(pending.delete().where(pending.c.chunk.in_(ids)))


_MODEL = select(models.c.id).where(models.c.name == bindparam("name"))


def model_id(connection: Any, name: str) -> int | None:
    """The number of a model that has vectors here; None for one that never had."""
    found = connection.execute(_MODEL, {"name": name}).scalar_one_or_none()
    return None if found is None else int(found)


def models_here(connection: Any, name: str) -> tuple[int | None, Former | None]:
    """The number of the model with this name, as `model_id` gives it, and the latest other one that still has
    vectors."""
    rows = connection.execute(_MODELS_HERE, {"name": name}).all()
    known = next((int(row.id) for row in rows if row.name == name), None)
    return known, next((Former(int(row.id), row.name) for row in rows if row.name != name), None)


def former_model(connection: Any, name: str) -> Former | None:
    """The latest model other than `name` that still has vectors."""
    return models_here(connection, name)[1]


_MODELS_HERE = text(
    "SELECT id, name FROM search_model WHERE name = :name "
    "OR EXISTS (SELECT 1 FROM search_vector WHERE search_vector.model = search_model.id) ORDER BY id DESC"
)


def newest_vector(connection: Any, model: int) -> int:
    """The id of the vector that was stored last; ids are never given twice."""
    return int(connection.execute(select(func.max(vectors.c.id)).where(vectors.c.model == model)).scalar_one() or 0)


def drop_vectors_of(connection: Any, model: int, limit: int) -> int:
    """Remove up to `limit` vectors of a model, and its index on Postgres; return how many went."""
    if connection.dialect.name == "postgresql":
        postgres.drop_model_index(connection, model)
    some = select(vectors.c.id).where(vectors.c.model == model).order_by(vectors.c.id).limit(limit)
    return int(connection.execute(vectors.delete().where(vectors.c.model == model, vectors.c.id.in_(some))).rowcount)


def ensure_model(connection: Any, name: str, dims: int, now_ms: int) -> int:
    """The number of a model, given on first use."""
    known = model_id(connection, name)
    if known is not None:
        return known
    # Never a number that vectors carry already: those of a model whose row was lost must not become this one's.
    used = connection.execute(select(func.max(vectors.c.model))).scalar_one() or 0
    given = connection.execute(select(func.max(models.c.id))).scalar_one() or 0
    row = {"id": max(used, given) + 1, "name": name, "dims": dims, "created_ms": now_ms}
    insert_if_absent(connection, models, row)
    id = int(connection.execute(select(models.c.id).where(models.c.name == name)).scalar_one())
    if connection.dialect.name == "postgresql":
        postgres.index_model(connection, id, dims)
    return id


def all_embedded_or_pending(connection: Any, model: int) -> bool:
    """Whether every chunk has a vector of `model` or waits for one; three counts, no look at single rows."""

    def count(statement: Any) -> int:
        return int(connection.execute(statement).scalar_one())

    embedded = count(select(func.count()).select_from(vectors).where(vectors.c.model == model))
    return count(select(func.count()).select_from(chunks)) == embedded + pending_total(connection)


def queue_missing(connection: Any, model: int, after: int, limit: int) -> int | None:
    """Mark chunks without a vector of `model` as pending, looking at `limit` chunks behind id `after`.

    Returns the last id looked at, or None at the end, so that a caller can walk the table in short transactions.
    """
    ids = (
        connection.execute(select(chunks.c.id).where(chunks.c.id > after).order_by(chunks.c.id).limit(limit))
        .scalars()
        .all()
    )
    if not ids:
        return None
    has_vector = select(literal(1)).where(vectors.c.chunk == chunks.c.id, vectors.c.model == model).exists()
    missing = select(chunks.c.id, chunks.c.space).where(chunks.c.id.between(ids[0], ids[-1]), ~has_vector)
    statement = insert_into(connection, pending).from_select(["chunk", "space"], missing)
    connection.execute(statement.on_conflict_do_nothing())
    return int(ids[-1])


def entries_of(v: View, ids: Sequence[int], where: Sequence[ColumnElement[bool]]) -> list[tuple[str, str]]:
    """Entry and text of those of these chunks that satisfy the conditions, the newest first."""
    statement = select(chunks.c.ref, chunks.c.text).where(engine(v).among(chunks.c.id, "ids"), *where)
    rows = v.connection.execute(statement.order_by(chunks.c.id.desc()), {"ids": engine(v).listed(ids)})
    return [(row.ref, row.text) for row in rows]


def texts(v: View, ids: Sequence[int]) -> dict[int, tuple[str, int, str]]:
    """Text, start and context (a title, or the end of the chunk before) of these chunks, by id."""
    rows = v.connection.execute(_texts(engine(v)), {"ids": engine(v).listed(ids)})
    return {id: (text, start, context) for id, text, start, context in rows}


@cache
def _texts(engine: Any) -> Select[Any]:
    return select(chunks.c.id, chunks.c.text, chunks.c.start, chunks.c.context).where(engine.among(chunks.c.id, "ids"))


def statistics(connection: Any) -> dict[str, int]:
    """Counts for health and doctor: chunks, vectors, pending."""
    return {
        "chunks": int(connection.execute(select(func.count()).select_from(chunks)).scalar_one()),
        "vectors": int(connection.execute(select(func.count()).select_from(vectors)).scalar_one()),
        "pending": pending_total(connection),
        "text_rows": int(
            connection.execute(
                text(
                    "SELECT count(*) FROM search_text"
                    if connection.dialect.name == "sqlite"
                    else "SELECT count(*) FROM search_tokens"
                )
            ).scalar_one()
        ),
    }


def pending_of(v: View, space: str, ref: str) -> int:
    """How many chunks of one entry wait for a vector."""
    joined = pending.join(chunks, and_(chunks.c.space == pending.c.space, chunks.c.id == pending.c.chunk))
    count = select(func.count()).select_from(joined).where(chunks.c.space == space, chunks.c.ref == ref)
    return int(v.connection.execute(count).scalar_one())
