"""What every test stands on: a world without the developer's own settings, and hubs on both stores.

A test asks for `hub` (or `make_hub`, `store`) and then runs twice: on a SQLite file and on a real Postgres.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

PREFIXES = ("HIVELORE_", "POLYMNEMO_", "MEMMY_", "MEMORY_SERVICE_", "PG")
PLAIN = ("DATABASE_URL", "PORT")
KEPT = ("HIVELORE_TEST_MODEL_CACHE", "PG_BIN_DIR")


def _leave_the_users_world() -> None:
    """Forget settings, home folder and databases of whoever runs the tests: a test must never find a live store."""
    for name in list(os.environ):
        if (name.startswith(PREFIXES) or name in PLAIN) and name not in KEPT:
            del os.environ[name]
    home = tempfile.mkdtemp(prefix="hivelore-test-home-")
    os.environ["HOME"] = home
    atexit.register(shutil.rmtree, home, ignore_errors=True)  # xdist's own process runs no fixture that could do it


def _guard_sqlite(event: str, args: tuple[Any, ...]) -> None:
    """Refuse to open a database file outside the folder for temporary files, whatever code asks for it."""
    if event != "sqlite3.connect":
        return
    name = os.fsdecode(args[0]) if isinstance(args[0], (str, bytes, os.PathLike)) else ":memory:"
    path = name.removeprefix("file:").partition("?")[0]
    if path in ("", ":memory:") or os.path.basename(path).startswith(".coverage"):
        return
    allowed = (os.path.realpath(tempfile.gettempdir()), "/proc/")
    if not os.path.realpath(path).startswith(allowed):
        raise RuntimeError(f"Tests may only open databases under {allowed[0]}, not {path}.")


_leave_the_users_world()
sys.addaudithook(_guard_sqlite)

# Only now: nothing of hivelore may have seen the world as it was.
import hypothesis  # noqa: E402
import psycopg  # noqa: E402
import pytest  # noqa: E402

from hivelore.core.clock import ManualClock  # noqa: E402
from hivelore.sql import schema  # noqa: E402
from hivelore.sql.database import Database  # noqa: E402
from hivelore.work import Hub  # noqa: E402
from support import postgres  # noqa: E402
from support.hubs import Store, opened  # noqa: E402

# The same examples on every run, so that a red test is red for everybody; HYPOTHESIS_PROFILE=deep looks further.
hypothesis.settings.register_profile("default", deadline=None, derandomize=True, max_examples=60, database=None)
hypothesis.settings.register_profile("deep", deadline=None, max_examples=3_000, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Write lone surrogates in captured output as escapes: a report that holds one ends a parallel run."""
    report = yield
    report.sections = [(name, text.encode(errors="backslashreplace").decode()) for name, text in report.sections]
    return report


# -- stores ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated, empty SQLite file; copying it takes a millisecond, migrating it a hundred."""
    path = tmp_path_factory.mktemp("template") / "hivelore.db"
    db = Database(f"sqlite:///{path}")
    schema.prepare(db)
    db.close()
    return path


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a Postgres server on which this process may create databases; started when first asked for."""
    with postgres.server() as url:
        yield url


@pytest.fixture(scope="session")
def postgres_migrated(postgres_server: str) -> Iterator[str]:
    """One migrated database for all tests of this process; `empty_postgres` empties it."""
    with postgres.database(postgres_server) as url:
        db = Database(url, pool_size=1)
        schema.prepare(db)
        db.close()
        yield url


def empty_postgres(url: str) -> None:
    """Leave the tables and nothing in them. DELETE takes a tenth of the time of TRUNCATE on small tables."""
    with psycopg.connect(url, autocommit=True) as connection:
        of_models = connection.execute("SELECT relname FROM pg_class WHERE relname LIKE 'ix_search_vector_hnsw_%'")
        statements = [f'DROP INDEX "{name}"' for (name,) in of_models]
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        statements += [f'DELETE FROM "{name}"' for (name,) in tables if name != "alembic_version"]
        statements.append("DELETE FROM memory_count")  # again: the triggers on what was deleted wrote to it
        connection.execute("; ".join(statements).encode())


@pytest.fixture
def sqlite_store(sqlite_template: Path, tmp_path: Path) -> Store:
    """An empty SQLite store of this test."""
    path = tmp_path / "hivelore.db"
    shutil.copyfile(sqlite_template, path)
    path.chmod(0o600)
    return Store("sqlite", f"sqlite:///{path}", path)


@pytest.fixture
def postgres_store(postgres_migrated: str) -> Store:
    """The empty Postgres store of this test."""
    empty_postgres(postgres_migrated)
    return Store("postgres", postgres_migrated)


@pytest.fixture
def blank_postgres(postgres_server: str) -> Iterator[Store]:
    """A new Postgres database without any table, for tests that migrate or break the schema."""
    with postgres.database(postgres_server) as url:
        yield Store("postgres", url)


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest) -> Store:
    """An empty store: the test runs once on each kind."""
    found: Store = request.getfixturevalue(f"{request.param}_store")
    return found


@pytest.fixture(params=["sqlite", "postgres"])
def blank_store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """A store without a schema, of this test alone; on each kind."""
    if request.param == "postgres":
        found: Store = request.getfixturevalue("blank_postgres")
        return found
    return Store("sqlite", f"sqlite:///{tmp_path}/blank.db", tmp_path / "blank.db")


# -- hubs --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def clock() -> ManualClock:
    """The time of the test's hubs; it stands still until told to move."""
    return ManualClock()


@pytest.fixture
def make_hub(clock: ManualClock, tmp_path: Path) -> Iterator[Callable[..., Hub]]:
    """Open hubs on a store: `make_hub(store, embedder=…, max_revisions=3)`; all are closed at the end."""
    with ExitStack() as stack:

        def make(store: Store, **options: Any) -> Hub:
            return stack.enter_context(opened(store, tmp_path, **{"clock": clock} | options))

        yield make


@pytest.fixture
def hub(store: Store, make_hub: Callable[..., Hub]) -> Hub:
    """A hub on an empty store, with hash vectors and a clock that stands still; on each kind of store."""
    return make_hub(store)


# -- the model ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def model_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the converted model is kept: once per checkout under scripts/test, once per run otherwise."""
    named = os.environ.get("HIVELORE_TEST_MODEL_CACHE")
    return Path(named) if named else tmp_path_factory.mktemp("model-cache")


@pytest.fixture(scope="session")
def real_embedder(model_cache: Path) -> Iterator[Any]:
    """The real multilingual-e5-small, loaded. Mark tests that use it `model`."""
    from hivelore.adapters.embed_e5 import E5Embedder

    embedder = E5Embedder(cache_dir=model_cache)
    embedder.start()
    state = embedder.wait_ready(600)
    assert state.status == "ready", state.reason
    yield embedder
    embedder.close()
