"""`hivelore repair` and `reindex`: whatever becomes of a derived table, doctor names it and the same is found again."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from sqlalchemy import Connection, Table, text

from hivelore.base.search import tables as search_tables
from hivelore.base.search.tables import chunks, pending, vectors
from hivelore.cli import doctor_store
from hivelore.core.clock import SystemClock
from hivelore.rooms.memory import service as memory
from hivelore.sql import derived
from hivelore.sql.database import Database
from hivelore.sql.tables import metadata
from support.hubs import Store, call_as, opened, run_jobs
from upgrade.contents import fill

QUERIES = ("staging port", "デプロイ", "API limit", "subject2 detail2", "thing3 carefully", "restore backup", "lunch")


@pytest.fixture(autouse=True)
def quick_model(own_world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hash vectors: no model is loaded."""
    monkeypatch.setenv("HIVELORE_EMBEDDER", "hash")


@pytest.fixture
def filled(blank_store: Store, tmp_path: Any) -> Store:
    """A store of its own with something of every kind, all of it embedded."""
    with opened(blank_store, tmp_path) as hub:
        fill(hub)
        run_jobs(hub)
    return blank_store


def hits(store: Store, folder: Any) -> dict[str, dict[str, tuple[bool, float | None]]]:
    """What two users find, whether by its words, and how near it is, once the background work is done. (The score also
    depends on what was stored right before and after, which memories of one moment do not remember.)"""
    with opened(store, folder, clock=SystemClock()) as hub:  # the command's jobs are of today
        run_jobs(hub)
        found = {}
        for who in ("alice", "bob"):
            for query in QUERIES:
                recalled = memory.recall(call_as(hub, who), query, namespaces=["*"], limit=50)
                assert recalled.findings.engines == ("text", "vectors"), recalled.findings.unavailable
                assert recalled.findings.pending == 0
                found[f"{who}: {query}"] = {
                    each.item.id: (each.hit.text_rank is not None, each.hit.cosine and round(each.hit.cosine, 3))
                    for each in recalled.items
                }
        return found


def originals(store: Store) -> dict[str, list[str]]:
    """Every row of every table that is not derived; jobs are the index's errands."""
    db = Database(store.url, pool_size=1)
    names = [name for name in metadata.tables if not name.startswith(derived.PREFIX) and name != "job"]
    with db.read() as connection:
        found = {name: sorted(map(repr, connection.execute(text(f'SELECT * FROM "{name}"')))) for name in names}
    db.close()
    return found


def owe_a_vector(store: Store) -> None:
    """Let one chunk wait for its vector again, so that every derived table holds something."""
    db = Database(store.url, pool_size=1)
    with db.write() as connection:
        row = connection.execute(chunks.select().order_by(chunks.c.id.desc()).limit(1)).one()
        connection.execute(vectors.delete().where(vectors.c.chunk == row.id))
        connection.execute(pending.insert().values(chunk=row.id, space=row.space))
    db.close()


# -- ways to lose a table ----------------------------------------------------------------------------------------------


def empty(connection: Connection, table: str) -> None:
    connection.execute(text(f"DELETE FROM {table}"))


def drop(connection: Connection, table: str) -> None:
    connection.execute(text(f"DROP TABLE {table}" + (" CASCADE" if connection.dialect.name == "postgresql" else "")))


def lose_a_column(connection: Connection, table: str) -> None:
    columns = connection.execute(text(f"SELECT * FROM {table} LIMIT 0")).keys()
    connection.execute(text(f'ALTER TABLE {table} DROP COLUMN "{list(columns)[-1]}"'))


