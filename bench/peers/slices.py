"""A part of an evaluation set that every server can be given in minutes: one conversation, some memories, some
questions whose answers are all among them."""

from __future__ import annotations

from dataclasses import dataclass

from bench.peers.servers import Memory
from hivelore.bench.model import EvalSet


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the memories that answer it."""

    text: str
    relevant: frozenset[str]


@dataclass(frozen=True, slots=True)
class Slice:
    """What is stored and asked, and of how much it is a part."""

    name: str
    memories: tuple[Memory, ...]
    questions: tuple[Asked, ...]
    of_memories: int
    of_questions: int


def sliced(found: EvalSet, memories: int, questions: int) -> Slice:
    """The first memories of the first conversation that is asked about, and a sample of the questions that they answer
    whole: those with the smallest digests, the same on every run. Empty when the set stores whole sessions."""
    unit = found.units[0]
    group = found.questions[0].group if found.questions else ""
    documents = [d for d in found.corpus.documents if d.group == group and not d.whole_session and unit in d.units]
    kept = documents[:memories]
    by_unit: dict[str, set[str]] = {}
    for document in kept:
        by_unit.setdefault(document.units[unit], set()).add(document.id)
    answered = [
        q for q in found.questions if q.group == group and (wanted := q.relevant.get(unit)) and wanted <= by_unit.keys()
    ]
    drawn = sorted(answered, key=lambda q: q.digest)[:questions]
    return Slice(
        found.name,
        tuple(Memory(d.id, d.group, d.text) for d in kept),
        tuple(Asked(q.text, frozenset(id for one in q.relevant[unit] for id in by_unit[one])) for q in drawn),
        len(found.corpus.documents),
        len(found.questions),
    )
