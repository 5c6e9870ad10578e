"""`hivelore bench speed`: times, memory and what is found, as a store grows."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from hivelore import app
from hivelore.bench import report, speed
from hivelore.cli import output
from hivelore.cli.start import prepare_folder
from hivelore.core.errors import Invalid
from hivelore.core.settings import Settings

DATABASE_FILE = "speed.db"
MOST_MEMORIES = 5_000_000


def run(args: Namespace) -> int:
    """Fill, measure, print; the store of `--data` or `--database-url` is kept and grown by the next run."""
    sizes = [_size(each) for each in args.memories or ["10000"]]
    settings: Settings = args.loaded.settings
    prepare_folder(settings)
    os.umask(0o077)
    embedder = app.make_embedder(settings)
    try:
        prepared, sample = speed.prepare(embedder, _say)
    finally:
        embedder.close()
    if args.data and not args.database_url:
        settings = replace(settings, database_url=f"sqlite:///{app.data_dir(settings)}/{DATABASE_FILE}")
    elif not args.database_url:
        settings = replace(settings, database_url="memory")
    hub = app.build(replace(settings, embed_eager_ms=0), embedder=prepared)
    try:
        done = speed.run(hub, sizes, sample, _say)
        if args.json:
            written = {
                "store": report.store(hub),
                "machine": report.machine(),
                "sizes": [each.as_json() for each in done],
            }
            try:
                Path(args.json).expanduser().write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
            except OSError as exc:
                raise Invalid(f"{args.json} cannot be written: {exc.strerror}.", field="json") from exc
    finally:
        hub.stopping.set()
        hub.helpers.shutdown(wait=True)
        hub.db.close()
    for line in output.table([speed.HEADINGS, *speed.rows(done)]):
        output.say(line)
    output.say()
    for line in output.table([speed.SIZE_HEADINGS, *speed.size_rows(done)]):
        output.say(line)
    return 0


def _size(given: str) -> int:
    if not given.isdigit() or not 0 < int(given) <= MOST_MEMORIES:
        raise Invalid(f"--memories takes numbers from 1 to {MOST_MEMORIES:,}, not {given!r}.", field="memories")
    return int(given)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
