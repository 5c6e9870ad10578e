"""A long run in one process: does memory grow with use? `python -m bench.soak [--searches N] [--saves N]`.

Saves and searches go through the same use cases that the doors call, on one SQLite file, with the embedder named.
What the store itself needs in memory (the vectors' signatures) grows with what is saved and is told apart.
"""

from __future__ import annotations

import argparse
import gc
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from bench.corpus import memories, questions
from hivelore.app import Application, build
from hivelore.core.actor import Caller, Principal, Role
from hivelore.core.settings import Settings
from hivelore.rooms.memory import service as memory
from hivelore.work import Hub

LIMIT_BYTES = 50_000_000
WARM_SHARE = 10  # a tenth of the run comes first, so that pools, caches and the model are there


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--searches", type=int, default=50_000)
    parser.add_argument("--saves", type=int, default=10_000)
    parser.add_argument("--embedder", default="hash")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = soak(Path(folder), args.searches, args.saves, args.embedder)
    print(json.dumps(found, indent=2))
    if args.json:
        args.json.write_text(json.dumps(found, indent=2))
    raise SystemExit(0 if found["growth_bytes"] < LIMIT_BYTES else 1)


def soak(folder: Path, searches: int, saves: int, embedder: str) -> dict[str, Any]:
    """Save and search in turn; return resident memory before and after, in bytes."""
    hub = build(Settings(data_dir=str(folder), embedder=embedder, embed_eager_ms=0))
    running = Application(hub)
    running.start()
    hub.embedder.wait_ready(120)
    begun_s = time.monotonic()
    try:
        use(hub, searches // WARM_SHARE, saves // WARM_SHARE, 0)
        before = resident()
        use(hub, searches, saves, 1)
        after = resident()
    finally:
        running.stop()
    return {
        "searches": searches,
        "saves": saves,
        "embedder": embedder,
        "resident_before_bytes": before,
        "resident_after_bytes": after,
        "growth_bytes": after - before,
        "took_s": round(time.monotonic() - begun_s, 1),
    }


def use(hub: Hub, searches: int, saves: int, part: int) -> None:
    call = hub.call(Caller(Principal("soak", Role.AGENT), "bench", "bench"))
    texts, asked = iter(memories(saves, seed=part)), questions(1_000, seed=part)
    every = max(searches // max(saves, 1), 1)
    for number in range(searches):
        if number % every == 0 and (text := next(texts, None)) is not None:
            memory.remember(call, text, namespace="soak")
        memory.recall(call, asked[number % len(asked)], namespaces=["soak"], limit=8)


def resident() -> int:
    gc.collect()
    return int(psutil.Process().memory_info().rss)


if __name__ == "__main__":
    main()
