"""What upkeep asks of the index and changes in it: each table against the one that it follows from, in short pages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, and_, bindparam, func, select, text, tuple_

from hivelore.base.search import postgres, sqlite, store
from hivelore.base.search.model import Entry
from hivelore.base.search.signatures import half_to_full
from hivelore.base.search.tables import chunks, models, pending, vectors
from hivelore.core.settings import Settings
from hivelore.sql.write import insert_into
from hivelore.work import Work

Ref = tuple[str, str]  # space, id of an entry
NORM_OFF = 0.1  # how far the length of a vector may be from 1; half precision is off by 0.001


@dataclass(frozen=True, slots=True)
class Chunk:
    """What upkeep needs of a chunk."""

    id: int
    space: str
    ref: str
    hash: str
    context: str
    text: str

    @property
    def tokens(self) -> list[str]:
        return store.indexed_tokens(self.space, self.context, self.text)


def text_table(dialect: str) -> str:
    """The table that holds the words of chunks."""
    return "search_text" if dialect == "sqlite" else "search_tokens"


# -- chunks against entries --------------------------------------------------------------------------------------------


def differing(connection: Connection, entries: Sequence[Entry], settings: Settings) -> tuple[list[Ref], list[Ref]]:
    """Entries that are not registered at all, and those that are registered otherwise than they would be now."""
    refs = [(entry.space, entry.ref) for entry in entries]
    rows = connection.execute(select(chunks).where(tuple_(chunks.c.space, chunks.c.ref).in_(refs))) if refs else ()
    found: dict[Ref, list[dict[str, Any]]] = {}
    for row in rows:
        values = dict(row._mapping)
        del values["id"]
        found.setdefault((row.space, row.ref), []).append(values)
    absent: list[Ref] = []
    stale: list[Ref] = []
    for entry in entries:
        wanted = [store.values_of(entry, chunk) for chunk in store.plan(entry, settings)]
        present = sorted(found.get((entry.space, entry.ref), []), key=lambda values: values["seq"])
        if wanted and not present:
            absent.append((entry.space, entry.ref))
        elif wanted != present:
            stale.append((entry.space, entry.ref))
    return absent, stale


def renew(w: Work, entry: Entry) -> None:
    """Register an entry so that its chunks are what they would be if it were new; chunks that are right stay."""
    right = {chunk.hash: (chunk.text, chunk.context) for chunk in store.plan(entry, w.settings)}
    rows = w.connection.execute(
        select(chunks.c.id, chunks.c.hash, chunks.c.text, chunks.c.context, chunks.c.kind).where(
            chunks.c.space == entry.space, chunks.c.ref == entry.ref
        )
    ).all()
    wrong = [row.id for row in rows if right.get(row.hash) != (row.text, row.context) or row.kind != entry.kind]
    store.drop_chunks(w, entry.space, wrong)
    store.put(w, entry)


def chunk_page(connection: Connection, after: int, limit: int) -> list[Chunk]:
    """Chunks behind id `after`, by id."""
    columns = (chunks.c.id, chunks.c.space, chunks.c.ref, chunks.c.hash, chunks.c.context, chunks.c.text)
    rows = connection.execute(select(*columns).where(chunks.c.id > after).order_by(chunks.c.id).limit(limit))
    return [Chunk(*row) for row in rows]


def chunk_span(connection: Connection) -> tuple[int, int]:
    """The lowest and the highest id of a chunk; (0, 0) when there is none."""
    row = connection.execute(select(func.min(chunks.c.id), func.max(chunks.c.id))).one()
    return int(row[0] or 0), int(row[1] or 0)


# -- the text index against chunks -------------------------------------------------------------------------------------


def wrong_words(connection: Connection, page: Sequence[Chunk]) -> list[Chunk]:
    """Those of the chunks whose words the text index lacks or has otherwise."""
    if not page:
        return []
    of_sqlite = connection.dialect.name == "sqlite"
    form = " ".join if of_sqlite else postgres.token_literal
    given = [{"id": chunk.id, "space": chunk.space, "words": form(chunk.tokens)} for chunk in page]
    found = connection.execute(
        _WRONG_WORDS_SQLITE if of_sqlite else _WRONG_WORDS_POSTGRES, {"given": json.dumps(given)}
    )
    wrong = set(found.scalars())
    return [chunk for chunk in page if chunk.id in wrong]


_WRONG_WORDS_SQLITE = text(
    "SELECT json_extract(e.value, '$.id') FROM json_each(:given) e "
    "LEFT JOIN search_text t ON t.rowid = json_extract(e.value, '$.id') "
    "WHERE t.tokens IS NOT json_extract(e.value, '$.words')"
)
_WRONG_WORDS_POSTGRES = text(
    "SELECT e.id FROM json_to_recordset(CAST(:given AS json)) AS e(id bigint, space text, words text) "
    "LEFT JOIN search_tokens t ON t.space = e.space AND t.chunk = e.id "
    "WHERE t.tokens IS DISTINCT FROM CAST(e.words AS tsvector)"
)


def renew_words(connection: Connection, page: Sequence[Chunk]) -> int:
    """Index the words of these chunks anew, if they are still what they were when they were looked at."""
    engine = sqlite if connection.dialect.name == "sqlite" else postgres
    renewed = 0
    for chunk in sorted(page, key=lambda each: each.id):
        same = and_(chunks.c.space == chunk.space, chunks.c.id == chunk.id, chunks.c.hash == chunk.hash)
        if connection.execute(select(chunks.c.id).where(same).with_for_update(read=True)).first():
            engine.drop_tokens(connection, chunk.space, [chunk.id])
            engine.add_tokens(connection, chunk.space, [(chunk.id, chunk.tokens)])
            renewed += 1
    return renewed


def extra_words(connection: Connection, after: tuple[str, int], limit: int) -> list[tuple[str, int]]:
    """Rows of the text index without a chunk behind `after`, as (space, chunk); SQLite's know no space."""
    given = {"space": after[0], "chunk": after[1], "limit": limit}
    rows = connection.execute(_EXTRA_WORDS[connection.dialect.name], given)
    return [(row.space, row.chunk) for row in rows]


