"""`hivelore import`: bring in what other agents left on this machine, and say exactly what came in and what did not."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from hivelore import app
from hivelore.cli import output
from hivelore.cli.client.relay import find_server
from hivelore.cli.start import prepare_folder, whose
from hivelore.core.actor import Caller, Principal, Role
from hivelore.core.errors import Invalid
from hivelore.core.settings import Settings
from hivelore.importers import run as importing
from hivelore.importers.run import Report

SOURCES = ("claude-code",)


def run(args: Namespace) -> int:
    """Import; exit code 0 also when some lines or files had to be left out, which the account then says."""
    if args.source.replace("_", "-") not in SOURCES:
        raise Invalid(f"There is no source {args.source!r}. Sources: {', '.join(SOURCES)}.", field="source")
    settings: Settings = args.loaded.settings
    root = Path(args.path).expanduser() if args.path else default_root()
    total = importing.total_bytes(root)
    if args.dry_run and not settings.database_url and not (app.data_dir(settings) / app.DATABASE_FILE).exists():
        settings = replace(settings, database_url="memory")  # a look must not leave an empty store behind
    else:
        prepare_folder(settings)
    os.umask(0o077)
    hub = app.build(settings)
    try:
        caller = Caller(Principal(whose(settings, args.user), Role.AGENT), "hivelore import", "import")
        with output.Progress(0 if args.no_progress else total, "Importing") as bar:
            report = importing.import_claude_code(
                hub.call(caller),
                root,
                namespace=args.namespace,
                dry_run=args.dry_run,
                progress=None if args.no_progress else bar.update,
            )
    finally:
        hub.embedder.close()
        hub.db.close()
    if args.json:
        output.say(json.dumps(report.as_dict(), ensure_ascii=False, indent=2))
    else:
        show(report, serving=find_server(app.data_dir(settings)) is not None)
    return 0


def default_root() -> Path:
    """Where Claude Code keeps its files."""
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or "~/.claude").expanduser()


def show(report: Report, *, serving: bool) -> None:
    """The account for people."""
    read = report.read
    rows = [
        ("files", f"{read.files} read, {read.files_unchanged} unchanged{_reasons(read.files_skipped)}"),
        ("lines", f"{read.lines} read, {read.bad_lines} bad{_reasons(read.lines_skipped)}"),
        ("turns", f"{read.turns_complete} complete, {read.turns_incomplete} incomplete{_reasons(read.turns_skipped)}"),
    ]
    if report.stored:
        rows.append(
            (
                "stored",
                f"{report.turns_new} new, {report.turns_grown} grown, {report.turns_known} already known, "
                f"{report.turns_removed_before} removed before and left out",
            )
        )
        rows.append(("namespace", report.namespace))
        rows.append(("to embed", f"{report.still_to_embed} chunks" + _embedding_words(report.still_to_embed, serving)))
    else:
        rows.append(("stored", "nothing: this was a dry run"))
    if read.redactions:
        rows.append(("redacted", ", ".join(f"{number} {kind}" for kind, number in sorted(read.redactions.items()))))
    if read.repairs:
        rows.append(("repaired", ", ".join(f"{number} {what}" for what, number in sorted(read.repairs.items()))))
    for name, words in rows:
        output.say(f"{output.styled(f'{name:<10}', 'bold')} {output.plain(words)}")


def _reasons(skipped: dict[str, int]) -> str:
    """`, skipped: 3 summary, 2 meta`, or nothing."""
    if not skipped:
        return ""
    return "; skipped: " + ", ".join(f"{number} {reason}" for reason, number in sorted(skipped.items()))


def _embedding_words(pending: int, serving: bool) -> str:
    if not pending:
        return ""
    if serving:
        return ", which the running server now does; words are found already"
    return ", which happens when the server runs; words are found already"
