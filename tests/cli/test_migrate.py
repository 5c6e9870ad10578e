"""`hivelore migrate`: what it does to empty, current, older, newer and foreign databases, and what it says."""

from __future__ import annotations

import json
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from hivelore.rooms.memory import service as memory
from hivelore.sql import schema
from hivelore.sql.database import Database
from support.hubs import Store, call_as, opened

OLDER = schema.HEAD


@pytest.fixture
def a_newer_hivelore(monkeypatch):
    """This version as it is when one more migration has been added. The migration itself is a stand-in."""

    def migrate(db):
        with db.write() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = 'next'"))

    monkeypatch.setattr(schema, "KNOWN", (*schema.KNOWN, "next"))
    monkeypatch.setattr(schema, "HEAD", "next")
    monkeypatch.setattr(schema, "migrate", migrate)


@pytest.fixture
def set_revision():
    """Write a revision into a store; undone at the end, because tests share one Postgres database."""
    changed = []

    def write(store, revision):
        db = Database(store.url, pool_size=1)
        with db.write() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = :to"), {"to": revision})
        db.close()
        changed.append(store)

    yield write
    for store in list(changed):
        write(store, OLDER)


def revision_of(store):
    db = Database(store.url, pool_size=1)
    with db.read() as connection:
        found = schema.stored_revision(connection)
    db.close()
    return found


def on(store):
    return ("--database-url", store.url)


# -- empty and current -------------------------------------------------------------------------------------------------


def test_an_empty_database_gets_the_schema_and_the_next_run_has_nothing_to_do(run, blank_store):
    ran = run("migrate", "--json", *on(blank_store))
    assert (ran.code, ran.err) == (0, "")
    assert ran.json == {"from": None, "to": schema.HEAD, "changed": True, "backup": None}
    assert revision_of(blank_store) == schema.HEAD
    again = run("migrate", "--json", *on(blank_store))
    assert again.json == {"from": schema.HEAD, "to": schema.HEAD, "changed": False, "backup": None}


def test_people_are_told_in_words(run, blank_store):
    assert run("migrate", *on(blank_store)).out == f"Migrated from schema none to {schema.HEAD}.\n"
    assert run("migrate", *on(blank_store)).out == f"The schema is current ({schema.HEAD}).\n"


def test_a_current_database_is_not_touched(run, sqlite_store):
    before = sqlite_store.path.read_bytes()
    for options in ((), ("--check",)):
        assert run("migrate", *options, *on(sqlite_store)).code == 0
    assert sqlite_store.path.read_bytes() == before
    assert not list(sqlite_store.path.parent.glob("*.bak*"))


def test_the_usual_database_is_made_in_a_private_folder(run, own_world):
    assert run("migrate").code == 0
    folder = own_world / "home" / ".hivelore"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "hivelore.db").stat().st_mode) == 0o600
    assert run("migrate", "--check").code == 0


# -- check -------------------------------------------------------------------------------------------------------------


def test_check_fails_on_an_empty_database_and_leaves_it_empty(run, blank_store):
    ran = run("migrate", "--check", *on(blank_store))
    assert (ran.code, ran.out) == (69, "")
    assert "hivelore migrate" in ran.err
    if blank_store.path is not None:
        assert not blank_store.path.exists()
    else:
        assert revision_of(blank_store) is None


def test_check_makes_neither_folder_nor_file(run, own_world):
    assert run("migrate", "--check").code == 69
    assert not (own_world / "home" / ".hivelore").exists()


def test_check_says_when_a_database_is_current(run, store):
    ran = run("migrate", "--check", "--json", *on(store))
    assert (ran.code, ran.json["changed"]) == (0, False)


def test_check_fails_on_an_older_database_and_leaves_it_as_it_is(run, store, a_newer_hivelore):
    ran = run("migrate", "--check", *on(store))
    assert (ran.code, ran.out) == (69, "")
    assert "hivelore migrate" in ran.err
    assert revision_of(store) == OLDER
    if store.path is not None:
        assert not list(store.path.parent.glob("*.bak*"))


# -- older -------------------------------------------------------------------------------------------------------------


def test_an_older_sqlite_file_is_copied_aside_first_and_the_copy_opens(
    run, sqlite_store, tmp_path, a_newer_hivelore, monkeypatch
):
    with monkeypatch.context() as earlier:
        earlier.setattr(schema, "HEAD", OLDER)
        with opened(sqlite_store, tmp_path) as hub:
            memory.remember(call_as(hub, "alice"), "older than the migration", namespace="notes")
    ran = run("migrate", "--json", *on(sqlite_store))
    assert ran.code == 0
    assert (ran.json["from"], ran.json["to"], ran.json["changed"]) == (OLDER, "next", True)
    assert revision_of(sqlite_store) == "next"

    copy = Path(ran.json["backup"])
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("SELECT text FROM memory").fetchall() == [("older than the migration",)]
    # The older version can go on with the copy.
    monkeypatch.undo()
    with opened(Store("sqlite", f"sqlite:///{copy}"), tmp_path) as hub:
        found = memory.recall(call_as(hub, "alice"), "migration", namespaces=["notes"], limit=3)
        assert [each.item.text for each in found.items] == ["older than the migration"]