_EXTRA_WORDS = {
    "sqlite": text(
        "SELECT '' AS space, rowid AS chunk FROM search_text "
        "WHERE rowid > :chunk AND rowid NOT IN (SELECT id FROM search_chunk) ORDER BY rowid LIMIT :limit"
    ),
    "postgresql": text(
        "SELECT t.space, t.chunk FROM search_tokens t WHERE (t.space, t.chunk) > (:space, :chunk) "
        "AND NOT EXISTS (SELECT 1 FROM search_chunk c WHERE c.space = t.space AND c.id = t.chunk) "
        "ORDER BY t.space, t.chunk LIMIT :limit"
    ),
}


def drop_extra_words(connection: Connection, rows: Sequence[tuple[str, int]]) -> int:
    """Remove rows of the text index that still have no chunk."""
    ids = [chunk for _, chunk in rows]
    if connection.dialect.name == "sqlite":
        gone = text(
            "DELETE FROM search_text WHERE rowid IN :ids "
            "AND rowid NOT IN (SELECT id FROM search_chunk WHERE id IN :ids)"
        ).bindparams(bindparam("ids", expanding=True))
    else:
        gone = text(
            "DELETE FROM search_tokens t WHERE t.chunk IN :ids "
            "AND NOT EXISTS (SELECT 1 FROM search_chunk c WHERE c.space = t.space AND c.id = t.chunk)"
        ).bindparams(bindparam("ids", expanding=True))
    connection.execute(gone, {"ids": ids})
    return len(rows)


# -- vectors and the list of those that wait ---------------------------------------------------------------------------


def model_in_use(connection: Connection, name: str) -> int | None:
    """The number of the model whose vectors are looked after: the one that the settings name, or the one that was used
    last where those name one that was never used here (its vectors are made by the server that starts with it).

    A name that ends in `/0` stands for a model whose size is not known before it is loaded.
    """
    known = store.model_id(connection, name)
    if known is not None:
        return known
    stem, _, dims = name.rpartition("/")
    latest = select(models.c.id).order_by(models.c.id.desc()).limit(1)
    of_stem = latest.where(models.c.name.startswith(f"{stem}/", autoescape=True)) if dims == "0" else latest
    found = connection.execute(of_stem).scalar_one_or_none()
    return found if found is not None else connection.execute(latest).scalar_one_or_none()


def without_vector(connection: Connection, model: int | None, page: Sequence[Chunk]) -> list[Chunk]:
    """Those of the chunks that have no vector of the model and do not wait for one."""
    if not page:
        return []
    ids = [chunk.id for chunk in page]
    of_page = chunks.c.id.in_(ids)
    embedded = select(vectors.c.chunk).where(vectors.c.model == model, vectors.c.chunk.in_(ids))
    waiting = select(pending.c.chunk).where(pending.c.chunk.in_(ids))
    found = select(chunks.c.id).where(of_page, chunks.c.id.not_in(waiting))
    if model is not None:
        found = found.where(chunks.c.id.not_in(embedded))
    lacking = set(connection.execute(found).scalars())
    return [chunk for chunk in page if chunk.id in lacking]


def queue_vectors(connection: Connection, page: Iterable[Chunk]) -> None:
    """Put chunks on the list of those that wait for a vector."""
    ids = [chunk.id for chunk in page]
    if ids:
        there = select(chunks.c.id, chunks.c.space).where(chunks.c.id.in_(ids))
        statement = insert_into(connection, pending).from_select(["chunk", "space"], there)
        connection.execute(statement.on_conflict_do_nothing())


@dataclass(frozen=True, slots=True)
class BadVectors:
    """Ids of vectors that nothing can use: without a chunk, of a model that is not recorded, damaged."""

    looked_at: int = 0
    orphans: tuple[int, ...] = ()
    unknown: tuple[int, ...] = ()
    damaged: tuple[int, ...] = ()


