"""People who call the tools, an MCP client, a REST client, and what a store holds: for tests of doors."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from mcp.client import Client
from sqlalchemy import Connection, event, text
from starlette.testclient import TestClient

from hivelore.base.identity.service import BearerKeyAuth
from hivelore.core.errors import HiveloreError
from hivelore.doors.kit.dispatch import Credentials, dispatch
from hivelore.doors.mcp.server import build_server
from hivelore.doors.memory import DIALECT
from hivelore.doors.web import build as build_web
from hivelore.sql.tables import metadata
from hivelore.work import Hub

KEYS = ("alice-key:alice", "bob-key:bob")

READ_TOOLS = ("ping", "recall", "timeline", "list_memories", "get_memory", "load_session", "list_sessions")


@dataclass(frozen=True)
class Person:
    """Somebody with a key: `alice("recall", query="x")` gives the answer, `alice.refused(…)` the error's words."""

    hub: Hub
    name: str
    key: str | None

    @property
    def credentials(self) -> Credentials:
        return Credentials("test", f"Bearer {self.key}" if self.key else None, "tester/1.0")

    def __call__(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        return dispatch(self.hub, DIALECT.by_name[tool], self.credentials, arguments)

    def refused(self, tool: str, /, **arguments: Any) -> str:
        """The message with which the tool refuses these arguments."""
        with pytest.raises(HiveloreError) as caught:
            self(tool, **arguments)
        return caught.value.message

    def at(self, hub: Hub) -> Person:
        """The same person at another hub."""
        return dataclasses.replace(self, hub=hub)


def with_keys(hub: Hub) -> Hub:
    """The same hub for people with keys."""
    return dataclasses.replace(hub, authenticator=BearerKeyAuth(KEYS))


def person(hub: Hub, name: str) -> Person:
    return Person(hub, name, f"{name}-key")


def ids_of(answer: dict[str, Any]) -> list[str]:
    return [each["id"] for each in answer["items"]]


def contents_of(answer: dict[str, Any]) -> list[str]:
    return [each["content"] for each in answer["items"]]


def pages(who: Person, tool: str, cursor_field: str = "next_cursor", /, **arguments: Any) -> Iterator[dict[str, Any]]:
    """Page to the end as a client does; fails when a cursor does not advance or never ends."""
    cursors: list[str] = []
    while True:
        answer = who(tool, **arguments, **({"cursor": cursors[-1]} if cursors else {}))
        yield answer
        if not answer["has_more"]:
            assert answer["next_cursor"] is None
            return
        assert answer["items"], "a page without items promises more"
        assert answer[cursor_field] not in cursors, "the cursor does not advance"
        cursors.append(answer[cursor_field])
        assert len(cursors) < 500


# -- what a store holds ------------------------------------------------------------------------------------------------


def dump(hub: Hub) -> dict[str, list[str]]:
    """Every row of every table, the text index included."""
    names = [t.name for t in metadata.sorted_tables if t.info.get("dialect", hub.db.dialect) == hub.db.dialect]
    if hub.db.dialect == "sqlite":
        names.append("search_text")
    with hub.db.read() as connection:
        return {name: sorted(map(repr, connection.execute(text(f'SELECT * FROM "{name}"')))) for name in names}


@contextmanager
def statements(hub: Hub) -> Iterator[list[str]]:
    """The SQL that runs meanwhile, on readers and on the writer."""
    seen: list[str] = []

    def note(_connection: Connection, _cursor: Any, statement: str, *_: Any) -> None:
        seen.append(statement)

    engines = {hub.db._reader, hub.db._writer}
    for engine in engines:
        event.listen(engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        for engine in engines:
            event.remove(engine, "before_cursor_execute", note)


@contextmanager
def failing_at(hub: Hub, place: int) -> Iterator[None]:
    """Let the store break on the n-th statement of a write, counted from 1, with an error that quotes SQL and
    values."""
    count = 0

    def fail(_connection: Connection, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        nonlocal count
        count += 1
        if count == place:
            raise RuntimeError(f"disk head crashed in {statement} with {parameters}")

    event.listen(hub.db._writer, "before_cursor_execute", fail)
    try:
        yield
    finally:
        event.remove(hub.db._writer, "before_cursor_execute", fail)


# -- clients -----------------------------------------------------------------------------------------------------------


def mcp(who: Person, talk: Callable[[Client], Awaitable[Any]], *, mode: str = "legacy") -> Any:
    """Let the SDK's client talk to the server in memory, JSON-RPC and all, as this person."""
    server = build_server(who.hub, DIALECT, lambda _: who.credentials)

    async def run() -> Any:
        async with Client(server, mode=mode) as client:
            return await talk(client)

    return anyio.run(run)


def mcp_call(who: Person, tool: str, arguments: dict[str, Any]) -> Any:
    """The SDK's result of one tool call."""

    async def talk(client: Client) -> Any:
        return await client.call_tool(tool, arguments)

    return mcp(who, talk)


class Rest:
    """A REST client of one person. Answers are the framework's responses."""

    def __init__(self, who: Person, **headers: str) -> None:
        self.http = TestClient(
            build_web(who.hub, DIALECT),
            base_url="http://127.0.0.1:8420",
            headers=({"authorization": f"Bearer {who.key}"} if who.key else {}) | headers,
            raise_server_exceptions=True,
        )

    def __call__(self, method: str, path: str, body: Any = None, /, *, headers: dict[str, str] | None = None) -> Any:
        """A request under /api/v1. `body` is sent as JSON, or as it is when it is bytes."""
        raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        return self.http.request(method, f"/api/v1{path}", content=raw, headers=headers)

    def add(self, content: str, **fields: Any) -> dict[str, Any]:
        answer = self("POST", "/memory/add", {"content": content, **fields})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def search(self, query: str, **fields: Any) -> dict[str, Any]:
        answer = self("POST", "/memory/search", {"query": query, **fields})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def refused(self, status: int, code: str, message: str | None, *request: Any, **more: Any) -> dict[str, Any]:
        """Make a request that is refused; check status, code, message (None: any) and shape."""
        answer = self(*request, **more)
        assert answer.status_code == status, answer.text
        body = answer.json()
        assert set(body) == {"error"}
        assert set(body["error"]) == {"code", "message", "requestId"}
        assert body["error"]["code"] == code
        if message is not None:
            assert body["error"]["message"] == message
        return body["error"]
