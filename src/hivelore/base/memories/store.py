"""Tables and queries of the memory model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Index,
    Integer,
    Row,
    Select,
    String,
    Table,
    Text,
    and_,
    bindparam,
    case,
    func,
    literal,
    or_,
    select,
    text,
    tuple_,
)

from hivelore.base.identity import store as identity
from hivelore.base.memories.model import SHORT_ID_CHARS, Item, Memory, Part
from hivelore.core.actor import Scope
from hivelore.core.page import After, Position
from hivelore.sql.tables import metadata
from hivelore.sql.types import Json
from hivelore.sql.write import insert_if_absent
from hivelore.work import View, Work

memories = Table(
    "memory",
    metadata,
    Column("space", String, primary_key=True),
    Column("id", String, primary_key=True),
    Column("owner", String, nullable=False),
    Column("agent", String, nullable=False),
    Column("door", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("layer", String, nullable=False),
    Column("status", String, nullable=False),
    Column("title", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("chars", Integer, nullable=False),
    Column("part_count", Integer, nullable=False),
    Column("tags", Json, nullable=False),
    Column("source", String, nullable=False),
    Column("key", String),
    Column("origin", Json, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("event_ms", BigInteger, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("updated_ms", BigInteger, nullable=False),
    Column("expires_ms", BigInteger),
)
Index("ix_memory_id", memories.c.id)
# Covers listing and counting: neither touches the rows themselves.
Index(
    "ix_memory_listing",
    memories.c.space,
    memories.c.created_ms,
    memories.c.id,
    memories.c.part_count,
    memories.c.expires_ms,
)
Index(
    "uq_memory_key",
    memories.c.space,
    memories.c.owner,
    memories.c.key,
    unique=True,
    sqlite_where=text("key IS NOT NULL"),
    postgresql_where=text("key IS NOT NULL"),
)

Index(
    "ix_memory_expiring",
    memories.c.space,
    memories.c.expires_ms,
    memories.c.part_count,
    sqlite_where=text("expires_ms IS NOT NULL"),
    postgresql_where=text("expires_ms IS NOT NULL"),
)

parts = Table(
    "memory_part",
    metadata,
    Column("space", String, primary_key=True),
    Column("id", String, primary_key=True),
    Column("memory", String, nullable=False),
    Column("seq", Integer, nullable=False),
    Column("start", Integer, nullable=False),
    Column("length", Integer, nullable=False),
)
Index("ix_memory_part_id", parts.c.id)
Index("ix_memory_part_memory", parts.c.space, parts.c.memory, parts.c.seq)

revisions = Table(
    "memory_revision",
    metadata,
    Column("space", String, primary_key=True),
    Column("memory", String, primary_key=True),
    Column("revision", Integer, primary_key=True, autoincrement=False),
    Column("title", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("tags", Json, nullable=False),
    Column("replaced_ms", BigInteger, nullable=False),
    Column("replaced_by", String, nullable=False),
)

links = Table(
    "memory_link",
    metadata,
    Column("space", String, primary_key=True),
    Column("from_memory", String, primary_key=True),
    Column("relation", String, primary_key=True),
    Column("to_memory", String, primary_key=True),
    Column("created_ms", BigInteger, nullable=False),
)
Index("ix_memory_link_to", links.c.to_memory)

tombstones = Table(
    "tombstone",
    metadata,
    Column("space", String, primary_key=True),
    Column("memory", String, primary_key=True),
    Column("owner", String, nullable=False),
    Column("key", String),
    Column("kind", String, nullable=False),
    Column("removed_ms", BigInteger, nullable=False),
    Column("removed_by", String, nullable=False),
)
Index("ix_tombstone_key", tombstones.c.owner, tombstones.c.key)


def insert(w: Work, memory: Memory) -> bool:
    """Write a new memory with its parts; False when its key is taken (nothing is written then)."""
    row = {
        "space": memory.space,
        "id": memory.id,
        "owner": memory.owner,
        "agent": memory.agent,
        "door": memory.door,
        "kind": memory.kind,
        "layer": memory.layer,
        "status": memory.status,
        "title": memory.title,
        "text": memory.text,
        "chars": len(memory.text),
        "part_count": max(len(memory.parts), 1),
        "tags": list(memory.tags),
        "source": memory.source,
        "key": memory.key,
        "origin": memory.origin,
        "revision": memory.revision,
        "event_ms": memory.event_ms,
        "created_ms": memory.created_ms,
        "updated_ms": memory.updated_ms,
        "expires_ms": memory.expires_ms,
    }
    if not insert_if_absent(w.connection, memories, row):
        return False
    _insert_parts(w, memory)
    return True


def lock(w: Work, memory: Memory) -> bool:
    """Hold a memory's row until this transaction ends; False when it is gone. On SQLite the writer is alone anyway."""
    held = select(memories.c.id).where(_is(memory)).with_for_update()
    return w.connection.execute(held).first() is not None