def scribble(path: Any, table: str) -> int:
    """Write nonsense over the pages of a table and of what belongs to it, as a failing disk does; returns how many."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        pages = connection.execute(
            "SELECT pageno FROM dbstat WHERE name = ? OR name IN (?, ?)", (table, f"{table}_data", f"{table}_content")
        ).fetchall()
    with open(path, "r+b") as file:
        for (page,) in pages:
            file.seek((page - 1) * size)
            file.write(b"\xa5" * size)
    return len(pages)


DAMAGES = ("emptied", "dropped", "scrambled")


def damage(store: Store, table: str, how: str) -> bool:
    """Damage a table; False when it has nothing that could be damaged in that way (the vocabulary is a view)."""
    if how == "scrambled" and store.kind == "sqlite":
        return scribble(store.path, table) > 0
    if table == "search_vocabulary" and how == "emptied":
        return False
    db = Database(store.url, pool_size=1)
    with db.write() as connection:
        {"emptied": empty, "dropped": drop, "scrambled": lose_a_column}[how](connection, table)
    db.close()
    return True


def tables(store: Store) -> tuple[str, ...]:
    """The derived tables, as the migrations make them: a new one is in this list by itself."""
    db = Database(store.url, pool_size=2)
    try:
        return derived.table_names(db)
    finally:
        db.close()


# -- all of it ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", DAMAGES)
def test_whatever_becomes_of_a_derived_table_doctor_names_it_and_repair_restores_it(run, filled, tmp_path, how):
    before, kept = hits(filled, tmp_path), originals(filled)
    assert all(before.values())
    damaged = []
    for table in tables(filled):
        owe_a_vector(filled)
        if not damage(filled, table, how):
            continue
        damaged.append(table)
        named = run("doctor", "--json", "--database-url", filled.url)
        said = [f["message"] for f in named.json if f["check"] == "index" and f["status"] != "ok"]
        assert any(table in message for message in said), (table, named.json)
        assert all("hivelore re" in message for message in said)
        repaired = run("repair", "--json", "--database-url", filled.url)
        assert repaired.code == 0, (table, repaired.out, repaired.err)
        assert hits(filled, tmp_path) == before, table
        assert originals(filled) == kept, table
        healthy = run("doctor", "--json", "--database-url", filled.url)
        assert [f for f in healthy.json if f["check"] == "index" and f["status"] != "ok"] == [], table
    assert set(damaged) >= {name for name in tables(filled) if name != "search_vocabulary"}
    assert len(damaged) >= 5


def test_repair_restores_everything_at_once(run, filled, tmp_path):
    before = hits(filled, tmp_path)
    for table in reversed(tables(filled)):
        damage(filled, table, "dropped")
    ran = run("repair", "--database-url", filled.url)
    assert ran.code == 0, ran.err
    assert "made anew" in ran.out
    assert hits(filled, tmp_path) == before


def test_every_table_of_search_is_derived_and_no_other(filled):
    """Repair drops what is named so: nothing that cannot be made again may be, and all of search must be."""
    of_search = {value.name for value in vars(search_tables).values() if isinstance(value, Table)}
    assert {name for name in metadata.tables if name.startswith(derived.PREFIX)} == of_search
    of_store = {
        name for name in of_search if metadata.tables[name].info.get("dialect", db_kind(filled)) == db_kind(filled)
    }
    assert set(tables(filled)) - {"search_text", "search_vocabulary"} == of_store


def db_kind(store: Store) -> str:
    return "sqlite" if store.kind == "sqlite" else "postgresql"


def test_a_dry_run_says_what_it_would_do_and_changes_nothing(run, filled, tmp_path):
    damage(filled, "search_vector", "dropped")
    planned = run("repair", "--dry-run", "--json", "--database-url", filled.url)
    assert (planned.code, planned.json["made_anew"]) == (0, ["search_vector"])
    assert planned.json["faults"] == [{"table": "search_vector", "words": "is missing"}]
    again = run("repair", "--dry-run", "--database-url", filled.url)
    assert "would make anew" in again.out
    assert run("repair", "--json", "--database-url", filled.url).json["made_anew"] == ["search_vector"]


def test_ids_go_on_where_they_were_when_a_table_is_made_anew(run, filled):
    def highest() -> tuple[int, int]:
        db = Database(filled.url, pool_size=1)
        with db.read() as connection:
            lowest, most = (
                connection.execute(text(f"SELECT {which}(id) FROM search_chunk")).scalar_one()
                for which in ("min", "max")
            )
        db.close()
        return lowest, most

    _, last = highest()
    damage(filled, "search_chunk", "dropped")
    assert run("repair", "--database-url", filled.url).code == 0
    assert highest()[0] > last


def test_damage_of_what_nothing_can_be_made_from_is_refused_and_nothing_is_changed(run, tmp_path, sqlite_template):
    store = Store("sqlite", f"sqlite:///{tmp_path}/hivelore.db", tmp_path / "hivelore.db")
    with opened(store, tmp_path) as hub:
        fill(hub)
    scribble(store.path, "memory")
    content = store.path.read_bytes()
    ran = run("repair", "--database-url", store.url)
    assert ran.code == 69
    assert "Nothing was changed" in ran.err and "memory" in ran.err and "backup" in ran.err
    assert store.path.read_bytes() == content


@pytest.mark.parametrize("command", ["repair", "reindex"])
def test_without_a_store_there_is_nothing_to_mend_and_none_is_made(run, own_world, command):
    ran = run(command)
    assert ran.code == 66
    assert "nothing to mend" in ran.err
    assert not list((own_world / "home").rglob("*.db"))


# -- reindex -----------------------------------------------------------------------------------------------------------


def test_a_whole_index_is_looked_at_and_left_alone(run, filled, tmp_path):
    hits(filled, tmp_path)
    ran = run("reindex", "--json", "--database-url", filled.url)
    assert ran.code == 0
    assert ran.json["finished"] and ran.json["memories"] > 5 and ran.json["chunks"] >= ran.json["vectors"] > 5
    assert set(ran.json["found"].values()) == {0}
    assert ran.json["queued"] == 0
    assert "nothing is missing or stale" in run("reindex", "--database-url", filled.url).out


def test_a_dry_run_of_reindex_counts_and_a_run_mends_as_many(run, filled, tmp_path):
    before = hits(filled, tmp_path)
    db = Database(filled.url, pool_size=1)
    with db.write() as connection:
        connection.execute(text("UPDATE search_chunk SET text = 'rotten' WHERE kind = 'turn'"))
        connection.execute(text("UPDATE search_chunk SET owner = 'nobody' WHERE kind = 'session' AND seq = 0"))
        connection.execute(text("DELETE FROM search_pending"))
        connection.execute(pending.insert().values(chunk=987_654_321, space="none"))
        if filled.kind == "sqlite":
            connection.execute(text("INSERT INTO search_text(rowid, tokens) VALUES (987654321, 'ghost')"))
            connection.execute(text("UPDATE search_vector SET vec = zeroblob(512) WHERE id = 2"))
        else:
            connection.execute(text("INSERT INTO search_tokens VALUES ('none', 987654321, 'ghost')"))
            connection.execute(
                text("UPDATE search_vector SET vec = CAST(array_fill(0.5, ARRAY[256]) AS halfvec) WHERE id = 2")
            )
    db.close()
    planned = run("reindex", "--dry-run", "--json", "--database-url", filled.url).json
    expected = {"stale": 2, "wrong_words": 1, "damaged_vectors": 1, "extra_words": 1, "orphan_pending": 1}
    assert {name: number for name, number in planned["found"].items() if number} == expected
    assert planned["mended"] is False
    done = run("reindex", "--json", "--database-url", filled.url).json
    found = {name: number for name, number in done["found"].items() if number}
    assert found["stale"] == 2 and found["extra_words"] == 1 and found["orphan_pending"] == 1
    assert hits(filled, tmp_path) == before
    last = run("reindex", "--json", "--database-url", filled.url).json
    assert set(last["found"].values()) == {0}


def test_memories_that_were_never_registered_are_found_again(run, filled, tmp_path):
    before = hits(filled, tmp_path)
    damage(filled, "search_chunk", "emptied")
    done = run("reindex", "--database-url", filled.url)
    assert "memories that are not registered: 8 (search_chunk)" in done.out
    assert "words are found already" in done.out
    assert hits(filled, tmp_path) == before


# -- doctor ------------------------------------------------------------------------------------------------------------

KEY = "ghp_" + "a1B2c3D4e5" * 3 + "F6g7H8"


def findings(run: Any, store: Store, check: str) -> Iterator[tuple[str, str]]:
    for finding in run("doctor", "--json", "--database-url", store.url).json:
        if finding["check"] == check:
            yield finding["status"], finding["message"]


def test_copies_loops_and_secrets_are_named_by_id_and_never_shown(run, filled, tmp_path):
    for check in ("copies", "loops", "secrets"):
        assert [status for status, _ in findings(run, filled, check)] == ["ok"]
    with opened(filled, tmp_path) as hub:
        alice = call_as(hub, "alice")
        for _ in range(3):
            memory.remember(alice, "the same words again and again", namespace="notes")
        words = " ".join(f"word{n}" for n in range(60))
        near = [memory.remember(alice, f"{words} {end}", namespace="notes").memory.id for end in ("one", "two")]
        secret = memory.remember(alice, f"the token is {KEY}", namespace="notes").memory.id
        looped = memory.remember(alice, "placeholder", namespace="notes").memory.id
        run_jobs(hub)
        with hub.db.write() as connection:  # as an older version, or another program, may have stored it
            connection.execute(
                text("UPDATE memory SET text = :text WHERE id = :id"),
                {"id": looped, "text": "<hivelore_memory>\nrecalled\n</hivelore_memory>"},
            )
    (status, message), *others = findings(run, filled, "copies")
    assert (status, message.startswith("1 texts are stored more than once in one place (2 copies)")) == (
        "warning",
        True,
    )
    [(status, message)] = others
    assert all(id in message for id in near) and status == "warning"
    [(status, message)] = findings(run, filled, "loops")
    assert (status, looped in message) == ("warning", True)
    [(status, message)] = findings(run, filled, "secrets")
    assert (status, secret in message, KEY in message) == ("warning", True, False)
    assert "github" in message.lower() and "hivelore delete" in message


def test_a_large_store_is_looked_at_in_samples_and_doctor_says_so(run, filled, tmp_path, monkeypatch):
    monkeypatch.setattr(doctor_store, "SAMPLE", 2)
    monkeypatch.setattr("hivelore.base.search.upkeep.ENTRIES", 1)
    monkeypatch.setattr("hivelore.base.search.upkeep.CHUNKS", 1)
    monkeypatch.setattr("hivelore.base.search.upkeep.VECTORS", 1)
    hits(filled, tmp_path)
    [(status, message)] = findings(run, filled, "sample")
    assert status == "ok"
    assert "compared 2 memories, 2 chunks and 2 vectors" in message
    assert "hivelore reindex --dry-run" in message


def test_sizes_are_told_by_what_they_hold(run, filled):
    [(_, message)] = findings(run, filled, "sizes")
    assert all(word in message for word in ("memories", "text index", "vectors")), message


@pytest.mark.parametrize("spoil", ["DELETE FROM memory_count", "UPDATE memory_count SET total = total + 3"])
def test_counts_that_are_wrong_are_named_and_made_right(run, filled, tmp_path, spoil):
    db = Database(filled.url, pool_size=1)
    with db.write() as connection:
        connection.execute(text(spoil))
    db.close()
    named = run("doctor", "--json", "--database-url", filled.url)
    assert any("memory_count" in each["message"] and each["status"] == "error" for each in named.json)
    assert "would recount" in run("repair", "--dry-run", "--database-url", filled.url).out
    assert run("repair", "--json", "--database-url", filled.url).json["recounted"] > 0
    assert run("repair", "--json", "--database-url", filled.url).json["recounted"] == 0
    healthy = run("doctor", "--json", "--database-url", filled.url)
    assert not any("memory_count" in each["message"] for each in healthy.json)
