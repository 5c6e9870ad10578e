"""What SQLite does its own way: FTS5 for words, which `words.py` scores, and JSON for tags. Vectors are in
`signatures.py`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
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
from sqlalchemy.sql.elements import UnaryExpression
from sqlalchemy.sql.operators import custom_op

from hivelore.base.search.model import Candidate, Place, TermCounts
from hivelore.base.search.tables import PLACE, chunks
from hivelore.base.search.words import Counted, Words

# Made by the first migration with FTS5's `ascii` tokeniser, which splits at ASCII separators only, so that our
# space-joined tokens arrive as they are.
MOST_READ = 60_000  # entries of the text index that are read in full: about 6 ms
MERGED_PAGES = 500  # of the text index in one step: about 50 ms
SAMPLES = 16  # stretches of ids in which a common term is counted
SAMPLED_SHARE = 20  # the part of all ids that they cover: one in so many

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


def by_id(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """A column for conditions on chunks whose ids are known: SQLite must not look for them by an index on it."""
    return UnaryExpression(column, operator=custom_op("+"))


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


def corpus(connection: Connection) -> tuple[int, float]:
    """Number of chunks and their average length in tokens, as FTS5 keeps them: the record with id 1 of its data holds
    the number of rows and, for each column, of tokens (the averages record of its file format)."""
    record = connection.execute(_AVERAGES).scalar_one_or_none() or b"\0"
    rows, at = _varint(record, 0)
    if rows == 0:
        return 0, 1.0
    tokens, _ = _varint(record, at)
    return rows, max(tokens / rows - 1, 1.0)  # the token of the space is none of the text


def _varint(record: bytes, at: int) -> tuple[int, int]:
    """SQLite's variable-length integer at a place, and the place behind it."""
    value = 0
    for _ in range(8):
        byte = record[at]
        at += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at
    return value << 8 | record[at], at + 1