def overwrite(w: Work, memory: Memory, expected_revision: int) -> bool:
    """Write a changed memory over the stored one; False when somebody else changed it first."""
    same = and_(_is(memory), memories.c.revision == expected_revision)
    values = {
        "title": memory.title,
        "text": memory.text,
        "chars": len(memory.text),
        "part_count": max(len(memory.parts), 1),
        "tags": list(memory.tags),
        "source": memory.source,
        "layer": memory.layer,
        "status": memory.status,
        "origin": memory.origin,
        "revision": memory.revision,
        "event_ms": memory.event_ms,
        "updated_ms": memory.updated_ms,
        "expires_ms": memory.expires_ms,
    }
    if w.connection.execute(memories.update().where(same).values(**values)).rowcount != 1:
        return False
    w.connection.execute(parts.delete().where(parts.c.space == memory.space, parts.c.memory == memory.id))
    _insert_parts(w, memory)
    return True


def _is(memory: Memory) -> ColumnElement[bool]:
    return and_(memories.c.space == memory.space, memories.c.id == memory.id)


def _insert_parts(w: Work, memory: Memory) -> None:
    if memory.parts:
        rows = [
            {"space": memory.space, "id": p.id, "memory": memory.id, "seq": p.seq, "start": p.start, "length": p.length}
            for p in memory.parts
        ]
        w.connection.execute(parts.insert(), rows)


def keep_revision(w: Work, memory: Memory, keep: int) -> None:
    """Store the present text as an earlier revision and let go of those beyond `keep`."""
    if keep <= 0:
        return
    row = {
        "space": memory.space,
        "memory": memory.id,
        "revision": memory.revision,
        "title": memory.title,
        "text": memory.text,
        "tags": list(memory.tags),
        "replaced_ms": w.now_ms,
        "replaced_by": w.caller.id,
    }
    w.connection.execute(revisions.insert().values(**row))
    too_old = and_(_revision_of(memory), revisions.c.revision <= memory.revision - keep)
    w.connection.execute(revisions.delete().where(too_old))


def _revision_of(memory: Memory) -> ColumnElement[bool]:
    return and_(revisions.c.space == memory.space, revisions.c.memory == memory.id)


def drop_revisions(w: Work, memory: Memory) -> None:
    """Let go of all earlier texts."""
    w.connection.execute(revisions.delete().where(_revision_of(memory)))


def earlier_texts(v: View, memory: Memory) -> list[tuple[int, str, int]]:
    """Earlier revisions as (revision, text, replaced_ms), newest first."""
    rows = v.connection.execute(
        select(revisions.c.revision, revisions.c.text, revisions.c.replaced_ms)
        .where(_revision_of(memory))
        .order_by(revisions.c.revision.desc())
    )
    return [(r.revision, r.text, r.replaced_ms) for r in rows]


def delete(w: Work, memory: Memory) -> None:
    """Remove a memory with parts, revisions and links, and leave a tombstone without content."""
    for table in _following_tables():
        w.connection.execute(table.delete().where(table.c.space == memory.space, table.c.memory == memory.id))
    for statement in (
        parts.delete().where(parts.c.space == memory.space, parts.c.memory == memory.id),
        revisions.delete().where(_revision_of(memory)),
        links.delete().where(or_(links.c.from_memory == memory.id, links.c.to_memory == memory.id)),
        memories.delete().where(_is(memory)),
    ):
        w.connection.execute(statement)
    stone = {
        "space": memory.space,
        "memory": memory.id,
        "owner": memory.owner,
        "key": memory.key,
        "kind": memory.kind,
        "removed_ms": w.now_ms,
        "removed_by": w.caller.id,
    }
    insert_if_absent(w.connection, tombstones, stone)


def _following_tables() -> list[Table]:
    """Tables of rooms whose rows go when their memory goes (they say so with `info={"follows_memory": True}`)."""
    return [table for table in metadata.tables.values() if table.info.get("follows_memory")]


