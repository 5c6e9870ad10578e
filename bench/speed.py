"""`scripts/bench`: what a call costs, as ratios to a bare SDK server over a plain FTS5 table on the same machine.

Both servers are real processes. Latencies are those of the MCP project's own Python client, one call at a time;
throughput is driven by a thin client, so that the clients leave the processor to the server. Figures are medians; the
machine's noise shows in both, so read the ratios. The default run takes about four minutes on two cores, `--quick` one.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import psutil
from mcp import Client

from bench.corpus import memories, questions
from bench.wire import Wire

ROOT = Path(__file__).resolve().parent.parent


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def process(*command: str, **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """A server process, ended by its pid."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}/src:{ROOT}", "HIVELORE_LOG_LEVEL": "WARNING", **env}
    started = subprocess.Popen([sys.executable, *command], env=environment, stdout=subprocess.DEVNULL, cwd=ROOT)
    try:
        yield started
    finally:
        started.terminate()
        started.wait(20)


def wait_for(port: int, check: Callable[[], bool], limit_s: float = 120) -> float:
    """Seconds until `check` holds."""
    started = time.perf_counter()
    while time.perf_counter() - started < limit_s:
        with suppress(OSError, ValueError):
            if check():
                return time.perf_counter() - started
        time.sleep(0.01)
    raise SystemExit(f"the server on port {port} did not get ready")


def accepts(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), 1):
        return True


def readyz(port: int) -> dict[str, Any]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


@contextmanager
def ours(data: str, **env: str) -> Iterator[tuple[int, subprocess.Popen[bytes], float]]:
    """Our server: port, process, seconds from spawn to the first answered health request."""
    port = free_port()
    with process("-m", "hivelore", "serve", "--port", str(port), "--data", data, **env) as server:
        ready_s = wait_for(port, lambda: readyz(port)["ready"])
        yield port, server, ready_s


@contextmanager
def baseline(path: str) -> Iterator[tuple[int, subprocess.Popen[bytes], float]]:
    port = free_port()
    with process("bench/baseline_server.py", str(port), path) as server:
        yield port, server, wait_for(port, lambda: accepts(port))


def p50_p95(values: list[float]) -> tuple[float, float]:
    return statistics.median(values), sorted(values)[int(len(values) * 0.95)]


def timed(port: int, tool: str, arguments: list[dict[str, Any]]) -> list[float]:
    """Milliseconds of each call as a real client sees them: the MCP project's own Python client, one call at a time."""

    async def calls() -> list[float]:
        taken = []
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            for warm_up in arguments[:5]:
                await client.call_tool(tool, warm_up)
            for each in arguments:
                started = time.perf_counter()
                answer = await client.call_tool(tool, each)
                taken.append((time.perf_counter() - started) * 1000)
                if answer.is_error:
                    raise SystemExit(f"{tool} failed")
        return taken

    return anyio.run(calls)


def _add_many(port: int, tool: str, texts: list[str]) -> None:
    wire = Wire(port)
    for text in texts:
        wire.call(tool, {"content": text})


def adds_per_second(port: int, tool: str, clients: int, each: int) -> float:
    """Acknowledged adds per second of `clients` processes together."""
    texts = memories(clients * each, seed=clients)
    shares = [texts[i * each : (i + 1) * each] for i in range(clients)]
    workers = [multiprocessing.Process(target=_add_many, args=(port, tool, share)) for share in shares]
    started = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    elapsed_s = time.perf_counter() - started
    if any(worker.exitcode for worker in workers):
        raise SystemExit("an add failed")
    return clients * each / elapsed_s


def fill_baseline(path: str, count: int) -> None:
    db = sqlite3.connect(path)
    db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS memory USING fts5(text, tokenize='porter unicode61')")
    with db:
        db.executemany("INSERT INTO memory(text) VALUES (?)", ((text,) for text in memories(count)))
    db.close()


