"""Column types and upserts mean the same on both stores; bells wake those who wait."""

from __future__ import annotations

import struct
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Column, MetaData, String, Table, select

from hivelore.sql.bell import Bell
from hivelore.sql.types import HalfVector, Json
from hivelore.sql.write import insert_if_absent, upsert

things = Table(
    "thing", MetaData(), Column("id", String, primary_key=True), Column("json", Json), Column("vec", HalfVector)
)


@pytest.fixture
def with_things(hub):
    with hub.db.write() as connection:
        things.create(connection)
    yield hub
    with hub.db.write() as connection:
        things.drop(connection)


# Numbers that both stores keep: jsonb knows no NaN and folds -0.0 to 0.
plain = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
)
values = st.recursive(
    plain,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abcé日😀", max_size=4), inner, max_size=4),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(value=values)
def test_json_comes_back_as_it_was(with_things, value):
    with with_things.db.write() as connection:
        upsert(connection, things, {"id": "j", "json": {"value": value}}, key=("id",))
    with with_things.db.read() as connection:
        assert connection.execute(select(things.c.json)).scalar_one() == {"value": value}


def test_json_on_sqlite_is_readable_text(sqlite_store, make_hub):
    hub = make_hub(sqlite_store)
    with hub.db.write() as connection:
        things.create(connection)
        insert_if_absent(connection, things, {"id": "j", "json": ["日本語", "é"]})
        raw = connection.exec_driver_sql("SELECT json FROM thing").scalar_one()
    assert raw == '["日本語","é"]'


def test_vectors_come_back_with_the_same_bytes(with_things):
    halves = struct.pack("<6e", 0.0, 1.0, -0.5, 0.333, 65504.0, 6e-8)
    with with_things.db.write() as connection:
        insert_if_absent(connection, things, {"id": "v", "vec": halves})
    with with_things.db.read() as connection:
        assert connection.execute(select(things.c.vec)).scalar_one() == halves


def test_absent_values_come_back_as_none(with_things):
    with with_things.db.write() as connection:
        assert insert_if_absent(connection, things, {"id": "n", "json": None, "vec": None})
    with with_things.db.read() as connection:
        assert tuple(connection.execute(select(things.c.json, things.c.vec)).one()) == (None, None)


def test_a_row_is_inserted_once_and_the_first_one_stays(with_things):
    with with_things.db.write() as connection:
        assert insert_if_absent(connection, things, {"id": "a", "json": 1})
        assert not insert_if_absent(connection, things, {"id": "a", "json": 2})
        assert connection.execute(select(things.c.json)).scalar_one() == 1


def test_an_upsert_inserts_and_then_overwrites(with_things):
    with with_things.db.write() as connection:
        upsert(connection, things, {"id": "a", "json": 1}, key=("id",))
        upsert(connection, things, {"id": "a", "json": 2}, key=("id",))
        assert connection.execute(select(things.c.json)).scalars().all() == [2]


def test_a_ring_between_looking_and_waiting_is_not_missed():
    bell = Bell()
    seen = bell.count()
    bell.ring()
    assert bell.wait(seen, 30) == seen + 1


def test_a_wait_ends_when_its_time_is_over():
    bell = Bell()
    assert bell.wait(bell.count(), 0.01) == 0


def test_a_ring_wakes_everyone_who_waits():
    bell, woken = Bell(), []
    waiting = [threading.Thread(target=lambda: woken.append(bell.wait(0, 30))) for _ in range(3)]
    for thread in waiting:
        thread.start()
    bell.ring()
    for thread in waiting:
        thread.join(30)
    assert woken == [1, 1, 1]
