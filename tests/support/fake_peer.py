"""A memory server over standard input and output that answers in the shapes of another one, and finds by shared words.

Run: python fake_peer.py STYLE, with `service`, `basic`, `palace`, `broken` (every call is an error) or `gone` (it ends
at once).
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("fake")
texts: dict[str, str] = {}  # by key


def ranked(query: str, limit: int) -> list[str]:
    wanted = set(query.lower().split())
    scored = {key: len(wanted & set(text.lower().split())) for key, text in texts.items()}
    return sorted((key for key in scored if scored[key]), key=lambda key: -scored[key])[:limit]


def service() -> None:
    @server.tool()
    def memory_store(content: str, conversation_id: str) -> str:
        key = hashlib.sha256(content.encode()).hexdigest()
        if key in texts:
            raise ToolError("Error storing memory: Duplicate content detected (exact match)")
        texts[key] = content
        return f"Memory stored successfully (hash: {key})"

    @server.tool()
    def memory_search(query: str, limit: int) -> str:
        found = ranked(query, limit)
        listed = (f"{n}. {texts[key]}\n   Hash: {key}\n   Created: now [untagged]" for n, key in enumerate(found, 1))
        return f"Found {len(found)} memories (mode: semantic) for query: '{query}'\n\n" + "\n\n".join(listed)


def basic() -> None:
    @server.tool()
    def write_note(title: str, content: str, directory: str, output_format: str) -> dict[str, Any]:
        key = f"main/{directory}/{title}"
        texts[key] = content
        return {"result": {"title": title, "permalink": key, "action": "created"}}

    @server.tool()
    def search_notes(query: str, search_type: str, page_size: int, output_format: str) -> dict[str, Any]:
        return {"result": {"results": [{"permalink": key} for key in ranked(query, page_size)]}}


def palace() -> None:
    @server.tool(structured_output=False)
    def mempalace_add_drawer(wing: str, room: str, content: str) -> str:
        key = f"drawer_{wing}_{room}_{hashlib.sha256(content.encode()).hexdigest()[:24]}"
        texts[key] = content
        return json.dumps({"success": True, "drawer_id": key})

    @server.tool(structured_output=False)
    def mempalace_search(query: str, limit: int) -> str:
        return json.dumps({"results": [{"drawer_id": f"{key}_chunk_000000"} for key in ranked(query, limit)]})


def broken() -> None:
    @server.tool(structured_output=False)
    def mempalace_add_drawer(wing: str, room: str, content: str) -> str:
        return json.dumps({"success": False, "error": "no model\nsecond line"})

    @server.tool(structured_output=False)
    def mempalace_search(query: str, limit: int) -> str:
        return json.dumps({"error": "no model", "results": []})


if __name__ == "__main__":
    if sys.argv[1] == "gone":
        sys.exit(3)
    {"service": service, "basic": basic, "palace": palace, "broken": broken}[sys.argv[1]]()
    server.run("stdio")
