"""`hivelore migrate`: bring the database's schema to this version."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

from hivelore.app import database_url
from hivelore.cli import output
from hivelore.cli.start import prepare_folder
from hivelore.core.settings import Settings
from hivelore.sql import schema
from hivelore.sql.database import Database


def run(args: Namespace) -> int:
    """Migrate, or with `--check` only look: exit code 0 when the schema is current, 69 when it is not."""
    settings: Settings = args.loaded.settings
    url = database_url(settings)
    if args.check:
        _refuse_missing(url)
    else:
        prepare_folder(settings)
    db = Database(url, pool_size=2)
    try:
        before = schema.look(db)
        if args.check:
            schema.check(db)
        backup = None
        if before != schema.HEAD and not args.check:
            if before is not None and db.dialect == "sqlite":
                backup = schema.back_up(db, before)
            schema.migrate(db)
        answer = {"from": before, "to": schema.HEAD, "changed": before != schema.HEAD, "backup": backup}
    finally:
        db.close()
    if args.json:
        output.say(json.dumps(answer))
    elif answer["changed"]:
        output.say(
            f"Migrated from schema {before or 'none'} to {schema.HEAD}." + (f" Backup: {backup}" if backup else "")
        )
    else:
        output.say(f"The schema is current ({schema.HEAD}).")
    return 0


def _refuse_missing(url: str) -> None:
    """Opening an SQLite file makes it; a check must not."""
    path = url.removeprefix("sqlite:///")
    if path != url and not Path(path).exists():
        raise schema.SchemaBehind("There is no database yet. `hivelore serve` or `hivelore migrate` makes it.")
