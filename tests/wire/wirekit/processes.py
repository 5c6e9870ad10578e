"""The `hivelore` command as processes: run to its end, or served in the background until the test is over."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hivelore
from wirekit.waiting import until

START_LIMIT_S = 60.0
STOP_LIMIT_S = 20.0
RUN_LIMIT_S = 120.0
SOURCE = Path(hivelore.__file__).parent.parent
COMMAND = (sys.executable, "-m", "hivelore")

# The hash embedder needs no model, so a server is up in a second; tests of meaning name another.
QUICK = ("--embedder", "hash")


def environment(**extra: str) -> dict[str, str]:
    """Environment of a child: that of the tests (which holds no setting of ours), this checkout, and `extra`."""
    return {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": "1", "NO_COLOR": "1", **extra}


@dataclass(frozen=True)
class Ran:
    """What a finished command gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run(*words: str, stdin: bytes = b"", env: dict[str, str] | None = None, cwd: Path | None = None) -> Ran:
    """Run `hivelore WORDS` to its end."""
    done = subprocess.run(
        [*COMMAND, *words],
        input=stdin,
        capture_output=True,
        env=env or environment(),
        cwd=cwd,
        timeout=RUN_LIMIT_S,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


@dataclass
class Server:
    """A running `hivelore serve`. `url` is its base, `mcp` its MCP endpoint, `log` what it wrote to standard error."""

    process: subprocess.Popen[bytes]
    folder: Path
    url: str
    mcp: str
    said: Path
    errors: Path

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def log(self) -> str:
        return self.errors.read_text()

    def stop(self) -> int:
        """Ask the server to end as a supervisor does; returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(STOP_LIMIT_S)

    def kill(self) -> None:
        """End the server with no chance to tidy up, as a crash or the kernel does."""
        self.process.kill()
        self.process.wait(STOP_LIMIT_S)


@contextmanager
def serving(folder: Path, *options: str, **more: Any) -> Iterator[Server]:
    """A server on `folder` that answers (see `start`); ended when the block ends, whatever happens in it."""
    server = start(folder, *options, **more)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            try:
                server.stop()
            except subprocess.TimeoutExpired:
                server.kill()
                raise


def start(
    folder: Path,
    *options: str,
    port: int = 0,
    embedder: Sequence[str] = QUICK,
    env: dict[str, str] | None = None,
    command: Sequence[str] = (*COMMAND, "serve"),
    cwd: Path | None = None,
) -> Server:
    """Start a server and wait until it says that it is ready. Whoever calls this ends it."""
    said, errors = _logs_beside(folder)
    words = (*command, "--port", str(port), "--data", str(folder if cwd is None else folder.name), *embedder, *options)
    with said.open("wb") as out, errors.open("wb") as err:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env or environment(), cwd=cwd
        )
    try:
        mcp = until(lambda: _announced(process, said, errors), "the server's announcement", START_LIMIT_S)
    except BaseException:
        process.kill()
        process.wait(STOP_LIMIT_S)
        raise
    url = mcp[: mcp.index("/", len("http://"))]
    return Server(process, folder, url, mcp, said, errors)


def _logs_beside(folder: Path) -> tuple[Path, Path]:
    """Fresh files for what a server writes: outside its data folder, whose contents tests look at."""
    number = len(list(folder.parent.glob(f"{folder.name}.*.out"))) + 1
    return folder.with_name(f"{folder.name}.{number}.out"), folder.with_name(f"{folder.name}.{number}.err")


def _announced(process: subprocess.Popen[bytes], said: Path, errors: Path) -> str | None:
    found = re.search(r"^ +MCP +(\S+)", said.read_text(), re.MULTILINE)
    if found:
        return found.group(1)
    if process.poll() is not None:
        raise AssertionError(f"the server ended with {process.returncode} before it was ready: {errors.read_text()}")
    return None
