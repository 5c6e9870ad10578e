"""How many items spaces hold, without reading them. Triggers keep the counts (see the migrations)."""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, Integer, Select, String, Table, bindparam, func, select, text

from hivelore.base.identity import store as identity
from hivelore.base.memories.store import memories
from hivelore.core.actor import Scope
from hivelore.sql.tables import metadata
from hivelore.work import View

# How many items a space holds, without those that expire; kept by triggers (see the migrations). The slots of a space
# are to be added up.
counts = Table(
    "memory_count",
    metadata,
    Column("space", String, primary_key=True),
    Column("slot", Integer, primary_key=True, autoincrement=False),
    Column("total", BigInteger, nullable=False),
)


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


def wrong(connection: Connection) -> dict[str, int]:
    """Spaces whose count is not what their memories say, with what it should be."""
    true = select(memories.c.space, func.sum(memories.c.part_count)).where(memories.c.expires_ms.is_(None))
    wanted = {space: int(total) for space, total in connection.execute(true.group_by(memories.c.space))}
    kept = select(counts.c.space, func.sum(counts.c.total)).group_by(counts.c.space)
    found = {space: int(total) for space, total in connection.execute(kept)}
    spaces = sorted(wanted.keys() | found.keys())
    return {space: wanted.get(space, 0) for space in spaces if wanted.get(space, 0) != found.get(space, 0)}


def recount(connection: Connection) -> int:
    """Set the counts of all spaces to what the memories say; return how many were wrong. Whoever writes a memory
    meanwhile waits on Postgres; on SQLite there is one writer anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE memory IN SHARE MODE"))
    found = wrong(connection)
    for space, total in found.items():
        connection.execute(counts.delete().where(counts.c.space == space))
        connection.execute(counts.insert().values(space=space, slot=0, total=total))
    return len(found)
