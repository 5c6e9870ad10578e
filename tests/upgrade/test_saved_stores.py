"""Stores of every schema that was ever released: they open, migrate, and nothing that was in them is lost."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from hivelore.adapters.embed_hash import HashEmbedder
from hivelore.cli import doctor
from hivelore.core.clock import ManualClock
from hivelore.core.settings import Settings
from hivelore.sql import schema
from hivelore.sql.database import Database
from hivelore.work import Hub
from support.hubs import Store, run_jobs
from upgrade.contents import check, check_writing, fill
from upgrade.save import statements

HERE = Path(__file__).parent
SAVED = {path.stem.removeprefix("schema_"): path for path in sorted(HERE.glob("schema_*.sql"))}


def load(saved: Path, path: Path) -> Store:
    """The saved store as a file."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"BEGIN;\n{saved.read_text()}\nCOMMIT;")
    return Store("sqlite", f"sqlite:///{path}", path)


def made_by(path: Path) -> dict[str, str]:
    """Tables and indexes by name, with the statement that makes each; blanks do not count."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%'"
        )
        return {name: " ".join(sql.split()) for name, sql in rows}


@pytest.fixture(params=SAVED)
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Store]:
    """Each saved store, with the revision that it was saved with."""
    return request.param, load(SAVED[request.param], tmp_path / "hivelore.db")


@pytest.fixture
def later(clock: ManualClock) -> None:
    """It is a year after the stores were saved."""
    clock.advance(days=365)


def test_there_is_a_saved_store_of_every_schema() -> None:
    assert set(SAVED) == set(schema.KNOWN), "run tests/upgrade/save.py for a schema that has none"


def test_a_saved_store_is_what_it_says(saved: tuple[str, Store]) -> None:
    revision, store = saved
    assert store.path is not None
    with closing(sqlite3.connect(store.path)) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(revision,)]
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for table in ("memory", "memory_part", "memory_revision", "memory_link", "tombstone", "turn", "search_vector"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] > 0, table


def test_the_store_saved_last_has_the_schema_that_the_migrations_make(tmp_path: Path, sqlite_template: Path) -> None:
    last = load(SAVED[schema.HEAD], tmp_path / "last.db")
    assert last.path is not None
    assert made_by(last.path) == made_by(sqlite_template), "a schema was changed after it was saved"


def test_a_saved_store_is_migrated_with_a_copy_aside_and_has_the_present_schema(
    saved: tuple[str, Store], sqlite_template: Path
) -> None:
    revision, store = saved
    assert store.path is not None
    db = Database(store.url, pool_size=2)
    backup = schema.prepare(db)
    schema.check(db)
    db.close()
    assert set(made_by(store.path)) == set(made_by(sqlite_template))
    assert (backup is None) == (revision == schema.HEAD)
    if backup is not None:
        assert made_by(Path(backup)) == made_by(load(SAVED[revision], store.path.with_name("again.db")).path or Path())


def test_everything_in_a_saved_store_is_there_and_found(saved: tuple[str, Store], make_hub: Callable[..., Hub]) -> None:
    hub = make_hub(saved[1])
    check(hub)
    run_jobs(hub)
    check(hub)


def test_a_saved_store_can_be_written(saved: tuple[str, Store], make_hub: Callable[..., Hub], later: None) -> None:
    check_writing(make_hub(saved[1]))


def test_the_doctor_finds_nothing_wrong_with_a_saved_store(
    saved: tuple[str, Store], make_hub: Callable[..., Hub], tmp_path: Path
) -> None:
    make_hub(saved[1]).db.close()
    settings = Settings(data_dir=str(tmp_path), embedder="hash")
    findings = {finding.check: finding for finding in doctor.check_store(settings)}
    assert {finding.status for finding in findings.values()} == {"ok"}
    assert findings["memories"].message == "6 note, 1 session, 1 turn"


# -- what the saved stores stand for -----------------------------------------------------------------------------------


def test_a_store_of_today_passes_the_same_checks_on_both_databases(store: Store, make_hub: Callable[..., Hub]) -> None:
    hub = make_hub(store)
    fill(hub)
    check(hub)
    check_writing(hub)


def test_saving_and_loading_keeps_every_row(sqlite_store: Store, make_hub: Callable[..., Hub], tmp_path: Path) -> None:
    hub = make_hub(sqlite_store)
    fill(hub)
    hub.db.close()
    assert sqlite_store.path is not None
    script = tmp_path / "saved.sql"
    script.write_text("\n".join(statements(sqlite_store.path)))
    again = load(script, tmp_path / "again.db")
    assert again.path is not None
    assert made_by(again.path) == made_by(sqlite_store.path)
    assert list(statements(again.path)) == list(statements(sqlite_store.path))
    with make_hub(again).db.read() as connection:
        assert connection.dialect.name == "sqlite"


def test_a_saved_store_uses_hash_vectors_so_that_no_model_is_needed(saved: tuple[str, Store]) -> None:
    path = saved[1].path
    assert path is not None
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT name, dims FROM search_model").fetchall() == [
            (HashEmbedder().model, HashEmbedder().dims)
        ]