def frequency(connection: Connection, term: str, most: int, total: int) -> int:
    """In how many of `total` chunks a term stands: exact up to `most`, beyond it from a twentieth of all ids (without
    `total` just `most`)."""
    words = _quoted(term)
    counted = int(connection.execute(_COUNT, {"words": words, "most": most}).scalar_one())
    if counted < most or not total:
        return counted
    newest = int(connection.execute(_NEWEST).scalar_one() or 0)
    width = max(newest // (SAMPLES * SAMPLED_SHARE), 1)
    given = {"words": words, "firsts": json.dumps([newest * n // SAMPLES for n in range(SAMPLES)]), "width": width}
    return max(most, round(total * int(connection.execute(_COUNT_SAMPLES, given).scalar_one()) / (width * SAMPLES)))


def matching(connection: Connection, words: Words, most: int | None) -> NDArray[np.int64]:
    """Chunks that hold a word of every group, ascending; of more than `most` the newest. The ids come as one text,
    which is five times as fast as a row for each."""
    wanted = " AND ".join("(" + " OR ".join(_quoted(term) for term in group) + ")" for group in words)
    given = {"words": wanted, "most": most}
    ids = connection.execute(_MATCHING if most is None else _NEWEST_MATCHING, given).scalar_one()
    found = np.fromstring(ids or "", np.int64, sep=",")
    return found if most is None else found[::-1]


def best(
    connection: Connection,
    terms: Sequence[str],
    where: Sequence[ColumnElement[bool]],
    limit: int,
    counted: Sequence[str],
) -> list[Candidate]:
    """The best chunks for any of the terms by FTS5's own BM25, with the counts of the terms `counted`."""
    score: ColumnElement[float] = literal_column("bm25(search_text)", Float)
    statement = (
        select(chunks.c.id, score.label("score"), *PLACE)
        .select_from(_search_text.join(chunks, chunks.c.id == _search_text.c.rowid))
        .where(text("search_text MATCH :words").bindparams(words=" OR ".join(map(_quoted, terms))), *where)
        .order_by(score)
        .limit(limit)
    )
    rows = connection.execute(statement).all()
    counts = counts_of(connection, counted, [row[0] for row in rows])
    return [Candidate(row[0], -row[1], Place._make(row[2:]), counts[row[0]]) for row in rows]


def counted(
    connection: Connection, ids: Sequence[int], terms: Sequence[str], where: Sequence[ColumnElement[bool]]
) -> list[Counted]:
    """How often each term stands in each of these chunks; without those that fail the conditions."""
    rows = connection.execute(
        select(chunks.c.id, _search_text.c.tokens, *PLACE)
        .select_from(chunks.join(_search_text, chunks.c.id == _search_text.c.rowid))
        .where(among(chunks.c.id, "ids"), *where),
        {"ids": listed(ids)},
    ).all()
    count = _counter(terms)
    return [Counted(row[0], count(row[1]), Place._make(row[2:])) for row in rows]


def counts_of(connection: Connection, terms: Sequence[str], ids: Sequence[int]) -> dict[int, TermCounts]:
    """How often these chunks hold the terms; chunks that are not in the text index are left out."""
    count = _counter(terms)
    return {id: count(tokens) for id, tokens in connection.execute(_TOKENS, {"ids": listed(ids)}).all()}


def _counter(terms: Sequence[str]) -> Callable[[str], TermCounts]:
    """What counts terms in the tokens of a chunk. The first of these is that of the space."""
    words = [(term.removesuffix("*"), " " + (term[:-1] if term.endswith("*") else f"{term} ")) for term in terms]
    nothing = (0,) * len(terms)

    def count(tokens: str) -> TermCounts:
        found = nothing
        if any(word in tokens for word, _ in words):  # most chunks that only the vectors found hold none
            apart = f" {tokens.replace(' ', '  ')} "  # so that neighbours that are alike do not share a blank
            found = tuple([apart.count(spaced) if word in tokens else 0 for word, spaced in words])
        return TermCounts(tokens.count(" "), found)

    return count


def _quoted(term: str) -> str:
    """A term as an FTS5 string; tokens hold no quotes, the doubling is the belt to that brace."""
    if term.endswith("*"):
        return '"' + term[:-1].replace('"', '""') + '"*'
    return '"' + term.replace('"', '""') + '"'


_AVERAGES = text("SELECT block FROM search_text_data WHERE id = 1")
_NEWEST = text("SELECT max(id) FROM search_chunk")
_COUNT = text("SELECT count(*) FROM (SELECT 1 FROM search_text WHERE search_text MATCH :words LIMIT :most)")
_COUNT_SAMPLES = text(
    "SELECT sum((SELECT count(*) FROM search_text WHERE search_text MATCH :words "
    "AND rowid BETWEEN value AND value + :width - 1)) FROM json_each(:firsts)"
)
_MATCHING = text("SELECT group_concat(rowid) FROM search_text WHERE search_text MATCH :words")
_NEWEST_MATCHING = text(
    "SELECT group_concat(rowid) FROM "
    "(SELECT rowid FROM search_text WHERE search_text MATCH :words ORDER BY rowid DESC LIMIT :most)"
)

_AMONG_IDS = "IN (SELECT value FROM json_each(:ids))"
_TOKENS = text(f"SELECT rowid, tokens FROM search_text WHERE rowid {_AMONG_IDS}")
_VECTORS = text(f"SELECT chunk, vec FROM search_vector WHERE chunk {_AMONG_IDS} AND model = :model")
_NEIGHBOURS = text(
    f"SELECT c.id, v.vec, {', '.join(f'c.{column.name}' for column in PLACE)} FROM search_chunk c "
    "JOIN search_vector v ON v.chunk = c.id AND v.model = :model AND v.space = c.space "
    f"WHERE c.id {_AMONG_IDS} AND (c.expires_ms IS NULL OR c.expires_ms > :now_ms)"
)


def vectors_of(connection: Connection, model: int, ids: Sequence[int]) -> dict[int, bytes]:
    """Vectors of these chunks in half precision, by id; chunks without one of the model are left out."""
    return dict(connection.execute(_VECTORS, {"ids": listed(ids), "model": model}).all())


def neighbours(connection: Connection, model: int, ids: Sequence[int], now_ms: int) -> list[tuple[int, bytes, Place]]:
    """Vectors and places of chunks that the vectors led to; those that are gone or expired are left out."""
    rows = connection.execute(_NEIGHBOURS, {"ids": listed(ids), "model": model, "now_ms": now_ms}).all()
    return [(row[0], row[1], Place._make(row[2:])) for row in rows]
