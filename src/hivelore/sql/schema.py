"""The schema's version: compare at start, migrate when behind, refuse when ahead.

There is one linear Alembic history for both stores; fresh databases run it from the start. Start-up compares the stored
revision with `HEAD` in one SELECT and imports Alembic (0.25 s) only when they differ. A SQLite file is copied aside
first; Postgres is migrated by `hivelore migrate` under an advisory lock, never by a server that starts.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from sqlalchemy import Connection, inspect, text

from hivelore.core.errors import Unavailable
from hivelore.sql.database import Database, StoreDamaged

HEAD = "0002"
KNOWN = ("0001", "0002")
_LOCK_KEY = 0x48_4C_4D_49_47  # "HLMIG": any fixed number; Postgres advisory locks are numbers


class SchemaBehind(Unavailable):
    """The database has an older schema. Run `hivelore migrate` once, then start the server again."""

    code = "schema_behind"


class SchemaAhead(Unavailable):
    """The database was written by a newer hivelore; this version will not touch it. Upgrade hivelore."""

    code = "schema_ahead"


class ForeignDatabase(Unavailable):
    """This database belongs to another program: it has tables, but none of hivelore's. Nothing was changed."""

    code = "foreign_database"


def stored_revision(connection: Connection) -> str | None:
    """The revision that the database says it has; None for a database without our tables."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def look(db: Database) -> str | None:
    """The revision that the database says it has, None for an empty one. Changes nothing; raises `ForeignDatabase` or
    `SchemaAhead` for one that must not be touched."""
    with db.read() as connection:
        revision = stored_revision(connection)
        if revision is None:
            _refuse_foreign(connection)
    if revision is not None and revision not in KNOWN:
        _judge(revision)
    return revision


def check(db: Database) -> None:
    """Raise unless the schema is exactly the one this code was written for."""
    _judge(look(db))


def _judge(revision: str | None) -> None:
    if revision == HEAD:
        return
    if revision is None or revision in KNOWN:
        raise SchemaBehind()
    raise SchemaAhead(
        f"The database has schema {revision}, which this version of hivelore (schema {HEAD}) does not know: "
        "it was written by a newer hivelore. Nothing was changed. Upgrade hivelore, or use another database."
    )


def prepare(db: Database) -> str | None:
    """Make the schema current where that is safe at start; return the path of the backup if one was made.

    SQLite is migrated, with a verified copy first. An empty Postgres database is filled; one that is behind is refused.
    """
    try:
        revision = look(db)
    except Unavailable as exc:
        if db.dialect == "sqlite" and not isinstance(exc, StoreDamaged) and db.path and db.path.stat().st_size == 0:
            revision = None
        else:
            raise
    if revision == HEAD:
        return None
    if db.dialect == "postgresql" and revision is not None:
        raise SchemaBehind()
    backup = back_up(db, revision) if revision is not None else None
    migrate(db)
    return backup


def _refuse_foreign(connection: Connection) -> None:
    """A setting that points at another program's file must not fill it with our tables. Ask only where there is no
    revision, and in the same transaction: another process may be making ours at this moment."""
    strangers = [name for name in inspect(connection).get_table_names() if name != "alembic_version"]
    if strangers and connection.dialect.name == "sqlite":
        raise ForeignDatabase()


def migrate(db: Database) -> None:
    """Run the missing migrations. Safe to call from several processes at once."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    with db.engine_for_migrations().begin() as connection:
        if db.dialect == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK_KEY})
        revision = stored_revision(connection)
        if revision is None:
            _refuse_foreign(connection)
        elif revision not in KNOWN:
            _judge(revision)
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def make_tables(connection: Connection) -> None:
    """Run every migration on a connection whose first schema is empty: the tables as they are meant to be."""
    from alembic.migration import MigrationContext
    from alembic.operations import Operations
    from alembic.script import ScriptDirectory

    scripts = ScriptDirectory(str(Path(__file__).parent / "migrations"))
    with Operations.context(MigrationContext.configure(connection)):
        for script in reversed(list(scripts.walk_revisions())):
            script.module.upgrade()


def back_up(db: Database, revision: str | None) -> str:
    """Copy the SQLite file aside, check the copy, and return its path."""
    assert db.path is not None
    target = db.path.with_name(f"{db.path.name}.before-{HEAD}-from-{revision}.bak")
    partial = target.with_name(target.name + ".partial")
    partial.unlink(missing_ok=True)
    os.close(os.open(partial, os.O_CREAT | os.O_RDWR, 0o600))
    source, copy = sqlite3.connect(db.path), sqlite3.connect(partial)
    try:
        source.backup(copy)
        if copy.execute("PRAGMA quick_check").fetchone()[0] != "ok":
            raise StoreDamaged()
    finally:
        copy.close()
        source.close()
    os.replace(partial, target)
    return str(target)
