"""`hivelore bench recall` and `hivelore bench compare`: how well recall finds, in figures.

A benchmark never touches the store of its user: without `--data` and `--database-url` it uses one that is thrown away,
whatever the settings name, and in a `--data` folder it has a database file of its own.
"""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from hivelore import app
from hivelore.bench import compare as comparing
from hivelore.bench import report, runner
from hivelore.bench.model import Half
from hivelore.bench.sets.detect import load_all
from hivelore.cli import output
from hivelore.cli.start import prepare_folder
from hivelore.core.clock import ManualClock, SystemClock
from hivelore.core.errors import Invalid, Unavailable
from hivelore.core.settings import Settings

DATABASE_FILE = "bench.db"
LOAD_TIMEOUT_S = 300.0
LONGEST_TEXT_CHARS = 10_000_000  # sets have texts beyond the usual limit, and leaving one out would change the figures


def recall(args: Namespace) -> int:
    """Run the sets under the paths and print their figures."""
    options = _options(args)
    sets = load_all([Path(path).expanduser() for path in args.path], args.format)
    if args.only:
        names = [name.strip() for name in args.only.split(",")]
        known = [each.name for each in sets]
        if unknown := [name for name in names if not any(each.startswith(name) for each in known)]:
            raise Invalid(f"--only names {unknown[0]!r}; the sets here are: {', '.join(known)}.", field="only")
        sets = [each for each in sets if any(each.name.startswith(name) for name in names)]
    settings = _settings(args)
    prepare_folder(settings)
    os.umask(0o077)
    clock = ManualClock(SystemClock().now_ms())
    hub = app.build(settings, clock=clock)
    try:
        hub.embedder.start()
        state = hub.embedder.wait_ready(LOAD_TIMEOUT_S)
        if options.engine != "text" and state.status != "ready":
            raise Unavailable(f"The embedder is {state.status}: {state.reason or 'no vectors are made'}.")
        with _Progress() as progress:
            results = runner.run(hub, clock, sets, options, progress)
        if args.json:
            written = report.as_json(results, hub, options, SystemClock().now_ms())
            _write(Path(args.json).expanduser(), written)
    finally:
        hub.helpers.shutdown(wait=False)
        hub.embedder.close()
        hub.db.close()
    for line in output.table([report.HEADINGS, *report.rows(results)]):
        output.say(line)
    output.say()
    for line in output.table([report.INGEST_HEADINGS, *report.ingest_rows(results)]):
        output.say(line)
    for line in report.left_out(results):
        output.say(line)
    return 0


def _options(args: Namespace) -> runner.Options:
    if args.engine not in runner.ENGINES:
        raise Invalid(f"--engine must be one of {', '.join(runner.ENGINES)}, not {args.engine!r}.", field="engine")
    if args.half is not None and args.half not in get_args(Half):
        raise Invalid(f"--half must be dev or held-out, not {args.half!r}.", field="half")
    return runner.Options(args.engine, args.half, args.limit_questions)


def _settings(args: Namespace) -> Settings:
    """The settings with a store for benchmarks alone: the one that the options name, or one that is thrown away."""
    settings: Settings = replace(args.loaded.settings, max_content_chars=LONGEST_TEXT_CHARS)
    if args.database_url:
        return settings
    if args.data:
        return replace(settings, database_url=f"sqlite:///{app.data_dir(settings)}/{DATABASE_FILE}")
    return replace(settings, database_url="memory")


def _write(path: Path, written: dict[str, Any]) -> None:
    try:
        path.write_text(json.dumps(written, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    except OSError as exc:
        raise Invalid(f"{path} cannot be written: {exc.strerror}.", field="json") from exc


def compare(args: Namespace) -> int:
    """Print what changed between two results."""
    found = comparing.compare(Path(args.a).expanduser(), Path(args.b).expanduser())
    for line in output.table([comparing.HEADINGS, *comparing.rows(found)]):
        output.say(line)
    for what, one, other in found.conditions:
        output.say(f"differs: {what}: {one} → {other}")
    for name in found.apart:
        output.say(f"only in one of them: {name}")
    return 0


class _Progress:
    """One line on standard error that says what is being done; silent where that is no terminal."""

    def __enter__(self) -> _Progress:
        return self

    def __call__(self, what: str, done: int, total: int) -> None:
        if sys.stderr.isatty() and (done % 10 == 0 or done == total):
            with suppress(OSError):
                sys.stderr.write(f"\r\x1b[K{what}: {done:,} of {total:,}")
                sys.stderr.flush()

    def __exit__(self, *_: object) -> None:
        if sys.stderr.isatty():
            with suppress(OSError):
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()
