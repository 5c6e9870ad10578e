"""What we measure against: a plain FTS5 table (Porter stemmer) behind a bare MCP SDK server, nothing else.

Run: python bench/baseline_server.py PORT DATABASE, or `stdio` in place of the port
"""

from __future__ import annotations

import re
import sqlite3
import sys
import threading

from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings

STOP = frozenset(
    "a an the is are was were of in on at to for from with and or not what which how who when where do".split()
)


def main() -> None:
    port, path = sys.argv[1], sys.argv[2]
    db = sqlite3.connect(path, check_same_thread=False)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=NORMAL")
    db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS memory USING fts5(text, tokenize='porter unicode61')")
    lock = threading.Lock()
    server = MCPServer("baseline")

    @server.tool()
    def ping() -> dict[str, bool]:
        return {"ok": True}

    @server.tool()
    def add(content: str) -> dict[str, int | None]:
        with lock, db:
            return {"id": db.execute("INSERT INTO memory(text) VALUES (?)", (content,)).lastrowid}

    @server.tool()
    def search(query: str, limit: int = 8) -> dict[str, list[str]]:
        words = [w for w in re.findall(r"\w+", query.lower()) if w not in STOP]
        if not words:
            return {"items": []}
        match = " OR ".join(f'"{w}"' for w in words)
        with lock:
            rows = db.execute(
                "SELECT text FROM memory WHERE memory MATCH ? ORDER BY bm25(memory) LIMIT ?", (match, limit)
            ).fetchall()
        return {"items": [row[0] for row in rows]}

    if port == "stdio":
        server.run("stdio")
        return

    import uvicorn

    app = server.streamable_http_app(
        stateless_http=True, transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False)
    )
    uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="error")


if __name__ == "__main__":
    main()
