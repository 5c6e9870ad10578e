"""Queries for what stands around an item: the parts beside it in its text, the items beside it in its place."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, and_, func, literal, or_, select, tuple_

from hivelore.base.identity import store as identity
from hivelore.base.memories.model import Item
from hivelore.base.memories.store import _as_items, _items, memories, parts, unexpired
from hivelore.core.actor import Scope
from hivelore.work import View


def parts_beside(v: View, item: Item, before: int, after: int) -> list[Item]:
    """The parts of an item's text around it, in order, itself among them."""
    statement = (
        _items()
        .where(memories.c.space == item.space, memories.c.id == item.memory, unexpired(v), _readable(v))
        .where(parts.c.seq.between(item.seq - before, item.seq + after))
        .order_by(parts.c.seq)
    )
    return _as_items(v, v.connection.execute(statement).all())


def items_beside(v: View, item: Item, count: int, *, later: bool) -> list[Item]:
    """Up to `count` items that were stored before or after an item in the same space, the nearest first."""
    seq = func.coalesce(parts.c.seq, 0)
    at = tuple_(memories.c.created_ms, memories.c.id)
    here = tuple_(literal(item.created_ms), literal(item.memory))
    beyond = at > here if later else at < here
    # The memories are chosen from the listing index alone; the item's own one has parts on either side of it.
    is_part = item.id != item.memory
    own = at == here if is_part else literal(False)
    order = (memories.c.created_ms, memories.c.id) if later else (memories.c.created_ms.desc(), memories.c.id.desc())
    nearest = (
        select(memories.c.space, memories.c.id)
        .where(memories.c.space == item.space, or_(beyond, own), unexpired(v), _readable(v))
        .order_by(*order)
        .limit(count + 1)
    )
    own_side = seq > item.seq if later else seq < item.seq
    statement = (
        _items()
        .where(tuple_(memories.c.space, memories.c.id).in_(nearest), or_(beyond, and_(own, own_side)))
        .order_by(*order, seq if later else seq.desc())
        .limit(count)
    )
    return _as_items(v, v.connection.execute(statement).all())


def whole_items(v: View, wanted: Sequence[tuple[str, str]]) -> list[Item]:
    """Memories of one piece given as (space, id), in the given order; those that are gone or not readable are left
    out."""
    if not wanted:
        return []
    ids = [id for _, id in wanted]
    statement = _items().where(memories.c.id.in_(ids), parts.c.id.is_(None), unexpired(v), _readable(v))
    found = {(item.space, item.id): item for item in _as_items(v, v.connection.execute(statement).all())}
    return [found[each] for each in wanted if each in found]


def _readable(v: View) -> ColumnElement[bool]:
    return identity.visible(v, memories.c.space, Scope(None))
