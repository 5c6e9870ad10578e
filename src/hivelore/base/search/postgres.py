"""What Postgres does its own way: `tsvector` for text, jsonb for tags, pgvector for nearest neighbours.

Postgres has no BM25. Candidates come from one query over the GIN index, ordered by how many rare terms they hold; the
best of them get a true BM25 score here, with the term frequencies that their tsvector carries, so that both stores
agree on clear winners.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    ColumnElement,
    Connection,
    Float,
    LargeBinary,
    Text,
    and_,
    bindparam,
    case,
    cast,
    func,
    literal,
    literal_column,
    or_,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import UserDefinedType

from hivelore.base.search.model import Candidate, Place, TermCounts
from hivelore.base.search.tables import PLACE, chunks, token_rows, vectors

RESCORED = 300  # candidates that get a BM25 score
COUNTED = 20_000  # document frequencies are counted up to here; beyond it a term is simply "common"
EXACT_LIMIT_ROWS = 20_000  # below this many vectors in scope the exact path is faster and finds everything
K1, B = 1.2, 0.75  # FTS5's constants

_MAX_POSITION = 16_383  # tsvector cannot count further
_MAX_POSITIONS = 255


def token_literal(found: Sequence[str]) -> str:
    """Tokens as a tsvector literal with positions, quotes and backslashes doubled."""
    places: dict[str, list[int]] = {}
    for place, token in enumerate(found, start=1):
        places.setdefault(token, []).append(min(place, _MAX_POSITION))
    return " ".join(
        "'"
        + token.replace("\\", "\\\\").replace("'", "''")
        + "':"
        + ",".join(map(str, dict.fromkeys(at[:_MAX_POSITIONS])))
        for token, at in places.items()
    )


def _tsquery(term: str) -> str:
    prefix = ":*" if term.endswith("*") else ""
    return "'" + term.removesuffix("*").replace("\\", "\\\\").replace("'", "''") + "'" + prefix


def add_tokens(connection: Connection, space: str, rows: Sequence[tuple[int, list[str]]]) -> None:
    """Index the tokens of chunks given as (chunk id, tokens)."""
    connection.execute(
        text("INSERT INTO search_tokens(space, chunk, tokens) VALUES (:space, :id, CAST(:tokens AS tsvector))"),
        [{"space": space, "id": id, "tokens": token_literal(found)} for id, found in rows],
    )


def drop_tokens(connection: Connection, space: str, ids: Sequence[int]) -> None:
    """Remove chunks from the text index."""
    connection.execute(
        text("DELETE FROM search_tokens WHERE space = :space AND chunk = ANY(:ids)"), {"space": space, "ids": list(ids)}
    )


def among(column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
    """Whether a column holds one of the ids that are given as parameter `name`, in the form of `listed`."""
    return column == func.any(bindparam(name, type_=ARRAY(BigInteger)))


def listed(ids: Sequence[int]) -> Any:
    """Ids as one value, so that a statement is the same for any number of them."""
    return list(ids)


def has_tag(tags: ColumnElement[Any], tag: str) -> ColumnElement[bool]:
    """Whether the JSON array `tags` holds exactly `tag`."""
    return cast(tags, JSONB).op("@>", return_type=Boolean)(cast([tag], JSONB))


class _SizedHalfVec(UserDefinedType[Any]):
    """`halfvec(n)`: the cast that makes the partial index of a model usable."""

    cache_ok = True

    def __init__(self, dims: int) -> None:
        self.dims = dims

    def get_col_spec(self, **_: Any) -> str:
        return f"halfvec({self.dims})"


def _query(words: str) -> ColumnElement[Any]:
    return func.to_tsquery(literal_column("'simple'::regconfig"), literal(words))


def _holds(words: str) -> ColumnElement[bool]:
    return token_rows.c.tokens.op("@@", return_type=Boolean)(_query(words))


def match_text(
    connection: Connection, terms: Sequence[str], where: Sequence[ColumnElement[bool]], limit: int
) -> list[Candidate]:
    """The best chunks for any of the terms, BM25 score (higher is better)."""
    total, average = _corpus(connection)
    if total == 0:
        return []
    idf = {term: _idf(total, _document_frequency(connection, term)) for term in terms}
    rarity: ColumnElement[Any] = literal(0.0, Float)
    for term, weight in idf.items():
        rarity = rarity + case((_holds(_tsquery(term)), weight), else_=0.0)
    statement = (
        select(chunks.c.id, cast(token_rows.c.tokens, Text).label("tokens"), *PLACE)
        .select_from(
            token_rows.join(chunks, and_(chunks.c.space == token_rows.c.space, chunks.c.id == token_rows.c.chunk))
        )
        .where(_holds(" | ".join(_tsquery(term) for term in terms)), *where)
        .order_by(rarity.desc(), chunks.c.id)
        .limit(max(RESCORED, limit))
    )
    scored = [
        Candidate(id, _bm25(tokens, idf, average), Place(*place))
        for id, tokens, *place in connection.execute(statement)
    ]
    return sorted(scored, key=lambda c: (-c.score, c.chunk))[:limit]


def _corpus(connection: Connection) -> tuple[int, float]:
    """Number of chunks and their average length in tokens, from a sample that stays cheap at any size."""
    row = connection.execute(
        text(
            "SELECT greatest((SELECT reltuples FROM pg_class WHERE oid = 'search_tokens'::regclass), "
            "(SELECT count(*) FROM (SELECT 1 FROM search_tokens LIMIT 1000) s)) AS total, "
            "(SELECT avg(length(tokens)) FROM (SELECT tokens FROM search_tokens LIMIT 200) s) AS average"
        )
    ).one()
    return int(row.total), max(float(row.average or 1.0), 1.0)


def _document_frequency(connection: Connection, term: str) -> int:
    counted = text(
        "SELECT count(*) FROM (SELECT 1 FROM search_tokens WHERE tokens @@ to_tsquery('simple', :term) LIMIT :most) s"
    )
    return int(connection.execute(counted, {"term": _tsquery(term), "most": COUNTED}).scalar_one())


def _idf(total: int, frequency: int) -> float:
    """FTS5's inverse document frequency: ln((N - n + 0.5) / (n + 0.5)), never below a small positive value."""
    return max(math.log((total - frequency + 0.5) / (frequency + 0.5)), 1e-6) if total > frequency else 1e-6


