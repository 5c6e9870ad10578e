"""`hivelore reindex` and `hivelore repair`: mend the index from the memories, and give an account of it."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hivelore.app import data_dir, database_url, site
from hivelore.base.memories import count_store
from hivelore.base.search.upkeep import WRONG, Account, tables_of, walk
from hivelore.cli import output
from hivelore.cli.client.relay import find_server
from hivelore.core.errors import NotFound
from hivelore.core.settings import Settings
from hivelore.sql import derived, schema
from hivelore.sql.database import Database, StoreDamaged
from hivelore.sql.derived import Fault

Done = dict[str, Any]


def reindex(args: Namespace) -> int:
    """Mend what is missing or stale; exit code 0 also when nothing was, 130 when it was stopped."""
    settings: Settings = args.loaded.settings
    db = open_store(settings)
    try:
        schema.check(db)
        return _walk(args, db, {})
    finally:
        db.close()


def repair(args: Namespace) -> int:
    """Make damaged tables anew, then mend what is missing or stale.

    Raises `StoreDamaged`, changing nothing, when tables that are not derived are damaged: a backup is needed first.
    """
    settings: Settings = args.loaded.settings
    db = open_store(settings)
    try:
        schema.check(db)
        lost = derived.damaged_originals(db)
        if lost:
            raise StoreDamaged(
                f"Not only the index is damaged but also {', '.join(lost)}, which nothing can be made from. "
                "Nothing was changed. Copy the file aside, then restore a backup, or let `sqlite3 FILE .recover` save "
                "what it can."
            )
        recounted = _recount(args, db)
        found = derived.faults(db)
        names = derived.with_dependents((fault.table for fault in found), derived.table_names(db)) if found else ()
        compacted = True
        if names and not args.dry_run:
            damaged = {fault.table for fault in found if fault.damaged}
            derived.make_anew(db, names, damaged)
            compacted = not damaged or db.dialect != "sqlite" or derived.compact(db)
        said = [{"table": fault.table, "words": fault.words} for fault in found]
        done: Done = {"faults": said, "made_anew": list(names), "recounted": recounted}
        if not args.json:
            _say_tables(found, names, args.dry_run)
        if not compacted:
            output.complain("warning: the file could not be written anew; it keeps some unused space (VACUUM it later)")
        if names and args.dry_run:  # they cannot be looked into
            if args.json:
                output.say(json.dumps(done | {"dry_run": True}, ensure_ascii=False, indent=2))
            return 0
        return _walk(args, db, done)
    finally:
        db.close()


def _recount(args: Namespace, db: Database) -> int:
    """Count the items of all spaces anew; how many counts were wrong."""
    if args.dry_run:
        with db.read() as connection:
            wrong = len(count_store.wrong(connection))
    else:
        with db.write() as connection:
            wrong = count_store.recount(connection)
    if wrong and not args.json:
        words = "would recount" if args.dry_run else "recounted"
        output.say(f"{output.styled(words, 'bold')}  {wrong} space(s) (memory_count)")
    return wrong


def open_store(settings: Settings) -> Database:
    """The store, which must be there: opening an SQLite file would make it."""
    url = database_url(settings)
    path = url.removeprefix("sqlite:///")
    if url == "memory" or (path != url and not Path(path).exists()):
        raise NotFound("There is no store yet, so there is nothing to mend. `hivelore serve` makes one.")
    return Database(url, pool_size=2)


def _say_tables(found: Sequence[Fault], names: Sequence[str], dry_run: bool) -> None:
    for fault in found:
        output.say(f"{output.styled('damaged', 'red')}    {fault.table} {fault.words}")
    if names:
        words = "would make anew" if dry_run else "made anew"
        output.say(f"{output.styled(words, 'bold')}  {', '.join(names)}")


def _walk(args: Namespace, db: Database, done: Done) -> int:
    settings: Settings = args.loaded.settings
    account = Account(mended=not args.dry_run)
    code = 0
    with output.Progress(0, "Looking", shown=str) as bar:

        def show(count: int, total: int, what: str) -> None:
            if not args.no_progress:
                bar.update(count, f"of {total} {what}" if total else what)

        try:
            walk(site(settings, db), mend=not args.dry_run, account=account, progress=show)
        except KeyboardInterrupt:
            code = 130
    if args.json:
        found = {**done, **asdict(account), "dry_run": args.dry_run}
        output.say(json.dumps(found, ensure_ascii=False, indent=2))
    else:
        _say(account, db.dialect, settings, serving=find_server(data_dir(settings)) is not None)
    return code


def _say(account: Account, dialect: str, settings: Settings, *, serving: bool) -> None:
    """The account for people."""
    rows = [("looked at", f"{account.memories} memories, {account.chunks} chunks, {account.vectors} vectors")]
    verb = "mended" if account.mended else "to mend"
    rows += [
        (verb, f"{WRONG[wrong]}: {number} ({', '.join(tables_of(wrong, dialect))})")
        for wrong, number in account.found.items()
        if number
    ]
    if account.clean and account.finished:
        rows.append(("result", "nothing is missing or stale"))
    if account.left_alone:
        rows.append(("left alone", f"{account.left_alone} that changed or went meanwhile"))
    new_chunks = account.found["unregistered"] + account.found["stale"]
    if account.mended and settings.embedder != "off" and new_chunks + account.queued:
        when = "the running server now makes them" if serving else "they are made when the server runs"
        rows.append(("vectors", f"{when}; words are found already"))
    if not account.mended:
        rows.append(("changed", "nothing: this was a dry run"))
    if not account.finished:
        rows.append(("stopped", "what was mended stays; run it again to go on"))
    for name, words in rows:
        output.say(f"{output.styled(f'{name:<10}', 'bold')} {words}")
