"""Save a store of the present schema as SQL: `python tests/upgrade/save.py` writes `schema_<revision>.sql` beside it.

Run it when a migration was added, before its release. A file that was released is never written again: it stands for
the stores that people have.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

HERE = Path(__file__).parent
HEADING = (
    "-- A store of schema {revision}, filled by tests/upgrade/contents.py. Loaded by `load` in test_saved_stores.py.\n"
)


def statements(path: Path) -> Iterator[str]:
    """The database as SQL. Virtual tables are written by their rows; the tables behind them are SQLite's business."""
    with closing(sqlite3.connect(path)) as connection:
        made = connection.execute(
            "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' ORDER BY rowid"
        ).fetchall()
        virtual = [name for _, name, sql in made if sql.startswith("CREATE VIRTUAL TABLE")]
        behind = {name for _, name, _ in made for owner in virtual if name.startswith(f"{owner}_")} - set(virtual)
        for kind, name, sql in made:
            if name not in behind and kind != "trigger":
                yield f"{sql};"
        tables = [name for kind, name, sql in made if kind == "table" and name not in behind and "fts5vocab" not in sql]
        for name in (*tables, "sqlite_sequence"):
            if name == "sqlite_sequence":
                yield "DELETE FROM sqlite_sequence;"  # what the rows above have counted up
            columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')]
            key = ["rowid"] if name in virtual else []
            quoted = " || ', ' || ".join(f'quote("{column}")' for column in (*key, *columns))
            into = f'INSERT INTO "{name}" ({", ".join((*key, *columns))})'
            for (values,) in connection.execute(f'SELECT {quoted} FROM "{name}" ORDER BY rowid'):
                yield f"{into} VALUES ({values});"
        # Last: they would do again what they did when these rows were written.
        yield from (f"{sql};" for kind, _, sql in made if kind == "trigger")


def main() -> None:
    from hivelore.adapters.embed_hash import HashEmbedder
    from hivelore.app import build
    from hivelore.core.clock import ManualClock
    from hivelore.core.ids import CountingIds
    from hivelore.core.settings import Settings
    from hivelore.sql import schema
    from upgrade.contents import fill

    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=folder, embedder="hash", embed_eager_ms=0)
        hub = build(settings, clock=ManualClock(), ids=CountingIds(), embedder=HashEmbedder())
        fill(hub)
        hub.db.close()
        saved = "\n".join(statements(Path(folder) / "hivelore.db"))
    (HERE / f"schema_{schema.HEAD}.sql").write_text(HEADING.format(revision=schema.HEAD) + saved + "\n")


if __name__ == "__main__":
    sys.path[:0] = [str(HERE.parent.parent / "src"), str(HERE.parent)]
    main()