def _counts(tsvector: str, terms: Iterable[str]) -> TermCounts:
    """What a chunk holds of the terms, from the text form of its tsvector (`'foo':1,4 'bar':2`)."""
    frequencies = {
        token.replace("''", "'").replace("\\\\", "\\"): positions.count(",") + 1
        for token, positions in re.findall(r"'((?:[^']|'')*)':([\d,]+)", tsvector)
    }
    found = tuple(
        sum(n for token, n in frequencies.items() if token.startswith(term[:-1]))
        if term.endswith("*")
        else frequencies.get(term, 0)
        for term in terms
    )
    return TermCounts(sum(frequencies.values()), found)


def counts_of(connection: Connection, terms: Sequence[str], ids: Sequence[int]) -> dict[int, TermCounts]:
    """How often these chunks hold the terms; chunks that are not in the text index are left out."""
    # By way of the chunks, which have an index of their ids alone.
    same = and_(chunks.c.space == token_rows.c.space, chunks.c.id == token_rows.c.chunk)
    statement = select(chunks.c.id, cast(token_rows.c.tokens, Text)).select_from(chunks.join(token_rows, same))
    statement = statement.where(among(chunks.c.id, "ids"))
    return {id: _counts(tsvector, terms) for id, tsvector in connection.execute(statement, {"ids": listed(ids)})}


def _bm25(tsvector: str, idf: dict[str, float], average: float) -> float:
    """BM25 of one chunk."""
    length, counted = _counts(tsvector, idf)
    score = 0.0
    for found, weight in zip(counted, idf.values(), strict=True):
        if found:
            score += weight * found * (K1 + 1) / (found + K1 * (1 - B + B * length / average))
    return score


