"""Unexpected errors leave with an id and nothing else; the log has the rest under that id."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from doors_kit import Person, Rest, failing_at, mcp_call
from sqlalchemy import text

MASK = re.compile(r"Internal error ([0-9a-f]{12})\. The server's log has the details under this id\.")

CALLS = {
    "remember": {"content": "hunter2 is the password"},
    "recall": {"query": "hunter2"},
    "list_memories": {},
    "get_memory": {"id": "hunter2"},
    "update": {"id": "hunter2", "content": "hunter2"},
    "forget": {"id": "hunter2"},
    "save_session": {"session_id": "hunter2", "content": "hunter2"},
    "load_session": {"session_id": "hunter2"},
    "list_sessions": {},
    "forget_session": {"session_id": "hunter2"},
}


@contextmanager
def _without_tables(who: Person, *names: str) -> Iterator[None]:
    def rename(old: str, new: str) -> None:
        with who.hub.db.write() as connection:
            connection.execute(text(f"ALTER TABLE {old} RENAME TO {new}"))

    for name in names:
        rename(name, f"{name}_gone")
    try:
        yield
    finally:
        for name in names:
            rename(f"{name}_gone", name)


def test_a_broken_store_shows_no_sql_and_no_value(alice: Person, caplog: pytest.LogCaptureFixture):
    with _without_tables(alice, "space", "memory", "session_transcript"):
        messages = {tool: alice.refused(tool, **given) for tool, given in CALLS.items()}
    for tool, message in messages.items():
        shown = MASK.fullmatch(message)
        assert shown, message
        assert f"unexpected error {shown[1]} in {tool}" in caplog.text
    assert "Error" in caplog.text


def test_each_error_has_an_id_of_its_own(alice: Person):
    with _without_tables(alice, "memory"):
        assert alice.refused("list_memories") != alice.refused("list_memories")


def test_over_mcp_it_is_a_tool_error(alice: Person):
    with _without_tables(alice, "memory"):
        result = mcp_call(alice, "list_memories", {})
    assert result.is_error is True
    assert MASK.fullmatch(result.content[0].text)


def test_over_rest_it_is_an_internal_error_without_detail(alice: Person):
    with failing_at(alice.hub, 3):
        answer = Rest(alice)("POST", "/memory/add", {"content": "hunter2"})
    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "internal"
    assert MASK.fullmatch(answer.json()["error"]["message"])
    assert "hunter2" not in answer.text
    assert "INSERT" not in answer.text


def test_the_log_has_one_line_for_a_call_and_no_content_in_it(alice: Person, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "hivelore.calls")
    for tool, given in CALLS.items():
        caplog.clear()
        if tool in ("get_memory", "update"):
            alice.refused(tool, **given)
        else:
            alice(tool, **given)
        lines = [r.getMessage() for r in caplog.records if r.name == "hivelore.calls"]
        assert len(lines) == 1
        assert re.match(rf"call target={tool} door=test user=alice duration_ms=\d+\.\d", lines[0])
        assert ("error=NoSuchMemory" in lines[0]) is (tool in ("get_memory", "update"))
        assert "hunter2" not in lines[0]
        assert "alice-key" not in lines[0]
