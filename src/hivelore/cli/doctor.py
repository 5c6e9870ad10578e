"""`hivelore doctor`: check the installation and say what is wrong, what it costs and what could leave the machine."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs, urlsplit

import hivelore
from hivelore.app import data_dir, database_url, make_embedder
from hivelore.cli import output
from hivelore.cli.client.relay import find_server
from hivelore.cli.doctor_store import Finding, contents
from hivelore.cli.start import prepare_folder
from hivelore.core.errors import HiveloreError
from hivelore.core.settings import Settings
from hivelore.core.settings_load import is_loopback
from hivelore.sql import schema
from hivelore.sql.database import Database

LOW_DISK_BYTES = 500 * 1024 * 1024
LOAD_TIMEOUT_S = 120.0


def run(args: Namespace) -> int:
    """Run all checks; exit code 0 unless one of them is an error (69)."""
    settings: Settings = args.loaded.settings
    findings = [finding for check in CHECKS for finding in _guarded(check, settings)]
    if args.json:
        output.say(json.dumps([asdict(finding) for finding in findings], ensure_ascii=False, indent=2))
    else:
        for finding in findings:
            mark = {
                "ok": output.styled("ok     ", "green"),
                "warning": output.styled("warning", "yellow"),
                "error": output.styled("error  ", "red"),
            }
            output.say(f"{mark[finding.status]}  {finding.check:<12} {output.plain(finding.message)}")
    return 69 if any(finding.status == "error" for finding in findings) else 0


def _guarded(check: Callable[[Settings], Iterator[Finding]], settings: Settings) -> Iterator[Finding]:
    name = check.__name__.removeprefix("check_")
    try:
        yield from check(settings)
    except HiveloreError as exc:
        yield Finding(name, "error", exc.message)
    except Exception as exc:
        yield Finding(name, "error", f"could not be checked ({type(exc).__name__})")


def check_version(settings: Settings) -> Iterator[Finding]:
    yield Finding(
        "version",
        "ok",
        f"hivelore {hivelore.__version__}, Python {sys.version.split()[0]}, SQLite {sqlite3.sqlite_version}",
    )


def check_folder(settings: Settings) -> Iterator[Finding]:
    folder = data_dir(settings)
    if not folder.exists():
        yield Finding("folder", "ok", f"{folder} does not exist yet; `hivelore serve` makes it")
        return
    if not folder.is_dir():
        yield Finding("folder", "error", f"{folder} is no folder; choose another with --data or HIVELORE_DATA_DIR")
        return
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        yield Finding("folder", "error", f"{folder} cannot be used by this user; check its owner and mode")
    mode = folder.stat().st_mode & 0o777
    private = mode & 0o077 == 0
    words = f"{folder} (mode {mode:03o})"
    yield Finding(
        "folder", "ok" if private else "warning", words if private else f"{words} can be read by others: chmod 700 it"
    )
    free = shutil.disk_usage(folder).free
    status: Literal["ok", "warning"] = "ok" if free >= LOW_DISK_BYTES else "warning"
    yield Finding("disk", status, f"{output.size(free)} free")


def check_store(settings: Settings) -> Iterator[Finding]:
    url = database_url(settings)
    if url == "memory":
        yield Finding("store", "warning", "database_url=memory keeps nothing: all is gone when the server stops")
        return
    path = Path(url.removeprefix("sqlite:///")) if url.startswith("sqlite:///") else None
    if path is not None and not path.exists():
        yield Finding("store", "ok", "no database yet; the first start makes it")
        return
    db = Database(url, pool_size=2)
    try:
        schema.check(db)
        yield Finding("store", "ok", f"{db.dialect}, schema {schema.HEAD}, {output.size(db.size_bytes())}")
        yield from contents(db, settings)
    finally:
        db.close()


def check_embedder(settings: Settings) -> Iterator[Finding]:
    if not data_dir(settings).exists():
        prepare_folder(settings)  # the model may be converted into it, and then it must not be open to others
    embedder = make_embedder(settings)
    try:
        embedder.start()
        state = embedder.wait_ready(LOAD_TIMEOUT_S)
        if state.status == "ready":
            yield Finding("embedder", "ok", f"{settings.embedder}: {embedder.model} is ready")
        elif state.status == "off":
            yield Finding("embedder", "warning", "off: memories are found by their words only")
        else:
            yield Finding("embedder", "error", f"{settings.embedder}: {state.status}: {state.reason}")
    finally:
        embedder.close()


def check_server(settings: Settings) -> Iterator[Finding]:
    found = find_server(data_dir(settings))
    yield Finding(
        "server",
        "ok",
        f"running at http://{found.host}:{found.port}" if found else "not running: `hivelore serve` starts it",
    )


def check_network(settings: Settings) -> Iterator[Finding]:
    """Every path by which something could leave this machine with these settings."""
    open_paths = list(outgoing(settings))
    if not open_paths:
        yield Finding("network", "ok", "nothing leaves this machine with these settings")
    for words in open_paths:
        yield Finding("network", "warning", words)


def outgoing(settings: Settings) -> Iterator[str]:
    """The settings that open a connection to elsewhere or let others in, one sentence each. No secret is shown."""
    if settings.embedder == "http" and not is_loopback(_host(settings.embed_url)):
        yield f"embedder=http sends every text and query to {_host(settings.embed_url)}"
    if settings.embedder == "fastembed":
        yield "embedder=fastembed downloads its model from a model hub on first use"
    if settings.database_url.startswith(("postgresql:", "postgres:")):
        named = parse_qs(urlsplit(settings.database_url).query).get("host", [_host(settings.database_url)])
        elsewhere = [host for host in named if not host.startswith("/") and not is_loopback(host)]
        if elsewhere:
            yield f"database_url keeps all memories on {', '.join(elsewhere)}"
    if not is_loopback(settings.host):
        yield f"host={settings.host} lets other machines connect (with a key)"


def _host(url: str) -> str:
    return urlsplit(url).hostname or "localhost"


CHECKS: tuple[Callable[[Settings], Iterator[Finding]], ...] = (
    check_version,
    check_folder,
    check_store,
    check_embedder,
    check_server,
    check_network,
)
