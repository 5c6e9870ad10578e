"""What upkeep and `doctor` ask of the memories: pages of all of them, as search sees them, and what is odd about them.

Nothing here is filtered by what a caller may see: it serves the owner of the store, who is told counts and ids and
never a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, and_, func, or_, select, tuple_

from hivelore.base.memories.model import Memory, Part
from hivelore.base.memories.service import entry
from hivelore.base.memories.store import memories, parts
from hivelore.base.search.model import Entry
from hivelore.base.search.tables import chunks
from hivelore.base.search.upkeep import Key, Source
from hivelore.base.search.upkeep_store import Ref
from hivelore.work import Work

PAGE_CHARS = 2_000_000  # in memory at once; one longer memory is a page of its own


def page(connection: Connection, after: Key, limit: int) -> tuple[list[Entry], Key | None]:
    """Memories behind `after` in the order of their creation, expired ones too; with the key of the last, None at the
    end. Those of one moment, such as the turns of an import, come in the order in which they happened."""
    order = (memories.c.space, memories.c.created_ms, memories.c.id)
    keys = connection.execute(
        select(*order, memories.c.chars).where(tuple_(*order) > after).order_by(*order).limit(limit)
    ).all()
    wanted = _fitting(keys)
    if not wanted:
        return [], None
    last = keys[len(wanted) - 1]
    found = sorted(_by_refs(connection, wanted), key=lambda each: (each.space, each.created_ms, each.event_ms, each.id))
    return [entry(memory) for memory in found], (last.space, last.created_ms, last.id)


def sample(connection: Connection, start: str, limit: int) -> list[Entry]:
    """Memories whose ids are not below `start`, expired ones too."""
    keys = connection.execute(
        select(memories.c.space, memories.c.id, memories.c.chars)
        .where(memories.c.id >= start)
        .order_by(memories.c.id, memories.c.space)
        .limit(limit)
    ).all()
    return [entry(memory) for memory in _by_refs(connection, _fitting(keys))]


def _fitting(keys: Sequence[Any]) -> list[Ref]:
    """As many from the first as are held in memory at once."""
    chars = 0
    wanted: list[Ref] = []
    for row in keys:
        chars += row.chars
        if wanted and chars > PAGE_CHARS:
            break
        wanted.append((row.space, row.id))
    return wanted


def _by_refs(connection: Connection, refs: Sequence[Ref]) -> list[Memory]:
    of_memory = tuple_(parts.c.space, parts.c.memory).in_(refs)
    found: dict[Ref, list[Part]] = {}
    for row in connection.execute(select(parts).where(of_memory).order_by(parts.c.seq)):
        found.setdefault((row.space, row.memory), []).append(Part(row.id, row.seq, row.start, row.length))
    rows = connection.execute(select(memories).where(tuple_(memories.c.space, memories.c.id).in_(refs)))
    return [_memory(row, tuple(found.get((row.space, row.id), ()))) for row in rows]


def _memory(row: Row[Any], found: tuple[Part, ...]) -> Memory:
    values = {name: row._mapping[name] for name in Memory.__dataclass_fields__ if name in row._mapping}
    return Memory(**values | {"namespace": "", "tags": tuple(row.tags), "parts": found})


def current(w: Work, ref: Ref) -> Entry | None:
    """A memory as it is now, its row held until the transaction ends; None when it is gone."""
    same = and_(memories.c.space == ref[0], memories.c.id == ref[1])
    if w.connection.execute(select(memories.c.id).where(same).with_for_update()).first() is None:
        return None
    [memory] = _by_refs(w.connection, [ref])
    return entry(memory)


def known(connection: Connection, refs: Sequence[Ref]) -> set[Ref]:
    """Which of these memories there are."""
    if not refs:
        return set()
    rows = connection.execute(
        select(memories.c.space, memories.c.id).where(tuple_(memories.c.space, memories.c.id).in_(refs))
    )
    return {(row.space, row.id) for row in rows}


def count(connection: Connection) -> int:
    return int(connection.execute(select(func.count()).select_from(memories)).scalar_one())


def registered(connection: Connection) -> int:
    """How many memories have a chunk."""
    has_chunk = select(chunks.c.id).where(chunks.c.space == memories.c.space, chunks.c.ref == memories.c.id).exists()
    return int(connection.execute(select(func.count()).select_from(memories).where(has_chunk)).scalar_one())


SOURCE = Source(page, sample, current, known, count, registered)


# -- what doctor looks for ---------------------------------------------------------------------------------------------


def newest_texts(connection: Connection, before: tuple[int, str] | None, limit: int) -> list[Row[Any]]:
    """Title and text of memories, newest first, as rows with `id`, `created_ms`, `title` and `text`."""
    at = tuple_(memories.c.created_ms, memories.c.id)
    statement = select(memories.c.id, memories.c.created_ms, memories.c.title, memories.c.text)
    if before is not None:
        statement = statement.where(at < before)
    statement = statement.order_by(memories.c.created_ms.desc(), memories.c.id.desc()).limit(limit)
    return list(connection.execute(statement))


def same_texts(connection: Connection) -> tuple[int, int]:
    """Texts that one user has more than once in one place: how many texts, and how many copies beyond the first."""
    copies = (
        select(func.count().label("number"))
        .select_from(memories)
        .group_by(memories.c.space, memories.c.owner, memories.c.kind, memories.c.chars, memories.c.text)
        .having(func.count() > 1)
        .subquery()
    )
    row = connection.execute(
        select(func.count(), func.coalesce(func.sum(copies.c.number - 1), 0)).select_from(copies)
    ).one()
    return int(row[0]), int(row[1])


def holding(connection: Connection, words: Sequence[str], limit: int) -> list[Row[Any]]:
    """Memories whose text holds one of these words literally, as rows with `id` and `text`."""
    any_of = or_(*(memories.c.text.contains(word, autoescape=True) for word in words))
    return list(connection.execute(select(memories.c.id, memories.c.text).where(any_of).limit(limit)))
