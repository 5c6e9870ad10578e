"""Which memory corrects which: what follows from the links named `supersedes`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlalchemy import and_, select

from hivelore.base.memories.model import SUPERSEDED, SUPERSEDES, Item
from hivelore.base.memories.store import links, memories, unexpired
from hivelore.work import View, Work

MOST_CORRECTIONS = 50  # that are followed from one memory


def set_status(w: Work, space: str, id: str, status: str) -> None:
    """Give a memory another status; its text, revision and times stay."""
    same = and_(memories.c.space == space, memories.c.id == id)
    w.connection.execute(memories.update().where(same).values(status=status))


def corrected(v: View, space: str, id: str) -> list[str]:
    """Ids of the memories whose place this one took, in the order in which it did."""
    statement = (
        select(links.c.to_memory)
        .where(links.c.space == space, links.c.from_memory == id, links.c.relation == SUPERSEDES)
        .order_by(links.c.created_ms, links.c.to_memory)
    )
    return list(v.connection.execute(statement).scalars())


def direct(v: View, space: str, id: str) -> list[str]:
    """Ids of the memories that took the place of this one, oldest first."""
    statement = (
        select(links.c.from_memory)
        .where(links.c.space == space, links.c.to_memory == id, links.c.relation == SUPERSEDES)
        .order_by(links.c.created_ms, links.c.from_memory)
    )
    return list(v.connection.execute(statement).scalars())


def newest_of(v: View, ids: Iterable[str]) -> dict[str, str]:
    """What took the place of these memories, at the end of each chain of corrections; by id.

    A correction lies in the space of what it corrects, so whoever may see the one may see the other. One that has
    expired counts no more.
    """
    newest = {id: id for id in ids}
    for _ in range(MOST_CORRECTIONS):
        found = _next_corrections(v, list(set(newest.values())))
        if not found:
            break
        newest = {id: found.get(at, at) for id, at in newest.items()}
    return {id: at for id, at in newest.items() if at != id}


def _next_corrections(v: View, ids: Sequence[str]) -> dict[str, str]:
    if not ids:
        return {}
    joined = links.join(memories, and_(memories.c.space == links.c.space, memories.c.id == links.c.from_memory))
    rows = v.connection.execute(
        select(links.c.to_memory, links.c.from_memory)
        .select_from(joined)
        .where(links.c.to_memory.in_(ids), links.c.relation == SUPERSEDES, unexpired(v))
        .order_by(links.c.created_ms, links.c.from_memory)
    )
    return {row.to_memory: row.from_memory for row in rows}


def with_corrections(v: View, items: Sequence[Item]) -> list[Item]:
    """The same items; those that are superseded with what took their place. Costs nothing when none is."""
    old = {item.memory for item in items if item.status == SUPERSEDED}
    if not old:
        return list(items)
    found = newest_of(v, old)
    return [replace(item, superseded_by=found.get(item.memory, "")) for item in items]
