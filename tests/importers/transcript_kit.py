"""Transcripts as Claude Code writes them, for tests that import them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

# The import contract's own sample: one turn with a tool call, and everything around it that is no turn.
SAMPLE_SESSION = "11111111-2222-4333-8444-555555555555"
SAMPLE = "".join(
    json.dumps(record) + "\n"
    for record in (
        {"type": "summary", "summary": "Shop work", "leafUuid": "u9"},
        {
            "type": "user",
            "uuid": "u1",
            "sessionId": SAMPLE_SESSION,
            "cwd": "/srv/shop",
            "version": "2.0.1",
            "gitBranch": "main",
            "isSidechain": False,
            "timestamp": "2026-05-01T10:00:00.000Z",
            "message": {"role": "user", "content": "Which port does the memory service use?"},
        },
        {
            "type": "assistant",
            "uuid": "a1",
            "parentUuid": "u1",
            "sessionId": SAMPLE_SESSION,
            "cwd": "/srv/shop",
            "timestamp": "2026-05-01T10:00:02.000Z",
            "message": {
                "id": "msg_1",
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "look it up"},
                    {"type": "text", "text": "Let me look."},
                    {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ss -lntp"}},
                ],
            },
        },
        {
            "type": "user",
            "uuid": "u2",
            "parentUuid": "a1",
            "sessionId": SAMPLE_SESSION,
            "cwd": "/srv/shop",
            "timestamp": "2026-05-01T10:00:03.000Z",
            "message": {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "LISTEN 127.0.0.1:18960"}],
            },
            "toolUseResult": {"stdout": "LISTEN 127.0.0.1:18960", "stderr": "", "interrupted": False},
        },
        {
            "type": "assistant",
            "uuid": "a2",
            "parentUuid": "u2",
            "sessionId": SAMPLE_SESSION,
            "cwd": "/srv/shop",
            "timestamp": "2026-05-01T10:00:05.000Z",
            "message": {
                "id": "msg_2",
                "role": "assistant",
                "content": [{"type": "text", "text": "It listens on 18960."}],
            },
        },
        {
            "type": "user",
            "uuid": "m1",
            "isMeta": True,
            "sessionId": SAMPLE_SESSION,
            "timestamp": "2026-05-01T10:00:06.000Z",
            "message": {"role": "user", "content": "<command-name>/clear</command-name>"},
        },
        {
            "type": "user",
            "uuid": "sc1",
            "isSidechain": True,
            "sessionId": SAMPLE_SESSION,
            "timestamp": "2026-05-01T10:00:07.000Z",
            "message": {"role": "user", "content": "subagent prompt"},
        },
        {"type": "system", "uuid": "s1", "subtype": "info", "content": "compact"},
        {"type": "file-history-snapshot", "messageId": "u1", "snapshot": {}},
    )
)
SAMPLE_TEXT = """\
## user

Which port does the memory service use?

## assistant

Let me look.

## tool

Tool: Bash

Call ID: toolu_1

Input:
{"command":"ss -lntp"}

Output:
LISTEN 127.0.0.1:18960

## assistant

It listens on 18960."""


class Conversation:
    """One session in one file. Ids of records begin with the session's name, so that no two sessions share any."""

    def __init__(self, name: str = "s", *, session: str | None = None) -> None:
        self.name = name
        self.session = session or f"session-{name}"
        self.lines: list[bytes] = []
        self._number = 0

    def ask(self, text: Any, **fields: Any) -> Conversation:
        """The user says something."""
        return self._record("user", {"role": "user", "content": text}, fields)

    def answer(self, *blocks: Any, **fields: Any) -> Conversation:
        """The assistant says or does something: texts, or blocks such as `use(…)`."""
        content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
        message = {"id": f"msg_{self.name}_{self._number + 1}", "role": "assistant", "content": content}
        return self._record("assistant", message, fields)

    def turn(self, question: str, answer: str) -> Conversation:
        """A whole turn."""
        return self.ask(question).answer(answer)

    def tool(self, name: str, arguments: dict[str, Any], output: str) -> Conversation:
        """A tool is used and gives its output."""
        id = f"toolu_{self.name}_{self._number + 1}"
        self.answer({"type": "tool_use", "id": id, "name": name, "input": arguments})
        return self.ask([{"type": "tool_result", "tool_use_id": id, "content": output}])

    def raw(self, line: bytes) -> Conversation:
        """A line as it is."""
        self.lines.append(line)
        return self

    def resumed_as(self, session: str) -> Conversation:
        """The same records in another session, as Claude Code copies them when a session is resumed or forked."""
        copy = Conversation(self.name, session=session)
        copy._number = self._number
        old, new = (json.dumps(name).encode() for name in (self.session, session))
        copy.lines = [line.replace(b'"sessionId": ' + old, b'"sessionId": ' + new) for line in self.lines]
        return copy

    def data(self) -> bytes:
        return b"".join(line + b"\n" for line in self.lines)

    def write(self, path: Path) -> Path:
        """Write the file, as a newer version of what may be there."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.data())
        return path

    def _record(self, kind: str, message: dict[str, Any], fields: dict[str, Any]) -> Conversation:
        self._number += 1
        at = self._number
        record = {
            "type": kind,
            "uuid": f"{self.name}-{at}",
            "sessionId": self.session,
            "cwd": "/srv/shop",
            "timestamp": f"2026-05-01T{10 + at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}.000Z",
            "message": message,
            **fields,
        }
        self.lines.append(json.dumps(record).encode())
        return self


def many_turns(count: int, name: str = "s") -> Conversation:
    """A conversation of numbered turns."""
    conversation = Conversation(name)
    for number in range(count):
        conversation.turn(f"{name}: question {number}", f"{name}: answer {number}")
    return conversation
