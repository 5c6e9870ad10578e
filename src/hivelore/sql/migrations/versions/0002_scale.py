"""What keeps a large store fast: every chunk has the token of its space in the text index, and items are counted as
they are written."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

SPACE_MARK = "\ue000"  # as in base/search/words.py when this was written


def upgrade() -> None:
    op.create_table(
        "memory_count",
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("slot", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("space", "slot", name="pk_memory_count"),
    )
    op.execute(
        "INSERT INTO memory_count(space, slot, total) "
        "SELECT space, 0, sum(part_count) FROM memory WHERE expires_ms IS NULL GROUP BY space"
    )
    op.create_index(
        "ix_memory_expiring",
        "memory",
        ["space", "expires_ms", "part_count"],
        sqlite_where=sa.text("expires_ms IS NOT NULL"),
        postgresql_where=sa.text("expires_ms IS NOT NULL"),
    )
    if op.get_bind().dialect.name == "sqlite":
        _sqlite()
    else:
        _postgres()


def _sqlite() -> None:
    minus = "UPDATE memory_count SET total = total - OLD.part_count WHERE space = OLD.space AND slot = 0;"
    plus = (
        "INSERT INTO memory_count SELECT NEW.space, 0, 0 "
        "WHERE NOT EXISTS (SELECT 1 FROM memory_count WHERE space = NEW.space AND slot = 0); "
        "UPDATE memory_count SET total = total + NEW.part_count WHERE space = NEW.space AND slot = 0;"
    )
    changed = "UPDATE OF part_count, expires_ms, space"
    for name, event, row, what in (
        ("memory_counted_insert", "INSERT", "NEW", plus),
        ("memory_counted_delete", "DELETE", "OLD", minus),
        ("memory_counted_before", changed, "OLD", minus),
        ("memory_counted_after", changed, "NEW", plus),
    ):
        op.execute(f"CREATE TRIGGER {name} AFTER {event} ON memory WHEN {row}.expires_ms IS NULL BEGIN {what} END")
    op.execute("CREATE TABLE search_text_before AS SELECT rowid AS chunk, tokens FROM search_text")
    op.execute("DROP TABLE search_vocabulary")
    op.execute("DROP TABLE search_text")
    op.execute("CREATE VIRTUAL TABLE search_text USING fts5(tokens, tokenize='ascii')")
    op.get_bind().execute(
        sa.text(
            "INSERT INTO search_text(rowid, tokens) "
            "SELECT b.chunk, :mark || replace(c.space, '_', '') || ' ' || b.tokens "
            "FROM search_text_before b CROSS JOIN search_chunk c ON c.id = b.chunk ORDER BY b.chunk"
        ).bindparams(mark=SPACE_MARK)
    )
    op.execute("DROP TABLE search_text_before")


# Writers of one space would wait for each other at one row; with a slot for each connection they hardly ever do.
_COUNTING = """
CREATE FUNCTION memory_counted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' AND OLD.expires_ms IS NULL THEN
        INSERT INTO memory_count AS c VALUES (OLD.space, pg_backend_pid() % 32, -OLD.part_count)
        ON CONFLICT (space, slot) DO UPDATE SET total = c.total + excluded.total;
    END IF;
    IF TG_OP <> 'DELETE' AND NEW.expires_ms IS NULL THEN
        INSERT INTO memory_count AS c VALUES (NEW.space, pg_backend_pid() % 32, NEW.part_count)
        ON CONFLICT (space, slot) DO UPDATE SET total = c.total + excluded.total;
    END IF;
    RETURN NULL;
END $$
"""


def _postgres() -> None:
    op.execute(_COUNTING)
    op.execute(
        "CREATE TRIGGER memory_counted AFTER INSERT OR DELETE OR UPDATE OF part_count, expires_ms, space ON memory "
        "FOR EACH ROW EXECUTE FUNCTION memory_counted()"
    )
    op.get_bind().execute(
        sa.text(
            "UPDATE search_tokens "
            "SET tokens = CAST('''' || :mark || replace(space, '_', '') || '''\\:1' AS tsvector) || tokens"
        ).bindparams(mark=SPACE_MARK)
    )
