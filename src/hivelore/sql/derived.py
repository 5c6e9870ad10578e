"""The structure of derived tables: compare it with what the migrations make, find damage, make tables anew.

Derived are the tables whose names begin with `search_`: whatever is in them follows from the other tables. What they
are meant to look like is never written down a second time: the migrations are run in a place of their own (a database
in memory; on Postgres a schema that lives for one transaction), and what they make there is the pattern.

Making anew happens in one transaction and touches no other table. Ids go on where they were, so that nothing that was
read before (a vector under way, a server's signatures) can be taken for something new.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection, create_engine, text
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import StaticPool

from hivelore.sql.database import Database, StoreDamaged
from hivelore.sql.schema import make_tables

PREFIX = "search_"
CHUNKS, MODELS = "search_chunk", "search_model"
NUMBERED = ("search_chunk", "search_vector")  # whose ids others keep
_POINTERS = {"search_chunk": (("search_vector", "chunk"), ("search_pending", "chunk"), ("search_tokens", "chunk"))}
_SCRATCH = "hivelore_pattern"


@dataclass(frozen=True, slots=True)
class Fault:
    """A derived table that is not as it should be, in words that name no file and no statement. `damaged`: its pages
    cannot be trusted, not even to drop it."""

    table: str
    words: str
    damaged: bool = False


@dataclass(frozen=True, slots=True)
class Made:
    """One table of the pattern with its indexes: name, form (compared), statements (SQLite) that make it."""

    name: str
    form: str
    indexes: dict[str, str]
    statements: tuple[str, ...] = ()


# -- the pattern -------------------------------------------------------------------------------------------------------


def table_names(db: Database) -> tuple[str, ...]:
    """All derived tables that this version's migrations make on such a store."""
    with _pattern(db) as (pattern, _):
        return tuple(pattern)


@contextmanager
def _pattern(db: Database) -> Iterator[tuple[dict[str, Made], dict[str, Made]]]:
    """The derived tables as they should be and as they are."""
    if db.dialect == "sqlite":
        engine = create_engine("sqlite://", poolclass=StaticPool)
        try:
            with engine.begin() as memory:
                make_tables(memory)
                pattern = _of_sqlite(memory)
        finally:
            engine.dispose()
        with db.read() as connection:
            yield pattern, _of_sqlite(connection)
        return
    with db.write() as connection, _scratch(connection) as home:
        yield _of_postgres(connection, _SCRATCH), _of_postgres(connection, home)
        connection.rollback()


