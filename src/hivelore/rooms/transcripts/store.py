"""Tables and queries of sessions, turns and read positions."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, Index, String, Table, and_, func, literal, select, tuple_

from hivelore.base.memories.store import memories
from hivelore.sql.tables import metadata
from hivelore.sql.types import Json
from hivelore.sql.write import upsert
from hivelore.work import View, Work

sessions = Table(
    "session_transcript",
    metadata,
    Column("owner", String, primary_key=True),
    Column("session_id", String, primary_key=True),
    Column("space", String, nullable=False),
    Column("memory", String, nullable=False),
    info={"follows_memory": True},
)
Index("ix_session_transcript_memory", sessions.c.memory)

turns = Table(
    "turn",
    metadata,
    Column("space", String, primary_key=True),
    Column("memory", String, primary_key=True),
    Column("owner", String, nullable=False),
    Column("source", String, nullable=False),
    Column("conversation", String, nullable=False),
    Column("turn_id", String, nullable=False),
    Column("first_message", String, nullable=False),
    Column("complete", Boolean, nullable=False),
    Column("workspace", String, nullable=False),
    Column("details", Json, nullable=False),
    Column("started_ms", BigInteger, nullable=False),
    Column("ended_ms", BigInteger, nullable=False),
    info={"follows_memory": True},
)
Index("ix_turn_first_message", turns.c.owner, turns.c.source, turns.c.first_message)
Index("ix_turn_conversation", turns.c.owner, turns.c.source, turns.c.conversation, turns.c.started_ms)

read_positions = Table(
    "transcript_file",
    metadata,
    Column("owner", String, primary_key=True),
    Column("source", String, primary_key=True),
    Column("path", String, primary_key=True),
    Column("resume", Json, nullable=False),
    Column("read_ms", BigInteger, nullable=False),
)


def session_memory(v: View, owner: str, session_id: str) -> tuple[str, str] | None:
    """(space, memory id) of a saved session."""
    row = v.connection.execute(
        select(sessions.c.space, sessions.c.memory).where(
            sessions.c.owner == owner, sessions.c.session_id == session_id
        )
    ).first()
    return (row.space, row.memory) if row else None


def name_session(w: Work, session_id: str, space: str, memory: str) -> None:
    """Say which memory holds a session."""
    row = {"owner": w.caller.id, "session_id": session_id, "space": space, "memory": memory}
    upsert(w.connection, sessions, row, key=("owner", "session_id"))


def session_page(v: View, space: str, memory: str, start: int, length: int) -> tuple[str, int]:
    """A stretch of a session's text and the length of the whole, in code points."""
    row = v.connection.execute(
        select(func.substr(memories.c.text, start + 1, length).label("text"), memories.c.chars).where(
            memories.c.space == space, memories.c.id == memory
        )
    ).one()
    return row.text, row.chars


def session_list(v: View, owner: str, offset: int, limit: int) -> list[Any]:
    """Saved sessions of an owner, last saved first."""
    return list(
        v.connection.execute(
            select(
                sessions.c.session_id,
                sessions.c.space,
                memories.c.chars,
                memories.c.part_count,
                memories.c.created_ms,
                memories.c.updated_ms,
            )
            .join(memories, and_(memories.c.space == sessions.c.space, memories.c.id == sessions.c.memory))
            .where(sessions.c.owner == owner)
            .order_by(memories.c.updated_ms.desc(), sessions.c.session_id)
            .offset(offset)
            .limit(limit)
        )
    )


def session_count(v: View, owner: str) -> int:
    return int(
        v.connection.execute(select(func.count()).select_from(sessions).where(sessions.c.owner == owner)).scalar_one()
    )


def turn_by_first_message(v: View, owner: str, source: str, first_message: str) -> Any:
    """The stored turn that begins with this message, in whichever conversation file it was read first."""
    return v.connection.execute(
        select(turns).where(turns.c.owner == owner, turns.c.source == source, turns.c.first_message == first_message)
    ).first()


def put_turn(w: Work, row: dict[str, Any]) -> None:
    upsert(w.connection, turns, row, key=("space", "memory"))


def turn_of(v: View, space: str, memory: str) -> Any:
    return v.connection.execute(select(turns).where(turns.c.space == space, turns.c.memory == memory)).first()


def turns_beside(v: View, turn: Any, count: int, *, later: bool) -> list[tuple[str, str]]:
    """Up to `count` turns of a turn's conversation before or after it, as (space, memory id), the nearest first."""
    at = tuple_(turns.c.started_ms, turns.c.memory)
    here = tuple_(literal(turn.started_ms), literal(turn.memory))
    same = and_(turns.c.owner == turn.owner, turns.c.source == turn.source, turns.c.conversation == turn.conversation)
    order = (turns.c.started_ms, turns.c.memory) if later else (turns.c.started_ms.desc(), turns.c.memory.desc())
    rows = v.connection.execute(
        select(turns.c.space, turns.c.memory)
        .where(same, turns.c.space == turn.space, at > here if later else at < here)
        .order_by(*order)
        .limit(count)
    )
    return [(row.space, row.memory) for row in rows]


def read_position(v: View, source: str, path: str) -> dict[str, Any] | None:
    """How far a file was read for the caller, as the importer stored it."""
    found = v.connection.execute(
        select(read_positions.c.resume).where(
            read_positions.c.owner == v.caller.id,
            read_positions.c.source == source,
            read_positions.c.path == path,
        )
    ).scalar_one_or_none()
    return dict(found) if found is not None else None


def put_read_position(w: Work, source: str, path: str, resume: dict[str, Any]) -> None:
    """Store how far a file was read, in the transaction that stores what was read."""
    row = {"owner": w.caller.id, "source": source, "path": path, "resume": resume, "read_ms": w.now_ms}
    upsert(w.connection, read_positions, row, key=("owner", "source", "path"))
