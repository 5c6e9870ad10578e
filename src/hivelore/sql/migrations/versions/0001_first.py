"""The first schema: spaces, memories, transcripts, the search index, jobs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from hivelore.sql.types import HalfVector, Json, TokenVector

revision = "0001"
down_revision = None

ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("CREATE EXTENSION IF NOT EXISTS vector")
    op.create_table(
        "job",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("args", Json(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("dedupe", sa.String(), nullable=True),
        sa.Column("lane", sa.String(), nullable=True),
        sa.Column("run_at_ms", sa.BigInteger(), nullable=False),
        sa.Column("lease_until_ms", sa.BigInteger(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_job"),
    )
    op.create_index("ix_job_due", "job", ["status", "run_at_ms"])
    op.create_index(
        "uq_job_dedupe_waiting",
        "job",
        ["dedupe"],
        unique=True,
        sqlite_where=sa.text("status = 'waiting'"),
        postgresql_where=sa.text("status = 'waiting'"),
    )
    op.create_index(
        "uq_job_lane_running",
        "job",
        ["lane"],
        unique=True,
        sqlite_where=sa.text("status = 'running'"),
        postgresql_where=sa.text("status = 'running'"),
    )
    op.create_table(
        "memory",
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("door", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("layer", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("chars", sa.Integer(), nullable=False),
        sa.Column("part_count", sa.Integer(), nullable=False),
        sa.Column("tags", Json(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=True),
        sa.Column("origin", Json(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("event_ms", sa.BigInteger(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("updated_ms", sa.BigInteger(), nullable=False),
        sa.Column("expires_ms", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("space", "id", name="pk_memory"),
    )
    op.create_index("ix_memory_id", "memory", ["id"])
    op.create_index("ix_memory_listing", "memory", ["space", "created_ms", "id", "part_count", "expires_ms"])
    op.create_index(
        "uq_memory_key",
        "memory",
        ["space", "owner", "key"],
        unique=True,
        sqlite_where=sa.text("key IS NOT NULL"),
        postgresql_where=sa.text("key IS NOT NULL"),
    )
    op.create_table(
        "memory_link",
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("from_memory", sa.String(), nullable=False),
        sa.Column("relation", sa.String(), nullable=False),
        sa.Column("to_memory", sa.String(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("space", "from_memory", "relation", "to_memory", name="pk_memory_link"),
    )
    op.create_index("ix_memory_link_to", "memory_link", ["to_memory"])
    op.create_table(
        "memory_part",
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("memory", sa.String(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("length", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("space", "id", name="pk_memory_part"),
    )
    op.create_index("ix_memory_part_id", "memory_part", ["id"])
    op.create_index("ix_memory_part_memory", "memory_part", ["space", "memory", "seq"])
    op.create_table(
        "memory_revision",
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("memory", sa.String(), nullable=False),
        sa.Column("revision", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("tags", Json(), nullable=False),
        sa.Column("replaced_ms", sa.BigInteger(), nullable=False),
        sa.Column("replaced_by", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("space", "memory", "revision", name="pk_memory_revision"),
    )
    op.create_table(
        "search_chunk",
        sa.Column("id", ROW_ID, autoincrement=True, nullable=False),
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("ref", sa.String(), nullable=False),
        sa.Column("piece", sa.String(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("context", sa.Text(), nullable=False),
        sa.Column("hash", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("layer", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("tags", Json(), nullable=False),
        sa.Column("event_ms", sa.BigInteger(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("expires_ms", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_search_chunk"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_search_chunk_space_ref_seq", "search_chunk", ["space", "ref", "seq"])
    op.create_table(
        "search_model",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("dims", sa.Integer(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_search_model"),
        sa.UniqueConstraint("name", name="uq_search_model_name"),
    )
    op.create_table(
        "search_pending",
        sa.Column("chunk", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("space", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("chunk", name="pk_search_pending"),
    )
    op.create_index("ix_search_pending_space", "search_pending", ["space"])
    op.create_table(
        "search_vector",
        sa.Column("id", ROW_ID, autoincrement=True, nullable=False),
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("chunk", sa.BigInteger(), nullable=False),
        sa.Column("model", sa.Integer(), nullable=False),
        sa.Column("vec", HalfVector(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_search_vector"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_search_vector_model_id", "search_vector", ["model", "id"])
    op.create_index("uq_search_vector_chunk_model", "search_vector", ["chunk", "model", "space"], unique=True)
    op.create_table(
        "session_transcript",
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("memory", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("owner", "session_id", name="pk_session_transcript"),
    )
    op.create_index("ix_session_transcript_memory", "session_transcript", ["memory"])
    op.create_table(
        "space",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_space"),
    )
    op.create_index("ix_space_owner_name", "space", ["kind", "owner", "name"])
    op.create_table(
        "tombstone",
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("memory", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=True),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("removed_ms", sa.BigInteger(), nullable=False),
        sa.Column("removed_by", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("space", "memory", name="pk_tombstone"),
    )
    op.create_index("ix_tombstone_key", "tombstone", ["owner", "key"])
    op.create_table(
        "transcript_file",
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("resume", Json(), nullable=False),
        sa.Column("read_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("owner", "source", "path", name="pk_transcript_file"),
    )
    op.create_table(
        "turn",
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("memory", sa.String(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("conversation", sa.String(), nullable=False),
        sa.Column("turn_id", sa.String(), nullable=False),
        sa.Column("first_message", sa.String(), nullable=False),
        sa.Column("complete", sa.Boolean(), nullable=False),
        sa.Column("workspace", sa.String(), nullable=False),
        sa.Column("details", Json(), nullable=False),
        sa.Column("started_ms", sa.BigInteger(), nullable=False),
        sa.Column("ended_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("space", "memory", name="pk_turn"),
    )
    op.create_index("ix_turn_conversation", "turn", ["owner", "source", "conversation", "started_ms"])
    op.create_index("ix_turn_first_message", "turn", ["owner", "source", "first_message"])
    if op.get_bind().dialect.name == "sqlite":
        _sqlite()
    else:
        _postgres()


def _sqlite() -> None:
    op.execute("CREATE VIRTUAL TABLE search_text USING fts5(tokens, tokenize='ascii')")
    op.execute("CREATE VIRTUAL TABLE search_vocabulary USING fts5vocab('search_text', 'row')")


def _postgres() -> None:
    op.create_table(
        "search_tokens",
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("chunk", sa.BigInteger(), nullable=False),
        sa.Column("tokens", TokenVector(), nullable=False),
        sa.PrimaryKeyConstraint("space", "chunk", name="pk_search_tokens"),
    )
    op.create_index("ix_search_tokens_tokens", "search_tokens", ["tokens"], postgresql_using="gin")
    # The space leads the key of the big tables, so that they can be partitioned by it.
    for table in ("search_chunk", "search_vector"):
        op.drop_constraint(f"pk_{table}", table)
        op.create_primary_key(f"pk_{table}", table, ["space", "id"])
        op.create_index(f"ix_{table}_id", table, ["id"], unique=False)