def _of_sqlite(connection: Connection) -> dict[str, Made]:
    rows = connection.execute(
        text("SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
    ).all()
    virtual = [row.name for row in rows if row.sql.startswith("CREATE VIRTUAL TABLE")]
    found: dict[str, Made] = {}
    for row in rows:
        behind = any(row.name.startswith(f"{name}_") for name in virtual) and row.name not in virtual
        if row.type == "table" and row.name.startswith(PREFIX) and not behind:
            indexes = {
                each.name: _flat(each.sql) for each in rows if each.type == "index" and each.tbl_name == row.name
            }
            made = (row.sql, *(each.sql for each in rows if each.name in indexes))
            found[row.name] = Made(row.name, _flat(row.sql), indexes, made)
    return found


def _flat(sql: str) -> str:
    return " ".join(sql.replace('"', "").split())


def _of_postgres(connection: Connection, schema: str) -> dict[str, Made]:
    columns = connection.execute(
        text(
            "SELECT c.relname AS name, string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || "
            "CASE WHEN a.attnotnull THEN ' not null' ELSE '' END, ', ' ORDER BY a.attname) AS form "
            "FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped "
            "JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = :schema AND c.relkind IN ('r', 'p') AND starts_with(c.relname, :prefix) "
            "GROUP BY c.relname ORDER BY c.relname"
        ),
        {"schema": schema, "prefix": PREFIX},
    ).all()
    indexes = connection.execute(
        text("SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = :schema"), {"schema": schema}
    ).all()
    return {
        row.name: Made(
            row.name,
            row.form,
            {
                each.indexname: re.sub(r" ON (ONLY )?\S+?\.", " ON ", each.indexdef)
                for each in indexes
                if each.tablename == row.name
            },
        )
        for row in columns
    }


@contextmanager
def _scratch(connection: Connection) -> Iterator[str]:
    """A schema with the tables as they should be, first on the search path; gives the name of the store's own."""
    home = str(connection.execute(text("SELECT current_schema()")).scalar_one())
    path = str(connection.execute(text("SELECT current_setting('search_path')")).scalar_one())
    connection.execute(text(f"CREATE SCHEMA {_SCRATCH}"))
    connection.execute(text(f"SET LOCAL search_path TO {_SCRATCH}, {path}"))
    make_tables(connection)
    connection.execute(text(f"SET LOCAL search_path TO {path}"))
    yield home


# -- what is wrong -----------------------------------------------------------------------------------------------------


def faults(db: Database, *, deep: bool = True) -> list[Fault]:
    """Derived tables that are missing, of another form, or damaged. With `deep` their pages are read, too (SQLite)."""
    with _pattern(db) as (pattern, present):
        found = list(_compared(pattern, present))
        names = [name for name in pattern if name not in {fault.table for fault in found}]
    if db.dialect == "sqlite":
        found += _damaged(db, names, deep)
    else:
        found += _unreadable(db, names)
    return found


def _compared(pattern: dict[str, Made], present: dict[str, Made]) -> Iterator[Fault]:
    for name, wanted in pattern.items():
        here = present.get(name)
        if here is None:
            yield Fault(name, "is missing")
        elif here.form != wanted.form:
            yield Fault(name, "has other columns than it should")
        else:
            lacking = [index for index, form in wanted.indexes.items() if here.indexes.get(index) != form]
            if lacking:
                yield Fault(name, f"lacks its index {lacking[0]}, or has it otherwise")


def _damaged(db: Database, names: Sequence[str], deep: bool) -> Iterator[Fault]:
    for name in names:
        virtual = name in ("search_text", "search_vocabulary")
        try:
            if not deep:
                with db.read() as connection:
                    connection.execute(text(f"SELECT * FROM {name} LIMIT 1")).all()
            elif name == "search_text":  # a command to FTS5: compares the index with the words that it was made from
                with db.write() as connection:
                    connection.execute(text("INSERT INTO search_text(search_text) VALUES ('integrity-check')"))
            elif not virtual and not _whole(db, name):
                yield Fault(name, "is damaged", damaged=True)
        except (StoreDamaged, DatabaseError):
            yield Fault(name, "is damaged", damaged=True)


def _whole(db: Database, name: str) -> bool:
    try:
        with db.read() as connection:
            said = connection.execute(text(f"PRAGMA integrity_check('{name}')")).scalars().all()
            return bool(said == ["ok"])
    except (StoreDamaged, DatabaseError):
        return False


def _unreadable(db: Database, names: Sequence[str]) -> Iterator[Fault]:
    for name in names:
        try:
            with db.read() as connection:
                connection.execute(text(f"SELECT * FROM {name} LIMIT 1")).all()
        except DatabaseError:
            yield Fault(name, "cannot be read")


def damaged_originals(db: Database) -> list[str]:
    """Tables that are not derived and have damaged pages (SQLite): only a backup helps these."""
    if db.dialect != "sqlite":
        return []
    with db.read() as connection:
        rows = connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL"))
        names = [name for name in rows.scalars() if not name.startswith((PREFIX, "sqlite_"))]
    return [name for name in names if not _whole(db, name)]


# -- making anew -------------------------------------------------------------------------------------------------------


def with_dependents(names: Iterable[str], every: Sequence[str]) -> tuple[str, ...]:
    """What has to be made anew with these: all but the models when the chunks go, as the rest speaks of chunks; the
    vocabulary with the words that it is a view of."""
    wanted = set(names)
    if CHUNKS in wanted:
        wanted |= set(every) - {MODELS}
    if "search_text" in wanted:
        wanted.add("search_vocabulary")
    return tuple(name for name in every if name in wanted)


def make_anew(db: Database, names: Sequence[str], damaged: Collection[str] = ()) -> None:
    """Drop these derived tables and make them, empty, in one transaction. Pages of those that are `damaged` are
    abandoned; `compact` gives them back."""
    if db.dialect == "sqlite":
        _make_sqlite(db, names, damaged)
        return
    with db.write() as connection:
        last = _last_ids(connection, names)
        with _scratch(connection) as home:
            for name in names:
                connection.execute(text(f'DROP TABLE IF EXISTS "{home}".{name} CASCADE'))
                connection.execute(text(f'ALTER TABLE {_SCRATCH}.{name} SET SCHEMA "{home}"'))
        connection.execute(text(f"DROP SCHEMA {_SCRATCH} CASCADE"))
        for name, id in last.items():
            sequence = f"pg_get_serial_sequence('{name}', 'id')"
            connection.execute(text(f"SELECT setval({sequence}, :id)"), {"id": id + 1})


def _make_sqlite(db: Database, names: Sequence[str], damaged: Collection[str]) -> None:
    with _pattern(db) as (pattern, _):
        pass
    with db.write() as connection:
        last = _last_ids(connection, [name for name in names if name not in damaged])
        last |= {name: _last_given(connection, name) for name in names if name in damaged and name in NUMBERED}
        for name in reversed(names):
            (_abandon if name in damaged else _drop)(connection, name)
        for name in names:
            for statement in pattern[name].statements:
                connection.execute(text(statement))
        for name, id in last.items():
            connection.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), {"name": name})
            connection.execute(text("INSERT INTO sqlite_sequence VALUES (:name, :id)"), {"name": name, "id": id})