def buried_keys(v: View, owner: str, keys: Sequence[str]) -> set[str]:
    """Which of these keys belonged to memories that were removed, in whichever of the owner's spaces they were."""
    rows = v.connection.execute(select(tombstones.c.key).where(tombstones.c.owner == owner, tombstones.c.key.in_(keys)))
    return set(rows.scalars())


def buried(v: View, owner: str, key: str) -> str | None:
    """The id that a memory with this key had before it was removed; None when none was."""
    found = v.connection.execute(
        select(tombstones.c.memory).where(tombstones.c.owner == owner, tombstones.c.key == key).limit(1)
    )
    return found.scalar_one_or_none()


def by_key(v: View, space: str, owner: str, key: str) -> Memory | None:
    """The memory that an idempotent write with this key made."""
    return _one(v, and_(memories.c.space == space, memories.c.owner == owner, memories.c.key == key))


def by_id(v: View, id: str) -> tuple[Memory, Part | None] | None:
    """The memory with this id, or the memory and part with this id, if the caller may read it. The beginning of an id,
    from `SHORT_ID_CHARS` characters on, will do when it is the beginning of only one."""
    everything = Scope(None)
    if SHORT_ID_CHARS <= len(id) < 32:
        whole_ids = {*_beginning_with(v, memories, id), *_beginning_with(v, parts, id)}
        id = whole_ids.pop() if len(whole_ids) == 1 else id
    whole = _one(v, and_(memories.c.id == id, identity.visible(v, memories.c.space, everything)))
    if whole is not None:
        return whole, None
    row = v.connection.execute(
        select(parts.c.space, parts.c.memory).where(parts.c.id == id, identity.visible(v, parts.c.space, everything))
    ).first()
    if row is None:
        return None
    whole = _one(v, and_(memories.c.space == row.space, memories.c.id == row.memory), with_parts=True)
    if whole is None:
        return None
    return whole, next(p for p in whole.parts if p.id == id)


def by_id_prefix(v: View, prefix: str) -> Memory | None:
    """The one readable memory whose id begins with `prefix` (hex); None when there is none or more than one."""
    found = _beginning_with(v, memories, prefix)
    readable = identity.visible(v, memories.c.space, Scope(None))
    return _one(v, and_(memories.c.id == found[0], readable)) if len(found) == 1 else None


def _beginning_with(v: View, table: Table, prefix: str) -> Sequence[str]:
    id = table.c.id
    readable = identity.visible(v, table.c.space, Scope(None))
    return v.connection.execute(select(id).where(id >= prefix, id < prefix + "g", readable).limit(2)).scalars().all()


def _one(v: View, condition: ColumnElement[bool], *, with_parts: bool = False) -> Memory | None:
    """One unexpired memory. A single part, all that is left of a long text, is read only when asked for."""
    row = v.connection.execute(select(memories).where(condition, unexpired(v))).first()
    if row is None:
        return None
    found: tuple[Part, ...] = ()
    if with_parts or row.part_count > 1 or row.kind == "session":
        rows = v.connection.execute(
            select(parts.c.id, parts.c.seq, parts.c.start, parts.c.length)
            .where(parts.c.space == row.space, parts.c.memory == row.id)
            .order_by(parts.c.seq)
        )
        found = tuple(Part(p.id, p.seq, p.start, p.length) for p in rows)
    name = identity.names(v, [row.space]).get(row.space, "")
    return Memory(
        id=row.id,
        space=row.space,
        namespace=name,
        owner=row.owner,
        agent=row.agent,
        door=row.door,
        kind=row.kind,
        layer=row.layer,
        status=row.status,
        title=row.title,
        text=row.text,
        tags=tuple(row.tags),
        source=row.source,
        key=row.key,
        origin=row.origin,
        revision=row.revision,
        event_ms=row.event_ms,
        created_ms=row.created_ms,
        updated_ms=row.updated_ms,
        expires_ms=row.expires_ms,
        parts=found,
    )


def unexpired(v: View) -> ColumnElement[bool]:
    """The condition that a memory has not expired."""
    return or_(memories.c.expires_ms.is_(None), memories.c.expires_ms > v.now_ms)