def row(name: str, mine: float, theirs: float | None, unit: str, *, higher_is_better: bool = False) -> dict[str, Any]:
    ratio = None if not theirs else mine / theirs
    shown = "" if ratio is None else f"{ratio:6.2f} x"
    other = "" if theirs is None else f"{theirs:10.2f}"
    print(f"{name:<44} {mine:10.2f} {other:>10} {unit:<8} {shown}", flush=True)
    return {
        "name": name,
        "hivelore": mine,
        "baseline": theirs,
        "unit": unit,
        "ratio": ratio,
        "higher_is_better": higher_is_better,
    }


def run(work: Path, sizes: list[int], repeats: int, adds: int) -> list[dict[str, Any]]:
    rows = []
    print(f"{'':<44} {'hivelore':>10} {'baseline':>10} {'unit':<8} ratio")
    data, plain = str(work / "ours"), str(work / "plain.db")
    with ours(data):
        pass  # the first start converts the model and makes the database
    with ours(data) as (port, server, ready_s), baseline(plain) as (base_port, _, base_ready_s):
        rows.append(row("start-up to first answer", ready_s, base_ready_s, "s"))
        mine, _ = p50_p95(timed(port, "ping", [{}] * repeats))
        theirs, _ = p50_p95(timed(base_port, "ping", [{}] * repeats))
        rows.append(row("ping, p50", mine, theirs, "ms"))
        wait_for(port, lambda: readyz(port)["embedder"] == "ready")
        for clients in (1, 10):
            speed = adds_per_second(port, "remember", clients, adds // clients)
            base_speed = adds_per_second(base_port, "add", clients, adds // clients)
            rows.append(row(f"adds, {clients} client(s)", speed, base_speed, "per s", higher_is_better=True))
        wait_for(port, lambda: readyz(port)["pending"] == 0, 600)
        rows.append(
            row("resident memory, model loaded", psutil.Process(server.pid).memory_info().rss / 2**20, None, "MB")
        )
    for size in sizes:
        data, plain = str(work / f"ours-{size}"), str(work / f"plain-{size}.db")
        with process("-m", "bench.fill", data, str(size)) as filling:
            filling.wait()
        fill_baseline(plain, size)
        asked = [{"query": question} for question in questions(repeats)]
        with ours(data) as (port, server, _), baseline(plain) as (base_port, _, _):
            wait_for(port, lambda: readyz(port)["embedder"] == "ready")
            mine, mine_95 = p50_p95(timed(port, "recall", asked))
            theirs, theirs_95 = p50_p95(timed(base_port, "search", asked))
            rows.append(row(f"recall at {size:,} memories, p50", mine, theirs, "ms"))
            rows.append(row(f"recall at {size:,} memories, p95", mine_95, theirs_95, "ms"))
            rows.append(
                row(f"resident memory at {size:,}", psutil.Process(server.pid).memory_info().rss / 2**20, None, "MB")
            )
        with ours(data, HIVELORE_EMBEDDER="off") as (port, _, _):
            rows.append(
                row(f"recall at {size:,}, no vectors, p50", p50_p95(timed(port, "recall", asked))[0], theirs, "ms")
            )
        rows.append(
            row(
                f"disk at {size:,}",
                Path(data, "hivelore.db").stat().st_size / 2**20,
                Path(plain).stat().st_size / 2**20,
                "MB",
            )
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="scripts/bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="1,000 memories only")
    parser.add_argument("--sizes", default="", help="comma separated, default 1000,10000,100000")
    parser.add_argument("--json", metavar="FILE", help="also write the figures here")
    args = parser.parse_args()
    sizes = (
        [int(size) for size in args.sizes.split(",")]
        if args.sizes
        else [1_000]
        if args.quick
        else [1_000, 10_000, 100_000]
    )
    work = Path(tempfile.mkdtemp(prefix="hivelore-bench-"))
    try:
        rows = run(work, sizes, repeats=100 if args.quick else 200, adds=300 if args.quick else 1_000)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if args.json:
        Path(args.json).write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
