"""The schema's version: migrations and tables agree, backups are made, unknown schemas are left alone."""

from __future__ import annotations

import importlib
import pkgutil
import sqlite3
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text

import hivelore
from hivelore.core.errors import Unavailable
from hivelore.sql import schema
from hivelore.sql.database import Database
from hivelore.sql.tables import metadata


@pytest.fixture
def db(blank_store):
    found = Database(blank_store.url, pool_size=4)
    yield found
    found.close()


# Made by the first migration and not declared with the tables, because SQLite has no use for them.
ONLY_ON_POSTGRES = {"ix_search_chunk_id", "ix_search_vector_id", "ix_search_tokens_tokens"}


def import_every_table() -> None:
    for module in pkgutil.walk_packages(hivelore.__path__, "hivelore."):
        if module.name.endswith((".store", ".tables", ".queue")):
            importlib.import_module(module.name)


def of_this_dialect(dialect: str):
    """Leave out what belongs to the other dialect, and the tables that FTS5 makes for itself."""

    def include(item: Any, name: str | None, kind: str, reflected: bool, compare_to: Any) -> bool:
        if kind == "table" and str(name).startswith(("search_text", "search_vocabulary")):
            return False
        if kind == "index" and reflected and name in ONLY_ON_POSTGRES:
            return False
        return item.info.get("dialect", dialect) == dialect

    return include


def test_migrations_and_tables_agree(db: Database):
    import_every_table()
    schema.prepare(db)
    with db.engine_for_migrations().connect() as connection, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Did not recognize type")  # halfvec
        context = MigrationContext.configure(
            connection, opts={"include_object": of_this_dialect(db.dialect), "compare_type": False}
        )
        assert compare_metadata(context, metadata) == []


def test_postgres_has_the_indexes_that_only_it_needs(postgres_store):
    db = Database(postgres_store.url, pool_size=1)
    with db.read() as connection:
        found = connection.execute(text("SELECT indexname FROM pg_indexes WHERE schemaname = 'public'"))
        assert set(found.scalars()) >= ONLY_ON_POSTGRES
    db.close()


def test_every_column_is_as_nullable_in_the_database_as_in_the_code(db: Database):
    import_every_table()
    schema.prepare(db)
    with db.read() as connection, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Did not recognize type")
        inspector = inspect(connection)
        for table in metadata.tables.values():
            if table.info.get("dialect", db.dialect) != db.dialect:
                continue
            stored = {c["name"]: c["nullable"] for c in inspector.get_columns(table.name)}
            assert stored == {c.name: c.nullable for c in table.columns}, table.name


def test_the_code_knows_every_migration_and_the_last_one_is_head():
    versions = Path(schema.__file__).parent / "migrations" / "versions"
    revisions = sorted(path.name.split("_")[0] for path in versions.glob("[0-9]*.py"))
    assert list(schema.KNOWN) == revisions
    assert revisions[-1] == schema.HEAD


def test_a_prepared_store_is_left_alone_and_passes_the_check(db: Database):
    assert schema.prepare(db) is None
    assert schema.prepare(db) is None
    schema.check(db)


def test_a_store_without_a_schema_does_not_pass_the_check(db: Database):
    with pytest.raises(schema.SchemaBehind, match="hivelore migrate"):
        schema.check(db)


def test_a_sqlite_file_of_another_program_does_not_pass_the_check_and_is_not_migrated(tmp_path):
    file = tmp_path / "other.db"
    other = sqlite3.connect(file)
    other.execute("CREATE TABLE unrelated (x INTEGER)")
    other.close()
    before = file.read_bytes()
    db = Database(f"sqlite:///{file}")
    for attempt in (schema.check, schema.prepare):
        with pytest.raises(schema.ForeignDatabase, match="another program"):
            attempt(db)
    assert file.read_bytes() == before
    with pytest.raises(schema.ForeignDatabase, match="another program"):
        schema.migrate(db)
    with db.read() as connection:
        assert inspect(connection).get_table_names() == ["unrelated"]
    db.close()


def test_several_servers_may_prepare_an_empty_store_at_once(blank_store):
    start, failures = threading.Barrier(4), []

    def prepare() -> None:
        db = Database(blank_store.url, pool_size=1)
        try:
            start.wait(20)
            schema.prepare(db)
            schema.check(db)
        except Exception as exc:
            failures.append(exc)
        finally:
            db.close()

    threads = [threading.Thread(target=prepare) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []


@pytest.mark.promise("M-029")
def test_a_store_of_a_newer_version_is_refused_and_not_changed(db: Database):
    schema.prepare(db)
    with db.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    for attempt in (schema.prepare, schema.check, schema.migrate):
        with pytest.raises(schema.SchemaAhead, match="newer hivelore"):
            attempt(db)
    with db.read() as connection:
        assert schema.stored_revision(connection) == "9999"


def pretend_that_a_migration_was_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "KNOWN", (*schema.KNOWN, "next"))
    monkeypatch.setattr(schema, "HEAD", "next")


def test_a_sqlite_file_is_copied_aside_before_it_is_migrated(sqlite_store, monkeypatch):
    db = Database(sqlite_store.url)
    with db.write() as connection:
        connection.execute(text("INSERT INTO space VALUES ('sp_1', 'shared', '', 'shared', 7)"))
    before = schema.HEAD
    pretend_that_a_migration_was_added(monkeypatch)
    backup = schema.prepare(db)
    db.close()

    assert backup is not None
    copy = Path(backup)
    assert copy.parent == sqlite_store.path.parent
    assert before in copy.name
    assert copy.stat().st_mode & 0o777 == 0o600
    stored = sqlite3.connect(copy)
    assert stored.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert stored.execute("SELECT name, created_ms FROM space").fetchall() == [("shared", 7)]
    assert stored.execute("SELECT version_num FROM alembic_version").fetchone() == (before,)
    stored.close()
    assert not list(copy.parent.glob("*.partial"))


def test_a_migration_does_not_begin_when_the_copy_cannot_be_made(sqlite_store, monkeypatch):
    db = Database(sqlite_store.url)
    pretend_that_a_migration_was_added(monkeypatch)
    migrated = []
    monkeypatch.setattr(schema, "migrate", migrated.append)
    in_the_way = sqlite_store.path.with_name(f"{sqlite_store.path.name}.before-next-from-{schema.KNOWN[-2]}.bak")
    in_the_way.mkdir()
    with pytest.raises(OSError):
        schema.prepare(db)
    db.close()
    assert migrated == []


def test_a_postgres_database_that_is_behind_waits_for_its_operator(postgres_store, monkeypatch):
    db = Database(postgres_store.url, pool_size=1)
    pretend_that_a_migration_was_added(monkeypatch)
    migrated = []
    monkeypatch.setattr(schema, "migrate", migrated.append)
    with pytest.raises(schema.SchemaBehind, match="hivelore migrate"):
        schema.prepare(db)
    db.close()
    assert migrated == []


def test_schema_errors_are_states_that_a_person_can_act_on():
    for kind in (schema.SchemaAhead, schema.SchemaBehind):
        assert issubclass(kind, Unavailable)
        assert "hivelore" in kind().message
