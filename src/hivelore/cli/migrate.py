"""`hivelore migrate`: bring the database's schema to this version."""

from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path

from hivelore.app import database_url
from hivelore.cli import output
from hivelore.cli.start import prepare_folder
from hivelore.core.errors import Invalid
from hivelore.core.settings import Settings
from hivelore.sql import partitions, schema
from hivelore.sql.database import Database


def run(args: Namespace) -> int:
    """Migrate, or with `--check` only look: exit code 0 when the schema is current, 69 when it is not."""
    settings: Settings = args.loaded.settings
    if args.check and args.partitions is not None:
        raise Invalid("--partitions changes the database and --check must not; give one of them.", field="partitions")
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
        cut = partitions.make(db, args.partitions) if args.partitions is not None else False
        changed = before != schema.HEAD or cut
        answer = {"from": before, "to": schema.HEAD, "changed": changed, "backup": backup}
    finally:
        db.close()
    if args.partitions is not None:
        answer["partitions"] = args.partitions
    if args.json:
        output.say(json.dumps(answer))
    elif before != schema.HEAD:
        output.say(
            f"Migrated from schema {before or 'none'} to {schema.HEAD}." + (f" Backup: {backup}" if backup else "")
        )
    else:
        output.say(f"The schema is current ({schema.HEAD}).")
    if cut and not args.json:
        output.say(f"The big tables have {args.partitions} partitions.")
    return 0


def _refuse_missing(url: str) -> None:
    """Opening an SQLite file makes it; a check must not."""
    path = url.removeprefix("sqlite:///")
    if path != url and not Path(path).exists():
        raise schema.SchemaBehind("There is no database yet. `hivelore serve` or `hivelore migrate` makes it.")
