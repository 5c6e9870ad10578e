"""A Postgres database with partitions behaves as one without."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from hivelore.core.errors import Invalid
from hivelore.rooms.memory import service as memory
from hivelore.rooms.memory.service import NoSuchMemory
from hivelore.sql import partitions, schema
from hivelore.sql.database import Database
from support.embedders import StatefulEmbedder
from support.hubs import call_as, run_jobs

NAMES = [f"space{n}" for n in range(12)]


def indexes_and_triggers(db: Database) -> set[str]:
    with db.read() as connection:
        indexes = connection.execute(
            text("SELECT indexdef FROM pg_indexes WHERE tablename = ANY(:tables)"), {"tables": list(partitions.TABLES)}
        )
        triggers = connection.execute(
            text(
                "SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid "
                "WHERE NOT tgisinternal AND c.relname = ANY(:tables)"
            ),
            {"tables": list(partitions.TABLES)},
        )
        return {each.replace(" ON ONLY ", " ON ") for each in (*indexes.scalars(), *triggers.scalars())}


@pytest.fixture
def db(blank_postgres):
    found = Database(blank_postgres.url, pool_size=2)
    schema.prepare(found)
    yield found
    found.close()


def test_cutting_keeps_every_key_index_and_trigger(db):
    before = indexes_and_triggers(db)
    assert partitions.make(db, 4) is True
    assert indexes_and_triggers(db) == before
    assert partitions.make(db, 4) is False
    with db.read() as connection:
        assert partitions.number(connection) == 4
    schema.check(db)


def test_memories_of_many_spaces_are_stored_found_changed_listed_and_removed(db, blank_postgres, make_hub):
    partitions.make(db, 4)
    hub = make_hub(blank_postgres, embedder=StatefulEmbedder(synonyms={"roll-out": "deploy"}))
    call = call_as(hub, "alice")
    long = "\n\n".join(f"Paragraph {n} on the deploy. " + "word " * 70 for n in range(8))
    ids = {name: memory.remember(call, f"deploy in {name}", namespace=name, key="k").memory.id for name in NAMES}
    whole = memory.remember(call, long, namespace="space3").memory
    run_jobs(hub)
    with db.read() as connection:
        filled = [
            connection.execute(text(f"SELECT count(*) FROM search_vector_{place}")).scalar_one() for place in range(4)
        ]
    assert sum(filled) == len(NAMES) + len(whole.parts)
    assert sum(count > 0 for count in filled) > 1
    for name in NAMES:
        assert memory.get(call, ids[name]).namespace == name
        (best, *_) = memory.recall(call, "roll-out", namespaces=[name], limit=20).items
        assert best.hit.vector_rank is not None
    everywhere = memory.recall(call, "deploy", namespaces=["*"], limit=50)
    assert {each.item.id for each in everywhere.items} >= set(ids.values())
    assert everywhere.total == len(NAMES) + len(whole.parts)
    assert memory.get(call, whole.parts[2].id).seq == 2
    again = memory.remember(call, "deploy in space1, again", namespace="space1", key="k")
    assert (again.created, again.memory.id) == (False, ids["space1"])
    memory.update(call, ids["space2"], "lunch in space2")
    assert memory.forget(call, ids["space4"]) == 1
    with pytest.raises(NoSuchMemory):
        memory.get(call, ids["space4"])
    run_jobs(hub)
    assert memory.recall(call, "deploy", namespaces=["*"], limit=50).total == everywhere.total - 1
    assert memory.recall(call_as(hub, "bob"), "deploy", namespaces=["*"], limit=50).total == 0


def test_a_database_with_memories_is_not_cut(db, blank_postgres, make_hub):
    hub = make_hub(blank_postgres, embedder=StatefulEmbedder())
    memory.remember(call_as(hub, "alice"), "deploy on Tuesday", namespace="notes")
    with pytest.raises(partitions.NotEmpty):
        partitions.make(db, 4)
    with db.read() as connection:
        assert partitions.number(connection) == 0


def test_another_number_or_another_store_is_refused_with_words(db, sqlite_store):
    for number in (0, 1, 1_000):
        with pytest.raises(Invalid, match="from 2 to 256"):
            partitions.make(db, number)
    partitions.make(db, 2)
    with pytest.raises(Invalid, match="2 partitions already"):
        partitions.make(db, 3)
    file = Database(sqlite_store.url)
    with pytest.raises(Invalid, match="Postgres"):
        partitions.make(file, 4)
    file.close()
