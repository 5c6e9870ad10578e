"""Hash partitions of the big tables on Postgres: an option for a new database.

Every key and every join of these tables carries the space, so they can be cut by it: a space lies in one partition of
each, and a recall that names its spaces touches those partitions alone. The tables keep their names, columns, indexes
and triggers; a database of one kind can be read into one of the other with pg_dump --data-only.
"""

from __future__ import annotations

from sqlalchemy import Connection, text

from hivelore.core.errors import Conflict, Invalid
from hivelore.sql.database import Database

TABLES = ("memory", "memory_part", "search_chunk", "search_vector", "search_tokens")
MOST = 256


class NotEmpty(Conflict):
    """The database holds memories already; partitions can only be made in a new one. Nothing was changed."""

    code = "not_empty"


def make(db: Database, count: int) -> bool:
    """Cut the big tables of an empty, migrated database into `count` partitions each, in one transaction; False when
    they are cut so already. Raises `Invalid` for another store or number, `NotEmpty` where something is stored."""
    if db.dialect != "postgresql":
        raise Invalid("--partitions is for Postgres; a SQLite file has one part.", field="partitions")
    if not 2 <= count <= MOST:
        raise Invalid(f"--partitions must be from 2 to {MOST}, not {count}.", field="partitions")
    with db.write() as connection:
        present = number(connection)
        if present == count:
            return False
        for table in TABLES:
            connection.execute(text(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE"))
            if connection.execute(text(f"SELECT 1 FROM {table} LIMIT 1")).first() is not None:
                raise NotEmpty()
        if present:
            raise Invalid(f"The tables have {present} partitions already; use a new database.", field="partitions")
        for table in TABLES:
            _cut(connection, table, count)
    return True


def number(connection: Connection) -> int:
    """How many partitions the tables have; 0 where they are whole."""
    counted = text("SELECT count(*) FROM pg_inherits WHERE inhparent = CAST('memory' AS regclass)")
    return int(connection.execute(counted).scalar_one())


def _cut(connection: Connection, table: str, count: int) -> None:
    """Put a partitioned table in the place of an empty one, with all that hung on it under its old names."""
    given = {"table": table}
    key = connection.execute(
        text(
            "SELECT conname, pg_get_constraintdef(oid) AS form FROM pg_constraint "
            "WHERE conrelid = CAST(:table AS regclass) AND contype = 'p'"
        ),
        given,
    ).one()
    indexes = connection.execute(
        text(
            "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = CAST(:table AS regclass) "
            "AND NOT indisprimary"
        ),
        given,
    ).scalars()
    triggers = connection.execute(
        text(
            "SELECT pg_get_triggerdef(oid) FROM pg_trigger "
            "WHERE tgrelid = CAST(:table AS regclass) AND NOT tgisinternal"
        ),
        given,
    ).scalars()
    remade = [*indexes.all(), *triggers.all()]
    owned = _sequence(connection, table)
    connection.execute(text(f"ALTER TABLE {table} RENAME TO {table}_whole"))
    connection.execute(
        text(
            f"CREATE TABLE {table} (LIKE {table}_whole INCLUDING DEFAULTS INCLUDING STORAGE) PARTITION BY HASH (space)"
        )
    )
    if owned is not None:
        connection.execute(text(f"ALTER SEQUENCE {owned} OWNED BY {table}.id"))
    connection.execute(text(f"DROP TABLE {table}_whole"))
    connection.execute(text(f"ALTER TABLE {table} ADD CONSTRAINT {key.conname} {key.form}"))
    for statement in remade:
        connection.exec_driver_sql(statement)
    for place in range(count):
        connection.execute(
            text(
                f"CREATE TABLE {table}_{place} PARTITION OF {table} "
                f"FOR VALUES WITH (MODULUS {count}, REMAINDER {place})"
            )
        )


def _sequence(connection: Connection, table: str) -> str | None:
    """The sequence that numbers the rows of a table, if one does."""
    default = connection.execute(
        text(
            "SELECT column_default FROM information_schema.columns "
            "WHERE table_schema = current_schema() AND table_name = :table AND column_name = 'id'"
        ),
        {"table": table},
    ).scalar_one_or_none()
    if default is None:
        return None
    found = connection.execute(text("SELECT pg_get_serial_sequence(:table, 'id')"), {"table": table})
    return str(found.scalar_one())
