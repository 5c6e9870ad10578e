"""Connections and transactions for both stores.

SQLite: WAL, one writer at a time in this process (a lock; measured to give ten times better worst-case latency than
relying on busy_timeout between threads), busy_timeout as the guard between processes, readers that cannot write.
Postgres: a psycopg pool, Read Committed, read-only transactions for readers.

Errors of the store that a person can act on (disk full, read-only, unreachable) become `Unavailable` here, with words
for that person; everything else travels up and is masked at the door.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import QueuePool

from hivelore.core.errors import HiveloreError, Unavailable

BUSY_TIMEOUT_MS = 15_000
MINIMUM_SQLITE = (3, 35, 0)  # RETURNING and upsert with WHERE


class StoreFull(Unavailable):
    """The disk of the store is full: nothing was stored. Free some space and try again."""

    code = "store_full"


class StoreReadOnly(Unavailable):
    """The store cannot be written (read-only file, folder or disk): nothing was stored. Check its permissions."""

    code = "store_read_only"


class StoreBusy(Unavailable):
    """The store was busy for too long: nothing was stored. Try again."""

    code = "store_busy"


class StoreUnreachable(Unavailable):
    """The store does not answer. Check that the database runs and that this server may connect to it."""

    code = "store_unreachable"


class StoreDamaged(Unavailable):
    """The database file is damaged or is not a hivelore database. Run `hivelore doctor`; restore a backup if needed."""

    code = "store_damaged"


class IndexIncomplete(Unavailable):
    """The search index lacks a table or a column: nothing was stored. The store's owner must run `hivelore repair`."""

    code = "index_incomplete"


class Retryable(Exception):
    """The database refused a transaction that would succeed if repeated (deadlock, serialisation failure)."""


