"""The tables of the index. All of them are derived: rooms can register their entries again at any time."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, String, Table, Text

from hivelore.sql.tables import metadata
from hivelore.sql.types import HalfVector, Json, TokenVector

# A plain integer on SQLite, where it is the row id that FTS5 shares; the space leads the key on Postgres.
_RowId = BigInteger().with_variant(Integer, "sqlite")

chunks = Table(
    "search_chunk",
    metadata,
    Column("id", _RowId, primary_key=True, autoincrement=True),
    Column("space", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("ref", String, nullable=False),
    Column("piece", String, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("start", Integer, nullable=False),
    Column("text", Text, nullable=False),
    Column("context", Text, nullable=False),
    Column("hash", String, nullable=False),
    Column("owner", String, nullable=False),
    Column("layer", String, nullable=False),
    Column("status", String, nullable=False),
    Column("source", String, nullable=False),
    Column("tags", Json, nullable=False),
    Column("event_ms", BigInteger, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("expires_ms", BigInteger),
    sqlite_autoincrement=True,
)
Index("ix_search_chunk_space_ref_seq", chunks.c.space, chunks.c.ref, chunks.c.seq)

# As model.Place has them.
PLACE = tuple(chunks.c[name] for name in ("kind", "ref", "piece", "space", "event_ms", "status", "layer"))

models = Table(
    "search_model",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("name", String, nullable=False, unique=True),
    Column("dims", Integer, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
)

vectors = Table(
    "search_vector",
    metadata,
    Column("id", _RowId, primary_key=True, autoincrement=True),
    Column("space", String, nullable=False),
    Column("chunk", BigInteger, nullable=False),
    Column("model", Integer, nullable=False),
    Column("vec", HalfVector, nullable=False),
    sqlite_autoincrement=True,
)
Index("ix_search_vector_model_id", vectors.c.model, vectors.c.id)
Index("uq_search_vector_chunk_model", vectors.c.chunk, vectors.c.model, vectors.c.space, unique=True)

pending = Table(
    "search_pending",
    metadata,
    Column("chunk", BigInteger, primary_key=True, autoincrement=False),
    Column("space", String, nullable=False),
)
Index("ix_search_pending_space", pending.c.space)

# Postgres keeps the tokens here; SQLite in the FTS5 table `search_text` (see the first migration).
token_rows = Table(
    "search_tokens",
    metadata,
    Column("space", String, primary_key=True),
    Column("chunk", BigInteger, primary_key=True),
    Column("tokens", TokenVector, nullable=False),
    info={"dialect": "postgresql"},
)
