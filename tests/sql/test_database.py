"""Transactions on both stores: what is read agrees, what fails leaves nothing, files are private."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import func, select, text

from hivelore.base.identity.store import spaces
from hivelore.sql.database import BUSY_TIMEOUT_MS, Database, Retryable, StoreReadOnly


def add_space(connection, name: str) -> None:
    connection.execute(spaces.insert().values(id=name, kind="shared", owner="", name=name, created_ms=1))


def stored_names(db: Database) -> list[str]:
    with db.read() as connection:
        return list(connection.execute(select(spaces.c.name).order_by(spaces.c.name)).scalars())


def test_a_write_is_stored_when_its_block_ends(hub):
    with hub.db.write() as connection:
        add_space(connection, "a")
    assert stored_names(hub.db) == ["a"]


def test_nothing_is_stored_when_the_block_raises(hub):
    with pytest.raises(RuntimeError, match="stop"), hub.db.write() as connection:
        add_space(connection, "a")
        raise RuntimeError("stop")
    assert stored_names(hub.db) == []


def test_what_reads_cannot_write(hub):
    with pytest.raises(StoreReadOnly), hub.db.read() as connection:
        add_space(connection, "a")
    assert stored_names(hub.db) == []


def test_a_reader_sees_one_state_while_others_write(hub):
    with hub.db.read() as connection:
        count = select(func.count()).select_from(spaces)
        assert connection.execute(count).scalar_one() == 0
        with hub.db.write() as writer:
            add_space(writer, "meanwhile")
        assert connection.execute(count).scalar_one() == 0
    assert stored_names(hub.db) == ["meanwhile"]


def test_many_threads_write_and_none_is_lost(hub):
    start, failures = threading.Barrier(8), []

    def write(number: int) -> None:
        try:
            start.wait(20)
            for round in range(10):
                with hub.db.write() as connection:
                    add_space(connection, f"{number}-{round}")
        except Exception as exc:
            failures.append(exc)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert len(stored_names(hub.db)) == 80


def test_two_programs_write_to_one_sqlite_file_and_none_is_lost(sqlite_store):
    databases = [Database(sqlite_store.url) for _ in range(2)]  # locks are not shared between them
    start, failures = threading.Barrier(2), []

    def write(db: Database, number: int) -> None:
        try:
            start.wait(20)
            for round in range(20):
                with db.write() as connection:
                    add_space(connection, f"{number}-{round}")
        except Exception as exc:
            failures.append(exc)

    threads = [threading.Thread(target=write, args=(db, n)) for n, db in enumerate(databases)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert len(stored_names(databases[0])) == 40
    for db in databases:
        db.close()


def test_a_deadlock_on_postgres_asks_to_be_repeated(postgres_store, make_hub):
    hub = make_hub(postgres_store)
    with hub.db.write() as connection:
        add_space(connection, "a")
        add_space(connection, "b")
    holding, refused = threading.Barrier(2), []

    def change(first: str, second: str) -> None:
        try:
            with hub.db.write() as connection:
                connection.execute(text("SET LOCAL deadlock_timeout = '50ms'"))
                for name in (first, second):
                    connection.execute(spaces.update().where(spaces.c.name == name).values(created_ms=2))
                    if name == first:
                        holding.wait(20)
        except Retryable as exc:
            refused.append(exc)

    threads = [threading.Thread(target=change, args=pair) for pair in (("a", "b"), ("b", "a"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(refused) == 1


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_folder_and_file_of_a_new_store_are_private(tmp_path):
    db = Database(f"sqlite:///{tmp_path}/new/deeper/hivelore.db")
    with db.write() as connection:
        connection.execute(text("CREATE TABLE t (x INTEGER)"))
    assert mode_of(tmp_path / "new" / "deeper") == 0o700
    for file in (tmp_path / "new" / "deeper").iterdir():
        assert mode_of(file) == 0o600, file.name
    db.close()


def test_closing_folds_the_log_into_the_file(tmp_path):
    db = Database(f"sqlite:///{tmp_path}/one.db")
    with db.write() as connection:
        connection.execute(text("CREATE TABLE t (x INTEGER)"))
    assert db.size_bytes() > 0
    db.close()
    assert [file.name for file in tmp_path.iterdir()] == ["one.db"]


def test_a_store_in_memory_says_so_and_leaves_nothing_behind():
    db = Database("memory")
    assert not db.durable
    with db.write() as connection:
        connection.execute(text("CREATE TABLE t (x INTEGER)"))
        connection.execute(text("INSERT INTO t VALUES (1)"))
    with db.read() as connection:
        assert connection.execute(text("SELECT x FROM t")).scalar_one() == 1
    folder = db.path.parent
    assert folder.exists()
    db.close()
    assert not folder.exists()


def test_every_sqlite_connection_waits_for_other_programs_and_keeps_foreign_keys(sqlite_store):
    db = Database(sqlite_store.url)
    for opened in (db.read, db.write):
        with opened() as connection:
            assert connection.execute(text("PRAGMA busy_timeout")).scalar_one() == BUSY_TIMEOUT_MS
            assert connection.execute(text("PRAGMA foreign_keys")).scalar_one() == 1
            assert connection.execute(text("PRAGMA journal_mode")).scalar_one() == "wal"
    db.close()


def test_a_lost_postgres_connection_is_replaced(postgres_store, make_hub):
    hub = make_hub(postgres_store)
    with hub.db.read() as connection:
        lost = connection.execute(text("SELECT pg_backend_pid()")).scalar_one()
    with psycopg.connect(postgres_store.url, autocommit=True) as operator:
        assert operator.execute("SELECT pg_terminate_backend(%s, 5000)", [lost]).fetchone() == (True,)
    assert stored_names(hub.db) == []
