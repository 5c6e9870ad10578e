"""What SQLite does its own way: FTS5 for text (BM25), JSON for tags. Vectors are in `signatures.py`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Float,
    bindparam,
    column,
    func,
    literal,
    literal_column,
    select,
    table,
    text,
)

from hivelore.base.search.model import Candidate, Place, TermCounts
from hivelore.base.search.tables import PLACE, chunks

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


def among(column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
    """Whether a column holds one of the ids that are given as parameter `name`, in the form of `listed`."""
    each = func.json_each(bindparam(name)).table_valued("value")
    return column.in_(select(each.c.value))


def listed(ids: Sequence[int]) -> Any:
    """Ids as one value, so that a statement is the same for any number of them."""
    return json.dumps(ids)


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
        select(chunks.c.id, score.label("score"), *PLACE)
        .select_from(_search_text.join(chunks, chunks.c.id == _search_text.c.rowid))
        .where(text("search_text MATCH :words").bindparams(words=words), *where)
        .order_by(score)
        .limit(limit)
    )
    return [Candidate(row[0], -row[1], Place._make(row[2:])) for row in connection.execute(statement).all()]


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


_AMONG_IDS = "IN (SELECT value FROM json_each(:ids))"
_TOKENS = text(f"SELECT rowid, tokens FROM search_text WHERE rowid {_AMONG_IDS}")
_VECTORS = text(f"SELECT chunk, vec FROM search_vector WHERE chunk {_AMONG_IDS} AND model = :model")
_NEIGHBOURS = text(
    f"SELECT c.id, v.vec, {', '.join(f'c.{column.name}' for column in PLACE)} FROM search_chunk c "
    "JOIN search_vector v ON v.chunk = c.id AND v.model = :model AND v.space = c.space "
    f"WHERE c.id {_AMONG_IDS} AND (c.expires_ms IS NULL OR c.expires_ms > :now_ms)"
)


def counts_of(connection: Connection, terms: Sequence[str], ids: Sequence[int]) -> dict[int, TermCounts]:
    """How often these chunks hold the terms; chunks that are not in the text index are left out."""
    words = [(term.removesuffix("*"), " " + (term[:-1] if term.endswith("*") else f"{term} ")) for term in terms]
    nothing = (0,) * len(terms)
    counted: dict[int, TermCounts] = {}
    for id, tokens in connection.execute(_TOKENS, {"ids": listed(ids)}).all():
        found = nothing
        if any(word in tokens for word, _ in words):  # most chunks that only the vectors found hold none
            apart = f" {tokens.replace(' ', '  ')} "
            found = tuple([apart.count(spaced) if word in tokens else 0 for word, spaced in words])
        counted[id] = TermCounts(tokens.count(" ") + 1, found)
    return counted


def vectors_of(connection: Connection, model: int, ids: Sequence[int]) -> dict[int, bytes]:
    """Vectors of these chunks in half precision, by id; chunks without one of the model are left out."""
    return dict(connection.execute(_VECTORS, {"ids": listed(ids), "model": model}).all())


def neighbours(connection: Connection, model: int, ids: Sequence[int], now_ms: int) -> list[tuple[int, bytes, Place]]:
    """Vectors and places of chunks that the vectors led to; those that are gone or expired are left out."""
    rows = connection.execute(_NEIGHBOURS, {"ids": listed(ids), "model": model, "now_ms": now_ms}).all()
    return [(row[0], row[1], Place._make(row[2:])) for row in rows]