def vector_span(connection: Connection) -> tuple[int, int]:
    row = connection.execute(select(func.min(vectors.c.id), func.max(vectors.c.id))).one()
    return int(row[0] or 0), int(row[1] or 0)


def bad_vectors(connection: Connection, after: int, limit: int) -> tuple[BadVectors, int | None]:
    """Judge the vectors behind id `after`; with the last id looked at, None when there was none."""
    of_chunk = and_(chunks.c.space == vectors.c.space, chunks.c.id == vectors.c.chunk)
    joined = vectors.outerjoin(chunks, of_chunk).outerjoin(models, models.c.id == vectors.c.model)
    columns = [vectors.c.id, chunks.c.id.label("chunk"), models.c.dims]
    if connection.dialect.name == "sqlite":
        columns.append(vectors.c.vec)
    else:
        columns += [func.vector_dims(vectors.c.vec).label("size"), func.l2_norm(vectors.c.vec).label("norm")]
    rows = connection.execute(
        select(*columns).select_from(joined).where(vectors.c.id > after).order_by(vectors.c.id).limit(limit)
    ).all()
    if not rows:
        return BadVectors(), None
    unknown = tuple(row.id for row in rows if row.dims is None)
    orphans = tuple(row.id for row in rows if row.chunk is None and row.dims is not None)
    usable = [row for row in rows if row.chunk is not None and row.dims is not None]
    return BadVectors(len(rows), orphans, unknown, tuple(_damaged(usable))), int(rows[-1].id)


def _damaged(rows: Sequence[Row[Any]]) -> Iterable[int]:
    by_dims: dict[int, list[Row[Any]]] = {}
    for row in rows:
        if not hasattr(row, "vec"):  # Postgres has measured them
            if row.size != row.dims or abs(row.norm - 1) > NORM_OFF:
                yield row.id
        elif len(row.vec) != 2 * row.dims:
            yield row.id
        else:
            by_dims.setdefault(row.dims, []).append(row)
    for same_size in by_dims.values():
        with np.errstate(all="ignore"):  # a damaged row may hold anything
            off = np.abs(np.linalg.norm(half_to_full([row.vec for row in same_size]), axis=1) - 1)
        yield from (row.id for row, far in zip(same_size, off.tolist(), strict=True) if not far <= NORM_OFF)


def drop_vectors(connection: Connection, ids: Sequence[int]) -> None:
    """Remove vectors by their own ids. Where a chunk came into being meanwhile it gets another one later."""
    if ids:
        connection.execute(vectors.delete().where(vectors.c.id.in_(ids)))


def orphan_pending(connection: Connection, after: int, limit: int) -> list[int]:
    """Chunks behind id `after` on the list of those that wait for a vector which do not exist."""
    there = select(chunks.c.id).where(chunks.c.id == pending.c.chunk, chunks.c.space == pending.c.space).exists()
    found = select(pending.c.chunk).where(pending.c.chunk > after, ~there).order_by(pending.c.chunk).limit(limit)
    return list(connection.execute(found).scalars())


def drop_pending(connection: Connection, ids: Sequence[int]) -> None:
    """Take chunks that still do not exist off the list of those that wait for a vector."""
    there = select(chunks.c.id).where(chunks.c.id == pending.c.chunk, chunks.c.space == pending.c.space).exists()
    connection.execute(pending.delete().where(pending.c.chunk.in_(ids), ~there))


# -- size --------------------------------------------------------------------------------------------------------------


def disk_bytes(connection: Connection) -> dict[str, int]:
    """Bytes on disk by what they hold (`memories`, `text index`, `vectors`, `free`); empty where the store cannot say.

    SQLite says it only when it was built with its table of pages.
    """
    if connection.dialect.name == "postgresql":
        rows = connection.execute(
            text(
                "SELECT c.relname AS name, pg_total_relation_size(c.oid) AS bytes FROM pg_class c "
                "WHERE c.relkind IN ('r', 'p') AND c.relnamespace = CAST(current_schema() AS regnamespace)"
            )
        ).all()
    else:
        try:
            rows = connection.execute(
                text(
                    "SELECT m.tbl_name AS name, sum(s.pgsize) AS bytes FROM dbstat s "
                    "JOIN sqlite_master m ON m.name = s.name WHERE s.aggregate = 1 GROUP BY m.tbl_name"
                )
            ).all()
        except Exception:
            rows = []
    sizes: dict[str, int] = {}
    for row in rows:
        sizes[_part(row.name)] = sizes.get(_part(row.name), 0) + int(row.bytes)
    if connection.dialect.name == "sqlite":
        free = connection.execute(
            text("SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size")
        )
        sizes["free"] = int(free.scalar_one())
    return sizes


def _part(table: str) -> str:
    if table.startswith("search_vector"):
        return "vectors"
    return "text index" if table.startswith("search_") else "memories"
