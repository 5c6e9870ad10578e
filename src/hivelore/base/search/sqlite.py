"""What SQLite does its own way: FTS5 for text (BM25), JSON for tags. Vectors are in `signatures.py`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Float, bindparam, column, func, literal, literal_column, select, table, text

from hivelore.base.search.model import Candidate
from hivelore.base.search.tables import chunks

# Made by the first migration with FTS5's `ascii` tokeniser, which splits at ASCII separators only, so that our
# space-joined tokens arrive as they are.
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
        text("DELETE FROM search_text WHERE rowid IN :ids").bindparams(bindparam("ids", expanding=True)), {"ids": list(ids)}
    )


def among(column: ColumnElement[Any], ids: Sequence[int]) -> ColumnElement[bool]:
    """Whether a column holds one of these ids. The ids travel as one JSON value, so the statement is compiled once."""
    each = func.json_each(literal(json.dumps(ids))).table_valued("value")
    return column.in_(select(each.c.value))


def has_tag(tags: ColumnElement[Any], tag: str) -> ColumnElement[bool]:
    """Whether the JSON array `tags` holds exactly `tag`."""
    each = func.json_each(tags).table_valued("value")
    return select(literal(1)).select_from(each).where(each.c.value == tag).exists()


def match_text(
    connection: Connection, terms: Sequence[str], where: Sequence[ColumnElement[bool]], limit: int
) -> list[Candidate]:
    """The best chunks for any of the terms, BM25 score (higher is better)."""
    words = " OR ".join(_quoted(term) for term in terms)
    score: ColumnElement[float] = literal_column("bm25(search_text)", Float)
    statement = (
        select(chunks.c.id, score.label("score"))
        .select_from(_search_text.join(chunks, chunks.c.id == _search_text.c.rowid))
        .where(text("search_text MATCH :words").bindparams(words=words), *where)
        .order_by(score)
        .limit(limit)
    )
    return [Candidate(row.id, -row.score) for row in connection.execute(statement)]


def _quoted(term: str) -> str:
    """A term as an FTS5 string; tokens hold no quotes, the doubling is the belt to that brace."""
    if term.endswith("*"):
        return '"' + term[:-1].replace('"', '""') + '"*'
    return '"' + term.replace('"', '""') + '"'
