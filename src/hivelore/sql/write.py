"""Writing helpers that read the same for both dialects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Table, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.dml import Insert


def insert_into(connection: Connection, table: Table) -> Any:
    """An INSERT of this connection's dialect, which knows `on_conflict_…`."""
    make = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    return make(table)


def insert_if_absent(connection: Connection, table: Table, values: Mapping[str, Any]) -> bool:
    """Insert a row unless any unique key already holds it; return whether it was inserted."""
    # Values travel as parameters and not inside the statement: that halves what SQLAlchemy does per call.
    statement = insert_into(connection, table).on_conflict_do_nothing().execution_options(preserve_rowcount=True)
    return connection.execute(statement, dict(values)).rowcount == 1


def one_at_a_time(connection: Connection, name: str) -> None:
    """Make transactions that name the same thing wait for each other, until they end. SQLite's wait anyway.

    For what cannot be left to a unique key: looking for a row and acting on its absence in several tables.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(name, 0))))


def upsert(connection: Connection, table: Table, values: Mapping[str, Any], key: Sequence[str]) -> None:
    """Insert a row, or overwrite the other columns of the row with the same `key` columns."""
    statement: Insert = insert_into(connection, table).values(**values)
    changed = {name: value for name, value in values.items() if name not in key}
    connection.execute(statement.on_conflict_do_update(index_elements=list(key), set_=changed))  # type: ignore[attr-defined]
