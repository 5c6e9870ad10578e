"""What SQLite does its own way: FTS5 for text (BM25), JSON for tags. Vectors are in `signatures.py`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Float,
    and_,
    bindparam,
    column,
    func,
    literal,
    literal_column,
    null,
    select,
    table,
    text,
)

from hivelore.base.search.model import Candidate, Placed
from hivelore.base.search.signatures import cosines
from hivelore.base.search.tables import chunks, vectors

# Made by the first migration with FTS5's `ascii` tokeniser, which splits at ASCII separators only, so that our
# space-joined tokens arrive as they are.
SMALL = 2_000  # below this many chunks no term is too common to look up
MERGED_PAGES = 500  # of the text index in one step: about 50 ms
COMMON_SHARE = 0.25  # of all chunks; a term in more of them has an inverse document frequency near 1 or below

_search_text = table("search_text", column("rowid"), column("tokens"))


def add_tokens(connection: Connection, space: str, rows: Sequence[tuple[int, list[str]]]) -> None:
    """Index the tokens of chunks given as (chunk id, tokens)."""
    connection.execute(
        text("INSERT INTO search_text(rowid, tokens) VALUES (:id, :tokens)"),
        [{"id": id, "tokens": " ".join(found)} for id, found in rows],
    )


def drop_tokens(connection: Connection, space: str, ids: Sequence[int]) -> None:
    """Remove chunks from the text index."""
    connection.execute(
        text("DELETE FROM search_text WHERE rowid IN :ids").bindparams(bindparam("ids", expanding=True)),
        {"ids": list(ids)},
    )


def among(column: ColumnElement[Any], ids: Sequence[int]) -> ColumnElement[bool]:
    """Whether a column holds one of these ids. The ids travel as one JSON value, so the statement is compiled once."""
    each = func.json_each(literal(json.dumps(ids))).table_valued("value")
    return column.in_(select(each.c.value))


def merge_step(connection: Connection, first: bool) -> bool:
    """Merge some segments of the text index; False when there is nothing left to merge.

    FTS5 only notes what was deleted: the words stay in its file until the segments that hold them are merged. A first
    step says that all are meant (a negative number of pages), the others go on with it.
    """
    driver = connection.connection.dbapi_connection
    before = driver.total_changes  # type: ignore[union-attr]
    pages = -MERGED_PAGES if first else MERGED_PAGES
    connection.execute(text("INSERT INTO search_text(search_text, rank) VALUES ('merge', :pages)"), {"pages": pages})
    return bool(driver.total_changes - before >= 2)  # type: ignore[union-attr]


def has_tag(tags: ColumnElement[Any], tag: str) -> ColumnElement[bool]:
    """Whether the JSON array `tags` holds exactly `tag`."""
    each = func.json_each(tags).table_valued("value")
    return select(literal(1)).select_from(each).where(each.c.value == tag).exists()


def match_text(
    connection: Connection, terms: Sequence[str], where: Sequence[ColumnElement[bool]], limit: int
) -> list[Candidate]:
    """The best chunks for any of the terms, BM25 score (higher is better)."""
    words = " OR ".join(_quoted(term) for term in _telling(connection, terms))
    score: ColumnElement[float] = literal_column("bm25(search_text)", Float)
    statement = (
        select(chunks.c.id, score.label("score"))
        .select_from(_search_text.join(chunks, chunks.c.id == _search_text.c.rowid))
        .where(text("search_text MATCH :words").bindparams(words=words), *where)
        .order_by(score)
        .limit(limit)
    )
    return [Candidate(row.id, -row.score) for row in connection.execute(statement)]


def _telling(connection: Connection, terms: Sequence[str]) -> list[str]:
    """The terms that tell chunks apart. A term that stands in a large part of all chunks adds next to nothing to any
    score, but makes the index read all of them; it is left out when rarer terms are there."""
    newest = connection.execute(text("SELECT max(id) FROM search_chunk")).scalar_one() or 0
    if newest < SMALL or len(terms) < 2:
        return list(terms)
    counted = connection.execute(
        text("SELECT term, doc FROM search_vocabulary WHERE term IN (SELECT value FROM json_each(:terms))"),
        {"terms": json.dumps(terms)},
    )
    documents = {row.term: row.doc for row in counted}
    telling = [term for term in terms if term.endswith("*") or 0 < documents.get(term, 0) <= newest * COMMON_SHARE]
    if telling:
        return telling
    return sorted(terms, key=lambda term: documents.get(term, 0))[:3]


def _quoted(term: str) -> str:
    """A term as an FTS5 string; tokens hold no quotes, the doubling is the belt to that brace."""
    if term.endswith("*"):
        return '"' + term[:-1].replace('"', '""') + '"*'
    return '"' + term.replace('"', '""') + '"'


def place(
    connection: Connection,
    model: int | None,
    query: bytes | None,
    ids: Sequence[int],
    where: Sequence[ColumnElement[bool]],
) -> list[Placed]:
    """Where these chunks belong and how near they are to the query; those that are gone or fail `where` are left
    out."""
    of_model = and_(vectors.c.chunk == chunks.c.id, vectors.c.space == chunks.c.space, vectors.c.model == model)
    columns = (chunks.c.id, chunks.c.kind, chunks.c.ref, chunks.c.piece, chunks.c.space, chunks.c.event_ms)
    with_model = query is not None and model is not None  # without, the vectors are not even looked at
    statement = select(*columns, vectors.c.vec if with_model else null().label("vec"))
    statement = statement.select_from(chunks.outerjoin(vectors, of_model) if with_model else chunks)
    rows = connection.execute(statement.where(among(chunks.c.id, ids), *where)).all()
    near: dict[int, float] = {}
    if query is not None:
        with_vector = [(id, vec) for id, *_, vec in rows if vec is not None]
        scores = cosines(query, [vec for _, vec in with_vector])
        near = {id: score for (id, _), score in zip(with_vector, scores, strict=True)}
    return [
        Placed(id, kind, ref, piece, space, event_ms, near.get(id)) for id, kind, ref, piece, space, event_ms, _ in rows
    ]
