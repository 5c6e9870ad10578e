"""Two results of `hivelore bench recall` side by side, on the questions that both asked."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hivelore.bench.metrics import CUTS, Figures, Judged, figures
from hivelore.bench.report import FORMAT
from hivelore.bench.sets.reading import as_kind, need, read_json
from hivelore.core.errors import Invalid

HEADINGS = ("set", "questions", *(f"R@{cut}" for cut in CUTS), "MRR", "p50 ms", "better", "worse", "chance")
_CONDITIONS = ("hivelore", "store", "model", "machine", "options", "settings")


@dataclass(frozen=True, slots=True)
class Change:
    """One set under one unit before and after. `chance` is the probability of so uneven a count of better and worse
    questions if nothing had changed (two-sided sign test)."""

    name: str
    before: Figures
    after: Figures
    better: int
    worse: int

    @property
    def chance(self) -> float:
        changed, fewer = self.better + self.worse, min(self.better, self.worse)
        ways = math.lgamma(changed + 1) - changed * math.log(2)
        tail = (math.exp(ways - math.lgamma(k + 1) - math.lgamma(changed - k + 1)) for k in range(fewer + 1))
        return min(1.0, 2 * math.fsum(tail))


@dataclass(frozen=True, slots=True)
class Comparison:
    """`apart` names the sets that only one of the files has, and `conditions` what differed, as (what, A, B)."""

    changes: tuple[Change, ...]
    apart: tuple[str, ...]
    conditions: tuple[tuple[str, str, str], ...]


def compare(a: Path, b: Path) -> Comparison:
    """Read and compare two files. Raises `Invalid` for a file of another kind, or when no question is in both."""
    before, after = _read(a), _read(b)
    one, other = _judged(before, a), _judged(after, b)
    changes = []
    for name in one:
        common = [id for id in one[name] if id in other.get(name, {})]
        if common:
            changes.append(_change(name, [one[name][id] for id in common], [other[name][id] for id in common]))
    if not changes:
        raise Invalid(f"{a} and {b} have no question in common.")
    apart = tuple(sorted(one.keys() ^ other.keys()))
    return Comparison(tuple(changes), apart, tuple(_conditions(before, after)))


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = as_kind(read_json(path), dict, str(path))
    if found.get("format") != FORMAT or "sets" not in found:
        raise Invalid(f"{path} is not a result of `hivelore bench recall --json` in format {FORMAT}.")
    return found


def _judged(found: dict[str, Any], path: Path) -> dict[str, dict[str, Judged]]:
    """Questions by set and unit, by id."""
    sets: dict[str, dict[str, Judged]] = {}
    for number, each in enumerate(need(found, "sets", list, str(path))):
        where = f"{path}, set {number}"
        name = f"{need(as_kind(each, dict, where), 'set', str, where)}, by {need(each, 'unit', str, where)}"
        sets[name] = {one.question: one for one in _questions(each, where)}
    return sets


def _questions(each: dict[str, Any], where: str) -> Iterator[Judged]:
    for one in need(each, "questions", list, where):
        place = f"a question in {where}"
        yield Judged(
            question=need(as_kind(one, dict, place), "id", str, place),
            kind=need(one, "class", str, place),
            ranks=tuple(as_kind(rank, int, f"'ranks' in {place}") for rank in need(one, "ranks", list, place)),
            relevant=max(need(one, "relevant", int, place), 1),
            ms=float(one.get("ms", 0)),
            tokens=need(one, "tokens", int, place),
        )


def _change(name: str, before: list[Judged], after: list[Judged]) -> Change:
    worth = [(_worth(one), _worth(other)) for one, other in zip(before, after, strict=True)]
    better, worse = sum(b > a for a, b in worth), sum(b < a for a, b in worth)
    return Change(name, figures(before), figures(after), better, worse)


def _worth(one: Judged) -> tuple[float, float]:
    """What makes an answer better than another: more of the units within the cuts, then an earlier first one."""
    return sum(one.recall(cut) for cut in CUTS), one.reciprocal_rank


def _conditions(before: dict[str, Any], after: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for name in _CONDITIONS:
        one, other = before.get(name), after.get(name)
        if isinstance(one, dict) and isinstance(other, dict):
            for key in dict.fromkeys((*one, *other)):
                if one.get(key) != other.get(key):
                    yield f"{name} {key}", str(one.get(key)), str(other.get(key))
        elif one != other:
            yield name, str(one), str(other)


def rows(found: Comparison) -> Iterator[tuple[str, ...]]:
    """One row for each set and unit: `before → after`, shares in percent."""
    for each in found.changes:
        recall = [(a * 100, b * 100) for a, b in zip(each.before.recall, each.after.recall, strict=True)]
        yield (
            each.name,
            str(each.before.questions),
            *(f"{a:.1f} → {b:.1f} ({b - a:+.1f})" for a, b in recall),
            f"{each.before.mrr:.3f} → {each.after.mrr:.3f}",
            f"{each.before.p50_ms:.1f} → {each.after.p50_ms:.1f}",
            str(each.better),
            str(each.worse),
            f"{each.chance:.3f}",
        )