def nearest(
    connection: Connection, model: int, dims: int, query: str, where: Sequence[ColumnElement[bool]], limit: int
) -> list[int]:
    """The nearest chunks by cosine similarity, best first. `query` is a pgvector literal.

    Small scopes are searched exactly (btree, then sort); large ones through HNSW with iterative scan, because a
    filtered HNSW query without it silently returns too few rows.
    """
    joined = vectors.join(chunks, and_(chunks.c.space == vectors.c.space, chunks.c.id == vectors.c.chunk))
    sample = select(literal(1)).select_from(joined).where(vectors.c.model == model, *where).limit(EXACT_LIMIT_ROWS + 1)
    in_scope = int(connection.execute(select(func.count()).select_from(sample.subquery())).scalar_one())
    if in_scope == 0:
        return []
    distance = _distance(query, dims)
    statement = (
        select(chunks.c.id, distance.label("distance")).select_from(joined).where(vectors.c.model == model, *where)
    )
    if in_scope > EXACT_LIMIT_ROWS:
        connection.execute(text("SET LOCAL hnsw.iterative_scan = relaxed_order"))
        ordered = statement.order_by(distance).limit(limit)
    else:
        everything = statement.cte("in_scope").prefix_with("MATERIALIZED")
        ordered = select(everything.c.id, everything.c.distance).order_by(everything.c.distance).limit(limit)
    return [row.id for row in sorted(connection.execute(ordered), key=lambda row: (row.distance, row.id))]


def _distance(query: str, dims: int) -> ColumnElement[float]:
    """Cosine distance of a vector row to the query, in the form that the partial index of a model understands."""
    sized = _SizedHalfVec(dims)
    return cast(vectors.c.vec, sized).op("<=>", return_type=Float)(cast(literal(query, Text), sized))


# The binary form of a halfvec: two numbers of two bytes (dimensions, unused), then big-endian halves.
_HALVES: ColumnElement[bytes] = func.halfvec_send(vectors.c.vec, type_=LargeBinary)


def _halves(sent: bytes) -> bytes:
    return np.frombuffer(sent, ">f2", offset=4).astype("<f2").tobytes()


def vectors_of(connection: Connection, model: int, ids: Sequence[int]) -> dict[int, bytes]:
    """Vectors of these chunks in half precision, by id; chunks without one of the model are left out."""
    statement = select(vectors.c.chunk, _HALVES).where(among(vectors.c.chunk, "ids"), vectors.c.model == model)
    return {id: _halves(sent) for id, sent in connection.execute(statement, {"ids": listed(ids)})}


def neighbours(connection: Connection, model: int, ids: Sequence[int], now_ms: int) -> list[tuple[int, bytes, Place]]:
    """Vectors and places of chunks that the vectors led to; those that are gone or expired are left out."""
    joined = chunks.join(vectors, and_(vectors.c.space == chunks.c.space, vectors.c.chunk == chunks.c.id))
    alive = or_(chunks.c.expires_ms.is_(None), chunks.c.expires_ms > now_ms)
    statement = select(chunks.c.id, _HALVES, *PLACE).select_from(joined)
    statement = statement.where(among(chunks.c.id, "ids"), vectors.c.model == model, alive)
    rows = connection.execute(statement, {"ids": listed(ids)})
    return [(id, _halves(sent), Place(*place)) for id, sent, *place in rows]


def index_model(connection: Connection, model: int, dims: int) -> None:
    """Create the partial HNSW index of a model when its first vector is about to be stored."""
    connection.execute(
        text(
            f"CREATE INDEX IF NOT EXISTS ix_search_vector_hnsw_{int(model)} ON search_vector "
            f"USING hnsw ((vec::halfvec({int(dims)})) halfvec_cosine_ops) WHERE model = {int(model)}"
        )
    )


def drop_model_index(connection: Connection, model: int) -> None:
    """Drop the index of a model whose vectors are about to go."""
    connection.execute(text(f"DROP INDEX IF EXISTS ix_search_vector_hnsw_{int(model)}"))
