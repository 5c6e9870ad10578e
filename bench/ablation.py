"""What each part of the ranking is worth: the same questions with one part after the other switched off.

    python bench/ablation.py DATA QUESTIONS PATH…

DATA is a folder that `hivelore bench recall PATH… --data DATA` has filled; the vectors are made once. At most QUESTIONS
of each set are asked, the same every time. Prints R@1/5/10 of every set and unit, in percent.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from hivelore import app
from hivelore.base.search import ranking
from hivelore.bench import runner
from hivelore.bench.metrics import figures
from hivelore.bench.sets.detect import load_all
from hivelore.cli.bench_cmd import DATABASE_FILE, LOAD_TIMEOUT_S, LONGEST_TEXT_CHARS
from hivelore.core.clock import ManualClock, SystemClock
from hivelore.core.settings import Settings

VARIANTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "no neighbours": {"NEIGHBOURS": ()},
    "plain cosine": {"SETTLED_POOL": 1e9},
    "one share of words for all questions": {"SHARE_PER_GAP": 0.0, "SHARE_PER_TERMS": 0.0},
    "the usual constants of BM25": {"K1": 1.2, "B": 0.75},
    "hiragana like other characters": {"ENDING_WEIGHT": 1.0},
}


def main(data: str, questions: str, *paths: str) -> None:
    """Run every variant over the sets and print a table."""
    sets = load_all([Path(path) for path in paths])
    clock = ManualClock(SystemClock().now_ms())
    settings = replace(
        Settings(data_dir=data, database_url=f"sqlite:///{Path(data).resolve()}/{DATABASE_FILE}"),
        max_content_chars=LONGEST_TEXT_CHARS,
    )
    hub = app.build(settings, clock=clock)
    try:
        hub.embedder.start()
        hub.embedder.wait_ready(LOAD_TIMEOUT_S)
        for name, changes in VARIANTS.items():
            usual = {key: getattr(ranking, key) for key in changes}
            _set(changes)
            results = runner.run(hub, clock, sets, runner.Options(limit_questions=int(questions)))
            _set(usual)
            print(f"\n{name}")
            for each in results.sets:
                reached = " / ".join(f"{100 * share:.1f}" for share in figures(each.judged).recall)
                print(f"  {each.set}, {each.unit}: {reached}", flush=True)
    finally:
        hub.helpers.shutdown(wait=False)
        hub.embedder.close()
        hub.db.close()


def _set(values: dict[str, Any]) -> None:
    for key, value in values.items():
        setattr(ranking, key, value)


if __name__ == "__main__":
    main(*sys.argv[1:])