@cache
def _items() -> Select[Any]:
    """Memories with their parts, one row a part; a memory without parts is one row."""
    own = parts.c.id.is_(None)
    return select(
        func.coalesce(parts.c.id, memories.c.id).label("id"),
        memories.c.id.label("memory"),
        memories.c.space,
        memories.c.owner,
        memories.c.kind,
        memories.c.layer,
        memories.c.status,
        memories.c.title,
        case((own, memories.c.text), else_=func.substr(memories.c.text, parts.c.start + 1, parts.c.length)).label(
            "text"
        ),
        memories.c.tags,
        memories.c.source,
        func.coalesce(parts.c.seq, 0).label("seq"),
        memories.c.part_count,
        func.coalesce(parts.c.length, memories.c.chars).label("chars"),
        memories.c.origin,
        memories.c.event_ms,
        memories.c.created_ms,
        memories.c.updated_ms,
    ).select_from(memories.outerjoin(parts, and_(parts.c.space == memories.c.space, parts.c.memory == memories.c.id)))


def _as_items(v: View, rows: Sequence[Row[Any]]) -> list[Item]:
    names = identity.names(v, (row.space for row in rows))
    return [
        Item(
            id=row.id,
            memory=row.memory,
            space=row.space,
            namespace=names.get(row.space, ""),
            owner=row.owner,
            kind=row.kind,
            layer=row.layer,
            status=row.status,
            title=row.title,
            text=row.text,
            tags=tuple(row.tags),
            source=row.source,
            seq=row.seq,
            parts=row.part_count,
            chars=row.chars,
            origin=row.origin,
            event_ms=row.event_ms,
            created_ms=row.created_ms,
            updated_ms=row.updated_ms,
        )
        for row in rows
    ]


def page(v: View, scope: Scope, position: Position, limit: int) -> list[Item]:
    """Items of a scope, newest first; ties by id, then by order within the memory."""
    seq = func.coalesce(parts.c.seq, 0)
    newest = select(memories.c.space, memories.c.id).where(identity.visible(v, memories.c.space, scope), unexpired(v))
    statement = _items()
    if isinstance(position, After):
        at = tuple_(memories.c.created_ms, memories.c.id)
        here = tuple_(literal(position.created_ms), literal(position.id))
        newest = newest.where(at <= here)
        statement = statement.where(or_(at < here, and_(at == here, seq > position.seq)))
        most = limit + 1  # of the memory at the position, nothing may be left
    else:
        statement = statement.offset(position.rows)
        most = position.rows + limit
    # A memory is one item at least, so these hold the page. They are chosen first because that reads and sorts an
    # index alone; with the rest of the row in the sort, a page costs ten times as much.
    newest = newest.order_by(memories.c.created_ms.desc(), memories.c.id.desc()).limit(most)
    statement = statement.where(tuple_(memories.c.space, memories.c.id).in_(newest))
    statement = statement.order_by(memories.c.created_ms.desc(), memories.c.id.desc(), seq).limit(limit)
    return _as_items(v, v.connection.execute(statement).all())


def items(v: View, wanted: Sequence[tuple[str, str, str]]) -> dict[tuple[str, str], Item]:
    """Items for hits given as (space, memory, piece), by (space, piece). Those that are gone are left out."""
    if not wanted:
        return {}
    spaces, refs, pieces = (list(set(column)) for column in zip(*wanted, strict=True))
    rows = v.connection.execute(_wanted_items(), {"spaces": spaces, "refs": refs, "pieces": pieces}).all()
    return {(item.space, item.id): item for item in _as_items(v, rows)}


@cache
def _wanted_items() -> Select[Any]:
    return _items().where(
        memories.c.space.in_(bindparam("spaces", expanding=True)),
        memories.c.id.in_(bindparam("refs", expanding=True)),
        or_(parts.c.id.is_(None), parts.c.id.in_(bindparam("pieces", expanding=True))),
    )


def link(w: Work, space: str, from_memory: str, relation: str, to_memory: str) -> bool:
    """Connect two memories; False when they were connected already."""
    row = {
        "space": space,
        "from_memory": from_memory,
        "relation": relation,
        "to_memory": to_memory,
        "created_ms": w.now_ms,
    }
    return insert_if_absent(w.connection, links, row)


def statistics(connection: Any) -> dict[str, int]:
    """How many memories of each kind the store holds, for the owner's doctor."""
    rows = connection.execute(select(memories.c.kind, func.count()).group_by(memories.c.kind)).all()
    return {kind: int(number) for kind, number in rows}