def _drop(connection: Connection, name: str) -> None:
    connection.execute(text(f"DROP TABLE IF EXISTS {name}"))
    for each in _behind(connection, name):  # of a virtual table that was taken away without them
        connection.execute(text(f"DROP TABLE {each}"))


def _abandon(connection: Connection, name: str) -> None:
    """Take a table out of the catalogue. Dropping it would read its pages to free them, and fail half-way."""
    connection.execute(text("PRAGMA writable_schema = ON"))
    for each in (name, *_behind(connection, name)):
        connection.execute(text("DELETE FROM sqlite_master WHERE tbl_name = :name"), {"name": each})
    connection.execute(text("PRAGMA writable_schema = RESET"))


def _behind(connection: Connection, name: str) -> list[str]:
    """The tables in which FTS5 keeps a virtual table."""
    if name != "search_text":
        return []
    kept = tuple(f"{name}_{part}" for part in ("config", "content", "data", "docsize", "idx"))
    rows = connection.execute(text("SELECT name FROM sqlite_master WHERE type = 'table'")).scalars()
    return [each for each in rows if each in kept]


def _last_given(connection: Connection, name: str) -> int:
    return _number(connection, f"SELECT max(seq) FROM sqlite_sequence WHERE name = '{name}'")


def _last_ids(connection: Connection, names: Sequence[str]) -> dict[str, int]:
    """The highest ids that were ever given in these tables, or that others still speak of."""
    found: dict[str, int] = {}
    for name in names:
        if name not in NUMBERED:
            continue
        asked = [f"SELECT max(id) FROM {name}"]
        asked += [f"SELECT max({column}) FROM {table}" for table, column in _POINTERS.get(name, ())]
        if connection.dialect.name == "sqlite":
            asked.append(f"SELECT max(seq) FROM sqlite_sequence WHERE name = '{name}'")
            if name == CHUNKS:
                asked.append("SELECT max(rowid) FROM search_text")
        else:
            asked.append(f"SELECT last_value FROM {name}_id_seq")
        found[name] = max((_number(connection, statement) for statement in asked), default=0)
    return found


def _number(connection: Connection, statement: str) -> int:
    try:
        with connection.begin_nested():
            return int(connection.execute(text(statement)).scalar_one() or 0)
    except DatabaseError:  # the table is missing or damaged: that is why we are here
        return 0


def compact(db: Database) -> bool:
    """Write the SQLite file anew without abandoned pages; needs as much free disk as the file has. False when that
    could not be done: the store works nevertheless."""
    driver = db.engine_for_migrations().raw_connection()
    try:
        driver.cursor().execute("VACUUM")
    except sqlite3.Error:
        return False
    finally:
        driver.close()
    return True
