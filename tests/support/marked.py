"""Looking for a mark in everything that a store holds, as a forensic reader of its tables would."""

from __future__ import annotations

from sqlalchemy import text

from hivelore.work import Hub


def tables_holding(hub: Hub, mark: str) -> set[str]:
    """Names of tables with a row that holds `mark` in any column, as text or as bytes; FTS5's own tables included."""
    wanted = mark.encode()
    found: set[str] = set()
    with hub.db.read() as connection:
        names = "SELECT name FROM sqlite_master WHERE type = 'table'"
        if hub.db.dialect == "postgresql":
            names = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        for name in connection.execute(text(names)).scalars().all():
            for row in connection.execute(text(f'SELECT * FROM "{name}"')):
                values = (value if isinstance(value, bytes) else str(value).encode() for value in row)
                if any(wanted in value for value in values):
                    found.add(name)
    return found