def test_people_are_told_where_the_copy_is(run, sqlite_store, a_newer_hivelore):
    out = run("migrate", *on(sqlite_store)).out
    [copy] = sqlite_store.path.parent.glob("*.bak")
    assert out == f"Migrated from schema {OLDER} to next. Backup: {copy}\n"


def test_an_older_postgres_database_is_migrated_by_this_command(run, postgres_store, a_newer_hivelore, set_revision):
    set_revision(postgres_store, OLDER)
    ran = run("migrate", "--json", *on(postgres_store))
    assert (ran.code, ran.json) == (0, {"from": OLDER, "to": "next", "changed": True, "backup": None})
    assert revision_of(postgres_store) == "next"


def test_nothing_is_migrated_when_the_copy_cannot_be_made(run, sqlite_store, a_newer_hivelore):
    blocked = sqlite_store.path.with_name(f"{sqlite_store.path.name}.before-next-from-{OLDER}.bak")
    blocked.mkdir()
    (blocked / "in the way").touch()
    ran = run("migrate", *on(sqlite_store))
    assert ran.code != 0
    assert ran.out == ""
    assert revision_of(sqlite_store) == OLDER


# -- newer and foreign -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [(), ("--check",)])
def test_a_database_of_a_newer_version_is_refused_by_its_name_and_not_touched(run, store, set_revision, options):
    set_revision(store, "0999")
    before = store.path.read_bytes() if store.path else b""
    ran = run("migrate", *options, *on(store))
    assert (ran.code, ran.out) == (69, "")
    assert "schema 0999" in ran.err
    assert "newer hivelore" in ran.err
    assert revision_of(store) == "0999"
    if store.path is not None:
        assert store.path.read_bytes() == before
        assert not list(store.path.parent.glob("*.bak*"))


@pytest.mark.parametrize("options", [(), ("--check",)])
def test_an_sqlite_file_of_another_program_is_refused_and_not_touched(run, tmp_path, options):
    file = tmp_path / "recipes.db"
    with closing(sqlite3.connect(file)) as other:
        other.execute("CREATE TABLE recipes (text)")
        other.commit()
    before = file.read_bytes()
    ran = run("migrate", *options, "--database-url", f"sqlite:///{file}")
    assert (ran.code, ran.out) == (69, "")
    assert "another program" in ran.err
    assert file.read_bytes() == before
    assert sorted(path.name for path in tmp_path.glob("recipes*")) == ["recipes.db"]


def test_a_file_that_is_no_database_is_refused_and_not_touched(run, tmp_path):
    file = tmp_path / "notes.db"
    file.write_bytes(b"my holiday notes, please keep them\n" * 300)
    before = file.read_bytes()
    ran = run("migrate", "--database-url", f"sqlite:///{file}")
    assert ran.code == 69
    assert "damaged" in ran.err
    assert file.read_bytes() == before


def test_a_database_that_does_not_answer_is_69_without_its_password(run):
    ran = run("migrate", "--database-url", "postgresql://ana:s3cret-passw0rd@127.0.0.1:9/none")
    assert (ran.code, ran.out) == (69, "")
    assert "does not answer" in ran.err
    assert "s3cret" not in ran.err


def test_a_folder_that_cannot_be_is_69_in_words(run, own_world):
    (own_world / "work" / "file").write_text("")
    ran = run("migrate", "--data", "file/below")
    assert ran.code == 69
    assert "Cannot use the data folder" in ran.err


def test_the_answer_for_programs_is_one_json_object(run, blank_store):
    assert set(json.loads(run("migrate", "--json", *on(blank_store)).out)) == {"from", "to", "changed", "backup"}


def test_partitions_are_made_in_a_new_postgres_database_and_only_there(run, blank_postgres, sqlite_store):
    ran = run("migrate", "--partitions", "4", "--json", "--database-url", blank_postgres.url)
    assert (ran.code, ran.json["partitions"], ran.json["changed"]) == (0, 4, True)
    again = run("migrate", "--partitions", "4", "--database-url", blank_postgres.url)
    assert again.code == 0, again.err
    other = run("migrate", "--partitions", "8", "--database-url", blank_postgres.url)
    assert (other.code, "4 partitions already" in other.err) == (64, True)
    file = run("migrate", "--partitions", "4", "--database-url", sqlite_store.url)
    assert (file.code, "is for Postgres" in file.err) == (64, True)
    both = run("migrate", "--partitions", "4", "--check", "--database-url", blank_postgres.url)
    assert (both.code, "give one of them" in both.err) == (64, True)
