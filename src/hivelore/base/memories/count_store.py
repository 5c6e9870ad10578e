"""How many items spaces hold, without reading them. Triggers keep the counts (see the migrations)."""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import Connection, Select, bindparam, func, select

from hivelore.base.identity import store as identity
from hivelore.base.memories.store import counts, memories
from hivelore.core.actor import Scope
from hivelore.work import View


def count(v: View, scope: Scope) -> int:
    """How many items `page` would list in all: a sum over the spaces of the scope, and of what expires one by one."""
    values = identity.within_values(v, scope)
    return int(v.connection.execute(_counted(scope.everything), {**values, "now_ms": v.now_ms}).scalar_one())


@cache
def _counted(everything: bool) -> Select[Any]:
    lasting = select(func.coalesce(func.sum(counts.c.total), 0)).where(identity.within(counts.c.space, everything))
    expiring = select(func.coalesce(func.sum(memories.c.part_count), 0)).where(
        identity.within(memories.c.space, everything),
        memories.c.expires_ms.is_not(None),
        memories.c.expires_ms > bindparam("now_ms"),
    )
    return select(lasting.scalar_subquery() + expiring.scalar_subquery())


def recount(connection: Connection) -> int:
    """Set the counts of all spaces to what the memories say; return how many spaces were counted wrong."""
    true = select(memories.c.space, func.sum(memories.c.part_count)).where(memories.c.expires_ms.is_(None))
    wanted = {space: int(total) for space, total in connection.execute(true.group_by(memories.c.space))}
    kept = select(counts.c.space, func.sum(counts.c.total)).group_by(counts.c.space)
    found = {space: int(total) for space, total in connection.execute(kept)}
    wrong = [space for space in wanted.keys() | found.keys() if wanted.get(space, 0) != found.get(space, 0)]
    for space in sorted(wrong):
        connection.execute(counts.delete().where(counts.c.space == space))
        connection.execute(counts.insert().values(space=space, slot=0, total=wanted.get(space, 0)))
    return len(wrong)
