"""What goes wrong with a store is told in words for a person, changes nothing, and gives nothing away."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from sqlalchemy import text

from hivelore.app import build
from hivelore.core.actor import Role
from hivelore.core.errors import HiveloreError, Unavailable
from hivelore.core.settings import Settings
from hivelore.doors.kit.dispatch import Credentials, gate
from hivelore.rooms.memory import service as memory
from hivelore.sql import database
from hivelore.sql.database import (
    Database,
    StoreDamaged,
    StoreFull,
    StoreReadOnly,
    StoreUnreachable,
)
from support.hubs import call_as
from support.permissions import ordinary_user, public_folder


def settings_for(folder: Path | str, **more) -> Settings:
    return Settings(data_dir=str(folder), embedder="hash", embed_eager_ms=0, **more)


def listed(hub) -> list[str]:
    return [item.text for item in memory.list_items(call_as(hub, "alice"), "notes", memory_start(), 50).items]


def memory_start():
    from hivelore.core.page import Offset

    return Offset(0)


def test_a_full_disk_is_told_and_the_store_stays_as_it_was(sqlite_store, make_hub):
    hub = make_hub(sqlite_store)
    memory.remember(call_as(hub, "alice"), "kept before the disk was full", namespace="notes")
    with hub.db.write() as connection:
        pages = connection.execute(text("PRAGMA page_count")).scalar_one()
        connection.execute(text(f"PRAGMA max_page_count = {pages + 2}"))
    with pytest.raises(StoreFull, match="nothing was stored"):
        memory.remember(call_as(hub, "alice"), "much too long for the room that is left. " * 4_000, namespace="notes")
    assert listed(hub) == ["kept before the disk was full"]
    with hub.db.write() as connection:
        connection.execute(text("PRAGMA max_page_count = 1000000"))
    memory.remember(call_as(hub, "alice"), "kept after space was freed", namespace="notes")
    assert len(listed(hub)) == 2


def test_a_full_disk_of_postgres_is_told(postgres_store, make_hub):
    hub = make_hub(postgres_store)
    with pytest.raises(StoreFull), hub.db.write() as connection:
        connection.execute(text("DO $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '53100'; END $$"))


def test_a_file_that_may_only_be_read_is_told():
    with public_folder() as folder:
        hub = build(settings_for(folder))
        memory.remember(call_as(hub, "alice"), "written while it was allowed", namespace="notes")
        hub.db.close()
        (folder / "hivelore.db").chmod(0o444)
        folder.chmod(0o555)
        with ordinary_user(), pytest.raises(StoreReadOnly, match="permissions"):
            hub = build(settings_for(folder))
            try:
                memory.remember(call_as(hub, "alice"), "must not be lost silently", namespace="notes")
            finally:
                hub.db.close()
        folder.chmod(0o755)


def test_a_folder_that_may_not_be_written_is_told():
    with public_folder() as folder:
        folder.chmod(0o555)
        with ordinary_user(), pytest.raises(StoreReadOnly, match="--data"):
            build(settings_for(folder))
        folder.chmod(0o755)


@pytest.mark.parametrize("place", ["/proc/hivelore-test", "file-in-the-way/below"])
def test_a_place_where_no_folder_can_be_is_told(place: str, tmp_path):
    if not os.path.isabs(place):
        (tmp_path / "file-in-the-way").write_text("not a folder")
        place = str(tmp_path / place)
    with pytest.raises(StoreReadOnly, match="--data"):
        build(settings_for(place))


def test_a_file_that_is_no_database_is_told_and_left_alone(tmp_path):
    file = tmp_path / "hivelore.db"
    file.write_bytes(b"these are my holiday notes, please keep them\n" * 200)
    before = file.read_bytes()
    with pytest.raises(StoreDamaged, match="doctor"):
        build(settings_for(tmp_path))
    assert file.read_bytes() == before


def test_a_database_of_something_else_is_not_taken_over(tmp_path):
    import sqlite3

    other = sqlite3.connect(tmp_path / "hivelore.db")
    other.execute("CREATE TABLE memory (theirs TEXT)")
    other.execute("INSERT INTO memory VALUES ('precious')")
    other.commit()
    other.close()
    with pytest.raises(Exception) as caught:
        build(settings_for(tmp_path)).db.close()
    assert isinstance(caught.value, HiveloreError), caught.value
    again = sqlite3.connect(tmp_path / "hivelore.db")
    assert again.execute("SELECT theirs FROM memory").fetchall() == [("precious",)]
    again.close()


def test_a_damaged_page_is_told(sqlite_store, make_hub):
    hub = make_hub(sqlite_store)
    for number in range(40):
        memory.remember(call_as(hub, "alice"), f"memory {number} " + "word " * 200, namespace="notes")
    hub.db.close()
    size = sqlite_store.path.stat().st_size
    with sqlite_store.path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    with pytest.raises(StoreDamaged, match="backup"):
        damaged = make_hub(sqlite_store)
        listed(damaged)


@pytest.mark.parametrize("url", ["postgresql://nobody@127.0.0.1:9/none", "postgresql:///none?host=/nonexistent"])
def test_a_database_that_does_not_answer_is_told_without_its_address(url: str, tmp_path):
    with pytest.raises(StoreUnreachable) as caught:
        build(settings_for(tmp_path, database_url=url))
    assert "127.0.0.1" not in caught.value.message
    assert "nonexistent" not in caught.value.message


def test_a_wrong_password_is_told_as_unreachable_and_not_repeated(postgres_server, tmp_path):
    url = postgres_server.replace("://postgres@", "://no_such_role:secret-password@")
    with pytest.raises(StoreUnreachable) as caught:
        build(settings_for(tmp_path, database_url=url))
    assert "secret-password" not in caught.value.message


def test_a_connection_that_breaks_in_the_middle_is_told(postgres_store, make_hub):
    hub = make_hub(postgres_store)
    with pytest.raises(StoreUnreachable), hub.db.write() as connection:
        process = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
        with hub.db.write() as other:
            other.execute(text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": process})
        connection.execute(text("SELECT 1"))


def test_a_store_that_another_program_holds_for_too_long_is_told(sqlite_store, monkeypatch):
    import sqlite3

    monkeypatch.setattr(database, "BUSY_TIMEOUT_MS", 50)
    holder = sqlite3.connect(sqlite_store.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    db = Database(sqlite_store.url)
    with pytest.raises(database.StoreBusy, match="Try again"), db.write():
        pass
    holder.execute("ROLLBACK")
    holder.close()
    with db.write():
        pass
    db.close()


def test_an_index_that_lost_a_table_is_told_with_what_to_run(blank_store, make_hub):
    hub = make_hub(blank_store)
    with hub.db.write() as connection:
        connection.execute(text("DROP TABLE search_pending"))
    with pytest.raises(database.IndexIncomplete, match="must run `hivelore repair`"):
        memory.remember(call_as(hub, "alice"), "a note", namespace="notes")
    assert listed(hub) == []


def test_an_error_that_nobody_foresaw_gives_no_detail_away(hub, caplog):
    def break_something(call) -> dict[str, object]:
        with call.read() as v:
            v.connection.execute(text("SELECT secret_column FROM no_such_table WHERE path = '/home/alice'"))
        return {}

    with pytest.raises(HiveloreError) as caught:
        gate(hub, "test", Credentials("test"), break_something, needs=Role.READER)
    assert not isinstance(caught.value, Unavailable)
    said = f"{caught.value.message} {caught.value.data}"
    for detail in ("SELECT", "no_such_table", "alice", "sqlite", "psycopg", str(hub.settings.data_dir)):
        assert detail not in said
    assert "no_such_table" in caplog.text  # the log knows, under the id that the caller was told
    assert caught.value.data["id"] in caplog.text
