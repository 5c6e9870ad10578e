"""The `## user`, `## assistant`, `## tool`, `## system` headings that clients put into the content of an added
memory."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

_HEADING = re.compile(r"^##[ \t]+(user|assistant|tool|system)[ \t]*$", re.MULTILINE)
_FIELD = re.compile(r"^(Tool|Call ID|Status|Error|Input|Output):[ \t]*(.*)$")
PAYLOAD_CHARS = 20_000


@dataclass(frozen=True, slots=True)
class Sections:
    """A content taken apart: what the user and the agent said, and the tool calls between."""

    user: str
    agent: str
    tools: tuple[dict[str, Any], ...]
    marked: bool


def parse(content: str) -> Sections:
    """Take a content apart. Without headings all of it is the user's. System text is folded into the user's."""
    marks = list(_HEADING.finditer(content))
    if not marks:
        return Sections(content.strip(), "", (), False)
    user: list[str] = [content[: marks[0].start()].strip()]
    agent: list[str] = []
    tools: dict[str, dict[str, Any]] = {}
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        body = content[mark.end() : following.start() if following else len(content)].strip()
        role = mark.group(1)
        if role == "user":
            user.append(body)
        elif role == "system":
            user.append(f"[system]\n{body}")
        elif role == "assistant":
            agent.append(body)
        else:
            _merge(tools, _tool(body))
    joined = "\n\n".join(part for part in user if part), "\n\n".join(part for part in agent if part)
    return Sections(*joined, tuple(tools.values()), True)


def _merge(tools: dict[str, dict[str, Any]], call: dict[str, Any]) -> None:
    """Sections with the same call id are one call."""
    key = call.get("id") or f"#{len(tools)}"
    tools[key] = tools.get(key, {}) | call


def _tool(body: str) -> dict[str, Any]:
    """One tool section. `Input:` and `Output:` stand alone on their line and own the lines that follow."""
    call: dict[str, Any] = {}
    names = {"Tool": "name", "Call ID": "id", "Status": "status", "Error": "error"}
    block: str | None = None
    collected: dict[str, list[str]] = {}
    for line in body.splitlines():
        match = _FIELD.match(line)
        if match and match.group(1) in ("Input", "Output") and not match.group(2):
            block = match.group(1).lower()
            collected[block] = []
        elif (
            match
            and match.group(1) in names
            and (block is None or not collected[block] or not collected[block][-1].strip())
        ):
            block = None
            call[names[match.group(1)]] = match.group(2).strip()
        else:
            collected.setdefault(block or "output", []).append(line)
    for name, lines in collected.items():
        text = "\n".join(lines).strip()
        if text:
            call[name] = _payload(text)
    return call


def _payload(text: str) -> Any:
    """JSON where it is JSON, else text, cut to the contract's size."""
    if len(text) > PAYLOAD_CHARS:
        return f"{text[:PAYLOAD_CHARS]}[truncated:{len(text) - PAYLOAD_CHARS} chars]"
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)  # what Python reads beyond JSON (NaN, 1e999) could not be answered with
    except (ValueError, RecursionError):
        return text
    return value
