"""What Postgres does its own way: `tsvector` for text, jsonb for tags, pgvector for nearest neighbours.

Postgres has no BM25: `words.py` scores, from the entries of the GIN index and the frequencies that a tsvector carries.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
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
    cast,
    func,
    literal,
    or_,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import UserDefinedType

from hivelore.base.search.model import Place, TermCounts
from hivelore.base.search.tables import PLACE, chunks, token_rows, vectors
from hivelore.base.search.words import Counted, Words

best = None  # Postgres has no BM25

EXACT_LIMIT_ROWS = 10_000  # below this many vectors in scope the exact path is faster and finds everything
MOST_READ = 15_000  # entries of the text index that are read in full; each is a row of the table
EF_SEARCH = 160  # candidates that HNSW keeps; its own 40 are fewer than are asked for
UNFILTERED = 2  # conditions that every search has: its scope, and what has expired

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


def _quoted(term: str) -> str:
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


def by_id(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """A column for conditions on chunks whose ids are known; Postgres finds the best way itself."""
    return column


class _SizedHalfVec(UserDefinedType[Any]):
    """`halfvec(n)`: the cast that makes the partial index of a model usable."""

    cache_ok = True

    def __init__(self, dims: int) -> None:
        self.dims = dims

    def get_col_spec(self, **_: Any) -> str:
        return f"halfvec({self.dims})"


def corpus(connection: Connection) -> tuple[int, float]:
    """Number of chunks and their average length in tokens, from a sample that stays cheap at any size."""
    row = connection.execute(_CORPUS).one()
    return int(row.total), max(float(row.average or 2.0) - 1, 1.0)  # the token of the space is none of the text


def frequency(connection: Connection, term: str, most: int, total: int) -> int:
    """In how many of `total` chunks a term stands: counted up to `most`. In a table that is larger than that, the
    planner's statistics are asked first, which know the thousand commonest: counting reads a row for each entry."""
    if total > most:
        share = connection.execute(_COMMON, {"term": term}).scalar_one_or_none()
        if share is not None:
            return round(float(share) * total)
    return int(connection.execute(_COUNT, {"words": _quoted(term), "most": most}).scalar_one())


def matching(connection: Connection, words: Words, most: int | None) -> NDArray[np.int64]:
    """Chunks that hold a word of every group, ascending; of more than `most` the newest."""
    wanted = " & ".join("(" + " | ".join(_quoted(term) for term in group) + ")" for group in words)
    ids = connection.execute(_MATCHING if most is None else _NEWEST_MATCHING, {"words": wanted, "most": most})
    return np.fromstring(ids.scalar_one() or "", np.int64, sep=",")


def counted(
    connection: Connection, ids: Sequence[int], terms: Sequence[str], where: Sequence[ColumnElement[bool]]
) -> list[Counted]:
    """How often each term stands in each of these chunks; without those that fail the conditions."""
    rows = connection.execute(
        select(chunks.c.id, cast(token_rows.c.tokens, Text), *PLACE)
        .select_from(token_rows.join(chunks, _OF_CHUNK))
        .where(among(chunks.c.id, "ids"), *where),
        {"ids": listed(ids)},
    )
    return [Counted(row[0], _counts(row[1], terms), Place._make(row[2:])) for row in rows]


def counts_of(connection: Connection, terms: Sequence[str], ids: Sequence[int]) -> dict[int, TermCounts]:
    """How often these chunks hold the terms; chunks that are not in the text index are left out."""
    # By way of the chunks, which have an index of their ids alone.
    statement = select(chunks.c.id, cast(token_rows.c.tokens, Text)).select_from(chunks.join(token_rows, _OF_CHUNK))
    rows = connection.execute(statement.where(among(chunks.c.id, "ids")), {"ids": listed(ids)})
    return {id: _counts(tsvector, terms) for id, tsvector in rows}


def _counts(tsvector: str, terms: Sequence[str]) -> TermCounts:
    """What a chunk holds of the terms, from the text form of its tsvector (`'foo':1,4 'bar':2`). One token is that of
    the space."""
    frequencies = {
        token.replace("''", "'").replace("\\\\", "\\"): positions.count(",") + 1
        for token, positions in _LEXEME.findall(tsvector)
    }
    found = tuple(
        sum(n for token, n in frequencies.items() if token.startswith(term[:-1]))
        if term.endswith("*")
        else frequencies.get(term, 0)
        for term in terms
    )
    return TermCounts(sum(frequencies.values()) - 1, found)


_OF_CHUNK = and_(chunks.c.space == token_rows.c.space, chunks.c.id == token_rows.c.chunk)
_LEXEME = re.compile(r"'((?:[^']|'')*)':([\d,]+)")
_HOLDS = "tokens @@ CAST(:words AS tsquery)"
# Reading a whole table to look for a word is what the planner thinks cheap, because it does not know what comparing a
# tsvector costs; for the rest of a transaction that searches it is told to prefer indexes.
_CORPUS = text(
    "SELECT set_config('enable_seqscan', 'off', true), "
    "greatest((SELECT sum(c.reltuples) FROM pg_class c WHERE c.relkind = 'r' AND (c.oid = "
    "'search_tokens'::regclass OR c.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = "
    "'search_tokens'::regclass))), (SELECT count(*) FROM (SELECT 1 FROM search_tokens LIMIT 1000) s)) AS total, "
    "(SELECT avg(length(tokens)) FROM (SELECT tokens FROM search_tokens LIMIT 200) s) AS average"
)
_COUNT = text(f"SELECT count(*) FROM (SELECT 1 FROM search_tokens WHERE {_HOLDS} LIMIT :most) s")
_COMMON = text(
    "SELECT max(share) FROM pg_stats, unnest(CAST(CAST(most_common_elems AS text) AS text[]), most_common_elem_freqs) "
    "AS common(element, share) WHERE schemaname = current_schema() AND tablename = 'search_tokens' "
    "AND attname = 'tokens' AND element = :term"
)
_MATCHING = text(
    f"SELECT string_agg(chunk::text, ',') FROM (SELECT chunk FROM search_tokens WHERE {_HOLDS} ORDER BY chunk) s"
)
_NEWEST_MATCHING = text(
    "SELECT string_agg(chunk::text, ',' ORDER BY chunk) FROM "
    f"(SELECT chunk FROM search_tokens WHERE {_HOLDS} ORDER BY chunk DESC LIMIT :most) s"
)


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
