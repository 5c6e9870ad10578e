"""The figures as a table and as JSON, each beside the same figure of hivelore as a ratio."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from bench.peers.measure import Measured
from bench.peers.servers import HIVELORE, SERVERS
from bench.peers.slices import Slice
from hivelore.bench.metrics import CUTS

HEADINGS = ("Set", "Server", "R@1 / R@5 / R@10, %", "ms a search, p50 / p95", "findable adds per s", "MB resident")
RATIO_HEADINGS = ("Set", "Server / hivelore", "R@1", "R@5", "R@10", "ms p50", "ms p95", "adds", "MB")

Outcome = Measured | str
"""The figures, or why there are none."""
Outcomes = Mapping[str, Outcome]
"""By the name of the server."""


def numbers(found: Measured) -> tuple[float, ...]:
    """The figures that are compared, in the order of `RATIO_HEADINGS`."""
    return (*found.recall, found.p50_ms, found.p95_ms, found.findable_per_s, found.resident_mb)


def ratios(found: Measured, ours: Measured) -> tuple[float | None, ...]:
    """Each figure over that of hivelore; None where that one is 0."""
    return tuple(theirs / mine if mine else None for theirs, mine in zip(numbers(found), numbers(ours), strict=True))


def rows(given: Slice, outcomes: Outcomes) -> Iterator[tuple[str, ...]]:
    """One row a server, under `HEADINGS`."""
    for name, found in outcomes.items():
        if isinstance(found, str):
            yield given.name, name, f"not measured: {found}", "", "", ""
            continue
        yield (
            given.name,
            name,
            " / ".join(f"{share * 100:.1f}" for share in found.recall),
            f"{found.p50_ms:.1f} / {found.p95_ms:.1f}",
            f"{found.findable_per_s:.1f}",
            f"{found.resident_mb:.0f}",
        )


def ratio_rows(given: Slice, outcomes: Outcomes) -> Iterator[tuple[str, ...]]:
    """One row for each other server, under `RATIO_HEADINGS`; none when hivelore itself could not be measured."""
    ours = outcomes.get(HIVELORE.name)
    if not isinstance(ours, Measured):
        return
    for name, found in outcomes.items():
        if isinstance(found, Measured) and name != HIVELORE.name:
            cells = ("-" if ratio is None else f"{ratio:.2f}" for ratio in ratios(found, ours))
            yield (given.name, name, *cells)


def remarks(given: Slice, outcomes: Outcomes) -> Iterator[str]:
    """What a reader must know about the figures of a set."""
    yield (
        f"{given.name}: {len(given.memories)} of {given.of_memories} memories, "
        f"{len(given.questions)} of {given.of_questions} questions"
    )
    for name, found in outcomes.items():
        if isinstance(found, Measured) and found.same_text:
            yield f"{given.name}, {name}: {found.same_text} memories not stored beside an equal text"
        if isinstance(found, Measured) and found.strange:
            yield f"{given.name}, {name}: {found.strange} results name no memory of the set"


def markdown(headings: tuple[str, ...], found: list[tuple[str, ...]]) -> str:
    """A table for people and for the documentation."""
    lines = (headings, ("---",) * len(headings), *found)
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)


def as_json(results: list[tuple[Slice, Outcomes]], versions: Mapping[str, str], machine: str) -> dict[str, Any]:
    """Everything that was measured, and on what."""
    notes = {server.name: server.note for server in SERVERS}
    return {
        "machine": machine,
        "servers": {name: {"version": version, "note": notes.get(name, "")} for name, version in versions.items()},
        "cuts": list(CUTS),
        "sets": [
            {
                "name": given.name,
                "memories": len(given.memories),
                "of_memories": given.of_memories,
                "questions": len(given.questions),
                "of_questions": given.of_questions,
                "servers": {name: _one(found, outcomes) for name, found in outcomes.items()},
            }
            for given, outcomes in results
        ],
    }


def _one(found: Outcome, outcomes: Outcomes) -> dict[str, Any]:
    if isinstance(found, str):
        return {"not_measured": found}
    ours = outcomes.get(HIVELORE.name)
    over = dict(zip(RATIO_HEADINGS[2:], ratios(found, ours), strict=True)) if isinstance(ours, Measured) else None
    return asdict(found) | {"ratio_to_hivelore": over}