class Database:
    """One store. `read()` and `write()` give a connection inside a transaction; leaving it commits or rolls back."""

    def __init__(self, url: str, *, pool_size: int = 16) -> None:
        self._temporary: str | None = None
        if url == "memory":
            # A private temporary file behaves exactly like the durable store (threads, WAL) and is gone at close.
            self._temporary = tempfile.mkdtemp(prefix="hivelore-")
            url = f"sqlite:///{self._temporary}/memory.db"
        parsed = make_url(url)
        self.dialect = "sqlite" if parsed.get_backend_name() == "sqlite" else "postgresql"
        self.path = Path(parsed.database or "") if self.dialect == "sqlite" else None
        self._write_lock = threading.Lock()
        if self.dialect == "sqlite":
            self._prepare_file()
            self._writer = self._sqlite_engine(parsed, size=1, read_only=False)
            self._reader = self._sqlite_engine(parsed, size=pool_size, read_only=True)
        else:
            self._writer = self._reader = self._postgres_engine(parsed, pool_size)

    @property
    def durable(self) -> bool:
        """False when the store vanishes with the process."""
        return self._temporary is None

    def _prepare_file(self) -> None:
        assert self.path is not None
        if sqlite3.sqlite_version_info < MINIMUM_SQLITE:
            raise Unavailable(
                f"Python was built with SQLite {sqlite3.sqlite_version}; hivelore needs 3.35 or newer. "
                "Use a newer Python, or set database_url to a Postgres database."
            )
        try:
            if not self.path.parent.exists():
                self.path.parent.mkdir(parents=True, mode=0o700)
            if not self.path.exists():
                # Created here and not by SQLite, so that the file is private from its first moment;
                # SQLite gives -wal and -shm the mode of the main file.
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        except OSError as exc:
            raise StoreReadOnly(
                f"Cannot create the database in {self.path.parent}: {exc.strerror}. "
                "Choose another folder with --data or HIVELORE_DATA_DIR, or fix its permissions."
            ) from exc

    def _sqlite_engine(self, url: URL, *, size: int, read_only: bool) -> Engine:
        engine = create_engine(
            url,
            poolclass=QueuePool,
            pool_size=size,
            max_overflow=0,
            pool_timeout=60,
            connect_args={"check_same_thread": False, "timeout": BUSY_TIMEOUT_MS / 1000, "cached_statements": 256},
        )

        @event.listens_for(engine, "connect")
        def configure(connection: sqlite3.Connection, _: Any) -> None:
            connection.isolation_level = None  # transactions are begun below, in the way we choose
            run = connection.execute
            run(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
            if read_only:
                run("PRAGMA cache_size=-4000")
                run("PRAGMA query_only=ON")
            else:
                run("PRAGMA journal_mode=WAL")
                run("PRAGMA cache_size=-16000")
            run("PRAGMA synchronous=NORMAL")  # in WAL: safe against kill -9, and consistent after power loss
            run("PRAGMA foreign_keys=ON")
            run("PRAGMA temp_store=MEMORY")

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")

        return engine

    def _postgres_engine(self, url: URL, size: int) -> Engine:
        return create_engine(
            url.set(drivername="postgresql+psycopg"),
            pool_size=size,
            max_overflow=2,
            pool_timeout=60,
            pool_pre_ping=True,
            # Server-side prepared statements break behind a pooler in transaction mode.
            connect_args={"prepare_threshold": None, "connect_timeout": 10},
        )

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection that sees one state of the store and cannot change it."""
        with self._explained(), self._reader.connect() as connection:
            if self.dialect == "postgresql":
                connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A connection in a write transaction: committed when the block ends, rolled back when it raises."""
        with self._explained():
            if self.dialect == "sqlite":
                with self._write_lock, self._writer.begin() as connection:
                    yield connection
            else:
                with self._writer.begin() as connection:
                    yield connection

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as exc:
            known = explain(exc)
            if known is None:
                raise
            raise known from exc

    def size_bytes(self) -> int:
        """Bytes on disk of the SQLite file with its write-ahead log; 0 for Postgres."""
        if self.path is None:
            return 0
        files = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(f.stat().st_size for f in files if f.exists())

    def engine_for_migrations(self) -> Engine:
        """The engine that may write; for `hivelore.sql.schema` only."""
        return self._writer

    def close(self) -> None:
        """Close all connections. SQLite then folds the write-ahead log into the file."""
        self._reader.dispose()
        self._writer.dispose()
        if self._temporary:
            shutil.rmtree(self._temporary, ignore_errors=True)


_SQLITE_WORDS: tuple[tuple[str, type[HiveloreError]], ...] = (
    ("database or disk is full", StoreFull),
    ("readonly database", StoreReadOnly),
    ("unable to open database file", StoreReadOnly),
    ("database is locked", StoreBusy),
    ("disk i/o error", StoreDamaged),
    ("malformed", StoreDamaged),
    ("no such table: search_", IndexIncomplete),
    ("no such table: main.search_", IndexIncomplete),
    ("file is not a database", StoreDamaged),
)
_MISSING_STATES = ("42P01", "42703")  # table, column
_RETRY_STATES = ("40001", "40P01")


def explain(exc: SQLAlchemyError) -> Exception | None:
    """Translate an error of a driver into one for people, `Retryable` for a refusal, None for anything unknown."""
    if not isinstance(exc, DBAPIError):
        return None
    state = getattr(exc.orig, "sqlstate", None)
    if state in _RETRY_STATES:
        return Retryable()
    if state == "53100":
        return StoreFull()
    if state == "25006":
        return StoreReadOnly()
    if state in _MISSING_STATES and "search_" in str(exc.orig):
        return IndexIncomplete()
    if isinstance(exc.orig, sqlite3.Error):
        text = str(exc.orig).lower()
        for words, kind in _SQLITE_WORDS:
            if words in text:
                return kind()
        return None
    if exc.connection_invalidated or (type(exc.orig).__name__ == "OperationalError" and state is None):
        return StoreUnreachable()
    return None
