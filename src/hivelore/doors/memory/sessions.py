"""The tools `save_session`, `load_session`, `list_sessions` and `forget_session`."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from hivelore.core.clock import iso_utc
from hivelore.core.page import Offset, read_cursor
from hivelore.doors.kit.operation import Input, Operation
from hivelore.rooms.memory.service import clamp
from hivelore.rooms.transcripts import service as transcripts
from hivelore.work import Call


class SaveSession(Input):
    session_id: str = Field(description="Name of the session, e.g. task or date.")
    content: str = Field(description="The whole transcript; kept exactly.")
    namespace: str | None = Field(None, description="Default `sessions`, which is private.")


def save_session(call: Call, given: SaveSession) -> dict[str, Any]:
    """Save a whole conversation verbatim, to resume it later or recall its passages. The same session_id replaces."""
    saved = transcripts.save_session(call, given.session_id, given.content, given.namespace)
    answer: dict[str, Any] = {
        "session_id": saved.session_id,
        "chunks": saved.chunks,
        "chars": saved.chars,
        "namespace": saved.namespace,
        "replaced": saved.replaced,
    }
    if saved.notes:
        answer["notes"] = list(saved.notes)
    return answer


class LoadSession(Input):
    session_id: str = Field(description="Name of the session.")
    page: int = Field(0, description="Page number, from 0.")
    page_size: int = Field(8000, description="Characters per page.")


def load_session(call: Call, given: LoadSession) -> dict[str, Any]:
    """Read your saved session back, page by page. `found` is false for an unknown id."""
    found = transcripts.load_session(call, given.session_id, given.page, given.page_size)
    return {
        "session_id": given.session_id,
        "content": found.content,
        "page": found.page,
        "page_size": found.page_size,
        "total_chars": found.total_chars,
        "has_more": found.has_more,
        "found": found.found,
    }


class ListSessions(Input):
    limit: int = Field(20, description="Most sessions to return.")
    cursor: str | None = Field(None, description="next_cursor of the page before.")


def list_sessions(call: Call, given: ListSessions) -> dict[str, Any]:
    """List your saved sessions, last saved first."""
    position = read_cursor(given.cursor)
    offset = position.rows if isinstance(position, Offset) else 0
    found, total = transcripts.list_sessions(call, offset, clamp(given.limit, call.hub.settings.max_limit))
    seen = offset + len(found)
    more = bool(found) and seen < total
    return {
        "sessions": [
            {
                "session_id": each.session_id,
                "namespace": each.namespace,
                "chars": each.chars,
                "chunks": each.chunks,
                "created_at": iso_utc(each.created_ms),
                "updated_at": iso_utc(each.updated_ms),
            }
            for each in found
        ],
        "total": total,
        "has_more": more,
        "next_cursor": str(seen) if more else None,
    }


class ForgetSession(Input):
    session_id: str = Field(description="Name of the session.")


def forget_session(call: Call, given: ForgetSession) -> dict[str, Any]:
    """Delete your saved session for good."""
    return {"session_id": given.session_id, "deleted": transcripts.forget_session(call, given.session_id)}


TOOLS = (
    Operation("save_session", "Save session", SaveSession, save_session),
    Operation("load_session", "Load session", LoadSession, load_session, read_only=True),
    Operation("list_sessions", "List sessions", ListSessions, list_sessions, read_only=True),
    Operation("forget_session", "Forget session", ForgetSession, forget_session, destructive=True, idempotent=True),
)
