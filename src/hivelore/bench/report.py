"""Results as JSON and as rows of a table.

The JSON holds no text of an evaluation set: ids, ranks, counts and times alone.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from hivelore.bench.ingest import Ingested
from hivelore.bench.metrics import CUTS, DEPTH, Figures, Judged, figures
from hivelore.bench.runner import Options, Results, SetResult
from hivelore.core.clock import iso_utc
from hivelore.core.settings import Settings
from hivelore.work import Hub

FORMAT = 1
HEADINGS = ("set", "class", "questions", "R@1", "R@5", "R@10", "hit@10", "MRR", "p50 ms", "p95 ms", "tokens")
INGEST_HEADINGS = ("corpus", "stored", "known", "texts/s", "with vectors/s")
_SETTING_GROUPS = ("memory", "embeddings")  # those that a ranking depends on


def as_json(results: Results, hub: Hub, options: Options, made_ms: int) -> dict[str, Any]:
    """Everything that came out, with what it depends on."""
    return {
        "format": FORMAT,
        "made_at": iso_utc(made_ms),
        "hivelore": hub.version,
        "store": store(hub),
        "model": hub.embedder.model,
        "machine": machine(),
        "options": asdict(options),
        "settings": _settings(hub.settings),
        "ingest": [_ingested(each) for each in results.ingested],
        "sets": [_set(each) for each in results.sets],
    }


def store(hub: Hub) -> str:
    """The database and its version."""
    with hub.db.read() as connection:
        version = connection.dialect.server_version_info or ()
        return f"{connection.dialect.name} {'.'.join(map(str, version))}".strip()


def machine() -> dict[str, Any]:
    """What the figures were made on."""
    return {
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "python": platform.python_version(),
    }


def _settings(settings: Settings) -> dict[str, Any]:
    declared = Settings.__dataclass_fields__
    shown = (name for name, each in declared.items() if each.metadata["group"] in _SETTING_GROUPS)
    return {name: getattr(settings, name) for name in shown if not declared[name].metadata["secret"]}


def _ingested(each: Ingested) -> dict[str, Any]:
    rates = {"text_per_s": each.text_per_s, "with_vectors_per_s": each.with_vectors_per_s}
    return {"corpus": each.corpus, "stored": each.stored, "known": each.known, **rates}


def _set(each: SetResult) -> dict[str, Any]:
    return {
        "set": each.set,
        "unit": each.unit,
        "corpus": each.corpus,
        "texts": each.texts,
        "left_out": dict(each.left_out),
        "figures": figures_json(figures(each.judged)),
        "classes": {kind: figures_json(figures(judged)) for kind, judged in by_class(each.judged)},
        "questions": [
            {
                "id": one.question,
                "class": one.kind,
                "ranks": list(one.ranks),
                "relevant": one.relevant,
                "ms": round(one.ms, 3),
                "tokens": one.tokens,
            }
            for one in each.judged
        ],
    }


def by_class(judged: Sequence[Judged]) -> list[tuple[str, list[Judged]]]:
    """Questions by class, in the order in which the classes occur first."""
    kinds = dict.fromkeys(each.kind for each in judged)
    return [(kind, [each for each in judged if each.kind == kind]) for kind in kinds]


def figures_json(found: Figures) -> dict[str, float]:
    """Figures by name; shares of 1, milliseconds, tokens."""
    recall = {f"recall_at_{cut}": value for cut, value in zip(CUTS, found.recall, strict=True)}
    rest = {f"any_hit_at_{DEPTH}": found.any_hit, "mrr": found.mrr, "p50_ms": found.p50_ms, "p95_ms": found.p95_ms}
    return {"questions": found.questions, **recall, **rest, "tokens": found.tokens}


def rows(results: Results) -> Iterator[tuple[str, ...]]:
    """One row for each set and unit, and below it one for each class when there are several; shares in percent."""
    for each in results.sets:
        yield (f"{each.set}, by {each.unit}", "all", *_cells(figures(each.judged)))
        classes = by_class(each.judged)
        if len(classes) > 1:
            for kind, judged in classes:
                yield ("", kind, *_cells(figures(judged)))


def _cells(found: Figures) -> tuple[str, ...]:
    recall = (f"{value * 100:.1f}" for value in found.recall)
    times = (f"{found.p50_ms:.1f}", f"{found.p95_ms:.1f}", f"{found.tokens:.0f}")
    return (str(found.questions), *recall, f"{found.any_hit * 100:.1f}", f"{found.mrr:.3f}", *times)


def ingest_rows(results: Results) -> Iterator[tuple[str, ...]]:
    """One row for each corpus; a dash where nothing was stored in this run."""
    for each in results.ingested:
        rates = (each.text_per_s, each.with_vectors_per_s)
        shown = (f"{rate:.0f}" if rate is not None else "-" for rate in rates)
        yield (each.corpus, str(each.stored), str(each.known), *shown)


def left_out(results: Results) -> Iterator[str]:
    """What the files hold and the figures do not, one line a set."""
    for name, reasons in {each.set: each.left_out for each in results.sets}.items():
        if reasons:
            yield f"{name}: left out {', '.join(f'{number} ({reason})' for reason, number in reasons.items())}"
